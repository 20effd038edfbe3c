"""The tasks `quickdraw simulate pooled` writes: gloves, a gripper, two cameras; and small ones to spoil."""

from __future__ import annotations

from typing import Final

from quickdraw.sim.pooled.spec import Coding, EpisodeSpec, MatrixStream, SlotSpec, TaskSpec

_IMU_HZ: Final = 400
_TRAJECTORY_HZ: Final = 100
_GLOVES: Final = ("left_glove", "right_glove")
_SMALL_FRAMES: Final = 20


def default_tasks(*, seed: int = 0, frames: int = 60) -> tuple[TaskSpec, ...]:
    """Three tasks without a fault: gloves, a gripper with matrices and depth, and one row a slot of two."""
    return gloves(seed, frames), gripper(seed, frames), two_cameras("two_cameras", seed=seed, frames=frames // 2)


def gloves(seed: int, frames: int) -> TaskSpec:
    """Two gloves with small IMUs and a 400 Hz IMU; the last take's camera has another slot, as renamed ones have."""
    names = ("head_rgb", "head_rgb", "head_left_rgb")
    episodes = tuple(
        EpisodeSpec(
            number,
            frames + 5 * number,
            (SlotSpec(name),),
            gloves=_GLOVES,
            glove_imus=True,
            imu_hz=_IMU_HZ,
        )
        for number, name in enumerate(names, start=1)
    )
    return TaskSpec("手套_插孔", "head0", "d435", episodes, seed)


def gripper(seed: int, frames: int) -> TaskSpec:
    """A gripper's forces, matrices and trajectory; one take for each depth layout, one of them with raw matrices."""
    takes: tuple[tuple[tuple[MatrixStream, ...], Coding], ...] = (
        ((MatrixStream(),), "ffv1"),
        ((MatrixStream(), MatrixStream(side="right")), "ffv1+preview"),
        ((MatrixStream("float32"),), "log12"),
        ((MatrixStream(),), "ffv1"),
    )
    episodes = tuple(
        EpisodeSpec(
            number,
            frames // 2 if streams[0].spec == "float32" else frames,
            (SlotSpec("umi_rgb"), SlotSpec("umi_depth", coding)),
            matrices=streams,
            trajectory_hz=_TRAJECTORY_HZ,
        )
        for number, (streams, coding) in enumerate(takes, start=1)
    )
    return TaskSpec("umi_place", "umi0", "uvc", episodes, seed)


def every_matrix_spec(name: str, *, seed: int = 0, frames: int = 12) -> TaskSpec:
    """A gripper task whose takes 1 to 5 code matrices by the five specs, in the contract's order, and a second pad."""
    streams = (
        MatrixStream("int16"),
        MatrixStream("int16x10"),
        MatrixStream("int16x100"),
        MatrixStream("int16x1000"),
        MatrixStream("float32"),
    )
    second = MatrixStream("int16x10", "right", 2)
    slots = (SlotSpec("umi_rgb"),)
    episodes = tuple(
        EpisodeSpec(number, frames, slots, matrices=(stream, second), trajectory_hz=_TRAJECTORY_HZ)
        for number, stream in enumerate(streams, start=1)
    )
    return TaskSpec(name, "umi0", "uvc", episodes, seed)


def two_cameras(name: str, *, seed: int = 0, frames: int = _SMALL_FRAMES, apart: bool = False) -> TaskSpec:
    """One take with a row for each picture of two slots: with equal stamps, or `apart` with the second's own."""
    slots = (SlotSpec("stereo_left"), SlotSpec("stereo_right"))
    episode = EpisodeSpec(1, frames, slots, gloves=_GLOVES[:1], imu_hz=_IMU_HZ, rows_per_frame=2, apart=apart)
    return TaskSpec(name, "stereo0", "s80m", (episode,), seed)


def small(name: str, *, seed: int = 0, frames: int = _SMALL_FRAMES) -> TaskSpec:
    """Two short takes of one glove, one camera and an IMU."""
    slots = (SlotSpec("cam"),)
    episodes = tuple(EpisodeSpec(number, frames, slots, gloves=_GLOVES[:1], imu_hz=_IMU_HZ) for number in (1, 2))
    return TaskSpec(name, "cam0", "uvc", episodes, seed)
