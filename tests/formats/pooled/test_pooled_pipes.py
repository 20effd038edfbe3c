"""A named pipe in place of any file of a task: every tool, the reader and the recorder end, and wait for nobody."""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.errors import Refused
from quickdraw.formats.pooled.documents import read_regular
from quickdraw.formats.pooled.reader import Task
from quickdraw.formats.pooled.writer import Recorder

TWO = ("--episode", "2")
TOOLS: tuple[tuple[str, ...], ...] = (
    ("info",), ("check", "--deep"), ("show", *TWO, "--out", "{out}/x.png"), ("pack", *TWO, "--out", "{out}"),
    ("align", *TWO, "--which", "matrix"), ("align", *TWO, "--which", "force"), ("repair-scale", "--apply"),
    ("split-episodes", "--apply"), ("recalc-stats", "--apply"), ("delete", *TWO, "--with-row", "--apply"),
)  # fmt: skip
PIPES = [
    "meta/info.json", "meta/stats.json", "meta/tasks.jsonl", "meta/recycled_episode.json", "meta/.finishing.json",
    "meta/.finishing.json.tmp", "meta/.stats.json.tmp", "meta/.info.json.tmp", "meta/.recorder.lock",
    "meta/episodes/.lock", "meta/episodes/chunk-000/episode-001.parquet", "meta/episodes/chunk-000/file-000.parquet",
    "data/chunk-000/episode-001.parquet", "data/chunk-000/.episode-001.parquet.tmp",
    "videos/chunk-000/cam/episode-001.mp4", "videos/chunk-000/depth/episode-001.mkv",
]  # fmt: skip
PATIENCE_S = 60


class Hung(BaseException):
    """What no tool catches."""


@pytest.fixture(autouse=True)
def awake() -> Iterator[None]:
    """Hung, where a test waits for long; where not even that helps, the end of the process and where it waited."""

    def wake(number: int, frame: FrameType | None) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(PATIENCE_S)
    faulthandler.dump_traceback_later(2 * PATIENCE_S, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("place", PIPES)
def test_a_pipe_in_place_of_a_file_holds_no_tool_up(tiny: Any, tmp_path: Path, place: str) -> None:
    path = tiny.root / place
    path.unlink(missing_ok=True)
    for name, *arguments in TOOLS:
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tiny.root, copy)
        os.mkfifo(copy / place)
        told = [each.format(out=tmp_path) for each in arguments]
        result = CliRunner().invoke(app, ["pooled", name, str(copy), *told])
        assert isinstance(result.exception, SystemExit | None), (name, result.exception)
        assert result.exit_code in ((2,) if place == "meta/info.json" else (0, 1, 2)), name
    os.mkfifo(path)
    read(tiny.root)
    refused = place in ("meta/info.json", "meta/.finishing.json", "meta/.recorder.lock")
    assert (record(tiny.root) == 2) is not refused


def read(root: Path) -> None:
    try:
        for episode in Task.open(root).episodes():
            _ = episode.row, episode.data.rows, list(episode.slots())
            list(episode.matrices("observation.gripper_left_force_matrix"))
    except Refused:
        pass


def record(root: Path) -> int:
    """How many episodes could be recorded, of two."""
    done = 0
    try:
        with Recorder(root.parent, root.name, slots=[], app_version="1") as made:
            for _ in range(2):
                made.begin()
                made.add_frame({}, hardware_ns=1, wall_time=1.79e9)
                made.end()
                done += 1
    except Refused:
        pass
    return done


def test_what_is_read_is_a_regular_file_or_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"whole")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file") == read_regular(tmp_path / "link") == b"whole"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "linked pipe").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    held = len([*Path("/proc/self/fd").iterdir()])
    for name in ("pipe", "linked pipe", "folder", "loop", "nothing"):
        with pytest.raises(OSError, match=r"no regular file|directory|symbolic links"):
            read_regular(tmp_path / name)
    with pytest.raises(OSError, match="no regular file"):
        read_regular(Path("/dev/null"))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match=r"s'$"):
            read_regular(tmp_path / "s")
    assert len([*Path("/proc/self/fd").iterdir()]) == held, "each was closed again"
