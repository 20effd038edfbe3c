"""The source of pooled episodes from the options of a build, as provenance.json tells them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from quickdraw.data.options import faults_of
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.ranges import recorded_checks
from quickdraw.data.pooled_episodes.settling import of_document
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.data.processor import Told


def pooled_source(options: Told, tree: Path) -> PooledEpisodes:
    """Settled where the options tell what by. Raises msgspec.ValidationError."""
    asked = msgspec.convert(options, PooledOptions)
    faults = faults_of(recorded_checks(asked))
    if faults:
        raise msgspec.ValidationError("; ".join(f"{each.field} {each.found}, not {each.expected}" for each in faults))
    settled = msgspec.convert(options.get("settled"), dict | None)
    return PooledEpisodes(tree, asked, None if settled is None else of_document(settled))
