"""What the shift sweeps of a dataset say: which camera's pictures are not those of their rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.frozen import report_frozen, still
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.pictures import Shown, SplitPictures
from quickdraw.pipeline.verify.report import Curve
from quickdraw.pipeline.verify.source import Reread
from quickdraw.pipeline.verify.split_view import SplitView, camera_name
from quickdraw.pipeline.verify.sweep import SHIFTS, SweepTask, Swept, sweep

SWEEP, CAMERAS = "shift sweep", "source cameras"
FLAT = 1.1  # a curve that nowhere rises to so many times its least proves nothing
FAR = 2.0  # another camera's pictures must be at least so many times as far away
SOURCE_MOVES_LEVELS = 4  # what changes in the source in a second in which the dataset must not stand still


def check_alignment(
    dataset: DatasetView,
    shown: Mapping[str, SplitPictures],
    reread: Mapping[tuple[str, int], Reread],
    ledger: Ledger,
    executor: Executor,
    progress: Progress,
) -> tuple[Curve, ...]:
    """Every camera of every episode; their curves."""
    tasks = [task for key in sorted(reread) for task in _tasks(dataset, shown, *key, reread[key])]
    tasks.sort(key=lambda task: -len(task.plan.frame_index))
    swept: dict[tuple[str, int, str], Swept] = {}
    with progress.stage("sweep", sum(task.plan.pictures for task in tasks), "pictures") as meter:
        for task, result in executor.run(sweep, tasks):
            swept[task.split, task.episode, task.camera] = result
            meter.advance(task.plan.pictures)
    curves = []
    for split, episode, camera in sorted(swept):
        result, view = swept[split, episode, camera], dataset.splits[split]
        if result.damage:
            path, found, expected = result.damage
            ledger.fault(SWEEP, split, found=f"episode {episode}, {camera}: {path}: {found}", expected=expected)
            continue
        seen = shown[split].cameras(episode).get(view.info.camera_key(camera))
        if seen is not None:
            others = {
                other: swept[split, episode, other].by_camera[camera]
                for s, e, other in sorted(swept)
                if (s, e) == (split, episode) and other != camera and camera in swept[s, e, other].by_camera
            }
            curves.append(_judge(view, (episode, camera), result, others, ledger))
            _check_still(view, (episode, camera), seen, result, ledger)
    return tuple(curve for curve in curves if curve is not None)


def _tasks(
    dataset: DatasetView, shown: Mapping[str, SplitPictures], split: str, episode: int, reread: Reread
) -> list[SweepTask]:
    if split not in shown:
        return []
    seen = shown[split].cameras(episode)
    picks = {camera_name(key): camera.picks for key, camera in seen.items() if camera.picks is not None}
    rate_hz = dataset.splits[split].info.rate_hz
    return [SweepTask(split, episode, camera, plan, picks, rate_hz) for camera, plan in reread.frame_plans.items()]


def _judge(
    split: SplitView, place: tuple[int, str], swept: Swept, others: Mapping[str, float], ledger: Ledger
) -> Curve | None:
    episode, camera = place
    if not swept.mean_square:
        ledger.skip(SWEEP, split.name, f"episode {episode}, {camera}: too short")
        return None
    ledger.saw(SWEEP)
    curve = np.array(swept.mean_square)
    here, best = curve[SHIFTS.index(0)], SHIFTS[int(curve.argmin())]
    flat = curve.max() <= FLAT * curve.min()
    verdict = "flat" if flat else "aligned" if best == 0 else "shifted"
    told = Curve(split.name, episode, camera, tuple(SHIFTS), swept.mean_square, dict(others), swept.rows, verdict)
    where = f"episode {episode}, {camera}"
    path = split.root / split.entries[episode].windows[split.info.camera_key(camera)].path
    if verdict == "shifted":
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
    return told


def _check_still(split: SplitView, place: tuple[int, str], seen: Shown, swept: Swept, ledger: Ledger) -> None:
    """Where the source moves for a second, so must the dataset."""
    episode, camera = place
    entry = split.entries[episode]
    if swept.change.shape == seen.change.shape:  # else there are other rows, which is reported where they are compared
        ends = still(seen) & (swept.change > SOURCE_MOVES_LEVELS)
        key = split.info.camera_key(camera)
        expected = "pictures that change with their source"
        report_frozen(split, entry, key, ends, ledger, expected)
