"""What the packer writes, beside what lerobot's own writer makes of the same rows and pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

LENGTHS = (4, 6, 5, 4, 7, 4, 5, 6, 4, 4, 5, 6)
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
DATA = "data/chunk-000/file-000.parquet"
TASKS = "meta/tasks.parquet"


@dataclass(frozen=True)
class Pair:
    ours: Path
    theirs: Path


@pytest.fixture(scope="session")
def pair(
    synthetic: ModuleType, lerobot: Callable[..., dict[str, Any]], once: Callable[[str, Callable[[Path], None]], Path]
) -> Pair:
    """The same twelve episodes packed by us and recorded by lerobot."""
    from quickdraw.formats.lerobot.schema import feature_dicts
    from quickdraw.video.codecs import H264

    def make(folder: Path) -> None:
        folder.mkdir()
        spec = synthetic.dataset_spec()
        episodes = [synthetic.fake_episode(n, length, folder / "clips") for n, length in enumerate(LENGTHS)]
        synthetic.pack(folder / "ours", spec, episodes)
        arrays: dict[str, Any] = {}
        for episode in episodes:
            arrays |= {f"{episode.number}/{name}": rows for name, rows in episode.arrays.items()}
            for camera in spec.cameras:
                pictures = [synthetic.paint(camera, episode.number, row) for row in range(episode.frames)]
                arrays[f"{episode.number}/{spec.video_key(camera)}"] = np.stack(pictures)
        np.savez(folder / "arrays.npz", **arrays)
        features = feature_dicts(spec)
        users = {name: features[name] for name in (*(f.name for f in spec.features), *spec.video_keys)}
        answer = lerobot("write_reference", {
            "root": folder / "theirs", "features": users, "fps": spec.rate_hz, "robot_type": spec.robot_type,
            "encoder": {"vcodec": "h264", "g": 2, "crf": 18, "preset": "veryfast",
                        "extra_options": {**H264.fixed, "threads": "1"}},
            "tasks": [episode.task for episode in episodes], "arrays": folder / "arrays.npz"})  # fmt: skip
        assert answer == {"episodes": len(LENGTHS)}

    folder = once("schema-pair", make)
    return Pair(folder / "ours", folder / "theirs")


def document(root: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / name).read_bytes())
    return found


def shape(value: Any) -> Any:
    """Nested lists with their numbers replaced by one word."""
    return [shape(item) for item in value] if isinstance(value, list) else "number"


def in_order(value: Any) -> Any:
    """A document whose comparison sees the order of keys."""
    if isinstance(value, dict):
        return [(key, in_order(item)) for key, item in value.items()]
    return [in_order(item) for item in value] if isinstance(value, list) else (type(value).__name__, value)


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_the_same_files_are_written_and_no_other(pair: Pair) -> None:
    assert files(pair.ours) == files(pair.theirs)
    assert not [path for path in pair.ours.rglob("*") if path.is_dir() and not any(path.iterdir())]


def test_info_json_equals_lerobots_key_by_key_in_order_and_type(pair: Pair) -> None:
    assert in_order(document(pair.ours, "meta/info.json")) == in_order(document(pair.theirs, "meta/info.json"))


def test_info_json_is_indented_as_lerobot_indents(pair: Pair) -> None:
    ours, theirs = (root.joinpath("meta/info.json").read_text().rstrip("\n") for root in (pair.ours, pair.theirs))
    assert ours == theirs


def test_stats_json_has_lerobots_features_statistics_and_shapes(pair: Pair) -> None:
    ours, theirs = document(pair.ours, "meta/stats.json"), document(pair.theirs, "meta/stats.json")
    assert set(ours) == set(theirs)
    for feature, statistics in theirs.items():
        assert {name: shape(value) for name, value in ours[feature].items()} == {
            name: shape(value) for name, value in statistics.items()
        }, feature
    assert list(ours["action"]) == list(theirs["action"])


def test_exact_statistics_agree_where_lerobot_is_exact_too(pair: Pair) -> None:
    ours, theirs = document(pair.ours, "meta/stats.json"), document(pair.theirs, "meta/stats.json")
    for feature in ("action", "timestamp", "frame_index", "episode_index", "index", "task_index"):
        for name in ("min", "max", "mean", "std", "count"):
            np.testing.assert_allclose(ours[feature][name], theirs[feature][name], rtol=1e-5, err_msg=feature)


@pytest.mark.parametrize("name", [DATA, EPISODES, TASKS])
def test_columns_have_lerobots_names_order_and_types(pair: Pair, name: str) -> None:
    ours, theirs = pq.read_schema(pair.ours / name), pq.read_schema(pair.theirs / name)
    assert ours.names == theirs.names
    assert [field.type for field in ours] == [field.type for field in theirs]
    assert str(ours.remove_metadata()) == str(theirs.remove_metadata())


def test_episodes_carry_no_schema_metadata_as_lerobots_do_not(pair: Pair) -> None:
    assert pq.read_schema(pair.theirs / EPISODES).metadata is None
    assert pq.read_schema(pair.ours / EPISODES).metadata is None


def test_data_says_the_same_to_the_datasets_library(pair: Pair) -> None:
    ours, theirs = (pq.read_schema(root / DATA).metadata for root in (pair.ours, pair.theirs))
    assert set(ours) == set(theirs) == {b"huggingface"}
    described = [json.loads(metadata[b"huggingface"])["info"]["features"] for metadata in (ours, theirs)]
    assert in_order(described[0]) == in_order(described[1])


def test_tasks_name_their_text_as_the_pandas_index(pair: Pair) -> None:
    ours, theirs = (json.loads(pq.read_schema(root / TASKS).metadata[b"pandas"]) for root in (pair.ours, pair.theirs))
    assert ours["index_columns"] == theirs["index_columns"] == ["task"]
    assert ours == theirs
    assert pq.read_table(pair.ours / TASKS).to_pydict() == {"task_index": [0, 1], "task": ["task 0", "task 1"]}


def test_rows_are_the_same_value_for_value(pair: Pair) -> None:
    ours, theirs = (pq.read_table(root / DATA).replace_schema_metadata(None) for root in (pair.ours, pair.theirs))
    assert ours.equals(theirs)


def test_episode_rows_are_the_same_but_for_pins_quantiles_and_pictures(pair: Pair) -> None:
    ours, theirs = (pq.read_table(root / EPISODES) for root in (pair.ours, pair.theirs))
    exact = [name for name in theirs.column_names if not name.startswith("stats/")]
    for mine, other in zip(ours.select(exact).to_pylist(), theirs.select(exact).to_pylist(), strict=True):
        assert mine.keys() == other.keys()
        for name, value in other.items():
            assert mine[name] == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), name


def test_every_column_is_compressed_and_encoded_as_lerobot_does(pair: Pair) -> None:
    for name in (DATA, EPISODES, TASKS):
        ours, theirs = (pq.ParquetFile(root / name).metadata for root in (pair.ours, pair.theirs))
        assert columns_of(ours) == columns_of(theirs), name


def columns_of(metadata: pq.FileMetaData) -> list[tuple[str, str, bool]]:
    """Path, compression and dictionary of the first row group's columns."""
    group = metadata.row_group(0)
    chunks = (group.column(i) for i in range(group.num_columns))
    return [(c.path_in_schema, c.compression, "RLE_DICTIONARY" in c.encodings) for c in chunks]


