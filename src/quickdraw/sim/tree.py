"""A whole tree of campaigns with everything that lies about in a real one: stray folders, dotfiles, half-made runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from quickdraw.errors import Fault, Refused
from quickdraw.sim import cameras, metadata, streams
from quickdraw.sim.rollout import roll_out
from quickdraw.sim.run import WrittenRun, write_json, write_run
from quickdraw.sim.spec import DEFAULT_COLOURS, PURPLE_COLOURS, CameraSpec, RunSpec

# The first campaign's session begins 2026-09-10 05:28:00; each further one an hour later.
_FIRST_SESSION_UNIX: Final = 1789018080.0
_SESSION_APART_S: Final = 3600.0
_FIRST_UPTIMES_S: Final = (137.0, 2304.512873, 642.25, 61.875)
_BETWEEN_RUNS_S: Final = 21.0


@dataclass(frozen=True, slots=True)
class CampaignSpec:
    """One campaign: `runs` runs of about `seconds` each, the last one `last_factor` times as long."""

    name: str
    runs: int
    seconds: float
    cube_colours: tuple[str, ...] = DEFAULT_COLOURS
    last_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of the tree before it is written: its folder (relative to the root) and what it is to be."""

    folder: Path
    spec: RunSpec


def default_campaigns(*, runs: int = 2, seconds: float = 6.0) -> tuple[CampaignSpec, ...]:
    """Two campaigns to train on, one of them with a run clearly longer than all others, and two to evaluate on."""
    return (
        CampaignSpec("campaign3-play", runs, seconds),
        CampaignSpec("campaign5-play-long", runs, seconds, last_factor=3.0),
        CampaignSpec("campaign8-purple-play", runs, seconds, PURPLE_COLOURS),
        CampaignSpec("campaign9-purple-stack", runs, seconds, PURPLE_COLOURS),
    )


def plan_tree(
    *, seed: int = 0, campaigns: Sequence[CampaignSpec] | None = None, base: RunSpec | None = None
) -> tuple[PlannedRun, ...]:
    """The runs `write_tree` will write, in order. `base` gives what the campaigns leave open."""
    chosen = default_campaigns() if campaigns is None else campaigns
    return tuple(
        run for index, campaign in enumerate(chosen) for run in _plan_campaign(campaign, index, seed, base or RunSpec())
    )


def write_tree(
    root: Path,
    *,
    seed: int = 0,
    campaigns: Sequence[CampaignSpec] | None = None,
    base: RunSpec | None = None,
    strays: bool = True,
    on_run: Callable[[PlannedRun], None] | None = None,
) -> tuple[WrittenRun, ...]:
    """Write a tree of raw campaigns under `root`; the same arguments write the same JSON bytes.

    `strays` adds the folders and files that are no runs. `on_run` hears of every run before it is written.
    Raises Refused if `root` exists and holds anything; nothing is written then.
    """
    require_empty(root)
    chosen = default_campaigns() if campaigns is None else tuple(campaigns)
    planned = plan_tree(seed=seed, campaigns=chosen, base=base)
    root.mkdir(parents=True, exist_ok=True)
    _write_dotfiles(root)
    for index, campaign in enumerate(chosen):
        _write_campaign_files(root, campaign.name, _session_unix(index), _names(planned, campaign.name))
    written = []
    for run in planned:
        if on_run is not None:
            on_run(run)
        written.append(write_run(root / run.folder, run.spec))
    if strays:
        _write_strays(root, chosen[0].name if chosen else None)
    return tuple(written)


