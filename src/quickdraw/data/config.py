"""The command's options: defaults from configs/, values from the command line, checked all at once.

Hydra composes the groups (`processor`, `executor`). Values do not go through its override grammar, which refuses paths
such as `/data/a(b)` or `k=v`: they are taken verbatim and typed by the schema below. `x=`, `+x=` and `++x=` are one.
"""

from __future__ import annotations

import difflib
import shlex
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.video.codecs import CODECS

COMMAND = "python -m quickdraw.data.processors"
GROUPS = ("processor", "executor")
DEFAULT_EXECUTOR = "local"
DEFAULTS = "..."
USAGE = f"usage: {COMMAND} +processor=<name> +source.dir=<tree> [+option=value ...]   (--help explains every option)"


@dataclass
class Video:
    """How pictures are encoded."""

    codec: str = MISSING
    crf: int | None = MISSING
    preset: str | None = MISSING
    gop: int = MISSING

    def resolve(self) -> None:
        """Put the codec's own where no crf or preset is given; left as it is where there is no such codec."""
        codec = CODECS.get(self.codec)
        if codec is not None:
            self.crf = codec.crf if self.crf is None else self.crf
            self.preset = codec.preset if self.preset is None else self.preset


@dataclass
class Cube:
    """What counts as a cube."""

    min_value: float = MISSING
    min_saturation: float = MISSING
    peak_saturation: float = MISSING
    min_area_px: float = MISSING
    evidence_area_px: float = MISSING
    evidence_share: float = MISSING


@dataclass
class BlockStackSource:
    """Options of `+processor=block_stack`; defaults, units and reasons stand in configs/processor/block_stack.yaml."""

    dir: str | None = MISSING
    name: str = MISSING
    target_hz: int = MISSING
    hw: list[int] = MISSING
    cameras: list[str] = MISSING
    workers: int | None = MISSING
    val_frac: float = MISSING
    val_floor: int = MISSING
    val_runs: list[str] = MISSING
    val_from: str | None = MISSING
    eval_globs: list[str] = MISSING
    exclude_globs: list[str] = MISSING
    max_runs_per_campaign: int = MISSING
    on_bad_run: str = MISSING
    require_green: bool = MISSING
    allow_mixed_cameras: bool = MISSING
    allow_mixed_control: bool = MISSING
    allow_post_read: bool = MISSING
    allow_simulated: bool = MISSING
    allow_faults: list[str] = MISSING
    min_coverage: float = MISSING
    max_gap_s: float = MISSING
    rehash: bool = MISSING
    video: Video = field(default_factory=Video)
    lerobot_stats: str = MISSING
    objects: str = MISSING
    cube: Cube = field(default_factory=Cube)


@dataclass
class Output:
    """Where the dataset goes."""

    dir: str | None = MISSING


@dataclass
class Config:
    """One command, whole. A key that configs/ does not give is an error, not a zero."""

    source: BlockStackSource = field(default_factory=BlockStackSource)
    output: Output = field(default_factory=Output)
    dry_run: bool = MISSING


@dataclass(frozen=True)
class Command:
    """What the user asked for: a processor, an executor and their options; `given` are the options typed."""

    processor: str
    executor: str
    config: Config
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
    given, faults = _split_arguments(arguments)
    chosen = {"executor": DEFAULT_EXECUTOR} | {name: value for name, value in given.items() if name in GROUPS}
    if "processor" not in chosen:
        faults.append(_fault("processor", "none", f"one of {', '.join(group_names('processor'))}", "+processor=<name>"))
    for group, name in chosen.items():
        if name not in group_names(group):
            faults.append(_fault(group, repr(name), f"one of {', '.join(group_names(group))}", f"+{group}=<name>"))
    config = Config() if faults else _compose(chosen)
    for name, text in given.items():
        if name not in GROUPS:
            faults += _set(config, name, text)
    if faults:
        raise Refused(faults)
    config.source.video.resolve()
    return Command(chosen["processor"], chosen["executor"], config, frozenset(given))


def default_config(processor: str) -> Config:
    """What every option of a processor is where none is given."""
    return _compose({"processor": processor, "executor": DEFAULT_EXECUTOR})


