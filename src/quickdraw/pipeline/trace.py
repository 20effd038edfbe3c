"""provenance.json of a dataset that is there, read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.places import PROVENANCE


def read_provenance(dataset: Path) -> dict[str, Any]:
    """provenance.json of a dataset we built. Raises Refused where there is none."""
    path = dataset / PROVENANCE
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict) or "quickdraw" not in document:
            raise ValueError("not written by quickdraw")
    except (OSError, ValueError) as error:
        fault = Fault(str(dataset), PROVENANCE, f"unreadable ({error})", "a dataset built by quickdraw", path=str(path))
        raise Refused([fault]) from error
    return document


def val_runs_of(dataset: Path) -> tuple[str, ...]:
    """The val episodes of a built dataset, as `campaign/run`. Raises Refused."""
    try:
        episodes = read_provenance(dataset)["episodes"]
        runs = tuple(f"{e['campaign']}/{e['run']}" for e in episodes if e["split"] == "val")
    except (KeyError, TypeError):
        runs = ()
    if not runs:
        raise Refused([Fault(COMMAND_LINE, "val_from", f"no val episode in {dataset}", "a dataset with a val split",
                             path=str(dataset / PROVENANCE), option="+source.val_from=<dataset>")])  # fmt: skip
    return runs
