"""Contact sheets of cubes: as many frames as promised, marks where the rows say, nothing for what has no cubes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from quickdraw.data.block_stack_options import CUBE_CAMERAS
from quickdraw.errors import Refused
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.sheets.cube_sheet import COLUMNS, ENLARGED, LABEL_PX, MARK_RGB, cube_sheet
from quickdraw.video.decoding import as_rgb, pictures

CUBE = "observation.objects.cube"


def sheets(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from quickdraw.cli.main import app; app()", "cube-sheets", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_command_writes_a_picture_a_split_with_marks_where_the_rows_say(
    sample_dataset: Path, tmp_path: Path
) -> None:
    result = sheets(str(sample_dataset), str(tmp_path / "new" / "sheets"), "--episodes", "1")
    assert (result.returncode, result.stderr) == (0, "")
    paths = [Path(line) for line in result.stdout.splitlines()]
    assert [path.name for path in paths] == [
        f"cubes_{split}.png" for split in ("eval_purple_play", "eval_purple_stack", "train", "val")
    ]
    height, width = LABEL_PX + 144 * ENLARGED, 192 * ENLARGED
    drawn = []
    for path in paths:
        bgr = cv2.imread(str(path))
        assert bgr is not None
        assert bgr.shape == (2 * height, COLUMNS * width, 3)
        drawn.append(bgr[..., ::-1])
    red = SplitReader(sample_dataset / "val").array(CUBE, 0).reshape(-1, 4, 2, 4)[0, 0, 0]
    assert red[3] > 0  # the first row of the first episode shows the red cube to the scene camera
    x, y = round(float(red[0]) * width), LABEL_PX + round(float(red[1]) * 144 * ENLARGED)
    np.testing.assert_array_equal(drawn[-1][y, x], MARK_RGB["red"])
    bare = as_rgb(next(iter(pictures(sample_dataset / "media/scene_right/val/ep_0000.mp4"))))
    enlarged = cv2.resize(bare, (width, 144 * ENLARGED), interpolation=cv2.INTER_CUBIC).astype(int)
    table = slice(200, 144 * ENLARGED)  # its lower part, where no cube is
    assert np.abs(drawn[-1][LABEL_PX:height, :width][table] - enlarged[table]).mean() < 2


@pytest.mark.parametrize("what", ["no dataset", "a file in the way"])
def test_what_cannot_be_drawn_is_refused(what: str, sample_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    dataset, folder = (tmp_path, tmp_path / "out") if what == "no dataset" else (sample_dataset, tmp_path / "taken")
    result = sheets(str(dataset), str(folder), "--episodes", "1")
    assert result.returncode == 2
    assert "refused: " in result.stderr
    assert "Traceback" not in result.stderr


def test_a_split_without_cubes_is_refused(sample_dataset: Path, tmp_path: Path) -> None:
    split = Path(shutil.copytree(sample_dataset / "val", tmp_path / "val"))
    info = json.loads((split / "meta/info.json").read_text())
    del info["features"][CUBE]
    (split / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(Refused, match=f"feature: found {CUBE}"):
        cube_sheet(SplitReader(split), CUBE_CAMERAS)
