"""The door: `python -m quickdraw.data.processors +processor=<name> +source.dir=<tree>`.

Configuration comes in, a dataset goes out, and the exit code says which of the four it was: 0 done; 2 the input or the
command is refused, nothing touched; 1 a failure of ours; 130 interrupted.
"""

from __future__ import annotations

from quickdraw.pipeline.exits import FAILED, INTERRUPTED, REFUSED, interrupted_in_a_word, stdout_given_up

if __name__ == "__main__":  # before what takes a moment to load
    interrupted_in_a_word()

import contextlib
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quickdraw.errors import COMMAND_LINE, Fault, Refused, WorkerDied

if TYPE_CHECKING:
    from quickdraw.data.command_line.composing import Command
    from quickdraw.data.options import Config
    from quickdraw.pipeline.executors import Executor
    from quickdraw.pipeline.outcome import Outcome
    from quickdraw.pipeline.plan import BuildPlan
    from quickdraw.pipeline.progress import Progress
    from quickdraw.pipeline.settings import Settings

QUIET, JSON = "--quiet", "--json"


def block_stack(config: Config[Any]) -> Settings:
    """What `+processor=block_stack` is to do. Raises Refused with every option that is out of its range."""
    from quickdraw.data.building import settings_of

    return settings_of("block_stack", config)


def pooled_episodes(config: Config[Any]) -> Settings:
    """What `+processor=pooled_episodes` is to do. Raises Refused, and where the tree has no task, or no rate."""
    from quickdraw.data.building import settings_of

    return settings_of("pooled_episodes", config)


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


def ray(config: Config[Any]) -> AbstractContextManager[Executor]:
    """`executor=ray`: the nodes of a Ray cluster. Raises Refused where there is none, or a node is not as this one."""
    _refuse_missing("ray", "ray")
    from quickdraw.pipeline.executors.ray_cluster import ray_cluster

    return ray_cluster(**asdict(config.executor), workers=config.source.workers)


def slurm(config: Config[Any]) -> AbstractContextManager[Executor]:
    """`executor=slurm`: array jobs, and processes of this machine for stages of few tasks. Raises Refused."""
    _refuse_missing("slurm", "submitit")
    from quickdraw.data.building import output_folder
    from quickdraw.pipeline.executors.slurm import slurm_jobs
    from quickdraw.pipeline.publish import jobs_folder

    here = config.source.workers or len(os.sched_getaffinity(0))
    return slurm_jobs(folder=jobs_folder(output_folder(config)), **asdict(config.executor), workers=here)


def _refuse_missing(extra: str, package: str) -> None:
    """Raise Refused where an extra is not installed."""
    if find_spec(package) is None:
        found, expected = f"{extra} without {package}", f"the extra; get it by: pip install 'quickdraw[{extra}]'"
        raise Refused([Fault(COMMAND_LINE, "executor", found, expected)])


EXECUTORS = {"local": local, "inline": inline, "ray": ray, "slurm": slurm}


@contextlib.contextmanager
def opened(command: Command, settings: Settings, progress: Progress) -> Iterator[Executor]:
    """The executor that is asked for; all its workers see the tree as this process does. Raises Refused."""
    from quickdraw.pipeline.amounts import counted

    with EXECUTORS[command.executor](command.config) as executor:
        executor.refuse_unseen(settings.source.tree)
        if command.executor in ("ray", "slurm"):
            progress.note(f"executor={command.executor}: up to {counted(executor.workers, 'task')} at once")
        yield executor


def run(command: Command, progress: Progress) -> tuple[Outcome, str]:
    """Plan, and unless it is a dry run, build, and show what came of it.

    What came of it, and why there is no page of it, or nothing: a dataset is published with or without one.
    """
    from quickdraw.data.building import settings_of
    from quickdraw.pipeline.build import build
    from quickdraw.pipeline.describe import describe
    from quickdraw.pipeline.outcome import planned, published, summary
    from quickdraw.pipeline.plan import make_plan
    from quickdraw.pipeline.progress import tell
    from quickdraw.pipeline.publish import refuse_unfit
    from quickdraw.report.views import refresh

    started, settings = time.monotonic(), settings_of(command.processor, command.config)
    refuse_unfit(settings.output)
    with opened(command, settings, progress) as executor:
        plan, settings = make_plan(settings, executor, progress)
        warnings = [*_glob_warnings(command, plan, settings), *_option_warnings(command)]
        tell(progress, (*describe(plan, settings), *(f"warning: {warning}" for warning in warnings)))
        every = (*plan.warnings, *warnings)
        if command.config.dry_run:
            outcome = planned(plan, settings, every, time.monotonic() - started)
            tell(progress, summary(outcome, settings))
            return outcome, ""
        fresh = build(plan, settings, executor, progress)
        try:
            failed = refresh(settings.output, executor, progress, wanted=command.config.report)
        finally:  # whatever becomes of the page, a dataset is there, and its place is the last that is said
            took = time.monotonic() - started
            outcome = published(settings, up_to_date=not fresh, warnings=every, seconds=took)
            again = [f"warning: {warning}" for warning in warnings]  # once more, where the eye ends up
            tell(progress, (*(again if fresh else ()), *summary(outcome, settings)))
    return outcome, failed


