"""`quickdraw objects` on the built sample: what it adds is what a build adds, and nothing else is touched."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Once = Callable[[str, Callable[[Path], None]], Path]
Processors = Callable[..., subprocess.CompletedProcess[str]]

CUBE = "observation.objects.cube"
PALETTES = {
    "train": ["red", "green", "blue"], "val": ["red", "green", "blue"],
    "eval_purple_play": ["red", "blue", "purple"], "eval_purple_stack": ["red", "blue", "purple"],
}  # fmt: skip
LOG = "progress.log"


def objects(dataset: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, as a user runs it."""
    command = [sys.executable, "-c", "from quickdraw.cli.main import app; app()", "objects", str(dataset), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


VIEWS = ("report.html", "README.md")


def digests(root: Path) -> dict[str, str]:
    """SHA-256 of every file but progress.log and the views."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name not in (LOG, *VIEWS))
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def inodes(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): path.stat().st_ino for path in root.rglob("*") if path.is_file()}


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def column(split: Path) -> npt.NDArray[np.float32]:
    tables = [pq.read_table(file) for file in sorted((split / "data").glob("*/*.parquet"))]
    return np.array(pa.concat_tables(tables)[CUBE].to_pylist(), np.float32)


@dataclass(frozen=True)
class Builds:
    """The sample built without cubes, built with them, and given them afterwards; `inodes` are those before that."""

    none: Path
    cube: Path
    added: Path
    inodes: dict[str, int]


@pytest.fixture(scope="session")
def builds(sample_tree: Path, processors: Processors, once: Once) -> Builds:
    def make(folder: Path) -> None:
        folder.mkdir()
        for wanted in ("none", "cube"):
            result = processors("+processor=block_stack", f"+source.dir={sample_tree}", f"+source.objects={wanted}",
                                "+report=false", f"+output.dir={folder / wanted}", cwd=folder)  # fmt: skip
            assert result.returncode == 0, result.stderr
        shutil.copytree(folder / "none", folder / "added")
        (folder / "inodes.json").write_text(json.dumps(inodes(folder / "added")))
        result = objects(folder / "added", "--workers", "2")
        assert (result.returncode, result.stderr) == (0, "")
        told = [re.sub(r" \(in (\d) of \1 episodes\)", "", line) for line in result.stdout.splitlines()]
        assert [line for line in told if line.startswith("cubes in ")] == [
            f"cubes in {split}: {', '.join(PALETTES[split])}" for split in sorted(PALETTES)
        ]

    folder = once("objects-builds", make)
    return Builds(folder / "none", folder / "cube", folder / "added", document(folder / "inodes.json"))


def test_cubes_added_afterwards_are_those_of_a_build_byte_for_byte(builds: Builds) -> None:
    assert digests(builds.added) == digests(builds.cube)


def test_by_default_cubes_are_measured_where_both_cameras_are_exported(builds: Builds, sample_dataset: Path) -> None:
    assert digests(sample_dataset) == digests(builds.cube)
    assert document(sample_dataset / "provenance.json")["config"]["objects"] == "cube"  # what `auto` came to


def test_without_cubes_a_dataset_bears_no_trace_of_them(builds: Builds) -> None:
    for path in builds.none.rglob("*.json"):
        text = path.read_text()
        if path.name == "provenance.json":
            provenance = json.loads(text)
            assert provenance["config"].pop("objects") == "none"
            assert provenance["config"].pop("cube")  # thresholds nobody used
            text = json.dumps(provenance)
        assert "cube" not in text, path
        assert "palette" not in text, path
    for path in builds.none.rglob("*.parquet"):
        assert "cube" not in str(pq.read_schema(path)), path
    assert "cube" not in (builds.none / LOG).read_text()


def test_pictures_keep_their_files_and_other_columns_their_bytes(builds: Builds) -> None:
    after = inodes(builds.added)
    kept = {name for name, inode in builds.inodes.items() if after[name] == inode}
    assert {name for name in after if name.endswith(".mp4")} <= kept
    assert {name for name in after if name.endswith("tasks.parquet")} <= kept
    for split in PALETTES:
        for before in sorted((builds.none / split / "data").glob("*/*.parquet")):
            with_cubes = pq.read_table(builds.added / before.relative_to(builds.none))
            assert with_cubes.drop_columns([CUBE]).equals(pq.read_table(before))


def test_recomputing_changes_nothing_but_the_log(builds: Builds, tmp_path: Path) -> None:
    shutil.copytree(builds.cube, tmp_path / "again")
    result = objects(tmp_path / "again")
    assert (result.returncode, result.stderr) == (0, "")
    assert digests(tmp_path / "again") == digests(builds.cube)
    before, after = ((root / LOG).read_text() for root in (builds.cube, tmp_path / "again"))
    assert after.startswith(before)
    assert after.removeprefix(before).startswith("cubes measured ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again"]


@pytest.fixture(scope="session")
def changed(builds: Builds, once: Once) -> Path:
    """The dataset measured anew with another threshold, and once more without saying so."""

    def make(folder: Path) -> None:
        shutil.copytree(builds.cube, folder / "changed")
        for arguments in (["--min-area-px", "150"], []):
            result = objects(folder / "changed", *arguments)
            assert (result.returncode, result.stderr) == (0, "")

    return once("objects-changed", make) / "changed"


def test_another_threshold_changes_the_feature_and_stays_with_the_dataset(changed: Path, builds: Builds) -> None:
    before, after = digests(builds.cube), digests(changed)
    assert {name for name in after if after[name] != before[name]} == {
        "fingerprints/files.json", "normalization_stats.json", "provenance.json", "summary.json",
        *(name for name in after if "/meta/episodes/" in name or "/data/" in name or name.endswith("stats.json")),
        *(name for name in after if name.endswith(".track.npz")),
    }  # fmt: skip
    told = document(changed / "provenance.json")["config"]["cube"]
    assert told == document(builds.cube / "provenance.json")["config"]["cube"] | {"min_area_px": 150.0}
    rows = column(changed / "train")
    sizes = rows[:, 2::4]
    assert sizes[sizes > 0].min() >= math.sqrt(150 / 120) - 1e-6
    assert 0 < np.count_nonzero(sizes) < np.count_nonzero(column(builds.cube / "train")[:, 2::4])


def test_lerobots_reader_returns_the_rows_that_were_put_in(
    changed: Path, lerobot: Callable[..., dict[str, Any]], remember: Callable[..., dict[str, Any]]
) -> None:
    splits = ("val", "eval_purple_stack")
    wanted = {split: [0, 7, len(column(changed / split)) - 1] for split in splits}
    jobs = [{"root": changed / split, "rows": rows} for split, rows in wanted.items()]
    reports = remember("objects-read", lambda _: lerobot("read_splits", {"jobs": jobs}))["reports"]
    assert {Path(report["root"]).name for report in reports} == set(splits)
    for report in reports:
        root = Path(report["root"])
        assert [item["index"] for item in report["items"]] == wanted[root.name]
        for item in report["items"]:
            assert item[CUBE] == column(root)[item["index"]].tolist()


def a_folder(dataset: Path) -> None:
    for split in PALETTES:
        shutil.rmtree(dataset / split, ignore_errors=True)


def a_camera_less(dataset: Path) -> None:
    path = dataset / "val/meta/info.json"
    info = document(path)
    del info["features"]["observation.images.scene_right"]
    path.write_text(json.dumps(info))


def a_truncated_video(dataset: Path) -> None:
    (path,) = (dataset / "val/videos").glob("*gripper_right_top/*/*.mp4")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])


def an_unreadable_provenance(dataset: Path) -> None:
    (dataset / "provenance.json").write_text('{"quickdraw": ')


def a_strange_provenance(dataset: Path) -> None:
    (dataset / "provenance.json").write_text("[]")


def no_episodes(dataset: Path) -> None:
    shutil.rmtree(dataset / "val/meta/episodes")


def nothing(dataset: Path) -> None:
    assert dataset.is_dir()


@pytest.mark.parametrize(
    ("spoil", "arguments", "message"),
    [
        (a_folder, [], "splits: found none, expected a dataset folder, with <split>/meta/info.json"),
        (
            a_camera_less,
            [],
            "val: .*meta/info.json: cameras: found scene_left, gripper_right_bottom, gripper_right_top",
        ),
        (a_truncated_video, [], r"val: .*\.mp4: gripper_right_top: found picture \d+: .*expected a decodable picture"),
        (
            an_unreadable_provenance,
            [],
            r"provenance\.json: found unreadable \(.+\), expected a dataset built by quickdraw",
        ),
        (a_strange_provenance, [], r"found unreadable \(not written by quickdraw\), expected a dataset built by"),
        (no_episodes, [], r"val: .*episodes: found no files, expected a LeRobot v3\.0 split"),
        (nothing, ["--min-area-px", "0"], r"min_area_px: found 0\.0, expected 1 to 1e6 px$"),
        (nothing, ["--min-value", "30"], r"min_value: found 30\.0, expected above 0, at most 1$"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_what_is_refused_is_left_as_it_was(
    spoil: Callable[[Path], None], arguments: list[str], message: str, builds: Builds, tmp_path: Path
) -> None:
    ignored = shutil.ignore_patterns("media", "train", "eval_*")
    dataset = Path(shutil.copytree(builds.none, tmp_path / "dataset", ignore=ignored))
    spoil(dataset)
    before = (digests(dataset), inodes(dataset))
    result = objects(dataset, *arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    line, *summary = result.stderr.splitlines()
    assert summary == ([] if line.startswith("refused: ") else ["refused: 1 fault; nothing was published"])
    assert re.search(message, line), line
    assert (digests(dataset), inodes(dataset)) == before
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    result = objects(tmp_path / "gone")
    assert (result.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "refused: " in result.stderr
    assert "Traceback" not in result.stderr
