"""Push: a dataset to the Hub. Every look at a repository begins anew: a push that broke off goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.formats.lerobot.schema import CODEBASE_VERSION
from quickdraw.hub.cards import card_item, is_somebodys
from quickdraw.hub.cargo import (
    Cargo,
    Item,
    cargo_of,
    changed,
    in_kb,
    in_kilobytes,
    is_current,
    item_of,
    misplaced,
    missing,
    name_in,
    split_cargo_of,
    splits_in,
)
from quickdraw.hub.plan import Held, Plan, is_there, plan_of
from quickdraw.hub.repository import LOGIN, Repository, Unconnected, Unreached, has_token, is_name
from quickdraw.pipeline.places import CARD, REPORT, SUMMARY
from quickdraw.pipeline.progress import Progress
from quickdraw.pipeline.view_files import HEAD, STAMP

TRIES = 6  # without a commit in between
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
NOTHING = Held("", False, {}, frozenset())


@dataclass(frozen=True, slots=True)
class Options:
    """How to push. `force` takes a repository of something else, beside its files; `delete_others` deletes those."""

    private: bool = False
    dry_run: bool = False
    media: bool = False
    per_split: bool = False
    delete_others: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one repository: what was sent, in how many commits, deleted, and the same already."""

    address: str
    url: str
    split: str | None
    sent: tuple[str, ...]
    bytes: int
    deleted: tuple[str, ...]
    same: int
    commits: int


def push(dataset: Path, address: str, options: Options, progress: Progress) -> list[Pushed]:
    """Send a dataset to the repository `address`, or its splits to one each, `address-<split>`; what was done.

    Raises Refused, with all that is wrong here before the Hub is asked, and with all that is wrong there before
    anything is sent; Unreached, an OSError, where the Hub cannot be reached or keeps failing.
    """
    _refuse(misplaced(dataset))
    cargos = _cargos(dataset, address, options)
    _refuse([*_slips(cargos, options), *missing(dataset, cargos)])
    pushes = [_Push(dataset, cargo, options, progress) for cargo in cargos]
    for push in pushes:
        push.tried(push.look)
    _refuse(fault for push in pushes for fault in push.unfit())
    for words in (*_left_out(dataset, options), *(words for push in pushes for words in push.left())):
        progress.note(f"warning: {words}")
    _refuse(changed(dataset, cargos, progress))
    return [push.told() if options.dry_run else push.done() for push in pushes]


def _refuse(faults: Iterable[Fault]) -> None:
    if found := list(faults):
        raise Refused(found)


def _cargos(dataset: Path, address: str, options: Options) -> list[Cargo]:
    if not options.per_split:
        return [cargo_of(dataset, address, options.media)]
    return [split_cargo_of(dataset, split, f"{address}-{split}") for split in splits_in(dataset)]


def _left_out(dataset: Path, options: Options) -> Iterator[str]:
    """What a reader might miss there, and why it is not sent."""
    if not options.per_split and (dataset / REPORT).exists() and not is_current(dataset, REPORT):
        yield f"{REPORT} is not of what the dataset holds and is left out; `quickdraw report {dataset}` makes it anew"


def _slips(cargos: list[Cargo], options: Options) -> Iterator[Fault]:
    """What is wrong with the command, or the user's login."""
    if options.media and options.per_split:
        expected = "one of the two: clips are no part of a LeRobot dataset"
        yield Fault(COMMAND_LINE, "--media", "--media and --per-split", expected)
    for cargo in cargos:
        if not is_name(cargo.address):
            expected = "user/name, of letters, digits, `-`, `_` and `.`, 96 characters at most"
            yield Fault(COMMAND_LINE, "--repo", repr(cargo.address), expected)
    if not has_token():
        yield Fault(COMMAND_LINE, "login", "no token", LOGIN)


