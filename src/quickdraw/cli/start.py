"""Where the `quickdraw` command begins: all it needs is loaded where Ctrl-C already ends it in one word."""

from __future__ import annotations

import sys

from quickdraw.pipeline.exits import FAILED, interrupted_in_a_word, stdout_given_up


def start() -> None:
    """The command, whole; it exits."""
    interrupted_in_a_word()
    from quickdraw.cli.main import app

    try:
        app(prog_name="quickdraw")
    except OSError as error:  # of what is printed: the others are told where they arise
        sys.stderr.write(f"failed: stdout: {error.strerror}\n")
        stdout_given_up()
        sys.exit(FAILED)


if __name__ == "__main__":
    start()
