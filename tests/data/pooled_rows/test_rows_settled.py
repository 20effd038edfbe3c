"""What a build has over all of its episodes: which features and cameras, state and action, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from quickdraw.data.command_line.composing import default_config
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes import features
from quickdraw.data.pooled_episodes.options import Depth, PooledOptions
from quickdraw.data.pooled_episodes.settling import Settled, as_document, of_document, settle
from quickdraw.errors import COMMAND_LINE, Refused

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

GLOVE, POSE, IMU = "observation.left_glove", "observation.slam_pose", "observation.imu"
STREAM = {"codec": "h264", "gop": 2, "full_range": False}


def names(settled: Settled, options: PooledOptions = OPTIONS) -> list[str]:
    return [spec.name for spec in settled.features(options)]


def refused(call: Callable[[], Any]) -> list[tuple[str, str, str]]:
    with pytest.raises(Refused) as caught:
        call()
    return [(fault.where, fault.field, fault.found) for fault in caught.value.faults]


def test_columns_stand_in_the_contracts_order_each_validity_behind_its_own_and_clocks_last(
    made: SimpleNamespace,
) -> None:
    columns = {
        "observation.right_hand_pose": made.held("observation.right_hand_pose", 63),
        POSE: made.held("observation.slam_trajectory", 9, missing=2),
        "observation.gripper_left_force_matrix_sum": made.held("observation.gripper_left_force_matrix", 3),
        IMU: made.held(IMU, 48),
        GLOVE: made.held(GLOVE, 256),
        "observation.left_glove_imu_quat": made.held("observation.left_glove_imu_quat", 64),
    }
    options = replace(OPTIONS, state=("left_glove", "slam_pose"), action=("gripper_left_force_matrix",), clocks=True)
    settled = settle([made.plan(columns)], options)
    assert names(settled, options) == [
        "observation.state",
        "action",
        GLOVE,
        IMU,
        "observation.left_glove_imu_quat",
        "observation.gripper_left_force_matrix_sum",
        POSE,
        f"{POSE}_valid",
        "observation.right_hand_pose",
        "hardware_ns",
        "wall_time_ns",
    ]
    state, action, *_ = settled.features(options)
    assert state.names[0] == "left_glove.r00c00"
    assert state.names[-6:] == tuple(f"slam_pose.rot6_{each}" for each in range(6))
    assert state.identity_dims == tuple(range(259, 265))
    assert state.unit[256:259] == ("m", "m", "m")
    axes = ("fx_mn", "fy_mn", "fz_mn")
    assert action.names == tuple(f"gripper_left_force_matrix_sum.{axis}" for axis in axes)


def test_a_feature_is_told_by_validity_where_any_episode_lacks_it_or_has_it_empty_and_of_another_width(
    made: SimpleNamespace,
) -> None:
    full = made.plan({GLOVE: made.held(GLOVE, 256), IMU: made.held(IMU, 48)})
    assert names(settle([full, full], OPTIONS)) == [GLOVE, IMU]
    lacking = made.plan({IMU: made.held(IMU, 48)}, "episode_000002")
    assert names(settle([full, lacking], OPTIONS)) == [GLOVE, f"{GLOVE}_valid", IMU]
    assert names(settle([lacking, full], OPTIONS)) == [GLOVE, f"{GLOVE}_valid", IMU]
    other = made.plan({GLOVE: made.held(GLOVE, 128, filled=False), IMU: made.held(IMU, 48)}, "episode_000003")
    assert names(settle([other, full], OPTIONS)) == [GLOVE, f"{GLOVE}_valid", IMU]
    unfilled = made.plan({GLOVE: made.held(GLOVE, 256, filled=False), IMU: made.held(IMU, 48)}, "episode_000004")
    assert names(settle([full, unfilled], OPTIONS)) == [GLOVE, IMU]  # of pressures, zeros may be samples


def test_a_column_filled_in_no_episode_is_left_out_and_named(made: SimpleNamespace) -> None:
    hand = "observation.left_hand_pose"
    empty = {
        hand: made.held(hand, 63, filled=False, missing=4),
        IMU: made.held(IMU, 48, filled=False, missing=4, why="no clock"),
    }
    settled = settle([made.plan(empty), made.plan({})], OPTIONS)
    assert settled.columns == ()
    assert settled.left_out == {hand: "nothing but its fill in any episode", IMU: "no clock"}
    assert f"left out: {hand} (nothing but its fill in any episode)" in settled.notes
    assert f"left out: {IMU} (no clock)" in settled.notes
    assert settled.notes[0].startswith("no action: the recorded one is a placeholder")


def test_a_column_named_as_anothers_validity_is_refused_only_where_that_is_needed(made: SimpleNamespace) -> None:
    valid = f"{GLOVE}_valid"
    both = {GLOVE: made.held(GLOVE, 256), valid: made.held(valid, 3)}
    assert names(settle([made.plan(both)], OPTIONS)) == [GLOVE, valid]
    missing = {**both, GLOVE: made.held(GLOVE, 256, missing=1)}
    assert refused(lambda: settle([made.plan(missing)], OPTIONS))[0][1:] == (GLOVE, f"a column {valid} of its own")


@pytest.mark.parametrize(
    "name",
    ["slam_pose", "observation.slam_pose", "slam_trajectory", "observation.slam_trajectory", "slam_pose_valid"],
)
def test_a_state_names_features_or_columns_with_observation_or_without(made: SimpleNamespace, name: str) -> None:
    columns = {POSE: made.held("observation.slam_trajectory", 9, missing=1)}
    options = replace(OPTIONS, state=(name,))
    state = settle([made.plan(columns)], options).features(options)[0]
    assert (state.name, state.width) == ("observation.state", 1 if name.endswith("valid") else 9)


def test_every_fault_of_the_options_is_told_at_once(made: SimpleNamespace) -> None:
    hand = "observation.left_hand_pose"
    plan = made.plan({GLOVE: made.held(GLOVE, 256), hand: made.held(hand, 63, filled=False)}, cameras={})
    options = replace(OPTIONS, state=("glove", "left_hand_pose", "left_glove", GLOVE), action=("torque",))
    with pytest.raises(Refused) as caught:
        settle([plan], options)
    faults = caught.value.faults
    assert [(fault.field, fault.found) for fault in faults] == [
        ("source.state", "glove"),
        ("source.state", "left_hand_pose, which was left out (nothing but its fill in any episode)"),
        ("source.state", f"{GLOVE} twice"),
        ("source.action", "torque"),
        ("source.cameras", "no camera to show"),
    ]
    assert faults[0].expected == "features: left_glove"
    assert [fault.option for fault in faults[2:]] == [
        "+source.state=[...]",
        "+source.action=[...]",
        "+source.depth=true",
    ]
    assert all(fault.where == COMMAND_LINE for fault in faults)


def test_the_next_state_needs_a_state(made: SimpleNamespace) -> None:
    plan = made.plan({GLOVE: made.held(GLOVE, 256)})
    found = refused(lambda: settle([plan], replace(OPTIONS, action="next_state")))
    assert found == [(COMMAND_LINE, "source.action", "next_state")]
    options = replace(OPTIONS, state=("left_glove",), action="next_state")
    both = settle([plan], options)
    state, action, _ = both.features(options)
    assert (action.name, action.names) == ("action", state.names)
    assert not any("no action" in note for note in both.notes)


def test_cameras_are_colour_first_then_depth_where_it_is_asked_for(made: SimpleNamespace) -> None:
    shown = {
        "a_depth": {"kind": "depth", "height_px": 10, "width_px": 12, "slot": "x", "stream": STREAM},
        "wrist": {"kind": "rgb", "height_px": 48, "width_px": 64, "slot": "w"},
        "head": {"kind": "rgb", "height_px": 40, "width_px": 60, "slot": "h", "stream": STREAM},
    }
    plans = [made.plan({}, cameras={"wrist": shown["wrist"]}), made.plan({}, cameras=shown)]
    assert [each.name for each in settle(plans, OPTIONS).cameras] == ["head", "wrist"]
    cameras = settle(plans, replace(OPTIONS, depth=Depth("lossless"))).cameras
    assert [tuple(each) for each in cameras] == [
        ("head", "rgb", 40, 60, STREAM),
        ("wrist", "rgb", 48, 64, None),
        ("a_depth", "depth", 10, 12, STREAM),
    ]
    only = made.plan({}, cameras={"a_depth": shown["a_depth"]})
    assert refused(lambda: settle([only], OPTIONS)) == [(COMMAND_LINE, "source.cameras", "no camera to show")]


def test_what_was_settled_is_read_back_from_json_as_it_was_and_garbage_is_not(made: SimpleNamespace) -> None:
    columns = {POSE: made.held("observation.slam_trajectory", 9, missing=1), GLOVE: made.held(GLOVE, 256)}
    cameras = {"top": {"kind": "rgb", "height_px": 48, "width_px": 64, "slot": "t", "stream": STREAM}}
    options = replace(OPTIONS, state=("slam_pose",), action="next_state", clocks=True)
    settled = settle([made.plan(columns, cameras=cameras)], options)
    document = json.loads(json.dumps(as_document(settled)))
    assert of_document(document) == settled
    assert document["columns"][0] == {"name": GLOVE, "column": GLOVE, "width": 256, "validity": False}
    garbage: list[Any] = [
        {},
        {**document, "cameras": [["top", "sound", 1, 1, None]]},
        {**document, "columns": [{"name": "x", "column": "x", "width": "3", "validity": False}]},
        {**document, "columns": [{"name": "x", "column": "x", "width": 3}]},
        {**document, "notes": "none"},
        {**document, "left_out": {"a": 1}},
    ]
    for each in garbage:
        with pytest.raises(msgspec.ValidationError):
            of_document(each)


def test_rows_are_composed_filled_and_told_valid(made: SimpleNamespace, tmp_path: Any) -> None:
    force = "observation.gripper_left_force"
    one = made.episode(tmp_path / "one", {
        "observation.gripper_state": made.fixed([[1, 0, 5], [2, 1, 6], [3, 1, 7]]),
        force: made.fixed([[1, 1, 1], [2, 2, 2], [3, 3, 3]]),
        f"{force}_ns": pa.array([made.start, 0, made.start + 2]),
    })  # fmt: skip
    points = [[0, 1, 2, 3, 0, 0, 1, 0], [], []]
    two = made.episode(tmp_path / "two", {
        "observation.gripper_state": made.fixed([[9, 0, 5], [8, 1, 6], [7, 1, 7]]),
        "observation.slam_trajectory": pa.array(points, pa.list_(pa.float64())),
        "observation.slam_trajectory_ns": pa.array([[made.start], [], []], pa.list_(pa.int64())),
    })  # fmt: skip
    frames = made.frames([made.start + each for each in range(3)])
    options = replace(OPTIONS, state=("gripper_left_force", "gripper_state", "slam_pose"), action="next_state")
    kept = [features.hold(each, frames, options) for each in (one, two)]
    settled = settle([made.plan(each.columns, f"episode_{at:06d}") for at, each in enumerate(kept)], options)
    assert names(settled, options) == [
        "observation.state",
        "action",
        force,
        f"{force}_valid",
        "observation.gripper_state",
        POSE,
        f"{POSE}_valid",
    ]
    first = features.read(one, frames, options, settled, kept[0].scales)
    unturned = [0, 0, 0, 1, 0, 0, 0, 1, 0]
    expected = np.array([[1, 1, 1, 1, 0, 5, *unturned], [0, 0, 0, 2, 1, 6, *unturned], [3, 3, 3, 3, 1, 7, *unturned]])
    np.testing.assert_array_equal(first["observation.state"], expected)
    np.testing.assert_array_equal(first["action"], expected[[1, 2, 2]])
    assert first["action"].dtype == np.float32
    np.testing.assert_array_equal(first[f"{force}_valid"].ravel(), [1, 0, 1])
    np.testing.assert_array_equal(first[f"{POSE}_valid"].ravel(), [0, 0, 0])
    second = features.read(two, frames, options, settled, kept[1].scales)
    turned = [1, 2, 3, -1, 0, 0, 0, -1, 0]  # half a turn about z
    np.testing.assert_allclose(second[POSE], [turned] * 3, atol=1e-7)
    np.testing.assert_array_equal(second[f"{force}_valid"].ravel(), [0, 0, 0])
    np.testing.assert_array_equal(second[force], np.zeros((3, 3)))


def test_an_action_of_columns_is_of_the_same_row_and_an_empty_episode_is_all_fill(
    made: SimpleNamespace, tmp_path: Any
) -> None:
    options = replace(OPTIONS, action=("observation.level", "closed"))
    one = made.episode(tmp_path / "one", {
        "observation.level": pa.array([0.5, 1.5]), "observation.closed": pa.array([True, False]),
    })  # fmt: skip
    none = made.episode(tmp_path / "none", {"status.cam0": pa.array(["connected"] * 2)})
    frames = made.frames([made.start, made.start + 1])
    kept = [features.hold(each, frames, options) for each in (one, none)]
    assert kept[1].columns == {}
    settled = settle([made.plan(kept[0].columns), made.plan({}, "episode_000002")], options)
    rows = features.read(one, frames, options, settled, {})
    np.testing.assert_array_equal(rows["action"], [[0.5, 1], [1.5, 0]])
    assert settled.features(options)[0].names == ("level.v000", "closed.v000")
    empty = features.read(none, frames, options, settled, {})
    assert list(empty) == names(settled, options)
    assert not any(array.any() for array in empty.values())


def test_a_state_or_an_action_that_holds_fill_is_told(made: SimpleNamespace) -> None:
    """A policy would learn zeros that nobody measured; what is in every row, or in neither of the two, is no matter."""
    whole = made.plan({POSE: made.held("observation.slam_trajectory", 9, missing=1), GLOVE: made.held(GLOVE, 256)})
    lacking = made.plan({GLOVE: made.held(GLOVE, 256)}, "episode_000002")
    told = f"{POSE} has no sample in 5 of 8 rows, which hold fill: {POSE}_valid tells, state and action do not"
    for state, action in ((("slam_pose", "left_glove"), "next_state"), ((), ("slam_trajectory",))):
        notes = settle([whole, lacking], replace(OPTIONS, state=state, action=action)).notes
        assert [note for note in notes if "fill" in note] == [told]
    assert settle([whole, lacking], replace(OPTIONS, state=("left_glove",), action="next_state")).notes == ()


def test_depth_that_is_asked_for_and_that_no_episode_shows_is_told(made: SimpleNamespace) -> None:
    asked = replace(OPTIONS, depth=Depth("lossless"), state=("left_glove",), action="next_state")
    plan = made.plan({GLOVE: made.held(GLOVE, 256)})
    assert settle([plan], asked).notes == ("depth is asked for, and no episode shows any",)
    deep = {"kind": "depth", "height_px": 48, "width_px": 64, "slot": "deep"}
    assert settle([made.plan({GLOVE: made.held(GLOVE, 256)}, cameras={"deep": deep})], asked).notes == ()
