"""The documents beside the splits: summary.json and provenance.json. Same input, same bytes: no path, no time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import quickdraw
from quickdraw.core.features import FeatureSpec
from quickdraw.core.fingerprint import fingerprint_with
from quickdraw.core.resample import Displacement
from quickdraw.core.split import Split
from quickdraw.formats.json_document import write_json_with
from quickdraw.pipeline.digests import FileDigest
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.plan import BuildPlan
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.shown import Shown, ShownBySplit

FINGERPRINT = "fingerprint"
MEASURED_WITH = "cubes_measured_with"  # versions, where cubes were not measured with those of the build
# What only a build's pictures tell, of all of them and of each episode; all else is known when it begins.
FOUND = ("palette", MEASURED_WITH)
FOUND_IN_EPISODE = ("cubes", "depth_beyond_px")
DATASET_VERSION = 5  # raised when the same parts are packed, measured or described otherwise than before
NOTHING = Shown({}, frozenset(), {})
WINDOW = 72  # rows a training window spans: 8 past and 64 future ones, as the loader cuts them
CONTENT_PACKAGES = ("av", "numpy", "opencv-python-headless", "pandas", "pyarrow", "scipy")


def summary(plan: BuildPlan, settings: Settings, normalization: Mapping[str, Any]) -> dict[str, Any]:
    """summary.json: what a loader reads, in the keys it knows."""
    spec = settings.dataset_spec()
    widths = {feature.name: feature.width for feature in spec.features}
    dims = {"obs_dim": widths.get("observation.state"), "action_dim": widths.get("action"), "dt": 1 / spec.rate_hz}
    return {
        "name": settings.name,
        "fps": spec.rate_hz,
        "cameras": list(spec.cameras),
        "camera": spec.cameras[0],
        "image_hw": [spec.camera_specs[0].height_px, spec.camera_specs[0].width_px],
        "counts": {split.name: _counts(plan, split, spec.rate_hz) for split in plan.splits},
        "splits": {split.name: _card(plan, split, settings) for split in plan.splits},
        "split_env": {split.name: dims for split in plan.splits},
        "coloring": {split.name: "camera" for split in plan.splits},
        "normalization_stats": dict(normalization),
        **({"refused_runs": refused} if (refused := refused_runs(plan, settings)) else {}),
    }


def _counts(plan: BuildPlan, split: Split, rate_hz: int) -> dict[str, Any]:
    lengths = [plan.lengths[key] for key in split.episodes]
    frames = sum(lengths)
    return {
        "episodes": len(lengths),
        "frames": frames,
        "steps_per_episode": frames // len(lengths),
        "transitions": frames,  # as the loader counts: one per row, the last of an episode having no successor
        "seconds": round(frames / rate_hz, 2),
        "minutes": round(frames / rate_hz / 60, 3),
        "hours": round(frames / rate_hz / 3600, 5),
        "training_windows": sum(max(0, length - WINDOW + 1) for length in lengths),
    }


def _card(plan: BuildPlan, split: Split, settings: Settings) -> dict[str, Any]:
    pooled = split.name in ("train", "val")
    chosen = "longest to val" if settings.rule.val_rule == "longest" else f"random val, seed {settings.rule.seed}"
    frozen = "frozen val runs" if settings.rule.val_runs else chosen
    rule = frozen if pooled else "held-out campaign, verbatim"
    return {
        "n_traj": len(split.episodes),
        "steps": plan.frames(split) // len(split.episodes),
        "split_rule": rule,
    }


def provenance_fingerprint(plan: BuildPlan, settings: Settings, members: Mapping[str, Members]) -> str:
    """Of the whole dataset: equal where a build would write the same bytes again."""
    return _build_fingerprint(_head(plan, settings, members), _episodes(plan, members))


def write_provenance(
    path: Path, plan: BuildPlan, settings: Settings, members: Mapping[str, Members], shown: ShownBySplit
) -> None:
    """provenance.json: with what, how configured, and from which files each episode was made, and what it shows."""
    head = _head(plan, settings, members)
    known = {FINGERPRINT: _build_fingerprint(head, _episodes(plan, members))}
    # Made twice, for all episodes together are much to keep.
    write_json_with(path, {**head, **known}, "episodes", _episodes(plan, members, shown), indent=2)


def _head(plan: BuildPlan, settings: Settings, members: Mapping[str, Members]) -> dict[str, Any]:
    """All but the episodes, the fingerprint still empty."""
    return {
        **versions(),
        FINGERPRINT: "",
        "processor": settings.source.processor,
        "name": settings.name,
        "config": dict(settings.content),
        "features": {feature.name: described(feature) for feature in settings.dataset_spec().features},
        "excluded_campaigns": [name for name, split in plan.campaigns.items() if split is None],
        "excluded_runs": list(plan.left_out),
        "refused_runs": refused_runs(plan, settings),
        "ignored": list(plan.ignored),
        **_palettes(members),
    }


def _episodes(
    plan: BuildPlan, members: Mapping[str, Members], shown: ShownBySplit | None = None
) -> Iterator[dict[str, Any]]:
    """Every episode; with what its pictures show, where that is known."""
    for split in plan.splits:
        for number, member in enumerate(members[split.name]):
            found = shown[split.name][number] if shown else NOTHING
            yield _episode(split, number, member.fragment, found)


def build_fingerprint(document: Mapping[str, Any]) -> str:
    """Of a whole dataset, from its provenance.json: equal where a build would write the same bytes again."""
    return _build_fingerprint(document, document["episodes"])


def _build_fingerprint(document: Mapping[str, Any], episodes: Iterable[Mapping[str, Any]]) -> str:
    content = {key: value for key, value in document.items() if key not in (*FOUND, FINGERPRINT, "episodes")}
    content["dataset_version"] = DATASET_VERSION
    known = ({key: value for key, value in episode.items() if key not in FOUND_IN_EPISODE} for episode in episodes)
    return fingerprint_with(content, "episodes", known)


def described(feature: FeatureSpec) -> dict[str, Any]:
    """A feature's dimensions; those that no normaliser may scale, and the grid they are, where there is such."""
    pinned = {"identity_dims": list(feature.identity_dims)} if feature.identity_dims else {}
    grid = {"grid": list(feature.grid)} if feature.grid else {}
    return {"names": list(feature.names), "unit": list(feature.unit), **pinned, **grid}


