"""The ways of filming: what the pipeline asks of each, and that each films its own kind of source."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.core.depth import CONTRACT, LEROBOT
from quickdraw.core.episode import DepthPlan, FramePlan
from quickdraw.errors import InvariantError
from quickdraw.video.copying import Copying
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.encoding import Encoding
from quickdraw.video.filming import Filming, film

type Tools = Any

SMALL = Encoding(height_px=48, width_px=80, rate_hz=30, crf=18, preset="veryfast", gop=2)
DEPTH = DepthEncoding(48, 80, 30, 5)
COPY = Copying(96, 160, 30, "h264", "yuv420p", 10)
LOG = Copying(48, 80, 30, "hevc", "gray12le", 10, CONTRACT)


@pytest.mark.parametrize("filming", [SMALL, DEPTH, COPY, LOG], ids=["encoding", "depth", "copying", "log depth"])
def test_every_way_tells_the_pipeline_the_same_things(filming: Filming) -> None:
    info, is_depth = filming.info(), filming.channels == 1
    assert filming.picture_px == filming.height_px * filming.width_px
    assert (info["video.height"], info["video.width"]) == (filming.height_px, filming.width_px)
    assert (info["video.fps"], info["video.channels"]) == (filming.rate_hz, filming.channels)
    assert info["is_depth_map"] is is_depth
    assert filming.levels.shape == ((4096,) if is_depth else (256,))
    assert (filming.levels[-1] > 4000) is np.bool_(is_depth)
    assert 0 < filming.picture_bytes < 12 * filming.picture_px
    assert json.loads(json.dumps([asdict(filming), info])) == [asdict(filming), info]


def test_a_coarser_picture_is_thought_smaller() -> None:
    halved = Encoding(height_px=48, width_px=80, rate_hz=30, crf=23, preset="veryfast", gop=2)
    assert SMALL.picture_bytes == pytest.approx(2 * halved.picture_bytes)


def test_each_kind_of_plan_is_filmed_its_own_way(tmp_path: Path, hundred: Callable[[], Path], tools: Tools) -> None:
    plan = FramePlan(hundred(), np.arange(10, 30), 100)
    assert film(plan, tmp_path / "encoded.mp4", SMALL) == 0
    assert film(plan, tmp_path / "copied.mp4", COPY) == 0
    for name, height, width in (("encoded", 48, 80), ("copied", 96, 160)):
        assert tools.read_numbers(tools.decode(tmp_path / f"{name}.mp4", height, width)) == list(range(10, 30))
    far_mm = np.full((2, 48, 80), 10_001, np.uint16)
    depth = DepthPlan(Path("depth.mkv"), np.array([-1, 0, 1, 1]), 2, lambda: iter(far_mm))
    assert film(depth, tmp_path / "depth.mp4", DEPTH) == 3 * 48 * 80


def test_depth_is_not_filmed_as_colour(tmp_path: Path) -> None:
    plan = DepthPlan(Path("depth.mkv"), np.zeros(1, np.int64), 1, lambda: iter(LEROBOT.codes(np.zeros((1, 1), "u2"))))
    with pytest.raises(InvariantError, match="DepthPlan cannot be filmed by Encoding"):
        film(plan, tmp_path / "clip.mp4", SMALL)
