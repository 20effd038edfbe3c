"""What a processor is, and where one is found: `quickdraw.data.<name>.PROCESSOR`, beside configs/processor/<name>.yaml.

Whoever adds one writes these two files and changes none: see docs/adding_a_processor.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickdraw.data.config_files import group_names
from quickdraw.data.options import Check, Config, Options, faults_of, place_checks, split_checks, video_checks
from quickdraw.errors import Fault, Refused

if TYPE_CHECKING:
    from quickdraw.core.cubes import CubeRule
    from quickdraw.pipeline.source import Source
    from quickdraw.video.filming import Filming

type Told = Mapping[str, Any]  # options as provenance.json has them
type ShortForm = tuple[str, Mapping[str, str]]  # the option that is meant, and the value each word stands for


def _none(_: Any) -> tuple[()]:
    return ()


def _no_cubes(_: Any) -> None:
    return None


def _nothing(*_: Any) -> Told:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor[O: Options]:
    """One raw format, from options to a source of episodes.

    `options` is the type of `config.source`, its fields those of the YAML. `tree` says what `source.dir` must be.
    `checks` holds the options that only this processor has to their ranges.
    `recognises` is true of every folder that could be built from: where it is not, another's may be.
    `source` makes the source of a tree from options as provenance.json tells them, at a build and at `quickdraw verify
    --source` alike; it raises msgspec.ValidationError where they are none of its own.
    `films` tells how each camera's pictures are made, of the cameras the source has by then.
    `decides` adds to the options what they and the tree decide, such as a rate that is the recordings' own; it may
    raise Refused. `settles` adds what a source was settled by, of `Source.settled_by`.
    `cubes` says how cubes are measured, None where they are not. `warns` tells of options that do not do what they say.
    `short_forms` are options that may be typed as something shorter. `least_val_floor` is 0 where a pool of one episode
    may go without val.
    """

    options: type[O]
    tree: str
    recognises: Callable[[Path], bool]
    source: Callable[[Told, Path], Source]
    films: Callable[[O, Any], Mapping[str, Filming]]
    checks: Callable[[O], Iterable[Check]] = _none
    decides: Callable[[O, Path], Told] = _nothing
    settles: Callable[[Any], Told] = _nothing
    cubes: Callable[[O], CubeRule | None] = _no_cubes
    warns: Callable[[O], Iterable[str]] = _none
    short_forms: Mapping[str, ShortForm] = field(default_factory=dict)
    least_val_floor: int = 1

    def faults(self, config: Config[O]) -> list[Fault]:
        """Every option outside its range, those that every build has among them."""
        source = config.source
        checks = (*place_checks(config, self.tree), *self.checks(source), *video_checks(source.video))
        return faults_of((*checks, *split_checks(source, self.least_val_floor), *config.executor.checks()))


def processor_names() -> list[str]:
    """Every processor there is."""
    return group_names("processor")


def processor(name: str) -> Processor[Any]:
    """The processor of a name. Raises Refused where there is none."""
    if name not in processor_names():
        raise Refused([Fault("source", "processor", repr(name), f"one of {', '.join(processor_names())}")])
    found: Processor[Any] = importlib.import_module(f"quickdraw.data.{name}").PROCESSOR
    return found


def source_of(name: str, options: Told, tree: Path) -> Source:
    """The source of a dataset. Raises Refused where there is no such processor, or its options are none of its own."""
    import msgspec

    found = processor(name)
    try:
        return found.source(options, tree)
    except msgspec.ValidationError as error:
        raise Refused([Fault("source", "options", f"malformed ({error})", f"those of {name}")]) from error
