"""measured/shift_curves.json: how unlike a build's pictures are to their raw ones, some rows earlier and later.

Every build measures a sample of itself, one episode a split: whoever opens the dataset sees that each row's clip shows
the picture its plan chose, through encoding, joining and numbering. That the plan chose right is not shown by it: the
same plan says which raw picture is looked at. `quickdraw verify --source` plans anew, by the same rule, and looks at
every episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from quickdraw.formats.json_document import write_json
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.places import CLIP_PLACE, SHIFT_CURVES
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.alignment import FAR, verdict_of
from quickdraw.pipeline.verify.motion import Grey, unlike
from quickdraw.pipeline.verify.reading_sources import Damage
from quickdraw.pipeline.verify.shift_sample import SECONDS, Sample, SampleTask, Seen, look, sample_of
from quickdraw.pipeline.verify.sweep import SHIFTS
from quickdraw.video.copying import Copying
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.filming import Filming

# Why there is no curve of a camera.
DEPTH, COPIED, SHORT = "depth", "copied, the source's own pictures", "too short to be shifted"
UNREADABLE = "its raw file could not be read again"


class SampledCurve(msgspec.Struct, frozen=True):
    """`report.Curve` of the `rows` rows of an episode from `first_row` on."""

    split: str
    episode: int
    camera: str
    first_row: int
    rows: int
    mean_square: tuple[float, ...]
    others: dict[str, float]
    verdict: str


class LeftOut(msgspec.Struct, frozen=True):
    """A camera of a split that there is no curve of, and why."""

    split: str
    camera: str
    reason: str


class ShiftCurves(msgspec.Struct, frozen=True):
    """The document. Differences are mean squares of luma [levels of 255], to four digits, for each of `shifts`."""

    shifts: tuple[int, ...]
    seconds: int
    curves: tuple[SampledCurve, ...]
    left_out: tuple[LeftOut, ...]


def write_shift_curves(
    dataset: Path, members: Mapping[str, Members], *, settings: Settings, executor: Executor, progress: Progress
) -> None:
    """Measure a dataset that is packed, and say what is wrong with it."""
    samples = [sample_of(name, episodes, settings.source.rate_hz) for name, episodes in members.items()]
    source, encodings = settings.source, settings.encodings
    found = measure_shifts(dataset, samples, source, encodings, executor=executor, progress=progress)
    write_json(dataset / SHIFT_CURVES, msgspec.to_builtins(found), indent=1)
    for warning in warnings_of(found):
        progress.note(f"warning: {warning}")


def measure_shifts(
    dataset: Path,
    samples: Sequence[Sample],
    source: Source,
    encodings: Mapping[str, Filming],
    *,
    executor: Executor,
    progress: Progress,
) -> ShiftCurves:
    """The curves of the samples, of every camera whose pictures were encoded."""
    tasks, left_out = list[SampleTask](), list[LeftOut]()
    for sample in samples:
        for camera in source.cameras:
            clip = dataset / CLIP_PLACE.format(camera=camera, split=sample.split, number=sample.episode)
            if reason := _reason(sample, encodings[camera]):
                left_out.append(LeftOut(sample.split, camera, reason))
            else:
                tasks.append(SampleTask(sample, camera, source, clip))
    seen = dict[tuple[str, str], Seen]()
    for task, result in _looked(tasks, executor, progress):
        if isinstance(result, Damage):
            progress.note(f"warning: no shift curve of {task.camera} in {task.sample.split}: {result.found}")
            left_out.append(LeftOut(task.sample.split, task.camera, UNREADABLE))
        else:
            seen[task.sample.split, task.camera] = result
    curves = tuple(curve for sample in samples for curve in _curves(sample, source.cameras, seen))
    return ShiftCurves(tuple(SHIFTS), SECONDS, curves, tuple(sorted(left_out, key=lambda o: (o.split, o.camera))))


def _looked(
    tasks: Sequence[SampleTask], executor: Executor, progress: Progress
) -> Iterator[tuple[SampleTask, Seen | Damage]]:
    """What each of them shows; not a word where there are none."""
    if tasks:
        with progress.stage("align", len(tasks), "cameras") as meter:
            for number, result in executor.run(look, enumerate(tasks)):
                yield tasks[number], result
                meter.advance(1)


def _reason(sample: Sample, filming: Filming) -> str:
    """Why a camera has no curve; empty where it has one."""
    if isinstance(filming, DepthEncoding) or filming.channels == 1:
        return DEPTH
    if isinstance(filming, Copying):
        return COPIED
    return "" if sample.rows else SHORT


def _curves(sample: Sample, cameras: Sequence[str], seen: Mapping[tuple[str, str], Seen]) -> Iterator[SampledCurve]:
    """A split's curves."""
    there = {camera: seen[sample.split, camera] for camera in cameras if (sample.split, camera) in seen}
    for camera, own in there.items():
        squares = [_shifted(own.shown, own.source, shift) for shift in SHIFTS]
        others = {name: _shifted(own.shown, of.source, 0) for name, of in there.items() if name != camera}
        verdict = verdict_of(np.array(squares))
        yield SampledCurve(
            sample.split, sample.episode, camera, sample.first, sample.rows, tuple(squares), others, verdict
        )


def _shifted(shown: Grey, source: Grey, shift: int) -> float:
    """How unlike what is shown is to the source `shift` rows later [levels squared], to four digits."""
    begun = shift - SHIFTS[0]
    return float(f"{unlike(shown, source[begun : begun + len(shown)]):.4g}")


def warnings_of(found: ShiftCurves) -> Iterator[str]:
    """What nobody should miss: cameras that show other rows than their own, or what another camera saw."""
    for curve in found.curves:
        place = f"{curve.split}, episode {curve.episode}, {curve.camera}"
        here = curve.mean_square[SHIFTS.index(0)]
        if curve.verdict == "shifted":
            least = min(curve.mean_square)
            best = SHIFTS[curve.mean_square.index(least)]
            yield f"{place}: pictures are most like the raw ones {best:+d} rows away ({least:.4g}, at 0 {here:.4g})"
        near = [name for name, square in curve.others.items() if square <= FAR * here]  # both are 0 without loss
        if near:
            yield f"{place}: pictures are nearly as like the raw ones of {', '.join(near)}"
