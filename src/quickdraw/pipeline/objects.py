"""Cubes in a dataset that is already built: measured in its own pictures, put into its tables; nothing else is touched.

Any LeRobot v3.0 splits will do that show the two cameras, ours or not.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
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
from quickdraw.pipeline.cubes import SplitCubes, split_cubes
from quickdraw.pipeline.documents import PROVENANCE, read_provenance, seen
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.publish import publish, refuse_unplaceable, staging
from quickdraw.pipeline.tracking import track_file

LOG = "progress.log"


def put_cubes(dataset: Path, rule: CubeRule, executor: Executor, progress: Progress) -> dict[str, SplitCubes]:
    """Add `observation.objects.cube` to every split of a dataset, or measure it anew; the splits' palettes.

    Raises Refused, the dataset as it was, where it is not one, lacks a camera or holds pictures that cannot be read.
    """
    dataset = dataset.resolve()
    refuse_unplaceable(dataset)
    splits = _splits(dataset, rule)
    with staging(dataset) as folder:
        tracks = _track(splits, rule, executor, progress)
        cubes = {name: split_cubes(rule, tracks[name], _picture_px(split, rule)) for name, split in splits.items()}
        for name, chosen in cubes.items():
            progress.note(f"cubes in {name}: {', '.join(chosen.palette) or 'none'}")
        target = folder / "dataset"
        _write(dataset, target, splits, cubes, tracks)
        _link_rest(dataset, target)
        publish(target, dataset)
    return cubes


def _splits(dataset: Path, rule: CubeRule) -> dict[str, SplitReader]:
    """The dataset's splits by name. Raises Refused where there is none, or one lacks a camera."""
    splits = {
        path.parent.parent.name: SplitReader(path.parent.parent) for path in dataset.glob(f"*/{schema.INFO_PATH}")
    }
    if not splits:
        raise Refused(
            [Fault(str(dataset), "splits", "none", f"a dataset with <split>/{schema.INFO_PATH}", path=str(dataset))]
        )
    faults = [
        Fault(
            name,
            "cameras",
            ", ".join(split.cameras),
            " and ".join(rule.cameras),
            path=str(split.root / schema.INFO_PATH),
        )
        for name, split in splits.items()
        if not set(rule.cameras) <= set(split.cameras)
    ]
    if faults:
        raise Refused(faults)
    return dict(sorted(splits.items()))


def _picture_px(split: SplitReader, rule: CubeRule) -> int:
    height_px, width_px, _ = split.info["features"][f"observation.images.{rule.cameras[0]}"]["shape"]
    return int(height_px) * int(width_px)


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
    splits: Mapping[str, SplitReader], rule: CubeRule, executor: Executor, progress: Progress
) -> dict[str, list[list[Track]]]:
    """Split -> episode -> a track per camera of the rule. Raises Refused with every file that could not be read."""
    tasks = [task for name, split in splits.items() for task in _tasks(name, split, rule)]
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
    dataset: Path,
    target: Path,
    splits: Mapping[str, SplitReader],
    cubes: Mapping[str, SplitCubes],
    tracks: Mapping[str, Sequence[Sequence[Track]]],
) -> None:
    """Every file that changes, to `target`."""
    rows = {name: np.concatenate([cubes[name].rows(episode) for episode in tracks[name]]) for name in splits}
    constants, summary = (_read(dataset / name) for name in ("normalization_stats.json", "summary.json"))
    traced = read_provenance(dataset) if (dataset / PROVENANCE).exists() else None
    own = (traced or {}).get("config", {}).get("lerobot_stats") == "split"
    plain = {name: of_rows(array) for name, array in rows.items()}
    trainer = for_training(plain["train"], ()) if "train" in plain else None
    for name, split in splits.items():
        statistics = plain[name] if own else trainer or for_training(plain[name], ())
        put_feature(split, target / name, NewFeature(CUBE, rows[name], statistics))
    if trainer:
        scales = {CUBE.name: {"mean": trainer.mean.tolist(), "std": trainer.std.tolist()}}
        if constants is not None:
            write_json(target / "normalization_stats.json", {**constants, **scales}, indent=2)
        if summary is not None:
            known = {**summary.get("normalization_stats", {}), **scales}
            write_json(target / "summary.json", {**summary, "normalization_stats": known}, indent=2)
    if traced is not None:
        write_json(target / PROVENANCE, _traced(traced, cubes, tracks), indent=2)
    log = dataset / LOG
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    (target / LOG).write_text(text + time.strftime("cubes measured %Y-%m-%d %H:%M:%S %z\n"), encoding="utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON document, None where there is none. Raises Refused where it is not one."""
    try:
        return dict(json.loads(path.read_bytes())) if path.exists() else None
    except (ValueError, TypeError) as error:
        raise Refused(
            [Fault(path.name, "document", f"unreadable ({error})", "a JSON object", path=str(path))]
        ) from error


def _traced(
    traced: Mapping[str, Any], cubes: Mapping[str, SplitCubes], tracks: Mapping[str, Sequence[Sequence[Track]]]
) -> dict[str, Any]:
    """provenance.json as a build with these cubes would have written it."""
    thresholds = next(iter(cubes.values())).rule.thresholds
    features = {**traced["features"], CUBE.name: {"names": list(CUBE.names), "unit": list(CUBE.unit)}}
    episodes = []
    for episode in traced["episodes"]:
        sources = {"sources": episode["sources"]}
        kept = {key: value for key, value in episode.items() if key not in ("sources", "cubes")}
        episodes.append({**kept, **seen(tracks[episode["split"]][episode["episode_index"]]), **sources})
    document = {key: value for key, value in traced.items() if key not in ("palette", "episodes")}
    document |= {"config": {**traced["config"], "objects": "cube", "cube": asdict(thresholds)}, "features": features}
    palettes = {split: list(cubes[split].palette) for split in dict.fromkeys(e["split"] for e in episodes)}
    return {**document, "palette": palettes, "episodes": episodes}


def _link_rest(dataset: Path, target: Path) -> None:
    """All other files, as further names of the same bytes, or copies where the file system knows no such names."""
    for folder, _, files in dataset.walk():
        place = target / folder.relative_to(dataset)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            if not (place / name).exists():
                try:
                    os.link(folder / name, place / name, follow_symlinks=False)
                except OSError:
                    shutil.copy2(folder / name, place / name, follow_symlinks=False)
