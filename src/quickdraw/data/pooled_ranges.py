"""What each option of pooled_episodes may be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf

from quickdraw.data.options import Config, PooledSource
from quickdraw.data.pooled_episodes.options import NEXT_STATE
from quickdraw.data.ranges import Check, faults_of, is_size, place_checks, split_checks, video_checks
from quickdraw.errors import Fault

MOST_IMU_SAMPLES = 256
SIDE_TAXELS = 250  # of a force matrix, either way
CHOICES = {
    "depth.mode": ("none", "lossless", "copy"),
    "video.mode": ("encode", "copy"),
    "fold": ("refuse", "first"),
    "on_gap": ("refuse", "split"),
    "imu.mode": ("window", "mean", "last"),
    "val_rule": ("longest", "random"),
}


def pooled_faults(config: Config[PooledSource]) -> list[Fault]:
    """Every option outside its range."""
    source = config.source
    return faults_of(
        [
            *place_checks(config, "a task folder or a recordings root"),
            *_choice_checks(source),
            *_picture_checks(source),
            *_slot_checks(source),
            (0 < source.max_gap_s < inf, "source.max_gap_s", source.max_gap_s, "above 0 s"),
            *_feature_checks(source),
            *split_checks(source, 0),
            (source.seed >= 0, "source.seed", source.seed, "0 or more"),
        ]
    )


def _choice_checks(source: PooledSource) -> Iterator[Check]:
    for name, choices in CHOICES.items():
        first, _, second = name.partition(".")
        value = getattr(getattr(source, first), second) if second else getattr(source, first)
        yield value in choices, f"source.{name}", value, " or ".join((", ".join(choices[:-1]), choices[-1]))


def _picture_checks(source: PooledSource) -> Iterator[Check]:
    size = "[height,width], both even, 16 to 4320 px, or null"
    yield source.hw is None or is_size(source.hw), "source.hw", source.hw, size
    yield from video_checks(source.video)
    yield _all_differ(source.cameras), "source.cameras", source.cameras, "different slots, or [] for all"


def _slot_checks(source: PooledSource) -> Iterator[Check]:
    """Cameras that unite slots: of a name a folder can have, and each slot is one camera's."""
    from quickdraw.formats.pooled.layout import PLAIN_NAME

    taken: dict[str, str] = {}
    for camera, slots in source.slots.items():
        option, twice = f"source.slots.{camera}", [slot for slot in slots if slot in taken]
        plain = PLAIN_NAME.fullmatch(camera) is not None and camera.isprintable()
        yield plain, option, repr(camera), "a plain name, no / in it and no . before it"
        yield bool(slots) and _all_differ(slots), option, slots, "different slots, at least one"
        yield not twice, option, slots, f"slots of no other camera (see {', '.join(taken[slot] for slot in twice)})"
        taken |= dict.fromkeys(slots, option)


def _feature_checks(source: PooledSource) -> Iterator[Check]:
    samples, matrices, action = source.imu.samples, source.force_matrices, source.action
    yield 1 <= samples <= MOST_IMU_SAMPLES, "source.imu.samples", samples, f"1 to {MOST_IMU_SAMPLES}"
    patches = f"none, sums, or HxW such as 25x25, both dividing {SIDE_TAXELS}"
    yield matrices in ("none", "sums") or _divides(matrices), "source.force_matrices", matrices, patches
    yield _all_differ(source.state), "source.state", source.state, "different features, or [] for none"
    if isinstance(action, list):
        right, expected = bool(action) and _all_differ(action), "different features, at least one"
    else:
        right, expected = action in (None, NEXT_STATE), f"{NEXT_STATE}, a list of features, or null"
    yield right, "source.action", action, expected
    yield action != NEXT_STATE or bool(source.state), "source.action", action, "source.state=[...] beside it"


def _divides(size: str) -> bool:
    sides = re.fullmatch(r"([1-9]\d{0,2})x([1-9]\d{0,2})", size, re.ASCII)
    return sides is not None and all(SIDE_TAXELS % int(side) == 0 for side in sides.groups())


def _all_differ(names: Sequence[str]) -> bool:
    return all(names) and len(set(names)) == len(names)
