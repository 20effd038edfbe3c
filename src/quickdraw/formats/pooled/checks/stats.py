"""Rules of `meta/stats.json`, the accumulator of the whole task (contract 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.formats.pooled.checks.findings import Checking, listed, said
from quickdraw.formats.pooled.columns import IMU
from quickdraw.formats.pooled.documents import read_regular
from quickdraw.formats.pooled.parquet_files import why
from quickdraw.formats.pooled.stats import ACTION, Counting

_LISTS: Final = tuple(key for key in ACTION if key != "count")
_SLACK: Final = 1e-6  # of the range: a mean of many equal values is off by rounding


def check_stats(checking: Checking) -> None:
    """Rules of the file, and of its counts where the check was deep."""
    path = checking.info.layout.stats
    try:
        document = json.loads(read_regular(path).decode("utf-8"))
    except FileNotFoundError:
        checking.add("stats-unreadable", path, "no such file")
        return
    except (OSError, ValueError, RecursionError) as error:
        checking.add("stats-unreadable", path, f"unreadable ({why(error)})")
        return
    if not isinstance(document, dict):
        checking.add("stats-unreadable", path, f"{type(document).__name__}, no JSON object")
        return
    action = document.get("action")
    if action != ACTION and _is_counted(action):
        checking.add("stats-action", path, f"action is {said(action)}")
    uncounted = [name for name, block in document.items() if not _is_counted(block)]
    if uncounted:
        checking.add("stats-no-count", path, f"no count in {listed(uncounted)}")
        return
    for name, block in document.items():
        if name != "action":
            _check_block(checking, name, block)
    _check_counts(checking, document)


def _is_counted(block: Any) -> bool:
    return not isinstance(block, dict) or "count" in block


def _check_block(checking: Checking, name: str, block: Any) -> None:
    path, counting = checking.info.layout.stats, Counting.of(checking.info.document)
    mean = block.get("mean") if isinstance(block, dict) else None
    if not counting.counts(name, len(mean) if isinstance(mean, list) else counting.values):
        checking.add("stats-column", path, f"a block of {name}")
    elif wrong := _fault(name, block):
        checking.add("stats-block", path, f"{name}: {wrong}")


def _fault(name: str, block: Any) -> str:
    """What is wrong with a block, or nothing."""
    if not isinstance(block, dict):
        return f"{said(block)}; an object expected"
    count = block["count"]
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        return f"count {said(count)}; a whole number expected"
    lists = {key: _values(block.get(key)) for key in _LISTS}
    unfit = [key for key, values in lists.items() if values is None]
    if unfit:
        return f"{listed(unfit)}: a list of finite numbers expected"
    mean, std, least, most = (values for values in lists.values() if values is not None)
    if len({len(mean), len(std), len(least), len(most)}) > 1 or (name == IMU and len(mean) != 6):
        return f"{len(mean)} means, {len(std)} std, {len(least)} min, {len(most)} max"
    slack = _SLACK * np.maximum(1.0, np.maximum(abs(least), abs(most)))
    if count and not ((std >= 0) & (least <= mean + slack) & (mean <= most + slack)).all():
        return "std below 0, or a mean that does not lie between min and max"
    return ""


def _values(values: Any) -> npt.NDArray[np.float64] | None:
    """A list of finite numbers as an array `(D,)`."""
    if not isinstance(values, list) or not all(isinstance(each, int | float) for each in values):
        return None
    try:
        found = np.asarray(values, np.float64)
    except OverflowError:
        return None
    return found if np.isfinite(found).all() else None


def _check_counts(checking: Checking, document: Mapping[str, Any]) -> None:
    """Deleting takes nothing back, so that a block may count more than there is, but never less."""
    for name, there in checking.counts.items():
        block = document.get(name)
        count = block.get("count") if isinstance(block, dict) else 0
        if isinstance(count, int) and count < there:
            checking.add("stats-count", checking.info.layout.stats, f"{name}: count {count}, and {there} in data/")
