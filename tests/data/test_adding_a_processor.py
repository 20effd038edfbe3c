"""docs/adding_a_processor.md is right: its two files, beside the others, are a processor that the whole house knows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pandas as pd
import pytest

from quickdraw.formats.lerobot.reader import SplitReader

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding_a_processor.md").read_text(encoding="utf-8")
DOOR, COMMAND = ("-m", "quickdraw.data.processors"), ("-c", "from quickdraw.cli.main import app; app()")
TAKES = {"monday/a": 30, "monday/b": 24, "tuesday/a": 40, "tuesday/b": 20, "held-out/a": 20}
STEP_S = 1 / 20  # of the table; rows are 30 a second

# imageio's reader of a video's head leaves the pipes of the ffmpeg it ended unclosed.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")


def code(language: str) -> str:
    """The one block of a language on the page."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(block)


def command(words: str) -> list[str]:
    """The page's command that has these words, on the takes: arguments of Python."""
    (line,) = [line.partition(" #")[0] for line in code("bash").splitlines() if words in line]
    program, *arguments = shlex.split(line.replace("<dir>", "tree"))
    return [*({".venv/bin/quickdraw": COMMAND, ".venv/bin/python": ()}[program]), *arguments]


def table(name: str) -> pd.DataFrame:
    """What a take's table says, in closed form; takes differ."""
    line = np.arange(TAKES[name])
    offset = 100.0 * [*TAKES].index(name)
    return pd.DataFrame({"t_s": 7 + line * STEP_S, "x_mm": offset + line, "y_mm": -2.0 * line, "push": line % 2})


def write_take(tree: Path, name: str) -> None:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table(name).to_csv(path.with_suffix(".csv"), index=False)
    shade = "lum=16+5*N:cb=128:cr=128"  # picture k is as bright as k
    film = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "lavfi", "-i", "color=black:s=128x96:r=20",
               "-vf", f"geq={shade}", "-frames:v", str(TAKES[name]), "-pix_fmt", "yuv420p",
               str(path.with_suffix(".mp4"))]  # fmt: skip
    subprocess.run(film, check=True)


@pytest.fixture(scope="module")
def house(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A copy of the code and its configuration with the page's two files in it, takes, and the dataset of these."""

    def make(folder: Path) -> None:
        for room in ("src", "configs"):
            shutil.copytree(ROOT / room, folder / room)
        (folder / "src/quickdraw/data/csv_takes.py").write_text(code("python"), encoding="utf-8")
        (folder / "configs/processor/csv_takes.yaml").write_text(code("yaml"), encoding="utf-8")
        for name in TAKES:
            write_take(folder / "tree", name)
        built = run(folder, *command("+source.dir="), "source.eval_globs=[held-*]", "source.max_gap_s=0.1")
        assert built.returncode == 0, built.stderr

    return once("added-processor", make)


def run(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy."""
    environment = os.environ | {"PYTHONPATH": str(house / "src")}
    asked = [sys.executable, *arguments]
    return subprocess.run(asked, cwd=house, env=environment, capture_output=True, text=True, timeout=300, check=False)


def dataset(house: Path) -> Path:
    return house / "datasets" / "csv_takes"


def test_the_two_files_are_all_that_was_added(house: Path) -> None:
    before = {path.relative_to(ROOT) for room in ("src", "configs") for path in (ROOT / room).rglob("*.[py]*")}
    after = {path.relative_to(house) for room in ("src", "configs") for path in (house / room).rglob("*.[py]*")}
    added = {str(path) for path in after - before if path.suffix in (".py", ".yaml")}
    assert added == {"src/quickdraw/data/csv_takes.py", "configs/processor/csv_takes.yaml"}


def test_rows_are_the_nearest_lines_of_the_tables(house: Path) -> None:
    """By plain pandas, and what a row is by the definition of nearest."""
    where = {"train": ["monday/a", "monday/b", "tuesday/b"], "val": ["tuesday/a"], "eval_out": ["held-out/a"]}
    for split, names in where.items():
        rows = pd.concat(map(pd.read_parquet, sorted((dataset(house) / split / "data").rglob("*.parquet"))))
        for number, name in enumerate(names):
            told, found = table(name), rows[rows.episode_index == number]
            t_s = np.arange(len(found)) / 30
            assert len(found) == np.ceil((len(told) - 1) * STEP_S * 30 - 1e-9)
            line = np.array([np.argmin(np.round(np.abs(told.t_s - told.t_s[0] - t), 9)) for t in t_s])
            state = np.stack([*found["observation.state"]])
            np.testing.assert_array_equal(state, told[["x_mm", "y_mm"]].to_numpy()[line])
            np.testing.assert_array_equal(found["action"].astype(float), told["push"].to_numpy()[line])
        assert rows.episode_index.nunique() == len(names)


def test_a_row_shows_the_picture_of_its_line(house: Path) -> None:
    split = SplitReader(dataset(house) / "val")
    line = split.array("observation.state")[:, 0] - table("tuesday/a").x_mm[0]
    shade = [float(picture.mean()) for picture in split.pictures(0, "front")]
    np.testing.assert_allclose(shade, line * 5 * 255 / 219, atol=2)
    assert len(shade) == 59


def test_the_dataset_is_verified_against_its_source(house: Path) -> None:
    found = run(house, *command("quickdraw verify"))
    assert found.returncode == 0, found.stdout + found.stderr


def test_inspect_knows_whose_recordings_these_are(house: Path) -> None:
    found = run(house, *command("quickdraw inspect"), "--json")
    document = json.loads(found.stdout)
    assert found.returncode == 0, found.stderr
    assert document["faults"] == []


def test_help_and_refusals_know_it(house: Path) -> None:
    told = run(house, *command("--help")).stdout
    assert "  source.max_gap_s=0.5\n      farthest a row may lie from the nearest line" in told
    wrong = ("source.dir=tree", "source.target_hz=0", "source.max_gap=1", "source.lerobot_stats=all")
    refused = run(house, *DOOR, "+processor=csv_takes", *wrong)
    assert refused.returncode == 2
    mistakes = (
        "source.target_hz: found 0",
        "source.max_gap (did you mean source.max_gap_s",
        "found all, expected train",
    )
    for said in mistakes:
        assert said in refused.stderr
    other = run(house, *DOOR, "+processor=block_stack", "source.dir=tree")
    assert other.returncode == 2
    assert "+processor=csv_takes" in other.stderr
