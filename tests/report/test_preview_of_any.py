"""Previews of datasets of others: any cameras, any names, any action or none, and the pieces they are drawn from."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.features import FeatureSpec
from quickdraw.errors import Refused, VideoError
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.previews.canvas import grid_of
from quickdraw.report.previews.controls import Bars, Gripper, Stick, panels_of
from quickdraw.report.previews.cubes import Cubes, cubes_of, draw_cubes
from quickdraw.report.previews.files import write_preview
from quickdraw.report.previews.preview import preview_of

# imageio leaves the pipes of its ffmpeg to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

BLUE = (130, 190, 255)
WIDE = FeatureSpec("action", tuple(f'<b>"关节"/{i}' for i in range(300)), ("",) * 300)


@pytest.fixture(scope="module")
def foreign(synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A split as others make them: no provenance, its second episode of one row, 300 odd names, NaN and a constant."""

    def make(folder: Path) -> None:
        folder.mkdir()
        episodes = [synthetic.fake_episode(number, frames, folder) for number, frames in enumerate((7, 1))]
        for episode in episodes:
            values = np.arange(300, dtype=np.float32) + np.zeros((episode.frames, 300), np.float32)
            episode.arrays = {**episode.arrays, WIDE.name: values}
        spec = synthetic.dataset_spec(features=(synthetic.STATE, WIDE))
        synthetic.pack(folder / "split", spec, episodes)

    return once("preview-foreign", make) / "split"


@pytest.fixture
def copied(foreign: Path, tmp_path: Path) -> Path:
    """A copy of its tables that a test may change; videos are the same."""
    copy = tmp_path / "split"
    (copy / "meta").mkdir(parents=True)
    for file in ("info.json", "stats.json", "tasks.parquet"):
        (copy / "meta" / file).write_bytes((foreign / "meta" / file).read_bytes())
    for folder in ("meta/episodes", "data", "videos"):
        (copy / folder).symlink_to(foreign / folder)
    return copy


