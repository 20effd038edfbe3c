"""The nearest sample by stamps: against trying all of them, and every reason why an episode cannot be aligned."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.errors import Refused
from quickdraw.formats.pooled.align import NotAlignable, align, align_trajectory, nearest
from quickdraw.formats.pooled.clock import imu_rows
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.reader import Task

FRAME_NS = 33_333_333
START = 5 * 10**12
MATRIX_NS = "observation.gripper_left_force_matrix_ns"


def ns(*stamps: int) -> np.ndarray:
    return np.array(stamps, np.int64)


def tried(sample_ns: list[int], target: int) -> tuple[int, int]:
    """The nearest of all samples with a stamp, the earlier of equals, and how far it is."""
    stamped = [(abs(stamp - target), stamp, at) for at, stamp in enumerate(sample_ns) if stamp > 0]
    distance, _, at = min(stamped)
    return at, distance


@given(
    samples=st.lists(st.integers(-3, 60), min_size=1, max_size=25).filter(lambda each: max(each) > 0),
    targets=st.lists(st.integers(-10, 70), max_size=25),
)
def test_the_nearest_sample_is_the_one_trying_all_of_them_finds(samples: list[int], targets: list[int]) -> None:
    found = nearest(ns(*samples), ns(*targets))

    assert list(zip(found.index.tolist(), found.residual_ns.tolist(), strict=True)) == [
        tried(samples, target) for target in targets
    ]
    stamped = [each for each in samples if each > 0]
    assert found.out_of_range.tolist() == [not min(stamped) <= each <= max(stamped) for each in targets]


@given(st.lists(st.integers(1, (1 << 63) - 1), min_size=1, max_size=8), st.integers(-(1 << 63), (1 << 63) - 1))
def test_no_stamp_of_64_bits_makes_it_overflow(samples: list[int], target: int) -> None:
    found = nearest(ns(*samples), ns(target))
    at, distance = tried(samples, target)
    if distance < (1 << 63):
        assert (found.index[0], found.residual_ns[0]) == (at, distance)
    else:
        assert found.residual_ns[0] == (1 << 63) - 1


def test_of_two_samples_equally_near_the_earlier_is_taken() -> None:
    assert nearest(ns(100, 200), ns(150)).index.tolist() == [0]
    assert nearest(ns(200, 100), ns(150)).index.tolist() == [1]  # earlier in time, not in the file
    assert nearest(ns(100, 100, 200), ns(120)).index.tolist() == [0]


def test_a_stamp_of_zero_is_no_sample_at_time_zero() -> None:
    """Taking it for one pulls every frame before the first sample to that row."""
    found = nearest(ns(0, 1000, 0, 2000), ns(10, 1400, 1600))
    assert found.index.tolist() == [1, 1, 3]
    assert found.out_of_range.tolist() == [True, False, False]


def test_the_bound_is_half_the_median_time_between_samples() -> None:
    assert nearest(ns(0, 1000, 1010, 1020, 9000), ns(1)).bound_ns == 5
    assert nearest(ns(7), ns(7)).bound_ns == 0
    with pytest.raises(NotAlignable, match="no sample with a positive stamp"):
        nearest(ns(0, -5), ns(1))


def episode_of(path: Path, table: dict[str, Any]) -> Any:
    pq.write_table(pa.table(table), path)
    return SimpleNamespace(data=DataFile(path))


def frames(rows: int, start: int = START) -> Any:
    return pa.array([start + row * FRAME_NS for row in range(rows)], pa.int64())


def test_matrices_that_lead_are_aligned_by_stamps_not_by_rows(tmp_path: Path) -> None:
    """Force is the latest, frames wait in a queue: row k holds the matrix of frame k + 3."""
    rows, lead = 40, 3
    stamps = [START + (row + lead) * FRAME_NS + 1000 for row in range(rows)]
    episode = episode_of(tmp_path / "x", {"hardware_ns": frames(rows), MATRIX_NS: pa.array(stamps)})

    found = align(episode, "left", "matrix")

    assert found.index.tolist() == [0] * lead + list(range(rows - lead))
    assert found.residual_ns[lead:].tolist() == [1000] * (rows - lead)
    assert found.out_of_range.tolist() == [True] * (lead + 1) + [False] * (rows - lead - 1)
    assert found.bound_ns == FRAME_NS // 2


def test_side_which_and_gripper_name_the_column(tmp_path: Path) -> None:
    columns = {
        "observation.gripper_left_force_ns": 0,
        "observation.gripper_left_force_matrix_ns": 1,
        "observation.gripper_2_gripper_right_force_ns": 2,
        "observation.gripper_2_gripper_right_force_matrix_ns": 3,
    }
    table = {
        name: pa.array([START if row == at else 0 for row in range(4)], pa.int64()) for name, at in columns.items()
    }
    episode = episode_of(tmp_path / "x", {"hardware_ns": frames(4), **table})

    assert align(episode, "left", "force").index.tolist() == [0] * 4
    assert align(episode, "left", "matrix").index.tolist() == [1] * 4
    assert align(episode, "right", "force", 2).index.tolist() == [2] * 4
    assert align(episode, "right", "matrix", gripper=2).index.tolist() == [3] * 4
    with pytest.raises(ValueError, match="gripper 0"):
        align(episode, "left", "force", 0)


@pytest.mark.parametrize(
    ("hardware_ns", "stamps", "reason"),
    [
        (None, [1, 2, 3], "no column hardware_ns"),
        ([0, 0, 0], [1, 2, 3], "no hardware_ns: every row's is 0"),
        ([START, START + 1, START + 2], None, "this episode has no stamps of a gripper"),
        ([5, (1 << 31) - 1, 7], [1, 2, 3], "cut to 32 bits"),
        ([START, START + 2, START + 1], [1, 2, 3], "steps back at row 2"),
        ([START, START + 1, START + 2], [0, 0, 0], "no sample with a positive stamp"),
    ],
)
def test_what_cannot_be_aligned_says_why(
    tmp_path: Path, hardware_ns: list[int] | None, stamps: list[int] | None, reason: str
) -> None:
    named = {"hardware_ns": hardware_ns, MATRIX_NS: stamps, "frame_index": [0, 1, 2]}
    table = {name: pa.array(values, pa.int64()) for name, values in named.items() if values is not None}
    with pytest.raises(NotAlignable, match=reason) as caught:
        align(episode_of(tmp_path / "x", table), "left", "matrix")
    assert pickle.loads(pickle.dumps(caught.value)).reason == caught.value.reason


def test_a_row_without_a_stamp_is_not_aligned_and_the_others_are(tmp_path: Path) -> None:
    hardware, stamps = [START, 0, START + 20], [START + 1, START + 11, START + 21]
    named = {"hardware_ns": hardware, MATRIX_NS: stamps, "frame_index": [0, 1, 2]}
    table = {name: pa.array(values, pa.int64()) for name, values in named.items()}
    found = align(episode_of(tmp_path / "x", table), "left", "matrix")
    assert found.out_of_range[1]
    assert found.index[[0, 2]].tolist() == [0, 2]


def test_stamps_that_are_floats_are_refused_for_they_have_lost_nanoseconds(tmp_path: Path) -> None:
    table = {"hardware_ns": frames(2), MATRIX_NS: pa.array([1.0, 2.0])}
    with pytest.raises(Refused, match="type double, expected int64"):
        align(episode_of(tmp_path / "x", table), "left", "matrix")


def test_equal_stamps_of_two_slots_are_no_step_back(tmp_path: Path) -> None:
    hardware_ns = [START + row // 2 * FRAME_NS for row in range(6)]
    table = {"hardware_ns": pa.array(hardware_ns), MATRIX_NS: pa.array(hardware_ns)}
    assert align(episode_of(tmp_path / "x", table), "left", "matrix").index.tolist() == [0, 0, 2, 2, 4, 4]


def test_a_trajectory_of_more_points_than_rows_is_aligned_point_by_point(tmp_path: Path) -> None:
    """Ten points a row, 2 ms late; a point without a stamp keeps its place and is never chosen."""
    step = FRAME_NS // 10
    points = [[START + 2_000_000 + (10 * row + k) * step for k in range(10)] for row in range(12)]
    points[5] = []  # the sensor was away
    points[7][0] = 0
    flat = [stamp for row in points for stamp in row]
    table = {
        "hardware_ns": frames(12),
        "observation.slam_trajectory_ns": pa.array(points, pa.list_(pa.int64())),
    }

    found = align_trajectory(episode_of(tmp_path / "x", table))

    assert len(found.index) == 12
    assert [(int(at), int(far)) for at, far in zip(found.index, found.residual_ns, strict=True)] == [
        tried(flat, START + row * FRAME_NS) for row in range(12)
    ]
    assert 60 not in found.index  # the point without a stamp: rows 0-4, 6, then 7's first


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_the_samples_matrices_are_aligned_as_trying_all_of_them_does(sample_pooled: Path, number: int) -> None:
    episode = Task.open(sample_pooled / "recordings" / "umi_pick").episode(number)
    assert episode.files.data is not None
    plain = pq.read_table(episode.files.data).to_pydict()
    for which, column in (("matrix", MATRIX_NS), ("force", "observation.gripper_left_force_ns")):
        found = align(episode, "left", which)
        expected = [tried(plain[column], target) for target in plain["hardware_ns"]]
        assert list(zip(found.index.tolist(), found.residual_ns.tolist(), strict=True)) == expected
        inside = found.residual_ns[~found.out_of_range]
        assert found.out_of_range.any()
        assert len(inside)


def test_the_samples_cut_clock_is_not_aligned(sample_pooled: Path) -> None:
    plain = DataFile(sample_pooled / "recordings/loose_ends/data/chunk-000/episode-002.parquet")
    with pytest.raises(NotAlignable, match="no column"):
        align(SimpleNamespace(data=plain), "left", "force")


def test_a_sample_belongs_to_the_row_whose_window_it_is_in() -> None:
    rows = ns(100, 200, 300)
    stamps = ns(1, 100, 101, 200, 201, 299, 300, 301)
    assert imu_rows(rows, stamps).tolist() == [0, 0, 1, 1, 2, 2, 2, -1]
    assert imu_rows(rows, stamps, first_window_ns=99).tolist() == [-1, 0, 1, 1, 2, 2, 2, -1]
    assert imu_rows(rows, stamps, first_window_ns=100).tolist() == [0, 0, 1, 1, 2, 2, 2, -1]
    assert imu_rows(rows, ns()).tolist() == []


@given(rows=st.lists(st.integers(0, 50), max_size=12).map(sorted), stamps=st.lists(st.integers(1, 60), max_size=20))
def test_the_row_of_a_sample_is_the_one_trying_every_row_finds(rows: list[int], stamps: list[int]) -> None:
    def tried_row(stamp: int) -> int:
        before = -(10**9)
        for at, own in enumerate(rows):
            if own and before < stamp <= own:
                return at
            before = own or before
        return -1

    assert imu_rows(ns(*rows), ns(*stamps)).tolist() == [tried_row(stamp) for stamp in stamps]


def test_a_row_without_a_stamp_takes_no_sample_and_of_equal_stamps_the_first_does() -> None:
    assert imu_rows(ns(0, 100, 100, 200), ns(50, 100, 150)).tolist() == [1, 1, 3]
    assert imu_rows(ns(0, 0), ns(50)).tolist() == [-1]


@pytest.mark.parametrize("number", [1, 2, 1000, 1001])
def test_the_samples_imu_hangs_on_the_rows_its_stamps_say(sample_pooled: Path, number: int) -> None:
    episode = Task.open(sample_pooled / "recordings" / "手套_抓取").episode(number)
    imu = episode.imu()
    expected = imu_rows(episode.data.column("hardware_ns"), imu.ts_ns, first_window_ns=FRAME_NS + 1)
    assert imu.row.tolist() == expected.tolist()
    assert len(imu.row) > 200


def test_an_old_recording_is_told_from_a_gripper_that_is_not_there(tmp_path: Path) -> None:
    table = {
        "hardware_ns": pa.array([START, START + 1], pa.int64()),
        "observation.gripper_left_force": pa.array([[0.0, 0.0, 1.0]] * 2, pa.list_(pa.float32(), 3)),
        "observation.gripper_right_force_ns": pa.array([START, START + 1], pa.int64()),
    }
    episode = episode_of(tmp_path / "x", table)
    with pytest.raises(NotAlignable, match=r"recorders write since v1\.3\.3"):
        align(episode, "left", "force")
    with pytest.raises(NotAlignable, match=r"this episode has observation\.gripper_right_force_ns"):
        align(episode, "left", "force", 2)
