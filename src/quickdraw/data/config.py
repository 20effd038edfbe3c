"""The command line: defaults from configs/, values from what was typed, checked all at once.

Hydra composes the groups (`processor`, `executor`). Values do not go through its override grammar, which refuses paths
such as `/data/a(b)` or `k=v`: they are taken verbatim and typed by `options`. `x=`, `+x=` and `++x=` are one.
"""

from __future__ import annotations

import difflib
import shlex
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

from quickdraw.data.options import SOURCES, Config, Output
from quickdraw.errors import COMMAND_LINE, Fault, Refused

COMMAND = "python -m quickdraw.data.processors"
GROUPS = ("processor", "executor")
DEFAULT_EXECUTOR = "local"
DEFAULTS = "..."
NAME = "<name>"  # ends an option of which there may be one a name
# What an option may be typed as instead: the option itself, and what each of the short form's values stands for there.
SHORT = {"source.depth": ("source.depth.mode", {"true": "lossless", "false": "none"})}


@dataclass(frozen=True)
class Command:
    """What the user asked for: a processor, an executor and their options; `given` are the options typed."""

    processor: str
    executor: str
    config: Config[Any]
    given: frozenset[str]


def config_folder() -> Path:
    """configs/ of the checkout, or its copy inside the installed package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parents[1] / "configs"


def group_names(group: str) -> list[str]:
    """What a group may be."""
    return sorted(path.stem for path in (config_folder() / group).glob("*.yaml"))


def parse(arguments: Sequence[str]) -> Command:
    """The command line, typed. Raises Refused with everything that is wrong."""
    typed, faults = _split_arguments(arguments)
    chosen = {"executor": DEFAULT_EXECUTOR} | {name: value for name, value in typed.items() if name in GROUPS}
    if "processor" not in chosen:
        faults.append(_fault("processor", "none", f"one of {', '.join(group_names('processor'))}", "+processor=<name>"))
    for group, name in chosen.items():
        if name not in group_names(group):
            faults.append(_fault(group, repr(name), f"one of {', '.join(group_names(group))}", f"+{group}=<name>"))
    processor, values = chosen.get("processor"), dict[str, Any]()
    for name, text in typed.items():
        if name not in GROUPS:
            try:
                option, value = _valued(name, text, processor)
                if option != name and option in typed:
                    raise Refused([_twice(name, f"+{name}={text}", f"+{option}={typed[option]}")])
                values[option] = value
            except Refused as refused:
                faults += refused.faults
    if faults:
        raise Refused(faults)
    config = _compose(chosen)
    for option, value in values.items():
        _put(config, option, value)
    config.source.video.resolve()
    return Command(chosen["processor"], chosen["executor"], config, frozenset(typed))


def default_config(processor: str) -> Config[Any]:
    """What every option of a processor is where none is given."""
    return _compose({"processor": processor, "executor": DEFAULT_EXECUTOR})


def named_processor(arguments: Sequence[str]) -> str | None:
    """The processor that is asked for, whatever else is; None where none is."""
    return _split_arguments(arguments)[0].get("processor")


def option_kinds(processor: str | None = None) -> dict[str, Any]:
    """Every option, as it is typed, and the type of its value; of all processors where there is none of that name."""
    sources = [SOURCES[processor]] if processor in SOURCES else list(SOURCES.values())
    kinds = {name: kind for source in sources for name, kind in _kinds(source, "source.")}
    return kinds | dict(_kinds(Output, "output.")) | {"dry_run": bool}


def option_names(processor: str | None = None) -> list[str]:
    """Every option and group, as they are typed."""
    return [*GROUPS, *option_kinds(processor)]


def _kinds(options: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, kind in typing.get_type_hints(options).items():
        if is_dataclass(kind):
            yield from _kinds(kind, f"{prefix}{name}.")
        elif typing.get_origin(kind) is dict:
            yield f"{prefix}{name}.{NAME}", typing.get_args(kind)[1]
        else:
            yield f"{prefix}{name}", kind


def _split_arguments(arguments: Sequence[str]) -> tuple[dict[str, str], list[Fault]]:
    typed: dict[str, str] = {}
    faults: list[Fault] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        bare = name.removeprefix("+").removeprefix("+")
        if not equals or not bare:
            faults.append(_fault("argument", repr(argument), "+option=value", "--help lists the options"))
        elif bare in typed:
            faults.append(_twice(bare, repr(typed[bare]), repr(value)))
        else:
            typed[bare] = value
    return typed, faults


def _compose(chosen: Mapping[str, str]) -> Config[Any]:
    import msgspec
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        composed = compose("build", [f"+{group}={name}" for group, name in chosen.items()])
    told: Any = OmegaConf.to_container(composed, resolve=True)
    source = msgspec.convert(told["source"], SOURCES[chosen["processor"]])
    return Config(source, msgspec.convert(told["output"], Output), msgspec.convert(told["dry_run"], bool))


def _valued(name: str, text: str, processor: str | None) -> tuple[str, Any]:
    """The option that is meant and its value. Raises Refused where there is none such."""
    known = option_kinds(processor)
    meant, words = SHORT.get(name, ("", {}))
    if meant in known:
        if text.lower() not in words:
            raise Refused([_fault(name, repr(text), " or ".join(words), f"+{name}=... or +{meant}=...")])
        return meant, words[text.lower()]
    kind = known.get(name) or next((kind for option, kind in known.items() if _is_one(name, option)), None)
    if kind is None or name.endswith(f".{NAME}"):
        raise Refused([_unknown(name, processor)])
    try:
        return name, _typed(text, kind)
    except ValueError:
        raise Refused([_fault(name, repr(text), _kind_in_words(kind), f"+{name}=...")]) from None


def _is_one(name: str, option: str) -> bool:
    """Whether `source.slots.front` is one of `source.slots.<name>`."""
    prefix = option.removesuffix(NAME)
    return prefix != option and name.startswith(prefix) and name != prefix


def _unknown(name: str, processor: str | None) -> Fault:
    """An option that does not exist, or is another processor's."""
    names = option_names(processor)
    others = [other for other in SOURCES if other != processor and name in option_kinds(other)]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    meant = f" (did you mean {' or '.join(near)}?)" if near else ""
    hint = f" (an option of {' and '.join(others)})" if others else meant
    return _fault("option", f"{name}{hint}", f"one of {', '.join(names)}", "--help explains every option")


