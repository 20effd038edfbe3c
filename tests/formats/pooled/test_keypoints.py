"""The mirror's files by their schemas, and 3D hands put into the data file by frame and label, nothing else changed."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled import exclusive, keypoint_files, keypoints
from quickdraw.formats.pooled.keypoint_files import (
    HandPose,
    HandPose3D,
    Mirror,
    read_auto_labels,
    read_hand_pose,
    read_hand_pose_3d,
    write_hand_pose,
    write_hand_pose_3d,
)
from quickdraw.formats.pooled.keypoints import backfill
from quickdraw.formats.pooled.layout import Layout

LEFT, RIGHT = "observation.left_hand_pose", "observation.right_hand_pose"
MATRIX = "observation.gripper_left_force_matrix"
POSE = pa.list_(pa.float32(), 63)


def hands_3d(frames: list[int], labels: list[tuple[str, str]], present: list[tuple[bool, bool]]) -> HandPose3D:
    """Landmark p, axis a of hand h in frame f is f + h / 2 + (3 p + a) / 1024: exact in float32."""
    frame, hand = np.array(frames, float).reshape(-1, 1, 1, 1), np.arange(2).reshape(1, 2, 1, 1)
    landmarks = frame + hand / 2 + np.arange(63).reshape(1, 1, 21, 3) / 1024
    return HandPose3D(
        np.array(frames, np.int32),
        np.array(present, np.bool_).reshape(-1, 2),
        np.broadcast_to(landmarks, (len(frames), 2, 21, 3)).astype(np.float32),
        np.array(labels, object).reshape(-1, 2),
    )


def landmarks(frame: int, hand: int) -> list[float]:
    return [frame + hand / 2 + k / 1024 for k in range(63)]


def task(root: Path, frame_index: list[int], **more: Any) -> Layout:
    layout = Layout(root)
    layout.data(2).parent.mkdir(parents=True)
    rows = len(frame_index)
    table = {
        "frame_index": pa.array(frame_index, pa.int64()),
        "hardware_ns": pa.array([(1 << 60) + k for k in range(rows)], pa.int64()),
        MATRIX: pa.array(
            [np.full(187_500 if k % 4 == 0 else 0, k, np.int16) for k in range(rows)], pa.list_(pa.int16())
        ),
        "observation.slam_trajectory": pa.array([[0.1] * 8 * (k % 3) for k in range(rows)], pa.list_(pa.float64())),
        LEFT: pa.array([[-1.0] * 63] * rows, POSE),
        RIGHT: pa.array([[0.0] * 63] * rows, POSE),
        "status.cam0": pa.array(["connected"] * rows),
        **more,
    }
    schema = pa.table(table).schema.with_metadata({b"kept": b"yes"})
    pq.write_table(pa.table(table, schema=schema), layout.data(2), compression="zstd")
    return layout


def mirrored(root: Path, layout: Layout, found: HandPose3D) -> Path:
    write_hand_pose_3d(Mirror.of(root, layout.root.name, 2).hand_pose_3d, found)
    return root


def test_the_mirror_is_named_by_the_global_number(tmp_path: Path) -> None:
    assert Mirror.of(tmp_path, "手套", 1001).hand_pose == tmp_path / "手套/episode_001001/hand_pose/chunk-000.parquet"
    assert Mirror.of(tmp_path, "t", 1).auto_labels == tmp_path / "t/episode_000001/auto_labels/auto_labels.parquet"
    with pytest.raises(ValueError, match="start at 1"):
        Mirror.of(tmp_path, "t", 0)


def test_hands_in_the_picture_are_stored_in_the_contracts_columns_and_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    boxes = rng.uniform(2, 90, (3, 2, 4)).astype(np.float32)
    boxes[1, 1], boxes[2, 0, 2:] = 0, (50, 1)
    points = rng.uniform(0, 90, (3, 2, 21, 2)).astype(np.float32)
    frames, hands = np.array([0, 2, 5], np.int32), np.array([2, 1, 1], np.int32)
    found = HandPose(frames, hands, points, boxes, np.arange(6, dtype=np.int32).reshape(3, 2))
    path = tmp_path / "new" / "chunk-000.parquet"

    write_hand_pose(path, found)

    plain = pq.read_table(path)
    kinds = [("frame_index", "int32"), ("num_hands", "int32")]
    kinds += [("hand_data", "fixed_size_list<element: float>[92]"), ("track_ids", "fixed_size_list<element: int32>[2]")]
    assert [(field.name, str(field.type)) for field in plain.schema] == kinds
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    row = plain["hand_data"][1].as_py()
    assert row[46:88] == points[1, 1].reshape(-1).tolist()  # hand 1 begins at 46, its box at 88
    assert row[42:46] == boxes[1, 0].tolist()
    again = read_hand_pose(path)
    assert (again.points_px == points).all()
    assert (again.boxes_px == boxes).all()
    assert again.present.tolist() == [[True, True], [True, False], [False, True]]
    assert again.track_ids.tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match="shape"):
        write_hand_pose(path, replace(found, boxes_px=boxes[:2]))


def test_the_mirrors_file_and_its_new_folders_are_down_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[str]()
    monkeypatch.setattr(keypoint_files, "sync", lambda folder: synced.append(folder.relative_to(tmp_path).as_posix()))
    path = Mirror.of(tmp_path / "kp", "t", 1).hand_pose_3d
    for _ in range(2):
        write_hand_pose_3d(path, hands_3d([0], [("Left", "Right")], [(True, True)]))
    folder = "kp/t/episode_000001/hand_pose_3d"
    assert synced == [folder, "kp/t/episode_000001", "kp/t", "kp", ".", folder]


def test_hands_in_space_are_stored_in_the_contracts_columns_and_come_back(tmp_path: Path) -> None:
    found = hands_3d([0, 7], [("Left", "Right"), ("Right", "")], [(True, True), (True, False)])
    path = tmp_path / "hand_pose_3d" / "chunk-000.parquet"

    write_hand_pose_3d(path, found)

    plain = pq.read_table(path)
    names = [f"hand_{hand}_{name}" for hand in (0, 1) for name in ("present", "landmarks_3d", "label")]
    assert plain.schema.names == ["frame_index", *names]
    types = [str(field.type) for field in plain.schema]
    assert types == ["int32", *["bool", "fixed_size_list<element: float>[63]", "string"] * 2]
    assert plain["hand_1_landmarks_3d"][1].as_py() == landmarks(7, 1)
    again = read_hand_pose_3d(path)
    assert (again.landmarks_m == found.landmarks_m).all()
    assert again.present.tolist() == [[True, True], [True, False]]
    assert again.labels.tolist() == [["Left", "Right"], ["Right", ""]]


def test_the_samples_3d_hands_are_read_and_written_as_they_are(sample_pooled: Path, tmp_path: Path) -> None:
    path = Mirror.of(sample_pooled / "keypoints_output", "手套_抓取", 2).hand_pose_3d
    found = read_hand_pose_3d(path)
    plain = pq.read_table(path)
    assert found.frame_index.tolist() == plain["frame_index"].to_pylist() == list(range(35))
    assert found.landmarks_m[:, 0].reshape(35, 63).tolist() == plain["hand_0_landmarks_3d"].to_pylist()
    assert found.labels[:, 0].tolist() == plain["hand_0_label"].to_pylist()
    write_hand_pose_3d(tmp_path / "x.parquet", found)
    assert pq.read_table(tmp_path / "x.parquet").equals(plain)


def auto_labels(rows: int) -> dict[str, Any]:
    table: dict[str, Any] = {"frame_index": pa.array(range(rows), pa.int32())}
    for hand in (0, 1):
        own = {
            "gesture": pa.array(["fist", "none"] * (rows // 2)),
            "extended": pa.array([["thumb", "index"][: k % 3] for k in range(rows)], pa.list_(pa.string())),
            "extended_count": pa.array([k % 3 for k in range(rows)], pa.int32()),
            "fist": pa.array([k % 2 == 0 for k in range(rows)]),
            "pinch": pa.array([k % 3 == hand for k in range(rows)]),
            "center_x": pa.array([k + 0.5 for k in range(rows)], pa.float32()),
            "center_y": pa.array([-1.0] * rows, pa.float32()),
            "motion": pa.array([k * 2.0 + hand for k in range(rows)], pa.float32()),
        }
        table |= {f"hand_{hand}_{name}": values for name, values in own.items() if hand == 0 or "center" not in name}
    return {
        **table,
        "two_hand_distance": pa.array([-1.0] * rows, pa.float32()),
        "contact": pa.array(["grasping"] * rows),
    }


def test_automatic_labels_are_read_and_hand_1_has_no_centre(tmp_path: Path) -> None:
    pq.write_table(pa.table(auto_labels(6)), tmp_path / "x.parquet")

    found = read_auto_labels(tmp_path / "x.parquet")

    assert found.hands[0].gesture.tolist() == ["fist", "none"] * 3
    assert found.hands[1].extended == ((), ("thumb",), ("thumb", "index")) * 2
    assert found.hands[0].center_px is not None
    assert found.hands[0].center_px.tolist() == [[k + 0.5, -1.0] for k in range(6)]
    assert found.hands[1].center_px is None
    assert found.hands[1].motion_px.tolist() == [k * 2.0 + 1 for k in range(6)]
    assert found.hands[1].pinch.tolist() == [k % 3 == 1 for k in range(6)]
    assert found.two_hand_distance_px.tolist() == [-1.0] * 6
    assert found.contact.tolist() == ["grasping"] * 6


def test_a_mirrors_file_of_another_schema_is_refused_with_all_that_is_wrong(tmp_path: Path) -> None:
    table = auto_labels(2)
    table["frame_index"] = pa.array([0.0, 1.0])
    del table["contact"]
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    with pytest.raises(Refused) as caught:
        read_auto_labels(tmp_path / "x.parquet")
    assert [fault.field for fault in caught.value.faults] == ["frame_index", "contact"]
    with pytest.raises(Refused, match="unreadable"):
        read_hand_pose(tmp_path / "none.parquet")
    short = {"frame_index": pa.array([0], pa.int32()), "num_hands": pa.array([1], pa.int32())}
    short |= {
        "hand_data": pa.array([[0.0] * 46], pa.list_(pa.float32())),
        "track_ids": pa.array([[1, 2]], pa.list_(pa.int32())),
    }
    pq.write_table(pa.table(short), tmp_path / "short.parquet")
    with pytest.raises(Refused, match="46 values a row, expected 92"):
        read_hand_pose(tmp_path / "short.parquet")


def test_hands_go_to_the_row_of_their_frame_and_the_column_of_their_label(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", [0, 1, 2, 3, 4])
    found = hands_3d(
        [4, 0, 2], [("Left", "Right"), ("Right", "Left"), ("Right", "")], [(True, True), (True, True), (True, False)]
    )

    report = backfill(layout, 2, mirrored(tmp_path / "kp", layout, found))

    plain = pq.read_table(layout.data(2)).to_pydict()
    untouched_left, untouched_right = [-1.0] * 63, [0.0] * 63
    assert plain[LEFT] == [landmarks(0, 1), untouched_left, untouched_left, untouched_left, landmarks(4, 0)]
    assert plain[RIGHT] == [landmarks(0, 0), untouched_right, landmarks(2, 0), untouched_right, landmarks(4, 1)]
    assert report == keypoints.Report(
        rows=5, filled={LEFT: 2, RIGHT: 3}, unlabelled=0, second=0, not_finite=0, no_row=0, changed=True
    )


def test_nothing_but_the_two_columns_changes_and_row_groups_stay_small(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", list(range(600)))
    before = pq.read_table(layout.data(2))
    found = hands_3d(list(range(600)), [("Left", "Right")] * 600, [(True, True)] * 600)

    backfill(layout, 2, mirrored(tmp_path / "kp", layout, found))

    after = pq.read_table(layout.data(2))
    assert after.schema.equals(before.schema, check_metadata=True)
    same = [name for name in before.column_names if name not in (LEFT, RIGHT)]
    assert after.select(same).equals(before.select(same))
    assert after[RIGHT].to_pylist() == [landmarks(frame, 1) for frame in range(600)]
    footer = pq.ParquetFile(layout.data(2)).metadata
    assert all(footer.row_group(k).num_rows <= 256 for k in range(footer.num_row_groups))
    assert footer.num_row_groups < 600 / 50
    chunks = [footer.row_group(0).column(k) for k in range(footer.num_columns)]
    assert {each.compression for each in chunks} == {"ZSTD"}
    dictionaries = [each.path_in_schema for each in chunks if "RLE_DICTIONARY" in each.encodings]
    assert dictionaries == ["status.cam0"]  # as a recorder writes it
    sizes = [footer.row_group(k).total_byte_size for k in range(footer.num_row_groups)]
    assert max(sizes) < 34 << 20  # 16 MB and a little in memory: Parquet has no int16, and takes 32 bits
    assert [path.name for path in layout.data(2).parent.iterdir()] == ["episode-001.parquet"]


def test_both_rows_of_a_frame_of_two_slots_get_its_hand(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", [0, 0, 1, 1])
    report = backfill(layout, 2, mirrored(tmp_path / "kp", layout, hands_3d([1], [("Right", "")], [(True, False)])))
    assert pq.read_table(layout.data(2))[RIGHT].to_pylist()[2:] == [landmarks(1, 0)] * 2
    assert report.filled == {LEFT: 0, RIGHT: 2}


def test_hands_that_have_no_place_are_counted_and_change_nothing(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", [0, 1, 2])
    labels = [("Right", "Right"), ("left", ""), ("Left", "Right"), ("Right", "")]
    found = hands_3d([0, 1, 2, 9], labels, [(True, True)] * 3 + [(True, False)])
    found.landmarks_m[2, :, 5] = [[np.nan] * 3, [np.inf] * 3]
    before = pq.read_table(layout.data(2))

    report = backfill(layout, 2, mirrored(tmp_path / "kp", layout, found))

    assert (report.second, report.unlabelled, report.not_finite, report.no_row) == (1, 2, 2, 1)
    after = pq.read_table(layout.data(2))
    assert after[RIGHT].to_pylist() == [landmarks(0, 0), [0.0] * 63, [0.0] * 63]
    assert after[LEFT].equals(before[LEFT])


def test_filling_again_leaves_the_file_untouched(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", [0, 1])
    root = mirrored(tmp_path / "kp", layout, hands_3d([0], [("Left", "")], [(True, False)]))
    assert backfill(layout, 2, root).changed
    content, stat = layout.data(2).read_bytes(), layout.data(2).stat()

    again = backfill(layout, 2, root)

    assert not again.changed
    assert again.filled == {LEFT: 1, RIGHT: 0}
    assert layout.data(2).read_bytes() == content
    assert layout.data(2).stat().st_ino == stat.st_ino


def test_a_frame_told_twice_a_missing_column_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", [0, 1])
    root = mirrored(tmp_path / "kp", layout, hands_3d([1, 1], [("Left", "")] * 2, [(True, False)] * 2))
    with pytest.raises(Refused, match="1 more than once"):
        backfill(layout, 2, root)
    with pytest.raises(Refused, match="unreadable"):
        backfill(layout, 2, tmp_path / "nowhere")
    with pytest.raises(Refused, match="unreadable"):
        backfill(layout, 3, root)
    pq.write_table(pa.table({"frame_index": pa.array([0])}), layout.data(2))
    with pytest.raises(Refused, match="no such column") as caught:
        backfill(layout, 2, root)
    assert [fault.field for fault in caught.value.faults] == [LEFT, RIGHT]


def test_nothing_is_filled_while_another_is_at_work_on_the_task(tmp_path: Path) -> None:
    layout = task(tmp_path / "t", [0])
    root = mirrored(tmp_path / "kp", layout, hands_3d([0], [("Left", "")], [(True, False)]))
    with exclusive.changing(layout), pytest.raises(Refused, match="at work"):
        backfill(layout, 2, root)


@pytest.mark.parametrize("step", ["sync", "replace"])
def test_a_failure_while_filling_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    layout = task(tmp_path / "t", [0])
    root = mirrored(tmp_path / "kp", layout, hands_3d([0], [("Left", "")], [(True, False)]))
    content = layout.data(2).read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    if step == "sync":
        monkeypatch.setattr(keypoints, "sync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        backfill(layout, 2, root)

    assert layout.data(2).read_bytes() == content
    assert [path.name for path in layout.data(2).parent.iterdir()] == ["episode-001.parquet"]


def test_the_samples_hands_are_filled_in_by_label(sample_pooled: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_pooled / "recordings" / "手套_抓取", tmp_path / "手套_抓取")
    layout = Layout(tmp_path / "手套_抓取")
    hands = pq.read_table(Mirror.of(sample_pooled / "keypoints_output", "手套_抓取", 2).hand_pose_3d).to_pydict()
    before = pq.read_table(layout.data(2)).to_pydict()

    report = backfill(layout, 2, sample_pooled / "keypoints_output")

    after = pq.read_table(layout.data(2)).to_pydict()
    assert set(hands["hand_0_label"]) == {"Right"}
    assert after[RIGHT] == hands["hand_0_landmarks_3d"]
    assert {name for name in before if before[name] != after[name]} == {RIGHT}
    assert report.filled == {LEFT: 0, RIGHT: 35}
