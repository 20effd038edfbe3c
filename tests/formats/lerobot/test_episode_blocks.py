"""Which episodes share files of rows and metadata: known beforehand, and never too large."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.core.episode import Rows
from quickdraw.core.features import FeatureSpec
from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.formats.lerobot import blocks
from quickdraw.formats.lerobot.files import Place
from quickdraw.formats.lerobot.packer import BlockPlan, Contents, pack_block
from quickdraw.formats.lerobot.schema import (
    DATA_PATH,
    EPISODES_PATH,
    CameraSpec,
    DatasetSpec,
    Limits,
    data_schema,
    episodes_schema,
)

KB = 1024
RELAXED = settings(deadline=None, max_examples=30)  # cores are shared
WIDTHS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 14, 300]), st.sampled_from(["float32", "float64", "int64"])),
                  max_size=4)  # fmt: skip
EPISODES = st.lists(st.tuples(st.integers(1, 120), st.text(max_size=60)), min_size=1, max_size=30)


def spec_of(widths: list[tuple[int, str]], cameras: int, data_mb: int) -> DatasetSpec:
    features = tuple(
        FeatureSpec(f"observation.number_{n}", tuple(map(str, range(width))), ("",) * width, dtype=dtype)
        for n, (width, dtype) in enumerate(widths)
    )
    shown = tuple(CameraSpec(f"camera_{n}", 48, 64, 3 if n % 2 else 1, {}) for n in range(cameras))
    return DatasetSpec(30, "xarm7", features, shown, Limits(data_mb=data_mb))


class Noise:
    """An episode in which no number repeats, nor could any be made shorter."""

    def __init__(self, spec: DatasetSpec, frames: int, task: str) -> None:
        self.spec, self.frames, self.task = spec, frames, task
        self.random = np.random.default_rng([frames, len(task)])

    def rows(self) -> Rows:
        rows: dict[str, Any] = {}
        for feature in self.spec.features:
            bits = self.random.integers(-(1 << 62), 1 << 62, (self.frames, feature.width))
            rows[feature.name] = bits if feature.dtype == "int64" else (bits / 3.0).astype(feature.dtype)
        return rows

    def picture_statistics(self, camera: str) -> Statistics:
        channels = next(shown.channels for shown in self.spec.camera_specs if shown.name == camera)
        return of_rows(self.random.standard_normal((5, channels)))


@RELAXED
@given(WIDTHS, st.integers(0, 3), EPISODES, st.integers(60, 500))
def test_no_file_of_several_episodes_reaches_the_limit_whatever_is_in_it(
    widths: list[tuple[int, str]], cameras: int, episodes: list[tuple[int, str]], data_kb: int
) -> None:
    spec = spec_of(widths, cameras, data_kb)
    noise = [Noise(spec, *episode) for episode in episodes]
    contents = Contents.of((episode.frames, episode.task) for episode in noise)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(blocks, "MB", KB)
        for block in contents.blocks(spec):
            some = slice(block.first, block.stop)
            places = {camera: [Place(0, 0)] * (block.stop - block.first) for camera in spec.cameras}
            plan = BlockPlan(spec, block, noise[some], contents.task_of[some], places, pin=False)
            pack_block(plan, Path(folder))
            for template in (DATA_PATH, EPISODES_PATH):
                path = Path(folder) / template.format(**block.place.indices(spec.limits))
                assert pq.ParquetFile(path).metadata.num_rows in (block.rows, block.stop - block.first)
                assert block.stop - block.first == 1 or path.stat().st_size < data_kb * KB


@RELAXED
@given(WIDTHS, st.integers(0, 3), EPISODES, st.integers(60, 500), st.integers(1, 900))
def test_blocks_are_all_episodes_in_order_and_none_has_too_many_columns(
    widths: list[tuple[int, str]], cameras: int, episodes: list[tuple[int, str]], data_kb: int, chunks: int
) -> None:
    spec = spec_of(widths, cameras, data_kb)
    contents = Contents.of(episodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MB", KB)
        patch.setattr(blocks, "MOST_CHUNKS", chunks)
        found = contents.blocks(spec)
    assert [block.number for block in found] == list(range(len(found)))
    assert (found[0].first, found[0].first_row, found[-1].stop) == (0, 0, len(episodes))
    assert all((a.stop, a.first_row + a.rows) == (b.first, b.first_row) for a, b in pairwise(found))
    for block in found:
        held = contents.lengths[block.first : block.stop]
        assert len(held) > 0
        assert block.rows == sum(held)
        groups = -(-len(held) // 10)
        assert len(held) == 1 or len(held) * len(data_schema(spec.features)) <= chunks
        assert groups == 1 or groups * len(episodes_schema(spec)) <= chunks


def test_the_next_episode_would_have_been_one_too_many() -> None:
    """Of a robot's usual features, metadata fills its 4,000 columns first; of long episodes, rows their 100 MB."""
    spec = spec_of([(17, "float32"), (5, "float32"), (32, "float32")], 4, 100)
    most = 10 * (4_000 // len(episodes_schema(spec)))
    assert [block.stop for block in Contents.of([(30, "a task")] * 600).blocks(spec)] == [most, 2 * most, 600]
    long = Contents.of([(20_000, "a task")] * 40).blocks(spec)
    assert [block.stop - block.first for block in long] == [12, 12, 12, 4]


def test_an_episode_too_large_for_a_file_has_one_of_its_own() -> None:
    spec = spec_of([(187_500, "float32")], 0, 100)
    lengths = [(10, "a task"), (300, "a task"), (10, "a task"), (10, "a task")]
    assert [block.stop for block in Contents.of(lengths).blocks(spec)] == [1, 2, 4]


def test_tasks_are_numbered_in_the_order_they_come() -> None:
    contents = Contents.of([(3, "stack"), (5, "play"), (2, "stack")])
    assert contents == Contents((3, 5, 2), (0, 1, 0), ("stack", "play"))
