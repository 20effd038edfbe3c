"""The torch-free reader beside plain pyarrow, pandas and PyAV."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.lerobot.reader import SplitReader

# imageio-ffmpeg leaves its pipes to the garbage collector once ffmpeg has ended by itself.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

SPLITS = ("train", "val", "eval_purple_play", "eval_purple_stack")


def plain(root: Path, kind: str = "data") -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted((root / kind).glob("*/*.parquet"))])


@pytest.fixture(scope="module")
def joined(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine episodes in several video files, several data files."""
    from quickdraw.formats.lerobot import blocks, files
    from quickdraw.formats.lerobot.schema import Limits

    folder = tmp_path_factory.mktemp("joined")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "MB", 1024)
        patch.setattr(blocks, "MB", 1024)
        limits = Limits(files_per_chunk=2, data_mb=95, video_mb=1000, video_s=3)
        episodes = [synthetic.fake_episode(n, length, folder / "clips")
                    for n, length in enumerate((31, 7, 40, 11, 3, 28, 30, 1, 62))]  # fmt: skip
        synthetic.pack(folder / "split", synthetic.dataset_spec(limits), episodes)
    return folder / "split"


@pytest.mark.parametrize("split", SPLITS)
def test_every_column_is_what_pyarrow_reads(sample_dataset: Path, split: str) -> None:
    reader, table = SplitReader(sample_dataset / split), plain(sample_dataset / split)
    for name in table.column_names:
        array = reader.array(name)
        column = table[name].combine_chunks()
        expected = np.array(column.to_pylist(), array.dtype)
        np.testing.assert_array_equal(array, expected)
        dtype = column.type.value_type if pa.types.is_fixed_size_list(column.type) else column.type
        assert array.dtype == dtype.to_pandas_dtype()


def test_an_episodes_rows_are_those_of_its_index_over_several_files(joined: Path) -> None:
    reader, table = SplitReader(joined), plain(joined)
    assert len(list((joined / "data").rglob("*.parquet"))) > 1
    of = table["episode_index"].to_numpy()
    for episode in range(9):
        for name in ("index", "frame_index", "timestamp", "task_index"):
            np.testing.assert_array_equal(reader.array(name, episode), table[name].to_numpy()[of == episode])
        state = np.stack(table["observation.state"].to_numpy())[of == episode]
        np.testing.assert_array_equal(reader.array("observation.state", episode), state)


@pytest.mark.parametrize("split", SPLITS)
def test_the_pandas_table_has_a_column_a_dimension_and_the_tasks_text(sample_dataset: Path, split: str) -> None:
    root = sample_dataset / split
    frame, table = SplitReader(root).frame(), plain(root)
    info = json.loads((root / "meta/info.json").read_text())
    for feature in ("observation.state", "action", "observation.objects.cube"):
        values = np.array(table[feature].to_pylist(), np.float32)
        for i, dim in enumerate(info["features"][feature]["names"]):
            np.testing.assert_array_equal(frame[f"{feature}.{dim}"].to_numpy(), values[:, i])
    tasks = {row["task_index"]: row["task"] for row in pq.read_table(root / "meta/tasks.parquet").to_pylist()}
    assert frame["task"].tolist() == [tasks[i] for i in table["task_index"].to_pylist()]
    assert len(frame) == info["total_frames"]
    assert frame.shape[1] == 17 + 5 + 32 + 5 + 1


def test_tasks_are_the_campaigns_of_the_episodes(sample_dataset: Path) -> None:
    provenance = json.loads((sample_dataset / "provenance.json").read_text())
    for split in SPLITS:
        reader = SplitReader(sample_dataset / split)
        campaigns = [e["campaign"] for e in provenance["episodes"] if e["split"] == split]
        assert [row["tasks"] for row in reader.episodes] == [[campaign] for campaign in campaigns]
        for episode, campaign in enumerate(campaigns):
            assert {reader.tasks[i] for i in reader.array("task_index", episode)} == {campaign}


@pytest.mark.parametrize("split", SPLITS)
def test_pictures_of_every_episode_are_the_decoded_ones_by_frame_number(
    sample_dataset: Path, synthetic: ModuleType, split: str
) -> None:
    reader = SplitReader(sample_dataset / split)
    for camera in reader.cameras:
        (file,) = (sample_dataset / split / f"videos/observation.images.{camera}").rglob("*.mp4")
        expected = list(synthetic.decoded(file))
        shown = [rgb for episode in range(len(reader.episodes)) for rgb in reader.pictures(episode, camera)]
        assert len(shown) == len(expected)
        worst = max(int(np.abs(a.astype(int) - b.astype(int)).max()) for a, b in zip(shown, expected, strict=True))
        assert worst <= 3, f"{camera}: another conversion to RGB differs by a level or two, not by {worst}"


