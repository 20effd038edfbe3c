"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is names and whose others are numbers."""
    made = Table(title=title, title_justify="left", caption_justify="left")
    for number, name in enumerate(columns):
        made.add_column(name, justify="right" if number else "left")
    for row in rows:
        made.add_row(*row)
    return made
