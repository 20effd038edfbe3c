"""info.json against what is there: totals, shapes, names, columns and their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.depth import odd_depth
from quickdraw.formats.lerobot.tables import TableFile, data_types
from quickdraw.pipeline.verify.dataset_view import Described
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Feature, Info
from quickdraw.pipeline.verify.split_view import SplitView

INFO, SCHEMA = "info", "schema"
CHANNELS = ("channel", "channels")


def check_info(split: SplitView, ledger: Ledger) -> None:
    """What info.json says of the whole split, and of each feature."""
    path = split.root / schema.INFO_PATH
    with ledger.checking(INFO, split.name):
        info = split.info
        wrong = [*_of_version(info), *_of_features(info)]
        for found, expected in wrong:
            ledger.fault(INFO, split.name, found=found, expected=expected, path=path)
        ledger.saw(INFO, len(info.features))
    with ledger.checking(INFO, split.name):
        for found, expected in _of_totals(split):
            ledger.fault(INFO, split.name, found=found, expected=expected, path=path)


def _of_version(info: Info) -> Iterator[tuple[str, str]]:
    if info.version != schema.CODEBASE_VERSION:
        yield f"codebase_version {info.version!r}", schema.CODEBASE_VERSION
    for name, dtype in schema.BOOKKEEPING.items():
        feature = info.features.get(name)
        if feature is None or (feature.dtype, feature.shape) != (dtype, (1,)):
            told = "no such feature" if feature is None else f"{feature.dtype} {list(feature.shape)}"
            yield f"{name}: {told}", f"{dtype} [1]"


def _of_features(info: Info) -> Iterator[tuple[str, str]]:
    for name, feature in info.features.items():
        if "/" in name:
            yield f"a feature named {name!r}", "no slash in it: statistics are stored under <feature>/<statistic>"
        if "image" in name and feature.dtype not in ("video", "image"):
            expected = "`image` in no name but a picture's: lerobot tells pictures by it"
            yield f"a {feature.dtype} feature named {name!r}", expected
        if not feature.shape:
            yield f"{name}: shape []", "at least one length"
        elif feature.dtype == "video":
            yield from _of_camera(name, feature)
        elif feature.is_vector and feature.names is not None and len(_flat(feature.names)) != feature.shape[0]:
            yield f"{name}: {len(_flat(feature.names))} names", f"{feature.shape[0]}, one per dimension"


def _of_camera(name: str, feature: Feature) -> Iterator[tuple[str, str]]:
    if len(feature.shape) != 3:
        yield f"{name}: shape {list(feature.shape)}", "[height, width, channels]"
        return
    names = feature.names
    if not isinstance(names, list) or len(names) != 3 or names[2] not in CHANNELS:
        yield f"{name}: names {names}", '["height", "width", "channels"]: lerobot finds the channels by name'
    for axis, key in enumerate(("video.height", "video.width")):
        told = feature.video.get(key, feature.shape[axis])
        if told != feature.shape[axis]:
            yield f"{name}: shape {list(feature.shape)}", f"{key} {told} at {axis}"

    if feature.shape[2] != feature.channels:
        kind = "depth, by is_depth_map" if feature.is_depth else "colour; no is_depth_map says otherwise"
        yield f"{name}: {feature.shape[2]} channels", f"{feature.channels} of {kind}"
    if feature.is_depth:
        yield from ((f"{name}: {found}", expected) for found, expected in odd_depth(feature.video))


def _flat(names: Any) -> list[Any]:
    if isinstance(names, dict):
        return [name for part in names.values() for name in (part if isinstance(part, list) else [part])]
    return list(names)


def _of_totals(split: SplitView) -> Iterator[tuple[str, str]]:
    info = split.info
    episodes, frames, tasks = len(split.entries), split.rows, split.tasks.rows
    if info.episodes != episodes:
        yield f"total_episodes {info.episodes}", f"{episodes}, the rows of meta/episodes"
    if info.frames != frames:
        yield f"total_frames {info.frames}", f"{frames}, the length of all episodes"
    if info.tasks != tasks:
        yield f"total_tasks {info.tasks}", f"{tasks}, the rows of meta/tasks.parquet"
    ends = [span.split(":")[-1] for span in info.splits.values()]
    if not ends or not all(map(str.isdecimal, ends)) or max(map(int, ends)) != episodes:
        yield f"splits {dict(info.splits)}", f'{{"train": "0:{episodes}"}}'


def check_schema(split: SplitView, ledger: Ledger, *, exact: bool) -> None:
    """Columns of the data files, their types and what the file says of them; `exact` where we wrote it."""
    for part in split.data:
        with ledger.checking(SCHEMA, split.name):
            ledger.saw(SCHEMA)
            wrong = _of_table(split.info, part.table, exact=exact)
            lengths = tuple(entry.length for entry in part.entries)
            if exact and part.table.groups != lengths:
                wrong.append((f"row groups of {_few(part.table.groups)} rows", f"one per episode: {_few(lengths)}"))
            for found, expected in wrong:
                ledger.fault(SCHEMA, split.name, found=found, expected=expected, path=part.path)


def _of_table(info: Info, table: TableFile, *, exact: bool) -> list[tuple[str, str]]:
    missing = [name for name in info.columns if name not in table.types]
    undeclared = [name for name in table.types if name not in info.columns]
    wrong = [(f"no column {name}", "a column per feature that is no video") for name in missing]
    wrong += [(f"a column {name}", "only features of info.json") for name in undeclared]
    vectors = {name: (info.features[name].dtype, info.features[name].shape) for name in info.vectors}
    types, described = data_types(vectors)
    for name, expected in types.items():
        found = table.types.get(name, expected)
        if found != expected and (exact or not _casts(found, expected)):
            wrong.append((f"{name}: {found}", expected))
    if exact and not wrong and list(table.types) != list(types):
        wrong.append((f"columns {', '.join(table.types)}", f"in the order {', '.join(types)}"))
    if exact and not wrong and table.metadata.get("huggingface") != described:
        wrong.append(("other `huggingface` metadata", "the features of info.json"))
    return wrong


def _casts(found: str, expected: str) -> bool:
    """Whether lerobot's reader would take one for the other: lists of any kind for lists, numbers for numbers."""
    return ("list" in found) == ("list" in expected) and ("string" in found) == ("string" in expected)


def _few(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")


def check_names(split: SplitView, described: Mapping[str, Described], ledger: Ledger) -> None:
    """The features and dimensions are those provenance.json names."""
    path = split.root / schema.INFO_PATH
    with ledger.checking(INFO, split.name):
        if split.info.vectors != list(described):
            found, expected = ", ".join(split.info.vectors), ", ".join(described)
            ledger.fault(INFO, split.name, found=f"vectors {found}", expected=f"{expected} of provenance", path=path)
        for name in set(split.info.vectors) & set(described):
            if split.info.features[name].dims() != described[name].names:
                found = f"{name}: other dimension names"
                ledger.fault(INFO, split.name, found=found, expected="those of provenance.json", path=path)
            if (grid := described[name].grid) and prod(grid) != len(described[name].names):
                found = f"{name}: a grid of {list(grid)} in provenance.json"
                expected = f"{len(described[name].names)} cells, a dimension each"
                ledger.fault(INFO, split.name, found=found, expected=expected, path=path)