class _Push:
    """One repository's."""

    def __init__(self, dataset: Path, cargo: Cargo, options: Options, progress: Progress) -> None:
        self.dataset, self.cargo, self.options, self.progress = dataset, cargo, options, progress
        self.repository = Repository(cargo.address)
        self.sent, self.deleted, self.commits, self.bytes = dict[str, None](), dict[str, None](), 0, 0
        self.answered = False
        self.held: Held | None = None  # when it was last looked at; nothing was done since, where `fresh`
        self.fresh, self.other, self.page_stays = False, "", False

    def look(self) -> None:
        """See what is there."""
        held = self.repository.held()
        self.other = self._other(held)
        paged = held is not None and REPORT in held.files
        ours = held is not None and paged and self._is_our_page(held)
        self.page_stays = paged and not ours and not self.options.delete_others
        self.held = replace(held, written=held.written | {REPORT}) if held and ours and held.written else held
        self.answered = self.fresh = True

    def _other(self, held: Held | None) -> str:
        """The name of the dataset that an earlier push left there, where it is not this one's; "" where it is."""
        mine = self.cargo.items.get(SUMMARY)
        if held is None or mine is None or not held.written or SUMMARY not in held.files:
            return ""
        if is_there(mine, held.files[SUMMARY]):
            return ""
        name = name_in(self.repository.read(SUMMARY, held.head))
        return "" if name == name_in((self.dataset / SUMMARY).read_bytes()) else name

    def _is_our_page(self, held: Held) -> bool:
        """Whether the page that is there was made by quickdraw, of a whole dataset; no split has one."""
        if self.cargo.split is not None:
            return False
        mine = self.cargo.items.get(REPORT)
        if mine is not None and is_there(mine, held.files[REPORT]):
            return True
        return STAMP.search(self.repository.read(REPORT, held.head)[:HEAD]) is not None

    def left(self) -> Iterator[str]:
        """What is left there as it is, and keeps something of this dataset from being there."""
        if self.page_stays and REPORT in self.cargo.items:
            yield f"{self.cargo.address}: the {REPORT} that is there is not quickdraw's and stays"

    def unfit(self) -> Iterator[Fault]:
        """Why this dataset should not go there."""
        held = self.held or NOTHING
        if held.foreign and not (self.options.force or self.options.delete_others):
            found = f"{len(held.foreign)} files of something else ({', '.join(held.foreign[:3])} ...)"
            expected = "one that is new, empty or of an earlier push; --force puts the dataset beside them"
            yield Fault(self.cargo.address, "repository", found, expected)
        if self.other and not self.options.force:
            expected = "a repository of its own for each; --force lets this one take its place"
            yield Fault(self.cargo.address, "repository", f"another dataset, {self.other!r}", expected)
        if self.held is not None and self.options.private and not held.private:
            expected = "a private one, or no --private: who may see it is changed on the Hub's page"
            yield Fault(self.cargo.address, "repository", "one that everybody sees", expected)

    def told(self) -> Pushed:
        """What a push would do."""
        plan = self.tried(self._plan)
        commits = len(list(plan.batches())) if plan else 0
        return self._pushed(tuple(item.place for item in plan.send), plan.bytes, plan.delete, commits)

    def done(self) -> Pushed:
        """Push, and look until nothing is left to do."""
        if self.held is None:
            self.tried(lambda: self.repository.create(self.options.private))
            self.fresh = False
        last = Plan((), (), 0)
        while plan := self.tried(self._sent):
            if plan == last:
                names = [item.place for item in plan.send] + list(plan.delete)
                raise Unreached(f"the Hub took {names[0]} and does not have it: does its .gitignore name it?", None)
            last = plan
        if self.tried(lambda: self.repository.move_tag(CODEBASE_VERSION)):
            self.progress.note(f"{self.cargo.address}: tag {CODEBASE_VERSION} names the last commit")
        return self._pushed(tuple(self.sent), self.bytes, tuple(self.deleted), self.commits)

    def _sent(self) -> Plan:
        """What was to be done, and is."""
        if not self.fresh:
            self.look()
        plan = self._plan()
        if not plan:
            return plan
        self.fresh = False
        batches = list(plan.batches())
        with self.progress.stage(f"upload {self.cargo.address}", in_kb(plan.bytes), "kB") as meter:
            arrived = in_kilobytes(meter.advance)
            for number, batch in enumerate(batches):
                words = f"Push {self.dataset.name} with quickdraw ({number + 1} of {len(batches)})"
                delete = plan.delete if number == 0 else ()
                self.repository.commit(batch, delete, words, arrived)
                self.sent |= dict.fromkeys(item.place for item in batch)
                self.deleted |= dict.fromkeys(delete)
                self.bytes += sum(item.bytes for item in batch)
                self.commits += 1
        return plan

    def _plan(self) -> Plan:
        held = self.held or NOTHING
        there = self.repository.read(CARD, held.head) if CARD in held.files else None
        if there is not None and is_somebodys(there) and not self.options.delete_others:
            card = item_of(CARD, there)
        else:
            card = card_item(self.dataset, self.cargo.address, self.cargo.split, there)
        cargo = replace(self.cargo, items={**self._items(), CARD: card})
        return plan_of(cargo, held, self.options.delete_others)

    def _items(self) -> Mapping[str, Item]:
        """What is to be there, the card apart."""
        return {place: item for place, item in self.cargo.items.items() if place != REPORT or not self.page_stays}

    def _pushed(self, sent: tuple[str, ...], size: int, deleted: tuple[str, ...], commits: int) -> Pushed:
        same = len(self._items()) + 1 - len(set(sent))
        return Pushed(self.cargo.address, self.repository.url, self.cargo.split, sent, size, deleted, same, commits)

    def tried[T](self, action: Callable[[], T]) -> T:
        """`action`, again where the Hub failed: as long as there are commits, and TRIES times without one."""
        tries, wait_s, commits = 1, FIRST_WAIT_S, self.commits
        while True:
            try:
                return action()
            except Unreached as error:
                if self.commits > commits:
                    tries, wait_s, commits = 0, FIRST_WAIT_S, self.commits
                at_once = isinstance(error, Unconnected) and not self.answered  # no network, most likely
                if error.wait_s is None or tries >= TRIES or at_once:
                    raise
                tries += 1
                pause_s = min(max(error.wait_s, wait_s), LONGEST_WAIT_S)
                self.progress.note(f"{error}; trying again in {pause_s:g} s")
                time.sleep(pause_s)
                wait_s *= 2
