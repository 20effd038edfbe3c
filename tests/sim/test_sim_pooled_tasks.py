"""The simulated tasks read back with plain pyarrow, plain json and ffmpeg's binary, against truth in closed form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from quickdraw.errors import Refused
from quickdraw.sim.barcode import read_frame_number
from quickdraw.sim.pooled import log_codes, matrix_codec, truth, write_recordings
from quickdraw.sim.pooled.files import data_path, row_path, video_path
from quickdraw.sim.pooled.spec import EpisodeSpec, TaskSpec
from quickdraw.sim.pooled.tasks import default_tasks, every_matrix_spec, two_cameras

SEED = 3
TASKS = (*default_tasks(seed=SEED, frames=12), every_matrix_spec("specs", seed=SEED, frames=6))
EPISODES = [(task, episode) for task in TASKS for episode in task.episodes]
NAMES = [f"{task.name}-{episode.number}" for task, episode in EPISODES]
each_episode = pytest.mark.parametrize(("task", "episode"), EPISODES, ids=NAMES)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pooled") / "recordings"
    write_recordings(folder, seed=SEED, tasks=TASKS)
    return folder


def rows_of(root: Path, task: TaskSpec, episode: EpisodeSpec) -> pa.Table:
    return pq.read_table(data_path(root / task.name, episode.number))


def words(path: Path, stream: int, pixel_format: str) -> NDArray[np.uint16]:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-map", f"0:v:{stream}"]
    command += ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", pixel_format, "-"]
    data = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    return np.frombuffer(data, "<u2").reshape(-1, 120, 160)


def test_the_same_arguments_write_the_same_bytes(root: Path, tmp_path: Path) -> None:
    write_recordings(tmp_path / "again", seed=SEED, tasks=TASKS)
    files = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path / "again") for path in tmp_path.rglob("*") if path.is_file())
    assert [each for each in files if (root / each).read_bytes() != (tmp_path / "again" / each).read_bytes()] == []


def test_another_seed_measures_something_else() -> None:
    assert not np.array_equal(truth.glove(0, 1, 9, "left_glove"), truth.glove(1, 1, 9, "left_glove"))


def test_a_folder_with_something_in_it_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(Refused, match="not empty"):
        write_recordings(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_defect_nobody_knows_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"'gremlin', expected one of hole, .*broken_video"):
        write_recordings(tmp_path / "new", defects=("hole", "gremlin"))
    assert not (tmp_path / "new").exists()


@each_episode
def test_key_columns_have_their_types_and_no_cell_is_null(root: Path, task: TaskSpec, episode: EpisodeSpec) -> None:
    table = rows_of(root, task, episode)
    assert [(field.name, str(field.type)) for field in table.schema][:6] == [
        ("episode_index", "int64"),
        ("frame_index", "int64"),
        ("timestamp", "float"),
        ("task_index", "int64"),
        ("wall_time", "double"),
        ("hardware_ns", "int64"),
    ]
    assert table.schema.field("action").type == pa.list_(pa.float32(), 1)
    assert [name for name in table.column_names if table[name].null_count] == []
    assert table["frame_index"].to_pylist() == [row // episode.rows_per_frame for row in range(episode.rows)]
    assert set(table["episode_index"].to_pylist()) == {episode.number}
    assert pq.ParquetFile(data_path(root / task.name, episode.number)).metadata.row_group(0).column(0).compression == (
        "ZSTD"
    )


@each_episode
def test_columns_stand_in_the_recorders_order(root: Path, task: TaskSpec, episode: EpisodeSpec) -> None:
    names = rows_of(root, task, episode).column_names[7:]
    gloves = [f"observation.{glove}" for glove in sorted(episode.gloves)]
    imu = ["imu_ts_ns", "observation.imu"] if episode.imu_hz else []
    small = [f"{glove}_imu_{part}" for glove in gloves if episode.glove_imus for part in ("quat", "valid")]
    ends = ["observation.left_hand_pose", "observation.right_hand_pose", f"status.{task.device}"]
    gripper = names[len(gloves + imu + small) : -3]
    assert names == [*gloves, *imu, *small, *gripper, *ends]
    assert gripper == sorted(gripper)
    assert all("gripper" in name or "slam" in name for name in gripper)


@pytest.mark.parametrize("name", ["手套_插孔", "two_cameras"])
def test_gloves_hold_truth_by_row_and_the_imu_by_its_window(root: Path, name: str) -> None:
    task = next(each for each in TASKS if each.name == name)
    for episode in task.episodes:
        table = rows_of(root, task, episode)
        gloves = np.array(table["observation.left_glove"].to_pylist(), np.float32)
        frames = table["frame_index"].to_pylist()
        assert np.array_equal(gloves, [truth.glove(SEED, episode.number, frame, "left_glove") for frame in frames])
        assert not gloves[: 5 * episode.rows_per_frame].any()
        assert gloves.any(axis=1).sum() == episode.rows - 5 * episode.rows_per_frame
        assert_imu_windows(table, episode)


def assert_imu_windows(table: pa.Table, episode: EpisodeSpec) -> None:
    stamps, samples = table["imu_ts_ns"].to_pylist(), table["observation.imu"].to_pylist()
    hardware = table["hardware_ns"].to_pylist()[:: episode.rows_per_frame]
    before = [hardware[0] - 10**9 // 30, *hardware[:-1]]
    for row, (start, end) in enumerate(zip(before, hardware, strict=True)):
        first = row * episode.rows_per_frame
        assert len(stamps[first]) in (13, 14)
        assert all(start < stamp <= end for stamp in stamps[first])
        expected = truth.imu(SEED, episode.number, np.array(stamps[first]))
        assert np.array_equal(np.array(samples[first], np.float32), expected)
        assert all(not stamps[first + more] for more in range(1, episode.rows_per_frame))
    every = np.concatenate(stamps)
    assert np.array_equal(np.diff(every), np.full(len(every) - 1, 2_500_000))


@pytest.mark.parametrize("task", [TASKS[1], TASKS[3]], ids=lambda task: task.name)
def test_matrices_decode_to_truth_and_their_sum_is_the_rows_force(root: Path, task: TaskSpec) -> None:
    for episode in task.episodes:
        table = rows_of(root, task, episode)
        for stream in episode.matrices:
            kind = pa.float32() if stream.spec == "float32" else pa.int16()
            assert table.schema.field(stream.matrix).type == pa.list_(kind)
            cells, stamps = table[stream.matrix].to_pylist(), table[f"{stream.matrix}_ns"].to_pylist()
            assert [len(cell) for cell in cells] == [187500 * (row % 2 == 0) for row in range(episode.rows)]
            assert [stamp > 0 for stamp in stamps] == [row % 2 == 0 for row in range(episode.rows)]
            matrix = truth.matrix(SEED, episode.number, 2, stream.side)
            assert cells[2] == matrix_codec.stored(matrix, stream.spec).tolist()
            force = table[stream.force].to_pylist()[2]
            assert force == pytest.approx(matrix.sum(axis=(0, 1), dtype=np.float64).tolist(), abs=1e-3)
            assert force[2] > 50.0


def test_a_force_that_did_not_come_is_zeros_with_stamp_zero(root: Path) -> None:
    task = TASKS[1]
    table = rows_of(root, task, task.episodes[0])
    missed = [row for row, stamp in enumerate(table["observation.gripper_left_force_ns"].to_pylist()) if stamp == 0]
    assert missed == [10]
    assert table["observation.gripper_left_force"].to_pylist()[10] == [0.0, 0.0, 0.0]


def test_a_trajectory_has_one_stamp_a_point_and_one_point_without(root: Path) -> None:
    task = TASKS[1]
    table = rows_of(root, task, task.episodes[0])
    points, stamps = (
        table[f"observation.slam_trajectory{end}"].to_pylist() for end in ("", "_ns")
    )  # list<double>, list<int64>
    assert [len(cell) for cell in points] == [8 * len(cell) for cell in stamps]
    flat = np.concatenate(stamps)
    assert np.flatnonzero(flat == 0).tolist() == [17]
    poses = np.concatenate(points).reshape(-1, 8)
    assert np.linalg.norm(poses[:, 4:], axis=1) == pytest.approx(np.ones(len(poses)))
    known = flat > 0
    assert np.array_equal(poses[known], truth.trajectory(SEED, 1, flat[known]))


@each_episode
def test_every_picture_shows_its_episode_and_its_place(
    root: Path,
    task: TaskSpec,
    episode: EpisodeSpec,
    pictures: Callable[[Path, tuple[int, int]], list[NDArray[np.uint8]]],
) -> None:
    for slot in (each for each in episode.slots if each.coding == "rgb"):
        found = pictures(video_path(root / task.name, episode.number, slot), (120, 160))
        numbers = [read_frame_number(picture) for picture in found]
        assert numbers == [truth.picture_number(episode.number, frame) for frame in range(episode.frames)]


def test_depth_is_exact_in_ffv1_with_and_without_a_preview_and_close_in_log_codes(root: Path) -> None:
    task = TASKS[1]
    for episode, stream in zip(task.episodes, (0, 1, 0, 0), strict=True):
        slot = episode.slots[1]
        path = video_path(root / task.name, episode.number, slot)
        mm = np.stack([truth.depth_mm(episode.number, frame) for frame in range(episode.frames)])
        assert (mm == 0).any()
        if slot.coding == "log12":
            error = words(path, 0, "gray12le").astype(int) - log_codes.codes(mm)
            valid = np.abs(error[mm > 0])
            assert (path.suffix, valid.mean() <= 3, np.percentile(valid, 99) <= 15) == (".mp4", True, True)
        else:
            assert path.suffix == ".mkv"
            assert np.array_equal(words(path, stream, "gray16le"), mm)


@each_episode
def test_a_row_tells_rows_frames_and_how_matrices_are_coded(root: Path, task: TaskSpec, episode: EpisodeSpec) -> None:
    (row,) = pq.read_table(row_path(root / task.name, episode.number)).to_pylist()
    assert (row["episode_index"], row["length"], row["end_frame_index"]) == (
        episode.number,
        episode.rows,
        episode.frames - 1,
    )
    specs = json.loads(row["force_matrix_specs"])
    scales = {"int16": 1, "int16x10": 10, "int16x100": 100, "int16x1000": 1000, "float32": 1}
    assert {name: entry["scale"] for name, entry in specs.items()} == {
        stream.matrix: scales[stream.spec] for stream in episode.matrices
    }
    assert all(sorted(entry) == ["dtype", "encoding", "scale", "shape"] for entry in specs.values())


def test_stats_are_those_of_every_row_and_sample_of_the_task(root: Path) -> None:
    task = TASKS[0]
    stats: dict[str, Any] = json.loads((root / task.name / "meta" / "stats.json").read_text())
    assert sorted(stats) == ["action", "observation.imu", "observation.left_glove", "observation.right_glove"]
    tables = [rows_of(root, task, episode) for episode in task.episodes]
    gloves = np.concatenate([np.array(table["observation.right_glove"].to_pylist()) for table in tables])
    samples = np.concatenate([np.array(cell) for table in tables for cell in table["observation.imu"].to_pylist()])
    for name, values in (("observation.right_glove", gloves), ("observation.imu", samples)):
        assert stats[name]["count"] == len(values)
        assert stats[name]["mean"] == pytest.approx(values.mean(axis=0).tolist())
        assert stats[name]["std"] == pytest.approx(values.std(axis=0).tolist())
        assert (stats[name]["min"], stats[name]["max"]) == (values.min(axis=0).tolist(), values.max(axis=0).tolist())
    assert stats["action"] == {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]}


def test_info_names_what_exists_and_tasks_jsonl_is_one_line(root: Path) -> None:
    for task in TASKS:
        info = json.loads((root / task.name / "meta" / "info.json").read_text(encoding="utf-8"))
        assert (info["format"], info["task_name"]) == ("pooled_episodes_v1", task.name)
        assert info["total_episodes"] == len(task.episodes)
        columns = {name for episode in task.episodes for name in rows_of(root, task, episode).column_names}
        observed = {name for name in columns if name.startswith("observation.")}
        assert set(info["features"]) == observed | {"action"}
        (line,) = (root / task.name / "meta" / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(line) == {"task_index": 0, "task": task.name}


def test_rows_of_two_cameras_have_equal_stamps_unless_they_are_apart(root: Path, tmp_path: Path) -> None:
    apart = two_cameras("apart", seed=SEED, frames=6, apart=True)
    write_recordings(tmp_path / "apart", tasks=(apart,))
    equal = rows_of(root, TASKS[2], TASKS[2].episodes[0])["hardware_ns"].to_numpy().reshape(-1, 2)
    differing = rows_of(tmp_path / "apart", apart, apart.episodes[0])["hardware_ns"].to_numpy().reshape(-1, 2)
    assert set(np.diff(equal, axis=1).ravel().tolist()) == {0}
    assert set(np.diff(differing, axis=1).ravel().tolist()) == {4_000_000}
