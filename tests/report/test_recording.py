"""Recordings for Rerun, read back by its own reader: every row of the dataset is in them, and films as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import VideoError
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.viewer.recording import save_recording
from quickdraw.report.viewer.rows import Shown

pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")

VIEWS = {"scene": "scene_right", "wrist": "gripper_right_top"}
SPLIT, EPISODE = "train", 1

type Recorded = dict[str, list[pa.RecordBatch]]


def read(path: Path) -> Recorded:
    """Entity -> its batches, by Rerun."""
    from rerun.experimental import RrdReader

    found: Recorded = {}
    for chunk in RrdReader(path).stream():
        found.setdefault(chunk.entity_path, []).append(chunk.to_record_batch())
    return found


def rows_of(recorded: Recorded, entity: str, component: str) -> list[dict[str, Any]]:
    """What an entity has of a component, a dict a row in order: `row`, `time_ns` and `value`."""
    found = []
    for batch in recorded[entity]:
        if {component, "row"} <= set(batch.schema.names):
            times = batch["time"].cast(pa.int64()).to_pylist()
            values = batch[component].to_pylist()
            found += [
                {"row": row, "time_ns": time, "value": value}
                for row, time, value in zip(batch["row"].to_pylist(), times, values, strict=True)
            ]
    return sorted(found, key=lambda each: int(each["row"]))


def still(recorded: Recorded, entity: str, component: str) -> Any:
    """The value that holds in every row."""
    (batch,) = [b for b in recorded[entity] if component in b.schema.names and "row" not in b.schema.names]
    (value,) = batch[component].to_pylist()
    return value


def table(split: Path, episode: int) -> pa.Table:
    """An episode's rows, by Arrow alone."""
    filters = [("episode_index", "=", episode)]
    files = sorted(split.glob("data/*/*.parquet"))
    return pa.concat_tables([pq.read_table(file, filters=filters) for file in files]).sort_by("frame_index")


def numbers(rows: pa.Table, name: str) -> npt.NDArray[np.float64]:
    return np.array(rows[name].to_pylist(), np.float64)


@pytest.fixture(scope="module")
def shown(sample_dataset: Path) -> Shown:
    return Shown(SplitReader(sample_dataset / SPLIT), EPISODE, "block_stack_train", VIEWS)


