"""One row per episode in `meta/episodes`: eleven columns, exactly these, and what a later version adds (contract 6).

Which file a row is in is told by content, never by name: `file-000.parquet` was a shard in one version and episode 1
in the next. Files are opened anew on each access, read whole and closed, for they may be replaced at any moment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.row_tables import SCHEMA, column, numbers_in, read_table, table_bytes, whole

_INTEGERS = SCHEMA.names[:5]
_TEXTS = SCHEMA.names[7:]
NOT_FRAMES: Final = ("_ms", "_ns", "_count")  # ends of keys in drop_stats that count none


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """What is known of one episode. `number` is N; the frame numbers are in-episode, the last one included.

    `length` is the count of data rows (older writers: highest frame_index + 1). `created_at` is Unix seconds.
    `force_matrix_specs` is matrix column -> `{dtype, shape, encoding, scale}`, the authority on scales. `extra` holds
    columns of later versions, each a one-element Arrow array, and `texts` the JSON cells as they were found: a cell
    whose value did not change is written back to the letter.
    """

    number: int
    task_index: int = 0
    start_frame_index: int = 0
    end_frame_index: int = 0
    length: int = 0
    created_at: float = 0.0
    duration_s: float = 0.0
    drop_stats: Mapping[str, Any] = field(default_factory=dict)
    video_codec: Mapping[str, Any] = field(default_factory=dict)
    calibration: Mapping[str, Any] = field(default_factory=dict)
    force_matrix_specs: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def dropped_frames(self) -> int:
        """Frames lost, over all streams. Durations and counters in `drop_stats` are none, nor is `imu_overflow`."""
        counts = ((key, value) for key, value in self.drop_stats.items() if isinstance(value, int))
        return sum(value for key, value in counts if not key.endswith(NOT_FRAMES) and key != "imu_overflow")


def read_row(layout: Layout, number: int) -> EpisodeRow | None:
    """The row of episode N: from its own file, from one of the old name, from the chunk's shard; None where in none.

    Raises nothing for what is on disk: an unreadable file is passed over, JSON that does not parse is empty.
    Raises ValueError for a number below 1.
    """
    own = layout.row(number)
    # The own file is asked again at the end: a shard may have been parted between the first question and the last.
    for path in (own, *dict.fromkeys((layout.old_row(number), layout.shard(number))), own):
        table = read_table(path)
        at = [] if table is None else [row for row, each in enumerate(numbers_in(table)) if each == number]
        if table is not None and at:
            return row_of(table, at[-1])
    return None


def row_of(table: Any, at: int) -> EpisodeRow:
    """Row `at` of a table. Missing columns, nulls and values of another type have the contract's defaults."""
    one = table.slice(at, 1)
    cells = {name: column(one, name)[0] for name in SCHEMA.names}
    texts = {name: cells[name] for name in _TEXTS if isinstance(cells[name], str)}
    known: dict[str, Any] = {name: whole(cells[name]) for name in _INTEGERS}
    known |= {name: _parsed(texts.get(name, "{}")) for name in _TEXTS}
    return EpisodeRow(
        number=known.pop("episode_index"),
        created_at=_real(cells["created_at"]),
        duration_s=_real(cells["duration_sec"]),
        extra=_extra(one),
        texts=texts,
        **known,
    )


def row_bytes(row: EpisodeRow) -> bytes:
    """A per-episode file: one row, the eleven columns, then `extra`; Parquet, zstd. Raises ValueError below N = 1."""
    if row.number < 1:
        raise ValueError(f"episode number {row.number}; numbers start at 1")
    cells = {
        "episode_index": row.number,
        **{name: getattr(row, name) for name in _INTEGERS[1:]},
        "created_at": float(row.created_at),
        "duration_sec": float(row.duration_s),
        **{name: _text(row, name) for name in _TEXTS},
    }
    table = pa.Table.from_pylist([cells], schema=SCHEMA)
    for name, values in row.extra.items():
        table = table.append_column(name, values)
    return table_bytes(table)


def _extra(one: Any) -> dict[str, Any]:
    unknown = ((at, name) for at, name in enumerate(one.column_names) if name not in SCHEMA.names)
    return {name: one.column(at).combine_chunks() for at, name in unknown}


def _real(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _finite(text: str) -> float:
    """NaN and the like are no JSON, though `json` reads and writes them."""
    if not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def _text(row: EpisodeRow, name: str) -> str:
    value, before = dict(getattr(row, name)), row.texts.get(name)
    if before is not None and _parsed(before) == value:
        return before
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    is_text = text.encode("utf-8", "ignore").decode() == text
    return text if is_text else json.dumps(value, allow_nan=False)  # half a character can only be escaped
