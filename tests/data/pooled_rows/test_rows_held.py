"""What planning says a data file holds, and that rows keep it: columns of rows, odd names, the sample's episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes import features, settling
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.errors import Refused
from quickdraw.formats.pooled import data as pooled_data
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.fillings import fillings
from quickdraw.formats.pooled.reader import Episode, Task

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)


def episodes(tree: Path, made: SimpleNamespace) -> Iterator[tuple[Episode, Any]]:
    """Every episode of a task that has data, with its frames."""
    for one in Task.open(tree).episodes():
        if one.files.data is not None:
            keys = pq.read_table(one.files.data, columns=["frame_index", "hardware_ns"])
            yield one, made.frames(keys["hardware_ns"].to_pylist(), 30, keys["frame_index"].to_pylist())


@pytest.mark.parametrize("task", ["legacy_v110", "loose_ends", "two_slots", "umi_pick", "手套_抓取"])
@pytest.mark.parametrize("matrices", ["sums", "2x5"])
def test_rows_of_the_sample_keep_what_planning_promised(
    sample_pooled: Path, made: SimpleNamespace, task: str, matrices: str
) -> None:
    options = replace(OPTIONS, force_matrices=matrices, clocks=True)
    found = [
        (one, frames, features.hold(one, frames, options))
        for one, frames in episodes(sample_pooled / "recordings" / task, made)
    ]
    plans = [made.plan(held.columns, f"episode_{one.number:06d}") for one, _, held in found]
    settled = settling.settle(plans, options)
    assert settled.features(options)
    for one, frames, held in found:
        rows = features.read(one, frames, options, settled, held.scales)
        assert list(rows) == [spec.name for spec in settled.features(options)]
        for spec in settled.features(options):
            array = rows[spec.name]
            assert array.shape == (len(frames), spec.width)
            assert array.dtype == spec.dtype
            assert array.flags.c_contiguous
            assert np.isfinite(array).all()
            valid = rows.get(f"{spec.name}_valid")
            if valid is not None:
                promised = held.columns.get(spec.name, {"missing": len(frames)})["missing"]
                assert np.count_nonzero(valid == 0) == promised
                assert set(np.unique(valid)) <= {0.0, 1.0}


def test_matrices_of_the_sample_sum_up_to_the_force_beside_them(sample_pooled: Path, made: SimpleNamespace) -> None:
    for one, frames in episodes(sample_pooled / "recordings/umi_pick", made):
        held = features.hold(one, frames, OPTIONS)
        settled = settling.settle([made.plan(held.columns)], OPTIONS)
        rows = features.read(one, frames, OPTIONS, settled, held.scales)
        name = "observation.gripper_left_force_matrix"
        scale, source = held.scales[name]
        if source == "unscaled" or (scale == 1 and source != "type"):
            continue  # cut toward zero, which loses most of it
        table = pq.read_table(one.files.data).to_pydict()
        force = dict(zip(table[f"{name}_ns"], table["observation.gripper_left_force"], strict=True))
        for row, hw in enumerate(frames.hardware_ns):
            if rows.get(f"{name}_sum_valid", np.ones((len(frames), 1)))[row, 0]:
                ranked = sorted((abs(ns - int(hw)), ns) for ns in force if ns > 0)
                fz, felt = rows[f"{name}_sum"][row, 2], force[ranked[0][1]][2]
                assert abs(fz - felt) <= 0.03 * abs(felt) + 30  # of 62,500 taxels, each rounded


def test_a_glove_is_named_by_row_and_column_and_is_as_it_was_recorded(
    sample_pooled: Path, made: SimpleNamespace
) -> None:
    one, frames = next(episodes(sample_pooled / "recordings/手套_抓取", made))
    held = features.hold(one, frames, OPTIONS)
    settled = settling.settle([made.plan(held.columns)], OPTIONS)
    spec = {each.name: each for each in settled.features(OPTIONS)}
    assert spec["observation.right_glove"].grid == (16, 16)
    assert spec["observation.right_glove"].names[17:19] == ("r01c01", "r01c02")
    assert spec["observation.imu"].width == 48
    assert spec["observation.right_glove_imu_quat"].identity_dims == tuple(range(64))
    rows = features.read(one, frames, OPTIONS, settled, held.scales)
    for name in ("observation.right_glove", "observation.right_glove_imu_quat", "observation.right_glove_imu_valid"):
        recorded = pq.read_table(one.files.data, columns=[name])[name].to_pylist()
        np.testing.assert_array_equal(rows[name], np.array(recorded, np.float32))


def test_a_column_the_footer_tells_unfilled_is_not_read(
    made: SimpleNamespace, episode: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    glove = np.zeros((4, 256))
    one = episode({
        "observation.left_glove": made.fixed(glove),
        "observation.right_glove": made.fixed(glove + np.eye(4, 256)),
        "observation.left_hand_pose": made.fixed(np.zeros((4, 63))),
        "observation.right_hand_pose": made.fixed(np.eye(4, 63) * [[1], [0], [1], [1]]),
    })  # fmt: skip
    asked: list[str] = []
    read = pooled_data.DataFile.read

    def spied(self: DataFile, names: Any, ragged: Any = ()) -> Any:
        asked.extend([*names, *ragged])
        return read(self, names, ragged)

    monkeypatch.setattr(pooled_data.DataFile, "read", spied)
    held = features.hold(one, made.frames([made.start + each for each in range(4)]), OPTIONS).columns
    assert set(asked) == {"observation.right_glove", "observation.right_hand_pose"}
    told = {name: (each["width"], each["filled"], each["missing"]) for name, each in held.items()}
    assert told == {
        "observation.left_glove": (256, False, 0),
        "observation.right_glove": (256, True, 0),
        "observation.left_hand_pose": (63, False, 4),
        "observation.right_hand_pose": (63, True, 1),  # a hand of 21 points at the origin is none
    }


def test_rows_keep_what_was_told_of_a_column_of_zeros_and_a_nan(made: SimpleNamespace, tmp_path: Path) -> None:
    """A column that the footer tells unfilled is read for neither: its NaN is no sample that went missing."""
    name, zeros = "observation.left_glove", np.zeros((3, 256), np.float32)
    filled = made.episode(tmp_path / "a", {name: made.fixed(zeros + 1)})
    zeros[1, 7] = np.nan
    unfilled = made.episode(tmp_path / "b", {name: made.fixed(zeros)})
    frames = made.frames([made.start + each for each in range(3)])
    held = [features.hold(each, frames, OPTIONS).columns for each in (filled, unfilled)]
    assert held[1][name] == {"column": name, "width": 256, "filled": False, "missing": 0}
    settled = settling.settle([made.plan(held[0]), made.plan(held[1], "episode_000002")], OPTIONS)
    rows = features.read(unfilled, frames, OPTIONS, settled, {})
    assert list(rows) == [name]
    np.testing.assert_array_equal(rows[name], np.zeros((3, 256)))
    hand = made.episode(tmp_path / "c", {"observation.left_hand_pose": made.fixed(zeros[:, :63])})
    assert features.hold(hand, frames, OPTIONS).columns["observation.left_hand_pose"]["missing"] == 3


def test_only_rows_that_are_taken_count(made: SimpleNamespace, episode: Callable[..., Any]) -> None:
    glove = np.zeros((4, 256))
    glove[3] = 1
    one = episode({"observation.left_glove": made.fixed(glove)})
    whole = made.frames([made.start + each for each in range(4)])
    some = made.frames([made.start + each for each in range(3)])
    assert features.hold(one, whole, OPTIONS).columns["observation.left_glove"]["filled"]
    assert not features.hold(one, some, OPTIONS).columns["observation.left_glove"]["filled"]


def test_numbers_that_are_not_finite_or_beyond_float32_are_no_sample(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    wide = pa.array([[1.0, 2.0], [1e300, 0.0], [np.nan, 0.0], [3.0, np.inf]], pa.list_(pa.float64(), 2))
    one = episode({"observation.torque": wide})
    frames = made.frames([made.start + each for each in range(4)])
    held = features.hold(one, frames, OPTIONS)
    assert held.columns["observation.torque"] == {
        "column": "observation.torque", "width": 2, "filled": True, "missing": 3, "odd": 3,
    }  # fmt: skip
    settled = settling.settle([made.plan(held.columns)], OPTIONS)
    assert settled.features(OPTIONS)[0].names == ("v000", "v001")
    assert any("3 samples hold numbers that are not finite" in note for note in settled.notes)
    rows = features.read(one, frames, OPTIONS, settled, held.scales)
    np.testing.assert_array_equal(rows["observation.torque"], [[1, 2], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(rows["observation.torque_valid"].ravel(), [1, 0, 0, 0])


def test_columns_that_can_be_no_feature_are_left_out_with_the_reason(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    one = episode({
        "observation.words": pa.array(["a", "b"]),
        "observation.some": pa.array([[1.0], [1.0, 2.0]], pa.list_(pa.float32())),
        "observation.late_ns": pa.array([1, 2]),
        "observation.slam_pose": made.fixed(np.ones((2, 7))),
        "observation.wide": made.fixed(np.ones((2, 5000))),
        "observation.level": pa.array([0.5, 1.5]),
        "observation.closed": pa.array([True, False]),
        "observation.huge": pa.array([1e300, 0.0]),
        "observation.": pa.array([1.0, 2.0]),
        "status.cam0": pa.array(["connected"] * 2),
        "elsewhere": pa.array([1.0, 2.0]),
    })  # fmt: skip
    frames = made.frames([made.start, made.start + 1])
    held = features.hold(one, frames, OPTIONS)
    settled = settling.settle([made.plan(held.columns)], OPTIONS)
    assert settled.left_out == {
        "observation.words": "string, which is no fixed count of numbers a row",
        "observation.some": "list<element: float>, which is no fixed count of numbers a row",
        "observation.late_ns": "stamps, which float32 does not hold",
        "observation.slam_pose": features.OLD_POSE,
        "observation.wide": "5000 numbers a row",
        "observation.huge": "nothing but its fill, and numbers that float32 does not hold",
        "observation.": "no name behind `observation.`",
    }
    rows = features.read(one, frames, OPTIONS, settled, held.scales)
    assert list(rows) == ["observation.closed", "observation.level"]
    np.testing.assert_array_equal(rows["observation.level"], [[0.5], [1.5]])
    np.testing.assert_array_equal(rows["observation.closed"], [[1], [0]])


def test_no_name_has_what_lerobot_takes_otherwise_and_two_of_one_name_are_refused(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    one = episode(
        {name: made.fixed(np.ones((2, 3))) for name in ("observation.image_noise/left", "observation.a_is_pad")}
    )
    frames = made.frames([made.start, made.start + 1])
    held = features.hold(one, frames, OPTIONS)
    settled = settling.settle([made.plan(held.columns)], OPTIONS)
    assert [spec.name for spec in settled.features(OPTIONS)] == ["observation.a_pad", "observation.img_noise_left"]
    assert any(note.startswith("observation.image_noise/left is called observation.img") for note in settled.notes)
    both = {"observation.image_a": made.fixed(np.ones((2, 3))), "observation.img_a": made.fixed(np.ones((2, 3)))}
    with pytest.raises(Refused, match=r"observation.image_a and observation.img_a, expected one column of that name"):
        features.hold(episode(both), frames, OPTIONS)


def test_every_column_of_another_width_than_the_contracts_is_refused(
    made: SimpleNamespace, episode: Callable[..., Any]
) -> None:
    bad = {"observation.left_hand_pose": made.fixed(np.ones((1, 62))), "observation.gripper_state": pa.array([1.0])}
    with pytest.raises(Refused) as caught:
        features.hold(episode(bad), made.frames([made.start]), OPTIONS)
    assert [fault.field for fault in caught.value.faults] == ["observation.left_hand_pose", "observation.gripper_state"]


def test_all_that_is_wrong_with_a_data_file_is_told_at_once(made: SimpleNamespace, episode: Callable[..., Any]) -> None:
    one = episode({
        "imu_ts_ns": pa.array([[1, 2]], pa.list_(pa.int64())),
        "observation.imu": pa.array([[[0.0] * 6]], pa.list_(pa.list_(pa.float32(), 6))),
        "observation.slam_trajectory": pa.array([[1.0] * 7], pa.list_(pa.float64())),
        "observation.gripper_left_force_matrix": pa.array(["none"]),
        "observation.gripper_state": pa.array([None], pa.list_(pa.float32(), 3)),
        "observation.left_glove": pa.array([None], pa.list_(pa.float32(), 256)),
    })  # fmt: skip
    with pytest.raises(Refused) as caught:
        features.hold(one, made.frames([made.start]), OPTIONS)
    assert {fault.field for fault in caught.value.faults} == {
        "observation.imu",
        "observation.slam_trajectory",
        "observation.gripper_left_force_matrix",
        "observation.gripper_state",
        "observation.left_glove",
    }


def test_clocks_are_whole_nanoseconds(made: SimpleNamespace, episode: Callable[..., Any]) -> None:
    hardware = [made.start + 7, 0, made.start + 66_666_667]
    one, frames = episode({"observation.level": pa.array([1.0, 2.0, 3.0])}), made.frames(hardware)
    options = replace(OPTIONS, clocks=True)
    held = features.hold(one, frames, options)
    settled = settling.settle([made.plan(held.columns)], options)
    rows = features.read(one, frames, options, settled, held.scales)
    assert list(rows) == ["observation.level", "hardware_ns", "wall_time_ns"]
    assert rows["hardware_ns"].dtype == rows["wall_time_ns"].dtype == np.int64
    assert rows["hardware_ns"].ravel().tolist() == hardware
    expected = [round((1.79e9 + each / 30) * 1e9) for each in range(3)]
    assert np.abs(rows["wall_time_ns"].ravel() - expected).max() <= 256  # a float64 of Unix seconds is no finer


def test_the_footer_tells_width_and_filling(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    lists = pa.list_(pa.float32())
    pq.write_table(pa.table({
        "a": pa.array([[1.0], [], [2.0, 3.0]], lists),
        "b": pa.array([[], [], []], lists),
        "c": pa.array([[0.0, 0.0]] * 3, lists),
        "d": pa.array([0.0, np.nan, 0.0]),
        "e": pa.array([{"x": 1, "y": 2}] * 3),
        "h": pa.array([None] * 3, pa.list_(pa.float32(), 2)),
        "f.g": pa.array([0, 0, 1]),
        "f": pa.array([0, 0, 0]),
    }), path, row_group_size=2)  # fmt: skip
    data = DataFile(path)
    found = fillings(data, data.names)
    told = {name: (each.width, each.numbers, each.bare, each.unfilled) for name, each in found.items()}
    assert told == {
        "a": (0, 3, 1, False),
        "b": (0, 0, 3, True),
        "c": (2, 6, 0, True),
        "d": (1, 3, 0, True),
        "e": (0, None, None, False),
        "h": (2, 0, 3, False),
        "f.g": (1, 3, 0, False),
        "f": (1, 3, 0, True),
    }
    pq.write_table(pa.table({"a": pa.array([0.0])}), path, write_statistics=False)
    assert not fillings(DataFile(path), ["a"])["a"].unfilled
    with pytest.raises(Refused):
        fillings(DataFile(path), ["z"])
