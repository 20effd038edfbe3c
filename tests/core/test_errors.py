"""Errors cross process borders whole, and say place, found and expected."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import quickdraw.errors
from quickdraw.errors import Fault, InvariantError, NoWorkers, QuickdrawError, Refused, VideoError, WorkerDied

FAULT = Fault(
    "campaign3/recording_1", "move_x", "'a'", "a number", path="/d/raw/controller.jsonl", line=7, option="+x="
)
ERRORS: list[QuickdrawError] = [
    QuickdrawError("anything"),
    Refused([FAULT, Fault("command line", "option", "drr", "one of dir")]),
    Refused([]),
    VideoError("/d/video/a.mp4", "99 pictures", "100, one per capture stamp"),
    InvariantError("a.mp4: 3 pictures for 4 rows"),
    WorkerDied("a worker process died"),
    NoWorkers("worker processes die as they start"),
]


def test_every_exception_class_of_the_tree_is_among_those_that_are_pickled_here() -> None:
    classes = [c for _, c in inspect.getmembers(quickdraw.errors, inspect.isclass) if issubclass(c, Exception)]
    assert {type(error) for error in ERRORS} == set(classes)
    assert all(issubclass(c, QuickdrawError) for c in classes)


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_pickles_whole(error: QuickdrawError, protocol: int) -> None:
    back = pickle.loads(pickle.dumps(error, protocol))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_fault_pickles_whole(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(FAULT, protocol)) == FAULT == copy.deepcopy(FAULT)


def test_an_error_keeps_its_notes_and_its_cause_is_no_part_of_its_message() -> None:
    error = VideoError("a.mp4", "no video stream", "one video stream")
    assert (error.path, error.found, error.expected) == ("a.mp4", "no video stream", "one video stream")
    assert str(error) == "a.mp4: found no video stream, expected one video stream"


def test_a_fault_says_where_in_which_line_what_was_found_what_expected_and_what_would_accept_it() -> None:
    assert str(FAULT) == (
        "campaign3/recording_1: /d/raw/controller.jsonl:7: move_x: found 'a', expected a number; override: +x="
    )
    assert str(Fault("w", "f", "a", "b")) == "w: f: found a, expected b"
    assert str(Fault("w", "f", "a", "b", path="p")) == "w: p: f: found a, expected b"


def test_a_refusal_carries_every_fault_and_one_line_each() -> None:
    refusal = Refused(fault for fault in (FAULT, FAULT))
    assert refusal.faults == (FAULT, FAULT)
    assert str(refusal).splitlines() == [str(FAULT), str(FAULT)]
