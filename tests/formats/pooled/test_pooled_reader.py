"""A task opened without opening an episode, and an episode's samples as plain pyarrow and plain lists have them."""

from __future__ import annotations

import json
import pickle
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.pooled import reader
from quickdraw.formats.pooled.clock import ClockClass, classify
from quickdraw.formats.pooled.force_matrix import SPECS, encode
from quickdraw.formats.pooled.reader import Episode, Task
from quickdraw.formats.pooled.scan import scan

ROWS = 6
STAMPS = pa.list_(pa.int64())
IMU = pa.list_(pa.list_(pa.float32(), 6))
KEYS = {
    "episode_index": pa.array([1] * ROWS),
    "frame_index": pa.array(range(ROWS), pa.int64()),
    "timestamp": pa.array([row / 30 for row in range(ROWS)], pa.float32()),
    "task_index": pa.array([0] * ROWS),
    "wall_time": pa.array([1_790_000_000.5 + row / 30 for row in range(ROWS)]),
    "hardware_ns": pa.array([10**12 + row * 33_333_333 for row in range(ROWS)]),
    "action": pa.array([[0.0]] * ROWS, pa.list_(pa.float32(), 1)),
}


def task(root: Path, columns: dict[str, Any] | None = None, **info: Any) -> Path:
    """A task of one episode without videos."""
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "info.json").write_text(json.dumps({"format": "pooled_episodes_v1", "fps": 30.0, **info}))
    if columns is not None:
        path = root / "data" / "chunk-000" / "episode-000.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({**KEYS, **columns}), path, compression="zstd")
    return root


def episode(root: Path, **columns: Any) -> Episode:
    return Task.open(task(root, columns)).episode(1)


def test_a_task_of_10000_episodes_opens_without_opening_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = task(tmp_path / "t")
    for chunk in range(10):
        folder = root / "data" / f"chunk-{chunk:03d}"
        folder.mkdir(parents=True)
        for file in range(1000):
            (folder / f"episode-{file:03d}.parquet").touch()  # to read one of these would be refused
    video = root / "videos/chunk-009/cam/episode-999.mp4"
    video.parent.mkdir(parents=True)
    video.touch()
    begun = time.process_time()
    found = Task.open(root)
    whole = time.process_time() - begun
    listed = scan(found.info.layout)
    monkeypatch.setattr(reader, "scan", lambda _: listed)
    best = 1e9
    for _ in range(5):
        begun = time.process_time()
        Task.open(root)
        best = min(best, time.process_time() - begun)

    print(f"opened in {1e3 * whole:.0f} ms, of them {1e3 * best:.1f} ms for anything but listing folders")
    assert best <= 0.05
    assert found.numbers == tuple(range(1, 10_001))
    last = found.episode(10_000)
    assert last.files.data == root / "data/chunk-009/episode-999.parquet"
    assert last.files.videos == {"cam": [video]}
    with pytest.raises(Refused, match="unreadable"):
        _ = last.data
    assert sum(1 for _ in found.episodes()) == 10_000


def test_an_episode_that_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="episode: found 7, expected one of 1 from 1 to 1"):
        Task.open(task(tmp_path / "t", {})).episode(7)
    with pytest.raises(Refused, match="episode: found 1, expected none"):
        Task.open(task(tmp_path / "empty")).episode(1)
    with pytest.raises(Refused, match="no such folder"):
        Task.open(tmp_path / "nowhere")


def test_numbers_go_over_the_chunk_boundary(sample_pooled: Path) -> None:
    found = Task.open(sample_pooled / "recordings" / "手套_抓取")
    assert found.numbers == (1, 2, 1000, 1001)
    for each in found.episodes():
        assert set(each.data.column("episode_index")) == {each.number}
        assert each.row is not None
        assert (each.row.number, each.row.length) == (each.number, each.data.rows)


def test_a_legacy_shards_rows_are_found_by_their_number(sample_pooled: Path) -> None:
    for each in Task.open(sample_pooled / "recordings" / "legacy_v110").episodes():
        assert each.row is not None
        assert (each.row.number, each.row.length) == (each.number, each.data.rows)