@pytest.mark.parametrize("camera", ["scene_left", "gripper_right_top"])
def test_late_episodes_of_joined_files_show_their_own_pictures_one_a_row(
    joined: Path, synthetic: ModuleType, camera: str
) -> None:
    reader = SplitReader(joined)
    assert len(list((joined / f"videos/observation.images.{camera}").rglob("*.mp4"))) > 2
    for episode, row in enumerate(reader.episodes):
        shown = [synthetic.read_paint(rgb) for rgb in reader.pictures(episode, camera)]
        assert shown == [(camera, episode, k) for k in range(row["length"])]


def test_stopping_after_the_first_picture_leaves_nothing_running(joined: Path) -> None:
    pictures = SplitReader(joined).pictures(2, "scene_left")
    assert next(pictures).shape == (48, 64, 3)
    pictures.close()


def test_the_reader_tells_rate_cameras_and_statistics(sample_dataset: Path) -> None:
    reader = SplitReader(sample_dataset / "val")
    assert reader.rate_hz == 30
    assert reader.cameras == ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
    assert reader.statistics == json.loads((sample_dataset / "val/meta/stats.json").read_text())


def test_a_data_column_is_read_alone(joined: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str] | None] = []
    read = pq.read_table

    def spy(file: Path, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        asked.append(columns)
        return read(file, columns=columns, filters=filters)

    monkeypatch.setattr(pq, "read_table", spy)
    SplitReader(joined).array("action")
    assert asked
    assert all(columns == ["action"] for columns in asked)


def broken(make: Callable[[Path], object], tmp_path: Path) -> SplitReader:
    (tmp_path / "meta").mkdir()
    make(tmp_path / "meta/info.json")
    return SplitReader(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "info.json: found unreadable"),
        ("{", "info.json: found unreadable"),
        ("[]", "info.json: found unreadable"),
        ("{}", "info.json: found unreadable"),
        ('{"codebase_version": "v2.1"}', "codebase_version: found 'v2.1', expected a LeRobot v3.0 split"),
    ],
)
def test_what_is_not_a_split_is_refused_by_name(tmp_path: Path, text: str | None, message: str) -> None:
    reader = broken(lambda path: None if text is None else path.write_text(text), tmp_path)
    for ask in (lambda: reader.info, lambda: reader.cameras, lambda: reader.frame()):
        with pytest.raises(Refused, match=message.replace(".", r"\.")):
            ask()


def test_reading_rows_and_pictures_imports_neither_torch_nor_lerobot(sample_dataset: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from quickdraw.formats.lerobot.reader import SplitReader\n"
        f"r = SplitReader(Path({str(sample_dataset / 'train')!r})); r.frame(); next(r.pictures(1, r.cameras[0]))\n"
        "print([m for m in ('torch', 'lerobot', 'datasets', 'torchvision') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[]"


def test_a_file_that_ends_before_its_episode_is_an_error_not_a_short_episode(joined: Path, tmp_path: Path) -> None:
    shutil.copytree(joined, tmp_path / "split")
    reader = SplitReader(tmp_path / "split")
    row = reader.episodes[-1] | {"length": reader.episodes[-1]["length"] + 5}
    reader.episodes[-1] = row
    with pytest.raises(VideoError, match=f"{row['length'] - 5} pictures of episode"):
        list(reader.pictures(len(reader.episodes) - 1, reader.cameras[0]))


def test_unknown_features_and_cameras_are_refused_with_those_there_are(joined: Path) -> None:
    reader = SplitReader(joined)
    with pytest.raises(Refused, match=r"feature: found observation\.sate, expected one of observation\.state, action"):
        reader.array("observation.sate")
    with pytest.raises(Refused, match=f"camera: found left, expected one of {', '.join(reader.cameras)}"):
        next(reader.pictures(0, "left"))


def test_dimensions_named_inside_a_dict_are_columns_of_their_own(joined: Path, tmp_path: Path) -> None:
    shutil.copytree(joined, tmp_path / "split")
    path = tmp_path / "split" / "meta/info.json"
    info = json.loads(path.read_text())
    names = info["features"]["action"]["names"]
    info["features"]["action"]["names"] = {"motors": names}
    path.write_text(json.dumps(info))
    assert [f"action.{name}" in SplitReader(tmp_path / "split").frame().columns for name in names] == [True] * len(
        names
    )
