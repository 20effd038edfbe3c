"""Raw trees to measure builds of: runs of any number and length, each with streams and stamps of its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.footage import Footage
from quickdraw.sim import cameras, metadata
from quickdraw.sim.rollout import Rollout, roll_out
from quickdraw.sim.run import write_json
from quickdraw.sim.spec import DEFAULT_CAMERAS, CameraSpec, RunSpec
from quickdraw.sim.streams import write_streams

CAMPAIGN, LONG_CAMPAIGN = "campaign3-play", "campaign5-play-long"
BETWEEN_RUNS_S = 30.0
FIRST_UPTIME_S = 137.0
MOST_SEEDS, SEEDS_APART = 5, 1_000_000


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run to be written: in which campaign, and how long."""

    campaign: str
    seconds: float


def plans(*, runs: int, seconds: float) -> list[RunPlan]:
    """So many runs of one length."""
    return [RunPlan(CAMPAIGN, seconds)] * runs


def write_tree(root: Path, planned: Sequence[RunPlan], footage: Footage) -> list[Path]:
    """Write the runs into the new folder `root`; their folders. A build takes them with `allow_simulated=true`."""
    folders, uptime_s = [], FIRST_UPTIME_S
    for number, plan in enumerate(planned):
        spec = _spec(footage.spec, number, plan.seconds, uptime_s)
        name = metadata.iso(spec.started_unix).translate(str.maketrans("-T:", "___"))
        folder = root / plan.campaign / f"recording_{name}"
        _write_run(folder, spec, footage)
        folders.append(folder)
        uptime_s = round(cameras.run_end_s(spec) + BETWEEN_RUNS_S, 3)
    return folders


def _spec(base: RunSpec, number: int, seconds: float, uptime_s: float) -> RunSpec:
    rng = np.random.default_rng([number, 71])
    return replace(
        base,
        seconds=seconds,
        seed=number,
        uptime_s=uptime_s,
        started_unix=base.started_unix + uptime_s,
        cameras=tuple(_phased(camera, rng) for camera in DEFAULT_CAMERAS),
    )


def _phased(camera: CameraSpec, rng: np.random.Generator) -> CameraSpec:
    """Every run meets its cameras at another phase."""
    return replace(camera, phase_s=round(float(rng.uniform(0.0, 1.0 / camera.rate_hz)), 4))


def _write_run(folder: Path, spec: RunSpec, footage: Footage) -> None:
    """One run as the collector leaves it, its films cut from the footage."""
    (folder / "raw").mkdir(parents=True)
    (folder / "video").mkdir()
    spec, rollout, rows = _stream(folder / "raw", spec)
    stamps = {camera.label: cameras.stamps_s(spec, index) for index, camera in enumerate(spec.cameras)}
    for camera in spec.cameras:
        film, pictures = folder / "video" / f"{camera.label}.mp4", len(stamps[camera.label])
        footage.put(camera.label, pictures, film)
        sidecar = metadata.frame_times(spec, camera, stamps[camera.label], frames_in_mp4=pictures)
        write_json(film.with_name(f"{camera.label}_frame_times.json"), sidecar)
    write_json(folder / "run.json", metadata.run_json(spec, rollout, rows=rows, stamps=stamps), indent=2)


def _stream(raw: Path, spec: RunSpec) -> tuple[RunSpec, Rollout, dict[str, int]]:
    """Write the streams of the first of a few seeds whose operator stays within the arm's reach: most do."""
    for seed in range(spec.seed, spec.seed + MOST_SEEDS * SEEDS_APART, SEEDS_APART):
        seeded = replace(spec, seed=seed)
        rollout = roll_out(seeded, end_s=cameras.run_end_s(seeded))
        with suppress(ValueError):
            return seeded, rollout, write_streams(raw, seeded, rollout)
    raise ValueError(f"{raw}: out of the arm's reach by each of {MOST_SEEDS} seeds")
