import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.lerobot import reader
from quickdraw.formats.lerobot.reader import SplitReader, splits_of

# imageio leaves the pipes of its ffmpeg to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")


@pytest.fixture
def split(tmp_path: Path) -> SplitReader:
    """Two files of 120 rows each, in row groups of 7, with a vector, a scalar and a wide one."""
    (tmp_path / "meta").mkdir()
    shapes = {"vector": 3, "scalar": 1, "wide": 50, "episode_index": 1, "frame_index": 1}
    features = {name: {"dtype": "float32", "shape": [width], "names": None} for name, width in shapes.items()}
    features["camera"] = {"dtype": "video", "shape": [48, 64, 3], "names": None}
    (tmp_path / "meta/info.json").write_text(json.dumps({"codebase_version": "v3.0", "fps": 30, "features": features}))
    for number in range(2):
        rows = np.arange(120) + 120 * number
        columns = {
            "vector": pa.FixedSizeListArray.from_arrays(np.repeat(rows, 3).astype(np.float32), 3),
            "scalar": rows.astype(np.float32),
            "wide": pa.FixedSizeListArray.from_arrays(np.repeat(rows, 50).astype(np.float32), 50),
            "episode_index": rows // 10,
            "frame_index": rows % 10,
        }
        path = tmp_path / f"data/chunk-000/file-{number:03d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path, row_group_size=7)
    return SplitReader(tmp_path)


@pytest.mark.parametrize("most", [1, 5, 7, 30, 100_000])
def test_blocks_are_all_rows_in_order_however_many_are_held_at_once(
    split: SplitReader, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "BLOCK_ROWS", most)
    blocks = list(split.blocks(["vector", "scalar"]))
    assert {name for block in blocks for name in block} == {"vector", "scalar", "episode_index", "frame_index"}
    assert max(len(block["scalar"]) for block in blocks) <= most
    for name in ("vector", "scalar"):
        np.testing.assert_array_equal(np.concatenate([block[name] for block in blocks]), split.array(name))
    np.testing.assert_array_equal(np.concatenate([block["episode_index"] for block in blocks]), np.arange(240) // 10)
    np.testing.assert_array_equal(np.concatenate([block["frame_index"] for block in blocks]), np.arange(240) % 10)


def test_small_row_groups_are_joined_and_wide_rows_come_in_smaller_blocks(
    split: SplitReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [len(block["scalar"]) for block in split.blocks(["scalar"])] == [120, 120]
    monkeypatch.setattr(reader, "BLOCK_VALUES", 520)
    assert max(len(block["wide"]) for block in split.blocks(["wide"])) == 10


def test_blocks_of_a_dataset_are_what_pandas_reads(sample_dataset: Path) -> None:
    for name, each in splits_of(sample_dataset).items():
        table = pd.concat([pd.read_parquet(path) for path in sorted((sample_dataset / name / "data").glob("*/*"))])
        found = np.concatenate([block["observation.state"] for block in each.blocks(["observation.state"])])
        np.testing.assert_array_equal(found, np.stack(table["observation.state"].to_list()))


def test_unknown_features_and_unreadable_files_are_refused(split: SplitReader) -> None:
    for name in ("nothing", "camera"):
        with pytest.raises(Refused, match=f"feature.*{name}"):
            next(split.blocks([name]))
    path = split.root / "data/chunk-000/file-001.parquet"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(Refused, match=r"data files.*unreadable"):
        list(split.blocks(["scalar"]))


def test_dimensions_have_names_or_numbers(split: SplitReader, sample_dataset: Path) -> None:
    assert split.dimensions("vector") == ("0", "1", "2")
    assert splits_of(sample_dataset)["train"].dimensions("action") == ("move_x", "move_y", "height", "yaw", "gripper")


def test_pictures_at_some_rows_are_those_of_a_full_decode(sample_dataset: Path, pooled_dataset: Path) -> None:
    for root, camera in ((sample_dataset, "scene_right"), (pooled_dataset, "umi_depth")):
        split = splits_of(root)["train"]
        camera = camera if camera in split.cameras else next(each for each in split.cameras if split.is_depth(each))
        episode = len(split.episodes) - 1
        length = int(split.episodes[episode]["length"])
        rows = {0, 1, length // 2, length - 1}
        everything: Any = split.depth if split.is_depth(camera) else split.pictures
        whole = list(everything(episode, camera))
        found = dict(split.pictures_at(episode, camera, rows))
        assert sorted(found) == sorted(rows)
        for row, picture in found.items():
            np.testing.assert_array_equal(picture, whole[row])
            assert picture.dtype == whole[row].dtype
        with pytest.raises(Refused, match="row"):
            next(split.pictures_at(episode, camera, [length]))


def test_what_metadata_does_not_place_is_refused(sample_dataset: Path, tmp_path: Path) -> None:
    split = splits_of(sample_dataset)["train"]
    bare = SplitReader(tmp_path)
    bare.__dict__.update(info=split.info, episodes=[{"length": 3}])
    with pytest.raises(Refused, match="nothing of scene_right in episode 0"):
        bare.place(0, "scene_right")
    bare.__dict__["episodes"] = split.episodes
    with pytest.raises(VideoError, match="unreadable"):
        next(bare.pictures_at(0, "scene_right", [0]))


def test_a_camera_without_the_usual_prefix_goes_by_its_own_name(tmp_path: Path) -> None:
    bare, key = SplitReader(tmp_path), "observation.image"
    indices = {f"videos/{key}/{name}": 0 for name in ("chunk_index", "file_index", "from_timestamp")}
    info = {
        "fps": 30,
        "features": {key: {"dtype": "video"}},
        "video_path": "{video_key}-{chunk_index}-{file_index}.mp4",
    }
    bare.__dict__.update(info=info, episodes=[{"length": 3, **indices}])
    assert bare.cameras == (key,)
    assert not bare.is_depth(key)
    assert bare.place(0, key) == (tmp_path / f"{key}-0-0.mp4", 0, 3)
