"""Episode after episode in one task: numbers, aborts, and the documents that add up. Witness: json and pyarrow."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled import exclusive, journal, numbers
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.recording import spool
from quickdraw.formats.pooled.writer import Recorder, Slot

T0 = 1.79e9
RGB = Slot("head_rgb", 32, 32)
ROW_TYPES = [
    *[(name, "int64") for name in ("episode_index", "task_index", "start_frame_index", "end_frame_index", "length")],
    *[(name, "double") for name in ("created_at", "duration_sec")],
    *[(name, "string") for name in ("drop_stats", "video_codec", "calibration", "force_matrix_specs")],
]


def made(root: Path, name: str = "pick", **options: Any) -> Recorder:
    return Recorder(root, name, **{"slots": [RGB], "app_version": "1.2.3", **options})


def frames(recorder: Recorder, count: int = 2, *, glove: float | None = None, imu: float | None = None) -> None:
    for k in range(count):
        if glove is not None:
            recorder.add_glove("right_glove", np.full(256, glove + k))
        if imu is not None:
            recorder.add_imu([1000 + k], np.full((1, 6), imu + k))
        pictures: dict[str, Any] = {
            slot.name: np.full((32, 32, 3), 9 * k, np.uint8) for slot in recorder._slots if not slot.depth
        }
        recorder.add_frame(pictures, hardware_ns=1000 + k, wall_time=T0 + k / 30)


def record(recorder: Recorder, number: int | None = None, *, again: bool = False, **samples: Any) -> int:
    given = recorder.begin(number, again=again)
    frames(recorder, **samples)
    assert recorder.end().number == given
    return given


def info(recorder: Recorder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((recorder.root / "meta/info.json").read_text())
    return found


def stats(recorder: Recorder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((recorder.root / "meta/stats.json").read_text())
    return found


def marker(recorder: Recorder) -> int | None:
    path = recorder.root / "meta/recycled_episode.json"
    return json.loads(path.read_text())["episode_index"] if path.exists() else None


def remove(recorder: Recorder, *numbers_: int, rows: bool = False) -> None:
    """As the recorder of the contract deletes: files, and perhaps the row."""
    for number in numbers_:
        for path in recorder.root.rglob(f"episode-{number - 1:03d}.*"):
            if rows or "meta" not in path.parts:
                path.unlink()


def test_numbers_rise_and_are_never_given_again_whatever_was_deleted(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        assert [record(recorder) for _ in range(3)] == [1, 2, 3]
        remove(recorder, 3)
        assert record(recorder) == 4
        remove(recorder, 1, 2, 3, 4, rows=True)
        assert record(recorder) == 5
        assert info(recorder)["last_episode_index"] == 5
        assert info(recorder)["total_episodes"] == 3  # it never falls; one is there


def test_an_aborted_number_is_free_and_goes_first_even_before_the_watermark(tmp_path: Path) -> None:
    """P-42, the sheet's examples."""
    with made(tmp_path) as recorder:
        record(recorder), record(recorder)
        assert recorder.begin() == 3
        frames(recorder)
        recorder.abort()
        assert marker(recorder) == 3
    with made(tmp_path, watermark=50) as recorder:
        assert record(recorder) == 3
        assert marker(recorder) is None
        assert record(recorder) == 50
        assert record(recorder) == 51


def test_a_marker_of_a_taken_number_is_dropped(tmp_path: Path) -> None:
    with made(tmp_path, watermark=50) as recorder:
        record(recorder, 1), record(recorder, 2)
        numbers.write_marker(Layout(recorder.root), 2)
        assert recorder.begin() == 50
        assert marker(recorder) is None
        recorder.abort()


def test_a_good_end_clears_the_marker_whatever_number_it_holds(tmp_path: Path) -> None:
    """P-43: 5 stays unused for ever, which is specified and harmless."""
    with made(tmp_path) as recorder:
        recorder.begin(5)
        recorder.abort()
        record(recorder, 6)
        assert marker(recorder) is None
        assert record(recorder) == 7