def _put(holder: Any, name: str, value: Any) -> None:
    """One value in its place; in a list, `...` stands for the items that are there by default."""
    first, _, rest = name.partition(".")
    if isinstance(holder, dict):
        holder[name] = value
    elif rest:
        _put(getattr(holder, first), rest, value)
    else:
        setattr(holder, first, _with_defaults(value, getattr(holder, first)))


def _with_defaults(value: Any, default: Any) -> Any:
    if isinstance(value, list) and DEFAULTS in value:
        at = value.index(DEFAULTS)
        return [*value[:at], *(default or ()), *value[at + 1 :]]
    return value


def _typed(text: str, kind: Any) -> Any:
    """Text to a value of an annotated type; ValueError where it is none."""
    if isinstance(kind, types.UnionType):
        kinds = typing.get_args(kind)
        if text == "null" and type(None) in kinds:
            return None
        lists = [each for each in kinds if typing.get_origin(each) is list]
        plain = [each for each in kinds if each not in (*lists, type(None))]
        return _typed(text, (lists if lists and text.startswith("[") else plain or lists)[0])
    if typing.get_origin(kind) is list:
        return [_typed(item, typing.get_args(kind)[0]) for item in _items(text)]
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


def _kind_in_words(kind: Any) -> str:
    if typing.get_origin(kind) is list:
        return f"a list of {_kind_in_words(typing.get_args(kind)[0])}s, as [a,b]"
    if isinstance(kind, types.UnionType):
        return " or ".join(map(_kind_in_words, typing.get_args(kind)))
    return {int: "whole number", float: "number", bool: "true or false", str: "text", type(None): "null"}[kind]


def _twice(name: str, first: str, second: str) -> Fault:
    return _fault(name, f"{first} and {second}", "one value", f"+{name}=...")


def _fault(name: str, found: str, expected: str, option: str) -> Fault:
    return Fault(COMMAND_LINE, name, found, expected, option=option)
