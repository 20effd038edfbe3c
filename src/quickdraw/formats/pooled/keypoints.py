"""Hands from the mirror put into the two hand-pose columns of a data file, which recorders leave at zero (contract 10).

The file is written anew, row group by row group, and takes the old one's place whole; no other value changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quickdraw.core.grid import Int64
from quickdraw.errors import Fault, Refused
from quickdraw.formats.durable import aside, sync
from quickdraw.formats.pooled.columns import HAND_POSE_VALUES, HAND_POSES, arrow_type
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.exclusive import changing
from quickdraw.formats.pooled.keypoint_files import HandPose3D, Mirror, read_hand_pose_3d
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.recording.segments import GROUP_BYTES, GROUP_ROWS, of_schema

type Pose = npt.NDArray[np.float32]  # (63,) [m], or (T, 63)

COLUMN_OF: Final = {"Left": HAND_POSES[0], "Right": HAND_POSES[1]}


@dataclass(frozen=True, slots=True)
class Report:
    """What a back-fill did: `rows` of the data file, and how many of each column got a hand.

    Hands that went nowhere: `unlabelled` says neither Left nor Right, `second` has the label of the other hand of its
    frame, which came first, `not_finite` has no sound numbers, `no_row` is of frames the data file does not have.
    `changed` is whether any value is another than before.
    """

    rows: int
    filled: dict[str, int]
    unlabelled: int
    second: int
    not_finite: int
    no_row: int
    changed: bool


def backfill(layout: Layout, number: int, keypoints_root: Path) -> Report:
    """Put the 3D hands of episode N into its data file; where that changes nothing, the file is left as it is.

    A hand goes to every row of its `frame_index`; rows without one keep what they have. Raises Refused where the
    mirror's file or the data file is missing, damaged or lacks the columns, and where the task is being changed.
    """
    mirror = Mirror.of(keypoints_root, layout.task, number).hand_pose_3d
    with changing(layout):
        data = DataFile(layout.data(number))
        data.require({name: arrow_type(name) for name in ("frame_index", *HAND_POSES)})
        found = read_hand_pose_3d(mirror)
        _refuse_twice(found, mirror)
        held, _ = data.read(["frame_index", *HAND_POSES])
        chosen, counts = _sorted_out(found, held["frame_index"])
        fresh, filled = {}, {}
        for name, hands in chosen.items():
            held[name] = data.wide(name, held[name], HAND_POSE_VALUES)
            fresh[name], filled[name] = _put(held[name], held["frame_index"], hands)
        changed = any(not np.array_equal(fresh[name], held[name], equal_nan=True) for name in fresh)
        if changed:
            _rewrite(data, fresh)
        return Report(rows=data.rows, filled=filled, changed=changed, **counts)


def _refuse_twice(found: HandPose3D, path: Path) -> None:
    frames, times = np.unique(found.frame_index, return_counts=True)
    if (times > 1).any():
        twice = int(frames[times > 1][0])
        raise Refused([Fault(path.name, "frame_index", f"{twice} more than once", "each frame once", path=str(path))])


def _sorted_out(found: HandPose3D, frame_index: Int64) -> tuple[dict[str, dict[int, Pose]], dict[str, int]]:
    """Column -> frame -> its hand, and how many hands went nowhere, by reason."""
    counts = dict.fromkeys(("unlabelled", "not_finite", "second", "no_row"), 0)
    known = frozenset(frame_index.tolist())
    chosen: dict[str, dict[int, Pose]] = {name: {} for name in HAND_POSES}
    for at, hand in np.argwhere(found.present).tolist():
        frame, pose = int(found.frame_index[at]), found.landmarks_m[at, hand].reshape(-1)
        column = COLUMN_OF.get(found.labels[at, hand])
        if column is None:
            counts["unlabelled"] += 1
        elif not np.isfinite(pose).all():
            counts["not_finite"] += 1
        elif frame not in known:
            counts["no_row"] += 1
        elif frame in chosen[column]:
            counts["second"] += 1
        else:
            chosen[column][frame] = pose
    return chosen, counts


def _put(held: Pose, frame_index: Int64, hands: dict[int, Pose]) -> tuple[Pose, int]:
    """A column `(T, 63)` with the hands in it, and how many rows they are in."""
    fresh, filled = held.copy(), 0
    for row, frame in enumerate(frame_index.tolist()):
        if frame in hands:
            fresh[row], filled = hands[frame], filled + 1
    return fresh, filled


def _rewrite(data: DataFile, fresh: dict[str, Pose]) -> None:
    """Write the data file anew with the columns `fresh`, each `(T, 63)`, and put it in the old one's place."""
    path, first = aside(data.path), 0
    try:
        with of_schema(path, data.schema) as writer:
            for group in _groups(data):
                for name, poses in fresh.items():
                    at, field = data.names.index(name), data.schema.field(name)
                    group = group.set_column(at, field, _lists(poses[first : first + len(group)], field.type))
                writer.write_table(group, row_group_size=GROUP_ROWS)
                first += len(group)
        sync(path)
        path.replace(data.path)
        sync(data.path.parent)
    finally:
        path.unlink(missing_ok=True)


def _groups(data: DataFile) -> Iterator[Any]:
    """All rows and columns, as tables that are a row group each."""
    held: list[Any] = []
    for batch in data.batches(data.names, GROUP_ROWS):
        rows, size = sum(map(len, (*held, batch))), sum(each.nbytes for each in (*held, batch))
        if held and (rows > GROUP_ROWS or size > GROUP_BYTES):
            yield pa.Table.from_batches(held, data.schema)
            held = []
        held.append(batch)
    if held:
        yield pa.Table.from_batches(held, data.schema)


def _lists(poses: Pose, kind: Any) -> Any:
    flat = pa.array(np.ascontiguousarray(poses).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, HAND_POSE_VALUES).cast(kind)
