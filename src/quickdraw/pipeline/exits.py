"""How a command of ours ends: its exit codes, and the one word of an interruption. Loaded first: it imports nothing."""

from __future__ import annotations

import sys

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def interrupted_in_a_word() -> None:
    """From now on a Ctrl-C that nothing catches is a word on stderr: while modules load it is nobody's error."""
    sys.excepthook = lambda kind, *told: (
        sys.stderr.write("interrupted\n") if kind is KeyboardInterrupt else sys.__excepthook__(kind, *told)
    )


def stdout_given_up() -> None:
    """Nothing more goes to a stdout that is full: what is left for it would fail once more as the process ends."""
    import os

    if sys.stdout is not None:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError:  # it is no file
            return
