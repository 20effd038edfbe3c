"""Which of a run's faults the user accepts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a run must be like: strictest by default; each field is the option of its name and relaxes one check."""

    require_green: bool = True
    allow_mixed_cameras: bool = False
    allow_mixed_control: bool = False
    allow_post_read: bool = False
    allow_simulated: bool = False
    allow_faults: tuple[str, ...] = ()
    min_coverage: float = 0.9
    max_gap_s: float = 0.5


STRICT = Acceptance()


def override(option: str) -> str:
    """An option as it is typed: `allow_simulated=true`."""
    return f"+source.{option}"
