"""What a pooled task is to hold, before anything of it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

FPS: Final = 30
HEIGHT_PX, WIDTH_PX = 120, 160
CHUNKS_SIZE: Final = 1000
CREATED_UNIX: Final = 1_790_000_000.0

type Coding = Literal["rgb", "ffv1", "ffv1+preview", "log12"]
type MatrixSpec = Literal["int16", "int16x10", "int16x100", "int16x1000", "float32"]
type Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """One video of an episode. `head` and `tail` are pictures missing at its ends: it is shorter than the rows then."""

    name: str
    coding: Coding = "rgb"
    head: int = 0
    tail: int = 0

    @property
    def extension(self) -> str:
        """`mkv` where FFV1 lies in it, else `mp4`."""
        return "mkv" if self.coding.startswith("ffv1") else "mp4"


@dataclass(frozen=True, slots=True)
class MatrixStream:
    """One tactile pad of a gripper: its force and, every second row, its matrix as `spec` codes it."""

    spec: MatrixSpec = "int16x100"
    side: Side = "left"
    gripper: int = 1

    @property
    def force(self) -> str:
        """Name of the force column; the matrix's and both stamps' names are this one and a suffix."""
        prefix = "" if self.gripper == 1 else f"gripper_{self.gripper}_"
        return f"observation.{prefix}gripper_{self.side}_force"

    @property
    def matrix(self) -> str:
        """Name of the matrix column."""
        return f"{self.force}_matrix"


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """One take: `number` is N, the global number from 1; `frames` pictures of each slot.

    `rows_per_frame` 2 is a recording that wrote a row for each of two slots; `apart` gives the second row its own
    stamps. `hole_after` stops both clocks' stamps for 4 s after that frame. `truncated` keeps the low 32 bits of
    `hardware_ns`, as a signed number.
    """

    number: int
    frames: int
    slots: tuple[SlotSpec, ...]
    gloves: tuple[str, ...] = ()
    glove_imus: bool = False
    imu_hz: int = 0
    matrices: tuple[MatrixStream, ...] = ()
    trajectory_hz: int = 0
    rows_per_frame: int = 1
    apart: bool = False
    hole_after: int | None = None
    truncated: bool = False

    @property
    def rows(self) -> int:
        """Rows of the data file."""
        return self.frames * self.rows_per_frame

    @property
    def created_unix(self) -> float:
        """When the take began [s]: each 100 s after the one before."""
        return CREATED_UNIX + 100.0 * self.number


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task: its name, which is its folder's too, its device and its takes. `seed` turns every phase."""

    name: str
    device: str
    kind: str
    episodes: tuple[EpisodeSpec, ...]
    seed: int = 0
