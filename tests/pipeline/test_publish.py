"""Publishing: whole or not at all, one builder at a time, whatever an earlier one left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quickdraw.errors import Refused
from quickdraw.pipeline.publish import publish, refuse_unfit, staging


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


def test_a_second_build_into_one_place_is_refused_while_the_first_one_lives(tmp_path: Path) -> None:
    output = tmp_path / "d"
    with staging(output) as folder:
        (folder / "half done").write_text("work")
        with pytest.raises(Refused, match="another build into it is running"), staging(output):
            raise AssertionError("two builders in one place")
        assert (folder / "half done").read_text() == "work"
    with staging(output) as folder:
        assert list(folder.iterdir()) == []


def test_what_a_killed_build_left_is_mended(tmp_path: Path) -> None:
    output = tmp_path / "d"
    (tmp_path / ".d.building" / "fragments" / "c").mkdir(parents=True)
    dataset(tmp_path / ".d.retired", "old")  # killed between the two renames
    with staging(output) as folder:
        assert list(folder.iterdir()) == []
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


@pytest.mark.parametrize(("output", "found"), [("/", "the root folder"), ("/tmp/" + "n" * 250, "a name too long")])
def test_a_place_that_can_hold_no_dataset_is_refused(output: str, found: str) -> None:
    with pytest.raises(Refused, match=found):
        refuse_unfit(Path(output))
