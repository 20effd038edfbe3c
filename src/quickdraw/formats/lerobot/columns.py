"""A feature put into a split that is already built: its tables and metadata are written anew, everything else is left.

Rows keep their order, files and row groups; a feature of the same name is replaced where it stands, a new one stands
before the cameras, where a build puts it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.core.episode import Float32
from quickdraw.core.features import FeatureSpec
from quickdraw.core.statistics import Statistics, of_rows
from quickdraw.errors import Fault, Refused
from quickdraw.formats.json_document import write_json
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.reader import SplitReader

HUGGINGFACE = b"huggingface"


@dataclass(frozen=True, slots=True)
class NewFeature:
    """A vector feature over a whole split: `(T, D)` float32 in row order, and what stats.json shall say of it."""

    spec: FeatureSpec
    rows: Float32
    statistics: Statistics


def put_feature(split: SplitReader, target: Path, new: NewFeature) -> None:
    """Write to `target`, a new folder, the files of a split that change where `new` is among its features."""
    name, info = new.spec.name, split.info
    later = {key for key, described in info["features"].items() if described["dtype"] == "video"} | {
        *schema.BOOKKEEPING
    }
    described = {"dtype": new.spec.dtype, "shape": [new.spec.width], "names": list(new.spec.names)}
    write_json(target / schema.INFO_PATH, {**info, "features": _put(info["features"], {name: described}, later)})
    numbers = schema.statistics_lists(new.statistics, picture=False)
    write_json(target / schema.STATS_PATH, _put(split.statistics, {name: numbers}, later))
    _rewrite_data(split.root, target, new)
    for path in sorted((split.root / "meta/episodes").glob("*/*.parquet")):
        _rewrite_episodes(path, target / path.relative_to(split.root), new, later)


def _put[V](ordered: Mapping[str, V], new: Mapping[str, V], later: Collection[str]) -> dict[str, V]:
    """`ordered` with `new` in it: replacing what is there, or else before the first of `later`."""
    if new.keys() <= ordered.keys():
        return {**ordered, **new}
    names = [name for name in ordered if name not in new]
    at = next((i for i, name in enumerate(names) if name in later), len(names))
    return {**{name: ordered[name] for name in names[:at]}, **new, **{name: ordered[name] for name in names[at:]}}


def _rewrite_data(root: Path, target: Path, new: NewFeature) -> None:
    """Every data file. Raises Refused where its rows are not numbered in order: they could not be told apart."""
    arrow, first = schema.data_schema([new.spec]), 0
    kind = arrow.field(new.spec.name).type
    for path in sorted((root / "data").glob("*/*.parquet")):

        def changed(table: pa.Table) -> pa.Table:
            nonlocal first
            index = table["index"].to_pylist() if "index" in table.column_names else []
            if index != list(range(first, first + len(table))):
                found = f"not {first} to {first + len(table) - 1} in row order"
                expected = "rows numbered from 0 on, file after file"
                raise Refused([Fault(root.name, "index", found, expected, path=str(root / "data"))])
            rows = new.rows[first : first + len(table)]
            first += len(table)
            column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), type=kind)
            table = _with_columns(table, {new.spec.name: column}, schema.BOOKKEEPING)
            return table.replace_schema_metadata(_with_described(table.schema.metadata, arrow))

        _rewrite(path, target / path.relative_to(root), changed)


def _with_described(metadata: Mapping[bytes, bytes] | None, arrow: pa.Schema) -> dict[bytes, bytes]:
    """A data file's metadata, its `huggingface` description completed by the feature's."""
    known = dict(metadata or {})
    if HUGGINGFACE in known:
        document = json.loads(known[HUGGINGFACE])
        name = arrow.names[0]
        new = {name: json.loads(arrow.metadata[HUGGINGFACE])["info"]["features"][name]}
        document["info"]["features"] = _put(document["info"]["features"], new, schema.BOOKKEEPING)
        known[HUGGINGFACE] = json.dumps(document).encode()
    return known


def _rewrite_episodes(path: Path, target: Path, new: NewFeature, later: Collection[str]) -> None:
    """One file of meta/episodes, with each of its episodes' own statistics of the feature."""

    def changed(table: pa.Table) -> pa.Table:
        spans = zip(table["dataset_from_index"].to_pylist(), table["dataset_to_index"].to_pylist(), strict=True)
        statistics = [schema.statistics_lists(of_rows(new.rows[a:b]), picture=False) for a, b in spans]
        columns = {
            f"stats/{new.spec.name}/{key}": pa.array(
                [lists[key] for lists in statistics],
                pa.list_(pa.field("element", pa.int64() if key == "count" else pa.float64())),
            )
            for key in schema.STATISTICS
        }
        after = [name for name in table.column_names if name.startswith("stats/") and name.split("/")[1] in later]
        table = _with_columns(table, columns, after)
        # `datasets` infers the columns where no description says otherwise; an old one would hide the new ones.
        kept = {key: value for key, value in (table.schema.metadata or {}).items() if key != HUGGINGFACE}
        return table.replace_schema_metadata(kept or None)

    _rewrite(path, target, changed)


def _with_columns(table: pa.Table, new: Mapping[str, pa.Array], later: Collection[str]) -> pa.Table:
    columns: dict[str, Any] = _put({name: table[name] for name in table.column_names}, new, later)
    return pa.table(columns, metadata=table.schema.metadata)


def _rewrite(path: Path, target: Path, changed: Callable[[pa.Table], pa.Table]) -> None:
    """A Parquet file, changed row group by row group, written as a build writes it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    writer = None
    with pq.ParquetFile(path) as source:
        for group in range(source.num_row_groups):
            table = changed(source.read_row_group(group))
            writer = writer or pq.ParquetWriter(target, table.schema, compression="snappy", use_dictionary=True)
            writer.write_table(table, row_group_size=max(1, len(table)))
    if writer is not None:
        writer.close()
