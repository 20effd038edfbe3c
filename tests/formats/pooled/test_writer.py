"""One episode recorded, and what is in its files. Witness: plain pyarrow, and ffmpeg's binary."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.pooled import writer
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.recording import finishing, matrix_columns
from quickdraw.formats.pooled.scan import scan
from quickdraw.formats.pooled.writer import Recorder, Slot

RGB, DEPTH = Slot("head_rgb", 32, 48), Slot("head_depth", 32, 48, depth=True)
T0, HW0, FRAME_NS = 1.79e9, 5 * 10**12, 33_333_333


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with Recorder(tmp_path, "pick", slots=[RGB, DEPTH], app_version="1.2.3") as made:
        yield made


def frame(recorder: Recorder, k: int, *, depth: bool = False, **other: Any) -> None:
    """Row k: a picture of one grey, and depth of k + 1 mm."""
    pictures = {RGB.name: np.full((32, 48, 3), 20 * k, np.uint8)}
    if depth:
        pictures[DEPTH.name] = np.full((32, 48), k + 1, np.uint16)
    times = {"hardware_ns": HW0 + k * FRAME_NS, "wall_time": T0 + k / 30, **other}
    recorder.add_frame(pictures, **times)


def data(recorder: Recorder, number: int = 1) -> Any:
    return pq.read_table(recorder.root / f"data/chunk-000/episode-{number - 1:03d}.parquet")


def raw(path: Path, pixel_format: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """Every picture of a video, by ffmpeg's binary."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-map", "0:v:0", "-f", "rawvideo"]
    told = subprocess.run([*command, "-pix_fmt", pixel_format, "-"], capture_output=True, check=True, timeout=60)
    return np.frombuffer(told.stdout, dtype).reshape(-1, *shape)


def test_a_row_a_frame_with_its_times_and_a_picture_in_every_video(recorder: Recorder) -> None:
    assert recorder.begin() == 1
    for k in range(5):
        frame(recorder, k, depth=True)
    row = recorder.end()
    table = data(recorder)
    assert table["episode_index"].to_pylist() == [1] * 5
    assert table["frame_index"].to_pylist() == list(range(5))
    assert table["task_index"].to_pylist() == [0] * 5
    assert table["hardware_ns"].to_pylist() == [HW0 + k * FRAME_NS for k in range(5)]
    assert table["wall_time"].to_pylist() == [T0 + k / 30 for k in range(5)]
    seconds = (np.array([T0 + k / 30 for k in range(5)]) - T0).astype(np.float32)
    assert table["timestamp"].to_numpy().tolist() == seconds.tolist()
    assert (row.length, row.start_frame_index, row.end_frame_index) == (5, 0, 4)
    assert (row.created_at, row.duration_s) == (T0, 5 / 30)
    grey = raw(recorder.root / "videos/chunk-000/head_rgb/episode-000.mp4", "rgb24", "u1", (32, 48, 3))
    assert np.abs(grey.mean(axis=(1, 2, 3)) - [20 * k for k in range(5)]).max() < 2
    depth = raw(recorder.root / "videos/chunk-000/head_depth/episode-000.mkv", "gray16le", "<u2", (32, 48))
    assert (depth == np.arange(1, 6)[:, None, None]).all()


def test_wall_time_keeps_what_a_float32_timestamp_loses_in_a_long_take(recorder: Recorder) -> None:
    """P-13."""
    recorder.begin()
    frame(recorder, 0)
    frame(recorder, 1, wall_time=T0 + 7200.0003)
    recorder.end()
    table = data(recorder)
    assert table["wall_time"].to_pylist()[1] - T0 == pytest.approx(7200.0003, abs=1e-6)
    assert abs(table["timestamp"].to_pylist()[1] - 7200.0003) > 1e-4


