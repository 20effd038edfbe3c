"""What each option of pooled_episodes may be, as it is typed and as provenance.json tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf

from quickdraw.data.options import Check, all_differ, is_size
from quickdraw.data.pooled_episodes.options import NEXT_STATE, RecordedOptions

MOST_IMU_SAMPLES = 256
SIDE_TAXELS = 250  # of a force matrix, either way


def recorded_checks(source: RecordedOptions) -> Iterator[Check]:
    """Of the options that only pooled_episodes has."""
    size = "[height,width], both even, 16 to 4320 px, or null"
    yield source.hw is None or is_size(source.hw), "source.hw", source.hw, size
    yield all_differ(source.cameras), "source.cameras", source.cameras, "different slots, or [] for all"
    yield from _slot_checks(source)
    yield 0 < source.max_gap_s < inf, "source.max_gap_s", source.max_gap_s, "above 0 s"
    yield from _feature_checks(source)


def _slot_checks(source: RecordedOptions) -> Iterator[Check]:
    """Cameras that unite slots: of a name a folder can have, and each slot is one camera's."""
    from quickdraw.formats.pooled.layout import PLAIN_NAME

    taken: dict[str, str] = {}
    for camera, slots in source.slots.items():
        option, twice = f"source.slots.{camera}", [slot for slot in slots if slot in taken]
        plain = PLAIN_NAME.fullmatch(camera) is not None and camera.isprintable()
        yield plain, option, repr(camera), "a plain name, no / in it and no . before it"
        yield bool(slots) and all_differ(slots), option, slots, "different slots, at least one"
        yield not twice, option, slots, f"slots of no other camera (see {', '.join(taken[slot] for slot in twice)})"
        taken |= dict.fromkeys(slots, option)


def _feature_checks(source: RecordedOptions) -> Iterator[Check]:
    samples, matrices, action = source.imu.samples, source.force_matrices, source.action
    yield 1 <= samples <= MOST_IMU_SAMPLES, "source.imu.samples", samples, f"1 to {MOST_IMU_SAMPLES}"
    patches = f"none, sums, or HxW such as 25x25, both dividing {SIDE_TAXELS}"
    yield matrices in ("none", "sums") or _divides(matrices), "source.force_matrices", matrices, patches
    yield all_differ(source.state), "source.state", source.state, "different features, or [] for none"
    if isinstance(action, tuple):
        right, expected = bool(action) and all_differ(action), "different features, at least one"
    else:
        right, expected = action in (None, NEXT_STATE), f"{NEXT_STATE}, a list of features, or null"
    yield right, "source.action", action, expected
    yield action != NEXT_STATE or bool(source.state), "source.action", action, "source.state=[...] beside it"


def _divides(size: str) -> bool:
    sides = re.fullmatch(r"([1-9]\d{0,2})x([1-9]\d{0,2})", size, re.ASCII)
    return sides is not None and all(SIDE_TAXELS % int(side) == 0 for side in sides.groups())
