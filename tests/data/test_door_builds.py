"""Builds by the command: what a subset of cameras leaves unchanged, and what Ctrl-C leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.places import VIEWS

type Processors = Callable[..., subprocess.CompletedProcess[str]]
CUBE = "observation.objects.cube"  # measured in two cameras, and so not where only one is exported
SPLITS = ["eval_purple_play", "eval_purple_stack", "train", "val"]


NO_TORCH = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision", "torchcodec", "lerobot", "datasets"):
            raise ImportError(f"{name} must not be imported on the build path")

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="session")
def one_camera(sample_tree: Path, processors: Processors, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The sample tree with one camera, by one worker, into a folder of an unkind name, where torch cannot be imported.

    `sitecustomize` holds in every process of the build, workers included.
    """

    def make(folder: Path) -> None:
        (folder / "work").mkdir(parents=True)
        (folder / "sitecustomize.py").write_text(NO_TORCH)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(folder))
            arguments = ("+source.cameras=[scene_right]", "source.workers=1", "output.dir=out/手套 a(b) k=v, [x]")
            result = processors("processor=block_stack", f"++source.dir={sample_tree}", *arguments, cwd=folder / "work")
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines()[-1].endswith("/out/手套 a(b) k=v, [x]")

    return once("one-camera", make) / "work" / "out" / "手套 a(b) k=v, [x]"


def test_nothing_but_the_dataset_and_the_two_indexes_is_left(one_camera: Path) -> None:
    left = sorted(path.name for path in one_camera.parent.iterdir())
    assert left == [f".{one_camera.name}.index", f".{one_camera.name}.plans", one_camera.name]
    assert [path.name for path in one_camera.parents[1].iterdir()] == ["out"]
    assert sorted(path.name for path in one_camera.iterdir()) == sorted(
        [
            *SPLITS,
            *VIEWS,
            "fingerprints",
            "measured",
            "media",
            "normalization_stats.json",
            "progress.log",
            "provenance.json",
            "summary.json",
        ]
    )


@pytest.mark.parametrize("split", SPLITS)
def test_a_subset_of_the_cameras_leaves_every_row_as_it_was(split: str, one_camera: Path, sample_dataset: Path) -> None:
    some, every = SplitReader(one_camera / split), SplitReader(sample_dataset / split)
    names = [name for name, feature in some.info["features"].items() if feature["dtype"] != "video"]
    assert [*names[:2], CUBE, *names[2:]] == [
        name for name, feature in every.info["features"].items() if feature["dtype"] != "video"
    ]
    assert len(names) == 7
    for name in names:
        found, expected = some.array(name), every.array(name)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
    assert (some.cameras, len(every.cameras)) == (("scene_right",), 4)
    assert some.tasks == every.tasks


def test_a_build_without_both_cameras_of_the_cubes_leaves_them_out_and_says_so(one_camera: Path) -> None:
    said = [line for line in (one_camera / "progress.log").read_text().splitlines() if "cube" in line]
    assert said == ["warning: no observation.objects.cube: it is measured in scene_right and gripper_right_top, "
                    "not both exported"]  # fmt: skip
    assert CUBE not in (one_camera / "normalization_stats.json").read_text()
    provenance = json.loads((one_camera / "provenance.json").read_text())
    assert CUBE not in provenance["features"]
    assert "palette" not in provenance
    assert not any("cubes" in episode for episode in provenance["episodes"])


def test_a_subset_of_the_cameras_and_one_worker_give_the_same_bytes_of_pictures(
    one_camera: Path, sample_dataset: Path
) -> None:
    clips = sorted(path.relative_to(one_camera) for path in one_camera.rglob("*.mp4"))
    assert len(clips) == 7 + 4
    for clip in clips:
        assert (one_camera / clip).read_bytes() == (sample_dataset / clip).read_bytes()


def processes_of(session: int) -> list[str]:
    """Command lines of the living processes of a session, whoever their parent is by now."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                found.append((stat.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it ended meanwhile
            continue
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()


def interruptible(tree: Path, folder: Path, output: TextIO) -> subprocess.Popen[bytes]:
    """A build in a session of its own; one camera and one worker, so that every stage is reached soon and lasts."""
    return subprocess.Popen(
        [sys.executable, "-m", "quickdraw.data.processors", "processor=block_stack", f"source.dir={tree}",
         "source.cameras=[scene_left]", "source.workers=1"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=output, start_new_session=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stage", "to_all"), [("workers start", True), ("workers start", False), ("map", True), ("pack", False)]
)
def test_an_interrupted_build_exits_with_130_and_leaves_the_old_dataset_and_what_is_finished(
    stage: str, to_all: bool, sample_tree: Path, sample_dataset: Path, tmp_path: Path
) -> None:
    output = tmp_path / "datasets" / "block_stack"
    shutil.copytree(sample_dataset / "val", output / "val")
    shutil.copy(sample_dataset / "provenance.json", output)
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    staging = output.parent / ".block_stack.building"
    with (tmp_path / "err").open("w") as err:
        process = interruptible(sample_tree, tmp_path, err)
        reached = {
            "workers start": lambda: any("spawn_main" in command for command in processes_of(process.pid)),
            "map": lambda: any((staging / "parts").glob("[!.]*")),
            "pack": lambda: any(staging.glob("dataset-*/dataset/*")),
        }
        try:
            assert wait_for(lambda: reached[stage]() or process.poll() is not None, 60)
            assert process.poll() is None, (tmp_path / "err").read_text()
            (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
            process.wait(30)
            assert wait_for(lambda: processes_of(process.pid) == [], 10), processes_of(process.pid)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    text = (tmp_path / "err").read_text()
    assert process.returncode == 130, text
    assert text.splitlines()[-1] == "interrupted"
    left = {path.name for path in output.parent.iterdir()} - {".block_stack.index", ".block_stack.plans"}
    assert left == ({"block_stack"} if stage == "workers start" else {"block_stack", ".block_stack.building"})
    assert unfinished(staging) == []
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*")} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["datasets", "err"]


def unfinished(staging: Path) -> list[str]:
    """What lies in a staging folder that no other build can use."""
    return [path.name for path in [*staging.glob("*"), *staging.glob("parts/.*")] if path.name not in ("lock", "parts")]


def test_an_interrupted_first_build_publishes_nothing(sample_tree: Path, tmp_path: Path) -> None:
    with (tmp_path / "err").open("w") as err:
        process = interruptible(sample_tree, tmp_path, err)
        try:
            assert wait_for(lambda: any(tmp_path.rglob("*.mp4")) or process.poll() is not None, 60)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(30)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    assert process.returncode == 130, (tmp_path / "err").read_text()
    datasets = tmp_path / "datasets"
    assert {path.name for path in datasets.glob("*")} <= {
        ".block_stack.building",
        ".block_stack.index",
        ".block_stack.plans",
    }
    assert unfinished(datasets / ".block_stack.building") == []


def test_a_schedulers_end_is_an_interruption_too(sample_tree: Path, tmp_path: Path) -> None:
    with (tmp_path / "err").open("w") as err:
        process = interruptible(sample_tree, tmp_path, err)
        try:
            assert wait_for(lambda: any(tmp_path.rglob("*.mp4")) or process.poll() is not None, 60)
            process.terminate()
            process.wait(30)
            assert wait_for(lambda: processes_of(process.pid) == [], 10)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    assert (process.returncode, (tmp_path / "err").read_text()) == (130, "interrupted\n")
    assert unfinished(tmp_path / "datasets" / ".block_stack.building") == []