def test_depth_repeats_its_latest_picture_while_its_camera_stalls_and_has_none_before_its_first(
    recorder: Recorder,
) -> None:
    recorder.begin()
    picture = np.full((32, 48), 700, np.uint16)
    for k in range(6):
        pictures: dict[str, Any] = {RGB.name: np.zeros((32, 48, 3), np.uint8)}
        if k in (2, 4):
            picture[:] = 700 + k
            pictures[DEPTH.name] = picture
        recorder.add_frame(pictures, hardware_ns=HW0 + k, wall_time=T0 + k)
        picture[:] = 9  # the camera's own buffer
    recorder.end()
    depth = raw(recorder.root / "videos/chunk-000/head_depth/episode-000.mkv", "gray16le", "<u2", (32, 48))
    assert depth[:, 0, 0].tolist() == [702, 702, 704, 704]
    recorder.begin()
    frame(recorder, 0)
    assert recorder.end().video_codec["depth"] == {}
    assert not (recorder.root / "videos/chunk-000/head_depth/episode-001.mkv").exists()


def test_depth_may_have_a_heat_map_beside_it_or_be_of_log_codes(tmp_path: Path) -> None:
    size = Slot("umi_depth", 64, 64, depth=True)
    with Recorder(tmp_path, "dual", slots=[size], app_version="1", preview=True) as recorder:
        recorder.begin()
        recorder.add_frame({"umi_depth": np.full((64, 64), 1500, np.uint16)}, hardware_ns=0, wall_time=T0)
        assert recorder.end().video_codec["depth"]["umi_depth"] == {"codec": "FFV1 gray16le", "format": "uint16 mm"}
    listed = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(recorder.root / "videos/chunk-000/umi_depth/episode-000.mkv")]
    told = subprocess.run(listed, capture_output=True, text=True, check=False, timeout=60).stderr
    streams = [line for line in told.splitlines() if "Video:" in line]
    assert ["h264" in streams[0], "ffv1" in streams[1]] == [True, True]
    with Recorder(tmp_path, "log", slots=[size], app_version="1", depth="log12") as recorder:
        recorder.begin()
        recorder.add_frame({"umi_depth": np.full((64, 64), 1500, np.uint16)}, hardware_ns=0, wall_time=T0)
        told_codec = recorder.end().video_codec["depth"]["umi_depth"]
    assert told_codec == {"codec": "HEVC (Rext) gray12le", "qp": 6, "format": "12bit log codes"}
    codes = raw(recorder.root / "videos/chunk-000/umi_depth/episode-000.mp4", "gray12le", "<u2", (64, 64))
    assert np.abs(codes.astype(int) - 2835).mean() < 3  # the sheet's table


def test_a_column_is_there_only_if_its_sensor_spoke_and_a_row_without_a_sample_holds_its_fill(
    recorder: Recorder,
) -> None:
    recorder.begin()
    frame(recorder, 0)
    recorder.add_glove("right_glove", np.arange(256).reshape(16, 16))
    recorder.add_glove_imu("right_glove", np.arange(64).reshape(16, 4), np.ones(16))
    recorder.add_force("left", [1, 2, 3], 77)
    recorder.add_gripper_state([50, 1, 2], gripper=2)
    recorder.add_trajectory(np.arange(16).reshape(2, 8), [5, 6])
    recorder.add_hand_pose("right", np.ones((21, 3)))
    recorder.add_imu([HW0 + 1], [[1, 2, 3, 4, 5, 6]])
    recorder.set_status("cam0", "disconnected")
    frame(recorder, 1)
    frame(recorder, 2)
    recorder.end()
    rows = data(recorder).to_pylist()
    expected: dict[str, tuple[Any, Any]] = {
        "observation.right_glove": ([0.0] * 256, [float(each) for each in range(256)]),
        "observation.right_glove_imu_quat": ([0.0] * 64, [float(each) for each in range(64)]),
        "observation.right_glove_imu_valid": ([0.0] * 16, [1.0] * 16),
        "imu_ts_ns": ([], [HW0 + 1]),
        "observation.imu": ([], [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]),
        "observation.gripper_left_force": ([0.0] * 3, [1.0, 2.0, 3.0]),
        "observation.gripper_left_force_ns": (0, 77),
        "observation.gripper_2_gripper_state": ([0.0] * 3, [50.0, 1.0, 2.0]),
        "observation.slam_trajectory": ([], [float(each) for each in range(16)]),
        "observation.slam_trajectory_ns": ([], [5, 6]),
        "observation.left_hand_pose": ([0.0] * 63, [0.0] * 63),
        "observation.right_hand_pose": ([0.0] * 63, [1.0] * 63),
    }
    for name, (fill, sample) in expected.items():
        assert [row[name] for row in rows] == [fill, sample, fill], name
    assert [row["status.cam0"] for row in rows] == ["connected", "disconnected", "disconnected"]
    keys = {"episode_index", "frame_index", "timestamp", "task_index", "wall_time", "hardware_ns", "action"}
    assert set(rows[0]) == {*keys, *expected, "status.cam0"}


