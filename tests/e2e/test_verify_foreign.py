"""Nothing is wrong with what lerobot itself writes, nor with what its tools make of our splits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify.report import Report
from quickdraw.pipeline.verify.verify import verify

KB = 1024
LENGTHS = (9, 14, 5, 22, 7)
Remember = Callable[..., dict[str, Any]]


def findings(dataset: Path) -> list[str]:
    return [str(fault) for fault in report_of(dataset).findings]


def report_of(dataset: Path) -> Report:
    return verify(dataset, Inline(), PlainProgress())


@pytest.fixture(scope="module")
def recorded(synthetic: ModuleType, lerobot: Callable[..., dict[str, Any]], remember: Remember) -> Path:
    """Five episodes of two tasks, recorded by lerobot's own writer in its default encoding."""
    from quickdraw.formats.lerobot.schema import feature_dicts

    def ask(folder: Path) -> dict[str, Any]:
        spec = synthetic.dataset_spec()
        arrays: dict[str, Any] = {}
        for number, length in enumerate(LENGTHS):
            episode = synthetic.fake_episode(number, length, folder / "clips")
            arrays |= {f"{number}/{name}": rows for name, rows in episode.arrays.items()}
            for camera in spec.cameras:
                shown = [synthetic.paint(camera, number, row) for row in range(length)]
                arrays[f"{number}/{spec.video_key(camera)}"] = np.stack(shown)
        np.savez(folder / "arrays.npz", **arrays)
        features = feature_dicts(spec)
        users = {name: features[name] for name in (*(f.name for f in spec.features), *spec.video_keys)}
        asked = {"root": folder / "theirs", "features": users, "fps": spec.rate_hz, "robot_type": "xarm7",
                 "encoder": {}, "tasks": [f"task {n % 2}" for n in range(len(LENGTHS))],
                 "arrays": folder / "arrays.npz"}  # fmt: skip
        lerobot("write_reference", asked)
        return {"root": str(folder / "theirs")}

    return Path(remember("verify-recorded", ask)["root"])


@pytest.fixture(scope="module")
def edited(
    synthetic: ModuleType, sample_dataset: Path, lerobot: Callable[..., dict[str, Any]], remember: Remember
) -> dict[str, Path]:
    """What lerobot's merge, aggregate, split and delete make of a painted split and of the sample's train and val."""
    from quickdraw.formats.lerobot import blocks, files
    from quickdraw.formats.lerobot.schema import Limits

    def ask(folder: Path) -> dict[str, Any]:
        limits = Limits(files_per_chunk=2, data_mb=12, video_mb=18, video_s=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "MB", KB)
            patch.setattr(blocks, "MB", KB)
            for name, first in (("one", 0), ("two", 100)):
                episodes = [synthetic.fake_episode(first + n, frames, folder) for n, frames in enumerate(LENGTHS)]
                synthetic.pack(folder / name, synthetic.dataset_spec(limits), episodes)
        merge = [[folder / "one", folder / "two"], [sample_dataset / "train", sample_dataset / "val"]]
        divide = {"first": [0, 2], "second": [1, 4]}
        asked = {"merge": merge, "edit": folder / "one", "delete": [1, 3], "divide": divide, "target": folder / "out"}
        answer = lerobot("edit_splits", asked)
        return {"one": str(folder / "one"), **{name: result["root"] for name, result in answer.items()}}

    return {name: Path(root) for name, root in remember("verify-edited", ask).items()}


def test_nothing_is_wrong_with_what_lerobot_recorded(recorded: Path) -> None:
    assert findings(recorded) == []


def test_of_what_lerobot_recorded_everything_is_looked_at(recorded: Path) -> None:
    report = report_of(recorded)
    rows = sum(LENGTHS)
    assert (report.rows, report.pictures) == (rows, 2 * rows)
    for check in ("row order", "timestamps", "finite values", "rotation"):
        assert report.checks[check] == rows
    assert {skipped.reason for skipped in report.skipped} == {
        "no provenance.json", "no fingerprints/files.json", "no fingerprints/theirs.parquet", "no media/",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["one", "merged1", "aggregated1", "deleted", "first", "second"])
def test_nothing_is_wrong_with_what_lerobots_tools_make_of_our_splits(edited: dict[str, Path], name: str) -> None:
    assert findings(edited[name]) == []


@pytest.mark.parametrize("name", ["merged0", "aggregated0"])
def test_rows_that_lerobot_moved_to_another_metadata_file_and_left_the_old_name_in_are_found(
    edited: dict[str, Path], name: str
) -> None:
    [found] = findings(edited[name])  # of splits with several such files; its reader does not look at that column
    assert "its row says it is in meta/episodes/chunk-000/file-001.parquet" in found
