"""Our commands as a user types them, and what they were told: the camera files a build decodes, and its encoder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.episode import FramePlan, Rejected
from quickdraw.data.block_stack import BlockStack
from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack
from quickdraw.formats.campaign.acceptance import Acceptance
from quickdraw.video.encoding import Encoding

SIMULATED = Acceptance(allow_simulated=True)


def environment() -> dict[str, str]:
    """What our own commands need in theirs: to find this package, wherever they are run."""
    here = str(Path(__file__).resolve().parents[1])
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))}


def options(tree: Path, output: Path, workers: int) -> list[str]:
    """A build of a simulated tree, all else at its defaults."""
    return [
        "+processor=block_stack",
        f"+source.dir={tree}",
        f"+output.dir={output}",
        f"+source.workers={workers}",
        "+source.allow_simulated=true",
    ]


def command(*arguments: str) -> list[str]:
    """The door."""
    return [sys.executable, "-m", "quickdraw.data.processors", *arguments]


@dataclass(frozen=True, slots=True)
class CameraFile:
    """One camera of one run: its file, and which of its pictures each row of the dataset shows."""

    run: str
    camera: str
    plan: FramePlan

    @property
    def path(self) -> Path:
        """The mp4."""
        return self.plan.path

    @property
    def pictures(self) -> int:
        """How many it holds."""
        return self.plan.pictures

    @property
    def rows(self) -> int:
        """How many the dataset shows of it, some of them twice and some not at all."""
        return len(self.plan.frame_index)


@dataclass(frozen=True, slots=True)
class Task:
    """What a build with default options has to do with pictures: `files`, the longest first, by `encoding`."""

    files: tuple[CameraFile, ...]
    encoding: Encoding
    rate_hz: int


def task_of(tree: Path) -> Task:
    """The task a tree makes. Raises Refused where a build would refuse a run."""
    settings = block_stack(parse(options(tree, tree.with_name("nowhere"), 1)).config)
    source = settings.source
    assert isinstance(source, BlockStack)
    files = sorted(_files(source), key=lambda file: (-file.pictures, file.run, file.camera))
    encoding = settings.encodings[source.cameras[0]]
    assert isinstance(encoding, Encoding)
    return Task(tuple(files), encoding, source.rate_hz)


def _files(source: BlockStack) -> Iterator[CameraFile]:
    for campaign in source.campaigns():
        for key in source.campaign(campaign).runs:
            plan = source.plan(key)
            if isinstance(plan, Rejected):
                raise ValueError("\n".join(map(str, plan.faults)))
            for camera in source.cameras:
                yield CameraFile(str(key), camera, source.frame_plan(plan, camera))