@pytest.fixture(scope="module")
def recorded(shown: Shown, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder, heard = tmp_path_factory.mktemp("recording"), list[int]()
    save_recording(shown, folder / "a.rrd", heard.append)
    assert sum(heard) == shown.parts
    assert [path.name for path in folder.iterdir()] == ["a.rrd"]
    return read(folder / "a.rrd")


def test_state_and_action_are_the_parquets_on_both_timelines(sample_dataset: Path, recorded: Recorded) -> None:
    rows = table(sample_dataset / SPLIT, EPISODE)
    features = json.loads((sample_dataset / SPLIT / "meta/info.json").read_text())["features"]
    timestamps = numbers(rows, "timestamp")
    for feature in ("observation.state", "action"):
        stored = numbers(rows, feature)
        for column, name in enumerate(features[feature]["names"]):
            entity = f"/{feature}/{name}"
            found = rows_of(recorded, entity, "Scalars:scalars")
            assert [each["row"] for each in found] == list(range(len(rows)))
            np.testing.assert_array_equal([each["value"] for each in found], stored[:, [column]])
            np.testing.assert_allclose([each["time_ns"] for each in found], timestamps * 1e9, atol=1)
            assert still(recorded, entity, "SeriesLines:names") == [name]


def test_each_row_refers_to_its_picture_in_the_clip_which_is_there_byte_for_byte(
    sample_dataset: Path, recorded: Recorded
) -> None:
    length = len(table(sample_dataset / SPLIT, EPISODE))
    for camera in ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top"):
        clip = sample_dataset / f"media/{camera}/{SPLIT}/ep_{EPISODE:04d}.mp4"
        (blob,) = still(recorded, f"/cameras/{camera}", "AssetVideo:blob")
        assert bytes(blob) == clip.read_bytes()
        found = rows_of(recorded, f"/cameras/{camera}", "VideoFrameReference:timestamp")
        assert [each["row"] for each in found] == list(range(length))
        times_ns = [each["value"][0] for each in found]
        with av.open(str(clip)) as container:
            stream = container.streams.video[0]
            starts = sorted(p.pts * float(p.time_base) for p in container.demux(stream) if p.pts is not None)
        np.testing.assert_allclose(times_ns, np.array(starts) * 1e9, atol=1)


def test_without_clips_rows_refer_to_the_splits_own_file_from_where_the_episode_begins(
    sample_dataset: Path, shown: Shown, tmp_path: Path
) -> None:
    root = tmp_path / "alone" / SPLIT
    shutil.copytree(sample_dataset / SPLIT, root)
    save_recording(replace(shown, split=SplitReader(root)), tmp_path / "a.rrd", lambda _: None)
    recorded, camera = read(tmp_path / "a.rrd"), "scene_right"
    key = f"observation.images.{camera}"
    (file,) = (root / "videos" / key).glob("*/*.mp4")
    episode = pq.read_table(next(root.glob("meta/episodes/*/*.parquet"))).to_pylist()[EPISODE]
    first_s = episode[f"videos/{key}/from_timestamp"]
    assert first_s > 1  # another episode comes before it
    assert bytes(still(recorded, f"/cameras/{camera}", "AssetVideo:blob")[0]) == file.read_bytes()
    found = rows_of(recorded, f"/cameras/{camera}", "VideoFrameReference:timestamp")
    wanted = first_s + np.arange(episode["length"]) / 30
    np.testing.assert_allclose([each["value"][0] / 1e9 for each in found], wanted, atol=1e-6)


def test_cubes_are_points_where_seen_and_boxes_where_held(sample_dataset: Path, recorded: Recorded) -> None:
    rows = table(sample_dataset / SPLIT, EPISODE)
    features = json.loads((sample_dataset / SPLIT / "meta/info.json").read_text())["features"]
    names = features["observation.objects.cube"]["names"]
    cubes, held_rows = numbers(rows, "observation.objects.cube"), 0
    for view, camera in VIEWS.items():
        for colour in ("red", "green", "blue", "purple"):
            cx, cy, seen = (cubes[:, names.index(f"{colour}_{view}_{what}")] for what in ("cx", "cy", "vis"))
            known = (cx > 0) | (cy > 0)
            for suffix, component, there in (
                ("seen", "Points2D:positions", seen > 0),
                ("held", "Boxes2D:centers", known & ~(seen > 0)),
            ):
                entity = f"/cameras/{camera}/cubes/{colour}_{suffix}"
                if not there.any():
                    assert entity not in recorded
                    continue
                found = rows_of(recorded, entity, component)
                assert [len(each["value"]) for each in found] == there.astype(int).tolist()
                at = np.array([each["value"][0] for each in found if each["value"]])
                np.testing.assert_allclose(at, np.stack([cx[there] * 192, cy[there] * 144], axis=1), rtol=1e-6)
                held_rows += len(at) * (suffix == "held")
    assert held_rows > 0


def test_the_end_effector_is_a_frame_in_metres_whose_third_axis_is_the_cross_product(
    sample_dataset: Path, recorded: Recorded
) -> None:
    state = numbers(table(sample_dataset / SPLIT, EPISODE), "observation.state")
    xyz = [each["value"][0] for each in rows_of(recorded, "/world/end_effector", "Transform3D:translation")]
    np.testing.assert_allclose(xyz, state[:, :3] / 1000, rtol=1e-6)
    columns = np.array([e["value"][0] for e in rows_of(recorded, "/world/end_effector", "Transform3D:mat3x3")])
    rotation = columns.reshape(-1, 3, 3).transpose(0, 2, 1)  # Rerun stores column after column
    np.testing.assert_allclose(rotation[:, :, 0], state[:, 3:6], atol=1e-6)
    np.testing.assert_allclose(rotation[:, :, 1], state[:, 6:9], atol=1e-6)
    np.testing.assert_allclose(np.linalg.det(rotation), 1, atol=1e-5)
    np.testing.assert_allclose(
        rotation @ rotation.transpose(0, 2, 1), np.tile(np.eye(3), (len(state), 1, 1)), atol=1e-5
    )
    (strip,) = still(recorded, "/world/end_effector_path", "LineStrips3D:strips")
    np.testing.assert_allclose(strip, state[:, :3] / 1000, rtol=1e-6)


def test_a_pooled_episode_has_depth_in_millimetres_and_its_pose(pooled_dataset: Path, tmp_path: Path) -> None:
    split = SplitReader(pooled_dataset / "val")
    save_recording(Shown(split, 0, "umi_pick_val", VIEWS), tmp_path / "a.rrd", lambda _: None)
    recorded = read(tmp_path / "a.rrd")
    (camera,) = [name for name in split.cameras if split.is_depth(name)]
    found = rows_of(recorded, f"/cameras/{camera}", "DepthImage:buffer")
    (form,) = rows_of(recorded, f"/cameras/{camera}", "DepthImage:format")[0]["value"]
    pictures = list(split.depth(0, camera))
    assert len(found) == len(pictures) == len(table(pooled_dataset / "val", 0))
    assert (form["height"], form["width"]) == pictures[0].shape
    for each, depth_mm in zip(found, pictures, strict=True):
        stored = np.array(each["value"][0], np.uint8).view("<u2").reshape(depth_mm.shape)
        np.testing.assert_array_equal(stored, depth_mm)
    assert still(recorded, f"/cameras/{camera}", "DepthImage:meter") == [1000.0]
    pose = numbers(table(pooled_dataset / "val", 0), "observation.slam_pose")
    xyz = [each["value"][0] for each in rows_of(recorded, "/world/slam_pose", "Transform3D:translation")]
    np.testing.assert_allclose(xyz, pose[:, :3], rtol=1e-6)  # metres already


def test_the_same_episode_is_the_same_recording_but_for_rerun_s_own_numbers(shown: Shown, tmp_path: Path) -> None:
    """Rerun numbers chunks and rows by the clock; all else is the same, so that two runs can be held to one another."""
    for name in "ab":
        save_recording(shown, tmp_path / f"{name}.rrd", lambda _: None)
    first, second = (read(tmp_path / f"{name}.rrd") for name in "ab")

    def content(recorded: Recorded) -> dict[str, list[Any]]:
        return {
            entity: sorted(
                str({c: batch[c].to_pylist() for c in batch.schema.names if "RowId" not in c})
                for batch in batches
                if not any("blob" in c for c in batch.schema.names)
            )
            for entity, batches in recorded.items()
        }

    assert content(first) == content(second)
    everything = b"".join((tmp_path / f"{name}.rrd").read_bytes() for name in "ab")
    assert str(tmp_path).encode() not in everything


def test_names_that_rerun_s_paths_are_written_with_are_escaped(
    synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path], tmp_path: Path
) -> None:
    def make(folder: Path) -> None:
        folder.mkdir()
        action = replace(synthetic.ACTION, names=("a/b", 'c d"<é>', "关节"))
        episode = synthetic.fake_episode(0, 1, folder)
        synthetic.pack(folder / "split", synthetic.dataset_spec(features=(synthetic.STATE, action)), [episode])

    split = SplitReader(once("recording-odd-names", make) / "split")
    save_recording(Shown(split, 0, "split", {}), tmp_path / "a.rrd", lambda _: None)
    recorded = read(tmp_path / "a.rrd")
    named = {still(recorded, entity, "SeriesLines:names")[0] for entity in recorded if entity.startswith("/action/")}
    assert named == {"a/b", 'c d"<é>', "关节"}


