"""CONTRACT.md, held to the tests that exist: a rule whose test is renamed or removed is a rule that nothing proves."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("CONTRACT.md")
REPOSITORY = Path(__file__).resolve().parents[3]
HEADINGS = {"Rules": 75, "Closing checklist": 10, "Pitfalls": 71}  # a row less is one that was lost
PITFALLS = [  # of the fact sheet, section 14
    *range(1, 14),  # rows and time
    *range(20, 34),  # force matrix
    *range(40, 48),  # numbering
    *range(50, 58),  # statistics
    *range(60, 71),  # files, atomicity, legacy
    *range(80, 88),  # depth and video
    *range(90, 99),  # upload
]
NOT_OURS = {32, 33, 90, 91, 92, 93, 94, 95}
SECTIONS = {"1", "2", "3", "4", "5", "6.1", "6.2", "7", "7.1", "7.2", "7.2.1", "7.3", "7.4", "7.5", "8", "9", "10"}
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows(heading: str) -> list[list[str]]:
    """The cells of a heading's table, without its head."""
    text = TABLE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@cache
def functions(path: Path) -> frozenset[str]:
    """The tests a file defines for pytest to collect."""
    if not path.is_file():
        return frozenset()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(each.name for each in body if isinstance(each, ast.FunctionDef))


def test_every_test_that_is_named_exists() -> None:
    named = set(NAMED.findall(TABLE.read_text(encoding="utf-8")))
    assert len(named) > 200
    assert sorted(f"{path}::{name}" for path, name in named if name not in functions(REPOSITORY / path)) == []


def test_every_name_in_backticks_that_looks_like_a_test_is_read_as_one() -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert text.count("::") == len(NAMED.findall(text))


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_row_names_a_test_or_says_why_it_is_not_ours(heading: str) -> None:
    found = rows(heading)
    assert len(found) == HEADINGS[heading]
    assert [cells for cells in found if len(cells) != 3 or not all(cells)] == []
    without = {cells[0] for cells in found if not NAMED.search(cells[2])}
    reasons = {cells[0] for cells in found if cells[2].startswith("Not ours: ")}
    assert without <= reasons
    assert reasons == ({f"P-{number}" for number in NOT_OURS} if heading == "Pitfalls" else set())


def test_every_section_of_the_contract_has_rules_and_every_point_of_its_checklist_a_row() -> None:
    assert {section for section, _, _ in rows("Rules")} == SECTIONS
    assert [point for point, _, _ in rows("Closing checklist")] == [str(point) for point in range(1, 11)]


def test_every_must_of_the_contract_is_a_rule() -> None:
    """Its text has the word 18 times, MUST NOT among them; here they are by section."""
    found = [section for section, rule, _ in rows("Rules") if rule.startswith("**MUST")]
    assert {section: found.count(section) for section in found} == {
        "1": 2, "2": 2, "4": 2, "5": 1, "6.1": 3, "6.2": 2, "7.2.1": 1, "7.4": 1, "7.5": 1, "8": 2, "9": 1,
    }  # fmt: skip


def test_every_pitfall_of_the_sheet_has_a_row() -> None:
    assert [pitfall for pitfall, _, _ in rows("Pitfalls")] == [f"P-{number}" for number in PITFALLS]
