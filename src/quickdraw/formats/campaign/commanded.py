"""How much of a run the operator's target stood still, or was not let go where it should: counted, never a reason.

Nothing of commanded.jsonl reaches a row: it is a consequence of the action and would leak it.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from quickdraw.core.grid import NS_PER_S
from quickdraw.errors import Refused
from quickdraw.formats.campaign.records import CommandedRow, read_rows

TARGET = attrgetter("target_world_xyz_mm", "target_rpy_deg", "gripper_closure")


@dataclass(frozen=True, slots=True)
class Commanded:
    """Of the ticks in a window: how many there are, were clamped, were re-anchored (None: not recorded).

    `idle_share` is the share of ticks whose target is that of the tick before, None where no target was recorded.
    """

    ticks: int
    clamped: int | None
    reanchored: int | None
    idle_share: float | None


def count_commanded(path: Path, t_lo_ns: int, t_hi_ns: int) -> Commanded | None:
    """Count the ticks of a window, its ends included; None where the file is missing or cannot be read whole."""
    try:
        read = read_rows(path, "", CommandedRow)
    except Refused:
        return None
    if read.faults:
        return None
    lo_s, hi_s = t_lo_ns / NS_PER_S, t_hi_ns / NS_PER_S
    inside = [number for number, row in enumerate(read.rows) if row.t is not None and lo_s <= row.t <= hi_s]
    rows = [read.rows[number] for number in inside]
    told = any(row.target_world_xyz_mm for row in rows)
    targets = list(map(TARGET, read.rows))
    idle = [targets[number] == targets[number - 1] for number in inside if number and told]
    return Commanded(
        ticks=len(rows),
        clamped=_times([row.clamped_by_workspace for row in rows]),
        reanchored=_times([row.reanchored for row in rows]),
        idle_share=sum(idle) / len(idle) if idle else None,
    )


def _times(flags: list[bool | None]) -> int | None:
    """How often; None where no row says."""
    return None if all(flag is None for flag in flags) else flags.count(True)
