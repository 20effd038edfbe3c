"""`scripts/bench jsonl`: real rows through our typed reader, and through `json.loads` line by line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.tables import table
from quickdraw.formats.campaign.records import ArmRow, ControllerRow, read_rows
from quickdraw.sim import cameras
from quickdraw.sim.rollout import roll_out
from quickdraw.sim.spec import RunSpec
from quickdraw.sim.streams import write_streams

KINDS: dict[str, type[Any]] = {"controller": ControllerRow, "arm_state": ArmRow}
SAMPLE = Path(__file__).resolve().parents[3] / "shared" / "sample_campaigns"


@dataclass(frozen=True, slots=True)
class Parsed:
    """One stream: how much of it, and how long each reader took for all of it, repeat by repeat [s]."""

    stream: str
    rows: int
    bytes: int
    json_loads_s: list[float]
    read_rows_s: list[float]

    @property
    def ratio(self) -> float:
        """How many times as fast ours is."""
        return median(self.json_loads_s) / median(self.read_rows_s)

    def speed_mb_s(self, seconds: list[float]) -> float:
        """Megabytes a second, the median."""
        return self.bytes / 1e6 / median(seconds)


def measure_jsonl(megabytes: float, repeats: int, folder: Path) -> list[Parsed]:
    """Both streams, the readers in turn, the file in the page cache."""
    return [_parsed(stream, folder, round(megabytes * 1e6), repeats) for stream in KINDS]


def rows_of(stream: str, folder: Path) -> tuple[str, bytes]:
    """Where the rows are from, and the rows: the sample campaigns', or the simulator's where there are none."""
    tree = Path(os.environ.get("QUICKDRAW_SAMPLE", SAMPLE))
    files = sorted(tree.glob(f"*/*/raw/{stream}.jsonl"))
    if files:
        return "sample campaigns", b"".join(_whole_lines(file) for file in files)
    raw = folder / "raw"
    if not raw.exists():
        raw.mkdir()
        spec = RunSpec(seconds=20.0)
        write_streams(raw, spec, roll_out(spec, end_s=cameras.run_end_s(spec)))
    return "simulator", (raw / f"{stream}.jsonl").read_bytes()


def _whole_lines(file: Path) -> bytes:
    content = file.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def _parsed(stream: str, folder: Path, size: int, repeats: int) -> Parsed:
    _, rows = rows_of(stream, folder)
    file = folder / f"{stream}.jsonl"
    file.write_bytes(rows * max(1, size // len(rows)))
    turns: dict[str, list[float]] = {"json": [], "ours": []}
    count = _by_json(file)  # both once, unmeasured
    if count != _by_us(file, stream):
        raise ValueError(f"{file}: {count} rows by json.loads, {_by_us(file, stream)} by read_rows")
    for _ in range(repeats):
        turns["json"].append(_timed(lambda: _by_json(file)))
        turns["ours"].append(_timed(lambda: _by_us(file, stream)))
    return Parsed(stream, count, file.stat().st_size, turns["json"], turns["ours"])


def _by_json(file: Path) -> int:
    with file.open("rb") as lines:
        return len([json.loads(line) for line in lines])


def _by_us(file: Path, stream: str) -> int:
    return len(read_rows(file, stream, KINDS[stream]).rows)


def _timed(read: Callable[[], int]) -> float:
    begun_s = time.perf_counter()
    read()
    return time.perf_counter() - begun_s


def jsonl_tables(parsed: list[Parsed], folder: Path) -> Iterator[Table]:
    """A row a stream."""
    rows = [
        [each.stream, str(each.rows), f"{each.bytes / each.rows:.0f}", f"{each.speed_mb_s(each.json_loads_s):.0f}",
         f"{each.speed_mb_s(each.read_rows_s):.0f}", f"{each.ratio:.2f}"]
        for each in parsed
    ]  # fmt: skip
    origin, _ = rows_of(parsed[0].stream, folder)
    columns = ["stream", "rows", "bytes a row", "json.loads MB/s", "read_rows MB/s", "times as fast"]
    yield table(f"JSONL of {origin}", columns, rows)
