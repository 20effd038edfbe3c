"""What the footer of a data file tells of its columns before any is read: how wide they are, whether ever filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from quickdraw.formats.pooled.arrow_arrays import is_list
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.parquet_files import UNREADABLE, check_chunks, opened, why


@dataclass(frozen=True, slots=True)
class Filling:
    """One column: its Arrow `type` as text, and `width`, the numbers each row has; 0 for what is no table of numbers.

    `numbers` is how many there are in all, and `bare` how many rows have none; both None where the footer does not say.
    `unfilled` means that every number is 0, or all lists are empty; a column may be so without the footer telling.
    """

    type: str
    width: int
    numbers: int | None
    bare: int | None
    unfilled: bool


def fillings(data: DataFile, names: Sequence[str]) -> Mapping[str, Filling]:
    """What the footer tells of the columns `names`. Raises Refused where one is missing, or the file is damaged."""
    if not names:
        return {}
    try:
        with opened(data.path) as file:
            schema, paths = file.schema_arrow, file.reader.column_paths
            kinds = {name: schema.field(name).type for name in names}  # raises where one went, as check_chunks cannot
            leaves = {name: [at for at, path in enumerate(paths) if path[0] == name] for name in names}
            check_chunks(file, [leaf for found in leaves.values() for leaf in found])
            return {name: _filling(file.metadata, kinds[name], leaves[name]) for name in names}
    except UNREADABLE as error:
        raise data.refusal(", ".join(names), f"unreadable ({why(error)})", "a sound column") from error


def _filling(footer: Any, kind: Any, leaves: Sequence[int]) -> Filling:
    if len(leaves) != 1:  # of several values a cell, as a struct
        return Filling(str(kind), 0, None, None, unfilled=False)
    groups = [footer.row_group(number).column(leaves[0]) for number in range(footer.num_row_groups)]
    told = [group.statistics for group in groups]
    known = all(each is not None and each.has_null_count for each in told)
    bare = sum(each.null_count for each in told) if known else None
    return Filling(
        type=str(kind),
        width=_width(kind, footer.num_rows, sum(group.num_values for group in groups), bare or 0),
        numbers=sum(each.num_values for each in told) if known else None,
        bare=bare,
        # A null where there is no empty list is damage, which reading tells.
        unfilled=known and all(_is_zero(each) for each in told) and (not bare or _may_be_empty(kind)),
    )


def _may_be_empty(kind: Any) -> bool:
    return is_list(kind) and not pa.types.is_fixed_size_list(kind)


def _width(kind: Any, rows: int, cells: int, bare: int) -> int:
    if not is_list(kind):
        return int(_is_number(kind))
    if not _is_number(kind.value_type):
        return 0
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    return 0 if not rows or bare or cells % rows else cells // rows


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _is_zero(told: Any) -> bool:
    """Whether a chunk has zeros only. The bounds of a chunk pass over its NaNs, which are no filling either."""
    return told.num_values == 0 or bool(told.has_min_max and told.min == 0 and told.max == 0)
