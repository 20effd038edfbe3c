"""How a command ends: done, refused, failed or interrupted, in words and as an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from quickdraw.pipeline.exits import FAILED, INTERRUPTED, REFUSED


@contextmanager
def exit_codes(
    *,
    overrides: bool = False,
    consequence: str = "nothing was published",
    as_json: bool = False,
    every: bool = False,
) -> Iterator[None]:
    """Raise typer.Exit where the block is refused, fails or is interrupted, having said why on stderr.

    `overrides` tells whether the command takes a build's options, so that a fault may name the one that accepts it,
    `consequence` what a refusal comes to. With `as_json` a refusal or failure is a document on stdout, too; with
    `every` each fault is told, even where many are of one cause.
    """
    from dataclasses import replace

    from quickdraw.errors import Fault, Refused, VideoError, WorkerDied
    from quickdraw.pipeline.refusals import as_document, failure, show

    try:
        try:
            yield
        except VideoError as error:
            fault = Fault("video", "picture", error.found, error.expected, path=error.path)
            raise Refused([fault]) from None
    except Refused as refused:
        faults = refused.faults if overrides else [replace(fault, option="") for fault in refused.faults]
        told = Refused(faults, refused.runs, refused.words)
        _print_if(as_json, as_document(told))
        show(told, consequence=consequence, every=every)
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (WorkerDied, OSError) as error:
        _print_if(as_json, {"failed": failure(error)})
        typer.echo(f"failed: {failure(error)}", err=True)
        raise typer.Exit(FAILED) from None


def _print_if(as_json: bool, document: Mapping[str, Any]) -> None:
    if as_json:
        typer.echo(json.dumps(document, indent=2))
