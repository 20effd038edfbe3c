"""A dataset that is already built, as what changes in it sees it: its splits and the documents beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot.reader import SplitReader, splits_of
from quickdraw.pipeline.places import NORMALIZATION, PROVENANCE, SUMMARY
from quickdraw.pipeline.trace import read_provenance


@dataclass(frozen=True, slots=True)
class BuiltDataset:
    """Splits by name, and the documents beside them: None where there is none, as beside splits that others built."""

    root: Path
    splits: Mapping[str, SplitReader]
    normalization: Mapping[str, Any] | None
    summary: Mapping[str, Any] | None
    provenance: Mapping[str, Any] | None


def read_built(root: Path) -> BuiltDataset:
    """The dataset at `root`, all that need not be decoded. Raises Refused with everything that cannot be read."""
    faults = list[Fault]()
    splits = splits_of(root)
    for split in splits.values():
        faults += _faults_of(split)
    documents = dict[str, Mapping[str, Any] | None]()
    for name in (NORMALIZATION, SUMMARY, PROVENANCE):
        try:
            documents[name] = _document(root, name)
        except Refused as refused:
            faults += refused.faults
    faults += _malformed(root, documents.get(SUMMARY) or {}, documents.get(PROVENANCE) or {})
    if faults:
        raise Refused(faults)
    return BuiltDataset(root, splits, documents[NORMALIZATION], documents[SUMMARY], documents[PROVENANCE])


def _faults_of(split: SplitReader) -> list[Fault]:
    """What is wrong with a split's tables."""
    try:
        json.dumps([split.info, split.statistics], allow_nan=False)  # NaN and infinity are not JSON: we write none
        promised = sum(int(episode["length"]) for episode in split.episodes)
        spans = sum(int(e["dataset_to_index"]) - int(e["dataset_from_index"]) for e in split.episodes)
        if not promised == spans == split.rows:
            expected = f"{promised}, the length of its episodes"
            return [Fault(split.root.name, "rows", str(split.rows), expected, path=str(split.root / "data"))]
    except Refused as refused:
        return list(refused.faults)
    except (LookupError, TypeError, ValueError) as error:
        return [
            Fault(split.root.name, "episodes", f"unreadable ({error!r})", "LeRobot's columns", path=str(split.root))
        ]
    return []


def _document(root: Path, name: str) -> Mapping[str, Any] | None:
    path = root / name
    if not path.exists():
        return None
    try:
        document = read_provenance(root) if name == PROVENANCE else dict(json.loads(path.read_bytes()))
        json.dumps(document, allow_nan=False)
        return document
    except (OSError, ValueError, TypeError) as error:
        raise Refused([Fault(name, "document", f"unreadable ({error})", "a JSON object", path=str(path))]) from error


def _malformed(root: Path, summary: Mapping[str, Any], provenance: Mapping[str, Any]) -> list[Fault]:
    """Parts of the documents that are not of the kind we would have written."""
    config, episodes = provenance.get("config", {}), provenance.get("episodes", [])
    traced = isinstance(episodes, list) and all(
        isinstance(e, dict)
        and isinstance(e.get("split"), str)
        and type(e.get("episode_index")) is int
        and (
            "fragments" not in e or (isinstance(e["fragments"], dict) and isinstance(e["fragments"].get("clips"), dict))
        )
        for e in episodes
    )
    checks = [
        (SUMMARY, "normalization_stats", isinstance(summary.get("normalization_stats", {}), dict), "an object"),
        (PROVENANCE, "config", isinstance(config, dict), "an object"),
        (PROVENANCE, "features", isinstance(provenance.get("features", {}), dict), "an object"),
        (PROVENANCE, "episodes", traced, "a list of objects with split and episode_index, clips in their fragments"),
    ]
    return [
        Fault(str(root), field, "something else", expected, path=str(root / name))
        for name, field, right, expected in checks
        if not right
    ]
