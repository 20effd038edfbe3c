"""What a page of a report is put together from: sections of words, tables and pictures, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `unit` is "" for none; with `numeric` it is aligned, and sorted, as numbers."""

    name: str
    unit: str = ""
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, and what it is sorted by: what it shows, where that is None. `mark` lets it stand out."""

    text: str
    key: float | None = None
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns; `sortable` by a click on a column's head. `name` is unique on the page."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sortable: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot, as SVG whose colours follow the page's. `alt` says in words what it shows. `name` is unique."""

    name: str
    caption: str
    alt: str
    svg: str


@dataclass(frozen=True, slots=True)
class Photograph:
    """Pictures in one compressed image; `mime` as `image/webp`. `name` is unique."""

    name: str
    caption: str
    alt: str
    image: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph; with `warning` one that nobody should miss."""

    text: str
    warning: bool = False


type Part = Words | Table | Drawing | Photograph


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page. `name` is its anchor; the first sentence of `lead` says what is to be seen."""

    name: str
    title: str
    lead: str
    parts: tuple[Part, ...]
