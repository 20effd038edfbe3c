"""Datasets of others, ordinary and damaged: read as they are meant, or refused in words that name the place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.lerobot.reader import SplitReader, splits_of

# imageio leaves the pipes of its ffmpeg to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

type Change = Callable[[dict[str, Any]], object]

KEY = "observation.image"
ROWS = 5
STATE = np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2)


def write_split(root: Path, change: Change = lambda _: None) -> SplitReader:
    """One episode of five rows with a camera that has no film. `change` has all of it before it is written."""
    vector = {"dtype": "float32", "shape": [2], "names": ["a", "b"]}
    number = {"dtype": "float32", "shape": [1], "names": None}
    film = {"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channels"], "info": None}
    fixed = pa.FixedSizeListArray.from_arrays(STATE.ravel(), 2)
    whole: dict[str, Any] = {
        "info": {
            "codebase_version": "v3.0",
            "fps": 30,
            "features": {"observation.state": vector, "action": {**vector}, "timestamp": number, KEY: film},
            "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        },
        "data": {
            "observation.state": fixed,
            "action": fixed,
            "timestamp": pa.array(np.arange(ROWS, dtype=np.float32) / 30),
            "episode_index": np.zeros(ROWS, np.int64),
            "frame_index": np.arange(ROWS),
        },
        "episodes": {
            "episode_index": [0],
            "tasks": [["pick"]],
            "length": [ROWS],
            f"videos/{KEY}/chunk_index": [0],
            f"videos/{KEY}/file_index": [0],
            f"videos/{KEY}/from_timestamp": [0.0],
        },
        "tasks": {"task_index": [1, 0], "task": ["place", "pick"]},
        "stats": {},
    }
    change(whole)
    for folder in ("data/chunk-000", "meta/episodes/chunk-000"):
        (root / folder).mkdir(parents=True)
    for name, path in (("data", "data/chunk-000/file-000"), ("episodes", "meta/episodes/chunk-000/file-000"),
                       ("tasks", "meta/tasks")):  # fmt: skip
        with (root / f"{path}.parquet").open("wb") as file:
            pq.write_table(pa.table(whole[name]), file)
    for name in ("info", "stats"):
        text = whole[name] if isinstance(whole[name], str) else json.dumps(whole[name])
        (root / f"meta/{name}.json").write_text(text)
    return SplitReader(root)


def info_with(**values: object) -> Change:
    return lambda whole: whole["info"].update(values)


def feature_with(feature: str, **values: object) -> Change:
    return lambda whole: whole["info"]["features"][feature].update(values)


def episodes_with(**values: object) -> Change:
    return lambda whole: whole["episodes"].update(
        {f"videos/{KEY}/{name}" if name != "length" else name: [value] for name, value in values.items()}
    )


def data_with(name: str, column: object) -> Change:
    return lambda whole: whole["data"].update({name: column})


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"delta_y": 1, "delta_x": 0}, ("delta_x", "delta_y")),  # lerobot's gamepad
        ({"motors": ["a", "b"]}, ("a", "b")),
        ({"motors": "ab"}, ("0", "1")),
        ({"a": 0, "b": None}, ("0", "1")),
        ("ab", ("0", "1")),
        (None, ("0", "1")),
        (7, ("0", "1")),
        ({}, ("0", "1")),
    ],
)
def test_dimensions_have_the_names_that_others_give_them(
    names: object, expected: tuple[str, ...], tmp_path: Path
) -> None:
    split = write_split(tmp_path / "split", feature_with("action", names=names))
    assert split.dimensions("action") == expected


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 2)])
def test_vectors_may_be_lists_of_any_kind(kind: pa.DataType, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", data_with("action", pa.array(STATE.tolist(), kind)))
    found = [split.array("action"), split.array("action", 0), next(split.blocks(["action"]))["action"]]
    for values in found:
        np.testing.assert_array_equal(values, STATE)
        assert values.dtype == np.float32


def test_matrices_are_lists_in_lists(tmp_path: Path) -> None:
    def change(whole: dict[str, Any]) -> None:
        feature_with("action", shape=[2, 3])(whole)
        data_with("action", pa.array(np.arange(6.0 * ROWS).reshape(ROWS, 2, 3).tolist()))(whole)

    assert write_split(tmp_path / "split", change).array("action", 0).shape == (ROWS, 2, 3)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([[1.0, 2], [1.0], [1.0, 2, 3], [], [1.0, 2]]), "action holds rows of 0 to 3 values"),
        (pa.array([[1.0, 2], None, [1.0, 2], [1.0, 2], [1.0, 2]], pa.list_(pa.float32(), 2)), "rows of nothing"),
        (pa.array([[1.0, 2, 3]] * ROWS), "action holds 3 numbers a row, and info.json says 2"),
        (pa.array(["x"] * ROWS), "action holds string, and info.json says float32"),
    ],
)
def test_columns_of_something_else_are_refused(column: pa.Array, words: str, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", data_with("action", column))
    for read in (lambda: split.array("action", 0), lambda: list(split.blocks(["action"]))):
        with pytest.raises(Refused, match=words):
            read()


@pytest.mark.parametrize("name", ["task", "__index_level_0__", "instruction"])
def test_texts_of_tasks_may_be_the_index_of_pandas_whatever_its_name(name: str, tmp_path: Path) -> None:
    split = write_split(
        tmp_path / "split", lambda whole: whole.update(tasks={"task_index": [1, 0], name: ["place", "pick"]})
    )
    assert split.tasks == ["pick", "place"]


def test_tasks_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    split = write_split(tmp_path / "one", lambda whole: whole.update(tasks={"task_index": [0], "text": [3]}))
    with pytest.raises(Refused, match=r"meta/tasks\.parquet: tasks: found no texts in task_index, text"):
        _ = split.tasks
    split = write_split(tmp_path / "two")
    (split.root / "meta/tasks.parquet").write_bytes(b"PAR1")
    with pytest.raises(Refused, match=r"tasks: found unreadable"):
        _ = split.tasks


@pytest.mark.parametrize("rate", [29.97, float("inf"), float("nan"), "30", 0, -30, None, True, 10**9, 10**400])
def test_a_rate_that_is_no_whole_number_above_zero_is_refused(rate: object, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", info_with(fps=rate))
    for read in (lambda: split.rate_hz, lambda: split.array("action"), lambda: split.place(0, KEY)):
        with pytest.raises(Refused, match=r"meta/info\.json: fps: found .*, expected a whole number of rows a second"):
            read()


def test_a_whole_rate_may_be_written_with_a_point(tmp_path: Path) -> None:
    assert write_split(tmp_path / "split", info_with(fps=30.0)).rate_hz == 30


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda whole: whole.update(info="[" * 100_000), "info.json: found unreadable .nested too deep"),
        (lambda whole: whole.update(info="[]"), "info.json: found unreadable .no JSON object"),
        (lambda whole: whole.update(info='{"\\ud800": 1}'), "info.json: found unreadable .*surrogates"),
        (info_with(features=["dtype"]), r"info.json: found unreadable .features \['dtype'\].*, expected an object"),
        (info_with(features={"a": [1]}), r"features.a: found \[1\], expected an object with dtype and shape"),
        (feature_with("action", dtype=5), "features.action.dtype: found 5, expected the name of a type"),
        (feature_with("action", shape="x"), "features.action.shape: found 'x', expected a list of whole numbers"),
        (feature_with("action", shape=[-1]), r"features.action.shape: found \[-1\]"),
        (feature_with("action", shape=[10**12]), "features.action.shape: found .*, expected at most 200,000"),
        (feature_with(KEY, shape=None), f"features.{KEY}.shape: found nothing, expected a list of whole numbers"),
        (feature_with(KEY, shape=[3]), f"features.{KEY}.shape: found .3., expected height, width and channels"),
        (feature_with(KEY, info=[1]), rf"features.{KEY}.info: found \[1\], expected an object, or nothing"),
    ],
)
def test_info_that_is_not_as_it_should_be_is_refused_by_field(change: Change, words: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=words) as refused:
        _ = write_split(tmp_path / "split", change).info
    assert refused.value.faults[0].path == str(tmp_path / "split/meta/info.json")


def test_all_that_is_wrong_with_info_is_said_at_once(tmp_path: Path) -> None:
    def change(whole: dict[str, Any]) -> None:
        info_with(fps=0)(whole)
        feature_with("action", dtype=None, shape=None)(whole)

    with pytest.raises(Refused) as refused:
        _ = write_split(tmp_path / "split", change).info
    fields = [fault.field for fault in refused.value.faults]
    assert fields == ["fps", "features.action.dtype", "features.action.shape"]


@pytest.mark.parametrize(
    "template",
    [
        None,
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../{video_key}.mp4",
        "{video_key.__class__}",
        "{video_key!r}",
        "{x}/{0}",
        "{chunk_index:999999999d}",
        "{chunk_index:zz}",
        "{",
    ],
)
def test_videos_are_looked_for_in_the_split_alone(template: object, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", info_with(video_path=template))
    with pytest.raises(
        Refused, match=r"info\.json: video_path: found .*, expected a place of video files in the split"
    ):
        split.place(0, KEY)


def test_a_camera_may_not_lead_out_of_the_split_by_its_name(tmp_path: Path) -> None:
    split = write_split(tmp_path / "split")
    split.info["features"]["../../x"] = split.info["features"][KEY]
    split.episodes[0].update({f"videos/../../x/{name}": 0 for name in ("chunk_index", "file_index", "from_timestamp")})
    with pytest.raises(Refused, match=r"video_path: found 'videos/\.\./\.\./x"):
        split.place(0, "../../x")


@pytest.mark.parametrize("told", [float("nan"), float("inf"), -5.0, None, "a", 1e300])
def test_a_place_in_a_file_that_is_no_time_is_refused(told: object, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", episodes_with(from_timestamp=told))
    with pytest.raises(
        Refused, match=rf"meta/episodes: episodes: found nothing of {KEY} in episode 0 .*from_timestamp"
    ):
        split.place(0, KEY)


@pytest.mark.parametrize("told", [0, -5, None, "a", 1.5])
def test_a_length_that_is_no_number_of_rows_is_refused(told: object, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", episodes_with(length=told))
    for read in (lambda: split.length(0), lambda: split.times_s(0), lambda: split.place(0, KEY)):
        with pytest.raises(Refused, match=r"meta/episodes: episodes: found length .* of episode 0"):
            read()


def test_rows_that_are_not_as_many_as_told_or_have_no_time_are_refused(tmp_path: Path) -> None:
    split = write_split(tmp_path / "one", episodes_with(length=10**12))
    with pytest.raises(Refused, match=r"episode 0: .*rows: found 5, expected 1000000000000, its length"):
        split.times_s(0)
    split = write_split(tmp_path / "two", data_with("timestamp", pa.nulls(ROWS, pa.float32())))
    with pytest.raises(Refused, match="timestamp: found no number"):
        split.times_s(0)


def test_data_files_that_are_damaged_or_gone_are_refused_by_name(tmp_path: Path) -> None:
    split = write_split(tmp_path / "split")
    (path,) = (tmp_path / "split").glob("data/*/*")
    path.write_bytes(path.read_bytes()[:400])
    for read in (lambda: split.array("action"), lambda: split.array("action", 0), lambda: list(split.blocks([]))):
        with pytest.raises(Refused, match=r"data/chunk-000/file-000\.parquet: data files: found unreadable"):
            read()
    path.unlink()
    with pytest.raises(Refused, match=r"data files: found unreadable .there are none"):
        split.array("action", 0)


def test_a_column_that_info_promises_and_files_lack_is_refused_by_name(tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", lambda whole: whole["data"].pop("action"))
    for read in (
        lambda: split.array("action"),
        lambda: split.array("action", 0),
        lambda: list(split.blocks(["action"])),
    ):
        with pytest.raises(Refused, match=r"file-000\.parquet: action: found no such column"):
            read()


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", '{"action": 5}', '{"action": '])
def test_statistics_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    split = write_split(tmp_path / "split", lambda whole: whole.update(stats=text))
    with pytest.raises(Refused, match=r"meta/stats\.json: stats\.json"):
        _ = split.statistics


def test_a_folder_whose_name_is_no_text_is_read(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"b\xff\xfe")
    split = write_split(folder / "train")
    assert list(splits_of(folder)) == ["train"]
    np.testing.assert_array_equal(split.array("action", 0), STATE)
    assert (split.rows, split.tasks, len(split.episodes)) == (ROWS, ["pick", "place"], 1)
    assert next(split.blocks(["action"]))["action"].shape == (ROWS, 2)


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: path.write_bytes(b"x" * 999), lambda _: None])
def test_what_is_no_film_is_said_in_one_line(make: Callable[[Path], object], tmp_path: Path) -> None:
    split = write_split(tmp_path / "split")
    path, _, _ = split.place(0, KEY)
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(VideoError, match="unreadable") as raised:
        next(split.pictures(0, KEY))
    assert raised.value.path == str(path)
    assert "\n" not in str(raised.value)


def test_the_key_of_a_camera_is_its_feature(tmp_path: Path) -> None:
    split = write_split(tmp_path / "split")
    assert (split.cameras, split.key(KEY)) == ((KEY,), KEY)
    assert split.place(0, KEY) == (tmp_path / f"split/videos/{KEY}/chunk-000/file-000.mp4", 0, ROWS)
