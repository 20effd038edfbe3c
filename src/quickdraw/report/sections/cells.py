"""Cells of tables: numbers as people read them, with what they are sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quickdraw.report.parts import Cell, Column, Table

MOST_ROWS = 2000  # of one table: more is no reading matter, and a page that no browser likes
NOTHING = Cell("–", -1.0)  # sorted before every amount


def count(value: int, *, mark: bool = False) -> Cell:
    """A whole number."""
    return Cell(f"{value:,}", float(value), mark)


def amount(value: float, digits: int, *, mark: bool = False) -> Cell:
    """A number with so many digits after the point; nothing where it is none."""
    return Cell(f"{value:,.{digits}f}", value, mark) if math.isfinite(value) else NOTHING


def percent(share: float | None, *, mark: bool = False) -> Cell:
    """A share as percent, nothing where there is none. What is not 0 never reads 0."""
    if share is None or not math.isfinite(share):
        return NOTHING
    text = "< 0.01" if 0 < share < 5e-5 else f"{100 * share:.2f}"
    return Cell(text, 100 * share, mark)


def table(
    name: str, caption: str, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], *, sortable: bool = False
) -> Table:
    """A table of at most `MOST_ROWS` rows, which says so where there are more."""
    if len(rows) > MOST_ROWS:
        caption = f"{caption} The first {MOST_ROWS:,} of {len(rows):,} are shown."
    return Table(name, caption, tuple(columns), tuple(rows[:MOST_ROWS]), sortable)
