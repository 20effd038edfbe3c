"""What measures, packs and verifies a split needs no more memory for more rows or episodes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "scripts" / "pack_many.py"
MB = 1000  # of the kB the kernel counts in
MOST = 350 * MB  # of a worker; here one process does everything


def peaks_kb(folder: Path, episodes: int, rows: int) -> dict[str, int]:
    """Peak resident memory after each stage, of one process that goes through all of them."""
    command = [sys.executable, str(SCRIPT), str(folder), str(episodes), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {stage: int(peak) for stage, peak in (line.split() for line in done.stdout.splitlines())}


def test_four_times_the_rows_need_hardly_more_memory(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    few, many = (peaks_kb(tmp_path / str(n), n, 900) for n in (100, 400))
    record_property("peak memory [kB] of 90,000 rows, of 360,000", (few, many))
    print(few, many)
    assert max(many.values()) < MOST
    assert max(many.values()) - max(few.values()) < 40 * MB  # one copy of what is more, as float64, is 39 MB


@pytest.mark.long
def test_ten_thousand_episodes_fit_in_a_worker(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    peaks = peaks_kb(tmp_path / "many", 10_000, 30)
    record_property("peak memory [kB] of 10,000 episodes", peaks)
    print(peaks)
    assert max(peaks.values()) < MOST
