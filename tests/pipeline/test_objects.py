"""Cubes put into small datasets: their rows against the clips they were packed from, all else as it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.cubes import CUBE, CubeRule, Track, cube_rows
from quickdraw.core.hues import Peak
from quickdraw.errors import Refused
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.cubes import split_cubes
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.objects import put_cubes
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.tracking import track_file

type Film = Any
Once = Callable[[str, Callable[[Path], None]], Path]

CAMERAS = ("scene_left", "gripper_right_top")  # those the synthetic splits have
# Split -> episodes: rows, and in which of them each camera shows which colour.
EPISODES: dict[str, list[tuple[int, list[dict[str, Iterable[int]]]]]] = {
    "train": [
        (30, [{"red": range(30), "blue": range(12)}, {"red": range(3, 9)}]),
        (12, [{}, {"blue": range(12)}]),
        (16, [{"green": range(11)}, {"green": range(15, 16)}]),
    ],
    "val": [(16, [{"purple": range(2, 14)}, {}]), (14, [{"red": range(12)}, {"red": range(7)}])],
}
PALETTES = {"train": ("red", "green", "blue"), "val": ("red", "purple")}
LOG = "progress.log"


def put(dataset: Path, film: Film, cameras: tuple[str, ...] = CAMERAS) -> dict[str, tuple[str, ...]]:
    """The palettes of `put_cubes`."""
    found = put_cubes(dataset, CubeRule(cameras, film.thresholds), Inline(), PlainProgress())
    return {name: cubes.palette for name, cubes in found.items()}


def digests(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="session")
def source(film: Film, synthetic: ModuleType, once: Once) -> Path:
    """clips/<split>_<episode>_<camera>.mp4, and the dataset packed from them; train's videos are several files."""
    from quickdraw.formats.lerobot.schema import Limits

    def make(folder: Path) -> None:
        size_px = film.height, film.width
        spec = synthetic.dataset_spec(Limits(video_s=1), size_px=size_px, encoding=film.encoding)
        for split, told in EPISODES.items():
            episodes = []
            for number, (rows, shown) in enumerate(told):
                episode = synthetic.fake_episode(number, rows, folder / "clips")
                for camera, colours in zip(CAMERAS, shown, strict=True):
                    path = clip(folder, split, number, camera)
                    episode.clips[camera] = film.take(path, colours, rows)
                episodes.append(episode)
            synthetic.pack(folder / "dataset" / split, spec, episodes)

    return once("objects-source", make)


def clip(source: Path, split: str, number: int, camera: str) -> Path:
    return source / "clips" / f"{split}_{number}_{camera}.mp4"


@pytest.fixture
def dataset(source: Path, tmp_path: Path) -> Path:
    """A copy of its own."""
    return Path(shutil.copytree(source / "dataset", tmp_path / "dataset"))


