"""Cubes in a dataset that is already built: measured in its own pictures, put into its tables; nothing else is touched.

Any LeRobot v3.0 splits will do that show the two cameras, ours or not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.cubes import CUBE, CubeRule, Track
from quickdraw.core.normalization import for_training
from quickdraw.core.statistics import of_rows
from quickdraw.errors import Fault, Refused, VideoError
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.columns import NewFeature, put_feature
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.built import BuiltDataset, read_built
from quickdraw.pipeline.cubes import SplitCubes, split_cubes
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.inventory import take_inventory
from quickdraw.pipeline.links import link
from quickdraw.pipeline.places import INVENTORY, LOG, NORMALIZATION, PROVENANCE, REPORT, SUMMARY
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import publish, refuse_unplaceable, staging
from quickdraw.pipeline.traced_cubes import keep_tracks, with_cubes
from quickdraw.pipeline.tracking import track_file
from quickdraw.pipeline.view_files import stamp_in


def put_cubes(dataset: Path, rule: CubeRule, executor: Executor, progress: Progress) -> dict[str, SplitCubes]:
    """Add `observation.objects.cube` to every split of a dataset, or measure it anew; what was found in each split.

    Raises Refused, the dataset as it was, where it is not one, lacks a camera or holds pictures that cannot be read.
    """
    dataset = dataset.resolve()
    refuse_unplaceable(dataset)
    with staging(dataset) as folder:  # first, for it mends what an interrupted publishing left
        built, sizes, tasks = _plan(dataset, rule)
        tracks = _track(built.splits, rule, tasks, executor, progress)
        cubes = {name: split_cubes(rule, tracks[name], picture_px) for name, picture_px in sizes.items()}
        for name, found in cubes.items():
            progress.note(f"cubes in {name}: {found}")
        target = folder / "dataset"
        _write(built, target, cubes=cubes, tracks=tracks)
        _link_rest(dataset, target)
        if (dataset / INVENTORY).exists():
            take_inventory(target, executor)
        publish(target, dataset)
    return cubes


def _plan(dataset: Path, rule: CubeRule) -> tuple[BuiltDataset, dict[str, int], list[TrackTask]]:
    """The dataset, pixels of a picture by split, what is to be measured. Raises Refused where any of it is amiss."""
    _refuse_loops(dataset)
    try:
        built = read_built(dataset)
        sizes = _picture_sizes(built.splits, rule)
        tasks = [task for name, split in built.splits.items() for task in _tasks(name, split, rule)]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        expected = "the metadata of LeRobot v3.0"
        raise Refused([Fault(str(dataset), "metadata", f"malformed ({error!r})", expected)]) from error
    return built, sizes, tasks


def _refuse_loops(dataset: Path) -> None:
    """Raise Refused where a link inside the dataset leads back to a folder it lies in."""
    links = [folder / name for folder, _, files in dataset.walk() for name in files if (folder / name).is_symlink()]
    loops = [link for link in links if link.parent.is_relative_to(link.resolve())]
    if loops:
        expected = "links that do not lead back"
        raise Refused([Fault(str(dataset), "link", f"{link} to {link.resolve()}", expected) for link in loops])


def _picture_sizes(splits: Mapping[str, SplitReader], rule: CubeRule) -> dict[str, int]:
    """Pixels of a picture in each split. Raises Refused where one lacks a camera, or shows them in different sizes."""
    sizes, faults = {}, []
    for name, split in splits.items():
        path = str(split.root / schema.INFO_PATH)
        if not set(rule.cameras) <= set(split.cameras):
            found = ", ".join(split.cameras) or "none"
            faults.append(Fault(name, "cameras", found, " and ".join(rule.cameras), path=path))
            continue
        shapes = [split.info["features"][f"observation.images.{camera}"]["shape"] for camera in rule.cameras]
        if shapes[0] != shapes[1] or len(shapes[0]) != 3 or shapes[0][2] != 3 or min(shapes[0]) < 1:
            faults.append(Fault(name, "shape", f"{shapes}", "[height, width, 3], alike in both cameras", path=path))
        else:
            sizes[name] = int(shapes[0][0]) * int(shapes[0][1])
    if faults:
        raise Refused(faults)
    return sizes


@dataclass(frozen=True, slots=True)
class TrackTask:
    """Measure the episodes, `lengths` pictures each, that one camera's file shows one after another."""

    split: str
    camera: str
    path: Path
    episodes: tuple[int, ...]
    lengths: tuple[int, ...]
    rule: CubeRule