def test_row_and_data_are_read_anew_on_each_access(tmp_path: Path) -> None:
    found = episode(tmp_path / "t")
    assert found.row is None
    assert found.data.rows == ROWS
    assert found.files.data is not None
    pq.write_table(pa.table({"frame_index": [0, 1]}), tmp_path / "fresh")
    (tmp_path / "fresh").replace(found.files.data)
    row = found.info.layout.row(1)
    row.parent.mkdir(parents=True)
    pq.write_table(pa.table({"episode_index": [1], "length": [2]}), row)

    assert found.data.rows == 2
    assert found.row is not None
    assert found.row.length == 2


def test_an_episode_crosses_to_another_process(tmp_path: Path) -> None:
    found = pickle.loads(pickle.dumps(episode(tmp_path / "t")))
    assert found.data.rows == ROWS


def test_imu_samples_come_with_their_own_times_at_any_rate(tmp_path: Path) -> None:
    lengths = [3, 0, 14, 1, 0, 40]
    samples = [[[row, k, 1, 2, 3, 4] for k in range(n)] for row, n in enumerate(lengths)]
    found = episode(
        tmp_path / "t",
        imu_ts_ns=pa.array([[(1 << 60) + 100 * row + k for k in range(n)] for row, n in enumerate(lengths)], STAMPS),
        **{"observation.imu": pa.array(samples, IMU)},
    )

    imu = found.imu()

    assert imu.row.tolist() == [row for row, n in enumerate(lengths) for _ in range(n)]
    assert imu.values[:, :2].tolist() == [[row, k] for row, n in enumerate(lengths) for k in range(n)]
    assert imu.values.dtype == np.float32
    assert imu.ts_ns.tolist() == [(1 << 60) + 100 * row + k for row, n in enumerate(lengths) for k in range(n)]


def test_an_episode_without_imu_has_no_samples_and_one_with_half_of_it_is_refused(tmp_path: Path) -> None:
    none = episode(tmp_path / "none").imu()
    assert (none.ts_ns.shape, none.values.shape, none.row.shape) == ((0,), (0, 6), (0,))
    half = episode(tmp_path / "half", imu_ts_ns=pa.array([[]] * ROWS, STAMPS))
    with pytest.raises(Refused, match=r"observation.imu: found no such column"):
        half.imu()


def test_samples_without_a_stamp_each_are_refused_with_the_row(tmp_path: Path) -> None:
    stamps, values = [[1], [2, 3], [], [], [], []], [[[0.0] * 6], [[0.0] * 6], [[0.0] * 6], [], [], []]
    found = episode(tmp_path / "t", imu_ts_ns=pa.array(stamps, STAMPS), **{"observation.imu": pa.array(values, IMU)})
    with pytest.raises(Refused, match="1 samples and 2 stamps in row 1"):
        found.imu()


def test_imu_stamps_that_are_floats_or_five_axes_are_refused(tmp_path: Path) -> None:
    five = pa.array([[[0.0] * 5]] * ROWS, pa.list_(pa.list_(pa.float32(), 5)))
    stamps = pa.array([[1]] * ROWS, STAMPS)
    floats = pa.array([[1.0]] * ROWS, pa.list_(pa.float64()))
    with pytest.raises(Refused, match="5 values a row, expected 6"):
        episode(tmp_path / "a", imu_ts_ns=stamps, **{"observation.imu": five}).imu()
    with pytest.raises(Refused, match="imu_ts_ns: found type list<element: double>"):
        episode(tmp_path / "b", imu_ts_ns=floats, **{"observation.imu": five}).imu()