def refused_runs(plan: BuildPlan, settings: Settings) -> dict[str, list[str]]:
    """Run -> why it is not in the dataset, in words that do not depend on where the tree lies."""
    tree = f"{settings.source.tree}/"
    return {str(r.key): [str(fault).replace(tree, "") for fault in r.faults] for r in plan.rejected}


def versions() -> dict[str, Any]:
    """With what content is made."""
    return {"quickdraw": quickdraw.__version__, "packages": {name: version(name) for name in CONTENT_PACKAGES}}


def _palettes(members: Mapping[str, Members]) -> dict[str, Any]:
    """The colours of cubes in each split, where they were looked for."""
    palettes = {name: list(episodes.cubes.palette) for name, episodes in members.items() if episodes.cubes}
    return {"palette": palettes} if palettes else {}


def _episode(split: Split, number: int, fragment: Fragment, shown: Shown) -> dict[str, Any]:
    plan = fragment.plan
    return {
        "split": split.name,
        "episode_index": number,
        "campaign": plan.key.campaign,
        "run": plan.key.run,
        "frames": plan.frames,
        "t_lo_s": plan.grid.t0_s,
        "t_hi_s": plan.t_hi_s,
        "displacement": {stream: _fields(moved) for stream, moved in plan.displacement.items()},
        **plan.provenance,
        **shown.cubes,
        "fragments": fragment.parts(),
        "sources": {file: _fields(digest) for file, digest in sorted(fragment.sources.items())},
        **({"depth_beyond_px": dict(shown.beyond_px)} if shown.beyond_px else {}),
    }


def _fields(value: Displacement | FileDigest) -> dict[str, Any]:
    """By name; `asdict` would copy them, which takes ten times as long."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
