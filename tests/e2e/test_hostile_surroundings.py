"""The command amid what really lies about: damaged files, dead links, odd names, an audience that leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

type Processors = Callable[..., subprocess.CompletedProcess[str]]
SMALL = ("+processor=block_stack", "+report=false", "source.hw=[48,64]", "source.cameras=[scene_left]")


@pytest.fixture
def tree(sample_tree: Path, tmp_path: Path) -> Path:
    """Two pooled runs, free to damage."""
    shutil.copytree(sample_tree / "campaign3-play", tmp_path / "raw" / "campaign3-play")
    return tmp_path / "raw"


def first_run(tree: Path) -> Path:
    return min((tree / "campaign3-play").glob("recording_*"))


def test_a_zeroed_disk_block_in_a_video_is_refused_though_it_decodes(
    tree: Path, tmp_path: Path, processors: Processors
) -> None:
    video = first_run(tree) / "video/scene_left.mp4"
    data = bytearray(video.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    video.write_bytes(data)
    result = processors(*SMALL, f"source.dir={tree}", cwd=tmp_path)
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 3)  # the fault, the summary, advice
    assert f"{video}: scene_left: found " in result.stderr
    assert "finished parts are kept in " in result.stdout
    datasets = tmp_path / "datasets"
    assert {path.name for path in datasets.iterdir()} == {f".block_stack.{n}" for n in ("building", "index", "plans")}
    assert sorted(path.name for path in (datasets / ".block_stack.building").iterdir()) == ["lock", "parts"]


def test_every_damaged_video_is_reported_not_only_the_first(tree: Path, tmp_path: Path, processors: Processors) -> None:
    for run in (tree / "campaign3-play").glob("recording_*"):
        video = run / "video/scene_left.mp4"
        video.write_bytes(video.read_bytes()[:-2000])
    result = processors(*SMALL, f"source.dir={tree}", cwd=tmp_path)
    assert result.returncode == 2
    *faults, _summary, _advice = result.stderr.splitlines()
    assert [line.split(": ")[0] for line in faults] == [
        f"campaign3-play/{run.name}" for run in sorted((tree / "campaign3-play").glob("recording_*"))
    ]


def test_raw_tree_and_output_must_lie_apart(tree: Path, tmp_path: Path, processors: Processors) -> None:
    for output in (tree, tree / "built", tmp_path):
        result = processors(*SMALL, f"source.dir={tree}", f"output.dir={output}", cwd=tmp_path)
        assert result.returncode == 2
        assert "one inside the other, expected two folders apart" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw"]


def test_a_rebuild_removes_nothing_that_is_not_its_own(tree: Path, tmp_path: Path, processors: Processors) -> None:
    assert processors(*SMALL, f"source.dir={tree}", "output.dir=d", cwd=tmp_path).returncode == 0
    (tmp_path / "d" / "notes.txt").write_text("mine")
    result = processors(*SMALL, f"source.dir={tree}", "output.dir=d", cwd=tmp_path)
    assert result.returncode == 2
    assert "besides a dataset notes.txt" in result.stderr
    (tmp_path / "d" / "notes.txt").unlink()
    assert processors(*SMALL, f"source.dir={tree}", "output.dir=d", cwd=tmp_path).returncode == 0


def test_a_relative_tree_with_a_colon_is_built(tree: Path, tmp_path: Path, processors: Processors) -> None:
    tree.rename(tmp_path / "2026-09-10:morning")
    result = processors(*SMALL, "source.dir=2026-09-10:morning", cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_dead_links_and_names_that_are_no_text_are_refused(tree: Path, tmp_path: Path, processors: Processors) -> None:
    (tree / "campaign3-play" / "recording_2026_01_01_00_00_00").symlink_to("/not/mounted")
    result = processors(*SMALL, f"source.dir={tree}", "dry_run=true", cwd=tmp_path)
    assert result.returncode == 2
    assert "found a link to /not/mounted, which is not there" in result.stderr
    (tree / "campaign9-gone").symlink_to("/not/mounted either")
    (tree / os.fsdecode(b"campaign4-\xff")).mkdir()
    result = processors(*SMALL, f"source.dir={tree}", "dry_run=true", cwd=tmp_path)
    assert result.returncode == 2
    assert "found a link to /not/mounted either, which is not there" in result.stderr
    assert "expected a name in UTF-8" in result.stderr


def test_records_nested_without_end_are_refused(tree: Path, tmp_path: Path, processors: Processors) -> None:
    path = first_run(tree) / "raw/controller.jsonl"
    lines = path.read_text().splitlines()
    lines[4] = lines[4][:-1] + ',"x":' + "[" * 5000 + "]" * 5000 + "}"
    path.write_text("\n".join(lines) + "\n")
    result = processors(*SMALL, f"source.dir={tree}", "dry_run=true", cwd=tmp_path)
    assert result.returncode == 2
    assert f"{path}:5: record: found undecodable JSON" in result.stderr


def test_a_number_no_float32_can_hold_is_refused(tree: Path, tmp_path: Path, processors: Processors) -> None:
    path = first_run(tree) / "raw/controller.jsonl"
    path.write_text(path.read_text().replace('"move_x":0.0,', '"move_x":1e39,', 1))
    result = processors(*SMALL, f"source.dir={tree}", "dry_run=true", cwd=tmp_path)
    assert result.returncode == 2
    assert "move_x: found NaN or infinite" in result.stderr


@pytest.mark.parametrize("audience", ["| head -1", ">&-", "> /dev/full"])
def test_a_build_goes_on_when_nobody_listens(tree: Path, tmp_path: Path, audience: str) -> None:
    command = " ".join([sys.executable, "-m", "quickdraw.data.processors", *SMALL, f"source.dir={tree}"])
    script = f"set -o pipefail; {command} {audience}".replace("[", "\\[").replace("]", "\\]")
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "datasets/block_stack/train/meta/info.json").is_file()


def test_a_name_the_terminal_cannot_show_does_not_end_a_build(tree: Path, tmp_path: Path) -> None:
    (tree / "campaign3-play").rename(tree / "campaign3-手套")
    command = [sys.executable, "-m", "quickdraw.data.processors", *SMALL, f"source.dir={tree}"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "campaign3-\\u624b\\u5957" in result.stdout