def test_rows_a_fold_drops_still_give_their_imu_samples(tmp_path: Path) -> None:
    """Of two slots only one carries samples; to read every other row would halve the stream."""
    pairs = {
        "frame_index": pa.array([row // 2 for row in range(ROWS)], pa.int64()),
        "timestamp": pa.array([row // 2 / 30 for row in range(ROWS)], pa.float32()),
        "hardware_ns": pa.array([10**12 + row // 2 * 33_333_333 for row in range(ROWS)]),
    }
    carried = [[] if row % 2 == 0 else [10 * row, 10 * row + 1] for row in range(ROWS)]
    found = episode(
        tmp_path / "t",
        **pairs,
        imu_ts_ns=pa.array(carried, STAMPS),
        **{"observation.imu": pa.array([[[0.0] * 6 for _ in each] for each in carried], IMU)},
    )
    assert found.fold().keep.tolist() == [0, 2, 4]
    assert found.imu().ts_ns.tolist() == [10, 11, 30, 31, 50, 51]


@pytest.mark.parametrize(("name", "rows", "agrees"), [("two_slots", 20, True), ("two_slots_apart", 40, False)])
def test_the_samples_two_slots_are_folded_only_where_stamps_agree(
    sample_pooled: Path, name: str, rows: int, agrees: bool
) -> None:
    found = Task.open(sample_pooled / "recordings" / name).episode(1)
    folded = found.fold()
    assert (len(folded.keep), folded.rows_per_frame, folded.agrees) == (rows, 2, agrees)
    assert found.data.rows == 40
    frames = {slot: sum(1 for _ in found.frames(slot)) for slot in found.slots()}
    assert frames == {"a_rgb": 20, "b_rgb": 20}


def test_a_path_has_as_many_points_a_row_as_came_each_with_its_stamp_or_0(tmp_path: Path) -> None:
    counts = [2, 0, 10, 1, 0, 3]
    points = [[[row + k / 16 + axis for axis in range(8)] for k in range(n)] for row, n in enumerate(counts)]
    stamps = [[10**12 + 100 * row + k if k != 1 else 0 for k in range(n)] for row, n in enumerate(counts)]
    flat = pa.array([[value for point in row for value in point] for row in points], pa.list_(pa.float64()))
    found = episode(
        tmp_path / "t",
        **{"observation.slam_trajectory": flat, "observation.slam_trajectory_ns": pa.array(stamps, STAMPS)},
        **{"observation.gripper_2_slam_trajectory": flat},
    )

    path = found.trajectory()

    assert path.points.tolist() == [point for row in points for point in row]
    assert path.ns.tolist() == [stamp for row in stamps for stamp in row]
    assert path.row.tolist() == [row for row, n in enumerate(counts) for _ in range(n)]
    assert (path.points.dtype, path.ns.dtype) == (np.float64, np.int64)
    old = found.trajectory(gripper=2)  # no stamps: recorded before v1.3.6
    assert old.points.tolist() == path.points.tolist()
    assert old.ns.tolist() == [0] * 16
    assert found.trajectory(gripper=3).points.shape == (0, 8)


def test_a_path_that_skips_a_stamp_or_ends_within_a_point_is_refused(tmp_path: Path) -> None:
    def found(name: str, points: list[int], stamps: list[int]) -> Episode:
        cells = pa.array([[0.0] * n for n in points], pa.list_(pa.float64()))
        ns = pa.array([[1] * n for n in stamps], STAMPS)
        columns = {"observation.slam_trajectory": cells, "observation.slam_trajectory_ns": ns}
        return episode(tmp_path / name, **columns)

    with pytest.raises(Refused, match="2 samples and 1 stamps in row 4"):
        found("a", [8, 0, 0, 0, 16, 8], [1, 0, 0, 0, 1, 1]).trajectory()
    with pytest.raises(Refused, match="12 values in row 1, expected 8 a point"):
        found("b", [8, 12, 4, 0, 0, 0], [1, 1, 1, 0, 0, 0]).trajectory()


def test_a_stamp_column_of_one_number_a_row_is_refused_for_points_need_one_each(tmp_path: Path) -> None:
    columns = {
        "observation.slam_trajectory": pa.array([[0.0] * 8] * ROWS, pa.list_(pa.float64())),
        "observation.slam_trajectory_ns": pa.array([1] * ROWS),
    }
    with pytest.raises(Refused, match="type int64, expected list<"):
        episode(tmp_path / "t", **columns).trajectory()


def test_old_poses_of_seven_zeros_are_never_read_as_points(tmp_path: Path) -> None:
    poses = pa.array([[0.0] * 7] * ROWS, pa.list_(pa.float32(), 7))
    assert len(episode(tmp_path / "t", **{"observation.slam_pose": poses}).trajectory().points) == 0


def test_a_force_of_zero_and_no_sample_differ_by_the_stamp(tmp_path: Path) -> None:
    cells = pa.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]] * 2, pa.list_(pa.float32(), 3))
    name = "observation.gripper_left_force"
    found = episode(tmp_path / "t", **{name: cells, f"{name}_ns": pa.array([5, 6, 0, 7, 8, 0])})
    force = found.force("left")
    assert force.mn.tolist() == [[0, 0, 0], [1, 2, 3], [0, 0, 0]] * 2
    assert force.ns is not None
    assert (force.ns > 0).tolist() == [True, True, False] * 2
    assert episode(tmp_path / "old", **{name: cells}).force("left").ns is None
    with pytest.raises(Refused, match="gripper_right_force_matrix: found no such column"):
        found.force("right")


def test_without_a_force_the_matrix_is_summed_up_and_a_force_that_is_there_wins(tmp_path: Path) -> None:
    matrix = np.zeros((250, 250, 3), np.float32)
    matrix[3, 4], matrix[200, 1] = (1.5, -2.0, 30.0), (0.5, 0.0, 12.0)
    stored = encode(matrix, SPECS["int16x10"]).tolist()
    name = "observation.gripper_left_force"
    cells = {
        f"{name}_matrix": pa.array([[], stored, [], [], stored, []], pa.list_(pa.int16())),
        f"{name}_matrix_ns": pa.array([0, 11, 0, 0, 44, 0]),
    }
    features = {f"{name}_matrix": {"scale": 10}}
    found = Task.open(task(tmp_path / "t", cells, features=features)).episode(1)

    summed = found.force("left")

    assert summed.mn.tolist() == [[0, 0, 0], [2, -2, 42], [0, 0, 0], [0, 0, 0], [2, -2, 42], [0, 0, 0]]
    assert summed.ns is not None
    assert summed.ns.tolist() == [0, 11, 0, 0, 44, 0]
    held = list(found.held_matrices(f"{name}_matrix"))
    assert [each is None for each in held] == [True] + [False] * 5
    assert [(each.row, each.ns) for each in found.matrices(f"{name}_matrix")] == [(1, 11), (4, 44)]
    own = pa.array([[7.0, 8.0, 9.0]] * ROWS, pa.list_(pa.float32(), 3))
    assert episode(tmp_path / "own", **cells, **{name: own}).force("left").mn.tolist() == [[7, 8, 9]] * ROWS


def test_seconds_since_the_start_are_of_wall_time(tmp_path: Path) -> None:
    found = episode(tmp_path / "t").elapsed_s()
    assert found.dtype == np.float64
    assert np.abs(found - np.arange(ROWS) / 30).max() < 1e-6


def test_an_old_row_of_ten_columns_tells_no_scale(sample_pooled: Path) -> None:
    found = Task.open(sample_pooled / "recordings" / "手套_抓取").episode(2)
    assert "force_matrix_specs" not in pq.read_table(found.info.layout.row(2)).column_names
    assert found.row is not None
    assert found.row.force_matrix_specs == {}


def test_every_layout_of_depth_is_told_by_what_is_in_the_file(sample_pooled: Path) -> None:
    found = Task.open(sample_pooled / "recordings" / "umi_pick")
    endings = set()
    for each in found.episodes():
        slots = each.slots()
        assert {name: slot.kind for name, slot in slots.items()} == {"umi_depth": "depth", "umi_rgb": "rgb"}
        endings.add(slots["umi_depth"].path.suffix)
        depth, frames = list(each.depth("umi_depth")), list(each.frames("umi_rgb"))
        assert len(depth) == len(frames) == each.data.rows
        assert {(picture.shape, picture.dtype.name) for picture in depth} == {((96, 128), "uint16")}
        assert {(picture.shape, picture.dtype.name) for picture in frames} == {((96, 128, 3), "uint8")}
    assert endings == {".mp4", ".mkv"}


def test_a_slot_named_depth_that_holds_colour_is_one_of_colour(sample_pooled: Path) -> None:
    found = Task.open(sample_pooled / "recordings" / "手套_抓取").episode(1)
    assert found.slots()["D435_depth_rgb"].kind == "rgb"
    with pytest.raises(Refused, match="D435_depth_rgb: found colour, expected a slot of depth"):
        next(found.depth("D435_depth_rgb"))
    with pytest.raises(Refused, match="no such slot, expected one of D435_depth_rgb"):
        next(found.frames("D435_head_rgb"))  # its name in other episodes
    depth = Task.open(sample_pooled / "recordings" / "umi_pick").episode(2)
    with pytest.raises(Refused, match="umi_depth: found depth, expected a slot of colour"):
        next(depth.frames("umi_depth"))


def test_a_slot_with_two_files_of_an_episode_is_refused_and_its_arrays_are_read(
    sample_pooled: Path, tmp_path: Path
) -> None:
    root = tmp_path / "loose_ends"
    shutil.copytree(sample_pooled / "recordings" / "loose_ends", root)
    video = root / "videos/chunk-000/cam/episode-003.mp4"
    shutil.copy(video, video.with_suffix(".mkv"))
    shutil.copy(video, video.with_name(".episode-003.avi.tmp"))  # of a writer at work: no second one
    found = Task.open(root).episode(4)
    for call in (found.slots, lambda: next(found.frames("cam"))):
        with pytest.raises(Refused, match=r"cam: found episode-003.mkv and episode-003.mp4, expected one video"):
            call()
    assert found.data.rows == 30


def test_an_odd_file_beside_a_video_is_no_second_one_and_two_videos_block_their_own_slot_only(
    sample_pooled: Path, tmp_path: Path
) -> None:
    root = tmp_path / "two_slots"
    shutil.copytree(sample_pooled / "recordings" / "two_slots", root)
    videos = root / "videos/chunk-000"
    (videos / "a_rgb/episode-000.json").write_text("{}")
    (videos / "notes").mkdir()
    (videos / "notes/episode-000.txt").write_text("")
    found = Task.open(root).episode(1)
    assert {slot: each.path.name for slot, each in found.slots().items()} == dict.fromkeys(
        ("a_rgb", "b_rgb"), "episode-000.mp4"
    )
    with pytest.raises(Refused, match="notes: found no such slot, expected one of a_rgb, b_rgb"):
        next(found.frames("notes"))
    shutil.copy(videos / "b_rgb/episode-000.mp4", videos / "b_rgb/episode-000.mkv")
    found = Task.open(root).episode(1)
    assert sum(1 for _ in found.frames("a_rgb")) == 20
    for call in (found.slots, lambda: next(found.frames("b_rgb"))):
        with pytest.raises(Refused, match=r"b_rgb: found episode-000.mkv and episode-000.mp4, expected one video"):
            call()


def test_a_video_counts_the_pictures_of_the_stream_that_is_read(sample_pooled: Path) -> None:
    for each in Task.open(sample_pooled / "recordings" / "umi_pick").episodes():
        for slot, video in each.slots().items():
            read = each.depth(slot) if video.kind == "depth" else each.frames(slot)
            assert video.picture_count() == sum(1 for _ in read)


def test_a_video_without_data_has_frames_and_no_data(sample_pooled: Path) -> None:
    found = Task.open(sample_pooled / "recordings" / "loose_ends").episode(2)
    assert sum(1 for _ in found.frames("cam")) == 30
    assert found.row is None
    with pytest.raises(Refused, match="no data file, expected one beside its videos"):
        found.fold()


def test_a_video_that_is_none_is_an_error_of_the_video(sample_pooled: Path, tmp_path: Path) -> None:
    root = tmp_path / "loose_ends"
    shutil.copytree(sample_pooled / "recordings" / "loose_ends", root)
    (root / "videos/chunk-000/cam/episode-003.mp4").write_bytes(b"nothing")
    found = Task.open(root).episode(4)
    with pytest.raises(VideoError, match="episode-003"):
        found.slots()
    with pytest.raises(VideoError, match="episode-003"):
        next(found.frames("cam"))


def test_the_samples_clocks_are_what_they_were_made_to_be(sample_pooled: Path) -> None:
    found = Task.open(sample_pooled / "recordings" / "loose_ends")
    assert classify(found.episode(3).data.column("hardware_ns")) is ClockClass.TRUNC32
    whole = found.episode(4).data.column("hardware_ns")
    assert classify(whole) is ClockClass.HW64
    assert np.diff(whole).max() > 4 * 10**9  # its hole


def test_files_that_are_no_part_of_a_task_are_passed_over(tmp_path: Path) -> None:
    root = task(tmp_path / "t", {})
    strange = (
        "data/chunk-000/.episode-001.parquet.tmp",
        "meta/recycled_episode.json",
        "_trash/x",
        "data/x/episode-004.parquet",
    )
    for name in strange:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    assert Task.open(root).numbers == (1,)


def test_a_reader_writes_nothing(sample_pooled: Path) -> None:
    root = sample_pooled / "recordings" / "umi_pick"
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    found = Task.open(root).episode(4)
    found.slots(), found.imu(), found.trajectory(), found.fold(), found.row
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
