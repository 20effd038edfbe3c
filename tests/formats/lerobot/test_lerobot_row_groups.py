"""Files end after so many row groups, too: what a reader or a writer holds of each does not grow without end."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.lerobot import blocks
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.formats.lerobot.schema import data_schema, episodes_schema
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.verify.verify import verify_structure

EPISODES = 23


@pytest.mark.parametrize(("columns_of_data", "held"), [(4, 4), (100, 10)])  # by rows' own columns, or by metadata's
def test_data_and_episodes_go_on_in_another_file_and_are_found_there(
    columns_of_data: int, held: int, tmp_path: Path, synthetic: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = synthetic.dataset_spec()
    most = min(columns_of_data * len(data_schema(spec.features)), len(episodes_schema(spec)))  # one group of metadata
    monkeypatch.setattr(blocks, "MOST_CHUNKS", most)
    episodes = [synthetic.fake_episode(number, 3 + number % 2, tmp_path) for number in range(EPISODES)]
    root = synthetic.pack(tmp_path / "dataset" / "train", spec, episodes)

    groups = [min(held, EPISODES - first) for first in range(0, EPISODES, held)]
    files, metas = sorted(root.glob("data/*/*.parquet")), sorted(root.glob("meta/episodes/*/*.parquet"))
    assert [pq.ParquetFile(file).num_row_groups for file in files] == groups
    assert [pq.ParquetFile(file).metadata.num_rows for file in metas] == groups
    assert {pq.ParquetFile(file).num_row_groups for file in metas} == {1}

    rows = [row for meta in metas for row in pq.read_table(meta).to_pylist()]
    assert [row["data/file_index"] for row in rows] == [number // held for number in range(EPISODES)]
    assert [row["meta/episodes/file_index"] for row in rows] == [number // held for number in range(EPISODES)]
    state = SplitReader(root).array("observation.state")
    assert (state == np.concatenate([episode.arrays["observation.state"] for episode in episodes])).all()
    assert [str(finding) for finding in verify_structure(root.parent, Inline())] == []