def change_features(split: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = split / "meta/info.json"
    info = json.loads(path.read_text())
    change(info["features"])
    path.write_text(json.dumps(info))


@pytest.mark.parametrize("count", range(1, 10))
@pytest.mark.parametrize("size", [(192, 144), (640, 480), (1920, 1080), (31, 77)])
def test_no_two_pictures_of_a_grid_overlap_and_all_are_in_it(count: int, size: tuple[int, int]) -> None:
    grid = grid_of({f"camera {number}": size for number in range(count)}, 640)
    taken = np.zeros((grid.height, grid.width), np.int64)
    for place in grid.places.values():
        head = taken[place.y - 24 : place.y + place.height, place.x : place.x + place.width]
        assert head.shape == (place.height + 24, place.width)  # all of it, and its name above it, is in the grid
        head += 1
        assert place.width / place.height == pytest.approx(size[0] / size[1], rel=0.02)
    assert taken.max() == 1
    assert len(grid.places) == count
    assert grid.width <= 1924


@pytest.mark.parametrize(
    ("count", "size", "shown"),
    [
        (4, (192, 144), (576, 432)),
        (4, (640, 480), (640, 480)),
        (4, (1280, 720), (640, 360)),
        (1, (192, 144), (960, 720)),
        (9, (192, 144), (384, 288)),
    ],
)
def test_small_pictures_are_enlarged_by_whole_numbers_and_large_ones_are_not(
    count: int, size: tuple[int, int], shown: tuple[int, int]
) -> None:
    grid = grid_of({str(number): size for number in range(count)}, 0)
    assert {(place.width, place.height) for place in grid.places.values()} == {shown}


def test_of_more_than_nine_cameras_nine_are_shown() -> None:
    assert list(grid_of({str(number): (64, 48) for number in range(12)}, 0).places) == list("012345678")


def test_a_held_cube_is_a_hollow_square_a_seen_one_a_ring_of_its_area_and_an_unknown_one_nothing() -> None:
    measured = np.zeros((3, 4, 4), np.float32)
    measured[1, 2] = (0.5, 0.25, 0, 0)
    measured[2, 2] = (0.5, 0.25, 2, 1)
    cubes = Cubes({"scene": measured})
    assert cubes.palette == ("blue",)
    shown = [np.zeros((432, 576, 3), np.uint8) for _ in range(3)]
    for row, picture in enumerate(shown):
        draw_cubes(picture, cubes, "scene", row)
    blue = [(np.abs(picture.astype(int) - BLUE).max(axis=-1) < 20) for picture in shown]
    assert not shown[0].any()
    ys, xs = np.nonzero(blue[1])
    assert (xs.mean(), ys.mean()) == pytest.approx((288, 108), abs=1)
    assert 12 <= np.ptp(xs) <= 14  # a line two pixels wide
    assert not blue[1][104:113, 284:293].any()
    ys, xs = np.nonzero(blue[2])
    radius = 2 * np.sqrt(120 * 9 / np.pi)  # size is the root of the area in units of 120 px at 144 x 192
    assert np.ptp(xs) / 2 == pytest.approx(radius, abs=2)
    assert blue[2][108, 288]


def test_three_hundred_dimensions_of_odd_names_show_the_first_twelve(foreign: Path, tmp_path: Path) -> None:
    split = SplitReader(foreign)
    (bars,) = panels_of(split, 0)
    assert isinstance(bars, Bars)
    assert (bars.title, bars.names) == ("action: the first 12 of 300", WIDE.names[:12])
    np.testing.assert_array_equal(bars.values, np.tile(np.arange(12.0), (7, 1)))
    film = preview_of(split, 0, {})
    write_preview(film, tmp_path / "关节.mp4", tmp_path / "关节.png", lambda _: None)
    assert (tmp_path / "关节.png").stat().st_size > 0


def test_an_episode_of_one_row_is_a_film_of_one_frame(foreign: Path, tmp_path: Path) -> None:
    film = preview_of(SplitReader(foreign), 1, {})
    write_preview(film, tmp_path / "a.mp4", tmp_path / "a.png", lambda _: None)
    assert film.times_s == (0.0,)
    assert {path.name for path in tmp_path.iterdir()} == {"a.mp4", "a.png"}


def test_without_an_action_the_state_is_shown_and_without_both_nothing(copied: Path) -> None:
    change_features(copied, lambda features: features.pop("action"))
    (bars,) = panels_of(SplitReader(copied), 0)
    assert isinstance(bars, Bars)
    assert bars.title == "observation.state (there is no action)"
    change_features(copied, lambda features: features.pop("observation.state"))
    assert panels_of(SplitReader(copied), 0) == []
    assert sum(1 for _ in preview_of(SplitReader(copied), 0, {}).frames) == 7


def test_the_names_of_our_sticks_get_sticks_wherever_they_stand(copied: Path) -> None:
    names = [*WIDE.names]
    names[7], names[3], names[200], names[0], names[5] = "move_x", "move_y", "height", "yaw", "gripper"

    def rename(features: dict[str, Any]) -> None:
        features["action"]["names"] = names

    change_features(copied, rename)
    move, turn, gripper = panels_of(SplitReader(copied), 0)
    assert isinstance(move, Stick)
    assert isinstance(turn, Stick)
    assert isinstance(gripper, Gripper)
    np.testing.assert_array_equal(move.values, [[7, 3]] * 7)
    np.testing.assert_array_equal(turn.values, [[0, 200]] * 7)
    assert move.at(0) == (78 + 54, 92 - 54)  # beyond 1 it stays at the rim
    np.testing.assert_array_equal(gripper.measured, [0.25] * 7)


def test_values_that_are_no_numbers_and_ranges_of_nothing_are_drawn() -> None:
    values: npt.NDArray[np.float64] = np.array([[np.nan, 5, 0.5], [np.inf, 5, 1]])
    bars = Bars("action", ("a", "b", "c"), values, np.array([0.0, 5, 0]), np.array([1.0, 5, 1]))
    for panel in (bars, Stick(("x", "y"), values[:, :2]), Gripper(values[:, 0], values[:, 2])):
        for row in range(2):
            strip = np.zeros((178, panel.width, 3), np.uint8)
            panel.draw_still(strip)
            panel.draw(strip, row)
            assert strip.any()


def test_a_split_without_cameras_is_refused(copied: Path) -> None:
    def drop(features: dict[str, Any]) -> None:
        for name in [name for name in features if name.startswith("observation.images.")]:
            del features[name]

    change_features(copied, drop)
    with pytest.raises(Refused, match="cameras: found none"):
        preview_of(SplitReader(copied), 0, {})


def test_a_video_that_ends_early_is_said_and_leaves_nothing(copied: Path, foreign: Path, tmp_path: Path) -> None:
    (copied / "videos").unlink()
    for file in foreign.glob("videos/*/*/*.mp4"):
        target = copied / file.relative_to(foreign)
        target.parent.mkdir(parents=True)
        target.write_bytes(file.read_bytes())
    video = next((copied / "videos/observation.images.scene_left").glob("*/*.mp4"))
    other = next((copied / "videos/observation.images.gripper_right_top").glob("*/*.mp4"))
    import av

    with av.open(str(other)) as source, av.open(str(video), "w") as target_file:
        stream = target_file.add_stream_from_template(source.streams.video[0])
        for number, packet in enumerate(source.demux(video=0)):
            if packet.dts is not None and number < 4:
                packet.stream = stream
                target_file.mux(packet)
    out = tmp_path / "out"
    out.mkdir()
    film = preview_of(SplitReader(copied), 0, {})
    with pytest.raises(VideoError, match="4 pictures of episode 0"):
        write_preview(film, out / "a.mp4", out / "a.png", lambda _: None)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [None, "{", "[]", "[" * 100_000, '{"action": {"min": "x", "max": [[1], [2, 3]]}}', '{"action": {"min": 1e999}}'],
)
def test_statistics_only_scale_the_bars_and_may_be_odd_or_missing(text: str | None, copied: Path) -> None:
    path = copied / "meta/stats.json"
    path.unlink() if text is None else path.write_text(text)
    (bars,) = panels_of(SplitReader(copied), 0)
    assert isinstance(bars, Bars)
    np.testing.assert_array_equal(bars.low, np.arange(12.0))  # the episode's own, which is constant
    np.testing.assert_array_equal(bars.high, np.arange(12.0))


