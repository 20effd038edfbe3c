"""meta/episodes: numbered without a gap, tiling the rows, each in the files it says it is in."""

from __future__ import annotations

from collections.abc import Iterator

from quickdraw.formats.lerobot.files import TOLERANCE_S
from quickdraw.pipeline.verify.ledger import Ledger, first_of
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import SplitView, VideoPart

EPISODES, WINDOWS = "episodes", "video windows"


def check_episodes(split: SplitView, ledger: Ledger) -> None:
    """Readers take episode i from row i, and its rows from its range."""
    with ledger.checking(EPISODES, split.name):
        ledger.saw(EPISODES, len(split.entries))
        wrong = [
            (f"episode {entry.number}: {found}", right) for entry in split.entries for found, right in _wrong(entry)
        ]
        for found, expected in first_of(wrong, "more like it"):
            ledger.fault(EPISODES, split.name, found=found, expected=expected, path=split.root / "meta/episodes")
        for part in split.data:
            if part.table.rows != part.rows:
                expected = f"{part.rows}, the length of its episodes"
                ledger.fault(EPISODES, split.name, found=f"{part.table.rows} rows", expected=expected, path=part.path)


def _wrong(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.index != entry.number:
        yield f"episode_index {entry.index}", f"{entry.number}: numbers without a gap, in order"
    if (entry.begin, entry.end) != (entry.first, entry.first + entry.length):
        expected = f"{entry.first} to {entry.first + entry.length}, by the lengths up to it"
        yield f"rows {entry.begin} to {entry.end}", expected
    if entry.meta != entry.lies_in:
        yield f"its row says it is in {entry.meta}", "the file it is in"


def check_windows(split: SplitView, ledger: Ledger, *, exact: bool) -> None:
    """In each video file episodes follow one another from 0, as long as they are; to the bit where we wrote them."""
    with ledger.checking(WINDOWS, split.name):
        rate_hz, tolerance_s = split.info.rate_hz, 0.0 if exact else TOLERANCE_S
        for part in split.videos:
            ledger.saw(WINDOWS, len(part.entries))
            for found, expected in first_of(list(_misplaced(part, rate_hz, tolerance_s)), "more episodes"):
                ledger.fault(WINDOWS, split.name, found=found, expected=expected, path=part.path)


def _misplaced(part: VideoPart, rate_hz: int, tolerance_s: float) -> Iterator[tuple[str, str]]:
    begun = 0
    for entry in part.entries:
        window, end = entry.windows[part.key], begun + entry.length
        from_s, to_s = begun / rate_hz, end / rate_hz
        if not (abs(window.from_s - from_s) <= tolerance_s and abs(window.to_s - to_s) <= tolerance_s):
            found = f"episode {entry.number}, {part.camera}: from_timestamp {window.from_s}, to_timestamp {window.to_s}"
            yield found, f"{from_s} to {to_s}: pictures {begun} to {end} at {rate_hz} Hz"
        begun = end
