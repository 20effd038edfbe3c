"""`quickdraw pooled`: what each tool says, as words and as JSON, how it exits, and that a plan changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from quickdraw.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "from quickdraw.cli.main import app; app()"
TOOLS = ("info", "check", "show", "align", "pack", "delete", "repair-scale", "split-episodes", "recalc-stats")
OF_EPISODES = ("show", "align", "pack", "delete")


def run(tool: str, task: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["pooled", tool, str(task), *arguments])


def document(tool: str, task: Path, *arguments: str) -> dict[str, Any]:
    result = run(tool, task, "--json", *arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def digest(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def copied(sample_pooled: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(sample_pooled / "recordings" / name, tmp_path / name))

    return copy


def test_every_tool_is_listed() -> None:
    listed = CliRunner().invoke(app, ["pooled", "--help"]).stdout
    assert all(f" {tool} " in listed for tool in TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_no_pooled_task_is_refused_with_2(tool: str, tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text('{"format": "lerobot_v3"}')
    arguments = ["--episode", "1"] if tool in OF_EPISODES else []
    result = run(tool, tmp_path, *arguments)
    assert result.exit_code == 2
    assert "found format 'lerobot_v3', expected 'pooled_episodes_v1'" in result.stderr
    assert result.stderr.splitlines()[-1] == "refused: 1 fault; nothing was changed"
    answer = json.loads(run(tool, tmp_path, "--json", *arguments).stdout)
    assert [fault["field"] for fault in answer["refused"]] == ["format"]


@pytest.mark.parametrize("tool", OF_EPISODES)
@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_an_episode_is_a_number_from_1(tool: str, number: str, sample_pooled: Path) -> None:
    result = run(tool, sample_pooled / "recordings/two_slots", "--episode", number)
    assert result.exit_code == 2
    assert "--episode" in result.stderr


@pytest.mark.parametrize("tool", ["show", "align", "pack"])
def test_an_episode_that_is_not_there_is_refused_with_those_that_are(
    tool: str, sample_pooled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(tool, sample_pooled / "recordings/umi_pick", "--episode", "77")
    assert result.exit_code == 2
    assert "77" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_info_tells_n_beside_file_number_and_name(sample_pooled: Path) -> None:
    task = sample_pooled / "recordings/手套_抓取"
    found = document("info", task)
    keys = ("episode", "chunk", "file", "name", "rows")
    assert [tuple(each[key] for key in keys) for each in found["episodes"]] == [
        (1, 0, 0, "_ep000000", 40),
        (2, 0, 1, "_ep000001", 35),
        (1000, 0, 999, "_ep000999", 20),
        (1001, 1, 0, "_ep000000", 25),
    ]
    assert (found["next_number"], found["waiting_number"]) == (3, 3)
    assert found["episodes"][0]["slots"] == {"D435_depth_rgb": ["mp4"]}
    words = run("info", task).stdout
    assert "1001      1     0  _ep000000    25" in words
    assert "next N   3 (freed by an aborted recording: 3)" in words


def test_info_counts_dropped_frames(copied: Callable[[str], Path]) -> None:
    task = copied("two_slots")
    path = next((task / "meta/episodes/chunk-000").iterdir())
    table = pq.read_table(path)
    stats = pa.array([json.dumps({"a": 3, "b": 4, "wait_ms": 900, "imu_overflow": 50})], pa.string())
    at = table.column_names.index("drop_stats")
    pq.write_table(table.set_column(at, "drop_stats", stats), path)
    assert document("info", task)["episodes"][0]["dropped_frames"] == 7
    head, row = run("info", task).stdout.splitlines()[-2:]
    assert head.split()[6] == "dropped"
    assert row.split()[6] == "7"


def test_a_task_given_as_the_folder_one_stands_in_has_its_name(
    copied: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = copied("two_slots")
    monkeypatch.chdir(task)
    assert run("info", Path()).stdout.startswith("two_slots: ")
    assert document("info", Path())["folder"] == str(task)
    (out := tmp_path / "out").mkdir()
    packed = document("pack", Path(), "--episode", "1", "--out", str(out))
    assert packed["form"] == {"name": "two_slots", "episode_index": "0"}
    assert packed["archive"] == str(out / "two_slots_ep000000.zip")
    monkeypatch.chdir(out)
    assert document("pack", Path("../two_slots/"), "--episode", "1")["archive"] == "two_slots_ep000000.zip"
    shown = document("show", Path("../two_slots/meta/.."), "--episode", "1")
    assert shown["sheet"] == "two_slots_episode_000001.png"
    assert {path.name for path in out.iterdir()} == {"two_slots_ep000000.zip", "two_slots_episode_000001.png"}


def test_info_names_what_an_episode_lacks(sample_pooled: Path) -> None:
    second = document("info", sample_pooled / "recordings/loose_ends")["episodes"][0]
    assert (second["episode"], second["data"], second["row"]) == (2, False, False)


@pytest.mark.parametrize(
    ("name", "code", "strict", "rules"),
    [
        ("手套_抓取", 0, 0, ["row-10-columns"]),
        ("two_slots", 0, 0, []),
        ("umi_pick", 0, 1, ["matrix-scale"]),
        ("two_slots_apart", 0, 1, ["frame-rows"]),
        ("loose_ends", 1, 1, ["row-without-files", "data-missing", "clock-truncated", "clock-hole"]),
    ],
)
def test_check_exits_by_what_it_finds(name: str, code: int, strict: int, rules: list[str], sample_pooled: Path) -> None:
    task = sample_pooled / "recordings" / name
    before = digest(task)
    result = run("check", task, "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["passes"]) == (code, code == 0)
    assert [each["rule"] for each in answer["findings"]] == rules
    assert run("check", task, "--strict").exit_code == strict
    assert digest(task) == before


def test_check_names_episode_file_and_mend(sample_pooled: Path) -> None:
    task = sample_pooled / "recordings/loose_ends"
    line = next(each for each in run("check", task).stdout.splitlines() if each.startswith("error: "))
    assert "episode 2 (_ep000001): data/chunk-000/episode-001.parquet: no data" in line
    assert line.endswith(f"quickdraw pooled delete {task} --episode 2 --apply")


def test_a_deep_check_looks_into_every_picture(copied: Callable[[str], Path]) -> None:
    task = copied("two_slots")
    film = task / "videos/chunk-000/a_rgb/episode-000.mp4"
    content = bytearray(film.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    film.write_bytes(content)
    assert run("check", task).exit_code == 0
    result = run("check", task, "--deep")
    assert result.exit_code == 1
    assert "videos/chunk-000/a_rgb/episode-000.mp4" in result.stdout


def test_splitting_is_a_plan_until_applied_and_then_done(copied: Callable[[str], Path]) -> None:
    task = copied("legacy_v110")
    before = digest(task)
    planned = run("split-episodes", task)
    assert planned.exit_code == 0
    assert planned.stdout.splitlines()[-1] == "1 shard would be parted; nothing was changed: --apply does it"
    assert digest(task) == before
    assert document("split-episodes", task, "--apply")["shards"][0]["pieces"] == [1, 2, 3, 4]
    names = sorted(path.name for path in (task / "meta/episodes/chunk-000").iterdir())
    assert names == [f"episode-{file:03d}.parquet" for file in range(4)]
    assert run("split-episodes", task, "--apply").stdout == "nothing to part\n"
    assert document("recalc-stats", task, "--apply")["changes"] is True
    assert run("check", task, "--strict").exit_code == 0


def test_statistics_are_made_anew_once(copied: Callable[[str], Path]) -> None:
    task = copied("手套_抓取")
    (task / "meta/stats.json").unlink()
    planned = document("recalc-stats", task)
    assert planned["counts"]["observation.right_glove"] == 120
    assert not (task / "meta/stats.json").exists()
    assert "stats.json: made anew" in run("recalc-stats", task, "--apply").stdout
    assert run("recalc-stats", task, "--apply").stdout.splitlines()[-1] == "stats.json: right as it is"


def test_a_scale_is_found_out_and_written_once(copied: Callable[[str], Path]) -> None:
    task = copied("umi_pick")
    before = digest(task)
    words = run("repair-scale", task).stdout
    assert "episode 6 (chunk-000/episode-005, _ep000005): observation.gripper_left_force_matrix: int16x100" in words
    assert digest(task) == before
    (episode,) = document("repair-scale", task, "--apply")["episodes"]
    assert (episode["episode"], episode["columns"][0]["scale"]) == (6, 100)
    changed = {path for path, found in digest(task).items() if before.get(path) != found} - {"meta/.recorder.lock"}
    assert changed == {"meta/episodes/chunk-000/episode-005.parquet"}
    assert document("repair-scale", task, "--apply")["episodes"] == []
    assert run("check", task, "--strict").exit_code == 0


def test_alignment_tells_rows_out_of_range(sample_pooled: Path) -> None:
    task = sample_pooled / "recordings/umi_pick"
    found = document("align", task, "--episode", "1", "--which", "matrix")
    assert len(found["mapping"]) == len(found["residual_ns"]) == 12
    assert found["out_of_range"][-1] is True
    assert "1 rows out of range" in run("align", task, "--episode", "1").stdout
    assert run("align", task, "--episode", "1", "--which", "trajectory").exit_code == 0


@pytest.mark.parametrize(
    ("task", "episode", "words"), [("loose_ends", "3", "32 bits"), ("two_slots", "1", "no column")], ids=["cut", "none"]
)
def test_what_stamps_do_not_allow_is_not_aligned(task: str, episode: str, words: str, sample_pooled: Path) -> None:
    result = run("align", sample_pooled / "recordings" / task, "--episode", episode, "--which", "force", "--json")
    assert result.exit_code == 1
    assert "not alignable" in result.stderr
    assert json.loads(result.stdout)["not_alignable"]
    assert words in result.stderr or "no column" in result.stderr


def test_deleting_leaves_the_row_unless_asked(copied: Callable[[str], Path]) -> None:
    task = copied("手套_抓取")
    before = digest(task)
    run("delete", task, "--episode", "1001")
    assert digest(task) == before
    assert run("delete", task, "--episode", "1001", "--apply").exit_code == 0
    gone = before.keys() - digest(task).keys()
    assert gone == {"data/chunk-001/episode-000.parquet", "videos/chunk-001/D435_head_rgb/episode-000.mp4"}
    (task / "meta/recycled_episode.json").unlink()
    assert run("delete", task, "--episode", "1001", "--with-row", "--apply").exit_code == 0
    assert not (task / "meta/episodes/chunk-001").exists()
    assert document("info", task)["next_number"] == 1002
    assert "nothing left to remove" in run("delete", task, "--episode", "1001", "--with-row", "--apply").stdout


def test_an_episode_is_packed_and_shown(copied: Callable[[str], Path], tmp_path: Path) -> None:
    task = copied("umi_pick")
    packed = document("pack", task, "--episode", "2", "--out", str(tmp_path / "two.zip"))
    assert packed["form"] == {"name": "umi_pick", "episode_index": "1"}
    assert (tmp_path / "two.zip").read_bytes()[:2] == b"PK"
    shown = document("show", task, "--episode", "2", "--out", str(tmp_path / "two.png"))
    assert Path(shown["sheet"]).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_an_incomplete_episode_is_not_packed(sample_pooled: Path, tmp_path: Path) -> None:
    result = run("pack", sample_pooled / "recordings/loose_ends", "--episode", "2", "--out", str(tmp_path / "x.zip"))
    assert result.exit_code == 2
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("arguments", [["--episode", "4"], ["--episode", "4", "--apply"]])
def test_a_task_that_is_being_recorded_to_is_left_alone(arguments: list[str], copied: Callable[[str], Path]) -> None:
    from quickdraw.formats.pooled.exclusive import changing
    from quickdraw.formats.pooled.info import recognise

    task = copied("loose_ends")
    with changing(recognise(task).layout):
        result = run("delete", task, *arguments)
    assert result.exit_code == (2 if "--apply" in arguments else 0)
    assert (task / "data/chunk-000/episode-003.parquet").exists()


@pytest.mark.parametrize(
    ("door", "arguments", "task"),
    [
        ("repair_force_matrix_scale.py", [], "umi_pick"),
        ("migrate_pooled_storage.py", ["--split-episodes"], "legacy_v110"),
    ],
)
def test_the_contracts_own_names_are_doors(
    door: str, arguments: list[str], task: str, copied: Callable[[str], Path]
) -> None:
    folder = copied(task)
    for order in ([*arguments, str(folder)], [str(folder), *arguments]):
        command = [sys.executable, str(ROOT / "scripts" / door), *order]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout.rstrip().endswith("nothing was changed: --apply does it")
    assert subprocess.run([*command, "--apply"], capture_output=True, timeout=120, check=False).returncode == 0
    assert run("check", folder).exit_code == 0


def test_the_migration_door_does_one_job(tmp_path: Path) -> None:
    door = [sys.executable, str(ROOT / "scripts/migrate_pooled_storage.py")]
    for arguments in (["--split-episodes", "--restore", str(tmp_path)], [str(tmp_path)], [str(tmp_path), "--apply"]):
        result = subprocess.run([*door, *arguments], capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 2
        assert ("--restore" if len(arguments) == 3 else "only --split-episodes is built") in result.stderr


@pytest.mark.parametrize("tool", ["info", "check"])
def test_an_answer_that_cannot_be_written_is_no_traceback(tool: str, sample_pooled: Path) -> None:
    command = [sys.executable, "-c", COMMAND, "pooled", tool, str(sample_pooled / "recordings/umi_pick")]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "failed: the answer cannot be written: No space left on device"


def test_names_in_any_script_are_shown_where_the_terminal_knows_ascii(sample_pooled: Path) -> None:
    command = [sys.executable, "-c", COMMAND, "pooled", "info", str(sample_pooled / "recordings/手套_抓取")]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0
    assert result.stdout.startswith("\\u624b\\u5957_\\u6293\\u53d6: 4 episodes")


@pytest.mark.parametrize("tool", ["show", "pack"])
def test_nothing_is_put_into_the_task(
    tool: str, copied: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = copied("two_slots")
    before = digest(task)
    monkeypatch.chdir(task)
    result = run(tool, Path(), "--episode", "1")
    assert result.exit_code == 2
    assert "a place outside the task's folder" in result.stderr
    assert digest(task) == before


def test_what_is_no_json_in_info_json_is_none_in_the_answer(copied: Callable[[str], Path]) -> None:
    task = copied("two_slots")
    path = task / "meta/info.json"
    found = json.loads(path.read_text()) | {"app_version": float("nan"), "sensors": [float("inf"), "left_glove"]}
    path.write_text(json.dumps(found))

    def none(constant: str) -> None:
        raise AssertionError(constant)

    answer = json.loads(run("info", task, "--json").stdout, parse_constant=none)
    assert (answer["app_version"], answer["sensors"]) == (None, ["left_glove"])


def test_a_damaged_video_is_a_document_too(copied: Callable[[str], Path], tmp_path: Path) -> None:
    task = copied("two_slots")
    film = task / "videos/chunk-000/a_rgb/episode-000.mp4"
    film.write_bytes(film.read_bytes()[:1000])
    result = run("show", task, "--episode", "1", "--json", "--out", str(tmp_path / "a.png"))
    assert result.exit_code == 2
    (fault,) = json.loads(result.stdout)["refused"]
    assert fault["path"] == str(film)


def test_a_link_is_not_packed(copied: Callable[[str], Path], tmp_path: Path) -> None:
    task = copied("two_slots")
    (tmp_path / "secret").write_text("secret")
    (task / "meta/tasks.jsonl").unlink()
    (task / "meta/tasks.jsonl").symlink_to(tmp_path / "secret")
    result = run("pack", task, "--episode", "1", "--out", str(tmp_path / "a.zip"))
    assert result.exit_code == 2
    assert f"a link to {tmp_path / 'secret'}" in result.stderr
    assert not (tmp_path / "a.zip").exists()


def test_a_number_that_never_was_is_told_from_one_that_is_gone(copied: Callable[[str], Path]) -> None:
    task = copied("loose_ends")
    assert run("delete", task, "--episode", "1").stdout.endswith("nothing left to remove\n")
    assert run("delete", task, "--episode", "77").stdout.endswith("never recorded; the highest number is 4\n")


def test_statistics_of_another_writer_are_right_as_they_are(sample_pooled: Path) -> None:
    for name in ("手套_抓取", "umi_pick", "two_slots"):
        answer = run("recalc-stats", sample_pooled / "recordings" / name).stdout.splitlines()[-1]
        assert answer == "stats.json: right as it is", name


def test_residuals_past_the_bound_are_marked(sample_pooled: Path) -> None:
    task = sample_pooled / "recordings/umi_pick"
    found = document("align", task, "--episode", "6", "--which", "force")
    rows = zip(found["residual_ns"], found["out_of_range"], strict=True)
    past = sum(residual > found["bound_ns"] and not beyond for residual, beyond in rows)
    assert past > 0
    words = run("align", task, "--episode", "6", "--which", "force").stdout
    assert words.count("  past the bound\n") == past
    assert f"{past} past the bound of" in words


def test_strict_says_that_warnings_are_errors(sample_pooled: Path) -> None:
    task = sample_pooled / "recordings/umi_pick"
    assert run("check", task).stdout.splitlines()[-1] == "6 episodes checked: 0 errors, 1 warning"
    last = run("check", task, "--strict").stdout.splitlines()[-1]
    assert last == "6 episodes checked: 0 errors, 1 warning, errors by --strict"


def test_info_tells_the_columns(sample_pooled: Path) -> None:
    found = document("info", sample_pooled / "recordings/umi_pick")
    assert "gripper_left_force_matrix" in found["columns"]
    assert "columns  " in run("info", sample_pooled / "recordings/umi_pick").stdout
