"""What is made from a dataset for people to look at: its page and its card, written into it, and made again any time.

They are no part of the dataset: it is published before they are made, and is the same whether they are there or not.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from quickdraw.errors import Fault, Refused, VideoError, WorkerDied
from quickdraw.formats.durable import lay_aside, sync
from quickdraw.pipeline.places import CARD, INVENTORY, PROVENANCE, REPORT
from quickdraw.pipeline.refusals import failure
from quickdraw.pipeline.view_files import is_own_text, is_stale, obstructed, stamp_in, stamp_of

if TYPE_CHECKING:
    from quickdraw.pipeline.executors import Executor
    from quickdraw.pipeline.progress import Progress
    from quickdraw.report.subject import Subject

VERSION = 2  # of pages and cards: raised whenever the same dataset would get others


def are_current(dataset: Path) -> bool:
    """Whether both views are there, made of what the dataset holds now; a card that is somebody's own is right."""
    stamp, card = stamp_of(dataset, VERSION), dataset / CARD
    return stamp is not None and stamp == stamp_in(dataset / REPORT) and (stamp == stamp_in(card) or is_own_text(card))


def refresh(dataset: Path, executor: Executor, progress: Progress, *, wanted: bool = True) -> str:
    """Make the views of what was published just now, unless they are there; why that failed, or nothing.

    Where they are not `wanted`, or cannot be made, none is left that tells of what was there before.
    """

    def make() -> None:
        if wanted and not are_current(dataset):
            write_views(dataset, executor, progress)

    failed = [why for step in (make, lambda: _drop_stale(dataset)) if (why := _failure_of(step)) is not None]
    return f"the dataset is published, but its page could not be written: {'; '.join(failed)}" if failed else ""


def _failure_of(step: Callable[[], None]) -> str | None:
    """Do it; why it failed, None where it did not. A bug is told with its traceback, and costs no dataset either."""
    try:
        step()
    except (Refused, VideoError, WorkerDied, OSError) as error:
        return failure(error) or type(error).__name__
    except Exception as error:
        with suppress(OSError):
            if sys.stderr is not None:
                traceback.print_exception(error)
        return f"a fault of ours, {type(error).__name__}: {error}"
    return None


def _drop_stale(dataset: Path) -> None:
    """Take away what tells of another dataset; a card that holds somebody's words is made anew, with them."""
    from quickdraw.pipeline.verify.report import Report
    from quickdraw.report.cards.card import kept
    from quickdraw.report.subject import subject_of

    page, card, stamp = dataset / REPORT, dataset / CARD, stamp_of(dataset, VERSION)
    if is_stale(page):
        page.unlink()
    if not is_stale(card):
        return
    if stamp and kept(card.read_text(encoding="utf-8", errors="replace")):
        _write({card: _card(subject_of(dataset, Report.unchecked()), stamp)})
    else:
        card.unlink()


def write_views(dataset: Path, executor: Executor, progress: Progress) -> tuple[Path, ...]:
    """Write the page and the card of a dataset we built into it; the files that were written.

    A card that is there hands on what a person wrote between its marks; one that is not ours is left alone. Raises
    Refused where the dataset is none of ours, or something else is in a view's place, and OSError; what was there is
    there still then.
    """
    stamp = stamp_of(dataset, VERSION)
    if stamp is None or not (dataset / PROVENANCE).exists():
        found = "not of a build whose files are listed"
        expected = f"a dataset built by quickdraw, with {INVENTORY} and {PROVENANCE}"
        raise Refused([Fault(str(dataset), "views", found, expected, option="--out <file>")])
    _refuse_obstructed(dataset)
    own_text = is_own_text(dataset / CARD)
    subject, html = _made(dataset, stamp, executor, progress)
    written = {dataset / REPORT: html}
    if own_text:
        progress.note(f"warning: {dataset / CARD} is not quickdraw's and stays as it is: no dataset card was written")
    else:
        written[dataset / CARD] = _card(subject, stamp)
    _write(written)
    return tuple(written)


def write_page(dataset: Path, out: Path, executor: Executor, progress: Progress) -> Path:
    """Write the page of any LeRobot v3.0 dataset to a file; of one of ours, the very bytes that are written into it.

    What is there is replaced. Raises Refused where there is no split, or the file cannot be there, and OSError.
    """
    if (found := _unfit(out, dataset)) is not None:
        expected = "a file outside the dataset, in a folder that is there"
        raise Refused([Fault("--out", "file", found, expected, path=str(out))])
    _, html = _made(dataset, stamp_of(dataset, VERSION), executor, progress)
    _write({out: html})
    return out


def _unfit(out: Path, dataset: Path) -> str | None:
    """Why a page must not be put to a place, if it must not: in a dataset `write_views` alone knows what to replace."""
    if out.is_dir():
        return "a folder"
    if out.exists() and not out.is_file():
        return "no file"
    if not out.parent.is_dir():
        return "a folder that is not there"
    return "a place inside the dataset" if out.resolve().is_relative_to(dataset.resolve()) else None


def _refuse_obstructed(dataset: Path) -> None:
    expected = "a file of quickdraw's, or nothing: please move it"
    faults = [
        Fault(str(dataset), name, what, expected, path=str(dataset / name), option="--out <file>")
        for name, what in obstructed(dataset).items()
    ]
    if faults:
        raise Refused(faults)


def _made(dataset: Path, stamp: str | None, executor: Executor, progress: Progress) -> tuple[Subject, bytes]:
    """What the page is about, and the page: its sections are made where tasks run, a task each."""
    from quickdraw.pipeline.verify.verify import structure_report
    from quickdraw.report.page import SECTIONS, SectionTask, make_section, page
    from quickdraw.report.subject import subject_of

    checked = structure_report(dataset, executor)
    subject = subject_of(dataset, checked)
    call = f"{os.getpid()} {time.monotonic_ns()}"
    tasks = [SectionTask(dataset, checked, number, call) for number in range(len(SECTIONS))]
    made = {}
    with progress.stage("report", len(tasks), "sections") as meter:
        for number, section in executor.run(make_section, tasks):
            made[number] = section
            meter.advance(1)
    sections = [section for number in sorted(made) if (section := made[number]) is not None]
    return subject, page(subject, sections, stamp).encode(errors="backslashreplace")


def _card(subject: Subject, stamp: str) -> bytes:
    """The card, with what a person wrote into the one that is there."""
    from quickdraw.report.cards.card import card, kept

    path = subject.root / CARD
    there = kept(path.read_text(encoding="utf-8", errors="replace")) if path.exists() else None
    return card(subject, there, stamp=stamp).encode(errors="backslashreplace")


def _write(files: dict[Path, bytes]) -> None:
    """Put files in their places when all of them are on the disk.

    A disk that is full changes nothing. A death between the two leaves one of them old, by whose stamp both are made
    again.
    """
    with ExitStack() as laid:
        fresh = dict[Path, Path]()
        for path, content in files.items():
            fresh[path] = lay_aside(path, [content])
            laid.callback(fresh[path].unlink, missing_ok=True)
        for path in files:
            fresh[path].replace(path)
    for folder in dict.fromkeys(path.parent for path in files):
        sync(folder)