def require_empty(root: Path) -> None:
    """Raise Refused unless `root` is a new or an empty folder."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise Refused([Fault("simulate", "root", f"{root}, which is not empty", "a new or empty folder")])


def _names(planned: Sequence[PlannedRun], campaign: str) -> list[str]:
    return [run.folder.name for run in planned if run.folder.parent.name == campaign]


def _session_unix(index: int) -> float:
    return _FIRST_SESSION_UNIX + index * _SESSION_APART_S


def _plan_campaign(campaign: CampaignSpec, index: int, seed: int, base: RunSpec) -> list[PlannedRun]:
    rng = np.random.default_rng([seed, 11, index])
    uptime_s = _FIRST_UPTIMES_S[index % len(_FIRST_UPTIMES_S)]
    planned = []
    for number in range(campaign.runs):
        last = number == campaign.runs - 1
        seconds = campaign.seconds * (campaign.last_factor if last else float(rng.uniform(0.85, 1.1)))
        spec = replace(
            base,
            seconds=round(seconds, 2),
            seed=(seed * 1000 + index) * 1000 + number,
            uptime_s=uptime_s,
            started_unix=_session_unix(index) + uptime_s,
            t0_monotonic_s=base.t0_monotonic_s + index * _SESSION_APART_S,
            cameras=_vary(base.cameras, rng, drop=number == 1),
            first_gap_s=round(float(rng.uniform(0.2, 0.45)), 3),
            cube_colours=campaign.cube_colours,
        )
        planned.append(PlannedRun(Path(campaign.name, _run_name(spec.started_unix)), spec))
        uptime_s = round(cameras.run_end_s(spec) + _BETWEEN_RUNS_S + float(rng.uniform(0.0, 9.0)), 6)
    return planned


def _vary(rig: tuple[CameraSpec, ...], rng: np.random.Generator, *, drop: bool) -> tuple[CameraSpec, ...]:
    """Every run meets its cameras at another phase; with `drop` the second camera loses one picture."""
    varied = []
    for place, camera in enumerate(rig):
        phase_s = round(float(rng.uniform(0.0, 1.0 / camera.rate_hz)), 4)
        dropped = (*camera.dropped, int(rng.integers(20, 60))) if drop and place == 1 else camera.dropped
        varied.append(replace(camera, phase_s=phase_s, dropped=tuple(sorted(set(dropped)))))
    return tuple(varied)


def _run_name(started_unix: float) -> str:
    return "recording_" + metadata.iso(started_unix).translate(str.maketrans("-T:", "___"))


def _write_dotfiles(root: Path) -> None:
    write_json(root / ".frame_verification.json", metadata.frame_verification(_FIRST_SESSION_UNIX - 9000.0))
    write_json(root / ".measurements.json", metadata.measurements(_FIRST_SESSION_UNIX - 8000.0))


def _write_campaign_files(root: Path, name: str, created_unix: float, runs: Sequence[str]) -> None:
    folder = root / name
    folder.mkdir(parents=True)
    card = {
        "name": name,
        "slug": name,
        "created_unix": created_unix,
        "created_iso": metadata.iso(created_unix),
        "notes": "",
    }
    write_json(folder / "campaign.json", card, indent=2)
    items = "".join(f'<li><a href="{run}/summary.mp4">{run}</a></li>' for run in runs)
    page = f"<!doctype html>\n<html><head><title>{name}</title></head><body><ul>{items}</ul></body></html>\n"
    (folder / "index.html").write_text(page, encoding="utf-8")


def _write_strays(root: Path, first_campaign: str | None) -> None:
    """What the cloud sync of a real campaigns folder swept up; none of it is an episode."""
    spec = RunSpec(seconds=0.5, seed=900, cameras=(), uptime_s=12.0, started_unix=_FIRST_SESSION_UNIX - 86400.0)
    _write_films_less_run(root / "_rt" / "run_0001_20260909_000000", spec, status="ready")
    lag_test = root / "_lagtest_0"
    (lag_test / "video").mkdir(parents=True)
    _write_raw(lag_test / "raw", spec)
    (lag_test / "raw" / "tick.jsonl").unlink()
    for name, status in (("shakedown", "recording"), ("audit", "processing")):
        _write_campaign_files(root, name, spec.started_unix, [])
        _write_films_less_run(root / name / _run_name(spec.started_unix), spec, status=status)
    _write_campaign_files(root, "campaign1-tests", _FIRST_SESSION_UNIX - 7200.0, [])
    if first_campaign is not None:
        export = root / first_campaign / "lerobot" / "meta"
        export.mkdir(parents=True)
        write_json(export / "info.json", {"codebase_version": "v2.1", "robot_type": "xarm7", "fps": 30}, indent=4)


def _write_films_less_run(run_dir: Path, spec: RunSpec, *, status: str) -> None:
    (run_dir / "video").mkdir(parents=True)
    _write_raw(run_dir / "raw", spec)
    write_json(run_dir / "run.json", metadata.started(spec, status), indent=2)


def _write_raw(raw_dir: Path, spec: RunSpec) -> None:
    raw_dir.mkdir(parents=True)
    streams.write_streams(raw_dir, spec, roll_out(spec, end_s=cameras.run_end_s(spec)))
