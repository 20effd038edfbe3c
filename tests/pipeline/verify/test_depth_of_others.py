"""Nothing is wrong with depth that lerobot itself wrote; what is, is found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from quickdraw.pipeline.verify.report import Report

type Verified = Callable[..., Report]
type Lerobot = Callable[[str, dict[str, Any]], dict[str, Any]]
type Remember = Callable[..., dict[str, Any]]

LENGTHS = (40, 33)
DEPTH = "observation.images.depth"


@pytest.fixture(scope="module", params=["mm", "m"])
def theirs(request: pytest.FixtureRequest, lerobot: Lerobot, remember: Remember) -> Path:
    """Two episodes by lerobot's writer, of uint16 millimetres or float32 metres; some of it beyond 10 m."""
    unit = request.param

    def ask(folder: Path) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        for number, length in enumerate(LENGTHS):
            random = np.random.default_rng(number)
            wall = 500 + 20 * np.arange(64)[None, None, :] + random.integers(0, 9, (length, 48, 64))
            wall[:, 3:6, 4:9], wall[:, -1, :8] = 0, 20_000
            depth = wall.astype(np.uint16) if unit == "mm" else (wall / 1000).astype(np.float32)
            arrays[f"{number}/depth"] = depth[..., None]
            row = np.arange(length)
            colour = np.full((length, 48, 64, 3), 60, np.uint8) + row[:, None, None, None].astype(np.uint8)
            arrays[f"{number}/colour"] = colour
            arrays[f"{number}/state"] = np.stack([row, row * number], axis=1).astype(np.float32)
        np.savez(folder / "arrays.npz", **arrays)
        root = folder / "theirs"
        lerobot("write_depth_reference", {"root": root, "fps": 30, "arrays": folder / "arrays.npz"})
        return {"root": str(root)}

    return Path(remember(f"verify-depth-{unit}", ask)["root"])


def test_what_lerobot_wrote_is_sound_in_either_unit(theirs: Path, verified: Verified) -> None:
    about = json.loads((theirs / "meta/info.json").read_text())["features"][DEPTH]
    assert about["info"]["depth_unit"] == ("m" if "depth-m/" in f"{theirs}/" else "mm")
    report = verified(theirs)
    assert [str(fault) for fault in report.findings] == []
    assert report.pictures == 2 * sum(LENGTHS)


def test_a_scale_that_is_not_the_files_is_found(
    built: Path, plants: ModuleType, verified: Verified, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(built / "val", tmp_path / "val"))
    key = "observation.images.side_depth"

    def change(info: dict[str, Any]) -> None:
        info["features"][key]["info"] |= {"video.depth_min": 0.1, "video.depth_max": 5.0, "video.shift": 0.0}

    plants.redocument(root / "meta/info.json", change)
    found = [str(fault) for fault in verified(root).findings]
    assert any("episode 0, observation.images.side_depth: mean" in line for line in found), found


def test_an_episode_that_was_split_off_may_keep_the_statistics_of_its_old_number(
    built: Path, plants: ModuleType, verified: Verified, tmp_path: Path
) -> None:
    """As lerobot's split leaves them: rows are numbered anew, what is said of their numbers is not."""
    root = Path(shutil.copytree(built / "val", tmp_path / "val"))

    def change(stats: dict[str, Any]) -> None:
        for name in ("min", "max", "mean", "q01", "q10", "q50", "q90", "q99"):
            stats["episode_index"][name] = [1.0]

    plants.redocument(root / "meta/stats.json", change)
    assert verified(root).findings == ()
    plants.redocument(root / "meta/stats.json", lambda stats: stats["episode_index"].update(count=[7]))
    assert [fault.field for fault in verified(root).findings] == ["statistics"]
