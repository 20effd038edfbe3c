"""Cubes put into datasets that are linked, spoilt or half-published."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.core.cubes import CUBE, CubeRule
from quickdraw.errors import Refused
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.objects import put_cubes
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify.verify import verify

CAMERAS = ("scene_left", "gripper_right_top")  # those the synthetic splits have


@pytest.fixture
def put(film: Any) -> Callable[[Path], None]:
    def measured(dataset: Path) -> None:
        put_cubes(dataset, CubeRule(CAMERAS, film.thresholds), Inline(), PlainProgress())

    return measured


@pytest.fixture(scope="session")
def plain(film: Any, synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A dataset of two splits of one short episode each."""

    def make(folder: Path) -> None:
        spec = synthetic.dataset_spec(size_px=(film.height, film.width), encoding=film.encoding)
        for split in ("train", "val"):
            episode = synthetic.fake_episode(0, 12, folder / "clips" / split)
            for camera in CAMERAS:
                path = folder / "clips" / split / f"{camera}.mp4"
                episode.clips[camera] = film.take(path, {"red": range(12)}, 12)
            synthetic.pack(folder / "dataset" / split, spec, [episode])

    return once("objects-plain", make) / "dataset"


@pytest.fixture
def dataset(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "dataset"))


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_split_that_is_a_link_is_published_whole(dataset: Path, put: Callable[[Path], None]) -> None:
    (dataset / "val").rename(dataset.with_name("elsewhere"))
    (dataset / "val").symlink_to("../elsewhere")
    (dataset / "note").symlink_to("../elsewhere/meta/info.json")
    before = names(dataset.with_name("elsewhere"))
    (dataset / "dangling").symlink_to("nowhere")
    put(dataset)
    assert (dataset / "dangling").is_symlink()
    assert names(dataset / "val") == before
    assert CUBE.name in SplitReader(dataset / "val").info["features"]
    assert CUBE.name not in SplitReader(dataset.with_name("elsewhere")).info["features"]
    assert json.loads((dataset / "note").read_text())["codebase_version"] == "v3.0"


def test_a_dataset_that_an_interrupted_publishing_left_aside_is_found(
    dataset: Path, put: Callable[[Path], None]
) -> None:
    dataset.rename(dataset.with_name(".dataset.retired"))
    put(dataset)
    assert CUBE.name in SplitReader(dataset / "train").info["features"]
    assert [path.name for path in dataset.parent.iterdir()] == ["dataset"]


def test_provenance_of_splits_that_are_gone_stays(dataset: Path, put: Callable[[Path], None]) -> None:
    told = [{"split": "gone", "episode_index": 0, "run": "a"}, {"split": "val", "episode_index": 0, "run": "b"}]
    (dataset / "provenance.json").write_text(json.dumps({"quickdraw": "0.0.1", "episodes": told}))
    put(dataset)
    after = json.loads((dataset / "provenance.json").read_text())
    assert after["episodes"][0] == told[0]
    assert after["episodes"][1]["cubes"]["scene"]["visible_share"]["red"] == 1.0
    assert after["palette"] == {"val": ["red"]}
    assert after["quickdraw"] == "0.0.1"
    assert set(after["cubes_measured_with"]) == {"quickdraw", "packages"}


def test_rows_that_are_not_numbered_in_order_are_refused(dataset: Path, put: Callable[[Path], None]) -> None:
    (path,) = (dataset / "val/data").glob("*/*.parquet")
    table = pq.read_table(path)
    backwards = pa.array(np.asarray(table["index"])[::-1])
    pq.write_table(table.set_column(table.column_names.index("index"), "index", backwards), path)
    before = names(dataset)
    with pytest.raises(Refused, match="index: found not 0 to 11 in row order"):
        put(dataset)
    assert names(dataset) == before


def no_statistics(dataset: Path) -> str:
    (dataset / "val/meta/stats.json").unlink()
    return r"stats\.json: found unreadable"