def test_the_latest_sample_wins_with_its_own_stamp_and_every_point_of_a_path_is_kept(recorder: Recorder) -> None:
    """P-12: no sample and a real zero differ only by the stamp, so a stamp must never outlive its sample."""
    recorder.begin()
    recorder.add_force("left", [1, 1, 1], 11)
    recorder.add_force("left", [0, 0, 0], 22)
    recorder.add_force("right", [1, 1, 1], 11)
    recorder.add_force("right", [2, 2, 2], 0)
    recorder.add_trajectory(np.full((1, 8), 1.0), [9])
    recorder.add_trajectory(np.full((2, 8), 2.0))
    frame(recorder, 0)
    frame(recorder, 1)
    recorder.add_force("right", [3, 3, 3], -4)
    recorder.add_force("right", [4, 4, 4], 33)
    frame(recorder, 2)
    recorder.end()
    rows = data(recorder).to_pylist()
    left, right = "observation.gripper_left_force", "observation.gripper_right_force"
    assert [row[left] for row in rows] == [[0.0] * 3] * 3
    assert [row[f"{left}_ns"] for row in rows] == [22, 0, 0]
    assert [row[right][0] for row in rows] == [2.0, 0.0, 4.0]
    assert [row[f"{right}_ns"] for row in rows] == [0, 0, 33]
    assert rows[0]["observation.slam_trajectory"] == [1.0] * 8 + [2.0] * 16
    assert rows[0]["observation.slam_trajectory_ns"] == [9, 0, 0]


def test_stamps_of_a_path_have_no_column_where_none_is_known_and_poses_never_have_one(recorder: Recorder) -> None:
    """P-9 to P-11."""
    recorder.begin()
    recorder.add_trajectory(np.ones((3, 8)), [0, None, -1])
    frame(recorder, 0)
    recorder.end()
    recorder.begin()
    recorder.add_trajectory(np.ones((3, 8)), [0, 8, None])
    frame(recorder, 0)
    recorder.end()
    names = data(recorder).column_names
    assert "observation.slam_trajectory" in names
    assert not [name for name in names if "slam_pose" in name or "trajectory_ns" in name]
    second = data(recorder, 2)
    assert second.schema.field("observation.slam_trajectory_ns").type == pa.list_(pa.int64())
    assert second["observation.slam_trajectory_ns"].to_pylist() == [[0, 8, 0]]


def test_nanoseconds_are_64_bits_all_the_way(recorder: Recorder) -> None:
    """P-3."""
    recorder.begin()
    big = (1 << 62) + 1
    recorder.add_force("left", [1, 2, 3], np.int64(big))
    recorder.add_trajectory(np.ones((1, 8)), np.array([big + 2]))
    recorder.add_imu(np.array([big + 3], np.uint64), np.ones((1, 6)))
    frame(recorder, 0, hardware_ns=big + 4)
    frame(recorder, 1, hardware_ns=-5)
    for bad in (1.0, np.float64(3), np.int32(7), np.uint16(7), "12"):
        with pytest.raises(TypeError, match="stamp"):
            frame(recorder, 2, hardware_ns=bad)
        with pytest.raises(TypeError, match="stamp"):
            recorder.add_force("left", [1, 2, 3], bad)
        with pytest.raises(TypeError, match="stamp"):
            recorder.add_imu([bad], np.ones((1, 6)))
    for stamps in (np.array([1], np.int32), np.array([1.0])):
        with pytest.raises(TypeError, match="64 bits"):
            recorder.add_trajectory(np.ones((1, 8)), stamps)
    with pytest.raises(ValueError, match="64 bits"):
        frame(recorder, 2, hardware_ns=1 << 63)
    assert recorder.end().length == 2
    first, second = data(recorder).to_pylist()
    assert first["observation.gripper_left_force_ns"] == big
    assert first["observation.slam_trajectory_ns"] == [big + 2]
    assert first["imu_ts_ns"] == [big + 3]
    assert (first["hardware_ns"], second["hardware_ns"]) == (big + 4, 0)


