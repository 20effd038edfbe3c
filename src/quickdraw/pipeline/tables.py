"""A small table for people: aligned plain lines on a pipe, ruled on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from unicodedata import combining, east_asian_width


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of text; the columns that `numbers` names by heading are set flush right.

    A row may end early; what is left of it is empty.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[str] = ()) -> Table:
        """Of anything that can be gone through."""
        return cls(tuple(headings), tuple(tuple(row) for row in rows), frozenset(numbers))

    def lines(self) -> Iterator[str]:
        """Two spaces between columns, none at the end of a line."""
        columns = list(zip_longest(self.headings, *self.rows, fillvalue=""))
        widths = [max(map(cells_of, column)) for column in columns]
        for row in zip(*columns, strict=True):
            padded = list[str]()
            for name, cell, width in zip(self.headings, row, widths, strict=True):
                space = " " * (width - cells_of(cell))
                padded.append(space + cell if name in self.numbers else cell + space)
            yield "  ".join(padded).rstrip()


def cells_of(text: str) -> int:
    """How many cells of a screen a text takes: a Chinese character takes two, a combining mark none."""
    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)
