"""Arguments as they are typed, to values of the type an option has. `x=`, `+x=` and `++x=` are one."""

from __future__ import annotations

import shlex
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from quickdraw.errors import COMMAND_LINE, Fault, Refused

DEFAULTS = "..."
NAME = "<name>"  # ends an option of which there may be one a name


def split_arguments(arguments: Sequence[str]) -> tuple[dict[str, str], list[Fault]]:
    """Option -> its text, and what is no option or there twice."""
    typed: dict[str, str] = {}
    faults: list[Fault] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        bare = name.removeprefix("+").removeprefix("+")
        if not equals or not bare:
            faults.append(fault("argument", repr(argument), "+option=value", "--help lists the options"))
        elif bare in typed:
            faults.append(twice(bare, repr(typed[bare]), repr(value)))
        else:
            typed[bare] = value
    return typed, faults


def named(group: str, arguments: Sequence[str]) -> str | None:
    """The processor or the executor that is asked for, whatever else is; None where none is."""
    return split_arguments(arguments)[0].get(group)


def kinds_of(options: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every option of a type of options, as it is typed, and the type of its value."""
    for name, kind in typing.get_type_hints(options).items():
        if is_dataclass(kind):
            yield from kinds_of(kind, f"{prefix}{name}.")
        elif typing.get_origin(kind) is dict:
            yield f"{prefix}{name}.{NAME}", typing.get_args(kind)[1]
        else:
            yield f"{prefix}{name}", kind


def valued(name: str, text: str, kind: Any) -> Any:
    """The value of an option. Raises Refused where the text is none of its type."""
    try:
        return _typed(text, kind)
    except ValueError:
        found = text if typing.get_origin(kind) is typing.Literal else repr(text)
        raise Refused([fault(name, found, _in_words(kind), f"+{name}=...")]) from None


def placed(holder: Any, name: str, value: Any) -> Any:
    """The same options with one value in its place; in a list, `...` stands for the items that are there by default."""
    first, _, rest = name.partition(".")
    if isinstance(holder, dict):
        return {**holder, name: value}
    had = getattr(holder, first)
    return replace(holder, **{first: placed(had, rest, value) if rest else _with_defaults(value, had)})


def fault(name: str, found: str, expected: str, option: str) -> Fault:
    """Of what was typed."""
    return Fault(COMMAND_LINE, name, found, expected, option=option)


def twice(name: str, first: str, second: str) -> Fault:
    """Of an option that has two values."""
    return fault(name, f"{first} and {second}", "one value", f"+{name}=...")


def _with_defaults(value: Any, default: Any) -> Any:
    if isinstance(value, tuple) and DEFAULTS in value:
        at = value.index(DEFAULTS)
        return (*value[:at], *(default or ()), *value[at + 1 :])
    return value


def _typed(text: str, kind: Any) -> Any:
    """Text to a value of an annotated type; ValueError where it is none."""
    if isinstance(kind, types.UnionType):
        kinds = typing.get_args(kind)
        if text == "null" and type(None) in kinds:
            return None
        lists = [each for each in kinds if typing.get_origin(each) is tuple]
        plain = [each for each in kinds if each not in (*lists, type(None))]
        return _typed(text, (lists if lists and text.startswith("[") else plain or lists)[0])
    if typing.get_origin(kind) is tuple:
        return tuple(_typed(item, typing.get_args(kind)[0]) for item in _items(text))
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)[typing.get_args(kind).index(text)]
    if kind is bool:
        return ("false", "true").index(text.lower()) == 1
    if kind is not str and "_" in text:  # Python's 3_0 is nobody's 30 here
        raise ValueError(text)
    return kind(text)


def _items(text: str) -> list[str]:
    """`[a,b]` -> its items; quotes of either kind keep a comma inside one."""
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(text)
    lexer = shlex.shlex(text[1:-1], posix=True)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters, lexer.escape = ",", True, "", ""
    return [item.strip() for item in lexer if item.strip()]


def _in_words(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        *others, last = typing.get_args(kind)
        return f"{', '.join(others)} or {last}" if others else str(last)
    if typing.get_origin(kind) is tuple:
        return f"a list of {_in_words(typing.get_args(kind)[0])}s, as [a,b]"
    if isinstance(kind, types.UnionType):
        return " or ".join(map(_in_words, typing.get_args(kind)))
    return {int: "whole number", float: "number", bool: "true or false", str: "text", type(None): "null"}[kind]