def row_groups(path: Path) -> list[int]:
    metadata = pq.ParquetFile(path).metadata
    return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]


def test_data_has_a_row_group_an_episode_as_lerobot_writes(pair: Pair) -> None:
    assert row_groups(pair.ours / DATA) == list(LENGTHS) == row_groups(pair.theirs / DATA)


def test_episodes_come_ten_to_a_row_group_as_lerobot_writes(pair: Pair) -> None:
    assert row_groups(pair.ours / EPISODES) == [10, 2] == row_groups(pair.theirs / EPISODES)


@pytest.fixture(scope="module")
def longer(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """23 episodes of 3 rows."""
    folder = tmp_path_factory.mktemp("longer")
    episodes = [synthetic.fake_episode(number, 3, folder / "clips") for number in range(23)]
    root: Path = synthetic.pack(folder / "split", synthetic.dataset_spec(), episodes)
    return root


def test_23_episodes_make_row_groups_of_ten_ten_and_three(longer: Path) -> None:
    assert row_groups(longer / EPISODES) == [10, 10, 3]
    assert row_groups(longer / DATA) == [3] * 23


def test_nothing_is_left_lying_beside_the_split_and_every_file_is_readable_by_others(longer: Path) -> None:
    expected = {DATA, EPISODES, TASKS, "meta/info.json", "meta/stats.json"} | {
        f"videos/observation.images.{camera}/chunk-000/file-000.mp4" for camera in ("scene_left", "gripper_right_top")
    }
    assert set(files(longer)) == expected
    umask = os.umask(0o022)
    os.umask(umask)
    assert {oct(longer.joinpath(name).stat().st_mode & 0o777) for name in expected} == {oct(0o666 & ~umask)}


def documents_of(root: Path) -> Iterator[str]:
    yield from (path.read_text() for path in root.glob("meta/*.json"))


def test_json_documents_hold_no_nan(longer: Path) -> None:
    for text in documents_of(longer):
        json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is no JSON"))


def test_a_name_of_every_dimension_and_three_of_every_picture(pair: Pair) -> None:
    for name, feature in document(pair.ours, "meta/info.json")["features"].items():
        if feature["dtype"] == "video":
            assert feature["names"] == ["height", "width", "channels"]
            assert feature["shape"] == [48, 64, 3]
        elif feature["names"] is not None:
            assert len(feature["names"]) == feature["shape"][0], name


def test_no_vector_feature_is_named_like_a_picture(pair: Pair) -> None:
    features = document(pair.ours, "meta/info.json")["features"]
    assert [name for name, feature in features.items() if "image" in name and feature["dtype"] != "video"] == []


def test_arrow_types_are_float32_lists_of_fixed_size(pair: Pair) -> None:
    schema = pq.read_schema(pair.ours / DATA)
    assert schema.field("observation.state").type == pa.list_(pa.float32(), 10)
    assert schema.field("timestamp").type == pa.float32()


def test_a_feature_put_into_lerobots_own_split_stands_as_it_does_in_ours(pair: Pair, tmp_path: Path) -> None:
    from quickdraw.core.features import FeatureSpec
    from quickdraw.core.statistics import of_rows
    from quickdraw.formats.lerobot.columns import NewFeature, put_feature
    from quickdraw.formats.lerobot.reader import SplitReader

    rows = np.random.default_rng(0).uniform(size=(sum(LENGTHS), 3)).astype(np.float32)
    new = NewFeature(FeatureSpec("observation.objects.cube", ("x", "y", "z"), ("",) * 3), rows, of_rows(rows))
    for root in (pair.ours, pair.theirs):
        put_feature(SplitReader(root), tmp_path / root.name, new)
    put = Pair(tmp_path / "ours", tmp_path / "theirs")
    test_info_json_equals_lerobots_key_by_key_in_order_and_type(put)
    test_stats_json_has_lerobots_features_statistics_and_shapes(put)
    for name in (DATA, EPISODES):
        test_columns_have_lerobots_names_order_and_types(put, name)
        assert row_groups(put.theirs / name) == row_groups(pair.theirs / name)
    test_data_says_the_same_to_the_datasets_library(put)
    test_rows_are_the_same_value_for_value(put)
