"""The command line, whole: defaults from configs/, values from what was typed, checked all at once.

Hydra composes the groups (`processor`, `executor`). Values do not go through its override grammar, which refuses paths
such as `/data/a(b)` or `k=v`: they are taken verbatim and typed by the options' own types.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from quickdraw.data.command_line.arguments import NAME, fault, kinds_of, placed, split_arguments, twice, valued
from quickdraw.data.config_files import config_folder, group_names
from quickdraw.data.executor_options import EXECUTOR_OPTIONS
from quickdraw.data.options import Config, Output
from quickdraw.data.processor import processor, processor_names
from quickdraw.errors import Fault, Refused

COMMAND = "python -m quickdraw.data.processors"
GROUPS = ("processor", "executor")
DEFAULT_EXECUTOR = "local"
EVERY_BUILD = {"dry_run": bool, "report": bool}  # options beside those of `source`, `executor` and `output`


@dataclass(frozen=True)
class Command:
    """What the user asked for: a processor, an executor and their options; `given` are the options typed."""

    processor: str
    executor: str
    config: Config[Any]
    given: frozenset[str]


def parse(arguments: Sequence[str]) -> Command:
    """The command line, typed.

    Raises Refused with all that is wrong with it. Ranges are left to whoever builds from it, but where it is refused
    anyway those of what was typed are told with the rest.
    """
    typed, faults = split_arguments(arguments)
    chosen = {"executor": DEFAULT_EXECUTOR} | {name: value for name, value in typed.items() if name in GROUPS}
    groups = _group_faults(chosen)
    values, wrong = _values(typed, chosen.get("processor"), chosen["executor"])
    faults += [*groups, *wrong]
    if groups:
        raise Refused(faults)
    config = _composed(chosen["processor"], chosen["executor"])
    for option, value in values.items():
        config = placed(config, option, value)
    config = placed(config, "source.video", config.source.video.resolved())
    if faults:
        ranges = processor(chosen["processor"]).faults(config)
        raise Refused([*faults, *(each for each in ranges if each.field in values)])
    return Command(chosen["processor"], chosen["executor"], config, frozenset(typed))


def default_config(name: str) -> Config[Any]:
    """What every option of a processor is where none is given."""
    return _composed(name, DEFAULT_EXECUTOR)


def option_kinds(name: str | None = None, executor: str | None = None) -> dict[str, Any]:
    """Every option, as it is typed, and the type of its value.

    Of all processors, or executors, where there is none of that name.
    """
    shown = [name] if name in processor_names() else processor_names()
    kinds = {option: kind for each in shown for option, kind in kinds_of(processor(str(each)).options, "source.")}
    engines = [executor] if executor in EXECUTOR_OPTIONS else EXECUTOR_OPTIONS
    for each in engines:
        kinds |= kinds_of(EXECUTOR_OPTIONS[str(each)], "executor.")
    return kinds | dict(kinds_of(Output, "output.")) | EVERY_BUILD


def option_names(name: str | None = None, executor: str | None = None) -> list[str]:
    """Every option and group, as they are typed."""
    return [*GROUPS, *option_kinds(name, executor)]


def _group_faults(chosen: Mapping[str, str]) -> list[Fault]:
    faults = []
    if "processor" not in chosen:
        faults.append(fault("processor", "none", f"one of {', '.join(group_names('processor'))}", "+processor=<name>"))
    for group, name in chosen.items():
        if name not in group_names(group):
            faults.append(fault(group, repr(name), f"one of {', '.join(group_names(group))}", f"+{group}=<name>"))
    return faults


def _values(typed: Mapping[str, str], name: str | None, executor: str) -> tuple[dict[str, Any], list[Fault]]:
    """Option -> its value, short forms spelled out, and what is wrong with the others."""
    known, values, faults = option_kinds(name, executor), dict[str, Any](), list[Fault]()
    short = processor(name).short_forms if name in processor_names() else {}
    for option, text in typed.items():
        if option in GROUPS:
            continue
        try:
            if option in short:
                meant, words = short[option]
                values[meant] = _meant(option, text, meant, words)
                if meant in typed:
                    raise Refused([twice(option, f"+{option}={text}", f"+{meant}={typed[meant]}")])
            else:
                values[option] = valued(option, text, _kind(option, known, name, executor))
        except Refused as refused:
            faults += refused.faults
    return values, faults


def _meant(option: str, text: str, meant: str, words: Mapping[str, str]) -> str:
    """What a short form stands for. Raises Refused."""
    if text.lower() not in words:
        raise Refused([fault(option, repr(text), " or ".join(words), f"+{option}=... or +{meant}=...")])
    return words[text.lower()]


def _kind(option: str, known: Mapping[str, Any], name: str | None, executor: str) -> Any:
    """The type of an option. Raises Refused where there is none such."""
    kind = known.get(option) or next((kind for each, kind in known.items() if _is_one(option, each)), None)
    if kind is None or option.endswith(f".{NAME}"):
        raise Refused([_unknown(option, name, executor)])
    return kind


def _is_one(name: str, option: str) -> bool:
    """Whether `source.slots.front` is one of `source.slots.<name>`."""
    prefix = option.removesuffix(NAME)
    return prefix != option and name.startswith(prefix) and name != prefix


def _unknown(option: str, name: str | None, executor: str) -> Fault:
    """An option that does not exist, or is another processor's or executor's."""
    engines = [each for each, kind in EXECUTOR_OPTIONS.items() if option in dict(kinds_of(kind, "executor."))]
    if engines:
        found = f"{option} with executor={executor}"
        return fault("option", found, f"executor={' or '.join(engines)} with it", f"+executor={engines[0]}")
    others = [each for each in processor_names() if each != name and option in option_kinds(each)]
    near = difflib.get_close_matches(option, option_names(name, executor), n=3, cutoff=0.5)
    meant = f" (did you mean {' or '.join(near)}?)" if near else ""
    hint = f" (an option of {' and '.join(others)})" if others else meant
    asked = f"--help +processor={name}" if name in processor_names() else "--help"
    return fault("option", f"{option}{hint}", f"an option that {asked} lists", "--help explains every option")


@cache  # Hydra takes a third of a second
def _composed(name: str, executor: str) -> Config[Any]:
    import msgspec
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        composed = compose("build", [f"+processor={name}", f"+executor={executor}"])
    told: Any = OmegaConf.to_container(composed, resolve=True)
    source = msgspec.convert(told["source"], processor(name).options)
    engine = msgspec.convert(told.get("executor", {}), EXECUTOR_OPTIONS[executor])
    every = {option: msgspec.convert(told[option], kind) for option, kind in EVERY_BUILD.items()}
    return Config(source, msgspec.convert(told["output"], Output), engine, **every)
