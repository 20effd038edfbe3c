"""Tiny runs written by hand, as the collector writes them, with one thing changed at a time."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
MOUNT = [[1, 0, 0], [0, sqrt(0.5), -sqrt(0.5)], [0, sqrt(0.5), sqrt(0.5)]]


@cache
def film(pictures: int, width: int = 32, height: int = 16) -> bytes:
    """An mp4 of so many small pictures, with B-frames, as the collector's encoder makes them."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": "30"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(pictures):
            picture = np.full((height, width, 3), 40 + 5 * number % 200, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode())
    return file.getvalue()


@dataclass
class TinyRun:
    """A run of 3 seconds: rows of both streams, `times` of each camera, `meta` of run.json, all free to change.

    A camera's mp4 holds a picture for every stamp unless `films` has another; there are `commanded` rows where given.
    """

    tree: Path
    campaign: str
    name: str
    controller: list[dict[str, Any]]
    arm: list[dict[str, Any]]
    times: dict[str, dict[str, Any]]
    meta: dict[str, Any]
    films: dict[str, bytes] = field(default_factory=dict)
    commanded: list[dict[str, Any]] = field(default_factory=list)

    @staticmethod
    def encode(pictures: int, width: int = 32, height: int = 16) -> bytes:
        """An mp4 of so many pictures."""
        return film(pictures, width, height)

    @property
    def folder(self) -> Path:
        return self.tree / self.campaign / self.name

    def write(self) -> None:
        for part in ("raw", "video"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        streams = {"controller": self.controller, "arm_state": self.arm, "commanded": self.commanded}
        for name, rows in streams.items() if self.commanded else list(streams.items())[:2]:
            text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
            (self.folder / "raw" / f"{name}.jsonl").write_text(text)
        for camera, times in self.times.items():
            (self.folder / "video" / f"{camera}.mp4").write_bytes(self.films.get(camera, film(max(2, len(times["t"])))))
            (self.folder / "video" / f"{camera}_frame_times.json").write_text(json.dumps(times))
        (self.folder / "run.json").write_text(json.dumps(self.meta, indent=2))


def tiny_run(tree: Path, campaign: str = "campaign3-play", name: str = "recording_2026_09_10_05_31_26") -> TinyRun:
    """Controller 100 Hz, arm 50 Hz, cameras 30 Hz, from 137.4 s on; cameras start later, staggered."""
    controller = [
        {"t": 137.4 + k / 100, "move_x": k / 1000, "move_y": -k / 1000, "height": 0.25, "yaw": -0.5, "gripper": 0.5,
         "connected": True, "raw": {"ABS_X": 0.1}, "input_age_s": float("nan")}
        for k in range(300)
    ]  # fmt: skip
    arm = [
        {"t": 137.4 + k / 50, "joints_deg": [0.0] * 7, "joints_real_deg": [float(10 * k + j) for j in range(7)],
         "report_alive": True, "pose_base_mm_deg": [1.0, 2.0, 3.0, 179.9, 0.15, -90.0 + k],
         "pose_world_xyz_mm": [100.0 + k, 200.0 + k, 300.0 + k], "gripper_pos": 850.0 - k,
         "gripper_pos_t": float("nan"), "state": 1, "mode": 1, "error_code": 0}
        for k in range(150)
    ]  # fmt: skip
    times = {
        camera: {"label": camera, "frames": 75, "error": "", "timestamp_source": "v4l2_buffer",
                 "t": [round(137.5 + 0.05 * i + k / 30, 6) for k in range(75)]}
        for i, camera in enumerate(CAMERAS)
    }  # fmt: skip
    meta = {
        "status": "ready", "stopped_by": "b_button",
        "provenance": {"git_sha": "abc1234", "R_WORLD_FROM_BASE": MOUNT,
                       "config": {"gripper": {"open_position": 850, "closed_position": 0}}},
        "validation": {"ok": True, "checks": [{"check": "streams", "level": "pass"}, {"check": "x", "level": "pass"}]},
    }  # fmt: skip
    return TinyRun(tree, campaign, name, controller, arm, times, meta)


@pytest.fixture
def tiny(tmp_path: Path) -> TinyRun:
    """A run that is in order, not yet written."""
    return tiny_run(tmp_path / "tree")
