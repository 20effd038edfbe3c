"""observation.objects.cube, computed again from what was seen in each episode's clips and from the split's palette."""

from __future__ import annotations

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from quickdraw.core.cubes import CUBE, VIEWS, Track, cube_rows
from quickdraw.core.episode import Float32
from quickdraw.core.hues import COLOURS
from quickdraw.formats.lerobot.tables import Column
from quickdraw.pipeline.fragments import read_track
from quickdraw.pipeline.places import PROVENANCE, TRACK_PLACE
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance, Traced
from quickdraw.pipeline.verify.json_reading import refusal
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import DataPart, SplitView

CUBES = "cubes"


def check_cubes(dataset: DatasetView, split: SplitView, part: DataPart, ours: Provenance, *, ledger: Ledger) -> None:
    """Every row of a data file, exactly, of episodes whose tracks were kept."""
    if CUBE.name not in split.info.vectors:
        return
    traced = {episode.index: episode for episode in dataset.traced(split.name) if episode.tracked}
    with ledger.checking(CUBES, split.name):
        for entry, found in part.episodes(CUBE.name) if traced else ():
            if entry.number in traced:
                with ledger.checking(CUBES, split.name):
                    expected = _expected(dataset, split, ours, traced[entry.number])
                    _check_episode(split, entry, found, expected, ledger)


def _check_episode(split: SplitView, entry: Entry, found: Column, expected: Float32, ledger: Ledger) -> None:
    ledger.saw(CUBES, len(found))
    if found.shape != expected.shape:
        told, wanted = f"episode {entry.number}: {found.shape}", f"{expected.shape} of its tracks"
        ledger.fault(CUBES, split.name, found=told, expected=wanted, path=split.root / "data")
        return
    wrong = np.flatnonzero((found != expected).any(axis=1))
    if wrong.size:
        row, dim = wrong[0], int(np.flatnonzero(found[wrong[0]] != expected[wrong[0]])[0])
        told = f"{split.places(entry.first + wrong)}: {CUBE.names[dim]} {found[row, dim]}"
        wanted = f"{expected[row, dim]}, of what was measured"
        ledger.fault(CUBES, split.name, found=told, expected=wanted, path=split.root / "data")


def _expected(dataset: DatasetView, split: SplitView, ours: Provenance, episode: Traced) -> Float32:
    """What its rows should be. Raises Refused where what they are made of is not there."""
    keys = {camera: split.info.camera_key(camera) for camera in episode.tracked}
    if len(keys) != len(VIEWS) or not set(keys.values()) <= set(split.info.cameras) or split.name not in ours.palettes:
        found = f"{split.name} episode {episode.index}: tracks of {', '.join(keys)}"
        raise refusal(dataset.root / PROVENANCE, found, f"{len(VIEWS)} cameras of the split, and its palette")
    places = [TRACK_PLACE.format(camera=camera, split=split.name, number=episode.index) for camera in keys]
    tracks = [_track(dataset.root / place) for place in places]
    if len({len(track.sightings) for track in tracks}) > 1:
        raise refusal(dataset.root / places[0], f"{len(tracks[0].sightings)} rows", "as many as its other views have")
    height_px, width_px = split.info.features[next(iter(keys.values()))].shape[:2]
    return cube_rows(tracks, ours.palettes[split.name], height_px * width_px)


def _track(path: Path) -> Track:
    """What was kept of a clip. Raises Refused."""
    expected = "what was seen of the cubes"
    try:
        track = read_track(path)
    except (
        BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        NotImplementedError,
    ) as error:
        raise refusal(path, f"unreadable ({error})", expected) from error
    if track.sightings.dtype.kind != "f" or track.sightings.shape[1:] != (len(COLOURS), 3):
        raise refusal(path, f"{list(track.sightings.shape)} {track.sightings.dtype}", expected)
    return track
