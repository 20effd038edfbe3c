"""Episodes of minutes and files up to their limit of 1000 s: every row can still be addressed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.core.grid import Grid
from quickdraw.core.split import SplitRule
from quickdraw.errors import RUNS, Words
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import BuildPlan, make_plan
from quickdraw.pipeline.progress import Meter
from quickdraw.pipeline.settings import Settings
from quickdraw.video.encoding import Encoding

# imageio-ffmpeg leaves its pipes to the garbage collector once ffmpeg has ended by itself.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

RATE = 30
SECONDS = (600, 130, 269, 1, 140)  # four make a file of exactly 1000 s; the fifth begins another
CAMERA = "scene_left"
KEY = f"videos/observation.images.{CAMERA}"


@dataclass(frozen=True)
class Lengths:
    """A source of runs that are only as long as their name says [s]."""

    seconds: tuple[int, ...]
    tree: Path = Path("nowhere")
    processor: str = "block_stack"
    version: int = 1
    robot_type: str = "xarm7"
    words: Words = RUNS
    rate_hz: int = RATE
    features: tuple[Any, ...] = ()
    cameras: tuple[str, ...] = (CAMERA,)

    def campaigns(self) -> list[str]:
        return ["campaign3-play"]

    def campaign(self, name: str) -> Any:
        runs = tuple(EpisodeKey(name, f"recording_{seconds:05d}") for seconds in self.seconds)
        return SimpleNamespace(name=name, runs=runs, ignored=(), rejected=(), faults=())

    def planning(self) -> dict[str, Any]:
        return {}

    def notes(self) -> tuple[str, ...]:
        return ()

    def plan(self, key: EpisodeKey) -> EpisodePlan:
        seconds = int(key.run.removeprefix("recording_"))
        return EpisodePlan(key, key.campaign, Grid(0, RATE, seconds * RATE), float(seconds), {}, (), {}, {}, {}, {})


@dataclass
class Silent:
    """Progress nobody sees."""

    lines: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        self.lines.append(line)

    def stage(self, name: str, total: int, unit: str) -> AbstractContextManager[Meter]:
        return nullcontext(SimpleNamespace(advance=lambda amount: None))


def plan_of(*seconds: int) -> BuildPlan:
    settings = Settings(
        name="long",
        source=Lengths(seconds),
        rule=SplitRule(0.1, 2, (), ()),
        encodings={CAMERA: Encoding(144, 192, RATE, crf=18, preset="veryfast", gop=2)},
        cubes=None,
        stats="train",
        max_runs_per_campaign=0,
        output=Path("nowhere"),
        content={},
    )
    return make_plan(settings, Inline(), Silent())[0]


def test_an_episode_beyond_lerobots_float32_clock_is_named_in_the_plan() -> None:
    warnings = plan_of(600, 2048, 2049, 3600).warnings
    assert [warning.split(":")[0] for warning in warnings] == [
        "campaign3-play/recording_02049",
        "campaign3-play/recording_03600",
    ]
    assert all("2048 s" in warning for warning in warnings)


def test_episodes_of_up_to_2048_s_are_not_warned_of() -> None:
    assert plan_of(20, 639, 1000, 2048).warnings == ()


@pytest.fixture(scope="module")
def long_split(synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """19 minutes in two files of one camera, every picture painted."""

    def make(folder: Path) -> None:
        episodes = [synthetic.fake_episode(n, s * RATE, folder / "clips") for n, s in enumerate(SECONDS)]
        synthetic.pack(folder / "split", synthetic.dataset_spec(cameras=(CAMERA,)), episodes)

    return once("long-split", make) / "split"


def table(root: Path, kind: str) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted((root / kind).glob("*/*.parquet"))])


@pytest.mark.long
def test_a_file_is_filled_to_1000_s_and_no_further(long_split: Path) -> None:
    rows = table(long_split, "meta/episodes").to_pylist()
    assert [row[f"{KEY}/file_index"] for row in rows] == [0, 0, 0, 0, 1]
    assert [row[f"{KEY}/from_timestamp"] for row in rows] == [0.0, 600.0, 730.0, 999.0, 0.0]
    assert rows[3][f"{KEY}/to_timestamp"] == 1000.0


@pytest.mark.long
def test_lerobot_decodes_every_row_of_ten_minute_episodes_and_1000_s_files_within_tolerance(
    long_split: Path, synthetic: ModuleType, lerobot: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    data, jobs = table(long_split, "data"), []
    of = data["episode_index"].to_numpy()
    for number, row in enumerate(table(long_split, "meta/episodes").to_pylist()):
        np.save(tmp_path / f"t{number}.npy", data["timestamp"].to_numpy()[of == number])
        chunk, file = row[f"{KEY}/chunk_index"], row[f"{KEY}/file_index"]
        path = long_split / KEY / f"chunk-{chunk:03d}" / f"file-{file:03d}.mp4"
        jobs.append({"path": path, "from_timestamp": row[f"{KEY}/from_timestamp"],
                     "timestamps": tmp_path / f"t{number}.npy", "target": tmp_path / f"p{number}.npy"})  # fmt: skip
    assert lerobot("decode_every_row", {"jobs": jobs}) == {"decoded": [s * RATE for s in SECONDS]}
    for number, seconds in enumerate(SECONDS):
        bits = (np.load(tmp_path / f"p{number}.npy") > 128).astype(np.int64)
        value = bits @ (1 << np.arange(bits.shape[1]))
        np.testing.assert_array_equal(value & 0xFFFF, np.arange(seconds * RATE))
        assert set((value >> 16 & 0xFF).tolist()) == {number}


@pytest.mark.long
def test_the_torch_free_reader_finds_the_last_second_of_a_1000_s_file(long_split: Path, synthetic: ModuleType) -> None:
    from quickdraw.formats.lerobot.reader import SplitReader

    shown = [synthetic.read_paint(rgb) for rgb in SplitReader(long_split).pictures(3, CAMERA)]
    assert shown == [(CAMERA, 3, row) for row in range(RATE)]