@pytest.fixture(scope="module")
def done(source: Path, film: Film, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset with cubes."""
    path = tmp_path_factory.mktemp("done") / "dataset"
    shutil.copytree(source / "dataset", path)
    assert put(path, film) == PALETTES
    return path


@pytest.mark.parametrize("split", EPISODES)
def test_every_episodes_rows_are_those_of_its_own_clips_in_its_splits_colours(
    split: str, done: Path, source: Path, film: Film
) -> None:
    reader = SplitReader(done / split)
    assert len(list((done / split / "videos").glob("*scene_left/*/*.mp4"))) == (2 if split == "train" else 1)
    for number, (rows, shown) in enumerate(EPISODES[split]):
        tracks = [track_file(clip(source, split, number, c), [rows], film.thresholds)[0] for c in CAMERAS]
        expected = cube_rows(tracks, PALETTES[split], film.height * film.width)
        found = reader.array(CUBE.name, number)
        np.testing.assert_array_equal(found, expected)
        for view, colours in zip(("scene", "wrist"), shown, strict=True):
            for colour in ("red", "green", "blue", "purple"):
                visible = found[:, CUBE.names.index(f"{colour}_{view}_vis")] > 0
                assert np.flatnonzero(visible).tolist() == list(colours.get(colour, ()))


def test_a_split_keeps_a_colour_that_one_of_its_episodes_never_shows(done: Path) -> None:
    """Red is nowhere in train's second and third episode, and is in train's palette all the same."""
    train = SplitReader(done / "train")
    red = [name.startswith("red") for name in CUBE.names]
    assert [bool(train.array(CUBE.name, number)[:, red].any()) for number in range(3)] == [True, False, False]
    assert train.info["features"][CUBE.name]["names"] == list(CUBE.names)


def test_nothing_but_the_tables_their_metadata_and_the_log_is_new(done: Path, source: Path) -> None:
    before, after = digests(source / "dataset"), digests(done)
    changed = {name for name in after if before.get(name) != after[name]}
    assert {name.partition("/")[2].partition("-")[0] for name in changed - {LOG}} == {
        "meta/info.json", "meta/stats.json", "data/chunk", "meta/episodes/chunk"
    }  # fmt: skip
    assert set(after) - set(before) == {LOG}
    for split in EPISODES:
        one, other = SplitReader(source / "dataset" / split), SplitReader(done / split)
        for name in ("observation.state", "action", "timestamp", "episode_index", "index", "task_index"):
            np.testing.assert_array_equal(one.array(name), other.array(name))


def test_every_splits_statistics_are_those_of_train(done: Path) -> None:
    x = SplitReader(done / "train").array(CUBE.name).astype(np.float64)
    constant = np.ptp(x, axis=0) == 0
    assert constant[CUBE.names.index("purple_scene_cx")]
    for split in EPISODES:
        found = SplitReader(done / split).statistics[CUBE.name]
        np.testing.assert_allclose(found["mean"], x.mean(0), rtol=1e-9)
        np.testing.assert_allclose(found["std"], np.where(constant, 1.0, x.std(0)), rtol=1e-9)
        assert found["count"] == [len(x)]


def test_documents_a_dataset_does_not_have_are_not_made_up(done: Path) -> None:
    assert sorted(path.name for path in done.iterdir()) == [LOG, "train", "val"]
    assert (done / LOG).read_text().startswith("cubes measured ")


def test_a_dataset_made_of_links_to_another_one_leaves_that_one_alone(dataset: Path, film: Film) -> None:
    linked = dataset.with_name("linked")
    shutil.copytree(dataset, linked, copy_function=os.link)
    before = digests(dataset)
    put(linked, film)
    assert digests(dataset) == before
    assert CUBE.name in SplitReader(linked / "train").info["features"]
    assert CUBE.name not in SplitReader(dataset / "train").info["features"]


def test_what_else_lies_in_the_folder_stays_there(dataset: Path, film: Film) -> None:
    (dataset / "README.md").write_text("mine")
    (dataset / "train" / ".hidden").mkdir()
    (dataset / "train" / ".hidden" / "note").write_text("kept")
    (dataset / "empty").mkdir()
    put(dataset, film)
    assert (dataset / "README.md").read_text() == "mine"
    assert (dataset / "train/.hidden/note").read_text() == "kept"
    assert (dataset / "empty").is_dir()


def test_a_dataset_named_by_a_link_is_changed_where_it_lies(dataset: Path, film: Film) -> None:
    link = dataset.with_name("link")
    link.symlink_to("dataset")
    put(link, film)
    assert link.is_symlink()
    assert CUBE.name in SplitReader(dataset / "train").info["features"]


def refused(dataset: Path, film: Film, cameras: tuple[str, ...] = CAMERAS) -> str:
    """What it is refused with, nothing touched and nothing left."""
    before, beside = digests(dataset), sorted(path.name for path in dataset.parent.iterdir())
    with pytest.raises(Refused) as refusal:
        put(dataset, film, cameras)
    assert digests(dataset) == before
    assert sorted(path.name for path in dataset.parent.iterdir()) == beside
    return str(refusal.value)


def test_a_folder_without_splits_is_refused(tmp_path: Path, film: Film) -> None:
    (tmp_path / "folder").mkdir()
    assert "splits: found none, expected a dataset folder, with <split>/meta/info.json" in refused(
        tmp_path / "folder", film
    )


def test_a_split_of_another_version_is_refused(dataset: Path, film: Film) -> None:
    path = dataset / "val/meta/info.json"
    path.write_text(path.read_text().replace('"v3.0"', '"v2.1"'))
    assert "codebase_version: found 'v2.1', expected a LeRobot v3.0 split" in refused(dataset, film)


def test_every_split_without_the_cameras_is_named_with_those_it_has(dataset: Path, film: Film) -> None:
    text = refused(dataset, film, ("scene_right", "gripper_right_top"))
    assert [line.partition(":")[0] for line in text.splitlines()] == ["train", "val"]
    assert "cameras: found scene_left, gripper_right_top, expected scene_right and gripper_right_top" in text


def test_every_file_that_cannot_be_read_is_named(dataset: Path, film: Film) -> None:
    bad = [sorted((dataset / split / "videos").glob(f"*{camera}/*/*.mp4"))[0]
           for split, camera in (("train", CAMERAS[0]), ("val", CAMERAS[1]))]  # fmt: skip
    bad[0].write_bytes(bad[0].read_bytes()[: bad[0].stat().st_size * 6 // 10])
    bad[1].unlink()
    lines = refused(dataset, film).splitlines()
    assert len(lines) == 2
    assert sum(1 for line in lines for path in bad if str(path) in line) == 2
    assert any("expected a decodable picture" in line for line in lines)
    assert any("No such file" in line for line in lines)


def test_a_file_with_fewer_pictures_than_rows_is_refused(dataset: Path, source: Path, film: Film) -> None:
    (path,) = (dataset / "val/videos").glob("*scene_left/*/*.mp4")
    shutil.copy(clip(source, "val", 0, "scene_left"), path)
    assert f"{path}: scene_left: found 16 pictures, expected 30, one per row" in refused(dataset, film)


def test_splits_of_train_alone_and_without_train_have_statistics_they_can_be_divided_by(
    dataset: Path, film: Film
) -> None:
    """Where there is no train, each split's are its own; bounded, for somebody may train on them."""
    shutil.rmtree(dataset / "train")
    assert put(dataset, film) == {"val": PALETTES["val"]}
    found = SplitReader(dataset / "val").statistics[CUBE.name]
    x = SplitReader(dataset / "val").array(CUBE.name).astype(np.float64)
    np.testing.assert_allclose(found["std"], np.where(np.ptp(x, axis=0) == 0, 1.0, x.std(0)), rtol=1e-9)


def test_known_constants_keep_their_other_features(dataset: Path, film: Film) -> None:
    known = {"action": {"mean": [1.0], "std": [2.0]}}
    (dataset / "normalization_stats.json").write_text(json.dumps(known))
    (dataset / "summary.json").write_text(json.dumps({"name": "x", "normalization_stats": known}))
    put(dataset, film)
    constants = json.loads((dataset / "normalization_stats.json").read_text())
    assert list(constants) == ["action", CUBE.name]
    assert constants["action"] == known["action"]
    assert json.loads((dataset / "summary.json").read_text()) == {"name": "x", "normalization_stats": constants}


def large(rows: int, colours: dict[str, int], area_px: float = 60.0, peaks: tuple[str, ...] | None = None) -> Track:
    """A view that shows each colour in so many rows."""
    names = ("red", "green", "blue", "purple")
    sightings: npt.NDArray[np.float32] = np.zeros((rows, 4, 3), np.float32)
    for colour, there in colours.items():
        sightings[:there, names.index(colour)] = (0.5, 0.5, area_px)
    return Track(sightings, {colour: Peak(0, 0.8) for colour in (colours if peaks is None else peaks)})


def test_a_splits_palette_is_what_any_of_its_episodes_is_evidence_for(film: Film) -> None:
    rule = CubeRule(CAMERAS, film.thresholds)
    blind = large(1000, {})
    episodes = [
        [large(1000, {"purple": 20}), blind],
        [blind, blind],  # no cube is ever visible in it
        [blind, large(1000, {"red": 400})],
        [large(1000, {"green": 1000}, area_px=20), large(1000, {"blue": 9})],  # small, and few: strays
        [large(1000, {"green": 500}, peaks=()), blind],  # no hue of its own
    ]
    assert split_cubes(rule, episodes, 144 * 192).palette == ("red", "purple")
    assert split_cubes(rule, episodes[1:2], 144 * 192).palette == ()
    assert split_cubes(rule, episodes, 4 * 144 * 192).palette == ()  # the same pixels are less of a larger picture
    assert split_cubes(rule, episodes[2:], 144 * 192).palette == ("red",)  # another split rule, the same measurements
