"""Depth through the torch-free reader: in millimetres, row by row, beside what was painted."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from av.video.stream import VideoStream

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.lerobot.depth import depth_levels, odd_depth
from quickdraw.formats.lerobot.reader import SplitReader

LENGTHS = (31, 7, 40, 11, 62)
CAMERA = "wrist_depth"


@pytest.fixture(scope="module")
def split(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five episodes of colour and depth, several files of each."""
    from quickdraw.formats.lerobot.schema import Limits

    folder = tmp_path_factory.mktemp("depth")
    spec = synthetic.dataset_spec(Limits(video_s=3), cameras=("scene_left", CAMERA))
    episodes = [synthetic.fake_episode(n, length, folder / "clips") for n, length in enumerate(LENGTHS)]
    synthetic.pack(folder / "split", spec, episodes)
    return folder / "split"


def file_of(split: Path) -> Path:
    return split / f"videos/observation.images.{CAMERA}/chunk-000/file-000.mp4"


def off_mm(found: npt.NDArray[np.uint16], painted: npt.NDArray[np.uint16]) -> npt.NDArray[np.int64]:
    return np.abs(found.astype(np.int64) - painted.astype(np.int64))


def test_every_rows_depth_is_what_was_painted_zeros_included(split: Path, synthetic: ModuleType) -> None:
    reader = SplitReader(split)
    assert len(list(file_of(split).parent.iterdir())) > 1
    for episode, length in enumerate(LENGTHS):
        shown = list(reader.depth(episode, CAMERA))
        assert len(shown) == length
        for row, found in enumerate(shown):
            painted = synthetic.paint_depth(episode, row)
            assert (found.dtype, found.shape) == (np.uint16, painted.shape)
            assert (found[painted == 0] == 0).all()
            assert (found[painted > 10_000] == 10_000).all()
            assert off_mm(found, painted)[painted < 1_000].max() <= 1
            assert off_mm(found, painted)[painted <= 10_000].max() <= 2


def test_one_picture_may_be_taken_alone(split: Path, synthetic: ModuleType) -> None:
    shown = SplitReader(split).depth(4, CAMERA)
    assert off_mm(next(shown), synthetic.paint_depth(4, 0)).ravel()[:-1].max() <= 2
    shown.close()


def test_pictures_of_a_depth_camera_are_refused_by_name_and_so_is_the_depth_of_colour(split: Path) -> None:
    reader = SplitReader(split)
    assert reader.cameras == ("scene_left", CAMERA)
    with pytest.raises(Refused, match=r"camera: found wrist_depth, of depth, expected one of colour; depth\(2, 'wrist"):
        next(reader.pictures(2, CAMERA))
    with pytest.raises(Refused, match="depth camera: found scene_left, expected one of wrist_depth"):
        next(reader.depth(2, "scene_left"))
    with pytest.raises(Refused, match="episode: found 9, expected one of range"):
        next(reader.depth(9, CAMERA))
    assert next(reader.pictures(2, "scene_left")).shape == (48, 64, 3)


def test_a_file_that_ends_before_its_episode_is_an_error(split: Path) -> None:
    reader = SplitReader(split)
    reader.episodes[-1] = reader.episodes[-1] | {"length": LENGTHS[-1] + 5}
    with pytest.raises(VideoError, match=f"{LENGTHS[-1]} pictures of episode 4"):
        list(reader.depth(4, CAMERA))


def test_depth_that_others_stored_in_another_order_than_it_is_shown_in_is_read_in_order(
    split: Path, synthetic: ModuleType, tmp_path: Path
) -> None:
    """As x265 does by default: B-frames refer to later pictures, which are stored before them."""
    scale = synthetic.DEPTH_ENCODING.scale
    root = Path(shutil.copytree(split, tmp_path / "split"))
    path = file_of(root)
    lengths = [row["length"] for row in SplitReader(root).episodes]
    held = [
        n
        for n, row in enumerate(SplitReader(root).episodes)
        if not row[f"videos/observation.images.{CAMERA}/file_index"]
    ]
    frames = [scale.codes(synthetic.paint_depth(n, row)) for n in held for row in range(lengths[n])]
    path.unlink()
    with av.open(str(path), "w", format="mp4") as container:
        options = {"preset": "medium", "x265-params": "lossless=1:bframes=4:b-adapt=0:log-level=none", "g": "250"}
        stream = container.add_stream("libx265", rate=30, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "gray12le"
        for number, codes in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(codes), format="gray12le")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with av.open(str(path)) as container:
        stored = [packet.pts for packet in container.demux(video=0) if packet.size]
    assert stored != sorted(stored)
    for episode in held:
        shown = list(SplitReader(root).depth(episode, CAMERA))
        assert len(shown) == LENGTHS[episode]
        for row, found in enumerate(shown):
            assert off_mm(found, synthetic.paint_depth(episode, row)).ravel()[:-1].max() <= 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"video.depth_min": None}, "video.depth_min None, expected a number of metres"),
        ({"video.depth_max": 10**400}, "video.depth_max 1000000"),
        ({"video.depth_max": 0.0}, "depth from 0.0 to 0.0 m, expected a range within 0 to 65.535 m"),
        ({"video.shift": 0}, "a sum above 0, which has a logarithm"),
        ({"video.shift": True}, "video.shift True"),
        ({"video.use_log": 1}, "video.use_log 1, expected true or false"),
        ({"depth_unit": "feet"}, "depth_unit 'feet', expected mm or m"),
    ],
)
def test_a_scale_that_cannot_be_is_refused_with_what_is_wrong(
    change: dict[str, Any], told: str, split: Path, tmp_path: Path
) -> None:
    info = json.loads((split / "meta/info.json").read_text())
    about = info["features"][f"observation.images.{CAMERA}"]["info"]
    assert list(odd_depth(about)) == []
    about |= change
    assert [told in f"{found}, expected {expected}" for found, expected in odd_depth(about)] == [True]
    with pytest.raises(ValueError, match="expected"):
        depth_levels(about)
    root = Path(shutil.copytree(split, tmp_path / "split"))
    (root / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(Refused, match="expected"):
        next(SplitReader(root).depth(0, CAMERA))


def test_levels_are_those_of_lerobots_formula_on_either_scale() -> None:
    """Within a millimetre: that they are lerobot's own to the millimetre is shown where its code runs."""
    about = {"is_depth_map": True, "video.depth_min": 0.1, "video.depth_max": 5, "video.shift": 0.5,
             "video.use_log": True, "depth_unit": "mm"}  # fmt: skip
    low, high = math.log(0.6), math.log(5.5)
    expected = [1000 * (math.exp(low + code * (high - low) / 4095) - 0.5) for code in range(4096)]
    assert np.abs(depth_levels(about) - expected).max() <= 0.51
    about["video.use_log"] = False
    expected = [100 + code * 4900 / 4095 for code in range(4096)]
    assert np.abs(depth_levels(about) - expected).max() <= 0.5 + 1e-9


def test_reading_depth_imports_neither_torch_nor_lerobot(split: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from quickdraw.formats.lerobot.reader import SplitReader\n"
        f"print(next(SplitReader(Path({str(split)!r})).depth(1, {CAMERA!r})).shape)\n"
        "print([m for m in ('torch', 'lerobot', 'datasets', 'torchvision') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["(48, 64)", "[]"]
