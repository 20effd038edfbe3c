"""Links, folders and names no disk holds in place of a task's files: refused by name, and nothing else is touched."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.errors import Refused
from quickdraw.formats import durable
from quickdraw.formats.pooled import documents, journal, shards
from quickdraw.formats.pooled.delete import delete
from quickdraw.formats.pooled.exclusive import LOCK, changing
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.reader import Task
from quickdraw.formats.pooled.scan import scan
from quickdraw.formats.pooled.writer import Recorder

ONE = ("--episode", "1")
CHANGING = (("delete", *ONE, "--apply"), ("recalc-stats", "--apply"))


def ran(tool: tuple[str, ...], task: Path) -> tuple[int, str]:
    name, *arguments = tool
    result = CliRunner().invoke(app, ["pooled", name, str(task), *arguments])
    return result.exit_code, " ".join(result.output.split())


def seen(root: Path) -> dict[str, bytes | None]:
    """Every name below a task but the lock's, with the bytes of what is a file."""
    found = (path for path in sorted(root.rglob("*")) if path.name != LOCK)
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.parametrize("tool", CHANGING)
def test_a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_not_touched(
    tiny: Any, tmp_path: Path, tool: tuple[str, ...]
) -> None:
    outside = tmp_path / "diary.txt"
    outside.write_text("dear diary")
    (tiny.root / "meta" / LOCK).symlink_to(outside)
    tiny.edit("stats.json", lambda document: document.clear())
    before = seen(tiny.root)
    code, said = ran(tool, tiny.root)
    assert (code, outside.read_text(), seen(tiny.root)) == (2, "dear diary", before)
    assert "a link where the lock should be" in said
    outside.unlink()
    assert ran(tool, tiny.root)[0] == 2
    assert not outside.exists(), "a link that leads nowhere makes no file there"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_lock_that_is_a_pipe_or_a_folder_is_refused(tiny: Any, make: Any) -> None:
    make(tiny.root / "meta" / LOCK)
    with pytest.raises(Refused, match=r"where the lock should be.*can be written to and locked"):
        delete(recognise(tiny.root).layout, 1, apply=True)
    assert tiny.data(1).exists()


def test_a_lock_of_shards_that_is_a_link_is_refused(tiny: Any, tmp_path: Path) -> None:
    layout = recognise(tiny.root).layout
    layout.shard_lock.unlink()
    layout.shard_lock.symlink_to(tmp_path / "outside")
    with pytest.raises(Refused, match=r"\.lock"), shards.rewriting(layout):
        pytest.fail("went on")
    assert not (tmp_path / "outside").exists()


def test_a_note_that_is_a_folder_is_refused_by_name(tiny: Any) -> None:
    (tiny.root / "meta/.finishing.json").mkdir()
    before = seen(tiny.root)
    code, said = ran(CHANGING[0], tiny.root)
    assert (code, seen(tiny.root)) == (2, before)
    assert ".finishing.json" in said
    assert "directory" in said


def test_a_temporary_of_the_note_that_is_a_folder_is_refused_by_name(tiny: Any) -> None:
    (tiny.root / "meta/..finishing.json.tmp").mkdir()
    code, said = ran(CHANGING[0], tiny.root)
    assert (code, tiny.data(1).exists()) == (2, True)
    assert "..finishing.json.tmp" in said


@pytest.mark.parametrize(
    "name",
    ["data/chunk-000", f"data/{'x' * 256}", "data/" + "手" * 100, "data/" + "d/" * 2500 + "x", "data/\ud800"],
    ids=["folder", "over-long", "in bytes", "deep", "surrogate"],
)
def test_a_note_that_names_what_cannot_be_removed_is_refused(tiny: Any, name: str) -> None:
    (tiny.root / "meta/.finishing.json").write_text(json.dumps({"renames": [], "removals": [name]}))
    before = seen(tiny.root)
    for tool in CHANGING:
        assert ran(tool, tiny.root)[0] == 2
    assert seen(tiny.root) == before
    renames = [[durable.aside(Path(name)).as_posix(), name]]
    (tiny.root / "meta/.finishing.json").write_text(json.dumps({"renames": renames, "removals": []}))
    assert journal.awaited(recognise(tiny.root).layout) == frozenset()
    assert list(Task.open(tiny.root).episode(2).matrices("observation.gripper_left_force_matrix"))