def _split_arguments(arguments: Sequence[str]) -> tuple[dict[str, str], list[Fault]]:
    given: dict[str, str] = {}
    faults: list[Fault] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        bare = name.removeprefix("+").removeprefix("+")
        if not equals or not bare:
            faults.append(_fault("argument", repr(argument), "+option=value", "--help lists the options"))
        elif bare in given:
            faults.append(_fault(bare, f"{given[bare]!r} and {value!r}", "one value", f"+{bare}=..."))
        else:
            given[bare] = value
    return given, faults


def _compose(chosen: dict[str, str]) -> Config:
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        composed = compose("build", [f"+{group}={name}" for group, name in chosen.items()])
    typed = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), composed))
    assert isinstance(typed, Config)
    return typed


def _options(config: Any, prefix: str = "") -> Iterator[tuple[str, Any, str, Any]]:
    """(dotted name, object that holds it, attribute, type) of every option."""
    hints = typing.get_type_hints(type(config))
    for entry in fields(config):
        value, name = getattr(config, entry.name), f"{prefix}{entry.name}"
        if is_dataclass(value):
            yield from _options(value, f"{name}.")
        else:
            yield name, config, entry.name, hints[entry.name]


def option_names() -> list[str]:
    """Every option and group, as they are typed."""
    return [*GROUPS, *(name for name, *_ in _options(Config()))]


def _set(config: Config, name: str, text: str) -> list[Fault]:
    """Put one value in its place, or say why it has none."""
    for known, holder, attribute, kind in _options(config):
        if known == name:
            try:
                value = _typed(text, kind)
                setattr(holder, attribute, _with_defaults(value, getattr(holder, attribute)))
            except ValueError:
                return [_fault(name, repr(text), _kind_in_words(kind), f"+{name}=...")]
            return []
    near = difflib.get_close_matches(name, option_names(), n=3, cutoff=0.5)
    meant = f" (did you mean {' or '.join(near)}?)" if near else ""
    return [_fault("option", f"{name}{meant}", f"one of {', '.join(option_names())}", "--help explains every option")]


def _with_defaults(value: Any, default: Any) -> Any:
    """In a list, `...` stands for the items that are there by default."""
    if isinstance(value, list) and DEFAULTS in value:
        at = value.index(DEFAULTS)
        return [*value[:at], *default, *value[at + 1 :]]
    return value


def _typed(text: str, kind: Any) -> Any:
    """Text to a value of an annotated type; ValueError where it is none."""
    if isinstance(kind, types.UnionType):
        inner = next(k for k in typing.get_args(kind) if k is not type(None))
        return None if text == "null" else _typed(text, inner)
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
    words = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    if isinstance(kind, types.UnionType):
        return " or ".join("null" if k is type(None) else words[k] for k in typing.get_args(kind))
    return words[kind]


def _fault(name: str, found: str, expected: str, option: str) -> Fault:
    return Fault(COMMAND_LINE, name, found, expected, option=option)


def help_lines() -> Iterator[str]:
    """Every option with its default and what configs/ says of it."""
    yield USAGE
    yield ""
    yield "x=, +x= and ++x= mean the same; values are taken verbatim."
    yield "lists are written [a,b]; ... in one stands for its default items."
    yield ""
    yield "  processor=<required>"
    yield f"      what is built: {', '.join(group_names('processor'))}"
    yield f"  executor={DEFAULT_EXECUTOR}"
    yield f"      where tasks run: {', '.join(group_names('executor'))}"
    files = [("", config_folder() / "build.yaml")]
    files += [("source.", config_folder() / "processor" / f"{name}.yaml") for name in group_names("processor")]
    for prefix, path in files:
        yield ""
        yield f"{path.stem} options" if prefix else "options of every build"
        for name, default, comment in commented_options(path.read_text(encoding="utf-8").splitlines()):
            yield f"  {prefix}{name}={default}"
            yield from (f"      {line}" for line in comment)
    yield ""
    yield "exit codes: 0 done; 1 a failure of ours; 2 input or command refused, nothing touched; 130 interrupted"


def commented_options(lines: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
    """(dotted name, default, comment lines above it) of each option of a commented YAML of one or two levels."""
    section, comment = "", list[str]()
    for line in lines:
        text = line.strip()
        if text.startswith("#"):
            comment.append(text.removeprefix("#").strip())
            continue
        name, colon, default = text.partition(":")
        if not line.startswith(" "):
            section = ""
        if colon and not default:
            section = f"{name}."
        elif colon:
            yield f"{section}{name}", default.strip().replace(", ", ","), comment
        comment = []
