"""`scripts/bench extras`: what a build does besides decoding, scaling and encoding, piece by piece, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import cv2
from rich.table import Table

from benchmarks import ours
from benchmarks.footage import Footage
from benchmarks.ours import CameraFile
from benchmarks.tables import table
from benchmarks.trees import CAMPAIGN, plans, write_tree
from benchmarks.work import once
from quickdraw.core.episode import EpisodePlan
from quickdraw.core.hues import CubeThresholds
from quickdraw.data.block_stack import BlockStack
from quickdraw.data.block_stack_options import CUBE_CAMERAS
from quickdraw.pipeline.digests import digest
from quickdraw.pipeline.looking import look_at
from quickdraw.pipeline.part_files import clip_digest
from quickdraw.pipeline.tracking import learn_hues, surveyed
from quickdraw.video.checksums import packet_crcs
from quickdraw.video.decoding import pictures_at
from quickdraw.video.encoding import Encoding
from quickdraw.video.join import join
from quickdraw.video.transcode import transcode

RUNS = 2  # no build is made of fewer; both are measured


@dataclass(slots=True)
class Extras:
    """CPU by piece of work [s], and how many `pictures` (rows of the runs for what concerns those) it was for."""

    cpu_s: dict[str, float] = field(default_factory=dict)
    pictures: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, pictures: int, work: Callable[[], object]) -> None:
        """Do a piece of work for so many pictures."""
        begun_s = time.process_time()
        work()
        self.cpu_s[name] = self.cpu_s.get(name, 0.0) + time.process_time() - begun_s
        self.pictures[name] = self.pictures.get(name, 0) + pictures

    def ms(self, name: str) -> float:
        """CPU a picture [ms]."""
        return self.cpu_s[name] / self.pictures[name] * 1e3


def measure_extras(seconds: float, noise_levels: float, folder: Path, say: Callable[[str], None]) -> Extras:
    """Every piece of work on every camera of two runs, made where they are not there yet."""
    say("drawing footage")
    footage = Footage(folder / "footage", seconds, noise_levels)
    footage.draw()
    with once(folder, "raw") as new:
        if new is not None:
            write_tree(new, plans(runs=RUNS, seconds=seconds), footage)
    task, extras = ours.task_of(folder / "raw"), Extras()
    cv2.setNumThreads(1)  # as a build's workers do
    for file in task.files:
        say(f"{file.run} {file.camera}")
        _add_camera(extras, file, task.encoding, folder / "clip.mp4")
    _add_rows(extras, BlockStack(folder / "raw", task.rate_hz, acceptance=ours.SIMULATED))
    return extras


def _add_camera(extras: Extras, file: CameraFile, encoding: Encoding, clip: Path) -> None:
    extras.add("decode, scale, encode", file.pictures, lambda: transcode(file.plan, clip, encoding))
    extras.add("SHA-256 of the camera's file", file.pictures, lambda: digest(file.path))
    extras.add("checksums of the clip", file.rows, lambda: (packet_crcs(clip), clip_digest(clip)))
    if file.camera in CUBE_CAMERAS:
        thresholds = CubeThresholds()
        extras.add("cubes and colours", file.rows, lambda: look_at(clip, file.rows, thresholds))
        survey = surveyed([file.rows])
        extras.add(
            "  of this, learning hues",
            file.rows,
            lambda: learn_hues(pictures_at(clip, survey), [file.rows], thresholds),
        )
    else:
        extras.add("colours", file.rows, lambda: look_at(clip, file.rows, None))
    clips = [(clip, file.rows)]
    extras.add("joining", file.rows, lambda: join(clips, clip.with_name("joined.mp4"), encoding.rate_hz))


def _add_rows(extras: Extras, source: BlockStack) -> None:
    for key in source.campaign(CAMPAIGN).runs:
        plan = source.plan(key)  # once, unmeasured
        assert isinstance(plan, EpisodePlan)
        extras.add("planning a run", plan.frames, partial(source.plan, key))
        extras.add("reading its rows", plan.frames, partial(source.rows, plan))


def extras_table(extras: Extras) -> Table:
    """A row a piece of work."""
    rows = [[name, str(extras.pictures[name]), f"{extras.ms(name):.3f}"] for name in extras.cpu_s]
    return table("CPU besides the core", ["", "pictures", "ms a picture"], rows)