def test_a_note_that_removes_what_lies_below_a_file_or_itself_is_done(tiny: Any) -> None:
    gone = ["meta/info.json/x", "meta/.finishing.json", "data/chunk-009/episode-000.parquet"]
    (tiny.root / "meta/.finishing.json").write_text(json.dumps({"renames": [], "removals": gone}))
    before = seen(tiny.root)
    with changing(recognise(tiny.root).layout):
        pass
    assert before.keys() - seen(tiny.root).keys() == {"meta/.finishing.json"}


def test_two_data_files_of_one_episode_are_one_and_an_other_whatever_order_they_are_found_in(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("episode-0.parquet", "episode-00.parquet", "episode-0001.parquet"):
        shutil.copy(tiny.data(3), tiny.data(1).with_name(name))
    layout = recognise(tiny.root).layout
    real = documents.entries
    for backwards in (False, True):

        def ordered(folder: Path, root: Path, *, reverse: bool = backwards) -> list[os.DirEntry[str]]:
            return sorted(real(folder, root), key=lambda entry: entry.name, reverse=reverse)

        monkeypatch.setattr("quickdraw.formats.pooled.scan.entries", ordered)
        found = scan(layout)
        assert found[1].data == tiny.data(1)
        assert [path.name for path in found[1].others] == ["episode-0.parquet", "episode-00.parquet"]
        assert (found[2].data, [path.name for path in found[2].others]) == (tiny.data(2), ["episode-0001.parquet"])
        assert found[3].others == []
    assert set(Task.open(tiny.root).episode(1).data.column("episode_index").tolist()) == {1}
    result = CliRunner().invoke(app, ["pooled", "check", str(tiny.root), "--json"])
    findings = json.loads(result.stdout)["findings"]
    misplaced = [each["path"] for each in findings if each["rule"] == "misplaced-file"]
    assert (result.exit_code, sorted(misplaced)) == (
        1, [f"data/chunk-000/{name}.parquet" for name in ("episode-0", "episode-00", "episode-0001")]
    )  # fmt: skip


def test_all_data_files_of_an_episode_are_deleted_at_once(tiny: Any) -> None:
    odd = [tiny.data(1).with_name(name) for name in ("episode-0.parquet", "episode-00.parquet")]
    for path in odd:
        shutil.copy(tiny.data(1), path)
    layout = recognise(tiny.root).layout
    assert {tiny.data(1), *odd} <= set(delete(layout, 1, apply=True).files)
    assert 1 not in scan(layout)


def test_an_episode_recorded_again_replaces_all_its_data_files(tiny: Any) -> None:
    odd = tiny.data(1).with_name("episode-0.parquet")
    shutil.copy(tiny.data(1), odd)
    with Recorder(tiny.root.parent, tiny.root.name, slots=[], app_version="1") as made:
        made.begin(1, again=True)
        made.add_frame({}, hardware_ns=1, wall_time=1.79e9)
        made.end()
    assert not odd.exists()
    assert scan(recognise(tiny.root).layout)[1].data == tiny.data(1)


@pytest.mark.parametrize("name", ["stats.json", ".stats.json.tmp"])
def test_a_folder_in_place_of_the_statistics_is_refused_and_leaves_nothing_behind(tiny: Any, name: str) -> None:
    tiny.edit("stats.json", lambda document: document.clear())
    path = tiny.root / "meta" / name
    path.unlink(missing_ok=True)
    path.mkdir()
    before = seen(tiny.root)
    code, said = ran(CHANGING[1], tiny.root)
    assert (code, seen(tiny.root)) == (2, before)
    assert "a folder" in said
    assert name in said


def test_a_hidden_folder_of_a_document_to_write_is_refused(tiny: Any) -> None:
    (tiny.root / "meta/.info.json.tmp").mkdir()
    before = seen(tiny.root)
    code, said = ran(CHANGING[0], tiny.root)
    assert (code, seen(tiny.root)) == (2, before)
    assert ".info.json.tmp" in said


@pytest.mark.parametrize(
    "place", ["data/chunk-001", "videos/chunk-001", "videos/chunk-000/odd", "meta/episodes/chunk-001"]
)
def test_a_folder_that_leads_to_itself_is_refused_by_its_path(tiny: Any, place: str, tmp_path: Path) -> None:
    (tiny.root / place).symlink_to(tiny.root / place)
    out = ("--out", str(tmp_path / "out"))
    for tool in (("info",), ("show", *ONE, *out), ("pack", *ONE, *out), *CHANGING, ("split-episodes",), ("check",)):
        code, said = ran(tool, tiny.root)
        assert code in (0, 1, 2), said
        assert "Traceback" not in said
        assert "Errno" not in said
        if not place.startswith("meta") and tool[0] != "split-episodes":
            assert code == 2, tool
            assert place in said.replace(" ", ""), tool


def test_a_file_that_leads_to_itself_takes_its_number_and_hinders_nobody(tiny: Any) -> None:
    odd = tiny.data(9)
    odd.symlink_to(odd)
    assert scan(recognise(tiny.root).layout)[9].data == odd
    assert ran(("delete", "--episode", "9", "--apply"), tiny.root)[0] == 0
    assert not odd.is_symlink()


def test_folders_on_another_disk_are_followed_and_stay_where_they_are(tiny: Any, tmp_path: Path) -> None:
    layout = recognise(tiny.root).layout
    for name in ("data/chunk-000", "videos/chunk-000/cam", "meta/episodes/chunk-000"):
        away = tmp_path / "disk" / name
        away.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(tiny.root / name, away)
        (tiny.root / name).symlink_to(away)
    assert len(list(Task.open(tiny.root).episode(1).frames("cam"))) == 10
    for number in (1, 2, 3):
        delete(layout, number, with_row=True, apply=True)
    assert not scan(layout)
    assert not [path for path in (tmp_path / "disk").rglob("*") if path.is_file()]
    assert (tiny.root / "data/chunk-000").is_symlink(), "another disk's link is not ours to remove"
    assert not (tiny.root / "videos/chunk-000/depth").exists()
    (tiny.root / "videos/chunk-000/cam/.episode-000.mp4.tmp").touch()
    with changing(layout):
        assert not (tiny.root / "videos/chunk-000/cam/.episode-000.mp4.tmp").exists()


def test_a_file_that_is_a_link_is_removed_as_the_link_it_is(tiny: Any, tmp_path: Path) -> None:
    places = {path: tmp_path / f"kept{at}" for at, path in enumerate((tiny.data(1), tiny.video(1), tiny.row(1)))}
    for path, kept in places.items():
        shutil.move(path, kept)
        path.symlink_to(kept)
    before = {kept: kept.read_bytes() for kept in places.values()}
    assert set(places) <= set(delete(recognise(tiny.root).layout, 1, with_row=True, apply=True).files)
    assert not [path for path in places if path.is_symlink()]
    assert {kept: kept.read_bytes() for kept in places.values()} == before


def test_a_file_laid_aside_replaces_what_has_its_hidden_name_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"whole")
    hidden = tmp_path / ".x.tmp"
    hidden.symlink_to(outside)
    assert durable.lay_aside(tmp_path / "x", [b"new"]) == hidden
    assert (outside.read_bytes(), hidden.read_bytes(), hidden.is_symlink()) == (b"whole", b"new", False)
    hidden.unlink()
    os.mkfifo(hidden)
    assert durable.lay_aside(tmp_path / "x", [b"newer"]).read_bytes() == b"newer"
    hidden.unlink()
    hidden.mkdir()
    with pytest.raises(IsADirectoryError):
        durable.lay_aside(tmp_path / "x", [b""])
