"""`scripts/bench <command>`: every measurement is a command, which prints tables and writes all numbers as JSON.

Nothing absolute is asserted: figures of one run are to be compared with each other.
"""

from __future__ import annotations

import sys

import typer

from benchmarks import commands
from benchmarks.codecs import codecs
from benchmarks.measuring import CommandFailed, OtherDataset
from benchmarks.work import OtherOptions

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
app.command("speed")(commands.speed)
app.command("growth")(commands.growth)
app.command("extras")(commands.extras)
app.command("jsonl")(commands.jsonl)
app.command("plan")(commands.plan)
app.command("pooled")(commands.pooled)
app.command("unchanged")(commands.unchanged)
app.command("executor")(commands.executor)
app.command("codecs")(codecs)
# One line a command; a command's own module is imported in it, so that the others start quickly.


def main() -> int:
    """The command; its exit code. `--executor` is the command of that name, too."""
    try:
        app(["executor" if argument == "--executor" else argument for argument in sys.argv[1:]])
    except (CommandFailed, OtherOptions, OtherDataset) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
