"""One episode as the map stage left it: its rows, and a clip, a histogram and perhaps cubes from each camera."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.cubes import Track
from quickdraw.core.episode import EpisodePlan, Rows
from quickdraw.core.grid import Float64, Int64
from quickdraw.core.hues import Peak
from quickdraw.core.statistics import Statistics, of_histogram
from quickdraw.pipeline.digests import FileDigest
from quickdraw.pipeline.part_files import CLIP, CLIP_DIGEST, PART, PICTURES, ROWS, TRACK, clip_digest
from quickdraw.pipeline.parts import PartStore
from quickdraw.video.checksums import packet_crcs

PEAK = [("name", "U8"), ("hue_bin", "i8"), ("saturation", "f8")]


@dataclass(frozen=True, slots=True)
class Fragment:
    """An episode's share of a build: what its source files were, and which parts of `store` were made of them.

    `rows_part` is a part, `clips` and `tracks` are camera -> part; tracks are there where cubes are measured.
    `depth_cameras` are those of depth.
    """

    store: PartStore
    plan: EpisodePlan
    sources: Mapping[str, FileDigest]
    rows_part: str
    clips: Mapping[str, str]
    tracks: Mapping[str, str]
    depth_cameras: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """Task text."""
        return self.plan.task

    @property
    def frames(self) -> int:
        """Number of rows."""
        return self.plan.frames

    def parts(self) -> dict[str, Any]:
        """The parts by name, for provenance."""
        return {"rows": self.rows_part, "clips": dict(self.clips), "tracks": dict(self.tracks)}

    def rows(self) -> Rows:
        """Feature name -> `(T, D)`, in the feature's dtype."""
        with np.load(self.store.folder(self.rows_part) / ROWS) as arrays:
            return {name: array for name, array in arrays.items() if name != PART}

    def clip(self, camera: str) -> Path:
        """The camera's encoded pictures, one a row."""
        return self.store.folder(self.clips[camera]) / CLIP

    def measured(self, camera: str) -> Path:
        """What `write_pictures` wrote of them."""
        return self.store.folder(self.clips[camera]) / PICTURES

    def track_file(self, camera: str) -> Path:
        """What `write_track` wrote of the cubes, in a camera of `tracks`."""
        return self.store.folder(self.tracks[camera]) / TRACK

    def picture_counts(self, camera: str) -> tuple[Int64, int]:
        """`(C, N)` int64 pixels per channel and level of the sampled pictures, and how many were sampled."""
        with np.load(self.measured(camera)) as arrays:
            return arrays["counts"], int(arrays["pictures"])

    def picture_statistics(self, camera: str) -> Statistics:
        """Statistics of the camera's sampled pictures: of colour in [0, 1], of depth [mm]."""
        with np.load(self.measured(camera)) as arrays:
            return of_histogram(arrays["counts"], int(arrays["pictures"]), arrays["levels"])

    def depth_beyond_px(self) -> dict[str, int]:
        """How many pixels of each depth camera lay beyond what its pictures can tell."""
        beyond = {}
        for camera in self.depth_cameras:
            with np.load(self.measured(camera)) as arrays:
                beyond[camera] = int(arrays["beyond_px"])
        return beyond

    def picture_crcs(self, camera: str) -> npt.NDArray[np.uint32]:
        """`(T,)` CRC-32 of the camera's encoded pictures, as the encoder gave them."""
        with np.load(self.measured(camera)) as arrays:
            crcs: npt.NDArray[np.uint32] = arrays["crc32"]
            return crcs

    def track(self, camera: str) -> Track:
        """What the camera saw of the cubes."""
        return read_track(self.track_file(camera))


def write_rows(folder: Path, part: str, arrays: Rows) -> None:
    """An episode's rows."""
    columns: dict[str, Any] = {PART: part, **arrays}
    np.savez(folder / ROWS, **columns)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a clip: `counts` `(C, N)` int64 of levels over so many sampled `pictures`.

    `levels` `(N,)` is what each level is worth; `beyond_px` pixels were cut to the highest.
    """

    counts: Int64
    pictures: int
    levels: Float64
    beyond_px: int


def write_pictures(clip: Path, part: str, found: Measured) -> None:
    """Put what was measured of a clip beside it, with the CRCs `(T,)` of its pictures."""
    crcs = packet_crcs(clip)
    measured: dict[str, Any] = {
        PART: part,
        "counts": found.counts,
        "pictures": found.pictures,
        "levels": found.levels,
        "beyond_px": found.beyond_px,
        "crc32": crcs,
        CLIP_DIGEST: clip_digest(clip),
    }
    np.savez(clip.with_name(PICTURES), **measured)


def write_track(path: Path, part: str, track: Track) -> None:
    """What a camera saw of the cubes."""
    peaks = np.array([(name, peak.hue_bin, peak.saturation) for name, peak in track.peaks.items()], PEAK)
    np.savez(path, part=part, sightings=track.sightings, peaks=peaks)


def read_track(path: Path) -> Track:
    """The track of `write_track`."""
    with np.load(path) as arrays:
        peaks = {str(name): Peak(int(hue), float(saturation)) for name, hue, saturation in arrays["peaks"]}
        sightings = arrays["sightings"]
    sightings.setflags(write=False)
    return Track(sightings, peaks)
