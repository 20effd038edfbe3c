"""One at a time changes a task, and who is killed while doing so leaves the state before or the state after."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from quickdraw.errors import InvariantError, Refused
from quickdraw.formats.durable import aside, write_aside
from quickdraw.formats.pooled import journal
from quickdraw.formats.pooled.exclusive import LOCK, changing
from quickdraw.formats.pooled.layout import Layout


class Killed(BaseException):
    """What nothing catches, as nothing catches SIGKILL."""


PLACES = ("videos/chunk-000/cam/episode-001.mp4", "data/chunk-000/episode-001.parquet", "meta/info.json")
GOES = ("meta/recycled_episode.json", "videos/chunk-000/cam/episode-001.mkv")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A task with an older episode 2 that is being recorded again."""
    layout = Layout(tmp_path / "task")
    for name in (*PLACES[1:], *GOES, "meta/stats.json"):
        path = layout.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"old {name}")
    return layout


def ready(layout: Layout) -> tuple[list[tuple[Path, Path]], list[Path]]:
    places = [layout.root / name for name in PLACES]
    return [(journal.prepare(place, f"new {place.name}".encode()), place) for place in places], [
        layout.root / name for name in GOES
    ]


def visible(layout: Layout) -> dict[str, str]:
    files = (each for each in layout.root.rglob("*") if each.is_file() and each.name != LOCK)
    return {each.relative_to(layout.root).as_posix(): each.read_text() for each in files}


def before_and_after(layout: Layout) -> tuple[dict[str, str], dict[str, str]]:
    before = visible(layout)
    after = {name: text for name, text in before.items() if name not in GOES}
    return before, after | {name: f"new {Path(name).name}" for name in PLACES}


def test_a_second_holder_is_refused_and_told_who_the_first_is(layout: Layout) -> None:
    with (
        changing(layout),
        pytest.raises(Refused, match=rf"a recording or another tool is at work \(pid {os.getpid()} of machine "),
        changing(layout),
    ):
        pytest.fail("held twice")
    with changing(layout):
        pass


def test_a_new_task_is_made_and_its_lock_stays_hidden(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "new" / "task")
    with changing(layout):
        assert LOCK.startswith(".")
    assert visible(layout) == {}


def test_a_task_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "task").write_text("")
    with pytest.raises(Refused, match="a folder that can be written to"), changing(Layout(tmp_path / "task")):
        pass


