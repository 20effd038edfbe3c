"""What a reader asks of a dataset first, each answered in a line: whether it is right, and how that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from quickdraw.pipeline.amounts import counted
from quickdraw.pipeline.verify.report import ALIGNED
from quickdraw.report.subject import Subject, Trace

State = Literal["sound", "unsound", "open"]
MS: Final = 1e3


@dataclass(frozen=True, slots=True)
class Answer:
    """`state` is open where there is no right or wrong; `section` is the one of the page that tells more."""

    state: State
    said: str
    known: str
    section: str


def answers_of(subject: Subject) -> Iterator[Answer]:
    """Of checks and pictures always, of times and what was left out where the dataset says what it was built from."""
    yield _checks(subject)
    if any(split.cameras for split in subject.splits.values()):
        yield _pictures(subject)
    if subject.trace is not None:
        yield from _times(subject.trace)
        yield _refused(subject.trace)


def _checks(subject: Subject) -> Answer:
    checked = subject.checked
    things = counted(sum(checked.checks.values()), "thing")
    known = (
        f"by {counted(len(checked.checks), 'check')} of {things} in files, rows and metadata; no picture was decoded"
    )
    if checked.sound:
        return Answer("sound", "Nothing wrong found", known, "proof")
    return Answer("unsound", counted(len(checked.findings), "finding"), known, "proof")


def _pictures(subject: Subject) -> Answer:
    verdicts = Counter(curve.verdict for curve in subject.checked.curves)
    number = verdicts.total()
    if not number:
        return Answer("open", "Pictures not held against raw videos", "no shift curves were measured", "proof")
    if verdicts["shifted"]:
        known = f"in {verdicts['shifted']} of {counted(number, 'sample')} held against the raw videos"
        return Answer("unsound", "Clips show other pictures than were planned", known, "proof")
    still = f"; {verdicts['flat']} of a still scene prove nothing" if verdicts["flat"] else ""
    known = f"in {verdicts[ALIGNED]} of {counted(number, 'sample')}: raw videos fit best at the row's own time{still}"
    if not verdicts[ALIGNED]:
        return Answer("open", "Pictures show still scenes", known, "proof")
    return Answer("sound", "Clips show the pictures planned for their rows", known, "proof")


def _times(trace: Trace) -> Iterator[Answer]:
    """How far the farthest sample is from its row, and how many rows of the worst stream are beyond the bound."""
    told = [(moved.max_s, name) for episode in trace.episodes for name, moved in episode.displacement.items()]
    if not told:
        return
    rows, past = Counter[str](), Counter[str]()
    for episode in trace.episodes:
        for name, moved in episode.displacement.items():
            rows[name] += episode.frames
            past[name] += round(moved.past_bound * episode.frames)
    (most_s, farthest), worst = max(told), max(rows, key=lambda name: past[name] / max(1, rows[name]))
    share = 100 * past[worst] / max(1, rows[worst])
    known = f"({farthest}); at most {share:.1f} % of a stream's rows lie past its bound ({worst})"
    yield Answer("open", f"No sample is more than {most_s * MS:.1f} ms from its row's time", known, "displacements")


def _refused(trace: Trace) -> Answer:
    number = len(trace.refused_runs)
    if number:
        return Answer("unsound", f"{counted(number, 'run')} refused", "for what is wrong in the recording", "refused")
    left = len(trace.excluded_runs) + len(trace.excluded_campaigns) + len(trace.ignored)
    known = f"{left:,} left out by the configuration or their name" if left else "everything that was found is in it"
    return Answer("sound", "No run refused", known, "refused")
