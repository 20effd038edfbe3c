"""provenance.json of a dataset that is there, read back: whole, or no more of it than is wanted.

It holds kilobytes of every episode. Read as what is wanted of it, the rest is passed over and never becomes an object.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.places import PROVENANCE


class Placed(msgspec.Struct, frozen=True):
    """In which split an episode is."""

    split: str


class Traced(Placed, frozen=True):
    """Which run it is of, too."""

    campaign: str
    run: str


class Signed(msgspec.Struct, frozen=True):
    """By which build a dataset was written; `quickdraw` is in every provenance.json of ours, whatever its value."""

    quickdraw: Any
    fingerprint: str | None = None


class Listed[E: Placed](Signed, frozen=True, kw_only=True):
    """The same, and its episodes."""

    episodes: tuple[E, ...]


def read_provenance(dataset: Path) -> dict[str, Any]:
    """provenance.json of a dataset we built. Raises Refused where there is none."""
    try:
        document = json.loads((dataset / PROVENANCE).read_bytes())
        if not isinstance(document, dict) or "quickdraw" not in document:
            raise ValueError("not written by quickdraw")
    except (OSError, ValueError) as error:
        raise _refusal(dataset, error) from error
    return document


def read_as[T](dataset: Path, kind: type[T]) -> T:
    """The part of it that `kind` tells. Raises Refused where there is none, or it is of another kind."""
    try:
        return msgspec.json.decode((dataset / PROVENANCE).read_bytes(), type=kind)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise _refusal(dataset, error) from error


def fingerprint_of(dataset: Path) -> str | None:
    """The fingerprint of the build that wrote a dataset, if it has one. Raises Refused where it is none of ours."""
    return read_as(dataset, Signed).fingerprint


def splits_of(dataset: Path) -> set[str]:
    """The splits a dataset was built with. Raises Refused where it is none of ours."""
    return {episode.split for episode in read_as(dataset, Listed[Placed]).episodes}


def val_runs_of(dataset: Path) -> tuple[str, ...]:
    """The val episodes of a built dataset, as `campaign/run`. Raises Refused."""
    read_as(dataset, Signed)
    try:
        runs = tuple(f"{e.campaign}/{e.run}" for e in read_as(dataset, Listed[Traced]).episodes if e.split == "val")
    except Refused:
        runs = ()
    if not runs:
        raise Refused([Fault(COMMAND_LINE, "val_from", f"no val episode in {dataset}", "a dataset with a val split",
                             path=str(dataset / PROVENANCE), option="+source.val_from=<dataset>")])  # fmt: skip
    return runs


def _refusal(dataset: Path, error: Exception) -> Refused:
    path = dataset / PROVENANCE
    found = f"unreadable ({error})"
    return Refused([Fault(str(dataset), PROVENANCE, found, "a dataset built by quickdraw", path=str(path))])
