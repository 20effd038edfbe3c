"""The same input gives the same bytes, whatever the workers, the hash seed and the folders are."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

VARYING = "progress.log"


def digests(root: Path) -> dict[str, str]:
    """SHA-256 of every file but progress.log, by relative path."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files if p.name != VARYING}


@pytest.fixture(scope="module")
def again(sample_tree: Path, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The sample, copied elsewhere, built elsewhere by one worker under another hash seed and time zone."""

    def make(folder: Path) -> None:
        tree = folder / "手套 a(b)=c"
        shutil.copytree(sample_tree, tree, copy_function=shutil.copy)
        command = [sys.executable, "-m", "quickdraw.data.processors", "processor=block_stack", f"++source.dir={tree}",
                   "+source.workers=1", f"+output.dir={folder / 'elsewhere' / 'block_stack'}"]  # fmt: skip
        environment = os.environ | {"PYTHONHASHSEED": "4321", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr

    return once("built-again", make) / "elsewhere" / "block_stack"


def test_two_builds_are_byte_identical_but_for_progress_log(sample_dataset: Path, again: Path) -> None:
    first, second = digests(sample_dataset), digests(again)
    assert first.keys() == second.keys()
    assert [name for name, digest in first.items() if second[name] != digest] == []


def test_a_build_leaves_nothing_beside_its_dataset_but_the_two_indexes(again: Path) -> None:
    assert {path.name for path in again.parent.iterdir()} == {".block_stack.index", ".block_stack.plans", "block_stack"}
    assert not list(again.rglob(".*"))
    assert {path.name for path in again.parents[1].iterdir()} == {"手套 a(b)=c", "elsewhere"}


def test_progress_log_alone_says_where_and_when(again: Path) -> None:
    log = (again / VARYING).read_text()
    assert str(again) in log
    assert "1 workers" in log


TRANSCODE = """
import hashlib, json, sys
from pathlib import Path
from quickdraw.core.episode import EpisodeKey
from quickdraw.data.block_stack import BlockStack
from quickdraw.video.encoding import Encoding
from quickdraw.video.transcode import transcode
tree, target, *runs = sys.argv[1:]
source = BlockStack(Path(tree), 30)
for run in runs:
    plan = source.plan(EpisodeKey(*run.split("/")))
    for camera in ("scene_left", "gripper_right_top"):
        encoding = Encoding(144, 192, 30, crf=18, preset="veryfast", gop=2)
        transcode(source.frame_plan(plan, camera), Path(target), encoding)
        print(run, camera, hashlib.sha256(Path(target).read_bytes()).hexdigest())
"""


def test_clips_do_not_depend_on_what_lay_in_memory_before(sample_tree: Path, tmp_path: Path) -> None:
    """glibc fills fresh memory with the byte MALLOC_PERTURB_ asks for; an encoder that reads it shows.

    x264's mbtree does with AVX-512: under load about one build in ten differed, in a few pixels of the bottom rows.
    """
    runs = sorted(f"{path.parts[-3]}/{path.parts[-2]}" for path in sample_tree.glob("*/recording_*/run.json"))[2:4]
    printed = []
    for filling in ("0", "1", "85"):
        command = [sys.executable, "-c", TRANSCODE, str(sample_tree), str(tmp_path / "clip.mp4"), *runs]
        done = subprocess.run(command, capture_output=True, text=True, check=True,
                              env=os.environ | {"MALLOC_PERTURB_": filling})  # fmt: skip
        printed.append(done.stdout)
    assert printed[0].count("\n") == 4
    assert printed[1:] == printed[:1] * 2
