"""Publishing: whole or not at all, one builder at a time, whatever an earlier one left."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from quickdraw.errors import Refused
from quickdraw.pipeline.exchange import exchanged
from quickdraw.pipeline.publish import jobs_folder, publish, refuse_unfit, staging


def dataset(folder: Path, name: str) -> Path:
    """Something that counts as a dataset of ours."""
    (folder / "train").mkdir(parents=True)
    (folder / "provenance.json").write_text(
        json.dumps({"quickdraw": "0", "name": name, "episodes": [{"split": "train"}]})
    )
    return folder


def name_of(folder: Path) -> str:
    return str(json.loads((folder / "provenance.json").read_text())["name"])


def test_a_finished_dataset_replaces_the_published_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    output = dataset(tmp_path / "d", "old")
    with staging(output) as folder:
        publish(dataset(folder / "dataset", "new"), output)
    assert name_of(output) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_build_that_fails_leaves_what_was_published_and_no_folder_it_made(tmp_path: Path) -> None:
    output = dataset(tmp_path / "d", "old")
    with pytest.raises(ZeroDivisionError), staging(output):
        raise ZeroDivisionError
    assert name_of(output) == "old"
    with pytest.raises(ZeroDivisionError), staging(tmp_path / "a" / "b" / "e"):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def leave_half_done(output: Path) -> None:
    """A build that fails with one part finished."""
    with staging(output) as folder:
        (folder / "parts" / "finished").mkdir(parents=True)
        (folder / "dataset" / "half").mkdir(parents=True)
        raise ZeroDivisionError


def test_what_is_finished_is_kept_for_the_next_try_and_all_else_is_not(tmp_path: Path) -> None:
    output = tmp_path / "a" / "d"
    with pytest.raises(ZeroDivisionError):
        leave_half_done(output)
    with staging(output) as folder:
        assert sorted(path.name for path in folder.iterdir()) == ["lock", "parts"]
        shutil.rmtree(folder / "parts")
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    assert list((tmp_path / "a").iterdir()) == []


def test_the_two_datasets_change_places_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At no moment is there none: nothing is renamed."""
    output = dataset(tmp_path / "d", "old")

    def renaming(self: Path, target: Path) -> Path:
        raise AssertionError(f"{self} renamed to {target}")

    monkeypatch.setattr(Path, "rename", renaming)
    with staging(output) as folder:
        publish(dataset(folder / "dataset", "new"), output)
        assert (name_of(output), name_of(folder / "dataset")) == ("new", "old")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_folders_are_exchanged_or_the_file_system_says_it_cannot(tmp_path: Path) -> None:
    one, other = dataset(tmp_path / "one", "one"), dataset(tmp_path / "other", "other")
    assert exchanged(one, other)
    assert (name_of(one), name_of(other)) == ("other", "one")
    with pytest.raises(OSError, match="No such file"):
        exchanged(one, tmp_path / "nothing")


@pytest.fixture
def without_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quickdraw.pipeline.publish.exchanged", lambda one, other: False)


@pytest.mark.usefixtures("without_exchange")
def test_where_folders_cannot_be_exchanged_they_are_renamed(tmp_path: Path) -> None:
    output = dataset(tmp_path / "d", "old")
    with staging(output) as folder:
        publish(dataset(folder / "dataset", "new"), output)
    assert name_of(output) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.usefixtures("without_exchange")
def test_a_rename_that_fails_puts_the_old_dataset_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = dataset(tmp_path / "d", "old")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "dataset":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="No space left"), staging(output) as folder:
        publish(dataset(folder / "dataset", "new"), output)
    assert name_of(output) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("without_exchange")
def test_an_interruption_between_the_two_renames_waits_until_both_are_done(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, rename = dataset(tmp_path / "d", "old"), Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        os.kill(os.getpid(), number)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), staging(output) as folder:
            publish(dataset(folder / "dataset", "new"), output)
    finally:
        signal.signal(number, before)
    assert name_of(output) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_second_build_into_one_place_is_refused_with_who_holds_it(tmp_path: Path) -> None:
    output = tmp_path / "d"
    who = rf"another build into it is running \(process {os.getpid()} on {platform.node()} since 20.* [+-]\d+\)"
    with staging(output) as folder:
        (folder / "half done").write_text("work")
        with pytest.raises(Refused, match=who), staging(output):
            raise AssertionError("two builders in one place")
        with pytest.raises(Refused, match=who):  # at once, before anything is planned
            refuse_unfit(output)
        assert (folder / "half done").read_text() == "work"
    with staging(output) as folder:
        assert [path.name for path in folder.iterdir()] == ["lock"]


def test_what_a_batch_systems_jobs_left_beside_a_dataset_must_be_a_folder(tmp_path: Path) -> None:
    output = dataset(tmp_path / "d", "old")
    jobs_folder(output).mkdir()
    refuse_unfit(output)
    jobs_folder(output).rmdir()
    jobs_folder(output).write_text("somebody's")
    with pytest.raises(Refused, match=r"\.d\.jobs.*something that no build put there"):
        refuse_unfit(output)


def test_a_lock_dies_with_its_owner(tmp_path: Path) -> None:
    output = tmp_path / "d"
    hold = "import os, sys; from pathlib import Path; from quickdraw.pipeline.publish import staging\n" \
           "with staging(Path(sys.argv[1])): os.kill(os.getpid(), 9)"  # fmt: skip
    assert subprocess.run([sys.executable, "-c", hold, str(output)], check=False).returncode == -9
    assert (tmp_path / ".d.building" / "lock").read_text().startswith("process ")
    with staging(output) as folder:
        assert str(os.getpid()) in (folder / "lock").read_text()


def test_a_file_system_without_locks_is_not_taken_for_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(lock: TextIO, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", without_locks)
    with pytest.raises(Refused, match=r"a file system without locks \(No locks available\)"), staging(tmp_path / "d"):
        raise AssertionError("built without a lock")


def test_what_a_killed_build_left_is_mended(tmp_path: Path) -> None:
    output = tmp_path / "d"
    (tmp_path / ".d.building" / "dataset" / "c").mkdir(parents=True)
    dataset(tmp_path / ".d.retired", "old")  # killed between the two renames
    with staging(output) as folder:
        assert [path.name for path in folder.iterdir()] == ["lock"]
        assert name_of(output) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_the_dataset_a_link_leads_to_is_what_is_replaced(tmp_path: Path) -> None:
    real = dataset(tmp_path / "disk" / "d", "old")
    (tmp_path / "link").symlink_to(real)
    output = (tmp_path / "link").resolve()
    refuse_unfit(output)
    with staging(output) as folder:
        publish(dataset(folder / "dataset", "new"), output)
    assert (tmp_path / "link").is_symlink()
    assert name_of(tmp_path / "link") == "new"


@pytest.mark.parametrize(
    ("output", "found"),
    [("/", "the root folder"), ("/tmp/" + "n" * 250, "a name too long"), ("/tmp/" + "n" * 245, "a name too long")],
)
def test_a_place_that_can_hold_no_dataset_is_refused(output: str, found: str) -> None:
    with pytest.raises(Refused, match=found):
        refuse_unfit(Path(output))
