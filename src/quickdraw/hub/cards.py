"""The card that a repository gets: the dataset's, with what people wrote into it, here or there."""

from __future__ import annotations

from pathlib import Path

from quickdraw.hub.cargo import Item, is_current, item_of
from quickdraw.pipeline.places import CARD
from quickdraw.pipeline.verify.report import Report
from quickdraw.pipeline.view_files import is_own_text, stamp_of
from quickdraw.report.cards.card import BEGIN, Kept, addressed, card, kept, split_card
from quickdraw.report.cards.front_matter import FENCE
from quickdraw.report.subject import subject_of
from quickdraw.report.views import VERSION


def is_somebodys(card: bytes) -> bool:
    """Whether a README.md holds words and none of ours: somebody's own, which stays. (The Hub begins one with none.)"""
    text = card.decode(errors="replace")
    return BEGIN not in text and bool(FENCE.sub("", text, count=1).strip())


def card_item(dataset: Path, address: str, split: str | None, there: bytes | None) -> Item:
    """README.md of a repository; `there` is the one it has, None for none.

    It is made anew where the dataset's is not of what the dataset holds now. What was written into the dataset's own
    card goes before what was written on the Hub; a README.md of somebody's own is sent as it is. Raises Refused where
    the dataset cannot be read.
    """
    path = dataset / CARD
    if split is None and is_own_text(path):
        return item_of(CARD, path.read_bytes())
    here = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    mine, theirs = kept(here or ""), kept((there or b"").decode(errors="replace"))
    written = Kept(theirs.yours if mine.yours is None else mine.yours, {**theirs.front, **mine.front})
    if split is None and here is not None and written == mine and is_current(dataset, CARD):
        text = here
    elif split is None:
        text = card(subject_of(dataset, Report.unchecked()), written, stamp=stamp_of(dataset, VERSION) or "")
    else:
        text = split_card(subject_of(dataset, Report.unchecked()), split, address, written)
    return item_of(CARD, addressed(text, address).encode(errors="backslashreplace"))
