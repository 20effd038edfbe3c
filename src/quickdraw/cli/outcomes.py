"""How a command ends: done, refused, failed or interrupted, in words and as an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


@contextmanager
def exit_codes(*, overrides: bool = False, consequence: str = "nothing was published") -> Iterator[None]:
    """Raise typer.Exit where the block is refused, fails or is interrupted, having said why on stderr.

    `overrides` tells whether the command takes a build's options, so that a fault may name the one that accepts it,
    `consequence` what a refusal comes to.
    """
    from dataclasses import replace

    from quickdraw.errors import Fault, Refused, VideoError, WorkerDied
    from quickdraw.pipeline.refusals import show

    try:
        yield
    except Refused as refused:
        faults = refused.faults if overrides else [replace(fault, option="") for fault in refused.faults]
        show(Refused(faults, refused.runs, refused.words), consequence=consequence)
        raise typer.Exit(REFUSED) from None
    except VideoError as error:
        fault = Fault("video", "picture", error.found, error.expected, path=error.path)
        show(Refused([fault]), consequence=consequence)
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (WorkerDied, OSError) as error:
        typer.echo(f"failed: {error}", err=True)
        raise typer.Exit(FAILED) from None
