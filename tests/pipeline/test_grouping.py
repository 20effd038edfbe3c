"""Faults and warnings of one cause are told once, with the first places and how many more; no other is lost."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.errors import Fault, Refused, Words
from quickdraw.pipeline.grouping import OTHERS, entries, told_once
from quickdraw.pipeline.refusals import EVERY, fault_lines, show


def not_ready(number: int, tree: str = "/tree") -> Fault:
    where = f"campaign3/recording_{number}"
    return Fault(where, "status", "'recording'", "'ready'", path=f"{tree}/{where}/run.json")


def gap(number: int, seconds: float, **told: str) -> Fault:
    where = f"campaign3/recording_{number}"
    found = f"{seconds} s between rows {number} and {number + 1}"
    return Fault(where, "gap", found, "at most 0.5 s", path=f"{where}/arm.jsonl", line=number, **told)


def test_forty_runs_with_the_same_fault_are_one_entry() -> None:
    (line,) = fault_lines(not_ready(n) for n in range(40))
    first = "campaign3/recording_0, campaign3/recording_1, campaign3/recording_2 and 37 more"
    assert line == f"{first}: run.json: status: found 'recording', expected 'ready'"


def test_three_are_still_told_one_by_one_and_in_full() -> None:
    faults = [not_ready(n) for n in range(3)]
    assert list(fault_lines(faults)) == [str(fault) for fault in faults]


def test_faults_that_differ_in_more_than_figures_are_not_put_together() -> None:
    faults = [Fault(f"c/r{n}", field, found, "one", option=option) for n in range(2) for field, found, option in (
        ("expo", "2.0", ""), ("expo", "'2.0'", ""), ("deadzone", "2.0", ""), ("expo", "2.0", "+x=y"))]  # fmt: skip
    assert [entry.faults for entry in entries(faults)] == [(fault,) for fault in faults]


def test_those_that_differ_in_figures_alone_are_and_it_is_said_whose_figures_are_told() -> None:
    (entry,) = entries(gap(n, 0.5 + n / 8, option="+source.on_gap=split") for n in range(1, 9))
    told = entry.told
    assert told.found == f"0.625 s between rows 1 and 2 {OTHERS}"
    assert (told.path, told.line, told.option) == ("arm.jsonl", None, "+source.on_gap=split")
    assert told.where.endswith("campaign3/recording_3 and 5 more")


def test_two_causes_with_many_runs_each_stay_two_though_they_differ_in_a_figure() -> None:
    faults = [Fault(f"c/r{n}", "expo", "1.5" if n % 2 else "3.0", "2.0") for n in range(20)]
    told = [entry.told for entry in entries(faults)]
    assert [(fault.found, fault.where) for fault in told] == [
        ("3.0", "c/r0, c/r2, c/r4 and 7 more"),
        ("1.5", "c/r1, c/r3, c/r5 and 7 more"),
    ]


def test_digits_of_a_name_are_no_figures() -> None:
    faults = [Fault(f"c/r{n}", "camera", f"uvc_{n}", "a camera") for n in range(9)]
    assert len(entries(faults)) == 9


def test_one_run_with_many_is_named_once() -> None:
    (entry,) = entries(Fault("c/r", "t", "NaN", "a number", path="c/r/a.jsonl", line=n) for n in range(1, 1001))
    assert str(entry.told) == "c/r (1,000 times): c/r/a.jsonl: t: found NaN, expected a number"


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a", "b 1", "b 2", "b 3", "b 4", "b 5"])), max_size=40))
def test_every_fault_is_in_one_entry_and_entries_come_where_their_first_is(told: list[tuple[int, str]]) -> None:
    faults = [Fault(f"c/{run}", "field", found, "other", line=n) for n, (run, found) in enumerate(told)]
    found = entries(faults)
    assert sorted((fault for entry in found for fault in entry.faults), key=faults.index) == faults
    firsts = [faults.index(entry.faults[0]) for entry in found]
    assert firsts == sorted(firsts)
    for entry in found:
        assert [faults.index(fault) for fault in entry.faults] == sorted(map(faults.index, entry.faults))
        assert len(entry.faults) == 1 or len(entry.faults) > 3


def test_a_warning_of_many_episodes_is_told_once_and_one_of_the_tree_as_it_is() -> None:
    episodes = [f"task/episode_{n}" for n in range(5)]
    warnings = ["the hand is not known: its pose is left out"]
    warnings += [f"{name}: hardware_ns is cut to 32 bits: nothing is aligned by it" for name in episodes]
    warnings += [f"{name}: the last row is left out: cam has {n + 7} pictures for {n + 8} frames"
                 for n, name in enumerate(episodes)]  # fmt: skip
    warnings += [f"{episodes[1]}: only here", f"{episodes[2]}: twice", f"{episodes[4]}: twice"]
    more = "task/episode_0, task/episode_1, task/episode_2 and 2 more"
    assert list(told_once(warnings, episodes)) == [
        warnings[0],
        f"{more}: hardware_ns is cut to 32 bits: nothing is aligned by it",
        f"{more}: the last row is left out: cam has 7 pictures for 8 frames {OTHERS}",
        "task/episode_1: only here",
        "task/episode_2, task/episode_4: twice",
    ]


def test_a_refusal_tells_how_many_there_are_and_where_each_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    faults = [not_ready(n) for n in range(40)] + [Fault("source", "disk", "1.0 MB free", "about 2.0 MB")]
    random.Random(1).shuffle(faults)
    show(Refused(faults, 50), ["do this"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert lines[2:] == ["refused: 41 faults in 40 of 50 runs; nothing was published", EVERY, "do this"]
    show(Refused(faults, 50, Words("task", "episode", "")), every=True)
    lines = capsys.readouterr().err.splitlines()
    assert sorted(lines[:-1]) == sorted(map(str, faults))
    assert lines[-1] == "refused: 41 faults in 40 of 50 episodes; nothing was published"
    assert sys.stderr is not None
