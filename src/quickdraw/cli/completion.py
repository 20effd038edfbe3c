"""What a shell is offered besides commands and options: splits of a dataset, and a build's options and values."""

from __future__ import annotations

import os
import shlex
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import typer

WORD_ENDS = "="  # where bash, unlike zsh, begins a word of its own


def split_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Splits of the dataset that was typed."""
    # Where the word before lacks its value, as --split does here, arguments are told of no more than they were typed.
    dataset = ctx.params.get("dataset") or next(iter(ctx.args), None)
    if dataset is None:
        return []
    found = (info.parent.parent.name for info in Path(dataset).glob("*/meta/info.json"))
    return sorted(name for name in found if name.startswith(incomplete))


def build_options(ctx: typer.Context, incomplete: str) -> list[str]:
    """`+source.max_gap_s=` of `+source.max_g`, and `+source.on_bad_run=skip` of `+source.on_bad_run=s`."""
    from quickdraw.data.command_line.arguments import NAME, named
    from quickdraw.data.command_line.composing import GROUPS, option_kinds
    from quickdraw.data.config_files import group_names
    from quickdraw.data.recognising import processor_of

    tree = ctx.params.get("tree")
    typed = _joined(ctx.params.get("overrides") or ())
    processor = named("processor", typed) or (processor_of(tree) if tree and tree.is_dir() else None)
    kinds = option_kinds(processor, named("executor", typed)).items()
    values = {name: list(_values(kind)) for name, kind in kinds if NAME not in name}
    values |= {group: group_names(group) for group in GROUPS}
    del values["source.dir"]  # it is what stands before
    option = _being_valued()
    if option is not None:  # bash: what is before the = is a word that is there already
        return [value for value in values.get(_bare(option), []) if value.startswith(incomplete)]
    signs = incomplete[: len(incomplete) - len(_bare(incomplete))] if incomplete else "+"
    name, equals, _ = _bare(incomplete).partition("=")
    names = [name] if equals else [each for each in values if each.startswith(name)]
    if len(names) == 1 and values.get(names[0]):  # the shell would put a space behind the = of a single one
        offered = [f"{names[0]}={value}" for value in values[names[0]]]
    else:
        offered = [] if equals else [f"{each}=" for each in names]
    return [text for each in offered if (text := f"{signs}{each}").startswith(incomplete)]


def _joined(words: Iterable[str]) -> list[str]:
    """Words as they were typed: bash gives `x=y` as three of them."""
    typed = list[str]()
    for word in words:
        if typed and (word == WORD_ENDS or typed[-1].endswith(WORD_ENDS)):
            typed[-1] += word
        else:
            typed.append(word)
    return typed


def _bare(option: str) -> str:
    return option.removeprefix("+").removeprefix("+")


def _values(kind: Any) -> Iterator[str]:
    """The words an option may be, where they are few."""
    if kind is bool:
        yield from ("true", "false")
    elif typing.get_origin(kind) is Literal:
        yield from map(str, typing.get_args(kind))
    elif kind is type(None):
        yield "null"
    elif isinstance(kind, types.UnionType):
        for each in typing.get_args(kind):
            yield from _values(each)


def _being_valued() -> str | None:
    """In bash, the option whose value is being typed: the word before the = before the cursor."""
    try:
        words, at = shlex.split(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
    except (KeyError, ValueError):
        return None
    if words[at : at + 1] == [WORD_ENDS]:  # the cursor is right behind it
        return words[at - 1]
    return words[at - 2] if at >= 2 and words[at - 1] == WORD_ENDS else None