def test_what_is_of_a_wrong_length_or_not_finite_is_dropped_and_counted_and_the_good_one_before_it_stays(
    recorder: Recorder,
) -> None:
    recorder.begin()
    recorder.add_glove("right_glove", np.ones(256))
    for bad in (np.ones(255), np.full(256, np.nan), np.full(256, 1e300), [[1, 2], [3]], None, "x"):
        recorder.add_glove("right_glove", bad)
    recorder.add_hand_pose("left", np.full((21, 3), np.inf))
    recorder.add_trajectory([[1.0] * 8, [np.nan] * 8, [2.0] * 8], [1, 2, 3])
    recorder.add_trajectory(np.ones((2, 7)), [1, 2])
    recorder.add_trajectory(np.ones((2, 8)), [1])
    recorder.add_glove_imu("right_glove", np.ones((16, 4)), np.ones(15))
    recorder.add_force("left", [1, 2], 5)
    frame(recorder, 0)
    row = recorder.end()
    (found,) = data(recorder).to_pylist()
    assert found["observation.right_glove"] == [1.0] * 256
    assert found["observation.left_hand_pose"] == [0.0] * 63
    assert found["observation.slam_trajectory"] == [1.0] * 8 + [2.0] * 8
    assert found["observation.slam_trajectory_ns"] == [1, 3]
    assert not {"observation.right_glove_imu_quat", "observation.gripper_left_force"} & set(found)
    assert {key: value for key, value in row.drop_stats.items() if "rejected" in key} == {
        "observation.right_glove_rejected_count": 6,
        "observation.left_hand_pose_rejected_count": 1,
        "observation.slam_trajectory_rejected_count": 5,
        "observation.right_glove_imu_quat_rejected_count": 1,
        "observation.gripper_left_force_rejected_count": 1,
    }
    assert row.dropped_frames == 0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda r: r.add_glove("imu", np.ones(256)), "another meaning"),
        (lambda r: r.add_glove("gripper_state", np.ones(256)), "another meaning"),
        (lambda r: r.add_glove("left_hand_pose", np.ones(256)), "another meaning"),
        (lambda r: r.add_glove("a.b", np.ones(256)), "another meaning"),
        (lambda r: r.add_force("up", [1, 2, 3], 1), "one of left, right"),
        (lambda r: r.add_gripper_state([1, 2, 3], gripper=0), "counted from 1"),
        (lambda r: r.set_status("a\nb", "on"), "one line"),
        (lambda r: r.add_dropped("gap_ms", 3), "must not end"),
        (lambda r: frame(r, 0, wall_time=float("nan")), "Unix seconds"),
        (lambda r: r.add_frame({}, hardware_ns=0, wall_time=T0), "no picture of head_rgb"),
        (lambda r: r.add_frame({"x": 1}, hardware_ns=0, wall_time=T0), "pictures of x; the slots are"),
        (
            lambda r: r.add_frame({"head_rgb": np.zeros((48, 32, 3), np.uint8)}, hardware_ns=0, wall_time=T0),
            r"not of \(32, 48, 3\) uint8",
        ),
    ],
)
def test_what_only_a_caller_can_get_wrong_is_raised_and_nothing_of_it_recorded(
    recorder: Recorder, call: Callable[[Recorder], None], match: str
) -> None:
    recorder.begin()
    frame(recorder, 0)
    with pytest.raises(ValueError, match=match):
        call(recorder)
    frame(recorder, 1)
    assert recorder.end().length == 2
    assert len(data(recorder)) == 2


