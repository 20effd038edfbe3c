"""Ctrl-C while it has to wait, sent to a process of two threads: either may be the one it arrives in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from quickdraw.pipeline.interrupts import interrupts_deferred, interrupts_held

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


@pytest.fixture
def another_thread() -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    yield
    ended.set()
    thread.join()


def interrupted(block: Callable[[], AbstractContextManager[None]], steps: list[str]) -> None:
    with block():
        os.kill(os.getpid(), signal.SIGINT)
        steps.append("sent")
        time.sleep(0.1)
        steps.append("still in the block")


@pytest.mark.usefixtures("another_thread")
@pytest.mark.parametrize("block", [interrupts_held, interrupts_deferred])
def test_it_arrives_after_the_block_whichever_thread_takes_it(
    block: Callable[[], AbstractContextManager[None]],
) -> None:
    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(block, steps)
    assert steps == ["sent", "still in the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_process_started_while_it_is_held_never_gets_it() -> None:
    command = [sys.executable, "-c", BLOCKED]
    with interrupts_held():
        inside = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    outside = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (inside.stdout, outside.stdout) == ("True\n", "False\n")
