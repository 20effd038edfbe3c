"""Recordings that are killed: each in a process of its own, at its n-th step, for every n. A script, run by a test.

killed_recorder.py BASE OUTPUT end|again|abort: for n = 0, 1, ... the task in BASE is copied to OUTPUT/n, and a recorder
there is killed at step n of its end or abort. Prints how many steps there are; the last copy was not killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.formats.pooled.writer import Recorder, Slot
from quickdraw.video.encoders import RGB
from quickdraw.video.self_test import self_test

CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "published")


def changes(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event (PEP 578) is a change of the disk by Python: a file opened to be written counts too."""
    if event != "open":
        return event in CHANGES
    return isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def record(recordings: Path, mode: str, at: int) -> None:
    with Recorder(recordings, "pick", slots=[Slot("new_rgb", 32, 32)], app_version="1") as recorder:
        recorder.begin(1 if mode == "again" else None, again=mode == "again")
        for k in range(3):
            recorder.add_glove("right_glove", np.full(256, 10.0 + k))
            recorder.add_frame(
                {"new_rgb": np.full((32, 32, 3), 50 * k, np.uint8)}, hardware_ns=1000 + k, wall_time=1.79e9 + k
            )
        steps = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal steps
            if changes(event, arguments):
                if steps == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                steps += 1

        sys.addaudithook(hook)
        if mode == "abort":
            recorder.abort()
        else:
            recorder.end()
        sys.audit("published")
    os._exit(0)


def main(base: Path, output: Path, mode: str) -> None:
    self_test(RGB)  # once, not in every child
    for at in range(200):
        shutil.copytree(base, output / str(at))
        child = os.fork()
        if not child:
            try:
                record(output / str(at), mode, at)
            finally:
                os._exit(3)  # an exception, which the test sees as a copy that was neither killed nor finished
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            continue
        if os.WEXITSTATUS(status) == 0:
            print(at)
            return
        sys.exit(f"step {at}: exit code {os.WEXITSTATUS(status)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