def torn_rows(dataset: Path) -> str:
    (path,) = (dataset / "val/data").glob("*/*.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    return "data files: found unreadable"


def missing_rows(dataset: Path) -> str:
    (path,) = (dataset / "val/data").glob("*/*.parquet")
    path.unlink()
    return "rows: found 0, expected 12"


def torn_summary(dataset: Path) -> str:
    (dataset / "summary.json").write_text("{")
    return r"summary\.json: document: found unreadable"


def no_columns(dataset: Path) -> str:
    (path,) = (dataset / "val/meta/episodes").glob("*/*.parquet")
    path.write_bytes(next((dataset / "val/data").glob("*/*.parquet")).read_bytes())
    return "episodes: found unreadable"


def a_link_that_leads_back(dataset: Path) -> str:
    (dataset / "train" / "self").symlink_to("..")
    return "link: found .*self to "


def listed_features(dataset: Path) -> str:
    path = dataset / "val/meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"features": []}))
    return r"info\.json: found unreadable"


def endless_statistics(dataset: Path) -> str:
    path = dataset / "val/meta/stats.json"
    path.write_text(path.read_text().replace("0.0", "Infinity", 1))
    return "unreadable .*not JSON compliant"


def no_config(dataset: Path) -> str:
    (dataset / "provenance.json").write_text('{"quickdraw": "1", "config": null, "episodes": null, "features": []}')
    return "(?s)config: found.*features: found.*episodes: found"


def no_shape(dataset: Path) -> str:
    path = dataset / "val/meta/info.json"
    info = json.loads(path.read_text())
    del info["features"]["observation.images.scene_left"]["shape"]
    path.write_text(json.dumps(info))
    return r"scene_left\.shape: found nothing"


def picture_first(dataset: Path) -> str:
    path = dataset / "val/meta/info.json"
    info = json.loads(path.read_text())
    info["features"]["observation.images.scene_left"]["shape"] = [3, 144, 192]
    path.write_text(json.dumps(info))
    return r"shape: found \[\[3, 144, 192\]"


@pytest.mark.parametrize(
    "spoil",
    [
        a_link_that_leads_back,
        endless_statistics,
        no_config,
        no_shape,
        no_statistics,
        torn_rows,
        missing_rows,
        torn_summary,
        no_columns,
        listed_features,
        picture_first,
    ],
)
def test_what_cannot_be_read_is_refused_before_a_picture_is_decoded(
    spoil: Callable[[Path], str], dataset: Path, put: Callable[[Path], None]
) -> None:
    expected, before = spoil(dataset), names(dataset)
    for video in dataset.rglob("*.mp4"):
        video.write_bytes(b"no video")  # would be refused for itself, were it opened
    with pytest.raises(Refused, match=expected):
        put(dataset)
    assert names(dataset) == before
    assert [path.name for path in dataset.parent.iterdir()] == ["dataset"]


def test_a_camera_of_depth_is_left_alone(film: Any, synthetic: ModuleType, tmp_path: Path) -> None:
    size_px = synthetic.HEIGHT_PX, synthetic.WIDTH_PX
    cameras = (*CAMERAS, synthetic.DEPTH_CAMERA)
    spec = synthetic.dataset_spec(size_px=size_px, cameras=cameras)
    for split in ("train", "val"):
        episode = synthetic.fake_episode(0, 12, tmp_path / "clips" / split)
        synthetic.pack(tmp_path / "dataset" / split, spec, [episode])
    depth = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.glob("dataset/*/videos/*depth*/*/*")}
    put_cubes(tmp_path / "dataset", CubeRule(CAMERAS, film.thresholds), Inline(), PlainProgress())
    assert depth
    assert all((tmp_path / path).read_bytes() == content for path, content in depth.items())
    assert verify(tmp_path / "dataset", Inline(), PlainProgress()).findings == ()
    with pytest.raises(Refused, match=r"shape: found .*\[48, 64, 1\].*expected \[height, width, 3\]"):
        put_cubes(tmp_path / "dataset", CubeRule((CAMERAS[0], synthetic.DEPTH_CAMERA), film.thresholds), Inline(),
                  PlainProgress())  # fmt: skip
