"""Readers at work while a recorder is: no file is ever torn. Witness: plain json and pyarrow, ffmpeg's binary."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import imageio_ffmpeg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.pooled.reader import Task

SCRIPT = Path(__file__).with_name("hammering_recorder.py")
SECONDS, READERS = 6.0, 2


def read(path: Path, seen: Counter[str]) -> None:
    """A file as it is opened at this moment; FileNotFoundError where it went."""
    content = path.read_bytes()
    seen[path.suffix] += 1
    if path.suffix == ".parquet":
        table = pq.read_table(pa.BufferReader(content))
        assert set(table["episode_index"].to_pylist()) == {int(path.stem[-3:]) + 1}
        if "data" in path.parts:
            cells = {value for row in table["observation.right_glove"].to_pylist() for value in row}
            assert len(cells) == 1
            assert int(cells.pop()) == int(path.stem[-3:]) + 1
            assert table["frame_index"].to_pylist() == list(range(len(table)))
    elif path.suffix == ".json":
        document = json.loads(content)
        assert document
        if path.name == "stats.json":
            assert document["observation.right_glove"]["count"] >= 4
    elif path.suffix == ".jsonl":
        assert json.loads(content)["task"] == "pick"


def hammer(task: Path, until: float, seen: Counter[str]) -> None:
    while time.monotonic() < until:
        for path in list(task.rglob("*.*")):
            if path.name.startswith("."):
                continue
            try:
                read(path, seen)
            except FileNotFoundError:
                continue  # renamed over or removed since it was listed: never half there


def watch(task: Path, until: float, seen: Counter[str]) -> None:
    """Videos by ffmpeg, each copied as it is at one moment."""
    while time.monotonic() < until:
        for path in list((task / "videos").rglob("episode-*.mp4")):
            command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-xerror", "-i", "pipe:0", "-f", "rawvideo", "-"]
            found = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True, timeout=60)
            assert len(found.stdout) % (32 * 32 * 3 // 2) == 0
            assert 4 <= len(found.stdout) // (32 * 32 * 3 // 2) <= 6
            seen["watched"] += 1
            time.sleep(0.1)


def use(task: Path, until: float, seen: Counter[str]) -> None:
    """Our own reader, opening the task anew each time."""
    while time.monotonic() < until:
        opened = Task.open(task)
        for number in opened.numbers:
            if (
                opened.episode(number).files.data is None
            ):  # its videos got their names a moment ago, its rows get theirs
                assert number == max(opened.numbers)
                patience = time.monotonic() + 30
                while Task.open(task).episode(number).files.data is None:
                    assert time.monotonic() < patience
                continue
            data = opened.episode(number).data
            assert data.rows in (4, 5, 6)
            assert data.column("observation.right_glove").shape[1] == 256
            seen["used"] += 1


def test_readers_and_a_recorder_hammered_together_never_see_a_torn_file(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout is not None
        for _ in range(2):  # there is something to read
            assert recorder.stdout.readline()
        task, until, seen = tmp_path / "pick", time.monotonic() + SECONDS, Counter[str]()
        with ThreadPoolExecutor(READERS + 2) as pool:
            readers = [pool.submit(hammer, task, until, seen) for _ in range(READERS)]
            readers += [pool.submit(watch, task, until, seen), pool.submit(use, task, until, seen)]
            for each in readers:
                each.result()
        told, _ = recorder.communicate("", timeout=60)
        assert recorder.returncode == 0
    recorded = 2 + len(told.split())
    print(f"{recorded} recordings, read meanwhile: {dict(seen)}")
    assert recorded > 4
    assert min(seen[kind] for kind in (".parquet", ".json", ".jsonl", "watched", "used")) > 0
    stats = json.loads((task / "meta/stats.json").read_text())["observation.right_glove"]
    rows = [pq.read_table(path).num_rows for path in (task / "data").rglob("*.parquet")]
    assert stats["count"] == sum(rows)


def test_two_recorders_that_start_together_never_both_have_the_task(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from quickdraw.errors import Refused\n"
        "from quickdraw.formats.pooled.writer import Recorder, Slot\n"
        "try:\n"
        "    with Recorder(Path(sys.argv[1]), 'pick', slots=[Slot('d', 32, 32)], app_version='1') as recorder:\n"
        "        print('held', recorder.begin(), flush=True); sys.stdin.read()\n"
        "except Refused as error: print('refused', error)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    pair = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outcomes = []
    for each in pair:
        assert each.stdout is not None
        outcomes.append(each.stdout.readline())
    for each in pair:
        each.communicate("", timeout=60)
    assert sorted(line.split()[0] for line in outcomes) == ["held", "refused"]
    assert "a recording or another tool is at work (pid " in "".join(outcomes)


@pytest.mark.long
def test_readers_and_a_recorder_hammered_together_for_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SECONDS", 60.0)
    test_readers_and_a_recorder_hammered_together_never_see_a_torn_file(tmp_path)
