"""How the dataset was made: the disk it takes, and all that it was made with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from quickdraw.pipeline.amounts import MB
from quickdraw.report.head import sizes_of
from quickdraw.report.parts import Cell, Column, Part, Section, Table, Words
from quickdraw.report.sections.cells import amount, count, table
from quickdraw.report.subject import Subject, Trace

LONGEST = 400  # of a value of the configuration, in characters
PLACES = {
    "data": "rows", "videos": "videos", "meta": "metadata", "media": "plain clips, in media/",
    "measured": "measurements", "fingerprints": "fingerprints",
}  # fmt: skip
DOCUMENTS = "documents"


def made_section(subject: Subject) -> Section | None:
    """Of every dataset."""
    trace = subject.trace
    parts: list[Part] = [_disk(subject)]
    if trace is None:
        parts.append(Words("It holds no provenance.json: with what, and from what, it was built cannot be told."))
    else:
        parts += [_made_with(trace), _configuration(trace)]
    return Section("made", "How it was made", "What it takes to make the same dataset again.", tuple(parts))


def _disk(subject: Subject) -> Table:
    """By what is held; the views themselves are left out."""
    sizes, files = Counter[str](), Counter[str]()
    for name, size in sizes_of(subject.root).items():
        top, *rest = name.split("/")
        folder = rest[0] if top in subject.splits and rest else top
        kind = PLACES.get(folder, DOCUMENTS)
        sizes[kind] += size
        files[kind] += 1
    rows = [(Cell(kind), count(files[kind]), amount(size / MB, 2)) for kind, size in sizes.most_common()]
    rows.append((Cell("all"), count(sum(files.values())), amount(sum(sizes.values()) / MB, 2)))
    caption = "Disk, without this page and the card. media/ holds every episode's clip again, for people to look at."
    return table("disk", caption, (Column("what"), Column("files", "", True), Column("size", "MB", True)), rows)


def _made_with(trace: Trace) -> Table:
    """Versions and the fingerprint."""
    told = {
        "processor": trace.processor,
        "name": trace.name,
        "fingerprint": trace.fingerprint or "–",
        "quickdraw": str(trace.quickdraw),
        **trace.packages,
    }
    rows = [(Cell(name), Cell(value)) for name, value in told.items()]
    caption = "The same raw files, options and versions give the same bytes; the fingerprint stands for all of them."
    return table("made-with", caption, (Column("made with"), Column("value")), rows)


def _configuration(trace: Trace) -> Table:
    """All options, the defaults too: nothing is hidden."""
    rows = [(Cell(name), Cell(_shortened(value))) for name, value in _flat(trace.config, "")]
    caption = "Every option that can change the dataset, whether it was set or left at its default."
    return table("configuration", caption, (Column("option"), Column("value")), rows)


def _flat(config: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shortened(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters, all in provenance.json)"
