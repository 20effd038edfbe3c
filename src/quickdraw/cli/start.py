"""Where the `quickdraw` command begins: all it needs is loaded where Ctrl-C already ends it in one word."""

from __future__ import annotations

import sys


def start() -> None:
    """The command, whole; it exits."""
    sys.excepthook = lambda kind, *told: (
        sys.stderr.write("interrupted\n") if kind is KeyboardInterrupt else sys.__excepthook__(kind, *told)
    )
    from quickdraw.cli.main import app

    app(prog_name="quickdraw")


if __name__ == "__main__":
    start()
