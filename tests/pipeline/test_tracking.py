"""Cubes followed through encoded clips: row by row, episode by episode, and never further than the pictures go."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import imageio_ffmpeg
import numpy as np
import pytest

from quickdraw.core.cubes import Track
from quickdraw.core.hues import COLOURS
from quickdraw.errors import VideoError
from quickdraw.pipeline.tracking import STRIDE, HueSurvey, track_file
from quickdraw.video.decoding import as_rgb, pictures
from quickdraw.video.join import join

type Film = Any
ROWS = 40
EPISODES = {
    "red and blue": ({"red": range(ROWS), "blue": range(10, 30)}, ROWS),
    "purple and blue": ({"purple": range(25), "blue": range(5, 33)}, 33),
    "nothing": ({}, 7),
    "green": ({"green": range(20)}, 21),
}


@pytest.fixture(scope="module")
def clips(film: Film, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, int]]:
    """Name -> clip and its number of pictures."""
    folder = tmp_path_factory.mktemp("clips")
    return {name: (film.take(folder / f"{name}.mp4", *episode), episode[1]) for name, episode in EPISODES.items()}


def same(one: Track, other: Track) -> bool:
    return one.peaks == other.peaks and np.array_equal(one.sightings, other.sightings)


def seen(track: Track, colour: str) -> list[int]:
    """The rows a colour is seen in."""
    return np.flatnonzero(track.sightings[:, COLOURS.index(colour), 2]).tolist()


@pytest.mark.parametrize("name", EPISODES)
def test_every_cube_is_seen_in_its_rows_at_its_place_and_in_no_other(
    name: str, clips: dict[str, tuple[Path, int]], film: Film
) -> None:
    shown, rows = EPISODES[name]
    (track,) = track_file(clips[name][0], [rows], film.thresholds)
    assert track.sightings.shape == (rows, 4, 3)
    assert set(track.peaks) == set(shown)
    for number, colour in enumerate(COLOURS):
        there = list(shown.get(colour, ()))
        assert seen(track, colour) == there
        for row in there:
            x, y = film.place(colour, row)
            centre = track.sightings[row, number, :2] * (film.width, film.height)
            assert centre.tolist() == pytest.approx([x + film.side / 2, y + film.side / 2], abs=0.6)
            assert track.sightings[row, number, 2] == pytest.approx(film.side**2, rel=0.35)  # colour at half the size


@pytest.mark.parametrize(
    "order",
    [("red and blue", "purple and blue"), ("purple and blue", "red and blue"), ("nothing", "green", "nothing"),
     ("green", "green"), ("red and blue", "nothing", "purple and blue", "green")],
)  # fmt: skip
def test_an_episode_knows_nothing_of_the_others_in_its_file(
    order: tuple[str, ...], clips: dict[str, tuple[Path, int]], film: Film, tmp_path: Path
) -> None:
    held = [clips[name] for name in order]
    join(held, tmp_path / "joined.mp4", 30)
    together = track_file(tmp_path / "joined.mp4", [rows for _, rows in held], film.thresholds)
    alone = [track_file(path, [rows], film.thresholds)[0] for path, rows in held]
    assert len(together) == len(alone)
    assert all(same(one, other) for one, other in zip(together, alone, strict=True))


def test_a_file_of_another_encoder_is_read_whatever_order_its_pictures_are_coded_in(
    clips: dict[str, tuple[Path, int]], film: Film, tmp_path: Path
) -> None:
    """Predicted from later ones and across keyframes; its packets are in no order to number pictures by."""
    (path, rows), foreign = clips["purple and blue"], tmp_path / "foreign.mp4"
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-v",
        "error",
        "-i",
        str(path),
        "-c:v",
        "libx264",
        "-g",
        "12",
        "-bf",
        "3",
    ]
    command += ["-b_strategy", "0", "-x264-params", "open-gop=1:scenecut=0", "-pix_fmt", "yuv420p", str(foreign)]
    subprocess.run(command, check=True)
    with av.open(str(foreign)) as container:
        coded = [packet.pts for packet in container.demux(video=0) if packet.pts is not None]
    assert coded != sorted(coded)
    shown = [as_rgb(picture) for picture in pictures(foreign)]
    survey = HueSurvey(film.thresholds)
    for rgb in shown[::STRIDE]:
        survey.add(rgb)
    assert same(track_file(foreign, [rows], film.thresholds)[0], survey.learnt().follow(shown, rows))


def test_where_an_episode_ends_decides_what_it_learns_its_hues_from(
    clips: dict[str, tuple[Path, int]], film: Film
) -> None:
    """The same pictures, cut after the last green one: the second episode has no green to go by."""
    path, rows = clips["green"]
    first, second = track_file(path, [20, rows - 20], film.thresholds)
    assert (set(first.peaks), set(second.peaks)) == ({"green"}, set())
    assert (seen(first, "green"), seen(second, "green")) == (list(range(20)), [])


def test_a_survey_of_every_fifth_picture_and_a_second_look_are_what_tracking_a_file_is(
    clips: dict[str, tuple[Path, int]], film: Film
) -> None:
    """The map stage gathers the survey while it does something else with the pictures."""
    path, rows = clips["purple and blue"]
    survey = HueSurvey(film.thresholds)
    for number, picture in enumerate(pictures(path)):
        if number % STRIDE == 0:
            survey.add(as_rgb(picture))
    assert (survey.pictures, survey.picture_px) == (7, 144 * 192)
    assert survey.counts.sum() <= 7 * 144 * 192
    assert same(survey.learnt().follow(map(as_rgb, pictures(path)), rows), track_file(path, [rows], film.thresholds)[0])


def test_tracking_twice_gives_the_same_numbers(clips: dict[str, tuple[Path, int]], film: Film) -> None:
    first, again = (track_file(*with_rows(clips["red and blue"]), film.thresholds)[0] for _ in range(2))
    assert same(first, again)


def with_rows(clip: tuple[Path, int]) -> tuple[Path, list[int]]:
    return clip[0], [clip[1]]


@pytest.mark.parametrize("lengths", [[ROWS - 1], [ROWS + 1], [ROWS, 1], [20, 21], [20, 10], [200], []])
def test_too_few_and_too_many_pictures_are_refused_with_both_numbers(
    lengths: list[int], clips: dict[str, tuple[Path, int]], film: Film
) -> None:
    message = rf"red and blue\.mp4: found {ROWS} pictures, expected {sum(lengths)}, one per row"
    with pytest.raises(VideoError, match=message):
        track_file(clips["red and blue"][0], lengths, film.thresholds)


def damaged(path: Path, target: Path, change: Callable[[bytes], bytes]) -> Path:
    target.write_bytes(change(path.read_bytes()))
    return target


def scribbled(whole: bytes) -> bytes:
    """Noise over a part of the last third, where the pictures are."""
    at = len(whole) * 2 // 3
    return whole[:at] + np.random.default_rng(0).bytes(300) + whole[at + 300 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (scribbled, r"found picture \d+: .+, expected an? (decodable|undamaged) picture"),
        (lambda whole: whole[: len(whole) * 6 // 10], r"found picture \d+: Invalid data.*expected a decodable picture"),
        (lambda whole: whole[:200], "found no video stream, expected one video stream"),
        (lambda _: b"", r"found unreadable \(.+\), expected a playable video file"),
    ],
)
def test_a_damaged_file_is_refused_and_a_damaged_picture_by_its_number(
    change: Callable[[bytes], bytes], message: str, clips: dict[str, tuple[Path, int]], film: Film, tmp_path: Path
) -> None:
    path = damaged(clips["red and blue"][0], tmp_path / "bad.mp4", change)
    with pytest.raises(VideoError, match=rf"bad\.mp4: {message}"):
        track_file(path, [ROWS], film.thresholds)


def test_a_file_that_is_gone_is_refused(film: Film, tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"gone\.mp4: found unreadable \(No such file or directory\)"):
        track_file(tmp_path / "gone.mp4", [3], film.thresholds)
