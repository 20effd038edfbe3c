"""Records in a loop until its standard input ends: new episodes, and ones again. A script, run by a test.

hammering_recorder.py RECORDINGS: episode N's k-th recording has N + k / 1000 in every cell of its glove, and
4 + k % 3 rows.
"""

from __future__ import annotations

import select
import sys
from pathlib import Path

import numpy as np

from quickdraw.formats.pooled.writer import Recorder, Slot


def main(recordings: Path) -> None:
    recorded = 0
    with Recorder(recordings, "pick", slots=[Slot("rgb", 32, 32)], app_version="1") as recorder:
        while not select.select([sys.stdin], [], [], 0)[0]:
            again = recorded % 4 != 0
            number = recorder.begin(
                1 + recorded % 3 if again and recorded > 12 else None, again=again and recorded > 12
            )
            for k in range(4 + recorded % 3):
                recorder.add_glove("right_glove", np.full(256, number + recorded / 1000))
                picture = np.full((32, 32, 3), 10 * k, np.uint8)
                recorder.add_frame({"rgb": picture}, hardware_ns=k + 1, wall_time=1.79e9 + k)
            recorder.end()
            recorded += 1
            print(recorded, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