def test_an_inertial_sample_may_arrive_up_to_a_second_after_its_frame(recorder: Recorder) -> None:
    recorder.begin()
    for k in range(10):
        frame(recorder, k)
    recorder.add_imu([HW0 + 3 * FRAME_NS, HW0 + 3 * FRAME_NS + 1, HW0], np.ones((3, 6)))
    for k in range(10, 60):
        frame(recorder, k % 10, hardware_ns=HW0 + k * FRAME_NS)
    recorder.add_imu([HW0 + 20 * FRAME_NS, HW0 + 100 * FRAME_NS], np.ones((2, 6)))
    row = recorder.end()
    stamps = data(recorder)["imu_ts_ns"].to_pylist()
    assert {k: each for k, each in enumerate(stamps) if each} == {
        0: [HW0],
        3: [HW0 + 3 * FRAME_NS],
        4: [HW0 + 3 * FRAME_NS + 1],
    }
    assert {key: value for key, value in row.drop_stats.items() if "imu" in key} == {
        "imu_late_count": 1,
        "imu_after_count": 1,
    }


@pytest.mark.parametrize("fps", [0.4, 5.0, 90.0])
def test_that_second_is_one_at_any_rate(fps: float, tmp_path: Path) -> None:
    second, step = max(1, round(fps)), round(1e9 / fps)
    with Recorder(tmp_path, "pick", slots=[], app_version="1", fps=fps) as recorder:
        recorder.begin()
        for k in range(second + 1):
            recorder.add_frame({}, hardware_ns=HW0 + k * step, wall_time=T0 + k / fps)
        recorder.add_imu([HW0, HW0 + step], np.ones((2, 6)))  # of the row just settled, and of the oldest that waits
        row = recorder.end()
    assert [len(each) for each in data(recorder)["imu_ts_ns"].to_pylist()] == [0, 1] + [0] * (second - 1)
    assert row.drop_stats["imu_late_count"] == 1


def test_an_ffmpeg_that_does_not_encode_is_refused_before_the_task_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-85."""

    def broken(encoder: Any) -> None:
        raise VideoError("ffmpeg", f"a crash of {encoder.codec}", "a file")

    monkeypatch.setattr(writer, "self_test", broken)
    for slot, codec in ((RGB, "h264"), (DEPTH, "ffv1")):
        with (
            pytest.raises(VideoError, match=f"a crash of {codec}"),
            Recorder(tmp_path, "pick", slots=[slot], app_version="1"),
        ):
            pass
    assert list(tmp_path.iterdir()) == []


def test_holes_and_frames_lost_upstream_are_told_and_only_the_latter_are_frames(recorder: Recorder) -> None:
    """P-7."""
    recorder.begin()
    recorder.add_dropped("uvc:head_rgb", 2)
    recorder.add_dropped("uvc:head_rgb", 1)
    for k, late_s in enumerate((0.0, 0.0, 4.68, 4.68)):
        frame(recorder, k, hardware_ns=HW0 + k * FRAME_NS + int(late_s * 1e9), wall_time=T0 + k / 30 + late_s)
    row = recorder.end()
    assert row.drop_stats == {"uvc:head_rgb": 3, "gap_count": 1, "gap_ms": 4713}
    assert row.dropped_frames == 3


def test_an_episode_has_no_sample_and_no_picture_of_before_it_began(recorder: Recorder) -> None:
    """P-6, by threads that deliver all the time, as devices do."""
    recorder.begin()
    delivered, over = threading.Semaphore(0), threading.Event()

    def deliver() -> None:
        while not over.is_set():
            recorder.add_force("left", [1, 1, 1], time.monotonic_ns())
            recorder.add_glove("left_glove", np.ones(256))
            recorder.add_trajectory(np.ones((1, 8)), [1])
            recorder.add_imu([HW0 - 1], np.ones((1, 6)))
            delivered.release()

    thread = threading.Thread(target=deliver)
    thread.start()
    for k in range(3):
        delivered.acquire()
        frame(recorder, k, depth=True)
    recorder.end()
    for _ in range(20):
        delivered.acquire()
    over.set()
    thread.join()
    recorder.begin()
    frame(recorder, 0)
    recorder.end()
    keys = {"episode_index", "frame_index", "timestamp", "task_index", "wall_time", "hardware_ns", "action"}
    assert set(data(recorder, 2).column_names) == {*keys, "observation.left_hand_pose", "observation.right_hand_pose"}
    assert not (recorder.root / "videos/chunk-000/head_depth/episode-001.mkv").exists()


def test_a_matrix_that_takes_until_the_next_episode_is_in_neither(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-6: encoding takes a millisecond, in which an episode may end and another begin."""
    entered, leave = threading.Event(), threading.Event()
    real = matrix_columns.encode

    def slow(*arguments: Any) -> Any:
        entered.set()
        assert leave.wait(30)
        return real(*arguments)

    monkeypatch.setattr(matrix_columns, "encode", slow)
    recorder.begin()
    frame(recorder, 0)
    thread = threading.Thread(target=recorder.add_force_matrix, args=("left", np.ones((250, 250, 3)), 5))
    thread.start()
    assert entered.wait(30)
    recorder.abort()
    recorder.begin()
    leave.set()
    thread.join()
    frame(recorder, 0)
    row = recorder.end()
    assert row.force_matrix_specs == {}
    assert not [name for name in data(recorder).column_names if "matrix" in name]


