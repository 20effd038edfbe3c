"""Moments in which an interruption has to wait."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Ctrl-C and SIGTERM take effect after the block, whichever thread they arrive in. For the main thread."""
    arrived: list[int] = []
    before = {
        number: signal.signal(number, lambda arriving, _frame: arrived.append(arriving))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for missed in arrived:
        signal.raise_signal(missed)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """The same, and Ctrl-C never arrives in a process that is started inside the block."""
    with interrupts_deferred():  # a mask alone holds it for this thread, and another one would take it
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
