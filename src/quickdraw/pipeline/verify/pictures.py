"""Every picture of a video file decoded once; what later checks need of it is kept, never the pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quickdraw.core.episode import Float32
from quickdraw.core.grid import Int64
from quickdraw.core.statistics import sampled_frames
from quickdraw.errors import VideoError
from quickdraw.pipeline.counting import LevelCounts, colour_counts
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.verify.depth_pictures import ShownDepth, WatchDepth
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.motion import Changes, Grey, fields_of, grey_of, step_between
from quickdraw.pipeline.verify.split_view import SplitView, VideoPart
from quickdraw.pipeline.verify.videos import check_size
from quickdraw.video.decoding import Picture, as_rgb, pictures

DECODING = "decoding"
PICKS = 60  # pictures of an episode that are held against its source


@dataclass(frozen=True, slots=True)
class Picks:
    """The liveliest picture of each stretch of an episode: their `rows` `(P,)` and `fields` `(P, 24, 32)` uint8."""

    rows: Int64
    fields: Grey


@dataclass(frozen=True, slots=True)
class Shown:
    """One whole episode as a colour camera's file shows it.

    `counts` `(3, 256)` int64 and `sampled` are of the pictures lerobot samples; `steps` `(T,)` is the mean difference
    of each picture to the one before it, `noise` `(T,)` that of the middle one of its fields, and `change` `(T,)` how
    much the last second changed the field it changed most [levels]; `picks` is None where no source was given.
    """

    counts: Int64
    sampled: int
    steps: Float32
    noise: Float32
    change: Float32
    picks: Picks | None


@dataclass(frozen=True, slots=True)
class DecodeTask:
    """Decode a video file that shows episodes of `lengths` pictures each, one after another."""

    path: Path
    lengths: tuple[int, ...]
    rate_hz: int
    pick: bool
    is_depth: bool = False

    def watch(self, length: int) -> _Watch | WatchDepth:
        """What looks at an episode of `length` pictures."""
        return WatchDepth(length) if self.is_depth else _Watch(length, Changes(self.rate_hz), self.pick)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What was decoded of a file: `episodes` that are whole, `size` (height, width), and why it ended too early."""

    pictures: int
    episodes: tuple[Shown | ShownDepth, ...]
    size: tuple[int, int] | None
    damage: tuple[str, str] | None


@dataclass(slots=True)
class _Watch:
    """Looks at the pictures of one episode of a colour camera as they pass."""

    length: int
    changes: Changes
    pick: bool
    counted: LevelCounts = field(default_factory=LevelCounts.of_colour)
    steps: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)
    liveliest: dict[int, tuple[float, int, Grey]] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        return len(self.steps)

    def follow(self, shown: Iterator[Picture]) -> Iterator[Picture]:
        """Look at the episode's pictures and hand each on."""
        before, sampled = None, set(sampled_frames(self.length).tolist())
        for row, picture in zip(range(self.length), shown, strict=False):
            yield picture
            if row in sampled:
                self.counted.add(colour_counts(as_rgb(picture)))
            grey = grey_of(picture)
            step, noise = step_between(before, grey)
            before = grey
            self.steps.append(step)
            self.noise.append(noise)
            self.changes.add(fields := fields_of(grey))
            if self.pick:
                self._pick(row, step, fields)

    def _pick(self, row: int, step: float, fields: Grey) -> None:
        stretch = row * PICKS // self.length
        if stretch not in self.liveliest or step > self.liveliest[stretch][0]:
            self.liveliest[stretch] = step, row, fields

    def result(self) -> Shown:
        picks = None
        if self.pick:
            rows = np.array([row for _, row, _ in self.liveliest.values()], np.int64)
            picks = Picks(rows, np.stack([fields for *_, fields in self.liveliest.values()]))
        return Shown(
            counts=self.counted.counts,
            sampled=self.counted.pictures,
            steps=np.array(self.steps, np.float32),
            noise=np.array(self.noise, np.float32),
            change=self.changes.result(),
            picks=picks,
        )