def test_a_second_abort_replaces_the_first_for_there_is_room_for_one(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        for number in (4, 9):
            recorder.begin(number)
            recorder.abort()
        assert marker(recorder) == 9
        assert recorder.begin() == 9
        recorder.abort()


def test_an_abort_leaves_the_marker_and_nothing_else(tmp_path: Path) -> None:
    with made(tmp_path, slots=[RGB, Slot("d", 32, 32, depth=True)]) as recorder:
        recorder.begin()
        frame = {"head_rgb": np.zeros((32, 32, 3), np.uint8), "d": np.ones((32, 32), np.uint16)}
        for k in range(300):
            recorder.add_frame(frame, hardware_ns=k, wall_time=T0 + k)
        recorder.abort()
        names = sorted(path.relative_to(recorder.root).as_posix() for path in recorder.root.rglob("*"))
        assert names == ["meta", "meta/.recorder.lock", "meta/recycled_episode.json"]
        content = json.loads((recorder.root / "meta/recycled_episode.json").read_text())
        assert list(content) == ["episode_index", "freed_at"]
        record(recorder)
        before = {path: path.read_bytes() for path in recorder.root.rglob("*") if path.is_file()}
        recorder.begin()
        frames_of = {"head_rgb": np.zeros((32, 32, 3), np.uint8)}
        recorder.add_frame(frames_of, hardware_ns=0, wall_time=T0)
        recorder.abort()
        (recorder.root / "meta/recycled_episode.json").unlink()
        assert {path: path.read_bytes() for path in recorder.root.rglob("*") if path.is_file()} == before


def test_who_leaves_without_an_end_aborts(tmp_path: Path) -> None:
    recorder = made(tmp_path)

    def leave() -> None:
        with recorder:
            record(recorder)
            recorder.begin()
            frames(recorder)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave()
    assert marker(recorder) == 2
    assert len(list((recorder.root / "videos").rglob("*.*"))) == 1


def test_a_finished_number_is_recorded_again_only_when_asked_and_counted_once(tmp_path: Path) -> None:
    """P-46. The old one stays until the new one is whole; an abort leaves it, and no marker."""
    with made(tmp_path) as recorder:
        record(recorder, glove=1.0), record(recorder, glove=100.0, count=4)
        with pytest.raises(Refused, match=r"episode 1: found finished before, expected .* again=True"):
            recorder.begin(1)
        with pytest.raises(ValueError, match="needs the number"):
            recorder.begin(again=True)
        for bad in (0, -1, 1 << 60):
            with pytest.raises(Refused, match="no number of an episode"):
                recorder.begin(bad)
        before = {path: path.read_bytes() for path in recorder.root.rglob("*") if path.is_file()}
        recorder.begin(1, again=True)
        frames(recorder, glove=5.0)
        recorder.abort()
        assert {path: path.read_bytes() for path in recorder.root.rglob("*") if path.is_file()} == before
        assert record(recorder, 1, again=True, glove=11.0, count=3) == 1
        block = stats(recorder)["observation.right_glove"]
        values = [11.0, 12.0, 13.0, 100.0, 101.0, 102.0, 103.0]
        assert block["count"] == 7
        assert block["mean"] == pytest.approx([np.mean(values)] * 256)
        assert (block["min"][0], block["max"][0]) == (11.0, 103.0)
        assert info(recorder)["total_episodes"] == 2
        remove(recorder, 1, rows=True)
        with pytest.raises(Refused, match="found not above the last finished number 2, expected a new number"):
            recorder.begin(1)


def test_a_number_that_was_never_recorded_is_not_said_to_be_finished(tmp_path: Path) -> None:
    with made(tmp_path, watermark=10) as recorder:
        assert record(recorder) == 10
        with pytest.raises(Refused, match="episode 4: found not above the last finished number 10"):
            recorder.begin(4)


def test_recording_again_tells_what_the_statistics_lose_of_deleted_episodes(tmp_path: Path) -> None:
    """Contract 4: deletion takes nothing out of stats.json. An episode's own samples can be taken out no other way."""
    with made(tmp_path) as recorder:
        record(recorder, glove=1.0, count=2), record(recorder, glove=5.0, imu=1.0, count=3), record(recorder, glove=9.0)
        record(recorder, 1, again=True, glove=2.0, count=1)
        assert recorder.notes == ()
        remove(recorder, 2)
        record(recorder, 1, again=True, glove=2.0, count=4)
        assert sorted(recorder.notes) == [
            f"stats.json: made anew, observation.{name} no longer counts 3 samples of episodes whose data is gone"
            for name in ("imu", "right_glove")
        ]
        assert stats(recorder)["observation.right_glove"]["count"] == 4 + 2
        record(recorder, glove=1.0)
        assert recorder.notes == ()


def test_a_shards_row_goes_in_the_same_transaction_as_the_new_one_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(tmp_path) as recorder:
        record(recorder), record(recorder)
        layout, shard = Layout(recorder.root), Layout(recorder.root).shard(1)
        pq.write_table(pa.concat_tables([pq.read_table(layout.row(number)) for number in (1, 2)]), shard)
        layout.row(1).unlink(), layout.row(2).unlink()
        recorder.begin(2, again=True)
        frames(recorder, count=4)
        with monkeypatch.context() as failing:
            failing.setattr(journal, "_carry_out", lambda *_: (_ for _ in ()).throw(OSError("killed")))
            with pytest.raises(OSError, match="killed"):
                recorder.end()
    with exclusive.changing(layout):  # as the next recorder does
        pass
    assert pq.read_table(shard)["episode_index"].to_pylist() == [1]
    assert pq.read_table(layout.row(2))["length"].to_pylist() == [4]
    assert not list(recorder.root.rglob(".*.tmp"))


def test_recording_again_removes_the_videos_it_does_not_replace(tmp_path: Path) -> None:
    old, depth = Slot("D435_depth_rgb", 32, 32), Slot("d", 32, 32, depth=True)
    pictures = {"D435_depth_rgb": np.zeros((32, 32, 3), np.uint8), "d": np.ones((32, 32), np.uint16)}
    with made(tmp_path, slots=[old, depth]) as recorder:
        recorder.begin()
        recorder.add_frame(pictures, hardware_ns=0, wall_time=T0)
        recorder.end()
    (recorder.root / "videos/chunk-000/D435_depth_rgb_aux").mkdir()
    (recorder.root / "videos/chunk-000/D435_depth_rgb_aux/episode-000.mp4").write_bytes(b"x")
    depth = Slot("d", 64, 64, depth=True)
    with made(tmp_path, slots=[depth], depth="log12") as recorder:
        recorder.begin(1, again=True)
        recorder.add_frame({"d": np.ones((64, 64), np.uint16)}, hardware_ns=0, wall_time=T0)
        recorder.end()
    found = [path.relative_to(recorder.root / "videos").as_posix() for path in (recorder.root / "videos").rglob("*.*")]
    assert found == ["chunk-000/d/episode-000.mp4"]


def test_info_json_adds_up_what_episodes_tell_and_forgets_nothing(tmp_path: Path) -> None:
    devices = [{"key": "cam0", "kind": "d435", "name": "head", "slots": ["head_rgb"]}]
    with made(tmp_path, "抓取", devices=devices, calibration={"head_stereo": {"fps": 30}}) as recorder:
        record(recorder, glove=0.0)
        document = info(recorder)
        assert document == {
            "calibration": {"head_stereo": {"fps": 30}},
            "format": "pooled_episodes_v1",
            "chunks_size": 1000,
            "data_path": "data/chunk-{c:03d}/episode-{f:03d}.parquet",
            "video_path": "videos/chunk-{c:03d}/{image_key}/episode-{f:03d}.{ext}",
            "episodes_path": "meta/episodes/chunk-{c:03d}/episode-{f:03d}.parquet",
            "codebase_version": "v3.0",
            "app_version": "1.2.3",
            "fps": 30.0,
            "video": True,
            "task_name": "抓取",
            "features": {
                "action": {"dtype": "float32", "shape": [1]},
                "observation.right_glove": {"dtype": "float32", "shape": [16, 16]},
                "observation.left_hand_pose": {"dtype": "float32", "shape": [21, 3]},
                "observation.right_hand_pose": {"dtype": "float32", "shape": [21, 3]},
            },
            "cameras": {"head_rgb": {"height": 32, "width": 32}},
            "devices": devices,
            "device_names": {"head_rgb": "head"},
            "sensors": ["right_glove"],
            "sensor_dim": 256,
            "created_at": T0,
            "total_episodes": 1,
            "video_extensions": {"head_rgb": "mp4"},
            "last_episode_index": 1,
        }
        assert "抓取" in (recorder.root / "meta/info.json").read_text(encoding="utf-8")
        path = recorder.root / "meta/info.json"
        path.write_text(json.dumps({**document, "of_tomorrow": [1], "created_at": 5.0}))
    other = [Slot("D435_head_rgb", 32, 32, fps=15.0)]
    with made(tmp_path, "抓取", slots=other, app_version="2.0") as recorder:
        recorder.begin()
        recorder.add_glove("left_glove", np.ones(256))
        frames(recorder)
        recorder.end()
        document = info(recorder)
    assert document["of_tomorrow"] == [1]
    assert (document["created_at"], document["total_episodes"], document["app_version"]) == (5.0, 2, "2.0")
    assert document["sensors"] == ["left_glove", "right_glove"]
    assert document["cameras"] == {
        "head_rgb": {"height": 32, "width": 32},
        "D435_head_rgb": {"height": 32, "width": 32, "fps": 15.0},
    }
    assert document["video_extensions"] == {"head_rgb": "mp4", "D435_head_rgb": "mp4"}
    assert {"observation.left_glove", "observation.right_glove"} <= set(document["features"])
    assert document["calibration"] == {"head_stereo": {"fps": 30}}  # this recorder was told of none
    assert document["devices"] == []


def test_the_row_has_the_eleven_columns_and_earlier_ones_do_not_change(tmp_path: Path) -> None:
    with made(tmp_path, calibration={"head_stereo": {"名": 1}}) as recorder:
        record(recorder)
        path = recorder.root / "meta/episodes/chunk-000/episode-000.parquet"
        before = path.read_bytes()
        record(recorder)
        assert path.read_bytes() == before
    table = pq.read_table(path)
    assert [(field.name, str(field.type)) for field in table.schema] == ROW_TYPES
    (row,) = table.to_pylist()
    assert json.loads(row["calibration"]) == {"head_stereo": {"名": 1}}
    assert row["force_matrix_specs"] == "{}"
    codec = json.loads(row["video_codec"])
    assert {key: codec[key] for key in ("encoder", "codec", "crf", "depth")} == {
        "encoder": "libx264",
        "codec": "h264",
        "crf": 16,
        "depth": {},
    }
    assert "/" not in codec["ffmpeg"]


def test_statistics_count_every_row_of_a_glove_that_spoke_and_every_sample_of_the_imu(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        recorder.begin()
        frames(recorder, 3, imu=7.0)
        for k in range(3, 5):
            recorder.add_glove("right_glove", np.full(256, 8.0))
            recorder.add_force("left", [1, 2, 3], 1)
            recorder.add_hand_pose("left", np.ones((21, 3)))
            recorder.add_frame({"head_rgb": np.zeros((32, 32, 3), np.uint8)}, hardware_ns=1000 + k, wall_time=T0 + k)
        recorder.end()
        found = stats(recorder)
        assert set(found) == {"observation.right_glove", "observation.imu", "action"}
        glove = found["observation.right_glove"]  # three rows of zeros before it spoke
        assert glove["count"] == 5
        assert (glove["mean"][0], glove["min"][0], glove["max"][0]) == (pytest.approx(3.2), 0.0, 8.0)
        assert glove["std"] == pytest.approx([np.std([0, 0, 0, 8, 8])] * 256)
        assert found["observation.imu"]["count"] == 3
        assert found["action"] == {"count": 0, "mean": [0.0], "std": [1.0], "min": [0.0], "max": [0.0]}
        record(recorder)
        assert stats(recorder) == found  # an episode without sensors changes nothing
        record(recorder, imu=10.0)
        imu = stats(recorder)["observation.imu"]
        assert (imu["count"], imu["mean"][0]) == (5, pytest.approx(np.mean([7, 8, 9, 10, 11])))


def test_rows_written_before_a_glove_spoke_count_as_the_zeros_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "ROWS", 2)
    with made(tmp_path) as recorder:
        recorder.begin()
        frames(recorder, 5)
        frames(recorder, 2, glove=3.0)
        recorder.end()
        block = stats(recorder)["observation.right_glove"]
        values = [0.0] * 5 + [3.0, 4.0]
        assert (block["count"], block["min"][0], block["max"][0]) == (7, 0.0, 4.0)
        assert (block["mean"][0], block["std"][0]) == (pytest.approx(1.0), pytest.approx(np.std(values)))


def test_legacy_or_damaged_statistics_are_made_anew_once_without_counting_the_new_episode_twice(
    tmp_path: Path,
) -> None:
    with made(tmp_path) as recorder:
        record(recorder, glove=1.0)
        path = recorder.root / "meta/stats.json"
        legacy = stats(recorder)
        del legacy["observation.right_glove"]["count"]
        for broken in (json.dumps(legacy), "{", "[]"):
            path.write_text(broken)
            record(recorder, glove=1.0)
        block = stats(recorder)["observation.right_glove"]
        assert (block["count"], block["mean"][0]) == (8, pytest.approx(1.5))


def test_the_row_gets_its_name_first_then_the_others_in_the_contracts_order_and_the_marker_goes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sheet, section 4."""
    with made(tmp_path) as recorder:
        recorder.begin()
        recorder.abort()
        done: list[str] = []
        replace, unlink = Path.replace, Path.unlink

        def replaced(self: Path, target: Path) -> Path:
            done.append(target.name)
            return replace(self, target)

        def unlinked(self: Path, missing_ok: bool = False) -> None:
            done.append(f"-{self.name}")
            unlink(self, missing_ok=missing_ok)

        monkeypatch.setattr(Path, "replace", replaced)
        monkeypatch.setattr(Path, "unlink", unlinked)
        record(recorder)
    assert done == [
        ".finishing.json",
        "episode-000.parquet",  # row, which has the scales
        "episode-000.mp4",
        "episode-000.parquet",  # data
        "info.json",
        "stats.json",
        "tasks.jsonl",
        "-recycled_episode.json",
        "-.finishing.json",
    ]


def test_the_task_text_is_written_once_and_never_touched(tmp_path: Path) -> None:
    with made(tmp_path, "D435-裸手") as recorder:
        record(recorder)
        path = recorder.root / "meta/tasks.jsonl"
        assert path.read_text(encoding="utf-8") == '{"task_index": 0, "task": "D435-裸手"}\n'
        path.write_text('{"task_index": 0, "task": "told by hand"}\n')
        record(recorder)
        assert path.read_text() == '{"task_index": 0, "task": "told by hand"}\n'


def test_one_recorder_at_a_time_and_readers_need_no_leave(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        record(recorder)
        with pytest.raises(Refused, match="at work"), made(tmp_path):
            pass
        with pytest.raises(Refused, match="at work"), exclusive.changing(Layout(recorder.root)):
            pass
        assert info(recorder)["total_episodes"] == 1
    with made(tmp_path) as recorder:
        assert record(recorder) == 2


@pytest.mark.parametrize("name", [" ", "\t", "_hidden", ".hidden"])
def test_a_task_name_no_folder_can_bear_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="task_name"):
        made(tmp_path, name)


def test_a_name_that_falls_onto_another_tasks_folder_is_refused(tmp_path: Path) -> None:
    with made(tmp_path, "a b") as recorder:
        record(recorder)
    with pytest.raises(Refused, match="task 'a/b' in the folder of task 'a b'"), made(tmp_path, "a/b"):
        pass


def test_all_that_is_wrong_with_a_recorder_is_told_at_once_and_nothing_touched(tmp_path: Path) -> None:
    slots = [Slot("a", 32, 32), Slot("a", 32, 32), Slot("../x", 32, 32), Slot("x_aux", 32, 32), Slot("odd", 31, 32),
             Slot("slow", 32, 32, fps=0.0), Slot("d", 31, 32, depth=True)]  # fmt: skip
    devices = [{}, {"key": "a", "kind": "b", "name": "c", "slots": "d"}]
    with pytest.raises(Refused) as refused:
        made(
            tmp_path, slots=slots, fps=float("nan"), force_spec="int8", depth="log12", preview=True, devices=devices,
            calibration={"baseline": float("inf")},
        )  # fmt: skip
    assert [fault.where + " " + fault.field for fault in refused.value.faults] == [
        "a another name",
        "../x name",
        "x_aux name",
        "odd size",
        "slow fps",
        "d size",
        "pick fps",
        "pick force_spec",
        "pick depth",
        "pick devices",
        "pick devices",
        "pick devices, app_version, calibration",
    ]
    assert "int16, int16x10, int16x100, int16x1000, float32" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("files", "match"),
    [
        ({"meta/info.json": "{"}, "unreadable"),
        ({"meta/info.json": '{"format": "lerobot_v3"}'}, "lerobot_v3"),
        ({"pick_000001/metadata.json": "{}"}, "v1.0"),
    ],
)
def test_a_folder_that_is_no_pooled_task_is_refused_and_left_alone(
    files: dict[str, str], match: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        path = tmp_path / "pick" / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Refused, match=match), made(tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_with_data_but_without_its_description_goes_on_where_its_numbers_end(tmp_path: Path) -> None:
    """What another recorder leaves that is killed between data and info.json; P-45 if only a video is there."""
    with made(tmp_path) as recorder:
        record(recorder), record(recorder)
        for name in ("info.json", "stats.json", "tasks.jsonl", "episodes/chunk-000/episode-001.parquet"):
            (recorder.root / "meta" / name).unlink()
        (recorder.root / "data/chunk-000/episode-001.parquet").unlink()
        assert record(recorder, glove=1.0) == 3
        assert info(recorder)["total_episodes"] == 3
        assert stats(recorder)["observation.right_glove"]["count"] == 2


def test_a_recording_goes_on_in_every_task_of_the_sample_and_changes_none_of_its_episodes(
    sample_pooled: Path, tmp_path: Path
) -> None:
    """P-28: old tasks have 10-column rows, shards, statistics without a count, a marker that waits."""
    shutil.copytree(sample_pooled / "recordings", tmp_path / "r")
    expected = {"手套_抓取": 3, "umi_pick": 7, "legacy_v110": 5, "loose_ends": 5, "two_slots": 2}
    for path in (tmp_path / "r").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for name, number in expected.items():
        root = tmp_path / "r" / name
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and path.suffix != ".json"}
        total = json.loads((root / "meta/info.json").read_text())["total_episodes"]
        with made(tmp_path / "r", json.loads((root / "meta/info.json").read_text())["task_name"]) as recorder:
            waiting = marker(recorder)
            given = record(recorder, glove=1.0)
            assert given == (waiting or given)
            assert given == number, name
            assert marker(recorder) is None
            assert info(recorder)["total_episodes"] >= total
            assert stats(recorder)["action"]["count"] == 0
            assert all("count" in block for block in stats(recorder).values())
        assert {path: path.read_bytes() for path in before} == before
        row = pq.read_table(root / f"meta/episodes/chunk-{(given - 1) // 1000:03d}/episode-{given - 1:03d}.parquet")
        assert [(field.name, str(field.type)) for field in row.schema] == ROW_TYPES


def test_the_thousandth_episode_is_the_last_of_its_chunk_and_the_tasks_own_chunks_size_counts(tmp_path: Path) -> None:
    with made(tmp_path, watermark=1000) as recorder:
        assert [record(recorder), record(recorder)] == [1000, 1001]
        found = sorted(path.relative_to(recorder.root).as_posix() for path in recorder.root.rglob("episode-*"))
        assert found == [
            "data/chunk-000/episode-999.parquet",
            "data/chunk-001/episode-000.parquet",
            "meta/episodes/chunk-000/episode-999.parquet",
            "meta/episodes/chunk-001/episode-000.parquet",
            "videos/chunk-000/head_rgb/episode-999.mp4",
            "videos/chunk-001/head_rgb/episode-000.mp4",
        ]
    with made(tmp_path, "small") as recorder:
        record(recorder)
        path = recorder.root / "meta/info.json"
        path.write_text(json.dumps({**info(recorder), "chunks_size": 2}))
        record(recorder, 3)
        assert (recorder.root / "data/chunk-001/episode-000.parquet").exists()
        assert info(recorder)["chunks_size"] == 2


def test_a_description_that_cannot_be_written_back_is_refused_before_anything_is_recorded(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        record(recorder)
        path = recorder.root / "meta/info.json"
        path.write_text(path.read_text().replace('"sensor_dim": 256', '"sensor_dim": NaN'))
        with pytest.raises(Refused, match="finite"):
            recorder.begin()


def test_a_glove_of_another_width_starts_its_statistics_anew_and_says_so(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        record(recorder, glove=1.0)
        block = {"count": 9, "mean": [1.0], "std": [0.0], "min": [1.0], "max": [1.0]}
        (recorder.root / "meta/stats.json").write_text(json.dumps({"observation.right_glove": block}))
        record(recorder, glove=3.0)
        assert stats(recorder)["observation.right_glove"]["count"] == 2
        assert "start anew" in " ".join(recorder.notes)


def test_an_end_that_fails_while_it_publishes_is_finished_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-57: an episode is published whole or not at all."""
    with made(tmp_path) as recorder:
        recorder.begin()
        frames(recorder, glove=1.0)
        real, left = Path.replace, [3]

        def failing(self: Path, target: Path) -> Path:
            if target.name != ".finishing.json" and target.suffix in (".parquet", ".json", ".mp4"):
                left[0] -= 1
                if left[0] < 0:
                    raise OSError(28, "No space left on device")
            return real(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing)
            with pytest.raises(OSError, match="No space"):
                recorder.end()
        assert journal.pending(Layout(recorder.root))
        with pytest.raises(RuntimeError, match=r"call end\(\) again"):
            recorder.abort()
        assert recorder.end().length == 2
        assert stats(recorder)["observation.right_glove"]["count"] == 2
        assert record(recorder) == 2


def test_who_leaves_while_it_publishes_lets_the_next_recorder_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = made(tmp_path)

    def leave() -> None:
        with recorder:
            recorder.begin()
            frames(recorder, glove=1.0)
            monkeypatch.setattr(Path, "replace", _no_documents(Path.replace))
            recorder.end()

    with pytest.raises(OSError, match="No space"):
        leave()
    monkeypatch.undo()
    assert not (recorder.root / "meta/info.json").exists()
    with made(tmp_path) as recorder:
        assert info(recorder)["total_episodes"] == 1
        assert record(recorder) == 2


def _no_documents(real: Any) -> Any:
    def replace(self: Path, target: Path) -> Path:
        if target.name == "info.json":
            raise OSError(28, "No space left on device")
        found: Path = real(self, target)
        return found

    return replace
