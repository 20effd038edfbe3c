"""What `end` tells of an episode in words: what was left out or cut off, and what differs from earlier episodes.

The numbers are in the row's `drop_stats`; nobody reads those while recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quickdraw.formats.pooled.columns import IMU
from quickdraw.formats.pooled.force_matrix import FULL_SCALE, Spec
from quickdraw.formats.pooled.recording.cameras import Slot
from quickdraw.formats.pooled.recording.matrix_columns import SATURATED
from quickdraw.formats.pooled.recording.samples import REJECTED
from quickdraw.formats.pooled.recording.task_document import Described

_ROWLESS = {
    "imu_before_count": "before the first",
    "imu_after_count": "after the last",
    "imu_late_count": "later than a second after theirs",
    "imu_overflow_count": "that no hardware_ns claimed",
}


def losses(drop_stats: Mapping[str, int], specs: Mapping[str, Spec], *, imu_kept: int) -> Iterator[str]:
    """A line for each column that lost samples or had them cut off; `imu_kept` inertial samples found their row."""
    for key, count in drop_stats.items():
        if key.endswith(REJECTED):
            name = key.removesuffix(REJECTED)
            why = "not finite or without a stamp" if name == IMU else "or not finite"
            yield f"{name}: {_samples(count)} of a wrong shape{',' if name == IMU else ''} {why}, left out"
        elif key.endswith(SATURATED) and (spec := specs.get(key.removesuffix(SATURATED))):
            matrices = "1 matrix" if count == 1 else f"{count} matrices"
            reach = f"{FULL_SCALE / spec.scale:g} mN, where {spec.name} cuts off"
            yield f"{key.removesuffix(SATURATED)}: {matrices} beyond +-{reach}; another force_spec reaches further"
    rowless = {key: drop_stats[key] for key in _ROWLESS if drop_stats.get(key)}
    if lost := sum(rowless.values()):
        each = ", ".join(f"{count} {_ROWLESS[key]}" for key, count in rowless.items())
        asked = "; is it the clock of hardware_ns?" if lost > imu_kept else ""
        yield f"{IMU}: {_samples(lost)} of {lost + imu_kept} without a row, left out ({each}){asked}"


def changes(told: Described, slots: Sequence[Slot], before: Mapping[str, Any]) -> Iterator[str]:
    """A line for each size and rate that is not the one `before`, info.json as it stands, has for colour slots."""
    task_fps, cameras = before.get("fps"), before.get("cameras", {})
    if task_fps not in (None, told.fps):
        yield f"fps: {told.fps:g} where earlier episodes had {_rate(task_fps)}"
    for slot in slots:
        camera = cameras.get(slot.name)
        if not isinstance(camera, dict):
            continue
        size = camera.get("height"), camera.get("width")
        if None not in size and size != (slot.height_px, slot.width_px):
            now = f"{slot.height_px}x{slot.width_px}"
            yield f"{slot.name}: {now} where earlier episodes had {size[0]}x{size[1]}"
        rate, own = camera.get("fps", task_fps), slot.fps or told.fps
        if rate not in (None, own) and (rate, own) != (task_fps, told.fps):
            yield f"{slot.name}: {own:g} fps where earlier episodes had {_rate(rate)}"


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"


def _rate(found: Any) -> str:
    return f"{found:g}" if isinstance(found, int | float) else str(found)  # a camera's is not checked when it is read
