"""The door: `python -m quickdraw.data.processors +processor=block_stack +source.dir=<tree>`.

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
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickdraw.data.config import USAGE, Command, Config, default_config, help_lines, parse
from quickdraw.data.ranges import range_faults
from quickdraw.errors import COMMAND_LINE, Fault, Refused, WorkerDied
from quickdraw.pipeline.refusals import show

if TYPE_CHECKING:
    from quickdraw.core.cubes import CubeRule
    from quickdraw.pipeline.executors import Executor
    from quickdraw.pipeline.plan import BuildPlan
    from quickdraw.pipeline.settings import Settings

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
LEAVE_OUT = (
    "bad runs are left out, and the others built, with +source.on_bad_run=skip; "
    "a single one, beside what is by default, with +source.exclude_globs=[...,campaign/run]"
)
# Options of `source` that cannot change what is built.
NOT_CONTENT = ("dir", "workers", "val_from", "on_bad_run", "rehash")


def block_stack(config: Config) -> Settings:
    """What `+processor=block_stack` is to do. Raises Refused with every option that is out of its range."""
    from dataclasses import asdict

    from quickdraw.core.split import SplitRule
    from quickdraw.data.sources import source_of
    from quickdraw.pipeline.settings import Settings
    from quickdraw.pipeline.trace import val_runs_of
    from quickdraw.video.encoding import Encoding

    source = config.source
    faults = range_faults(config)
    if faults or source.dir is None:
        raise Refused(faults)
    val_runs = tuple(source.val_runs) if source.val_from is None else val_runs_of(Path(source.val_from))
    height_px, width_px = source.hw
    tree, output = Path(source.dir).absolute(), Path(config.output.dir or f"datasets/{source.name}").resolve()
    if tree.resolve().is_relative_to(output) or output.is_relative_to(tree.resolve()):
        found = f"{output} and the raw tree {tree}, one inside the other"
        raise Refused([Fault(COMMAND_LINE, "output.dir", found, "two folders apart", option="+output.dir=<folder>")])
    return Settings(
        name=source.name,
        source=source_of("block_stack", asdict(source), tree),
        rule=SplitRule(
            val_frac=source.val_frac,
            val_floor=source.val_floor,
            eval_globs=tuple(source.eval_globs),
            exclude_globs=tuple(source.exclude_globs),
            val_runs=val_runs,
        ),
        encoding=Encoding(height_px, width_px, source.target_hz, **asdict(source.video)),
        cubes=_cube_rule(config),
        stats="split" if source.lerobot_stats == "split" else "train",
        max_runs_per_campaign=source.max_runs_per_campaign,
        output=output,
        content=_content(config, val_runs),
        on_bad_run="skip" if source.on_bad_run == "skip" else "refuse",
        rehash=source.rehash,
    )


def _cube_rule(config: Config) -> CubeRule | None:
    """How cubes are measured; None where they are not wanted, or not shown."""
    from quickdraw.core.cubes import CubeRule
    from quickdraw.core.hues import CubeThresholds
    from quickdraw.data.block_stack import CUBE_CAMERAS

    if config.source.objects == "none" or not set(CUBE_CAMERAS) <= set(config.source.cameras):
        return None
    return CubeRule(CUBE_CAMERAS, CubeThresholds(**vars(config.source.cube)))


PROCESSORS = {"block_stack": block_stack}


def _content(config: Config, val_runs: Sequence[str]) -> dict[str, Any]:
    """The options that can change the dataset, val's runs spelled out."""
    from dataclasses import asdict

    options = {name: value for name, value in asdict(config.source).items() if name not in NOT_CONTENT}
    objects = "none" if _cube_rule(config) is None else "cube"
    return options | {"val_runs": list(val_runs), "objects": objects}


def local(config: Config) -> AbstractContextManager[Executor]:
    """`executor=local`: as many processes as asked for, or one per core."""
    from quickdraw.pipeline.executors.local import local_processes

    return local_processes(config.source.workers or len(os.sched_getaffinity(0)))


def inline(config: Config) -> AbstractContextManager[Executor]:
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
        plan = make_plan(settings, executor, progress)
        warnings += [*_glob_warnings(command, plan), *_cubeless(command, settings)]
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


def _glob_warnings(command: Command, plan: BuildPlan) -> Iterator[str]:
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
        yield f"warning: no campaign is held out: none is {' or '.join(rule)} (source.eval_globs)"


def _cubeless(command: Command, settings: Settings) -> Iterator[str]:
    """A warning where cubes are left out because a camera is."""
    from quickdraw.data.block_stack import CUBE_CAMERAS

    if settings.cubes is None and command.config.source.objects == "auto":
        yield f"warning: no observation.objects.cube: it is measured in {' and '.join(CUBE_CAMERAS)}, not both exported"


def main(arguments: Sequence[str]) -> int:
    """The command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name the terminal cannot show must not end a build
    if "--help" in arguments or "-h" in arguments:
        with contextlib.suppress(BrokenPipeError):  # `| head`
            print("\n".join(help_lines()), flush=True)
        return 0
    if not arguments:
        return _say(USAGE, REFUSED)
    try:
        run(parse(arguments))
    except Refused as refused:
        show(refused, [USAGE] if refused.by_command else [LEAVE_OUT] if refused.bad_runs else [])
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


def _say(text: str, code: int) -> int:
    """Last words on stderr, where there is one; the exit code."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interruption like Ctrl-C
    sys.exit(main(sys.argv[1:]))
