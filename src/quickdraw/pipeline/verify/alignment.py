"""What the shift sweeps of a dataset say: which camera's pictures are not those of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from quickdraw.core.episode import EpisodePlan
from quickdraw.core.grid import Float64
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.frozen import report_frozen, still
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.pictures import Shown, SplitPictures
from quickdraw.pipeline.verify.reading_sources import Damage
from quickdraw.pipeline.verify.report import ALIGNED, Curve
from quickdraw.pipeline.verify.source_packets import is_copied
from quickdraw.pipeline.verify.split_view import SplitView, camera_name
from quickdraw.pipeline.verify.sweep import SHIFTS, SweepTask, Swept, sweep

SWEEP, CAMERAS = "shift sweep", "source cameras"
ALIKE = 1.1  # differences within so many times the least are one: a still scene, or a camera slower than the rows
FAR = 2.0  # another camera's pictures must be at least so many times as far away
SOURCE_MOVES_LEVELS = 4  # what changes in the source in a second in which the dataset must not stand still


def check_alignment(
    dataset: DatasetView,
    shown: Mapping[str, SplitPictures],
    source: Source,
    plans: Mapping[tuple[str, int], EpisodePlan],
    *,
    ledger: Ledger,
    executor: Executor,
    progress: Progress,
) -> tuple[Curve, ...]:
    """Every encoded colour camera of every episode; their curves. One is judged once all of its episode are there."""
    tasks = [task for key in sorted(plans) for task in _tasks(dataset, shown, source, *key, plan=plans[key])]
    tasks.sort(key=lambda task: -task.plan.frames)
    cameras = Counter((task.split, task.episode) for task in tasks)
    waiting: dict[tuple[str, int], dict[str, Swept | Damage]] = {}
    judged: dict[tuple[str, int], tuple[list[Curve], Ledger]] = {}
    if not tasks:
        return ()
    with progress.stage("sweep", sum(task.plan.frames for task in tasks), "rows") as meter:
        for task, result in executor.run(sweep, tasks):
            meter.advance(task.plan.frames)
            swept = waiting.setdefault(key := (task.split, task.episode), {})
            swept[task.camera] = result
            if len(swept) == cameras[key]:
                found = Ledger(dataset.root)
                split, seen = dataset.splits[task.split], shown[task.split].colour(task.episode)
                judged[key] = list(_curves(split, task.episode, seen, waiting.pop(key), found)), found
    for key in sorted(judged):  # whatever was finished first, a report is the same
        ledger.take(judged[key][1])
    return tuple(curve for key in sorted(judged) for curve in judged[key][0])


def _tasks(
    dataset: DatasetView,
    shown: Mapping[str, SplitPictures],
    source: Source,
    name: str,
    episode: int,
    *,
    plan: EpisodePlan,
) -> Iterator[SweepTask]:
    if name in shown:
        seen, split = shown[name].colour(episode), dataset.splits[name]
        picks = {camera_name(key): camera.picks for key, camera in seen.items() if camera.picks is not None}
        for camera in source.cameras:
            if not split.info.is_depth(camera) and not is_copied(dataset, split, camera):
                yield SweepTask(name, episode, camera, source, plan, picks)


def _curves(
    split: SplitView, episode: int, shown: Mapping[str, Shown], swept: Mapping[str, Swept | Damage], ledger: Ledger
) -> Iterator[Curve]:
    """The curves of one episode's cameras, and in the ledger what is wrong with them."""
    entry = split.entry(episode)
    for camera, result in sorted(swept.items()):
        with ledger.checking(SWEEP, split.name):
            if isinstance(result, Damage):
                found = f"episode {episode}, {camera}: {result.found}"
                ledger.fault(SWEEP, split.name, found=found, expected=result.expected)
                continue
            seen = shown.get(split.info.camera_key(camera))
            if seen is None or entry is None:
                continue  # what could not be decoded, or is not there, is a finding already
            others = {
                name: of.by_camera[camera]
                for name, of in swept.items()
                if isinstance(of, Swept) and name != camera and camera in of.by_camera
            }
            curve = _judge(split, (entry, camera), result, others, ledger)
            _check_still(split, (entry, camera), seen, result, ledger)
            if curve is not None:
                yield curve


def verdict_of(mean_square: Float64) -> str:
    """What a curve over `SHIFTS` says: aligned, shifted or flat."""
    least = mean_square.min()
    if mean_square.max() <= ALIKE * least:
        return "flat"
    return "shifted" if mean_square[SHIFTS.index(0)] > ALIKE * least else ALIGNED


def _judge(
    split: SplitView, place: tuple[Entry, str], swept: Swept, others: Mapping[str, float], ledger: Ledger
) -> Curve | None:
    entry, camera = place
    where = f"episode {entry.number}, {camera}"
    if not swept.mean_square:
        ledger.skip(SWEEP, split.name, f"{where}: too short")
        return None
    ledger.saw(SWEEP)
    curve = np.array(swept.mean_square)
    here, verdict = curve[SHIFTS.index(0)], verdict_of(curve)
    path = split.root / entry.windows[split.info.camera_key(camera)].path
    if verdict == "shifted":
        best = SHIFTS[int(curve.argmin())]
        found = f"{where}: most like its source {best:+d} rows away ({curve.min():.4g}, at 0 {here:.4g})"
        ledger.fault(SWEEP, split.name, found=found, expected="most like it at shift 0", path=path)
    elif verdict == "flat":
        ledger.skip(SWEEP, split.name, f"{where}: a still scene, {curve.min():.4g} to {curve.max():.4g}")
    ledger.saw(CAMERAS, len(others))
    near = [f"{name} {value:.4g}" for name, value in others.items() if value < FAR * here]
    if near:
        found = f"{where}: {here:.4g} from its own source, {', '.join(near)}"
        expected = f"every other camera's at least {FAR:g} times as far"
        ledger.fault(CAMERAS, split.name, found=found, expected=expected, path=path)
    return Curve(split.name, entry.number, camera, tuple(SHIFTS), swept.mean_square, dict(others), swept.rows, verdict)


def _check_still(split: SplitView, place: tuple[Entry, str], seen: Shown, swept: Swept, ledger: Ledger) -> None:
    """Where the source moves for a second, so must the dataset."""
    entry, camera = place
    if swept.change.shape == seen.change.shape:  # else there are other rows, which is reported where they are compared
        ends = still(seen) & (swept.change > SOURCE_MOVES_LEVELS)
        report_frozen(
            split, entry, split.info.camera_key(camera), ends, ledger, "pictures that change with their source"
        )
