"""The map stage: video files are joined as soon as their last clip is there, and only for what is built in the end."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.build import build
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.joining import JoinTask
from quickdraw.pipeline.mapping import PicturesTask
from quickdraw.pipeline.plan import make_plan
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify.verify import verify

OPTIONS = ("source.hw=[48,64]", "source.cameras=[scene_left]", "source.val_floor=1", "source.on_bad_run=skip")


class Telling(Inline):
    """An executor that tells which clips were encoded and which files were joined, in the order of both."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        waiting, possible = iter(tasks), deque[T]()
        while possible or (task := next(waiting, None)) is not None:
            chosen: Any = possible.popleft() if possible else task
            if isinstance(chosen, PicturesTask):
                self.told.append(chosen.plan.key.campaign)
            if isinstance(chosen, JoinTask):
                self.told.append(f"join {chosen.file.path.parts[-5]}")
            result = function(chosen)
            yield result
            possible.extend(then(result) if then else ())


@pytest.fixture
def tree(sample_tree: Path, tmp_path: Path) -> Path:
    for name in ("campaign3-play", "campaign5-play-long", "campaign8-purple-play"):
        shutil.copytree(sample_tree / name, tmp_path / "raw" / name, copy_function=shutil.copy)
    return tmp_path / "raw"


def built(tree: Path, *options: str) -> list[str]:
    """What was encoded and joined, in order."""
    given = ["processor=block_stack", f"source.dir={tree}", f"output.dir={tree.parent / 'd'}", *OPTIONS, *options]
    settings, executor = block_stack(parse(given).config), Telling()
    build(*make_plan(settings, Inline(), PlainProgress()), executor, PlainProgress())
    return executor.told


def test_a_worker_that_does_not_see_the_folder_is_refused_before_anything_is_made(tree: Path) -> None:
    asked = list[str]()

    class Blind(Inline):
        def refuse_unseen(self, place: Path) -> None:
            asked.append(f"{place.relative_to(tree.parent)}: {place.read_text()}")
            raise Refused([Fault("node there", "path", "nothing", "the folder of this build", path=str(place))])

    given = ["processor=block_stack", f"source.dir={tree}", f"output.dir={tree.parent / 'd'}", *OPTIONS]
    plan, settings = make_plan(block_stack(parse(given).config), Inline(), PlainProgress())
    with pytest.raises(Refused, match="path: found nothing, expected the folder of this build"):
        build(plan, settings, Blind(), PlainProgress())
    (told,) = asked
    assert told.startswith(f".d.building/lock: process {os.getpid()} on ")
    assert [path.name for path in tree.parent.iterdir()] == ["raw"]


def test_val_which_is_longest_is_joined_while_the_others_are_still_to_be_encoded(tree: Path) -> None:
    told = built(tree)
    assert sorted(told) == sorted([*["campaign3-play"] * 2, *["campaign5-play-long"] * 2, "campaign8-purple-play",
                                   "join train", "join val", "join eval_purple_play"])  # fmt: skip
    assert told[:2] == ["campaign5-play-long", "join val"]
    assert told[-1].startswith("join")


def test_where_nothing_is_made_anew_files_are_joined_once_it_is_known_that_they_are_needed(tree: Path) -> None:
    built(tree)
    told = built(tree, "source.val_frac=0.6")
    assert [each.startswith("join") for each in told] == [False] * 5 + [True] * 3
    assert built(tree, "source.val_frac=0.6") == []


def test_files_that_were_joined_for_splits_that_are_others_in_the_end_are_not_published(tree: Path) -> None:
    """The last clip to be made is bad: by then val, which then takes another episode, has been joined."""
    runs = sorted(tree.glob("*/recording_*"), key=lambda run: (run / "raw/controller.jsonl").stat().st_size)
    pooled = [run for run in runs if not run.parent.name.startswith("campaign8")]
    video = pooled[0] / "video/scene_left.mp4"
    content = bytearray(video.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 300] = np.random.default_rng(0).bytes(300)
    video.write_bytes(content)
    told = built(tree, "source.val_frac=0.5")
    assert told.count("join val") == 2
    report = verify(tree.parent / "d", Inline(), PlainProgress())
    assert [str(finding) for finding in report.findings] == []
