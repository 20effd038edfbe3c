"""What was built: the splits, the cameras, the disk it takes, and all that it was made with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from quickdraw.formats.lerobot.depth import is_depth
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.inventory import files_of, read_inventory
from quickdraw.report.head import duration
from quickdraw.report.parts import Cell, Column, Part, Section, Table, Words
from quickdraw.report.sections.cells import amount, count, percent, table
from quickdraw.report.subject import Subject, Trace

MB = 1e6
LONGEST = 400  # of a value of the configuration, in characters
PLACES = {
    "data": "rows", "videos": "videos", "meta": "metadata", "media": "a clip an episode and camera",
    "measured": "measurements", "fingerprints": "fingerprints",
}  # fmt: skip
DOCUMENTS = "documents"


def built_section(subject: Subject) -> Section | None:
    """Of every dataset."""
    trace = subject.trace
    parts: list[Part] = [_splits(subject), *_cameras(subject), _disk(subject)]
    if trace is None:
        parts.append(Words("It holds no provenance.json: with what, and from what, it was built cannot be told."))
    else:
        parts += [_made_with(trace), _configuration(trace)]
    return Section("built", "What was built", _lead(subject), tuple(parts))


def _lead(subject: Subject) -> str:
    readers = subject.splits.values()
    episodes, rows = sum(len(reader.episodes) for reader in readers), sum(reader.rows for reader in readers)
    seconds = sum(reader.rows / reader.rate_hz for reader in readers)
    plural = "" if episodes == 1 else "s"
    return f"{episodes:,} episode{plural}, {rows:,} rows, {duration(seconds)}, in {', '.join(subject.splits)}."


def _splits(subject: Subject) -> Table:
    total = sum(reader.rows for reader in subject.splits.values())
    columns = (
        Column("split"),
        Column("episodes", numeric=True),
        Column("rows", numeric=True),
        Column("share of rows", "%", numeric=True),
        Column("duration", numeric=True),
        Column("rate", "Hz", numeric=True),
        Column("tasks", numeric=True),
    )
    rows = [
        (
            Cell(name),
            count(len(reader.episodes)),
            count(reader.rows),
            percent(reader.rows / total if total else None),
            Cell(duration(reader.rows / reader.rate_hz), reader.rows / reader.rate_hz),
            count(reader.rate_hz),
            count(len(reader.tasks)),
        )
        for name, reader in subject.splits.items()
    ]
    return table("splits", "Each split is a LeRobot v3.0 dataset of its own.", columns, rows)


def _cameras(subject: Subject) -> Iterator[Table]:
    """Of all splits, those that differ on lines of their own."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, reader in subject.splits.items():
        for camera in reader.cameras:
            found.setdefault(_camera(reader, camera), []).append(name)
    if found:
        columns = [Column(name) for name in ("camera", "shows", "picture", "codec", "pixels", "encoder", "splits")]
        rows = [
            (*map(Cell, told), Cell("all" if len(names) == len(subject.splits) else ", ".join(names)))
            for told, names in found.items()
        ]
        yield table("cameras", "Pictures are width x height; one is stored for every row.", columns, rows)


def _camera(reader: SplitReader, camera: str) -> tuple[str, ...]:
    """What info.json says of a camera, as cells show it."""
    feature = reader.info["features"][f"observation.images.{camera}"]
    info, (height, width) = feature.get("info") or {}, tuple(feature["shape"])[:2]
    names = {"video.g": "keyframe every", "video.crf": "crf", "video.preset": "preset"}
    encoder = ", ".join(f"{text} {info[key]}" for key, text in names.items() if info.get(key) is not None)
    codec, pixels = (str(info.get(key) or "–") for key in ("video.codec", "video.pix_fmt"))
    shows = "depth" if is_depth(info) else "colour"
    return camera, shows, f"{width} x {height}", codec, pixels, encoder or "–"


def _disk(subject: Subject) -> Table:
    """By what is held; the views themselves are left out."""
    sizes, files, root = Counter[str](), Counter[str](), subject.root
    listed = read_inventory(root)
    known = {name: digest.bytes for name, digest in listed.items()} or {
        name: (root / name).stat().st_size for name in files_of(root)
    }
    for name, size in known.items():
        top, *rest = name.split("/")
        folder = rest[0] if top in subject.splits and rest else top
        kind = PLACES.get(folder, DOCUMENTS)
        sizes[kind] += size
        files[kind] += 1
    rows = [(Cell(kind), count(files[kind]), amount(size / MB, 2)) for kind, size in sizes.most_common()]
    rows.append((Cell("all"), count(sum(files.values())), amount(sum(sizes.values()) / MB, 2)))
    caption = "Bytes of the files, without this page and the card. A clip is in media/ and in its split's videos."
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