def decode(task: DecodeTask) -> tuple[DecodeTask, Decoded]:
    """Decode a file to its end or to its first damaged picture."""
    episodes, number, size = list[Shown | ShownDepth](), 0, None
    shown = pictures(task.path)
    try:
        for length in task.lengths:
            watch = task.watch(length)
            for picture in watch.follow(shown):
                number, size = number + 1, (picture.height, picture.width)
            if watch.seen == length:
                episodes.append(watch.result())
        number += sum(1 for _ in shown)
    except VideoError as error:
        return task, Decoded(number, tuple(episodes), size, (error.found, error.expected))
    return task, Decoded(number, tuple(episodes), size, None)


@dataclass(frozen=True, slots=True)
class SplitPictures:
    """What was seen of one split: episode -> camera's feature name -> what it shows; only what could be decoded."""

    shown: Mapping[int, Mapping[str, Shown | ShownDepth]]

    def episodes(self, key: str) -> dict[int, Shown | ShownDepth]:
        """A camera's episodes by number."""
        return {number: self.shown[number][key] for number in sorted(self.shown) if key in self.shown[number]}

    def colour(self, episode: int) -> dict[str, Shown]:
        """An episode as each colour camera shows it."""
        return {key: seen for key, seen in self.shown.get(episode, {}).items() if isinstance(seen, Shown)}

    def depth(self, episode: int) -> dict[str, ShownDepth]:
        """An episode as each depth camera shows it."""
        return {key: seen for key, seen in self.shown.get(episode, {}).items() if isinstance(seen, ShownDepth)}


def decode_all(
    splits: Mapping[str, SplitView], ledger: Ledger, executor: Executor, progress: Progress, *, pick: bool
) -> tuple[dict[str, SplitPictures], int]:
    """Decode every video file, the longest first: what each split shows, and how many pictures there were."""
    parts: dict[Path, tuple[SplitView, VideoPart]] = {}
    tasks = []
    for split in splits.values():
        with ledger.checking(DECODING, split.name):
            for part in split.videos:
                lengths = tuple(entry.length for entry in part.entries)
                parts[part.path] = split, part
                is_depth = split.info.features[part.key].is_depth
                tasks.append(DecodeTask(part.path, lengths, split.info.rate_hz, pick and not is_depth, is_depth))
    tasks.sort(key=lambda task: (-sum(task.lengths), str(task.path)))
    shown: dict[str, dict[int, dict[str, Shown | ShownDepth]]] = {name: {} for name in splits}
    total, found = 0, {}
    with progress.stage("decode", sum(sum(task.lengths) for task in tasks), "pictures") as meter:
        for task, decoded in executor.run(decode, tasks):
            meter.advance(sum(task.lengths))
            found[task.path] = decoded
    for path in sorted(found):  # whatever was finished first, a report is the same
        (split, part), decoded = parts[path], found[path]
        total += decoded.pictures
        _report(split, part, decoded, ledger)
        for entry, episode in zip(part.entries, decoded.episodes, strict=False):
            shown[split.name].setdefault(entry.number, {})[part.key] = episode
    return {name: SplitPictures(held) for name, held in shown.items()}, total


def _report(split: SplitView, part: VideoPart, decoded: Decoded, ledger: Ledger) -> None:
    ledger.saw(DECODING, decoded.pictures)
    if decoded.damage is not None:
        found, expected = decoded.damage
        ledger.fault(DECODING, split.name, found=f"{part.camera}: {found}", expected=expected, path=part.path)
    elif decoded.pictures != part.pictures:
        found = f"{part.camera}: {decoded.pictures} decoded pictures"
        ledger.fault(DECODING, split.name, found=found, expected=f"{part.pictures}, one per row", path=part.path)
    if decoded.size is not None:
        check_size(split, part, decoded.size, ledger)
