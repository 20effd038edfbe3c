"""The door: `python -m quickdraw.data.processors +processor=<name> +source.dir=<tree>`.

Configuration comes in, a dataset goes out, and the exit code says which of the four it was: 0 done; 2 the input or the
command is refused, nothing touched; 1 a failure of ours; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from quickdraw.data.builds import block_stack, pooled_episodes
from quickdraw.data.config import Command, default_config, named_processor, parse
from quickdraw.data.help_text import USAGE, help_lines
from quickdraw.data.options import BlockStackSource, Config
from quickdraw.errors import COMMAND_LINE, Fault, Refused, WorkerDied
from quickdraw.pipeline.refusals import show

if TYPE_CHECKING:
    from quickdraw.pipeline.executors import Executor
    from quickdraw.pipeline.plan import BuildPlan
    from quickdraw.pipeline.settings import Settings

__all__ = ["EXECUTORS", "PROCESSORS", "block_stack", "main", "pooled_episodes", "run"]

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
PROCESSORS: dict[str, Callable[[Config[Any]], Settings]] = {
    "block_stack": block_stack,
    "pooled_episodes": pooled_episodes,
}


def local(config: Config[Any]) -> AbstractContextManager[Executor]:
    """`executor=local`: as many processes as asked for, or one per core."""
    from quickdraw.pipeline.executors.local import local_processes

    return local_processes(config.source.workers or len(os.sched_getaffinity(0)))


def inline(config: Config[Any]) -> AbstractContextManager[Executor]:
    """`executor=inline`: this process alone. Raises Refused where others are asked for."""
    from quickdraw.pipeline.executors.inline import Inline

    workers = config.source.workers
    if workers is not None:
        found, expected = f"{workers} with executor=inline", "executor=local, or no number of workers"
        raise Refused([Fault(COMMAND_LINE, "source.workers", found, expected, option="+executor=local")])
    return contextlib.nullcontext(Inline())


EXECUTORS = {"local": local, "inline": inline}


def run(command: Command) -> None:
    """Plan, and unless it is a dry run, build."""
    settings = PROCESSORS[command.processor](command.config)
    from quickdraw.pipeline.build import build
    from quickdraw.pipeline.describe import describe
    from quickdraw.pipeline.plan import make_plan
    from quickdraw.pipeline.progress import for_this_output
    from quickdraw.pipeline.publish import refuse_unfit

    refuse_unfit(settings.output)
    progress, warnings = for_this_output(), list[str]()
    with EXECUTORS[command.executor](command.config) as executor:
        plan, settings = make_plan(settings, executor, progress)
        warnings += [*_glob_warnings(command, plan, settings), *_cubeless(command, settings)]
        for line in (*describe(plan, settings), *warnings):
            progress.note(line)
        if command.config.dry_run:
            done = "dry run: nothing was touched"
        else:
            what = "dataset" if build(plan, settings, executor, progress) else "up to date"
            done = f"{what}: {settings.output}"
            for warning in warnings:  # once more, where the eye ends up
                progress.note(warning)
    progress.note(done)


def _glob_warnings(command: Command, plan: BuildPlan, settings: Settings) -> Iterator[str]:
    """A warning for each glob the user typed that matches nothing, and where nothing is held out.

    A slip there mixes held-out data into train.
    """
    from quickdraw.core.split import POOL

    names = [*plan.campaigns, *plan.left_out]
    for option in ("eval_globs", "exclude_globs"):
        if f"source.{option}" in command.given:
            defaults = getattr(default_config(command.processor).source, option)
            for glob in getattr(command.config.source, option):
                if glob not in defaults and not any(fnmatchcase(name, glob) for name in names):
                    yield f"warning: source.{option}: {glob} matches nothing"
    rule = command.config.source.eval_globs
    if rule and not any(split not in (POOL, None) for split in plan.campaigns.values()):
        yield f"warning: no {settings.source.words.group} is held out: none is {' or '.join(rule)} (source.eval_globs)"


def _cubeless(command: Command, settings: Settings) -> Iterator[str]:
    """A warning where a block_stack's cubes are left out because a camera is."""
    from quickdraw.data.block_stack import CUBE_CAMERAS

    source = command.config.source
    if isinstance(source, BlockStackSource) and settings.cubes is None and source.objects == "auto":
        yield f"warning: no observation.objects.cube: it is measured in {' and '.join(CUBE_CAMERAS)}, not both exported"


def main(arguments: Sequence[str]) -> int:
    """The command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name the terminal cannot show must not end a build
    if "--help" in arguments or "-h" in arguments:
        with contextlib.suppress(BrokenPipeError):  # `| head`
            print("\n".join(help_lines(named_processor(arguments))), flush=True)
        return 0
    if not arguments:
        return _say(USAGE, REFUSED)
    try:
        run(parse(arguments))
    except Refused as refused:
        show(refused, _advice(refused))
        return REFUSED
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except WorkerDied as error:
        return _say(f"failed: {error}", FAILED)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return _say(f"failed: {error}", FAILED)
    return 0


def _advice(refused: Refused) -> Iterator[str]:
    """What to do about a refusal, where there is more to say than its faults do."""
    if refused.by_command:
        yield USAGE
    if refused.bad_runs:
        words = refused.words
        yield (
            f"bad {words.many} are left out, and the others built, with +source.on_bad_run=skip; "
            f"a single one, beside what is by default, with +source.exclude_globs=[...,{words.example}]"
        )


def _say(text: str, code: int) -> int:
    """Last words on stderr, where there is one; the exit code."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interruption like Ctrl-C
    sys.exit(main(sys.argv[1:]))