def test_a_feature_of_others_that_is_called_as_our_cubes_is_no_cubes(copied: Path) -> None:
    def rename(features: dict[str, Any]) -> None:
        features["observation.objects.cube"] = {"dtype": "float32", "shape": [4], "names": None}

    change_features(copied, rename)
    assert cubes_of(SplitReader(copied), 0, {"scene": "scene_left"}) is None


def test_a_film_grows_elsewhere_so_that_a_killed_one_leaves_nothing(foreign: Path, tmp_path: Path) -> None:
    there = list[list[Path]]()
    film = preview_of(SplitReader(foreign), 0, {})
    write_preview(film, tmp_path / "a.mp4", tmp_path / "a.png", lambda _: there.append(list(tmp_path.iterdir())))
    assert there == [[]] * 7


def test_a_film_that_is_not_whole_or_a_full_disk_is_said_in_one_line(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video, sheet = tmp_path / "a.mp4", tmp_path / "a.png"
    whole = preview_of(SplitReader(foreign), 0, {})
    with pytest.raises(OSError, match="the film cannot be written") as raised:
        write_preview(replace(whole, frames=islice(whole.frames, 3)), video, sheet, lambda _: None)
    assert raised.value.errno is None
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    whole = preview_of(SplitReader(foreign), 0, {})
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_preview(replace(whole, frames=islice(whole.frames, 3)), video, sheet, lambda _: None)
    assert raised.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []
