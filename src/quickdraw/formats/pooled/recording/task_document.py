"""What a recording tells of itself in info.json and in its row (contract 3 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quickdraw.formats.pooled import columns
from quickdraw.formats.pooled.depth import Mode
from quickdraw.formats.pooled.force_matrix import Spec, spec_entry
from quickdraw.formats.pooled.info import LAST_NUMBER
from quickdraw.formats.pooled.layout import FORMAT, Layout
from quickdraw.formats.pooled.recording import depth_writer
from quickdraw.formats.pooled.recording.cameras import Slot
from quickdraw.video.encoder_process import ffmpeg_version
from quickdraw.video.encoders import RGB, RGB_CRF

CODEBASE_VERSION = "v3.0"


@dataclass(frozen=True, slots=True)
class Described:
    """What a recorder was told of its task, and does not measure. `calibration` None leaves the task's as it is.

    `devices` are objects of `key`, `kind`, `name` and `slots`.
    """

    task_name: str
    app_version: str
    fps: float
    devices: Sequence[Mapping[str, Any]]
    calibration: Mapping[str, Any] | None
    depth_mode: Mode


def document(
    told: Described, layout: Layout, *, number: int, total: int, began_s: float, slots: Sequence[Slot],
    features: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """What episode N makes known, for `info_merge.merged`.

    `total` is how many episodes have files, `began_s` when this one did [Unix s], `slots` are those it recorded.
    """
    colour = [slot for slot in slots if not slot.depth]
    calibration = {} if told.calibration is None else {"calibration": dict(told.calibration)}
    return {
        **calibration,
        "format": FORMAT,
        "chunks_size": layout.chunks_size,
        "data_path": layout.data_path,
        "video_path": layout.video_path,
        "episodes_path": layout.row_template,
        "codebase_version": CODEBASE_VERSION,
        "app_version": told.app_version,
        "fps": told.fps,
        "video": bool(colour),
        "task_name": told.task_name,
        "features": dict(features),
        "cameras": {slot.name: _camera(slot, told.fps) for slot in colour},
        "devices": [dict(device) for device in told.devices],
        "device_names": {slot: str(device["name"]) for device in told.devices for slot in device["slots"]},
        "sensors": sorted(name.removeprefix("observation.") for name in features if columns.is_glove(name)),
        "sensor_dim": columns.GLOVE_VALUES,
        "created_at": began_s,
        "total_episodes": total,
        "video_extensions": {slot.name: extension(slot, told.depth_mode) for slot in slots},
        LAST_NUMBER: number,
    }


def features(seen: Iterable[str], specs: Mapping[str, Spec]) -> dict[str, Any]:
    """The entries of the columns a recording has, in the file's order."""
    names = sorted({"action", *columns.HAND_POSES, *seen}, key=columns.order)
    entries = {name: spec_entry(specs[name]) if name in specs else _feature(name) for name in names}
    return {name: entry for name, entry in entries.items() if entry}


def extension(slot: Slot, mode: Mode) -> str:
    """What a slot's files end in."""
    return depth_writer.extension(mode) if slot.depth else RGB.extension


def video_codec(slots: Sequence[Slot], mode: Mode) -> dict[str, Any]:
    """How the slots were encoded; no path of this machine is in it."""
    colour = {"encoder": "libx264", "codec": RGB.codec, "crf": RGB_CRF}
    return {
        **(colour if any(not slot.depth for slot in slots) else {}),
        "ffmpeg": ffmpeg_version(),
        "selected_by": "self_test",
        "depth": {slot.name: depth_writer.described(mode) for slot in slots if slot.depth},
    }


def _camera(slot: Slot, fps: float) -> dict[str, Any]:
    own = {} if slot.fps in (None, fps) else {"fps": slot.fps}
    return {"height": slot.height_px, "width": slot.width_px, **own}


def _feature(name: str) -> dict[str, Any] | None:
    """A column's entry; None for columns that have none: the other keys, `imu_ts_ns` and `status.*`."""
    bare = name.removesuffix("_ns")
    if columns.TRAJECTORY.fullmatch(bare):
        encoding = "flat_points_8_txyz_qxyzw" if bare == name else "flat_parallel_to_slam_trajectory"
        points = {"dtype": "float64", "shape": [columns.POINT_VALUES], "encoding": encoding}
        return points if bare == name else {"dtype": "int64", "shape": [1], "encoding": encoding, "clock": _CLOCK}
    if bare != name and (columns.MATRIX.fullmatch(bare) or columns.FORCE.fullmatch(bare)):
        return {"dtype": "int64", "shape": [1], "encoding": _CLOCK}
    shape = _shape(name)
    return {"dtype": "float32", "shape": shape} if shape else None


_CLOCK = "host_monotonic_ns"


def _shape(name: str) -> list[int] | None:
    if name == "action":
        return [1]
    if name in columns.HAND_POSES:
        return [21, 3]
    if name == columns.IMU:
        return [columns.IMU_AXES]
    if columns.GLOVE_QUAT.fullmatch(name):
        return [16, 4]
    if columns.GLOVE_VALID.fullmatch(name):
        return [16]
    if columns.STATE.fullmatch(name) or columns.FORCE.fullmatch(name):
        return [3]
    return [16, 16] if columns.is_glove(name) else None
