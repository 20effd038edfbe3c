"""Which processor a folder is for, also where nobody may look into it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from quickdraw.data.recognising import processor_of


def task(folder: Path) -> Path:
    (folder / "meta").mkdir(parents=True)
    (folder / "meta/info.json").write_text("{}")
    return folder


def test_a_task_and_a_folder_of_tasks_are_pooled(tmp_path: Path) -> None:
    assert processor_of(task(tmp_path / "root/one")) == "pooled_episodes"
    assert processor_of(tmp_path / "root") == "pooled_episodes"
    assert processor_of(tmp_path) == "block_stack"


def test_a_campaign_beside_a_task_is_no_pooled_recording(tmp_path: Path) -> None:
    task(tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two/campaign.json").write_text("{}")
    assert processor_of(tmp_path) == "block_stack"


@pytest.mark.parametrize("forbidden", ["locked", "one"])
def test_a_folder_nobody_may_enter_may_be_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbidden: str
) -> None:
    """As the source has it, which says that it cannot be looked at; beside a campaign it is none."""
    task(tmp_path / "one")
    (tmp_path / "locked").mkdir()
    real = Path.stat

    def refusing(path: Path, **more: Any) -> Any:
        if tmp_path / forbidden in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, **more)

    monkeypatch.setattr(Path, "stat", refusing)
    assert processor_of(tmp_path) == "pooled_episodes"
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign/campaign.json").touch()
    assert processor_of(tmp_path) == "block_stack"


def test_a_folder_that_cannot_be_listed_is_left_to_the_source(tmp_path: Path) -> None:
    assert processor_of(tmp_path / "nowhere") == "block_stack"
    (tmp_path / "file").touch()
    assert processor_of(tmp_path / "file") == "block_stack"
