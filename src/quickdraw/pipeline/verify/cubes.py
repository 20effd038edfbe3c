"""observation.objects.cube, computed again from what was seen in each episode's clips and from the split's palette."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from quickdraw.core.cubes import CUBE, Track, cube_rows
from quickdraw.pipeline.fragments import read_track
from quickdraw.pipeline.places import TRACK_PLACE
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance, Traced
from quickdraw.pipeline.verify.json_reading import refusal
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.split_view import SplitView

CUBES = "cubes"


def check_cubes(dataset: DatasetView, split: SplitView, ours: Provenance, ledger: Ledger) -> None:
    """Every row of every episode whose tracks were kept, exactly."""
    if CUBE.name not in split.info.vectors:
        return
    for episode in dataset.traced(split.name):
        if episode.tracked:
            with ledger.checking(CUBES, split.name):
                _check_episode(dataset, split, ours, episode, ledger)


def _check_episode(dataset: DatasetView, split: SplitView, ours: Provenance, episode: Traced, ledger: Ledger) -> None:
    places = [TRACK_PLACE.format(camera=camera, split=split.name, number=episode.index) for camera in episode.tracked]
    tracks = [_track(dataset.root / place) for place in places]
    height_px, width_px, _ = split.info.features[split.info.camera_key(episode.tracked[0])].shape
    expected = cube_rows(tracks, ours.palettes[split.name], height_px * width_px)
    entry = split.entries[episode.index]
    found = split.column(CUBE.name)[entry.first : entry.first + entry.length]
    ledger.saw(CUBES, len(found))
    if found.shape != expected.shape:
        told, wanted = f"episode {episode.index}: {found.shape}", f"{expected.shape} of its tracks"
        ledger.fault(CUBES, split.name, found=told, expected=wanted, path=split.root / "data")
        return
    wrong = np.flatnonzero((found != expected).any(axis=1))
    if wrong.size:
        row, dim = wrong[0], int(np.flatnonzero(found[wrong[0]] != expected[wrong[0]])[0])
        told = f"{split.places(entry.first + wrong)}: {CUBE.names[dim]} {found[row, dim]}"
        wanted = f"{expected[row, dim]}, of what was measured"
        ledger.fault(CUBES, split.name, found=told, expected=wanted, path=split.root / "data")


def _track(path: Path) -> Track:
    """What was kept of a clip. Raises Refused."""
    try:
        return read_track(path)
    except (BadZipFile, EOFError, OSError, ValueError, LookupError) as error:
        raise refusal(path, f"unreadable ({error})", "what was seen of the cubes") from error
