"""The report as a person sees it: Debian's Chromium opens the file, and nothing errs, is fetched or runs over."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REPORTS = ("sample_report", "pooled_report")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LEAST_CONTRAST = 4.5  # WCAG 2.1, 1.4.3
# Of every element with text of its own: the text, its colour and the colour behind it.
COLOURS = """() => [...document.body.querySelectorAll('*')].flatMap(element => {
  const text = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
  if (!text || element.closest('script, style') || !element.checkVisibility()) return [];
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
  const style = getComputedStyle(element);
  const colour = element.closest('svg') ? style.fill : style.color;
  return [[text, colour, behind ? getComputedStyle(behind).backgroundColor : 'none']];
})"""


@dataclass
class Opened:
    """A page that is open, what went wrong on it, and what it asked for."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        say = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        say("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """`opened(path, width=1280, scheme="light", scripts=True)`: the file at `path`, shown."""
    contexts = []

    def opening(
        path: Path, *, width: int = 1280, scheme: Literal["light", "dark"] = "light", scripts: bool = True
    ) -> Opened:
        viewport: Any = {"width": width, "height": 900}
        context = browser.new_context(
            viewport=viewport, color_scheme=scheme, java_script_enabled=scripts, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        seen = Opened(page)
        page.on("console", lambda said: seen.problems.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: seen.problems.append(f"error: {error}"))
        page.on("requestfailed", lambda request: seen.problems.append(f"failed: {request.url}"))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(path.as_uri())
        return seen

    yield opening
    for context in contexts:
        context.close()


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def test_nothing_errs_and_nothing_but_the_file_is_asked_for(report: Path, opened: Callable[..., Opened]) -> None:
    seen = opened(report)
    seen.page.wait_for_timeout(200)
    assert seen.problems == []
    assert [url for url in seen.requests if not url.startswith("data:")] == [report.as_uri()]
    assert seen.page.locator("main section").count() >= 3
    images = seen.page.evaluate("[...document.images].map(image => [image.complete, image.naturalWidth])")
    assert all(complete and width > 0 for complete, width in images)


def test_an_error_or_a_request_would_be_seen(tmp_path: Path, opened: Callable[..., Opened]) -> None:
    path = tmp_path / "bad.html"
    path.write_text(
        "<img src='http://127.0.0.1:9/x.png'><script>console.error('said'); throw new Error('thrown')</script>"
    )
    seen = opened(path)
    seen.page.wait_for_timeout(200)
    assert "http://127.0.0.1:9/x.png" in seen.requests
    assert any("said" in problem for problem in seen.problems)
    assert any("thrown" in problem for problem in seen.problems)
    assert any(problem.startswith("failed: http") for problem in seen.problems)


def test_the_page_forbids_what_it_does_not_hold(
    sample_report: Path, tmp_path: Path, opened: Callable[..., Opened]
) -> None:
    path = tmp_path / "attacked.html"
    attack = "<script>document.title = 'taken'</script><img src='http://127.0.0.1:9/x.png' onerror='document.title=1'>"
    path.write_text(sample_report.read_text().replace("<main", attack + "<main"))
    seen = opened(path)
    seen.page.wait_for_timeout(200)
    assert "dataset report" in seen.page.title()
    assert len([problem for problem in seen.problems if "Content Security Policy" in problem]) >= 2


def _column(page: Page, table: str, place: int) -> list[tuple[str, str | None]]:
    """What the cells of a column show, and their keys, from top to bottom."""
    script = "(rows, place) => rows.map(row => [row.cells[place].textContent, row.cells[place].dataset.key ?? null])"
    cells = page.locator(f"{table} tbody tr").evaluate_all(script, place)
    return [(text, key) for text, key in cells]


def _number(cell: tuple[str, str | None]) -> float | None:
    """What a cell is sorted by, found another way than the page does; None where it says no number."""
    text, key = cell
    if key is not None:
        return float(key)
    found = re.match(r"\s*-?[\d,]*\.?\d+(e-?\d+)?", text)
    return float(found[0].replace(",", "")) if found else None


def _sortable_column(page: Page) -> tuple[str, int]:
    """A sortable table and a column of numbers in it that is not in order yet."""
    for number in range(page.locator("table[data-sortable]").count()):
        page.locator("table[data-sortable]").nth(number).evaluate(
            "(table, name) => table.id = name", f"tested-{number}"
        )
        table = f"#tested-{number}"
        for place in range(page.locator(f"{table} th").count()):
            head = page.locator(f"{table} th").nth(place)
            values = [value for cell in _column(page, table, place) if (value := _number(cell)) is not None]
            if "number" in (head.get_attribute("class") or "") and values != sorted(values):
                return table, place
    raise AssertionError("no sortable table has a column of numbers that is out of order")


def test_a_table_is_sorted_by_a_click_and_by_the_keyboard(sample_report: Path, opened: Callable[..., Opened]) -> None:
    page = opened(sample_report).page
    table, place = _sortable_column(page)
    head, others = page.locator(f"{table} th").nth(place), page.locator(f"{table} th[aria-sort]")
    before = page.locator(f"{table} tbody tr").all_text_contents()

    def values() -> list[float]:
        return [value for cell in _column(page, table, place) if (value := _number(cell)) is not None]

    ascending = sorted(values())
    head.locator("button").click()
    assert values() == ascending
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert values() == ascending[::-1]
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert values() == ascending
    assert others.count() == 1
    assert sorted(page.locator(f"{table} tbody tr").all_text_contents()) == sorted(before)
    page.keyboard.press("Shift+Tab" if place else "Tab")
    page.keyboard.press("Enter")
    assert others.count() == 1
    assert head.get_attribute("aria-sort") is None


def _luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_stands_out_in_light_and_in_dark(report: Path, opened: Callable[..., Opened]) -> None:
    papers = set()
    for scheme in SCHEMES:
        page = opened(report, scheme=scheme).page
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        told = page.evaluate(COLOURS)
        faint = {
            (text[:40], colour, behind) for text, colour, behind in told if _contrast(colour, behind) < LEAST_CONTRAST
        }
        assert len(told) > 50
        assert faint == set()
    assert len(papers) == 2


@pytest.mark.parametrize("scripts", [True, False])
def test_the_switch_changes_colours_without_keeping_anything(
    sample_report: Path, opened: Callable[..., Opened], scripts: bool
) -> None:
    page = opened(sample_report, scheme="light", scripts=scripts).page
    before = page.screenshot(clip={"x": 0, "y": 0, "width": 20, "height": 20})
    page.locator("label:has(#theme-dark)").click()
    dark = page.screenshot(clip={"x": 0, "y": 0, "width": 20, "height": 20})
    page.locator("label:has(#theme-light)").click()
    assert before != dark
    assert page.screenshot(clip={"x": 0, "y": 0, "width": 20, "height": 20}) == before
    assert page.context.storage_state() == {"cookies": [], "origins": []}


def test_it_reads_without_scripts(report: Path, opened: Callable[..., Opened]) -> None:
    page = opened(report, scripts=False).page
    titles = page.locator("main h2").all_text_contents()
    assert page.locator("nav.contents a").all_text_contents() == titles
    assert all(heading.is_visible() for heading in page.locator("main h2").all())
    assert page.locator("th button").count() == 0


@pytest.mark.parametrize("width", [320, 400, 1280])
def test_no_page_is_wider_than_its_window(report: Path, opened: Callable[..., Opened], width: int) -> None:
    page = opened(report, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("nav.contents").is_visible() == (width > 960)
    assert page.locator("details.fold").is_visible() == (width <= 960)


def test_contents_fold_on_a_narrow_page(sample_report: Path, opened: Callable[..., Opened]) -> None:
    page = opened(sample_report, width=400).page
    fold, link = page.locator("details.fold"), page.locator("details.fold a").last
    assert not link.is_visible()
    fold.locator("summary").click()
    assert link.is_visible()
    link.click()
    assert not link.is_visible()
    last = page.locator("main section").last
    expect(last).to_be_in_viewport()
    assert page.url.endswith("#" + (last.get_attribute("id") or ""))


def test_every_box_that_scrolls_can_be_reached_and_is_named(report: Path, opened: Callable[..., Opened]) -> None:
    page = opened(report, width=400).page
    boxes = page.locator(".box").all()
    assert boxes
    for box in boxes:
        assert (box.get_attribute("tabindex"), box.get_attribute("role")) == ("0", "region")
        assert page.locator(f"#{box.get_attribute('aria-labelledby')}").inner_text().strip()


def test_it_prints_in_light_with_all_rows_and_no_controls(sample_report: Path, opened: Callable[..., Opened]) -> None:
    page = opened(sample_report, scheme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".themes").is_visible()
    assert page.evaluate(
        "[...document.querySelectorAll('.box')].every(box => box.scrollHeight <= box.clientHeight + 1)"
    )
    assert len(page.pdf()) > 10_000


def test_screenshots_are_there_to_be_looked_at(
    sample_report: Path, opened: Callable[..., Opened], tmp_path: Path
) -> None:
    shots: tuple[tuple[str, int, Literal["light", "dark"]], ...] = (
        ("wide", 1280, "light"),
        ("narrow", 400, "light"),
        ("dark", 1280, "dark"),
    )
    for name, width, scheme in shots:
        path = tmp_path / f"report_{name}.png"
        opened(sample_report, width=width, scheme=scheme).page.screenshot(path=path, full_page=True)
        print(path)
        picture = cv2.imread(str(path))
        assert len(np.unique(picture.reshape(-1, 3)[::97], axis=0)) > 100  # it shows more than a page that is blank
