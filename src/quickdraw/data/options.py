"""The options every processor has, typed, and what each may be. Their defaults, units and reasons stand in configs/."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from quickdraw.errors import COMMAND_LINE, Fault
from quickdraw.video.codecs import CODECS

type Check = tuple[bool, str, Any, str]  # whether it is right, option, value, what would be right


@dataclass(frozen=True, kw_only=True)
class Video:
    """How pictures are encoded."""

    codec: str
    crf: int | None
    preset: str | None
    gop: int

    def resolved(self) -> Self:
        """With the codec's own where no crf or preset is given; as it is where there is no such codec."""
        codec = CODECS.get(self.codec)
        if codec is None:
            return self
        crf, preset = self.crf, self.preset
        return replace(self, crf=codec.crf if crf is None else crf, preset=codec.preset if preset is None else preset)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What any processor is asked for as `source.<name>`; each adds its own in a subclass."""

    dir: str | None
    name: str
    video: Video
    workers: int | None
    val_frac: float
    val_floor: int
    val_runs: tuple[str, ...]
    val_from: str | None
    eval_globs: tuple[str, ...]
    exclude_globs: tuple[str, ...]
    max_runs_per_campaign: int
    on_bad_run: Literal["refuse", "skip"]
    rehash: bool
    lerobot_stats: Literal["train", "split"]


@dataclass(frozen=True, kw_only=True)
class ValByRule:
    """Options of a processor that lets one choose by which rule episodes go to val; without them it is the longest."""

    val_rule: Literal["longest", "random"]
    seed: int


# Options of `source` that cannot change what is built.
NOT_CONTENT = ("dir", "workers", "val_from", "on_bad_run", "rehash")


@dataclass(frozen=True, kw_only=True)
class ExecutorOptions:
    """What an executor is asked for as `executor.<name>`; each that has options adds them in a subclass."""

    def checks(self) -> Iterable[Check]:
        """What holds them to their ranges."""
        return ()


@dataclass(frozen=True)
class Output:
    """Where the dataset goes."""

    dir: str | None


@dataclass(frozen=True)
class Config[O: Options]:
    """One command, whole. A key that configs/ does not give is an error, not a zero."""

    source: O
    output: Output
    executor: ExecutorOptions
    dry_run: bool
    report: bool


def faults_of(checks: Iterable[Check]) -> list[Fault]:
    """A fault for each option that is not right."""
    return [
        Fault(COMMAND_LINE, name, _shown(value), expected, option=f"+{name}=...")
        for right, name, value, expected in checks if not right
    ]  # fmt: skip


def as_json(options: Any) -> dict[str, Any]:
    """Options as JSON has them, lists for tuples, so that they are the same written down and read back."""
    import msgspec

    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(options))
    return told


def _shown(value: Any) -> str:
    return str(list(value) if isinstance(value, tuple) else value)


def place_checks(config: Config[Any], tree: str) -> list[Check]:
    """Where things come from and go to; `tree` is what the source's folder must be."""
    source = config.source
    plain = source.name not in ("", ".", "..") and "/" not in source.name and source.name.isprintable()
    return [
        (bool(source.dir), "source.dir", source.dir, tree),
        (config.output.dir != "", "output.dir", repr(config.output.dir), "a folder, or null"),
        (plain, "source.name", source.name, "a folder name"),
        (source.workers is None or 1 <= source.workers <= 512, "source.workers", source.workers, "1 to 512, or null"),
    ]


def split_checks(source: Options, least_floor: int) -> Iterator[Check]:
    """Which episodes go where; `least_floor` is the least that val_floor may be."""
    floor, runs = f"at least {least_floor}", source.max_runs_per_campaign
    yield 0 < source.val_frac < 1, "source.val_frac", source.val_frac, "between 0 and 1"
    yield source.val_floor >= least_floor, "source.val_floor", source.val_floor, floor
    yield source.val_from != "", "source.val_from", repr(source.val_from), "a built dataset, or null"
    once = not (source.val_runs and source.val_from)
    yield once, "source.val_from", source.val_from, "not together with val_runs"
    yield runs >= 0, "source.max_runs_per_campaign", runs, "0 or more"
    if isinstance(source, ValByRule):
        yield source.seed >= 0, "source.seed", source.seed, "0 or more"


def video_checks(video: Video) -> list[Check]:
    """Judged by the codec; where there is no such codec, by all of them."""
    codecs = [CODECS[video.codec]] if video.codec in CODECS else list(CODECS.values())
    crf = video.crf is None or any(codec.best_crf <= video.crf <= codec.worst_crf for codec in codecs)
    preset = video.preset is None or any(video.preset in codec.presets for codec in codecs)
    crfs = ", ".join(f"{codec.best_crf} to {codec.worst_crf} for {codec.name}" for codec in codecs)
    presets = "; ".join(f"one of {', '.join(codec.presets)} for {codec.name}" for codec in codecs)
    return [
        (video.codec in CODECS, "source.video.codec", video.codec, f"one of {', '.join(CODECS)}"),
        (crf, "source.video.crf", video.crf, crfs),
        (preset, "source.video.preset", video.preset, presets),
        (1 <= video.gop <= 250, "source.video.gop", video.gop, "1 to 250 pictures"),
    ]


def is_size(hw: Sequence[int]) -> bool:
    """Whether a picture may be so high and wide."""
    return len(hw) == 2 and all(16 <= size <= 4320 and size % 2 == 0 for size in hw)


def all_differ(names: Sequence[str]) -> bool:
    """Whether no name is empty, and none there twice."""
    return all(names) and len(set(names)) == len(names)
