"""An episode's data file: columns as arrays, read row group by row group (contract 7).

A file may be replaced at any moment, so that every call opens it anew and is of one file throughout. A column of
matrices may hold more values in one row group than 32-bit offsets reach, so that nothing is ever read whole: rows come
as many at a time as make some MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.arrow_arrays import Column, Ragged, alike, joined, joined_ragged
from quickdraw.formats.pooled.parquet_files import UNREADABLE, check_chunks, opened, why

BATCH_BYTES: Final = 16 << 20  # of Arrow's memory, about, at a time
MOST_ROWS: Final = 4096  # at a time
READ_BYTES: Final = 1 << 20  # of the file at a time
VALUE_BYTES: Final = 8  # what no number is wider than


class DataFile:
    """One data file, or any Parquet file: only its footer is read until a column is asked for.

    `names` are its columns in order, `types` their Arrow types, `schema` both, `rows` how many rows it has. Raises
    Refused where it is missing or no Parquet file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as (schema, file):
            self.rows: int = file.metadata.num_rows
        self.names: tuple[str, ...] = tuple(schema.names)
        self.types: Mapping[str, Any] = {field.name: field.type for field in schema}
        self.schema: Any = schema

    def __contains__(self, name: str) -> bool:
        return name in self.types

    def batches(self, names: Sequence[str], rows_at_a_time: int | None = None) -> Iterator[Any]:
        """Record batches of the columns `names`, in that order; every row once, in order, nulls and all.

        A batch has as many rows as make about 16 MB, and `rows_at_a_time` at most. Memory stays the same however long
        the file and its row groups are. Raises Refused where a column is missing or damaged.
        """
        yield from self._batches(list(dict.fromkeys(names)), rows_at_a_time)

    def read(self, names: Sequence[str], ragged: Sequence[str] = ()) -> tuple[dict[str, Column], dict[str, Ragged]]:
        """Several columns of one and the same file: `names` as `column` has them, `ragged` as `ragged` has."""
        pieces: dict[str, list[Any]] = {name: [] for name in (*names, *ragged)}
        for batch in self._batches(list(pieces), None):
            for name, found in pieces.items():
                found.append(batch.column(name))
        return (
            {name: self._put(name, pieces[name], joined) for name in names},
            {name: self._put(name, pieces[name], joined_ragged) for name in ragged},
        )

    def column(self, name: str) -> Column:
        """A column `(T,)`, or `(T, D)` of lists of one length, in the file's dtype; text is `(T,)` object.

        Raises Refused where it is missing or damaged, holds a null, or lists of more than one length.
        """
        return self.read([name])[0][name]

    def wide(self, name: str, values: Column, width: int) -> Column:
        """`values` of the column `name` as `(T, width)`. Raises Refused where its lists are of another length."""
        if len(values) and values.shape[1:] != (width,):
            raise self.refusal(name, f"{values.shape[1]} values a row", str(width))
        return values.reshape(-1, width)

    def require(self, types: Mapping[str, Any]) -> None:
        """Raise Refused, of all of them, where a column is missing or not of its Arrow type: no stamp is a float."""
        wrong = []
        for name, kind in types.items():
            found = self.types.get(name)
            if found is None or alike(found) != alike(kind):
                wrong.append(self._fault(name, "no such column" if found is None else f"type {found}", str(kind)))
        if wrong:
            raise Refused(wrong)

    def ragged(self, name: str) -> Ragged:
        """A column of lists: all values in row order, and where each row's begin. Raises Refused as `column` does."""
        return self.read([], [name])[1][name]

    def _put(self, name: str, pieces: list[Any], join: Any) -> Any:
        try:
            return join(pieces, pieces[0].type if pieces else self.types[name])
        except UNREADABLE as error:  # a null, lists of several lengths, text that is none
            raise self.refusal(name, why(error), "a sound column without nulls") from error

    def _batches(self, names: list[str], rows_at_a_time: int | None) -> Iterator[Any]:
        with self._opened() as (schema, file):
            missing = [name for name in names if name not in schema.names]
            if missing:
                known = f"one of {', '.join(schema.names)}"
                raise Refused([self._fault(name, "no such column", known) for name in missing])
            if not names:
                return
            try:
                rows = min(rows_at_a_time or MOST_ROWS, _rows_at_a_time(file, names))
                for batch in file.iter_batches(rows, columns=names, use_threads=False):
                    yield batch.select(names)  # Arrow takes a name for a prefix, too
            except UNREADABLE as error:
                raise self.refusal(", ".join(names), f"unreadable ({why(error)})", "a sound column") from error

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any]]:
        """The file's schema, all names of which are text, and the open file."""
        with ExitStack() as held:
            try:
                file = held.enter_context(opened(self.path, buffer_bytes=READ_BYTES))
                schema = file.schema_arrow
                _ = schema.names, schema.types  # which are decoded only when asked for
            except UNREADABLE as error:
                raise self.refusal("file", f"unreadable ({why(error)})", "a sound Parquet file") from error
            yield schema, file

    def _fault(self, field: str, found: str, expected: str) -> Fault:
        return Fault(self.path.name, field, found, expected, path=str(self.path))

    def refusal(self, field: str, found: str, expected: str) -> Refused:
        """What to raise of one of its columns."""
        return Refused([self._fault(field, found, expected)])


def _rows_at_a_time(file: Any, names: Sequence[str]) -> int:
    """Rows whose values, of all columns named, make one batch: by the row group that has the most of them a row."""
    footer = file.metadata
    leaves = [at for at, path in enumerate(file.reader.column_paths) if _is_of(".".join(path), names)]
    check_chunks(file, leaves)
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    widths = (sum(group.column(each).num_values for each in leaves) / max(1, group.num_rows) for group in groups)
    return int(min(MOST_ROWS, max(1, BATCH_BYTES // (max(1, 1, *widths) * VALUE_BYTES))))


def _is_of(leaf: str, names: Sequence[str]) -> bool:
    """Whether a leaf `observation.imu.list.element...` is of a column named so; one more does no harm."""
    return any(leaf == name or leaf.startswith(f"{name}.") for name in names)
