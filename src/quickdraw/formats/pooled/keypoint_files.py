"""Hands found in an episode's pictures, in the files of the mirror beside the recordings (contract section 10).

One row a frame that was looked at; rows belong to those of the data file by `frame_index`, int32 here. The folder is
named by N itself, from 1, unlike every file of the recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.formats.durable import sync, write_aside
from quickdraw.formats.pooled.data import DataFile

type Float32 = npt.NDArray[np.float32]
type Int32 = npt.NDArray[np.int32]
type Bools = npt.NDArray[np.bool_]

HANDS, POINTS, HAND_VALUES = 2, 21, 46  # a hand is 21 points x y and a box x1 y1 x2 y2
_F32 = pa.float32()

HAND_POSE: Final[Any] = pa.schema(
    [
        ("frame_index", pa.int32()),
        ("num_hands", pa.int32()),
        ("hand_data", pa.list_(_F32, HANDS * HAND_VALUES)),
        ("track_ids", pa.list_(pa.int32(), HANDS)),
    ]
)
HAND_POSE_3D: Final[Any] = pa.schema(
    [
        ("frame_index", pa.int32()),
        *(
            (f"hand_{hand}_{name}", kind)
            for hand in range(HANDS)
            for name, kind in (
                ("present", pa.bool_()),
                ("landmarks_3d", pa.list_(_F32, 3 * POINTS)),
                ("label", pa.string()),
            )
        ),
    ]
)
_LABELS: Final = (
    ("gesture", pa.string()),
    ("extended", pa.list_(pa.string())),
    ("extended_count", pa.int32()),
    ("fist", pa.bool_()),
    ("pinch", pa.bool_()),
    ("center_x", _F32),
    ("center_y", _F32),
    ("motion", _F32),
)
AUTO_LABELS: Final[Any] = pa.schema(
    [
        ("frame_index", pa.int32()),
        *((f"hand_0_{name}", kind) for name, kind in _LABELS),
        *((f"hand_1_{name}", kind) for name, kind in _LABELS if not name.startswith("center")),  # of hand 0 only
        ("two_hand_distance", _F32),
        ("contact", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Mirror:
    """The folder of one episode in the mirror, and its files, which need not exist."""

    folder: Path

    @classmethod
    def of(cls, keypoints_root: Path, task: str, number: int) -> Mirror:
        """That of episode N. Raises ValueError for a number below 1."""
        if number < 1:
            raise ValueError(f"episode number {number}; numbers start at 1")
        return cls(keypoints_root / task / f"episode_{number:06d}")

    @property
    def hand_pose(self) -> Path:
        """Hands in the picture [px]."""
        return self.folder / "hand_pose" / "chunk-000.parquet"

    @property
    def hand_pose_3d(self) -> Path:
        """Hands in space [m]."""
        return self.folder / "hand_pose_3d" / "chunk-000.parquet"

    @property
    def auto_labels(self) -> Path:
        """What the hands do."""
        return self.folder / "auto_labels" / "auto_labels.parquet"


@dataclass(frozen=True, slots=True)
class HandPose:
    """Hands in the picture, n frames: `points_px` `(n, 2, 21, 2)` and `boxes_px` `(n, 2, 4)` x1 y1 x2 y2, both float32.

    A hand that was not found is zeros. `frame_index` and `num_hands` are `(n,)`, `track_ids` `(n, 2)`, all int32.
    """

    frame_index: Int32
    num_hands: Int32
    points_px: Float32
    boxes_px: Float32
    track_ids: Int32

    @property
    def present(self) -> Bools:
        """`(n, 2)`: whether a hand counts, by its box: x2 > 1 and y2 > 1."""
        return np.logical_and(self.boxes_px[..., 2] > 1, self.boxes_px[..., 3] > 1)


@dataclass(frozen=True, slots=True)
class HandPose3D:
    """Hands in space, n frames: `landmarks_m` `(n, 2, 21, 3)` float32 [m] around the hand's own centre.

    `frame_index` `(n,)` int32, `present` `(n, 2)`, `labels` `(n, 2)` text: Left, Right, or nothing.
    """

    frame_index: Int32
    present: Bools
    landmarks_m: Float32
    labels: npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class HandLabels:
    """What one hand does, each `(n,)`; `extended` names fingers; `center_px` `(n, 2)` is not stored of hand 1.

    A hand that was not found has gesture `none`, count 0, and -1 for centre and motion [px a frame].
    """

    gesture: npt.NDArray[np.object_]
    extended: tuple[tuple[str, ...], ...]
    extended_count: Int32
    fist: Bools
    pinch: Bools
    motion_px: Float32
    center_px: Float32 | None


@dataclass(frozen=True, slots=True)
class AutoLabels:
    """What both hands do, n frames: `two_hand_distance_px` `(n,)` is -1 with fewer than two; `contact` is text."""

    frame_index: Int32
    hands: tuple[HandLabels, HandLabels]
    two_hand_distance_px: Float32
    contact: npt.NDArray[np.object_]


def read_hand_pose(path: Path) -> HandPose:
    """hand_pose/chunk-000.parquet. Raises Refused where it is missing, damaged, or of another schema."""
    found, _ = _read(path, HAND_POSE)
    hands = found["hand_data"].reshape(-1, HANDS, HAND_VALUES)
    points, boxes = hands[..., : 2 * POINTS].reshape(-1, HANDS, POINTS, 2), hands[..., 2 * POINTS :]
    return HandPose(found["frame_index"], found["num_hands"], points, boxes, found["track_ids"])


def write_hand_pose(path: Path, found: HandPose) -> None:
    """The same, whole at every moment; its folder is made. Raises ValueError for arrays of other shapes."""
    n = len(found.frame_index)
    hands = np.concatenate(
        [_shaped(found.points_px, (n, HANDS, 2 * POINTS)), _shaped(found.boxes_px, (n, HANDS, 4))], 2
    )
    _write(path, HAND_POSE, [found.frame_index, found.num_hands, hands, _shaped(found.track_ids, (n, HANDS))])


def read_hand_pose_3d(path: Path) -> HandPose3D:
    """hand_pose_3d/chunk-000.parquet. Raises Refused where it is missing, damaged, or of another schema."""
    found, _ = _read(path, HAND_POSE_3D)

    def both(name: str) -> Any:
        return np.stack([found[f"hand_{hand}_{name}"] for hand in range(HANDS)], axis=1)

    landmarks = both("landmarks_3d").reshape(-1, HANDS, POINTS, 3)
    return HandPose3D(found["frame_index"], both("present"), landmarks, both("label"))


def write_hand_pose_3d(path: Path, found: HandPose3D) -> None:
    """The same, whole at every moment; its folder is made. Raises ValueError for arrays of other shapes."""
    n = len(found.frame_index)
    landmarks = _shaped(found.landmarks_m, (n, HANDS, 3 * POINTS))
    present, labels = _shaped(found.present, (n, HANDS)), _shaped(found.labels, (n, HANDS))
    of_hands = [part[:, hand] for hand in range(HANDS) for part in (present, landmarks, labels)]
    _write(path, HAND_POSE_3D, [found.frame_index, *of_hands])


def read_auto_labels(path: Path) -> AutoLabels:
    """auto_labels/auto_labels.parquet. Raises Refused where it is missing, damaged, or of another schema."""
    found, fingers = _read(path, AUTO_LABELS)

    def hand(number: int) -> HandLabels:
        own = {name: found[f"hand_{number}_{name}"] for name, _ in _LABELS if f"hand_{number}_{name}" in found}
        extended = fingers[f"hand_{number}_extended"]
        center = np.stack([own["center_x"], own["center_y"]], axis=1) if "center_x" in own else None
        return HandLabels(
            gesture=own["gesture"],
            extended=tuple(tuple(extended[at]) for at in range(len(extended))),
            extended_count=own["extended_count"],
            fist=own["fist"],
            pinch=own["pinch"],
            motion_px=own["motion"],
            center_px=center,
        )

    return AutoLabels(found["frame_index"], (hand(0), hand(1)), found["two_hand_distance"], found["contact"])


def _read(path: Path, schema: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    data = DataFile(path)
    data.require({field.name: field.type for field in schema})
    ragged = [field.name for field in schema if pa.types.is_list(field.type)]
    columns, lists = data.read([name for name in schema.names if name not in ragged], ragged)
    for field in schema:
        if pa.types.is_fixed_size_list(field.type):
            columns[field.name] = data.wide(field.name, columns[field.name], field.type.list_size)
    return columns, lists


def _shaped(values: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if values.size != np.prod(shape) or len(values) != shape[0]:
        raise ValueError(f"values of shape {values.shape}, to be stored as {shape}")
    return values.reshape(shape)


def _write(path: Path, schema: Any, values: list[npt.NDArray[Any]]) -> None:
    arrays = [_array(column, field.type) for column, field in zip(values, schema, strict=True)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays, schema=schema), sink, compression="zstd")
    fresh = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_aside(path, [sink.getvalue()])
    for folder in dict.fromkeys((path.parent, *(each.parent for each in fresh))):  # of new folders, their names too
        sync(folder)


def _array(values: npt.NDArray[Any], kind: Any) -> Any:
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1), kind.value_type), type=kind)
    return pa.array(values.tolist(), kind)
