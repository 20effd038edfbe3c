"""Statistics as a dataset stores them, beside what they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.verify.json_reading import odd

RELATIVE = 1e-9  # what is stored was computed by the same functions; another CPU may sum in another order
PICTURE_ABSOLUTE = 1e-6  # of 1; another decoder may not
# A constant channel v may be bounded by v - 1 and v + 1.
COLOUR_RANGE = {"min": (-1.0, 2.0), "max": (-1.0, 2.0), "mean": (0.0, 1.0), "std": (0.0, 1.0)}
MOST_DEPTH = 65_535.0  # in whatever unit: depth is millimetres in 16 bits, or fewer metres
DEPTH_RANGE = {"min": (-1.0, MOST_DEPTH + 1), "max": (-1.0, MOST_DEPTH + 1), "mean": (0.0, MOST_DEPTH),
               "std": (0.0, MOST_DEPTH)}  # fmt: skip
# By the number of channels.
PICTURE_RANGES = {3: (COLOUR_RANGE, "a picture's statistics in 0..1, of levels over 255"),
                  1: (DEPTH_RANGE, "distances that 16 bits of millimetres can tell")}  # fmt: skip

Numbers = npt.NDArray[np.float64]


def numbers(value: Any) -> Numbers | None:
    """Nested lists as float64; null is a NaN. None where they are no numbers, or not of one shape."""
    try:
        found = np.asarray(value)
        if found.dtype.kind not in "biufO":  # texts of digits are none
            return None
        return found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def differences(
    stored: Any, expected: Statistics, *, picture: bool, names: Sequence[str] = schema.STATISTICS
) -> Iterator[tuple[str, str]]:
    """What of a feature's stored statistics is not as `expected`: (found, expected), one for each of `names`."""
    if not isinstance(stored, Mapping):
        yield "no statistics", ", ".join(names)
        return
    lists = schema.statistics_lists(expected, picture)
    for name in names:
        right = np.asarray(lists[name], np.float64)
        if name not in stored:
            yield f"no {name}", f"{name} {_short(right)}"
            continue
        found = numbers(stored[name])
        if found is None:
            yield f"{name} {odd(stored[name])}", "numbers"
            continue
        if found.shape != right.shape:
            yield f"{name} of shape {list(found.shape)}", f"{list(right.shape)}"
            continue
        # A mean of numbers that cancel is only as exact as the numbers themselves.
        scale = np.maximum(np.abs(expected.min), np.abs(expected.max)).max()
        absolute = PICTURE_ABSOLUTE if picture else RELATIVE * float(scale)
        wrong = np.flatnonzero(~np.isclose(found, right, rtol=RELATIVE, atol=absolute).ravel())
        if wrong.size:
            at = wrong[0]
            yield f"{name}[{at}] {found.ravel()[at]:.9g}{_more(wrong.size)}", f"{right.ravel()[at]:.9g}"


def malformed(stored: Any, width: int, *, picture: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with stored statistics whatever they are of: missing, misshapen, not finite, out of order."""
    if not isinstance(stored, Mapping):
        yield "no statistics", ", ".join(schema.STATISTICS)
        return
    shape = (width, 1, 1) if picture else (width,)
    values: dict[str, Numbers] = {}
    for name in schema.STATISTICS:
        wanted = (1,) if name == "count" else shape
        if stored.get(name) is None:
            yield f"no {name}", "all of " + ", ".join(schema.STATISTICS)
        elif (found := numbers(stored[name])) is None:
            yield f"{name} {odd(stored[name])}", "numbers"
        elif found.shape != wanted:
            yield f"{name} of shape {list(found.shape)}", f"{list(wanted)}"
        elif not np.isfinite(found).all():
            yield f"{name} {_short(found)}", "finite numbers"
        else:
            values[name] = found
    yield from _out_of_order(values)
    if picture:
        yield from _out_of_range(values, *PICTURE_RANGES[width])


def _out_of_range(
    values: Mapping[str, Numbers], ranges: Mapping[str, tuple[float, float]], expected: str
) -> Iterator[tuple[str, str]]:
    for name, (low, high) in ranges.items():
        found = values.get(name, np.zeros(0))
        if ((found < low - PICTURE_ABSOLUTE) | (found > high + PICTURE_ABSOLUTE)).any():
            yield f"{name} {_short(found)}", expected


def _out_of_order(values: Mapping[str, Numbers]) -> Iterator[tuple[str, str]]:
    """Quantiles must rise from min to max; those of others come from histograms, padded by a little."""
    for order in (("min", "q01", "q50", "q99", "max"), ("min", "q10", "q50", "q90", "max"), ("min", "mean", "max")):
        # Not q01 to q10: a pair that fell together may stand at min and max, for trainers to divide by.
        for low, high in pairwise(name for name in order if name in values):
            slack = 1e-6 * np.maximum(1.0, np.abs(values[low]))
            if (values[low] > values[high] + slack).any():
                yield f"{low} above {high}", f"{low} <= {high}"
    if "std" in values and (values["std"] < 0).any():
        yield "a negative std", "std >= 0"


def _short(values: Numbers) -> str:
    flat = ", ".join(f"{value:.6g}" for value in values.ravel()[:3])
    return f"[{flat}{', ...' if values.size > 3 else ''}]"


def _more(amount: int) -> str:
    return f" and {amount - 1} more" if amount > 1 else ""
