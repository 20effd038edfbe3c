"""Previews of our own datasets: a film every browser plays, with what the rows say drawn where it must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import cv2
import imageio.v3 as iio
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.previews.files import write_preview
from quickdraw.report.previews.preview import preview_of

type Rgb = npt.NDArray[Any]

# imageio leaves the pipes of its ffmpeg to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

VIEWS = {"scene": "scene_right", "wrist": "gripper_right_top"}
# Where the pictures of 192 x 144 are in a grid of two by two, three times as large: left, top.
PLACES = {
    "scene_left": (0, 24),
    "scene_right": (580, 24),
    "gripper_right_bottom": (0, 484),
    "gripper_right_top": (580, 484),
}
WIDTH, HEIGHT = 576, 432
SIZE = (1156, 1098)
# The first run that starts late in its file, and holds cubes; some of its rows are looked at.
SPLIT, EPISODE, STEP = "train", 1, 5
STICKS = {(346, 1012): (0, 1), (550, 1012): (3, 2)}  # centre -> columns of the action: to the right, upwards
RADIUS = 54
DOT, BLUE = (255, 176, 64), (110, 190, 255)
MARKS = {"red": (255, 120, 120), "green": (120, 255, 120), "blue": (130, 190, 255), "purple": (240, 150, 255)}


def column(split: Path, name: str, episode: int = EPISODE) -> npt.NDArray[np.float64]:
    """A column of an episode, by Arrow alone."""
    tables = [pq.read_table(file, filters=[("episode_index", "=", episode)]) for file in split.glob("data/*/*.parquet")]
    rows = [row for table in tables for row in table.sort_by("frame_index").to_pylist()]
    return np.array([row[name] for row in rows], np.float64)


def near(picture: npt.NDArray[Any], colour: tuple[int, int, int], within: int = 12) -> npt.NDArray[np.bool_]:
    """Which pixels have a colour."""
    apart: npt.NDArray[np.int64] = np.abs(picture.astype(np.int64) - colour).max(axis=-1)
    return apart <= within


@pytest.fixture(scope="module")
def drawn(sample_dataset: Path) -> dict[int, Rgb]:
    """Frames of the episode by row, before they are encoded: those looked at, those of the sheet, and the last."""
    film = preview_of(SplitReader(sample_dataset / SPLIT), EPISODE, VIEWS)
    chosen = {*range(0, film.rows, STEP), *sheet_rows(film.rows)}
    return {row: frame.copy() for row, frame in enumerate(film.frames) if row in chosen}


def sheet_rows(rows: int) -> list[int]:
    return [round(number * (rows - 1) / 11) for number in range(12)]


@pytest.fixture(scope="module")
def written(sample_dataset: Path, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A folder with a.mp4 and a.png of the episode."""

    def make(folder: Path) -> None:
        folder.mkdir()
        heard: list[int] = []
        film = preview_of(SplitReader(sample_dataset / SPLIT), EPISODE, VIEWS)
        write_preview(film, folder / "a.mp4", folder / "a.png", heard.append)
        assert sum(heard) == film.rows

    return once("preview-of-sample", make)


