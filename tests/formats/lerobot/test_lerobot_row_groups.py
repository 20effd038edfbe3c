"""Files end after so many row groups, too: what a reader or a writer holds of each does not grow without end."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.formats.lerobot.schema import data_schema, episodes_schema
from quickdraw.formats.lerobot.writer import RollingParquet
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.verify.verify import verify_structure

EPISODES = 23


def test_data_and_episodes_go_on_in_another_file_and_are_found_there(
    tmp_path: Path, synthetic: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = synthetic.dataset_spec()
    monkeypatch.setattr(RollingParquet, "MOST_CHUNKS", len(episodes_schema(spec)))  # one group of metadata a file
    episodes = [synthetic.fake_episode(number, 3 + number % 2, tmp_path) for number in range(EPISODES)]
    root = synthetic.pack(tmp_path / "dataset" / "train", spec, episodes)

    limit = len(episodes_schema(spec)) // len(data_schema(spec.features))
    files = sorted(root.glob("data/*/*.parquet"))
    assert len(files) == -(-EPISODES // limit)
    assert [pq.ParquetFile(file).num_row_groups for file in files[:-1]] == [limit] * (len(files) - 1)
    metas = sorted(root.glob("meta/episodes/*/*.parquet"))
    assert [pq.ParquetFile(file).num_row_groups for file in metas] == [1, 1, 1]  # ten episodes each

    rows = [row for meta in metas for row in pq.read_table(meta).to_pylist()]
    assert [row["data/file_index"] for row in rows] == [number // limit for number in range(EPISODES)]
    assert [row["meta/episodes/file_index"] for row in rows] == [number // 10 for number in range(EPISODES)]
    state = SplitReader(root).array("observation.state")
    assert (state == np.concatenate([episode.arrays["observation.state"] for episode in episodes])).all()
    assert [str(finding) for finding in verify_structure(root.parent, Inline())] == []
