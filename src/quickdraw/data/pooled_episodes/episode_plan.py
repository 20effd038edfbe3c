"""The plan of an episode with which nothing is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickdraw.core.episode import EpisodeKey, EpisodePlan, FileStamp, Trait
from quickdraw.core.grid import NS_PER_S, Grid, Int64, to_ns
from quickdraw.data.pooled_episodes.copies import ENCODE, LOSSLESS, facts, is_copied
from quickdraw.data.pooled_episodes.features import Held
from quickdraw.data.pooled_episodes.frames import Frames, Kept, Keys
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.pictures import Match, match_warnings
from quickdraw.data.pooled_episodes.slots import UNITE, Shown
from quickdraw.data.pooled_episodes.task_folders import TaskFolder
from quickdraw.formats.pooled.clock import ClockClass, steps_back
from quickdraw.formats.pooled.reader import Episode

VIDEOS = "videos"  # of a task, where cameras disagree


@dataclass(frozen=True, slots=True)
class Piece:
    """Which part of an episode is planned: its `number` of `count`, from 1, and the positions [first, end) in `Kept`.

    The whole of one without pieces is number 1 of 1.
    """

    number: int
    count: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken of an episode: its rows that are frames, the piece, that piece's frames, and what is left out."""

    kept: Kept
    piece: Piece
    frames: Frames
    matched: Match


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an episode by name, relative to its task's folder, and how they looked before any was read."""

    row_files: tuple[str, ...]
    videos: Mapping[str, str]
    stamps: Mapping[str, FileStamp]
    looks: str


def planned(
    key: EpisodeKey,
    episode: Episode,
    folder: TaskFolder,
    options: PooledOptions,
    *,
    files: Files,
    shown: Sequence[Shown],
    keys: Keys,
    taken: Taken,
    held: Held,
) -> EpisodePlan:
    """The plan of what is `taken`, which shows the cameras `shown` and holds the columns `held`."""
    frames, rate_hz = taken.frames, options.target_hz
    elapsed_s = float(frames.wall_time_s[0] - keys.wall_time_s[taken.kept.rows[0]])
    grid = Grid(max(0, int(to_ns(elapsed_s))), rate_hz, len(frames))
    index = {
        each.camera: pictures_of(each.kind, frames, taken.matched.depth_starts.get(each.camera, 0)) for each in shown
    }
    return EpisodePlan(
        key=key,
        task=folder.text(keys.task_index),
        grid=grid,
        t_hi_s=grid.t0_ns / NS_PER_S + (grid.n - 0.5) / rate_hz,
        displacement=held.displacement,
        row_files=files.row_files,
        videos=files.videos,
        stamps={file: files.stamps[file] for file in (*files.row_files, *files.videos.values())},
        frame_digests={camera: hashlib.sha256(each.tobytes()).hexdigest() for camera, each in index.items()},
        provenance=_provenance(episode, folder.text(keys.task_index), shown, taken=taken, held=held),
        traits=tuple(_traits(shown, options, held, files)),
        content_digest=_content(frames, [files.stamps[file].bytes for file in files.videos.values()]),
        warnings=tuple(_warnings(folder, shown, taken, held)),
        looks=files.looks,
        reading=reading_of(taken, held),
        holds={
            "columns": dict(held.columns),
            "cameras": {each.camera: _holds(each, taken.matched, options) for each in shown},
        },
    )


def pictures_of(kind: str, frames: Frames, starts: int) -> Int64:
    """The picture of a file that each row shows, `(T,)` int64; -1 before the frame that depth `starts` at."""
    found = frames.picture if kind == "rgb" else np.maximum(frames.picture - starts, -1)
    return np.ascontiguousarray(found, np.int64)


def reading_of(taken: Taken, held: Held) -> dict[str, Any]:
    """By what the same rows are found again in the same data file."""
    rows = {"fold": taken.kept.folding, "first": int(taken.frames.rows[0]), "end": int(taken.frames.rows[-1]) + 1}
    return {"rows": rows, "scales": _scales(held)}


def _scales(held: Held) -> dict[str, list[Any]]:
    return {column: [scale, str(source)] for column, (scale, source) in held.scales.items()}


