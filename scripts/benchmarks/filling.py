"""Very many runs out of a few: films hard-linked, streams and stamps moved in time, so that none is recorded twice.

Only what a build reads is there: `xarm_command` and `tick` are left out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from quickdraw.sim.run import write_json

STREAMS = ("controller", "arm_state", "commanded")
SHIFT_S = 1000  # from one round of copies to the next
TIME = re.compile(rb'^\{"t":([0-9.e+-]+)', re.MULTILINE)
WALL_TIMES = ("started_unix", "wall_start_unix", "wall_end_unix")


def fill(originals: Sequence[Path], runs: int) -> None:
    """Add copies of run folders, in turn and beside each, until there are so many in all."""
    for number in range(len(originals), runs):
        original = originals[number % len(originals)]
        shift_s = SHIFT_S * (number // len(originals))
        _copy(original, original.with_name(f"{original.name}_{number:05d}"), shift_s)


def _copy(original: Path, target: Path, shift_s: int) -> None:
    """A run `shift_s` later."""
    for folder in ("raw", "video"):
        (target / folder).mkdir(parents=True)
    for stream in STREAMS:
        rows = (original / "raw" / f"{stream}.jsonl").read_bytes()
        (target / "raw" / f"{stream}.jsonl").write_bytes(TIME.sub(lambda row: _later(row, shift_s), rows))
    for file in (original / "video").iterdir():
        if file.suffix == ".mp4":
            os.link(file, target / "video" / file.name)
        else:
            sidecar = json.loads(file.read_bytes())
            times = [round(t_s + shift_s, 6) for t_s in sidecar["t"]]
            write_json(target / "video" / file.name, sidecar | {"t": times})
    told = json.loads((original / "run.json").read_bytes())
    write_json(target / "run.json", told | {name: told[name] + shift_s for name in WALL_TIMES}, indent=2)


def _later(row: re.Match[bytes], shift_s: int) -> bytes:
    return b'{"t":%r' % round(float(row[1]) + shift_s, 6)
