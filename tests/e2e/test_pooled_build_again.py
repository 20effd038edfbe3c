"""A pooled build made again: up to date; the same bytes with more workers, and after it was killed in the middle."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

type Processors = Callable[..., subprocess.CompletedProcess[str]]
type Typed = Callable[..., list[str]]


def digests(root: Path) -> dict[str, str]:
    """SHA-256 of every file but progress.log."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "progress.log")
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_same_command_again_finds_it_up_to_date(
    pooled_datasets: Path, pooled_typed: Typed, processors: Processors, tmp_path: Path
) -> None:
    output = pooled_datasets / "umi" / "d"
    before = digests(output)
    done = processors(*pooled_typed("umi", output, "+source.workers=2"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"up to date: {output}" in done.stdout
    assert digests(output) == before


def test_an_option_that_rows_depend_on_makes_rows_anew_and_pictures_are_used_again(
    pooled_datasets: Path, pooled_typed: Typed, processors: Processors, tmp_path: Path
) -> None:
    output = tmp_path / "d"
    for beside in ("d", ".d.index", ".d.plans"):
        there = pooled_datasets / "gloves" / beside
        (shutil.copytree if there.is_dir() else shutil.copy)(there, tmp_path / beside)
    done = processors(*pooled_typed("gloves", output, "+source.imu.samples=3", "+source.workers=1"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "up to date" not in done.stdout
    assert "4 parts made, 4 there already" in done.stdout
    old, new = digests(pooled_datasets / "gloves" / "d"), digests(output)
    videos = [name for name in old if name.endswith(".mp4")]
    assert videos
    assert all(new[name] == old[name] for name in videos)
    assert old["train/data/chunk-000/file-000.parquet"] != new["train/data/chunk-000/file-000.parquet"]


@pytest.mark.parametrize("name", ["umi"])
def test_two_workers_make_the_same_bytes_as_one(
    name: str, pooled_datasets: Path, pooled_typed: Typed, processors: Processors, tmp_path: Path
) -> None:
    done = processors(*pooled_typed(name, tmp_path / "elsewhere", "+source.workers=2"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert digests(tmp_path / "elsewhere") == digests(pooled_datasets / name / "d")


def test_killed_in_the_middle_it_goes_on_to_the_same_bytes(
    pooled_datasets: Path, pooled_typed: Typed, processors: Processors, tmp_path: Path
) -> None:
    output = tmp_path / "d"
    typed = pooled_typed("forged", output, "+source.workers=1")
    command = [sys.executable, "-m", "quickdraw.data.processors", *typed]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    parts = tmp_path / ".d.building" / "parts"
    while process.poll() is None and len(list(parts.glob("[!.]*"))) < 3:
        time.sleep(0.01)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    done = processors(*typed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " 0 there already" not in done.stdout
    assert digests(output) == digests(pooled_datasets / "forged" / "d")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".d.index", ".d.plans", "d"]
