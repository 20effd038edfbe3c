"""Views of a dataset, and how they tell what they were made of: by a stamp, a digest of it and a version.

A page has it in its head, a card behind its front matter. A file in a view's place that has none is somebody's own.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from quickdraw.formats.durable import aside
from quickdraw.pipeline.links import link
from quickdraw.pipeline.places import CARD, INVENTORY, REPORT, VIEWS

VIEW_FILES = (*VIEWS, *(str(aside(Path(name))) for name in VIEWS))  # and where they grow, should that be cut short
STAMP = re.compile(rb'(?:<meta name="quickdraw" content="|<!-- quickdraw: )([0-9a-f]{64} \d{1,9})(?:">| -->)')
HEAD = 1 << 20  # a stamp stands that near to the beginning of a file [bytes]


def stamp_of(dataset: Path, version: int) -> str | None:
    """The stamp of views of what a dataset holds; None where its build listed nothing of it."""
    try:
        return f"{hashlib.sha256((dataset / INVENTORY).read_bytes()).hexdigest()} {version}"
    except OSError:
        return None


def stamp_in(view: Path) -> str | None:
    """The stamp a file has, if it is a view of ours."""
    if not view.is_file():
        return None
    with view.open("rb") as file:
        found = STAMP.search(file.read(HEAD))
    return found[1].decode() if found else None


def has_views(dataset: Path) -> bool:
    """Whether a view of ours is in a dataset."""
    return any(stamp_in(dataset / name) is not None for name in VIEWS)


def is_stale(view: Path) -> bool:
    """Whether a view of ours tells of something else than its dataset holds now, as far as that lists what it holds."""
    told, now = stamp_in(view), stamp_of(view.parent, 0)
    return bool(told and now and not view.is_symlink() and told.split()[0] != now.split()[0])


def is_own_text(card: Path) -> bool:
    """Whether a file in the card's place was written by somebody: it is theirs, and is left alone."""
    return card.is_file() and not card.is_symlink() and stamp_in(card) is None


def obstructed(dataset: Path) -> dict[str, str]:
    """View -> what is in its place that a view must not replace."""
    found = {}
    for name in VIEWS:
        path = dataset / name
        if path.is_symlink():
            found[name] = f"a link to {path.readlink()}"
        elif os.path.lexists(path) and not path.is_file():
            found[name] = "a folder" if path.is_dir() else "no file"
        elif name == REPORT and path.exists() and stamp_in(path) is None:
            found[name] = "none of ours"
    return found


def carry_card(old: Path, new: Path) -> None:
    """Put the card of one dataset into another that will take its place and has none."""
    card = old / CARD
    if card.is_file() and not card.is_symlink() and not os.path.lexists(new / CARD):
        link(card, new / CARD)
