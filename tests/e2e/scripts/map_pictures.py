"""Run one PicturesTask, cubes and all, in a process of its own and print the peak of its resident memory [kB].

Arguments: video file, number of its pictures, rate [Hz], folder for the fragment. Neither torch nor lerobot is here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quickdraw.core.cubes import CubeRule
from quickdraw.core.episode import EpisodeKey, EpisodePlan, FileStamp, FramePlan
from quickdraw.core.grid import Grid
from quickdraw.core.hues import CubeThresholds
from quickdraw.pipeline.fragments import read_track
from quickdraw.pipeline.mapping import Made, PicturesTask, Workshop, run_task
from quickdraw.pipeline.parts import PartStore
from quickdraw.pipeline.published import Published
from quickdraw.video.encoding import Encoding


@dataclass(frozen=True)
class OneVideo:
    """As much of a source as PicturesTask asks for."""

    video: Path
    pictures: int

    def path(self, key: EpisodeKey, file: str) -> Path:
        return self.video

    def frame_plan(self, plan: EpisodePlan, camera: str) -> FramePlan:
        return FramePlan(self.video, np.arange(self.pictures), self.pictures)


video, pictures, rate, folder = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
stamp = FileStamp(video.stat().st_size, video.stat().st_mtime_ns)
episode = EpisodePlan(
    key=EpisodeKey("c", "r"), task="c", grid=Grid(0, rate, pictures), t_hi_s=0.0, displacement={}, row_files=(),
    videos={"camera": video.name}, stamps={video.name: stamp}, frame_digests={"camera": "0"}, provenance={},
)  # fmt: skip
rule = CubeRule(("camera",), CubeThresholds())
encoding = Encoding(144, 192, rate, crf=18, preset="veryfast", gop=2)
store = PartStore(folder)
published = Published(folder / "nothing published")
workshop = Workshop(OneVideo(video, pictures), {"camera": encoding}, rule, store, published)
result = run_task(PicturesTask(workshop, episode, "camera", {}))
assert isinstance(result, Made), result
assert result.cost == pictures
(track,) = folder.rglob("track.npz")
assert len(read_track(track).sightings) == pictures
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]))
