"""What is seen while something runs: lines on a pipe, bars in a terminal of any width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

from quickdraw.pipeline.amounts import counted, duration, size
from quickdraw.pipeline.progress import PlainProgress, Silence, tell
from quickdraw.pipeline.tables import Table

TABLE = Table.of(("split", "episodes"), [("train", "12"), ("手套, a name", "1"), ("none",)], ("episodes",))
WATCHED = """
import time
from quickdraw.pipeline.progress import for_this_output, tell
from quickdraw.pipeline.tables import Table

progress = for_this_output()
rows = [("campaign3-play", "train 2", "1,312"), ("campaign8-" + "purple-" * 9, "eval", "7")]
tell(progress, [Table.of(("campaign", "split", "frames"), rows, ("frames",))])
with progress.stage("map", 123456, "pictures") as meter:
    meter.advance(61728)
    time.sleep(0.25)
    progress.note("warning: [bold]not markup[/bold] and words that go on and on until the end of the line is near, 2")
    meter.advance(61728)
with progress.stage("verify", 1, "dataset") as meter:
    meter.advance(1)
progress.note("dataset: /data/" + "long-" * 30 + "name")
"""


def screen_of(columns: int) -> tuple[list[str], list[str]]:
    """Every line that was ever on a terminal of that width, and those that are left at the end."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color"}
    env.pop("COLUMNS", None)
    written = bytearray()

    def listen() -> None:
        try:
            while some := os.read(ours, 4096):
                written.extend(some)
        except OSError:  # its other end is closed
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    subprocess.run([sys.executable, "-c", WATCHED], stdin=its, stdout=its, stderr=its, env=env, check=True, timeout=60)
    os.close(its)
    listener.join(10)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[mhl]", "", written.decode())
    ever, lines, row = list[str](), [""], 0
    for part in re.findall(r"\x1b\[\d*[AK]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.endswith("A") and part.startswith("\x1b"):
            row -= int(part[2:-1] or 1)
        elif part.startswith("\x1b"):
            lines[row] = ""
        elif part != "\r":
            lines[row] = part
            ever.append(part)
    return ever, lines


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_bars_with_rate_and_time_left_that_fit_it(columns: int) -> None:
    ever, left = screen_of(columns)
    going = [line for line in ever if "61728/123456 pictures" in line]
    assert going
    assert all(re.search(r"map +━.* 61728/123456 pictures, [\d,]+ pictures/s, \d+ s left$", line) for line in going)
    bars = [line for line in ever if "━" in line]
    assert {len(line) for line in bars} <= {columns - 1, columns}
    (done,) = [line for line in left if line.startswith("map")]
    assert re.search(r"━ 123456/123456 pictures, [\d,]+ pictures/s, 0\.\d s$", done)
    (verified,) = [line for line in left if line.startswith("verify")]
    assert re.search(r"━ 0\.\d s$", verified)
    assert "/s" not in verified


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_rules_tables_breaks_sentences_at_words_and_no_path(columns: int) -> None:
    _, left = screen_of(columns)
    table = left[: next(n for n, line in enumerate(left) if line.startswith("map"))]
    assert table[0].split() == ["campaign", "split", "frames"]
    assert set(table[1].strip()) == {"─"}
    assert table[2].split() == ["campaign3-play", "train", "2", "1,312"]
    assert max(len(line) for line in table) <= columns
    at = next(n for n, line in enumerate(left) if line.startswith("warning: "))
    said = " ".join(line.strip() for line in left[at : at + (2 if columns == 80 else 1)])
    assert said == "warning: [bold]not markup[/bold] and words that go on and on until the end of the line is near, 2"
    assert "dataset: /data/" + "long-" * 30 + "name" in left


def test_a_pipe_gets_aligned_lines_and_the_log_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    progress = PlainProgress()
    tell(progress, ["first", TABLE])
    lines = ["first", "split         episodes", "train               12", "手套, a name         1", "none"]
    assert capsys.readouterr().out.splitlines() == progress.lines == lines


def test_a_stage_on_a_pipe_tells_rate_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    progress = PlainProgress()
    with progress.stage("map", 400, "pictures") as meter:
        for _ in range(4):
            clock[0] += 6
            meter.advance(100)
    with progress.stage("verify", 1, "dataset"):
        clock[0] += 125
    assert capsys.readouterr().out.splitlines() == [
        "map: 100/400 pictures, 17 pictures/s, 18 s left",
        "map: 200/400 pictures, 17 pictures/s, 12 s left",
        "map: 300/400 pictures, 17 pictures/s, 6 s left",
        "map: 400/400 pictures, 17 pictures/s, 24.0 s",
        "verify: 2 min 5 s",
    ]


def test_silence_shows_nothing_and_keeps_everything(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Silence()
    tell(progress, [TABLE, "last"])
    with progress.stage("map", 2, "pictures") as meter:
        meter.advance(2)
    assert progress.lines[:5] == [*TABLE.lines(), "last"]
    assert progress.lines[5].startswith("map: 2/2 pictures, ")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("said", "words"),
    [(counted(1, "episode"), "1 episode"), (counted(0, "fault"), "0 faults"), (counted(12345, "row"), "12,345 rows"),
     (duration(0.04), "0.0 s"), (duration(59.94), "59.9 s"), (duration(59.96), "1 min 0 s"),
     (duration(3599.6), "1 h 0 min"), (duration(3 * 3600 + 725), "3 h 12 min"), (size(0), "0 kB"),
     (size(999_400), "999 kB"), (size(999_600), "1.0 MB"), (size(20_314_000), "20.3 MB"), (size(1.5e12), "1,500.0 GB")],
)  # fmt: skip
def test_amounts_are_said_as_people_say_them(said: str, words: str) -> None:
    assert said == words
