"""A build killed at any moment: what was published stays whole, and the same command then ends as if undisturbed."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

type Once = Callable[[str, Callable[[Path], None]], Path]

SCRIPT = Path(__file__).resolve().parent / "scripts" / "killed_build.py"
STAGES, MAP = "quickdraw.pipeline.build:_Stages", "quickdraw.pipeline.map_stage:MapStage"
BEFORE_IT_IS_PUBLISHED = [
    ("before", f"{MAP}.run"),
    ("after", f"{MAP}.run"),
    ("after", f"{STAGES}.with_cubes"),
    ("after", f"{STAGES}.measure"),
    ("after", f"{STAGES}.pack"),
    ("after", "quickdraw.pipeline.build:take_inventory"),
    ("after", f"{STAGES}.write_log"),
    ("before", "quickdraw.pipeline.publish:exchanged"),
]
AND_AFTERWARDS = [
    ("after", "quickdraw.pipeline.publish:exchanged"),
    ("before", "quickdraw.pipeline.build:remember"),
    ("after", "quickdraw.pipeline.build:remember"),
]


WITHOUT_VIEWS = "+report=false"  # where they are not what is looked at: they take half of such a build


def arguments(tree: Path, output: Path, *more: str) -> list[str]:
    """Small pictures of one camera: every stage is there, and soon over."""
    return ["+processor=block_stack", f"+source.dir={tree}", f"+output.dir={output}", "+source.hw=[48,64]",
            "+source.cameras=[scene_left]", "+source.workers=2", *more]  # fmt: skip


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)


def build(tree: Path, output: Path, *more: str) -> str:
    done = run("-m", "quickdraw.data.processors", *arguments(tree, output, *more))
    assert done.returncode == 0, done.stderr
    return done.stdout


VIEWS = ("report.html", "README.md")  # made once a dataset is published, and no part of it


def every_digest(root: Path) -> dict[str, str]:
    """SHA-256 of every file but progress.log."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "progress.log")
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def digests(root: Path) -> dict[str, str]:
    """The same without the views."""
    return {name: digest for name, digest in every_digest(root).items() if name not in VIEWS}


@pytest.fixture(scope="session")
def undisturbed(sample_tree: Path, once: Once) -> Path:
    return once("undisturbed", lambda folder: str(build(sample_tree, folder / "d")) and None) / "d"


@pytest.fixture(scope="session")
def earlier(sample_tree: Path, once: Once) -> Path:
    """What was published before, with other pictures, none of which can be used again."""
    return (
        once(
            "earlier",
            lambda folder: str(build(sample_tree, folder / "d", "+source.video.crf=30", WITHOUT_VIEWS)) and None,
        )
        / "d"
    )


@pytest.fixture
def output(earlier: Path, tmp_path: Path) -> Path:
    shutil.copytree(earlier, tmp_path / "d")
    return tmp_path / "d"


def beside(output: Path) -> list[str]:
    return sorted(path.name for path in output.parent.iterdir())


def test_killed_at_every_stage_boundary_before_publishing_the_old_dataset_stays_and_the_build_goes_on(
    sample_tree: Path, undisturbed: Path, output: Path
) -> None:
    old = digests(output)
    for when, step in BEFORE_IT_IS_PUBLISHED:
        done = run(str(SCRIPT), when, step, *arguments(sample_tree, output))
        assert done.returncode == -signal.SIGKILL, (step, done.stdout, done.stderr)
        assert digests(output) == old, step
    said = build(sample_tree, output, WITHOUT_VIEWS)
    assert digests(output) == digests(undisturbed)
    assert beside(output) == [".d.index", ".d.plans", "d"]
    assert "0 parts made, 14 there already" in said


@pytest.mark.parametrize(("when", "step"), AND_AFTERWARDS)
def test_killed_once_it_is_published_the_new_dataset_stays_and_is_up_to_date(
    when: str, step: str, sample_tree: Path, undisturbed: Path, output: Path
) -> None:
    done = run(str(SCRIPT), when, step, *arguments(sample_tree, output))
    assert done.returncode == -signal.SIGKILL, (step, done.stdout, done.stderr)
    assert digests(output) == digests(undisturbed)
    assert f"up to date: {output}" in build(sample_tree, output)
    assert every_digest(output) == every_digest(undisturbed)
    assert beside(output) == [".d.index", ".d.plans", "d"]


@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again_at_random_times_it_ends_as_if_undisturbed(
    seed: int, sample_tree: Path, undisturbed: Path, output: Path
) -> None:
    """Every process of the build dies at once, workers in the middle of a file too."""
    old, new, moment = digests(output), digests(undisturbed), random.Random(seed)
    for _ in range(4):
        command = [sys.executable, "-m", "quickdraw.data.processors", *arguments(sample_tree, output, WITHOUT_VIEWS)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(moment.uniform(0.5, 4.0))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert digests(output) in (old, new)
    build(sample_tree, output, WITHOUT_VIEWS)
    assert digests(output) == new
    assert beside(output) == [".d.index", ".d.plans", "d"]


def test_a_build_whose_worker_is_killed_goes_on_with_another_and_ends_as_if_undisturbed(
    sample_tree: Path, undisturbed: Path, output: Path
) -> None:
    command = [sys.executable, "-m", "quickdraw.data.processors", *arguments(sample_tree, output, WITHOUT_VIEWS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    parts = output.parent / ".d.building" / "parts"
    while process.poll() is None and not list(parts.glob("[!.]*")):
        time.sleep(0.01)
    children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    workers = [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(workers[0], signal.SIGKILL)
    _, complained = process.communicate(timeout=200)
    assert (process.returncode, complained) == (0, "")
    assert digests(output) == digests(undisturbed)
    assert beside(output) == [".d.index", ".d.plans", "d"]
