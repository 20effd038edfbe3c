"""What has to be done for a repository to hold what it should: nothing that is done already, and no more than told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quickdraw.hub.cargo import Cargo, Item
from quickdraw.pipeline.places import CARD, INVENTORY

OF_THE_HUB = (".gitattributes", ".gitignore")
FIRST = (INVENTORY, CARD)
MOST_FILES, MOST_BYTES = 200, 1 << 30  # of one commit
BESIDE = (*OF_THE_HUB, CARD, "LICENSE", "LICENSE.md", "LICENSE.txt")  # what is in a repository somebody just made


@dataclass(frozen=True, slots=True)
class There:
    """A file in a repository: its size, the name git gives to its content, and its SHA-256 where it is a large one."""

    bytes: int
    blob_id: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What a repository holds at the commit `head`. `written` are the files an earlier push of ours sent."""

    head: str
    private: bool
    files: Mapping[str, There]
    written: frozenset[str]

    @property
    def foreign(self) -> list[str]:
        """What is there, where nothing of it is ours; files that every repository may begin with are nothing."""
        return [] if self.written else sorted(set(self.files) - set(BESIDE))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be sent, in order, and what is to be deleted; `same` files are there already."""

    send: tuple[Item, ...]
    delete: tuple[str, ...]
    same: int

    def __bool__(self) -> bool:
        return bool(self.send or self.delete)

    @property
    def bytes(self) -> int:
        """How much is to be sent."""
        return sum(item.bytes for item in self.send)

    def batches(self) -> Iterator[Sequence[Item]]:
        """What is to be sent, commit by commit; an empty one where there is only something to delete.

        What goes first goes alone: the Hub judges the card before it takes it, and before anything large is sent.
        """
        batch, size = list[Item](), 0
        for item in self.send:
            full = len(batch) >= MOST_FILES or size + item.bytes > MOST_BYTES
            if batch and (full or (batch[-1].place in FIRST and item.place not in FIRST)):
                yield batch
                batch, size = [], 0
            batch.append(item)
            size += item.bytes
        yield batch


def plan_of(cargo: Cargo, held: Held, delete_others: bool) -> Plan:
    """From what a repository holds to what it should.

    The card and the inventory go first, together with all that is deleted: whenever it ends, what is there of ours is
    in the inventory that is there, so that the next push knows it for ours.
    """
    send = {place: item for place, item in cargo.items.items() if not is_there(item, held.files.get(place))}
    ours = held.written & set(held.files)
    kept = set(cargo.items) | {place for place in cargo.spared if _is_spared(cargo, held, place)}
    gone = (set(held.files) - set(OF_THE_HUB) if delete_others else ours) - kept
    ordered = sorted(send, key=lambda place: (place not in FIRST, place))
    return Plan(tuple(send[place] for place in ordered), tuple(sorted(gone)), len(cargo.items) - len(send))


def is_there(item: Item, there: There | None) -> bool:
    """Whether a file of a repository is what it should be."""
    if there is None or there.bytes != item.bytes:
        return False
    return there.sha256 == item.sha256 if there.sha256 else there.blob_id == item.blob_id()


def _is_spared(cargo: Cargo, held: Held, place: str) -> bool:
    there = held.files.get(place)
    return there is not None and there.sha256 == cargo.spared[place].sha256