def _tasks(name: str, split: SplitReader, rule: CubeRule) -> Iterator[TrackTask]:
    """One task per file. Raises Refused where episodes do not lie one after another in it."""
    for camera in rule.cameras:
        key = f"videos/observation.images.{camera}"
        files: dict[str, list[dict[str, Any]]] = {}
        for row in sorted(split.episodes, key=lambda row: float(row[f"{key}/from_timestamp"])):
            indices = {place: row[f"{key}/{place}"] for place in ("chunk_index", "file_index")}
            path = split.info["video_path"].format(video_key=f"observation.images.{camera}", **indices)
            files.setdefault(path, []).append(row)
        for path, rows in sorted(files.items()):
            begun = 0
            for row in rows:
                if round(row[f"{key}/from_timestamp"] * split.rate_hz) != begun:
                    found = f"episode {row['episode_index']} at {row[f'{key}/from_timestamp']} s"
                    expected = f"{begun / split.rate_hz} s, where the one before it ends"
                    raise Refused([Fault(name, camera, found, expected, path=str(split.root / path))])
                begun += row["length"]
            episodes, lengths = ([row[column] for row in rows] for column in ("episode_index", "length"))
            yield TrackTask(name, camera, split.root / path, tuple(episodes), tuple(lengths), rule)


def run_track(task: TrackTask) -> tuple[TrackTask, list[Track] | Fault]:
    """The task and its tracks, or what is wrong with its file."""
    try:
        return task, track_file(task.path, task.lengths, task.rule.thresholds)
    except VideoError as error:
        return task, Fault(task.split, task.camera, error.found, error.expected, path=error.path)


def _track(
    splits: Mapping[str, SplitReader],
    rule: CubeRule,
    tasks: list[TrackTask],
    executor: Executor,
    progress: Progress,
) -> dict[str, list[list[Track]]]:
    """Split -> episode -> a track per camera of the rule. Raises Refused with every file that could not be read."""
    tasks.sort(key=lambda task: -sum(task.lengths))
    found: dict[tuple[str, int, str], Track] = {}
    faults = []
    with progress.stage("track", sum(sum(task.lengths) for task in tasks), "pictures") as meter:
        for task, result in executor.run(run_track, tasks):
            if isinstance(result, Fault):
                faults.append(result)
                continue
            found |= {(task.split, n, task.camera): track for n, track in zip(task.episodes, result, strict=True)}
            meter.advance(sum(task.lengths))
    if faults:
        raise Refused(faults)
    return {
        name: [[found[name, row["episode_index"], camera] for camera in rule.cameras] for row in split.episodes]
        for name, split in splits.items()
    }


def _write(
    built: BuiltDataset,
    target: Path,
    *,
    cubes: Mapping[str, SplitCubes],
    tracks: Mapping[str, Sequence[Sequence[Track]]],
) -> None:
    """Every file that changes, to `target`."""
    rows = {name: np.concatenate([cubes[name].rows(episode) for episode in tracks[name]]) for name in built.splits}
    own = (built.provenance or {}).get("config", {}).get("lerobot_stats") == "split"
    plain = {name: of_rows(array) for name, array in rows.items()}
    trainer = for_training(plain["train"], ()) if "train" in plain else None
    for name, split in built.splits.items():
        statistics = plain[name] if own else trainer or for_training(plain[name], ())
        put_feature(split, target / name, NewFeature(CUBE, rows[name], statistics))
    if trainer:
        scales = {CUBE.name: {"mean": trainer.mean.tolist(), "std": trainer.std.tolist()}}
        if built.normalization is not None:
            write_json(target / NORMALIZATION, {**built.normalization, **scales}, indent=2)
        if built.summary is not None:
            known = {**built.summary.get("normalization_stats", {}), **scales}
            write_json(target / SUMMARY, {**built.summary, "normalization_stats": known}, indent=2)
    if built.provenance is not None:
        write_json(target / PROVENANCE, with_cubes(built.provenance, cubes, tracks), indent=2)
        keep_tracks(built.provenance, target, cubes, tracks)
    log = built.root / LOG
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    (target / LOG).write_text(text + time.strftime("cubes measured %Y-%m-%d %H:%M:%S %z\n"), encoding="utf-8")


def _link_rest(dataset: Path, target: Path) -> None:
    """All other files, as further names of the same bytes.

    Links in the dataset are followed: what is published holds what they led to.
    """
    outdated = {INVENTORY, REPORT} if stamp_in(dataset / REPORT) else {INVENTORY}
    for folder, _, files in dataset.walk(follow_symlinks=True):
        place = target / folder.relative_to(dataset)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            if not (place / name).exists() and str((folder / name).relative_to(dataset)) not in outdated:
                link(folder / name, place / name)
