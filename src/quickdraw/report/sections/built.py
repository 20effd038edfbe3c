"""What was built: the splits and the cameras."""

from __future__ import annotations

from collections.abc import Iterator

from quickdraw.formats.lerobot.depth import is_depth
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.amounts import MB, counted, duration
from quickdraw.report.head import sizes_of
from quickdraw.report.parts import Cell, Column, Section, Table
from quickdraw.report.sections.cells import count, percent, table
from quickdraw.report.subject import Subject


def built_section(subject: Subject) -> Section | None:
    """Of every dataset."""
    return Section("built", "What was built", _lead(subject), (_splits(subject), *_cameras(subject)))


def _lead(subject: Subject) -> str:
    readers = subject.splits.values()
    episodes, rows = sum(len(reader.episodes) for reader in readers), sum(reader.rows for reader in readers)
    seconds = sum(reader.rows / reader.rate_hz for reader in readers)
    size = sum(sizes_of(subject.root).values()) / MB
    return (
        f"{counted(episodes, 'episode')}, {counted(rows, 'row')} and {duration(seconds)} of time in {size:,.1f} MB. "
        "Each split is a LeRobot v3.0 dataset of its own."
    )


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
    return table(
        "splits",
        "Tasks are the different instructions that a split holds.",
        columns,
        rows,
    )


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
    feature = reader.info["features"][reader.key(camera)]
    info, (height, width) = feature.get("info") or {}, tuple(feature["shape"])[:2]
    names = {"video.g": "keyframe every", "video.crf": "crf", "video.preset": "preset"}
    encoder = ", ".join(f"{text} {info[key]}" for key, text in names.items() if info.get(key) is not None)
    codec, pixels = (str(info.get(key) or "–") for key in ("video.codec", "video.pix_fmt"))
    shows = "depth" if is_depth(info) else "colour"
    return camera, shows, f"{width} x {height}", codec, pixels, encoder or "–"
