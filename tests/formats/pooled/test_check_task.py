"""Every rule of names, documents and rows, broken once in a sound task: that is found, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.checks.rules import RULES

Plant = Callable[[Any], object]
ROWS = "meta/episodes/chunk-000"
OLD_PATH = "meta/episodes/chunk-{c:03d}/file-{c:03d}.parquet"


def move(path: Any, to: Any) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    path.rename(to)


def rows_of(t: Any, number: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(t.row(number)).to_pylist()
    return rows


def shard(t: Any) -> None:
    rows = [rows_of(t, number)[0] for number in (1, 2, 3)]
    for number in (1, 2, 3):
        t.row(number).unlink()
    t.write_rows(t.root / ROWS / "file-000.parquet", rows)


def table(t: Any, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    t.edit_table(t.row(number), change)


def reorder(columns: dict[str, Any]) -> None:
    columns["episode_index"] = columns.pop("episode_index")


def text(path: Any, content: str) -> None:
    path.write_text(content, encoding="utf-8")


def block(t: Any, name: str, **values: Any) -> None:
    t.edit("stats.json", lambda document: document[name].update(values))


def delete_files(t: Any, number: int) -> None:
    for path in (t.data(number), t.video(number), t.video(number, "depth")):
        path.unlink()


CASES: list[tuple[str, int | None, str, Plant]] = [
    ("leftover-v10", None, "calibration", lambda t: (t.root / "calibration").mkdir()),
    ("leftover-v10", None, "metadata.json", lambda t: text(t.root / "metadata.json", "{}")),
    ("leftover-v10", None, "timestamps.json", lambda t: text(t.root / "timestamps.json", "{}")),
    ("leftover-v10", None, "tiny_000001", lambda t: (t.root / "tiny_000001").mkdir()),
    ("leftover-v10", None, "old", lambda t: ((t.root / "old").mkdir(), text(t.root / "old/metadata.json", "{}"))),
    ("stray-file", None, "notes.txt", lambda t: text(t.root / "notes.txt", "")),
    ("stray-file", None, "meta/old.json", lambda t: text(t.root / "meta/old.json", "")),
    ("stray-file", None, "data/chunk-000/copy.parquet", lambda t: text(t.root / "data/chunk-000/copy.parquet", "")),
    ("stray-file", None, f"{ROWS}/copy.parquet", lambda t: text(t.root / ROWS / "copy.parquet", "")),
    ("stray-file", None, "data/other", lambda t: (t.root / "data/other").mkdir()),
    ("stray-file", None, "videos/chunk-000/a.mp4", lambda t: text(t.root / "videos/chunk-000/a.mp4", "")),
    ("stray-file", None, "videos/chunk-000/cam/a.mp4", lambda t: text(t.root / "videos/chunk-000/cam/a.mp4", "")),
    ("misplaced-file", 3, "data/chunk-000/episode-2.parquet",
     lambda t: move(t.data(3), t.root / "data/chunk-000/episode-2.parquet")),
    ("misplaced-file", 1, "videos/chunk-0/cam/episode-000.mp4",
     lambda t: move(t.video(1), t.root / "videos/chunk-0/cam/episode-000.mp4")),
    ("unfinished", None, "meta/.finishing.json", lambda t: text(t.root / "meta/.finishing.json", "{}")),
    ("info-field", None, "meta/info.json", lambda t: t.edit("info.json", lambda d: d.pop("devices"))),
    ("info-field", None, "meta/info.json", lambda t: t.edit("info.json", lambda d: d.update(sensors="left_glove"))),
    ("info-field", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["video_extensions"].update(cam="avi"))),
    ("info-episodes-path", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d.update(episodes_path=OLD_PATH))),
    ("info-total", None, "meta/info.json", lambda t: t.edit("info.json", lambda d: d.update(total_episodes=2))),
    ("feature-missing", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["features"].pop("observation.left_glove"))),
    ("feature-entry", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["features"]["observation.imu"].update(shape=[7]))),
    ("feature-entry", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["features"]["observation.gripper_left_force_matrix"].update(
         encoding="row_flat_raw"))),
    ("feature-entry", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["features"]["observation.left_glove"].update(shape=[16]))),
    ("extension-missing", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["video_extensions"].pop("depth"))),
    ("extension-unused", None, "meta/info.json",
     lambda t: t.edit("info.json", lambda d: d["video_extensions"].update(gone="mp4"))),
    ("stats-unreadable", None, "meta/stats.json", lambda t: (t.root / "meta/stats.json").unlink()),
    ("stats-unreadable", None, "meta/stats.json", lambda t: text(t.root / "meta/stats.json", '{"action": ')),
    ("stats-unreadable", None, "meta/stats.json", lambda t: text(t.root / "meta/stats.json", "[" * 100_000)),
    ("stats-unreadable", None, "meta/stats.json", lambda t: text(t.root / "meta/stats.json", "[]")),
    ("stats-no-count", None, "meta/stats.json",
     lambda t: t.edit("stats.json", lambda d: d["observation.imu"].pop("count"))),
    ("stats-block", None, "meta/stats.json", lambda t: block(t, "observation.imu", std=[-1.0] * 6)),
    ("stats-block", None, "meta/stats.json", lambda t: block(t, "observation.imu", mean=[1e9] * 6)),
    ("stats-block", None, "meta/stats.json", lambda t: block(t, "observation.imu", max=[1.0] * 5)),
    ("stats-block", None, "meta/stats.json", lambda t: block(t, "observation.left_glove", min=[float("nan")] * 256)),
    ("stats-block", None, "meta/stats.json", lambda t: block(t, "observation.left_glove", count=-1)),
    ("stats-block", None, "meta/stats.json", lambda t: block(t, "observation.left_glove", max=[10**400] * 256)),
    ("stats-action", None, "meta/stats.json", lambda t: block(t, "action", count=30)),
    ("stats-action", None, "meta/stats.json", lambda t: t.edit("stats.json", lambda d: d.pop("action"))),
    ("stats-column", None, "meta/stats.json",
     lambda t: t.edit("stats.json", lambda d: d.update({"observation.left_hand_pose": d["observation.imu"]}))),
    ("tasks-missing", None, "meta/tasks.jsonl", lambda t: (t.root / "meta/tasks.jsonl").unlink()),
    ("tasks-line", None, "meta/tasks.jsonl",
     lambda t: text(t.root / "meta/tasks.jsonl", json.dumps({"task_index": 0, "task": "tiny"}, indent=2))),
    ("tasks-line", None, "meta/tasks.jsonl", lambda t: text(t.root / "meta/tasks.jsonl", "")),
    ("tasks-index", None, "meta/tasks.jsonl",
     lambda t: text(t.root / "meta/tasks.jsonl", '{"task_index": 0, "task": "a"}\n{"task_index": 0, "task": "b"}\n')),
    ("tasks-index", 2, "meta/tasks.jsonl", lambda t: t.set_row(2, task_index=5)),
    ("rows-missing", None, "meta/episodes", lambda t: shutil.rmtree(t.root / "meta/episodes")),
    ("row-missing", 2, f"{ROWS}/episode-001.parquet", lambda t: t.row(2).unlink()),
    ("row-without-files", 3, f"{ROWS}/episode-002.parquet", lambda t: delete_files(t, 3)),
    ("row-unreadable", 2, f"{ROWS}/episode-001.parquet", lambda t: text(t.row(2), "PAR1")),
    ("row-unreadable", 2, f"{ROWS}/episode-001.parquet", lambda t: text(t.row(2), "")),
    ("row-count", 2, f"{ROWS}/episode-001.parquet",
     lambda t: t.write_rows(t.row(2), [*rows_of(t, 2), {**rows_of(t, 3)[0], "episode_index": 7}])),
    ("row-unreadable", 2, f"{ROWS}/episode-001.parquet", lambda t: t.write_rows(t.row(2), [])),
    ("row-number", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, episode_index=9)),
    ("row-number", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, episode_index=1002)),
    ("row-number", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, episode_index=0)),
    ("row-columns", 2, f"{ROWS}/episode-001.parquet", lambda t: table(t, 2, lambda c: c.pop("duration_sec"))),
    ("row-columns", 2, f"{ROWS}/episode-001.parquet",
     lambda t: table(t, 2, lambda c: c.update(length=pa.array([10], pa.int32())))),
    ("row-columns", 2, f"{ROWS}/episode-001.parquet",
     lambda t: table(t, 2, lambda c: c.update(calibration=pa.array([None], pa.string())))),
    ("row-order", 2, f"{ROWS}/episode-001.parquet", lambda t: table(t, 2, reorder)),
    ("row-10-columns", 1, f"{ROWS}/episode-000.parquet", lambda t: table(t, 1, lambda c: c.pop("force_matrix_specs"))),
    ("row-json", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, drop_stats="{")),
    ("row-json", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, calibration="[]")),
    ("row-value", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, duration_sec=-1.0)),
    ("row-value", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, created_at=float("nan"))),
    ("row-length", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, length=11)),
    ("row-range", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, end_frame_index=10)),
    ("row-range", 2, f"{ROWS}/episode-001.parquet", lambda t: t.set_row(2, start_frame_index=1)),
    ("row-old-name", 3, f"{ROWS}/file-002.parquet", lambda t: t.row(3).rename(t.root / ROWS / "file-002.parquet")),
    ("legacy-shard", None, f"{ROWS}/file-000.parquet", shard),
]  # fmt: skip


def found(t: Any) -> list[tuple[str, int | None, str]]:
    return [(each.rule, each.number, each.path) for each in check(t.root).findings]


def test_a_sound_task_has_no_finding(tiny: Any) -> None:
    report = check(tiny.root)
    assert report.findings == ()
    assert report.episodes == 3
    assert report.passes(strict=True)


@pytest.mark.parametrize(("rule", "number", "path", "plant"), CASES)
def test_each_fault_is_the_one_finding(tiny: Any, rule: str, number: int | None, path: str, plant: Plant) -> None:
    plant(tiny)
    (finding,) = check(tiny.root).findings
    assert (finding.rule, finding.number, finding.path) == (rule, number, path)
    assert finding.severity == RULES[rule].severity
    assert finding.episode == ("" if number is None else f"_ep{number - 1:06d}")
    assert finding.found
    assert finding.mend
    assert "{" not in finding.mend or rule == "tasks-missing"


def test_a_row_that_stands_twice_is_found_in_the_second_file(tiny: Any) -> None:
    rows = [rows_of(tiny, 2)[0], rows_of(tiny, 3)[0]]
    tiny.write_rows(tiny.root / ROWS / "file-000.parquet", rows)
    name = f"{ROWS}/file-000.parquet"
    assert found(tiny) == [("legacy-shard", None, name), ("row-twice", 2, name), ("row-twice", 3, name)]


def test_what_is_no_part_of_the_format_is_never_mentioned(tiny: Any) -> None:
    root = tiny.root
    for folder in ("_trash", "_migrate_backup_20260101_000000", ".cache"):
        (root / folder).mkdir()
        (root / folder / "episode-000.mp4").write_bytes(b"x")
    for name in ("recycled_episode.json", ".stats_state.json", ".migrate_manifest.json", "stats.json.tmp",
                 "recycled_episode.json.tmp4711", ".recorder.lock"):  # fmt: skip
        (root / "meta" / name).write_text("no JSON {", encoding="utf-8")
    (root / "meta/episodes/.lock").write_bytes(b"not empty")
    (root / "data/chunk-000/.episode-005.parquet.tmp").write_bytes(b"x")
    (root / "meta/episodes/chunk-000/.episode-005.parquet.tmp").write_bytes(b"x")
    (root / "videos/chunk-000/cam/episode-000_aux.mp4").write_bytes(b"x")
    (root / "videos/chunk-000/cam_aux").mkdir()
    (root / "videos/chunk-000/cam_aux/episode-000.mp4").write_bytes(b"x")
    assert check(root, deep=True).findings == ()


def test_streams_beside_a_slots_own_are_no_episode_and_no_strays(tiny: Any) -> None:
    videos = tiny.root / "videos/chunk-000"
    for name in ("cam_aux/index.json", "cam_aux/episode-7.mp4", "cam_aux_2/episode-004.mp4", "cam/episode-005_aux.mp4",
                 "cam_aux/a\\b/c", "cam/episode-008.aux.mp4"):  # fmt: skip
        (videos / name).parent.mkdir(parents=True, exist_ok=True)
        (videos / name).write_bytes(b"x")
    report = check(tiny.root, deep=True)
    assert report.findings == ()
    assert report.episodes == 3
    delete_files(tiny, 3)
    (videos / "cam_aux/episode-002.mp4").write_bytes(b"x")
    assert found(tiny) == [("row-without-files", 3, f"{ROWS}/episode-002.parquet")]


def test_folders_and_pipes_under_an_episodes_name_are_strays(tiny: Any) -> None:
    for path in (tiny.data(7), tiny.video(8)):
        path.mkdir()
    os.mkfifo(tiny.video(9))
    assert [(rule, number) for rule, number, _ in found(tiny)] == [("stray-file", None)] * 3
    assert check(tiny.root).episodes == 3


@pytest.mark.parametrize("given", [".", "../tiny/", "meta/.."])
def test_sessions_are_known_by_the_folders_name_however_it_is_given(
    tiny: Any, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tiny.root / "tiny_000001").mkdir()
    monkeypatch.chdir(tiny.root)
    assert [each.rule for each in check(Path(given)).findings] == ["leftover-v10"]


def test_a_number_beyond_its_chunk_is_misplaced_and_not_taken_for_another(tiny: Any) -> None:
    shutil.copy(tiny.data(1), tiny.root / "data/chunk-000/episode-1000.parquet")
    rules = {(each.rule, each.number) for each in check(tiny.root).findings if each.rule == "misplaced-file"}
    assert rules == {("misplaced-file", 1001)}


def test_mends_name_the_task_as_a_shell_takes_it(tiny: Any) -> None:
    named = tiny.root.with_name("手套 {x}'s")
    tiny.root.rename(named)
    (named / "meta/stats.json").unlink()
    (finding,) = check(named).findings
    assert finding.mend == f"quickdraw pooled recalc-stats '{named.parent}/手套 {{x}}'\"'\"'s' --apply"


def test_strict_counts_warnings_and_never_information(tiny: Any) -> None:
    (tiny.root / "notes.txt").touch()
    assert check(tiny.root).passes(strict=True)
    (tiny.root / "meta/stats.json").unlink()
    report = check(tiny.root)
    assert report.passes()
    assert not report.passes(strict=True)
    assert [each.rule for each in report.of("warning")] == ["stats-unreadable"]


def test_progress_is_told_after_each_episode(tiny: Any) -> None:
    told: list[tuple[int, int]] = []
    check(tiny.root, tell=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]
