"""Cubes measured in encoded pictures against the simulator's closed-form truth, scene by scene, in drifting light."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.core.cubes import Track, colours_in
from quickdraw.core.episode import FramePlan
from quickdraw.core.grid import Float64
from quickdraw.core.hues import COLOURS, CubeThresholds
from quickdraw.pipeline.tracking import track_file
from quickdraw.sim import film
from quickdraw.sim.scene import renderer
from quickdraw.sim.scenes import ALL_TRAPS, SCENES
from quickdraw.sim.spec import DEFAULT_COLOURS, PURPLE_COLOURS, Look, RunSpec
from quickdraw.video.encoding import Encoding
from quickdraw.video.transcode import transcode

VISIBLE_PX = 25.0
CAMERAS = ("scene_right", "gripper_right_top")
HEIGHT_PX, WIDTH_PX = 144, 192
EVERY = 9  # a picture every third of a second: much happens in few pictures
# Two ways light drifts, each over a noisy sensor: the exposure swings by a third, behind an open shutter, or the white
# balance by an eighth.
LOOKS = {
    "exposure": Look(gain_swing=0.33, gain_period_s=9.0, noise_levels=4.0, shutter_s=0.01),
    "white balance": Look(balance_swing=0.12, balance_period_s=9.0, noise_levels=4.0),
}


@dataclass(frozen=True, slots=True)
class Clip:
    """One camera's pictures of a scene. `truth` (T, 4, 3) per colour: visible area [px], centre x and y [px]."""

    scene: str
    colours: tuple[str, ...]
    camera: str
    path: Path
    truth: Float64


def sets() -> list[tuple[str, tuple[str, ...]]]:
    """Every scene with the cubes of the standard task, some with those of the purple one."""
    purple = ("touching", "stack of two", "scattered")
    return [
        *((scene, DEFAULT_COLOURS) for scene in (*SCENES, "scattered")),
        *((scene, PURPLE_COLOURS) for scene in purple),
    ]


def film_all(look: str, folder: Path) -> None:
    """Film every set in both cameras."""
    folder.mkdir()
    for scene, colours in sets():
        for camera in CAMERAS:
            _film(look, scene, colours, camera, folder)


def _name(scene: str, colours: tuple[str, ...], camera: str) -> str:
    return f"{scene} {'-'.join(colours)} {camera}"


def _film(look: str, scene: str, colours: tuple[str, ...], camera: str, folder: Path) -> None:
    spec = RunSpec(
        seconds=9.0,
        seed=zlib.crc32(f"{scene} {look} {colours}".encode()) % 1000,
        cube_places=SCENES.get(scene),
        cube_colours=colours,
        look=LOOKS[look],
        traps=ALL_TRAPS,
    )
    shown = renderer(spec, camera)
    chosen = range(0, len(shown.stamps_s), EVERY)
    clip = folder / f"{_name(scene, colours, camera)}.mp4"
    source = clip.with_suffix(".source.mp4")
    film.write_film(source, (shown.picture(k) for k in chosen), (spec.width_px, spec.height_px))
    encoding = Encoding(HEIGHT_PX, WIDTH_PX, 30, crf=15, preset="veryfast", gop=5)
    transcode(FramePlan(source, np.arange(len(chosen)), len(chosen)), clip, encoding)
    truth = np.zeros((len(chosen), len(COLOURS), 3))
    for row, k in enumerate(chosen):
        for cube in shown.visible_cubes(k):
            x, y = cube.centre
            truth[row, COLOURS.index(cube.colour)] = cube.area * HEIGHT_PX * WIDTH_PX, x * WIDTH_PX, y * HEIGHT_PX
    np.save(clip.with_suffix(".npy"), truth)


def clips(folder: Path) -> list[Clip]:
    """What `film_all` filmed."""
    return [
        Clip(scene, colours, camera, path, np.load(path.with_suffix(".npy")))
        for scene, colours in sets()
        for camera in CAMERAS
        for path in [folder / f"{_name(scene, colours, camera)}.mp4"]
    ]


