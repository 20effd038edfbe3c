"""Cubes that were measured after a build, in its documents: as if the build itself had measured them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quickdraw.core.cubes import CUBE, CubeRule, Track
from quickdraw.pipeline.cubes import SplitCubes
from quickdraw.pipeline.documents import FINGERPRINT, MEASURED_WITH, build_fingerprint, described, versions
from quickdraw.pipeline.fragments import write_track
from quickdraw.pipeline.parts import track_fingerprint
from quickdraw.pipeline.places import TRACK_PLACE
from quickdraw.pipeline.shown import seen

AFTER_CUBES = ("fragments", "sources")  # what stands behind the cubes of an episode in provenance.json


def with_cubes(
    traced: Mapping[str, Any], cubes: Mapping[str, SplitCubes], tracks: Mapping[str, Sequence[Sequence[Track]]]
) -> dict[str, Any]:
    """provenance.json as a build with these cubes would have written it; other versions than the build's are added."""
    rule = next(iter(cubes.values())).rule
    features = {**traced.get("features", {}), CUBE.name: described(CUBE)}
    config = {**traced.get("config", {}), "objects": "cube", "cube": asdict(rule.thresholds)}
    document = {key: value for key, value in traced.items() if key not in ("palette", "episodes", MEASURED_WITH)}
    document |= {"config": config, "features": features}
    made_with = versions()
    if any(traced.get(name) != version for name, version in made_with.items()):
        document[MEASURED_WITH] = made_with
    episodes = []
    for episode in traced.get("episodes", []):
        kept = {key: value for key, value in episode.items() if key not in ("cubes", *AFTER_CUBES)}
        after = {key: episode[key] for key in AFTER_CUBES if key in episode}
        if "fragments" in after:
            after["fragments"] = {**after["fragments"], "tracks": _track_parts(episode, rule)}
        found = _tracks_of(episode, tracks)
        episodes.append({**kept, **(seen(found) if found else {}), **after})
    order = dict.fromkeys(str(episode.get("split")) for episode in episodes)
    palettes = {split: list(cubes[split].palette) for split in order if split in cubes}
    document |= {"palette": palettes, "episodes": episodes}
    return {**document, FINGERPRINT: build_fingerprint(document)} if FINGERPRINT in document else document


def _track_parts(episode: Mapping[str, Any], rule: CubeRule) -> dict[str, str]:
    """Camera -> the part its track is, of an episode whose clips are parts."""
    clips = episode["fragments"]["clips"]
    return {camera: track_fingerprint(clips[camera], rule.thresholds) for camera in rule.cameras}


def _tracks_of(episode: Mapping[str, Any], tracks: Mapping[str, Sequence[Sequence[Track]]]) -> Sequence[Track]:
    """The tracks of an episode that provenance tells of; none where the dataset has no such episode."""
    split, number = str(episode.get("split")), int(episode.get("episode_index", -1))
    return tracks[split][number] if number in range(len(tracks.get(split, ()))) else ()


def keep_tracks(
    traced: Mapping[str, Any],
    target: Path,
    cubes: Mapping[str, SplitCubes],
    tracks: Mapping[str, Sequence[Sequence[Track]]],
) -> None:
    """What was seen, for rebuilds to go on with, beside what a build measured."""
    rule = next(iter(cubes.values())).rule
    for episode in traced.get("episodes", []):
        if "fragments" in episode:
            parts = _track_parts(episode, rule)
            for camera, track in zip(rule.cameras, _tracks_of(episode, tracks), strict=False):
                place = {"camera": camera, "split": episode["split"], "number": episode["episode_index"]}
                path = target / TRACK_PLACE.format(**place)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_track(path, parts[camera], track)