CODES = ["EROFS", "EACCES", "EPERM", "ENOLCK", "EOPNOTSUPP"]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", ["os.open", "fcntl.flock"])
def test_a_folder_that_cannot_be_written_to_or_locked_is_refused_with_what_was_found(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, code: str, call: str
) -> None:
    number = getattr(errno, code)

    def failing(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(call, failing)
        with pytest.raises(Refused, match=f"{os.strerror(number)}.*can be written to and locked"), changing(layout):
            pytest.fail("went on")
    with changing(layout):
        pass


def test_a_disk_that_fails_is_no_fault_of_the_users(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("fcntl.flock", failing)
    with pytest.raises(OSError, match="Input/output"), changing(layout):
        pass


@pytest.mark.parametrize("names", [PLACES[0], GOES[1]])
def test_a_folder_in_the_way_is_refused_before_anything_is_changed_and_bricks_no_task(
    layout: Layout, names: str
) -> None:
    (layout.root / names).unlink(missing_ok=True)
    (layout.root / names).mkdir(parents=True)
    with changing(layout):
        renames, removals = ready(layout)
        before = visible(layout)
        with pytest.raises(Refused, match=r"found a folder, expected a file, or nothing"):
            journal.commit(layout, renames, removals)
        assert visible(layout) == before
        assert not journal.pending(layout)
    with changing(layout):
        pass


def test_a_folder_in_the_way_of_what_a_dead_process_began_is_told_until_it_is_gone(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, after = before_and_after(layout)
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_carry_out", lambda *_: None)  # dead before the first rename
        with changing(layout):
            journal.commit(layout, *ready(layout))
    (layout.root / GOES[1]).unlink()
    (layout.root / GOES[1]).mkdir()
    with pytest.raises(Refused, match=r"episode-001\.mkv: found a folder"), changing(layout):
        pytest.fail("went on")
    (layout.root / GOES[1]).rmdir()
    with changing(layout):
        assert visible(layout) == after


def test_a_hidden_folder_of_a_temporarys_name_is_left_alone(layout: Layout) -> None:
    folder = layout.root / "data/chunk-000/.episode-001.parquet.tmp"
    folder.mkdir(parents=True)
    with changing(layout):
        assert folder.is_dir()


@pytest.mark.parametrize("name", ["head\\left", "手", "\udcff", "a b"])
def test_any_name_a_folder_can_have_is_published_and_removed(layout: Layout, name: str) -> None:
    place, gone = (layout.root / "videos/chunk-000" / name / f"episode-00{k}.mp4" for k in (0, 1))
    place.parent.mkdir(parents=True)
    gone.touch()
    with changing(layout):
        journal.commit(layout, [(journal.prepare(place, b"new"), place)], [gone])
    assert [each.name for each in place.parent.iterdir()] == ["episode-000.mp4"]


def test_a_note_of_such_names_is_replayed(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    place = layout.root / "videos/chunk-000/a\\b\udcff/episode-000.mp4"
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_carry_out", lambda *_: None)
        with changing(layout):
            journal.commit(layout, [(journal.prepare(place, b"new"), place)])
    assert not place.exists()
    with changing(layout):
        assert place.read_bytes() == b"new"


def test_who_removes_a_note_is_told_what_is_lost(layout: Layout) -> None:
    journal.note(layout).write_text("{}")
    with (
        pytest.raises(Refused, match=r"the take it is of is lost.*\.episode-\*\.tmp.*copy them first"),
        changing(layout),
    ):
        pytest.fail("went on")


def test_a_full_disk_leaves_no_half_of_a_hidden_file(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = visible(layout)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        journal.prepare(layout.info, b"x" * 100)
    with pytest.raises(OSError, match="No space left"):
        write_aside(layout.info, [b"x" * 100])
    assert visible(layout) == before


OWNER = """
    import subprocess, sys, time
    from pathlib import Path
    from quickdraw.formats.pooled.exclusive import changing
    from quickdraw.formats.pooled.layout import Layout
    with changing(Layout(Path(sys.argv[1]))):
        child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)  # as an encoder is
        print(child.pid, flush=True)
        time.sleep(60)
"""


def test_the_lock_dies_with_its_owner_though_an_encoder_lives_on(layout: Layout) -> None:
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(OWNER), str(layout.root)], stdout=subprocess.PIPE)
    assert owner.stdout
    with owner.stdout:
        encoder = int(owner.stdout.readline())
        try:
            with pytest.raises(Refused, match=rf"pid {owner.pid} of "), changing(layout):
                pass
            owner.kill()
            owner.wait()
            os.kill(encoder, 0)  # it does live on
            with changing(layout):
                pass
        finally:
            owner.kill()
            owner.wait()
            os.kill(encoder, signal.SIGKILL)


def test_a_commit_publishes_all_and_leaves_no_note(layout: Layout) -> None:
    _, after = before_and_after(layout)
    with changing(layout):
        journal.commit(layout, *ready(layout))
        assert not journal.pending(layout)
    assert visible(layout) == after


STEPS = [(call, then) for call in ("replace", "unlink", "fsync") for then in ("before", "after")]


@pytest.mark.parametrize(("call", "then"), STEPS)
def test_a_kill_at_every_step_leaves_the_state_before_or_after(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str, then: str
) -> None:
    real, outcomes = getattr(os, call), []
    for k in range(100):
        here = Layout(tmp_path / f"copy{k}")
        for name, text in visible(layout).items():
            path = here.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        before, after = before_and_after(here)
        seen = 0

        def dying(*arguments: Any, at: int = k, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == at + 1 and then == "before":
                raise Killed
            result = real(*arguments, **named)
            if seen == at + 1:
                raise Killed
            return result

        with monkeypatch.context() as patched:
            try:
                with changing(here):
                    renames = ready(here)
                    patched.setattr(os, call, dying)
                    journal.commit(here, *renames)
            except Killed:
                pass
            else:
                break
        noted = journal.pending(here)
        with changing(here):
            found = visible(here)
        assert found in (before, after)
        assert not noted or found == after
        outcomes.append(found == after)
    assert visible(here) == after  # the last one was not killed
    assert len(outcomes) >= 3
    assert outcomes == sorted(outcomes)  # once published, always published
    assert outcomes[-1]


def test_a_kill_while_the_rest_is_done_is_mended_too(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    _, after = before_and_after(layout)
    real, calls = os.replace, []

    def dying(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) in (2, 3, 4):  # the first is that of the note
            raise Killed
        real(*arguments)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(Killed), changing(layout):
        journal.commit(layout, *ready(layout))
    for _ in range(2):
        with pytest.raises(Killed), changing(layout):
            pass
    with changing(layout):
        assert visible(layout) == after


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from quickdraw.formats.pooled import journal
    from quickdraw.formats.pooled.exclusive import changing
    from quickdraw.formats.pooled.layout import Layout
    root, at = Path(sys.argv[1]), int(sys.argv[2])
    real, calls = os.replace, []
    def dying(*arguments):
        calls.append(arguments)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments)
    os.replace = dying
    layout = Layout(root)
    with changing(layout):
        places = [root / name for name in sys.argv[3:]]
        journal.commit(layout, [(journal.prepare(each, b"new " + each.name.encode()), each) for each in places])
"""


@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_process_killed_for_real_is_recovered_from(layout: Layout, at: int) -> None:
    before = visible(layout)
    after = before | {name: f"new {Path(name).name}" for name in PLACES}
    (layout.root / PLACES[0]).parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(layout.root), str(at), *PLACES]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with changing(layout):
        assert visible(layout) == (before if at == 1 else after)


def test_a_full_disk_while_the_note_is_written_changes_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = before_and_after(layout)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with changing(layout):
        renames = ready(layout)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left"):
                journal.commit(layout, *renames)
        assert not journal.pending(layout)
    with changing(layout):
        assert visible(layout) == before


def test_a_commit_of_what_is_not_ready_is_a_fault_of_ours(layout: Layout) -> None:
    before = visible(layout)
    place = layout.root / PLACES[2]
    with changing(layout):
        with pytest.raises(InvariantError, match="is not ready"):
            journal.commit(layout, [(aside(place), place)])
        with pytest.raises(InvariantError, match="is not ready"):
            journal.commit(layout, [(place, place)])
        with pytest.raises(InvariantError, match="no file of task"):
            journal.commit(layout, [], [layout.root.parent / "elsewhere"])
        with pytest.raises(InvariantError, match="no file of task"):
            journal.commit(layout, [], [layout.root / "meta" / ".." / ".." / "elsewhere"])
    assert visible(layout) == before


FOREIGN = [
    "not JSON",
    "[]",
    "null",
    '{"renames": 3, "removals": []}',
    '{"renames": [["meta/.info.json.tmp"]], "removals": []}',
    '{"renames": [[1, 2]], "removals": []}',
    '{"renames": [], "removals": ["../outside"]}',
    '{"renames": [], "removals": ["/etc/hostname"]}',
    '{"renames": [], "removals": ["meta/../../outside"]}',
    '{"renames": [], "removals": ["outside"]}',
    '{"renames": [], "removals": [7]}',
    '{"renames": [], "removals": ["meta//x"]}',
    '{"renames": [["../.outside.tmp", "../outside"]], "removals": []}',
    '{"renames": [["meta/stats.json", "meta/info.json"]], "removals": []}',
    '{"renames": [["data/.info.json.tmp", "meta/info.json"]], "removals": []}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", FOREIGN, ids=range(len(FOREIGN)))
def test_a_note_that_is_none_of_ours_is_refused_and_nothing_done(layout: Layout, text: str) -> None:
    outside = layout.root.parent / "outside"
    outside.write_text("kept")
    journal.note(layout).write_text(text)
    before = visible(layout)
    with pytest.raises(Refused, match=r"\.finishing\.json"), changing(layout):
        pytest.fail("went on")
    assert visible(layout) == before
    assert outside.read_text() == "kept"


def test_only_the_hidden_files_of_a_dead_recording_are_removed_and_the_folders_they_made(layout: Layout) -> None:
    before = visible(layout)
    gone = (
        "videos/chunk-000/cam/.episode-002.mp4.tmp",
        "videos/chunk-000/fresh/.episode-002.mp4.tmp",
        "videos/chunk-001/fresh/.episode-000.mkv.tmp",
        "data/chunk-000/.episode-002.parquet.tmp",
        "data/chunk-000/.episode-002.segment-000.tmp",
        "meta/episodes/chunk-000/.episode-002.parquet.tmp",
        "meta/.info.json.tmp",
        "meta/..finishing.json.tmp",
    )
    kept = ("meta/.stats_state.json", "meta/episodes/.lock", "videos/chunk-000/cam/.hidden", "data/.episode-009.tmp")
    for name in (*gone, *kept):
        path = layout.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    with changing(layout):
        assert visible(layout) == before | dict.fromkeys(kept, "")
    assert not (layout.root / "videos" / "chunk-001").exists()
    assert not (layout.root / "videos" / "chunk-000" / "fresh").exists()
    assert not (layout.root / "meta" / "episodes" / "chunk-000").exists()


def test_the_note_names_paths_below_the_task_so_that_a_moved_task_recovers(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, after = before_and_after(layout)
    real, calls = os.replace, []

    def dying(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 3:
            raise Killed
        real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dying)
        with pytest.raises(Killed), changing(layout):
            journal.commit(layout, *ready(layout))
    assert json.loads(journal.note(layout).read_text())["removals"] == list(GOES)
    moved = Layout(layout.root.rename(layout.root.with_name("moved")))
    with changing(moved):
        assert visible(moved) == after
