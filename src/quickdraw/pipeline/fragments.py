"""What the map stage makes of one episode, on disk: rows, source digests, and what each camera gave.

That is a clip, a colour histogram and, where cubes are measured, what was seen of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.core.cubes import Track
from quickdraw.core.episode import EpisodePlan, Float32
from quickdraw.core.grid import Int64
from quickdraw.core.hues import Peak
from quickdraw.core.statistics import Statistics, of_histogram

PEAK = [("name", "U8"), ("hue_bin", "i8"), ("saturation", "f8")]


@dataclass(frozen=True, slots=True)
class Fragment:
    """One episode's share of a build, under `root`. Its rows and each of its cameras are made by separate tasks."""

    root: Path
    plan: EpisodePlan

    @property
    def task(self) -> str:
        """Task text."""
        return self.plan.task

    @property
    def frames(self) -> int:
        """Number of rows."""
        return self.plan.frames

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.root / self.plan.key.campaign / self.plan.key.run

    def rows(self) -> Mapping[str, Float32]:
        """Feature name -> `(T, D)` float32."""
        return {path.stem: np.load(path) for path in sorted((self.folder / "rows").glob("*.npy"))}

    def write_rows(self, arrays: Mapping[str, Float32], digests: Mapping[str, Any]) -> None:
        """Keep the rows and what their source files were."""
        (self.folder / "rows").mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            np.save(self.folder / "rows" / f"{name}.npy", array)
        self._write_digests("rows", digests)

    def clip(self, camera: str) -> Path:
        """The camera's encoded pictures, one a row."""
        return self.folder / f"{camera}.mp4"

    def picture_counts(self, camera: str) -> tuple[Int64, int]:
        """`(3, 256)` int64 pixels per channel and level of the sampled pictures, and how many were sampled."""
        with np.load(self.folder / f"{camera}.npz") as arrays:
            return arrays["counts"], int(arrays["pictures"])

    def picture_statistics(self, camera: str) -> Statistics:
        """Statistics of the camera's sampled pictures, in [0, 1]."""
        return of_histogram(*self.picture_counts(camera))

    def write_picture_counts(self, camera: str, counts: Int64, pictures: int, digests: Mapping[str, Any]) -> None:
        """Keep a camera's histogram and what its source file was."""
        np.savez(self.folder / f"{camera}.npz", counts=counts, pictures=pictures)
        self._write_digests(camera, digests)

    def track(self, camera: str) -> Track:
        """What the camera saw of the cubes."""
        with np.load(self.folder / f"{camera}.track.npz") as arrays:
            peaks = {str(name): Peak(int(hue), float(saturation)) for name, hue, saturation in arrays["peaks"]}
            sightings = arrays["sightings"]
        sightings.setflags(write=False)
        return Track(sightings, peaks)

    def write_track(self, camera: str, track: Track) -> None:
        """Keep what the camera saw of the cubes."""
        peaks = np.array([(name, peak.hue_bin, peak.saturation) for name, peak in track.peaks.items()], PEAK)
        np.savez(self.folder / f"{camera}.track.npz", sightings=track.sightings, peaks=peaks)

    def _write_digests(self, part: str, digests: Mapping[str, Any]) -> None:
        (self.folder / f"{part}.sources.json").write_text(json.dumps(digests))

    def sources(self) -> dict[str, Any]:
        """File, relative to the episode's folder -> its size and SHA-256 when it was read."""
        merged: dict[str, Any] = {}
        for part in ("rows", *self.plan.videos):
            merged |= json.loads((self.folder / f"{part}.sources.json").read_text())
        return merged


def digest(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file, read right before it is used, so that the second read finds it in memory."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": sha256}
