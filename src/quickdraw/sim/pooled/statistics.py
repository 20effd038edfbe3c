"""stats.json of a whole task, from all its samples at once rather than episode by episode (contract section 4)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quickdraw.sim.pooled.spec import TaskSpec
from quickdraw.sim.pooled.table import glove_rows, imu_samples

_ACTION: Final[dict[str, Any]] = {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]}


def stats(task: TaskSpec) -> dict[str, Any]:
    """A block for each glove, of every row, and for the IMU, of every sample; `action` is a placeholder."""
    gathered: dict[str, list[NDArray[np.float32]]] = {}
    for episode in task.episodes:
        for glove in sorted(episode.gloves):
            gathered.setdefault(f"observation.{glove}", []).append(glove_rows(task.seed, episode, glove))
        if episode.imu_hz:
            gathered.setdefault("observation.imu", []).extend(imu_samples(task.seed, episode))
    blocks = {name: _block(np.concatenate(values).astype(np.float64)) for name, values in gathered.items()}
    return {**blocks, "action": _ACTION}


def _block(values: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "count": len(values),
        "mean": values.mean(axis=0).tolist(),
        "std": values.std(axis=0).tolist(),
        "min": values.min(axis=0).tolist(),
        "max": values.max(axis=0).tolist(),
    }