def _provenance(episode: Episode, task: str, shown: Sequence[Shown], *, taken: Taken, held: Held) -> dict[str, Any]:
    """What an episode says of its recording, JSON-ready."""
    row, piece, matched = episode.row, taken.piece, taken.matched
    is_last = piece.number == piece.count
    late = {
        camera: int(np.count_nonzero(taken.frames.picture < start)) for camera, start in matched.depth_starts.items()
    }
    return {
        "task": task,
        "number": episode.number,
        "created_at": row.created_at if row and row.created_at else None,
        **({"piece": f"{piece.number} of {piece.count}"} if piece.count > 1 else {}),
        "clock": str(taken.frames.clock),
        "fold": taken.kept.folding,
        "rows_per_frame": taken.kept.rows_per_frame,
        "trimmed_rows": int(bool(matched.short) and is_last),
        "trimmed_pictures": dict(matched.unused) if is_last else {},
        "depth_starts_at_row": {camera: row for camera, row in late.items() if row},
        "slots": {each.camera: each.slot for each in shown},
        "pictures": {each.camera: each.pictures for each in shown},
        "force_matrix_scale": _scales(held),
    }


def _traits(shown: Sequence[Shown], options: PooledOptions, held: Held, files: Files) -> Iterator[Trait]:
    """What must be the same in all episodes: cameras, sizes and streams of those that are not scaled, widths."""
    yield Trait("set of cameras", ", ".join(each.camera for each in shown), VIDEOS, UNITE)
    for each in shown:
        file, copied = files.videos[each.camera], is_copied(each, options)
        if each.kind == "depth" or copied or options.hw is None:
            option = "+source.hw=[h,w]" if each.kind == "rgb" and not copied else ENCODE if each.kind == "rgb" else ""
            yield Trait(f"size of {each.camera}", f"{each.width_px}x{each.height_px}", file, option)
        if copied:
            known = facts(each.copied) if each.copied else {}
            told = {name: value for name, value in known.items() if name not in ("gop", "height_px", "width_px")}
            value = " ".join(f"{name}={str(value)[:16]}" for name, value in told.items())
            yield Trait(f"stream of {each.camera}", value, file, ENCODE if each.kind == "rgb" else LOSSLESS)
    for feature, column in held.columns.items():
        if column["filled"]:
            yield Trait(f"width of {feature}", str(column["width"]), files.row_files[0], "")


def _holds(shown: Shown, matched: Match, options: PooledOptions) -> dict[str, Any]:
    """A camera, as features are settled and its pictures found by."""
    held = {
        "kind": shown.kind,
        "height_px": shown.height_px,
        "width_px": shown.width_px,
        "slot": shown.slot,
        "pictures": shown.pictures,
        "starts": matched.depth_starts.get(shown.camera, 0),
    }
    return held | ({"stream": facts(shown.copied)} if shown.copied and is_copied(shown, options) else {})


def _content(frames: Frames, video_bytes: Sequence[int]) -> str:
    """What two recordings do not have alike: the stamps of their rows, and how large their videos are."""
    digest = hashlib.sha256(frames.wall_time_s.tobytes())
    digest.update(frames.hardware_ns.tobytes())
    digest.update(repr(sorted(video_bytes)).encode())
    return digest.hexdigest()


def _warnings(folder: TaskFolder, shown: Sequence[Shown], taken: Taken, held: Held) -> Iterator[str]:
    frames, piece = taken.frames, taken.piece
    if folder.warning:
        yield folder.warning
    for column, (_, source) in held.scales.items():
        if source == "unscaled":
            yield f"{column}: no scale is recorded, 1 is taken: if that is wrong, forces are 10 to 1000 times too large"
    if taken.kept.folding == "first":
        yield "rows of one frame differ in their stamps: the first of each was taken"
    yield from match_warnings(taken.matched, shown, frames.picture, is_last=piece.number == piece.count)
    passed = int(frames.picture[-1] - frames.picture[0]) + 1 - len(frames)
    if passed:
        yield f"{passed} picture{'s' if passed > 1 else ''} shown by no row: frame_index passes over them"
    back = steps_back(frames.hardware_ns)
    if frames.clock is ClockClass.TRUNC32:
        yield "hardware_ns is cut to 32 bits: nothing is aligned by it"
    elif len(back):
        yield f"hardware_ns steps back to {frames.hardware_ns[back[0]]}: nothing is aligned by it"
