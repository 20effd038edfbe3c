"""Every row of a split as lerobot returns it, in one npz: for the other scripts here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from lerobot.datasets import LeRobotDataset


def dump(split: LeRobotDataset, target: str | Path) -> None:
    """Features as `(n, D)`, colour as `(n, H, W, 3)` uint8, depth as `(n, H, W)` float32 in lerobot's unit."""
    items = [split[row] for row in range(len(split))]
    arrays = {n: np.stack([plain(i[n]) for i in items]) for n, v in items[0].items() if isinstance(v, torch.Tensor)}
    arrays["task"] = np.array([item["task"] for item in items])
    arrays["depth_keys"] = np.array(split.meta.depth_keys)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    np.savez(target, **arrays)


def plain(value: torch.Tensor) -> Any:
    if value.ndim < 3:
        return value.numpy()
    return value.numpy()[0] if value.shape[0] == 1 else value.permute(1, 2, 0).numpy()
