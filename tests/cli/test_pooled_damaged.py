"""Whatever a task's files hold, a tool ends by its exit code: 0, 1 or 2, and never by a traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.sim.pooled import write_recordings
from quickdraw.sim.pooled.spec import EpisodeSpec, MatrixStream, SlotSpec, TaskSpec

ONE = ("--episode", "1")
TOOLS: tuple[tuple[str, ...], ...] = (
    ("info",), ("info", "--json"), ("check", "--deep", "--json"), ("repair-scale",), ("pack", *ONE), ("show", *ONE),
    ("align", *ONE), ("align", *ONE, "--which", "trajectory"), ("align", *ONE, "--which", "force", "--json"),
    ("recalc-stats",), ("split-episodes",), ("delete", *ONE, "--with-row", "--json"),
)  # fmt: skip
OF_VIDEO = [tool for tool in TOOLS if tool[0] in ("pack", "show", "check")]
ODD: list[Any] = [None, True, -1, 10**400, 1e308, float("nan"), "", "\ud800", [[]], [1, "\ud800"], {"": None}]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two takes of 6 frames with all there is; their rows tell no scale, and tables are not compressed."""
    slots = (SlotSpec("rgb"), SlotSpec("depth", "ffv1"), SlotSpec("codes", "log12"))
    episodes = tuple(
        EpisodeSpec(number, 6, slots, gloves=("left_glove",), glove_imus=True, imu_hz=90,
                    matrices=(MatrixStream(),), trajectory_hz=60)
        for number in (1, 2)
    )  # fmt: skip
    root = tmp_path_factory.mktemp("damaged") / "recordings"
    write_recordings(root, tasks=[TaskSpec("small", "cam0", "uvc", episodes)])
    for path in (root / "small").rglob("*.parquet"):
        table = pq.read_table(path)
        if "force_matrix_specs" in table.column_names:
            at, count = table.column_names.index("force_matrix_specs"), len(table)
            table = table.set_column(at, "force_matrix_specs", pa.array(["{}"] * count))
        pq.write_table(table, path, compression="none")
    return root / "small"


@pytest.fixture
def task(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to damage; what tools write goes elsewhere."""
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    return Path(shutil.copytree(sound, tmp_path / "small"))


def crashes(task: Path, tools: list[tuple[str, ...]], what: object) -> list[object]:
    """The tools that end otherwise than by an exit code, with what was damaged."""
    found: list[object] = []
    for name, *arguments in tools:
        result = CliRunner().invoke(app, ["pooled", name, str(task), *arguments])
        if result.exit_code not in (0, 1, 2) or not isinstance(result.exception, SystemExit | None):
            found.append((what, name, arguments, repr(result.exception)))
    return found


def files(task: Path) -> list[Path]:
    return [path for path in sorted(task.rglob("*")) if path.is_file() and path.stat().st_size]


def test_every_tool_does_a_sound_task(task: Path) -> None:
    for name, *arguments in TOOLS:
        assert CliRunner().invoke(app, ["pooled", name, str(task), *arguments]).exit_code == 0, name


def test_a_file_cut_off_or_with_bytes_flipped_ends_no_tool_in_a_traceback(task: Path) -> None:
    draw = random.Random(11)
    found: list[object] = []
    for path in files(task):
        whole = path.read_bytes()
        tools = OF_VIDEO if path.suffix in (".mp4", ".mkv") else list(TOOLS)
        for share in (0.0, 0.5, 0.99):
            path.write_bytes(whole[: int(len(whole) * share)])
            found += crashes(task, [draw.choice(tools)], (path.name, share))
        for _ in range(3):
            flipped = bytearray(whole)
            for _ in range(3):  # the end of a table is where every byte means something
                flipped[draw.randrange(max(0, len(whole) - draw.choice([4000, len(whole)])), len(whole))] ^= 0x85
            path.write_bytes(flipped)
            found += crashes(task, [draw.choice(tools)], path.name)
        path.write_bytes(whole)
    assert found == []


def test_no_value_in_infojson_ends_a_tool_in_a_traceback(task: Path) -> None:
    path = task / "meta/info.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    places: list[tuple[str, ...]] = [(key,) for key in whole]
    places += [(key, inner) for key in ("features", "cameras", "video_extensions") for inner in whole[key]]
    draw, found = random.Random(5), list[object]()
    for place in places:
        for value in ODD if len(place) == 1 else draw.sample(ODD, 1):
            document = json.loads(json.dumps(whole))
            holder = document if len(place) == 1 else document[place[0]]
            holder[place[-1]] = value
            path.write_text(json.dumps(document), encoding="utf-8")
            found += crashes(task, [draw.choice(TOOLS[:2] if len(place) == 1 else TOOLS)], (place, value))
    assert found == []


TEXTS = [b"\xff\xfe", b"[" * 5000, b'{"a": 1e999}', b'{"a": 1' + b"0" * 400 + b"}", b'{"\\ud800": 3}', b'{"a": true}',
         b'{"observation.gripper_left_force_matrix": {"scale": 1' + b"0" * 30 + b"}}"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:12]))
def test_no_text_in_a_row_ends_a_tool_in_a_traceback(task: Path, text: bytes) -> None:
    path = task / "meta/episodes/chunk-000/episode-000.parquet"
    table = pq.read_table(path)
    lengths = pa.py_buffer(b"\0\0\0\0" + len(text).to_bytes(4, "little"))
    cell = pa.StringArray.from_buffers(1, lengths, pa.py_buffer(text))
    for name in ("drop_stats", "video_codec", "calibration", "force_matrix_specs"):
        table = table.set_column(table.column_names.index(name), name, cell)
    pq.write_table(table, path)
    assert crashes(task, list(TOOLS), text) == []


NAMES: list[tuple[str, Callable[[Path], Any]]] = [
    (f"data/chunk-{'9' * 200}/episode-000.parquet", Path.touch),
    (f"data/chunk-000/episode-{'9' * 200}.parquet", Path.touch),
    (f"meta/episodes/chunk-000/episode-{'9' * 200}.parquet", Path.touch),
    ("data/chunk-٣/episode-٣.parquet", Path.touch),
    ("videos/chunk-000/a\nb/episode-000.mp4", Path.touch),
    (os.fsdecode(b"videos/chunk-000/c\xff/episode-000.mp4"), lambda path: path.write_bytes(b"x")),
    ("data/chunk-000/episode-004.parquet", Path.mkdir),
    ("videos/chunk-000/rgb/episode-005.mp4", os.mkfifo),
]


@pytest.mark.parametrize(("name", "make"), NAMES, ids=[ascii(name[:30]) for name, _ in NAMES])
def test_no_name_in_a_task_ends_a_tool_in_a_traceback(task: Path, name: str, make: Callable[[Path], Any]) -> None:
    (task / name).parent.mkdir(parents=True, exist_ok=True)
    make(task / name)
    assert crashes(task, list(TOOLS), name) == []