def test_while_it_records_nothing_has_its_name_and_readers_see_no_episode(recorder: Recorder) -> None:
    """P-60 and P-45: what is under way is hidden beside its place, and a scan counts none of it."""
    recorder.begin()
    for k in range(300):
        frame(recorder, 0, hardware_ns=HW0 + k)
    recorder._take._spool._wait()  # type: ignore[union-attr]  # the first row group is on the disk
    files = sorted(path.relative_to(recorder.root).as_posix() for path in recorder.root.rglob("*") if path.is_file())
    assert files == [
        "data/chunk-000/.episode-000.parquet.tmp",
        "meta/.recorder.lock",
        "videos/chunk-000/head_rgb/.episode-000.mp4.tmp",
    ]
    assert scan(Layout(recorder.root)) == {}
    recorder.end()
    files = sorted(path.relative_to(recorder.root).as_posix() for path in recorder.root.rglob("*") if path.is_file())
    assert files == [
        "data/chunk-000/episode-000.parquet",
        "meta/.recorder.lock",
        "meta/episodes/chunk-000/episode-000.parquet",
        "meta/info.json",
        "meta/stats.json",
        "meta/tasks.jsonl",
        "videos/chunk-000/head_rgb/episode-000.mp4",
    ]


def test_an_episode_without_a_frame_is_refused_and_the_recording_goes_on(recorder: Recorder) -> None:
    recorder.begin()
    recorder.add_force("left", [1, 2, 3], 1)
    with pytest.raises(Refused, match="no frame"):
        recorder.end()
    frame(recorder, 0)
    assert recorder.end().length == 1


def test_calls_out_of_turn_say_what_is_missing(recorder: Recorder) -> None:
    for call in (recorder.end, recorder.abort, lambda: frame(recorder, 0)):
        with pytest.raises(RuntimeError, match=r"begin\(\) one"):
            call()
    recorder.begin()
    with pytest.raises(RuntimeError, match="episode 1 is being recorded"):
        recorder.begin()


def test_an_encoder_that_dies_is_an_error_and_the_episode_can_only_be_aborted(recorder: Recorder) -> None:
    recorder.begin()
    frame(recorder, 0)
    recorder._take.cameras._encoders[RGB.name]._process.kill()  # type: ignore[union-attr]  # it is being recorded
    with pytest.raises(VideoError, match="SIGKILL"):
        deque((frame(recorder, k % 10) for k in range(200)), maxlen=0)
    with pytest.raises(RuntimeError, match="can only be aborted"):
        frame(recorder, 1)
    with pytest.raises(RuntimeError, match="can only be aborted"):
        recorder.end()
    recorder.abort()
    assert recorder.begin() == 1
    frame(recorder, 0)
    assert recorder.end().length == 1


def test_a_disk_that_is_full_while_documents_are_prepared_costs_nothing_and_end_may_be_called_again(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.begin()
    frame(recorder, 0)
    recorder.end()
    before = {path: path.read_bytes() for path in recorder.root.rglob("*.json*")}
    recorder.begin()
    frame(recorder, 0)
    with monkeypatch.context() as patch:

        def full(path: Path, content: bytes) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(finishing.journal, "prepare", full)
        with pytest.raises(OSError, match="No space left"):
            recorder.end()
    assert {path: path.read_bytes() for path in recorder.root.rglob("*.json*")} == before
    assert recorder.end().number == 2
    assert json.loads((recorder.root / "meta/info.json").read_text())["total_episodes"] == 2