@dataclass
class Score:
    """How one camera measured one colour over many rows."""

    visible: int = 0
    seen: int = 0
    phantoms: int = 0
    errors_px: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def add(self, truth: Any, measured: Any) -> None:
        """Rows of `(T, 3)` truth [px, px, px] and `(T, 3)` measurement, both area, x, y."""
        visible, seen = truth[:, 0] > VISIBLE_PX, measured[:, 0] > 0
        both = visible & seen
        self.visible += int(visible.sum())
        self.seen += int(both.sum())
        self.phantoms += int((seen & (truth[:, 0] == 0)).sum())
        self.errors_px += np.hypot(*(measured[both, 1:] - truth[both, 1:]).T).tolist()
        self.ratios += (measured[both, 0] / truth[both, 0]).tolist()


@dataclass(frozen=True)
class Filmed:
    """A clip and what we made of it."""

    clip: Clip
    track: Track

    def measured(self) -> Any:
        """`(T, 4, 3)` area, x, y [px]."""
        return self.track.sightings[..., [2, 0, 1]] * [1, WIDTH_PX, HEIGHT_PX]


@pytest.fixture(scope="module")
def filmed(once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[[str], list[Filmed]]:
    """`filmed(look)`: every scene in both cameras and both sets of cubes, tracked."""
    kept: dict[str, list[Filmed]] = {}

    def tracked(look: str) -> list[Filmed]:
        if look not in kept:
            folder = once(f"cube-scenes-{look}", lambda place: film_all(look, place))
            thresholds = CubeThresholds()
            kept[look] = [
                Filmed(clip, track_file(clip.path, [len(clip.truth)], thresholds)[0]) for clip in clips(folder)
            ]
        return kept[look]

    return tracked


@pytest.mark.parametrize("look", LOOKS)
def test_cubes_are_seen_where_they_are_and_as_large_as_they_are(
    filmed: Callable[[str], list[Filmed]], look: str, record_property: Callable[[str, object], None]
) -> None:
    scores = {(camera, colour): Score() for camera in CAMERAS for colour in COLOURS}
    for view in filmed(look):
        for number, colour in enumerate(COLOURS):
            scores[view.clip.camera, colour].add(view.clip.truth[:, number], view.measured()[:, number])
    failed = []
    for (camera, colour), score in scores.items():
        assert score.visible > 50, (camera, colour)
        share, ratio = score.seen / score.visible, float(np.median(score.ratios))
        median_px, p95_px = np.percentile(score.errors_px, [50, 95])
        figures = (
            f"{look}, {camera}, {colour}: {score.visible} rows, seen in {share:.2%}, {score.phantoms} phantoms, "
            f"centre off by {median_px:.2f} px (p95 {p95_px:.2f}), area x {ratio:.3f}"
        )
        print(figures)
        record_property(f"{look}/{camera}/{colour}", figures)
        right = share >= 0.98 and score.phantoms == 0 and median_px < 0.8 and p95_px < 2.5 and 0.85 <= ratio <= 1.15
        if not right:
            failed.append(figures)
    assert not failed


@pytest.mark.parametrize("look", LOOKS)
def test_every_scene_is_evidence_for_the_cubes_it_shows_and_for_no_other(
    filmed: Callable[[str], list[Filmed]], look: str
) -> None:
    thresholds, films = CubeThresholds(), filmed(look)
    for scene_view, wrist_view in zip(films[::2], films[1::2], strict=True):
        assert (scene_view.clip.scene, scene_view.clip.colours) == (wrist_view.clip.scene, wrist_view.clip.colours)
        found = colours_in([scene_view.track, wrist_view.track], HEIGHT_PX * WIDTH_PX, thresholds)
        views = [view.clip.truth[..., 0] for view in (scene_view, wrist_view)]
        shown = {colour for number, colour in enumerate(COLOURS) if any(area[:, number].any() for area in views)}
        large = [(area > 2 * thresholds.evidence_area_px).sum(axis=0) for area in views]
        plain = {colour for number, colour in enumerate(COLOURS) if max(rows[number] for rows in large) >= 15}
        assert plain <= found <= shown, scene_view.clip.scene
        assert len(plain) >= 2, scene_view.clip.scene


@pytest.mark.parametrize("look", LOOKS)
def test_a_cube_that_is_nowhere_is_nowhere_measured(filmed: Callable[[str], list[Filmed]], look: str) -> None:
    checked = 0
    for view in filmed(look):
        for number, colour in enumerate(COLOURS):
            if not view.clip.truth[:, number, 0].any():
                assert not view.measured()[:, number].any(), (view.clip.path, colour)
                checked += 1
    assert checked >= 2 * len(sets())  # one colour of four is absent from every film