def test_the_film_is_what_every_browser_plays(written: Path, sample_dataset: Path, drawn: dict[int, Rgb]) -> None:
    rows = len(column(sample_dataset / SPLIT, "frame_index"))
    with av.open(str(written / "a.mp4")) as container:
        (stream,) = container.streams
        assert isinstance(stream, av.VideoStream)
        context = stream.codec_context
        assert (context.name, context.pix_fmt, context.width, context.height) == ("h264", "yuv420p", *SIZE)
        assert stream.average_rate == 30
        assert (stream.frames, int(context.color_range)) == (rows, 1)
        times = [float(packet.pts * packet.time_base) for packet in container.demux(stream) if packet.pts is not None]
    np.testing.assert_allclose(sorted(times), np.arange(rows) / 30, atol=1e-6)
    whole = (written / "a.mp4").read_bytes()
    assert 0 < whole.index(b"moov") < whole.index(b"mdat")  # it can play before all of it is there
    shown = list(iio.imiter(written / "a.mp4", plugin="FFMPEG"))
    assert len(shown) == rows
    for row in (0, 5 * (rows // 10), rows - 1):
        assert np.abs(shown[row].astype(int) - drawn[row]).mean() < 3


def test_each_camera_shows_the_picture_of_the_row_under_its_name(sample_dataset: Path, drawn: dict[int, Rgb]) -> None:
    for camera, (x, y) in PLACES.items():
        clip = sample_dataset / f"media/{camera}/{SPLIT}/ep_{EPISODE:04d}.mp4"
        for row, picture in enumerate(iio.imiter(clip, plugin="FFMPEG")):
            if row % (8 * STEP) == 0:
                shown = cv2.resize(drawn[row][y : y + HEIGHT, x : x + WIDTH], (192, 144), interpolation=cv2.INTER_AREA)
                apart = np.abs(shown.astype(int) - picture).max(axis=-1)
                assert np.median(apart) <= 2  # but for marks
        assert near(drawn[0][y - 24 : y, x : x + WIDTH], (232, 232, 232)).any()


def test_a_ring_is_where_a_cube_is_seen_and_a_hollow_square_where_it_is_held(
    sample_dataset: Path, drawn: dict[int, Rgb]
) -> None:
    names = SplitReader(sample_dataset / SPLIT).dimensions("observation.objects.cube")
    cubes = column(sample_dataset / SPLIT, "observation.objects.cube")
    seen, held = 0, 0
    for view, camera in VIEWS.items():
        left, top = PLACES[camera]
        at = {c: [cubes[:, names.index(f"{c}_{view}_{what}")] for what in ("cx", "cy", "vis")] for c in MARKS}
        centres = {c: np.stack([cx * WIDTH, cy * HEIGHT], axis=1) for c, (cx, cy, _) in at.items()}
        for colour, mark in MARKS.items():
            cx, _, visible = at[colour]
            for row in range(0, len(cubes), STEP):
                x, y = (round(each) for each in centres[colour][row].tolist())
                others = [centre[row] for c, centre in centres.items() if c != colour and centre[row].any()]
                crowded = any(np.hypot(*(other - (x, y))) < 60 for other in others)
                shown = drawn[row][top : top + HEIGHT, left : left + WIDTH]
                if visible[row] > 0:
                    seen += 1
                    assert near(shown[y, x], mark)
                elif cx[row] > 0 and not crowded:
                    held += 1
                    sides = [(x + dx, y + dy) for dx, dy in ((-6, 0), (6, 0), (0, -6), (0, 6))]
                    inside = [(at_x, at_y) for at_x, at_y in sides if 0 <= at_x < WIDTH and 0 <= at_y < HEIGHT]
                    assert len(inside) >= 3
                    assert all(near(shown[at_y, at_x], mark, 40) for at_x, at_y in inside)
                    assert not near(shown[y, x], mark)
    assert seen > 20
    assert held > 0


def test_dots_are_where_the_sticks_were(sample_dataset: Path, drawn: dict[int, Rgb]) -> None:
    action = column(sample_dataset / SPLIT, "action")
    furthest = 0.0
    for (x, y), (right, up) in STICKS.items():
        for row, frame in drawn.items():
            patch = near(frame[y - 64 : y + 65, x - 64 : x + 65], DOT, 4)
            ys, xs = np.nonzero(patch)
            at = (xs.min() + xs.max()) / 2 - 64, (ys.min() + ys.max()) / 2 - 64
            wanted = action[row, right] * RADIUS, -action[row, up] * RADIUS
            np.testing.assert_allclose(at, wanted, atol=1.6)
            furthest = max(furthest, float(np.hypot(*at)))
    assert furthest > RADIUS / 2  # the sticks did move


def test_bars_of_the_gripper_are_as_long_as_it_is_asked_to_close_and_is_closed(
    sample_dataset: Path, drawn: dict[int, Rgb]
) -> None:
    asked = column(sample_dataset / SPLIT, "action")[:, 4]
    measured = column(sample_dataset / SPLIT, "observation.state")[:, 9]
    assert np.ptp(asked) > 0.3
    left, track = 676, 209  # of the bars: pixels
    for row in drawn:
        for y, colour, share in ((988, DOT, asked[row]), (1048, BLUE, 1 - measured[row])):
            line = drawn[row][y, left : left + track + 1]
            assert abs(int(near(line, colour, 4).sum()) - share * track) < 4


def test_time_and_row_move_on_and_the_rest_of_the_strip_stays(drawn: dict[int, Rgb]) -> None:
    clock = [frame[924:1000, 18:250] for frame in drawn.values()]
    assert len({each.tobytes() for each in clock}) == len(drawn)
    legend = [frame[930:, 960:] for frame in drawn.values()]
    assert len({each.tobytes() for each in legend}) == 1
    for row, frame in drawn.items():
        over = near(frame[921], DOT, 0).sum()
        assert over == round(SIZE[0] * (row + 1) / (max(drawn) + 1))


def test_the_sheet_shows_twelve_of_the_frames_evenly_over_the_episode(written: Path, drawn: dict[int, Rgb]) -> None:
    bgr = cv2.imread(str(written / "a.png"))
    assert bgr is not None
    sheet, high = bgr[..., ::-1], round(SIZE[1] * 640 / SIZE[0])
    assert sheet.shape == (10 + 3 * (high + 28 + 10), 10 + 4 * 650, 3)
    for number, row in enumerate(sheet_rows(max(drawn) + 1)):
        x, y = 10 + number % 4 * 650, 10 + number // 4 * (high + 38)
        tile = sheet[y + 28 : y + 28 + high, x : x + 640]
        np.testing.assert_array_equal(tile, cv2.resize(drawn[row], (640, high), interpolation=cv2.INTER_AREA))
        assert near(sheet[y : y + 28, x : x + 200], (232, 232, 232)).any()  # its time


def test_a_pooled_episode_shows_depth_in_colours_and_its_action_as_bars(pooled_dataset: Path) -> None:
    split = SplitReader(pooled_dataset / "val")
    (depth_camera,) = [camera for camera in split.cameras if split.is_depth(camera)]
    film = preview_of(split, 0, VIEWS)
    frames = [frame.copy() for frame in film.frames]
    depth = list(split.depth(0, depth_camera))
    assert len(frames) == len(depth) == film.rows
    places = _changing(frames, split.cameras)
    x, y, wide, high = places[split.cameras.index(depth_camera)]
    row = len(depth) // 2
    shown = frames[row][y : y + high, x : x + wide]
    factor = wide // depth[row].shape[1]
    holes = cv2.erode((depth[row] == 0).astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    at = shown[factor // 2 :: factor, factor // 2 :: factor][: depth[row].shape[0], : depth[row].shape[1]].astype(int)
    if holes.any():
        assert at[holes].max() <= 12
    known = depth[row] > 0
    nearest = at[known & (depth[row] <= np.quantile(depth[row][known], 0.05))].mean(axis=0)
    farthest = at[known & (depth[row] >= np.quantile(depth[row][known], 0.95))].mean(axis=0)
    assert nearest[0] - nearest[2] > farthest[0] - farthest[2]  # near ones are warm


def _changing(frames: list[Rgb], cameras: tuple[str, ...]) -> list[tuple[int, int, int, int]]:
    """Where the pictures of two cameras beside one another are: left, top, width, height."""
    assert len(cameras) == 2
    width = frames[0].shape[1]
    half = (width - 4) // 2
    bottom = frames[0].shape[0] - 178 - 4
    return [(0, 24, half, bottom - 24), (half + 4, 24, half, bottom - 24)]


def test_nothing_is_left_behind_by_a_film_that_fails(pooled_dataset: Path, tmp_path: Path) -> None:
    film = preview_of(SplitReader(pooled_dataset / "val"), 0, VIEWS)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_preview(film, tmp_path / "a.mp4", tmp_path / "a.png", stop)
    assert list(tmp_path.iterdir()) == []


def test_what_has_the_names_is_replaced_only_by_what_is_whole_and_the_same_each_time(
    pooled_dataset: Path, tmp_path: Path
) -> None:
    video, sheet, made, there = tmp_path / "a.mp4", tmp_path / "a.png", [], list[bytes]()
    for _ in range(2):
        video.write_text("older")
        film = preview_of(SplitReader(pooled_dataset / "val"), 0, VIEWS)
        write_preview(film, video, sheet, lambda _: there.append(video.read_bytes()))
        made.append((video.read_bytes(), sheet.read_bytes()))
    assert there == [b"older"] * 2 * film.rows
    assert made[0] == made[1]
    assert len(list(iio.imiter(tmp_path / "a.mp4", plugin="FFMPEG"))) == film.rows
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "a.png"]