def _glob_warnings(command: Command, plan: BuildPlan, settings: Settings) -> Iterator[str]:
    """A warning for each glob the user typed that matches nothing, and where nothing is held out.

    A slip there mixes held-out data into train.
    """
    from quickdraw.core.split import POOL
    from quickdraw.data.command_line.composing import default_config

    names = [*plan.campaigns, *plan.left_out]
    for option in ("eval_globs", "exclude_globs"):
        if f"source.{option}" in command.given:
            defaults = getattr(default_config(command.processor).source, option)
            for glob in getattr(command.config.source, option):
                if glob not in defaults and not any(fnmatchcase(name, glob) for name in names):
                    yield f"source.{option}: {glob} matches nothing"
    rule = command.config.source.eval_globs
    if rule and not any(split not in (POOL, None) for split in plan.campaigns.values()):
        yield f"no {settings.source.words.group} is held out: none is {' or '.join(rule)} (source.eval_globs)"


def _option_warnings(command: Command) -> Iterator[str]:
    """What the processor has to say of options that do not do what one would think."""
    from quickdraw.data.processor import processor

    yield from processor(command.processor).warns(command.config.source)


def main(arguments: Sequence[str]) -> int:
    """The command; its exit code."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a name the terminal cannot show must not end a build
        options = [argument for argument in arguments if argument not in (QUIET, JSON)]
        return _answered(options, quiet=QUIET in arguments, as_json=JSON in arguments)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except OSError as error:  # of what is printed: the others are told where they arise
        stdout_given_up()
        return _say(f"failed: stdout: {error.strerror}", FAILED)


def _answered(options: Sequence[str], *, quiet: bool, as_json: bool) -> int:
    """The command without its flags: what was asked for on stdout, why not on stderr; the exit code."""
    from quickdraw.data.command_line.arguments import named
    from quickdraw.data.command_line.help_text import USAGE, help_lines

    if "--help" in options or "-h" in options:
        with contextlib.suppress(BrokenPipeError):  # `| head`
            print("\n".join(help_lines(named("processor", options), named("executor", options))), flush=True)
        return 0
    if not options:
        return _say(USAGE, REFUSED)
    from quickdraw.data.command_line.composing import parse
    from quickdraw.pipeline.progress import Silence, for_this_output
    from quickdraw.pipeline.refusals import as_document, failure, show

    document: dict[str, Any] = {}
    try:
        outcome, failed = run(parse(options), Silence() if quiet or as_json else for_this_output())
        document = outcome.document() | ({"failed": failed} if failed else {})
        if quiet and not as_json:
            _print(str(outcome.dataset))
        return _say(f"failed: {failed}", FAILED) if failed else 0
    except Refused as refused:
        document = as_document(refused)
        show(refused, _advice(refused))
        return REFUSED
    except KeyboardInterrupt:
        document = {"failed": "interrupted"}
        raise
    except (WorkerDied, OSError) as error:
        document = {"failed": failure(error)}
        return _say(f"failed: {failure(error)}", FAILED)
    finally:
        if as_json and document:
            _print(json.dumps(document, indent=2))


def _advice(refused: Refused) -> Iterator[str]:
    """What to do about a refusal, where there is more to say than its faults do."""
    from quickdraw.data.command_line.help_text import USAGE

    if refused.by_command:
        yield USAGE
    if refused.bad_runs:
        words = refused.words
        yield (
            f"bad {words.many} are left out, and the others built, with +source.on_bad_run=skip; "
            f"a single one, beside what is by default, with +source.exclude_globs=[...,{words.example}]"
        )


def _print(text: str) -> None:
    """What was asked for, on stdout, if there is one and somebody listens."""
    if sys.stdout is not None:
        with contextlib.suppress(BrokenPipeError):
            print(text, flush=True)


def _say(text: str, code: int) -> int:
    """Last words on stderr, where there is one; the exit code."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end is an interruption like Ctrl-C
    sys.exit(main(sys.argv[1:]))
