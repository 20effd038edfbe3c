"""JSON documents on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO


def write_json(path: Path, document: Any, indent: int = 4) -> None:
    """Write a document. NaN is refused: it is not JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for piece in _encoder(indent).iterencode(document):
            file.write(piece)
        file.write("\n")


def write_json_with(
    path: Path, document: Mapping[str, Any], name: str, items: Iterable[Any], *, indent: int = 4
) -> None:
    """Write a document that ends with a list under `name`, of which one item at a time is in memory."""
    head = _encoder(indent).encode({**document, name: []})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(head.removesuffix("]\n}"))
        _write_items(file, items, indent)
        file.write("]\n}\n")


def write_json_object(path: Path, items: Iterable[tuple[str, Any]], *, indent: int = 4) -> None:
    """Write an object of one member or more, of which one at a time is in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json_object(items, indent=indent))


def json_object(items: Iterable[tuple[str, Any]], *, indent: int = 4) -> Iterator[str]:
    """An object as `write_json_object` writes it, member by member."""
    encoder, before, margin = _encoder(indent), "{", "\n" + indent * " "
    for name, value in items:
        yield before + margin + encoder.encode(name) + ": " + encoder.encode(value).replace("\n", margin)
        before = ","
    yield "\n}\n"


def _write_items(file: TextIO, items: Iterable[Any], indent: int) -> None:
    encoder, margin, written = _encoder(indent), "\n" + 2 * indent * " ", False
    for item in items:
        file.write("," * written + margin + encoder.encode(item).replace("\n", margin))  # no text holds a line end
        written = True
    if written:
        file.write("\n" + indent * " ")


def _encoder(indent: int) -> json.JSONEncoder:
    return json.JSONEncoder(indent=indent, ensure_ascii=False, allow_nan=False)
