"""The statistics of one recording, gathered while its row groups are in memory anyway (contract 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from quickdraw.formats.pooled import stats
from quickdraw.formats.pooled.columns import IMU


class TakeStatistics:
    """A block of each counted column."""

    def __init__(self) -> None:
        self._blocks: dict[str, stats.Block] = {}

    def add(self, name: str, column: Any) -> None:
        """An Arrow column of one row group; ones that do not count are passed over."""
        if not stats.counted(name):
            return
        lists = column.combine_chunks()
        samples = lists.flatten() if name == IMU else lists
        if not len(samples):
            return
        values = samples.flatten().to_numpy().reshape(len(samples), -1)
        block, _ = stats.of(values)  # what is not finite was dropped at the door
        self._blocks[name] = stats.join(self._blocks[name], block) if name in self._blocks else block

    def blocks(self, rows: int) -> stats.Stats:
        """Of `rows` rows. A glove that spoke late counts with zeros in the rows before, for those hold zeros."""
        return {
            name: block if name == IMU else _padded(block, rows - block.count) for name, block in self._blocks.items()
        }


def _padded(block: stats.Block, rows: int) -> stats.Block:
    if rows <= 0:
        return block
    zeros = np.zeros(block.mean.size)
    return stats.join(block, stats.Block(rows, zeros, zeros, zeros, zeros))
