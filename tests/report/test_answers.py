"""What the head of a page answers at a glance, and the names in tables that may break."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from quickdraw.pipeline.verify.report import Curve, Report
from quickdraw.report.head import head_of
from quickdraw.report.page import page
from quickdraw.report.parts import Cell, Column, Section, Table
from quickdraw.report.subject import Subject, subject_of

NOTHING = Report("d", {"files": 3, "rows": 1}, (), (), (), files=0, rows=0, pictures=0, seconds=0.0)


@pytest.fixture(scope="module")
def subject(sample_dataset: Path) -> Subject:
    return subject_of(sample_dataset, NOTHING)


def _curve(verdict: str) -> Curve:
    values = (1.0, 0.5, 1.0)
    return Curve("val", 0, "left", (-1, 0, 1), values, {}, rows=60, verdict=verdict)


def _state(subject: Subject, checked: Report, said: str) -> str:
    found = {answer.said: answer.state for answer in head_of(replace(subject, checked=checked)).answers}
    return found[said]


def test_the_head_answers_whether_pictures_belong_to_their_rows(subject: Subject) -> None:
    aligned, flat, shifted = map(_curve, ("aligned", "flat", "shifted"))
    for curves, state, said in (
        ((), "open", "Pictures not held against raw videos"),
        ((flat,), "open", "Pictures show still scenes"),
        ((aligned, flat), "sound", "Clips show the pictures planned for their rows"),
        ((aligned, shifted), "unsound", "Clips show other pictures than were planned"),
    ):
        assert _state(subject, replace(NOTHING, curves=curves), said) == state


def test_the_head_tells_the_farthest_sample_and_the_worst_stream(subject: Subject, sample_dataset: Path) -> None:
    episodes = json.loads((sample_dataset / "provenance.json").read_text())["episodes"]
    table = pd.DataFrame([{"stream": name, "rows": episode["frames"], **told}
                          for episode in episodes for name, told in episode["displacement"].items()])  # fmt: skip
    table["past"] = table["past_bound"] * table["rows"]
    sums = table.groupby("stream")[["past", "rows"]].sum()
    (answer,) = [each for each in head_of(subject).answers if each.section == "displacements"]
    assert f"{1e3 * table['max_s'].max():.1f} ms" in answer.said
    assert f"{100 * (sums['past'] / sums['rows']).max():.1f} %" in answer.known
    assert answer.state == "open"


def test_a_refused_run_is_no_sound_answer(subject: Subject) -> None:
    assert subject.trace is not None
    trace = msgspec.structs.replace(subject.trace, refused_runs={"a/b": ("late",)})
    assert _state(replace(subject, trace=trace), NOTHING, "1 run refused") == "unsound"
    assert _state(subject, NOTHING, "No run refused") == "sound"


def test_answers_lead_to_sections_that_are_there(subject: Subject, read_html: Callable[[str], Any]) -> None:
    proof = Section("proof", "Proof", "", ())
    for sections, expected in (([proof], True), ([], False)):
        held = read_html(page(subject, sections, None))
        assert ("#proof" in [told["href"] for tag, told in held.tags if tag == "a"]) == expected


def test_long_names_may_break_where_words_meet(subject: Subject) -> None:
    name = "observation.gripper_2_right_force_matrix_sum_<b>"
    table = Table("t", "c", (Column("eval_purple: off"),), ((Cell("a_b"),), (Cell(name),)))
    html = page(subject, [Section("s", "S", "", (table,))], None)
    assert "eval_<wbr>purple: off" in html
    assert "<td>a_b</td>" in html
    assert "sum_&lt;b&gt;" in html
    assert "observation.<wbr>gripper_<wbr>2_<wbr>right" in html
