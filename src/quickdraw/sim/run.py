"""One run folder: streams, films, sidecars, run.json."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickdraw.errors import VideoError
from quickdraw.sim import cameras, film, metadata, streams
from quickdraw.sim.arm import Floats
from quickdraw.sim.rollout import Rollout, roll_out
from quickdraw.sim.scene import Renderer
from quickdraw.sim.spec import CameraSpec, RunSpec


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """A run on disk with the truth it was made from: what happened (`rollout`) and when each picture was taken [s]."""

    path: Path
    spec: RunSpec
    rollout: Rollout
    stamps: dict[str, Floats]

    def renderer(self, label: str) -> Renderer:
        """The camera whose pictures the film of `label` shows."""
        return Renderer(self.spec, self.rollout, label, self.stamps[label])


def write_run(run_dir: Path, spec: RunSpec) -> WrittenRun:
    """Write one complete run into the new folder `run_dir`, as the collector leaves it after B.

    Raises FileExistsError if `run_dir` exists, VideoError if a film does not hold one picture per stamp.
    """
    run_dir.mkdir(parents=True)
    raw_dir, video_dir = run_dir / "raw", run_dir / "video"
    raw_dir.mkdir()
    video_dir.mkdir()
    rollout = roll_out(spec, end_s=cameras.run_end_s(spec))
    stamps = {camera.label: cameras.stamps_s(spec, index) for index, camera in enumerate(spec.cameras)}
    run = WrittenRun(run_dir, spec, rollout, stamps)
    rows = streams.write_streams(raw_dir, spec, rollout)
    for camera in spec.cameras:
        _write_camera(run, camera)
    write_json(run_dir / "run.json", metadata.run_json(spec, rollout, rows=rows, stamps=stamps), indent=2)
    return run


def _write_camera(run: WrittenRun, camera: CameraSpec) -> None:
    spec, stamps = run.spec, run.stamps[camera.label]
    path = run.path / "video" / f"{camera.label}.mp4"
    size = (spec.width_px, spec.height_px)
    count = len(stamps)
    clip_count = count if spec.loop_seconds is None else math.ceil(spec.loop_seconds * film.FPS)
    renderer = Renderer(spec, run.rollout, camera.label, stamps[:clip_count])
    if clip_count < count:
        held = film.write_repeated_film(path, renderer.pictures(clip_count), size, count=count)
    else:
        held = film.write_film(path, renderer.pictures(count), size)
    if held != count:
        raise VideoError(str(path), f"{held} pictures", f"{count} pictures, one per stamp")
    sidecar = metadata.frame_times(spec, camera, stamps, frames_in_mp4=held)
    write_json(path.with_name(f"{camera.label}_frame_times.json"), sidecar)


def write_json(path: Path, value: dict[str, Any], *, indent: int | None = None) -> None:
    """UTF-8 JSON with Python's defaults, as the collector writes it."""
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