def test_nothing_is_left_behind_by_a_recording_that_fails(shown: Shown, tmp_path: Path) -> None:
    (tmp_path / "a.rrd").write_text("older")

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_recording(shown, tmp_path / "a.rrd", stop)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.rrd": "older"}


@pytest.mark.parametrize(("is_cut", "found"), [(True, "unreadable"), (False, "0 pictures of episode 0, expected 12")])
def test_a_film_that_cannot_be_read_or_ends_early_is_named(
    is_cut: bool, found: str, pooled_dataset: Path, tmp_path: Path
) -> None:
    root = tmp_path / "alone" / "val"
    shutil.copytree(pooled_dataset / "val", root)
    (video,) = root.glob("videos/observation.images.umi_rgb/*/*.mp4")
    if is_cut:
        video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    else:  # an episode that is told to begin where the file ends
        path = next(root.glob("meta/episodes/*/*.parquet"))
        table, name = pq.read_table(path), "videos/observation.images.umi_rgb/from_timestamp"
        late = pa.array([12 / 30], table.schema.field(name).type)
        pq.write_table(table.set_column(table.schema.get_field_index(name), name, late), path)
    with pytest.raises(VideoError, match=found) as raised:
        save_recording(Shown(SplitReader(root), 0, "val", {}), tmp_path / "a.rrd", lambda _: None)
    assert raised.value.path == str(video)
    assert not list(tmp_path.glob("*.rrd*"))
