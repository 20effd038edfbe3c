"""Where a dataset grows: files appear there whole, and no task of another build reaches it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from quickdraw.pipeline.links import link
from quickdraw.pipeline.parts import PartStore
from quickdraw.pipeline.site import Site


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_is_filled_gets_its_place_when_it_is_whole_and_not_before(tmp_path: Path) -> None:
    site = Site.begin(tmp_path)
    with site.filling(site.dataset / "train") as folder:
        (folder / "data").mkdir()
        (folder / "data/rows").write_text("all of them")
        assert files(site.dataset) == {}
    assert files(site.dataset) == {"train/data/rows": "all of them"}
    assert list(site.aside.iterdir()) == []


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    site = Site.begin(tmp_path)

    def fail() -> None:
        with site.filling(site.dataset) as folder:
            (folder / "half").write_text("of it")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert files(site.folder) == {}
    assert list(site.aside.iterdir()) == []


def test_two_tasks_at_the_same_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    site = Site.begin(tmp_path)
    with site.filling(site.dataset) as one:
        (one / "file").write_text("the ")
        with site.filling(site.dataset) as other:
            (other / "file").write_text("the same")
        assert files(site.dataset) == {"file": "the same"}
        with (one / "file").open("a") as file:
            file.write("same")
    assert files(site.dataset) == {"file": "the same"}


def test_a_task_that_outlives_its_build_fails_and_makes_no_folder_again(tmp_path: Path) -> None:
    old, new = Site.begin(tmp_path), Site.begin(tmp_path)

    def outlive() -> None:
        with old.filling(old.dataset / "train") as folder:
            (folder / "late").write_text("of a build that is no more")
            shutil.rmtree(old.folder)

    with pytest.raises(FileNotFoundError):
        outlive()
    with pytest.raises(FileNotFoundError), old.filling(old.dataset / "train"):
        raise AssertionError("begun")
    with pytest.raises(FileNotFoundError):
        old.make(old.dataset / "train")
    assert [path.name for path in tmp_path.iterdir()] == [new.folder.name]


def test_a_name_that_is_there_already_stays(tmp_path: Path) -> None:
    (tmp_path / "clip").write_text("pictures")
    for _ in range(2):
        link(tmp_path / "clip", tmp_path / "name")
    assert (tmp_path / "name").samefile(tmp_path / "clip")


def test_a_copy_grows_aside_where_the_file_system_knows_no_further_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(source: Path, name: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def torn(source: Path, target: Path, *, follow_symlinks: bool) -> None:
        Path(target).write_text("pic")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "clip").write_text("pictures")
    (tmp_path / "aside").mkdir()
    (tmp_path / "in").mkdir()
    monkeypatch.setattr(os, "link", refused)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copy2", torn)
        with pytest.raises(OSError, match="No space left"):
            link(tmp_path / "clip", tmp_path / "in/name", tmp_path / "aside")
    assert files(tmp_path) == {"clip": "pictures"}
    for _ in range(2):  # two tasks, one after the other
        link(tmp_path / "clip", tmp_path / "in/name", tmp_path / "aside")
    assert files(tmp_path) == {"clip": "pictures", "in/name": "pictures"}


def fill(folder: Path) -> None:
    (folder / "file").write_text("part")


def test_a_part_that_another_task_has_made_meanwhile_is_as_good(tmp_path: Path) -> None:
    store = PartStore(tmp_path / "parts")

    def overtaken(folder: Path) -> None:
        store.make("a part", fill)
        fill(folder)

    store.make("a part", overtaken)
    assert files(store.root) == {"a part/file": "part"}


def test_a_part_is_judged_by_what_the_system_says_not_by_what_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system of a network may not show yet what another machine has made."""
    store = PartStore(tmp_path / "parts")
    store.make("a part", fill)
    with monkeypatch.context() as patch:
        patch.setattr(PartStore, "has", lambda store, part: False)
        store.make("a part", fill)

    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        store.make("a part", fill)


def test_a_part_that_is_being_made_when_its_build_ends_does_not_come_back(tmp_path: Path) -> None:
    store = PartStore(tmp_path / "building" / "parts")
    store.root.mkdir(parents=True)

    def cleared(folder: Path) -> None:
        store.clear()
        fill(folder)

    with pytest.raises(FileNotFoundError):
        store.make("a part", cleared)
    assert list((tmp_path / "building").iterdir()) == []
    (tmp_path / "building").rmdir()
    with pytest.raises(FileNotFoundError):
        store.make("a part", fill)
    assert list(tmp_path.iterdir()) == []
