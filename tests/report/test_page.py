"""The page as a file: the same bytes for the same build, well-formed, whole in itself, and every name shown as text."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quickdraw.errors import Fault
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.amounts import duration
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify.report import Report
from quickdraw.report import page as page_module
from quickdraw.report.head import head_of
from quickdraw.report.page import SectionTask, make_section, page
from quickdraw.report.parts import Cell, Column, Drawing, Part, Photograph, Section, Table, Words
from quickdraw.report.subject import Subject, subject_of
from quickdraw.report.views import write_page, write_views

HOSTILE = (
    "<script>alert('x')</script>",
    "\"><img src=http://evil.example/x onerror=alert(1)>",
    "a'b\"c&amp;d</td></table>",
    "積み木-左カメラ",
    "../../etc/passwd",
    "{{ 7 * 7 }} {% raw %}",
    "back\x1b[31mslash\\ \x00 \u202egnp.exe",
)  # fmt: skip
ORDER = ["built", "refused", "strips", "proof", "episodes", "displacements", "lengths", "distributions", "orientation",
         "cube_tracks", "driving", "made"]  # fmt: skip
NOTHING = Report("d", {"files": 3, "rows": 1}, (), (), (), files=0, rows=0, pictures=0, seconds=0.0)


@pytest.fixture(scope="module")
def subject(sample_dataset: Path) -> Subject:
    return subject_of(sample_dataset, NOTHING)


@pytest.fixture(params=["sample_report", "pooled_report"])
def report(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def test_it_is_well_formed_and_asks_for_nothing(report: Path, read_html: Callable[[str], Any]) -> None:
    held = read_html(report.read_text(encoding="utf-8"))
    assert held.faults == []
    assert [name for name, number in Counter(held.ids).items() if number > 1] == []
    assert [name for name in held.ids if not name or re.search(r"\s", name)] == []
    outside = [address for address in held.addresses if not address.startswith(("#", "data:"))]
    assert outside == []
    inside = {address[1:] for address in held.addresses if address.startswith("#")}
    assert inside <= set(held.ids)
    referred = {name for tag, told in held.tags for name in (told.get("aria-labelledby") or "").split()}
    assert referred <= set(held.ids)


def test_every_picture_is_told_in_words_and_headings_have_no_gap(report: Path, read_html: Callable[[str], Any]) -> None:
    held = read_html(report.read_text(encoding="utf-8"))
    pictures = [told.get("alt") if tag == "img" else told.get("aria-label") for tag, told in held.tags
                if tag == "img" or (tag == "svg")]  # fmt: skip
    assert pictures
    assert all(told and len(told) > 10 for told in pictures)
    levels = [int(tag[1]) for tag, _ in held.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_it_says_neither_where_nor_when(report: Path, sample_dataset: Path, pooled_dataset: Path) -> None:
    text = re.sub(r'base64,[^"]*', "", report.read_text(encoding="utf-8"))
    for place in (str(sample_dataset.parent), str(pooled_dataset.parent), str(Path.home()), "/tmp/"):
        assert place not in text
    assert re.search(rf"\b{re.escape(platform.node())}\b", text) is None
    assert time.strftime("%Y-%m-%d") not in text
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:", text) is None


def test_sections_come_in_the_order_of_the_page() -> None:
    assert [section.__name__.removesuffix("_section") for section in page_module.SECTIONS] == ORDER


def test_it_is_no_larger_than_can_be_sent_around(report: Path) -> None:
    assert report.stat().st_size < 3_000_000


def test_bytes_are_the_same_elsewhere_in_another_process_without_workers(
    own_dataset: Path, sample_dataset: Path
) -> None:
    written = write_views(own_dataset, Inline(), PlainProgress())
    assert [path.name for path in written] == ["report.html", "README.md"]
    for path in written:
        assert path.read_bytes() == (sample_dataset / path.name).read_bytes()


def test_a_page_that_goes_elsewhere_has_the_same_bytes(pooled_dataset: Path, tmp_path: Path) -> None:
    write_page(pooled_dataset, tmp_path / "page.html", Inline(), PlainProgress())
    assert (tmp_path / "page.html").read_bytes() == (pooled_dataset / "report.html").read_bytes()


@pytest.mark.parametrize("function", ["lengths_section", "orientation_section"])
def test_a_matplotlibrc_of_the_users_changes_no_byte(function: str, sample_dataset: Path) -> None:
    import matplotlib as mpl

    (number,) = (at for at, each in enumerate(page_module.SECTIONS) if each.__name__ == function)
    plain = make_section(SectionTask(sample_dataset, NOTHING, number, "plain"))
    odd = {"lines.linewidth": 9.0, "font.family": ["serif"], "axes.linewidth": 5.0, "xtick.direction": "in"}
    with mpl.rc_context({**odd, "axes.titlesize": 30, "legend.loc": "center", "figure.dpi": 37.0}):
        assert make_section(SectionTask(sample_dataset, NOTHING, number, "odd")) == plain
        assert mpl.rcParams["lines.linewidth"] == 9


def test_plots_are_made_by_workers_alone() -> None:
    script = "import sys, quickdraw.report.page; print({'matplotlib', 'jinja2', 'scipy', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def _hostile_section() -> Section:
    columns = tuple(Column(name, unit="<i>") for name in HOSTILE)
    rows = (tuple(Cell(name, key=float(number), mark=True) for number, name in enumerate(HOSTILE)),)
    parts: tuple[Part, ...] = (
        *(Words(name, warning=number % 2 == 0) for number, name in enumerate(HOSTILE)),
        *(Table(name, name, columns, rows, sortable=True) for name in HOSTILE),
        Drawing(HOSTILE[0], HOSTILE[1], "what it shows", "<svg></svg>"),
        Photograph(HOSTILE[1], HOSTILE[2], HOSTILE[1], b"RIFF", "image/webp"),
    )
    return Section(HOSTILE[0], HOSTILE[1], HOSTILE[2], parts)


def test_names_of_anybody_are_shown_as_text(subject: Subject, read_html: Callable[[str], Any]) -> None:
    assert subject.trace is not None
    named = msgspec.structs.replace(subject.trace, name=HOSTILE[0], processor=HOSTILE[1])
    checked = replace(NOTHING, findings=(Fault(*HOSTILE[:4]),))
    splits = {**subject.splits, HOSTILE[1]: subject.splits["val"]}
    section = _hostile_section()
    html = page(Subject(subject.root, splits, named, checked), [section, section], None)
    plain = page(Subject(subject.root, subject.splits, subject.trace, checked), [], None)
    held, without = read_html(html), read_html(plain)
    assert held.faults == []
    assert len(held.ids) == len(set(held.ids))
    assert Counter(tag for tag, _ in held.tags)["script"] == Counter(tag for tag, _ in without.tags)["script"] == 1
    assert not [told for _, told in held.tags if any(name.startswith("on") for name in told)]
    assert all(address.startswith(("#", "data:")) for address in held.addresses)
    for name in HOSTILE[:6]:
        assert name in held.text
    assert r"back\x1b[31mslash\ \x00 \u202egnp.exe" in held.text
    html.encode("utf-8")


def test_lone_surrogates_of_odd_file_names_are_written_out(subject: Subject) -> None:
    section = Section("odd", "odd", "", (Words("run_\udc80_\ud800"),))
    assert r"run_\udc80_\ud800" in page(subject, [section], None)


def test_a_key_has_no_digits_of_the_machines_own_arithmetic(subject: Subject, read_html: Callable[[str], Any]) -> None:
    keys = (12345678.0, 8.066499573041438e-07, -0.1, float("nan"))
    rows = tuple((Cell("x", key=key),) for key in keys)
    section = Section("s", "S", "", (Table("t", "keys", (Column("a", numeric=True),), rows, sortable=True),))
    held = read_html(page(subject, [section], None))
    assert [told["data-key"] for tag, told in held.tags if tag == "td"] == ["12345678", "8.0665e-07", "-0.1", "nan"]


def test_nothing_at_all_is_a_page_too(subject: Subject, read_html: Callable[[str], Any]) -> None:
    empty = Section("empty", "Empty", "", (Table("t", "none", (Column("a"),), ()), Table("u", "none", (), ())))
    held = read_html(page(subject, [empty, Section("none", "None", "", ())], None))
    assert held.faults == []
    assert "Nothing wrong" in held.text


def test_the_head_counts_what_readers_count(subject: Subject, sample_dataset: Path) -> None:
    head = head_of(subject)
    splits = {name: SplitReader(sample_dataset / name) for name in subject.splits}
    facts = {fact.name: fact.value for fact in head.facts}
    assert facts["splits"] == str(len(splits))
    assert facts["episodes"] == str(sum(int(split.info["total_episodes"]) for split in splits.values()))
    assert facts["rows"] == f"{sum(int(split.info['total_frames']) for split in splits.values()):,}"
    assert [share.name for share in head.shares] == list(subject.splits)
    assert sum(share.percent for share in head.shares) == pytest.approx(100, abs=0.1)
    assert head.name == "block_stack"
    assert "observation.state (17)" in head.what
    assert "4 cameras of 192×144 px" in head.what


def test_a_dataset_of_others_is_told_by_what_it_says(own_dataset: Path) -> None:
    path = own_dataset / "train/meta/info.json"
    info = json.loads(path.read_text())
    features = info["features"]
    info |= {"features": {"observation.image": features.pop("observation.images.scene_left"), **features}}
    path.unlink()
    path.write_text(json.dumps(info))
    head = head_of(subject_of(own_dataset, NOTHING))
    assert "4 cameras of 192×144 px" in head.what
    assert "action (5)" in head.what


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (3599.4, "59 min 59 s"), (3600, "1 h 0 min"),
     (7_199, "1 h 59 min"), (3.6e6, "1,000 h 0 min")],
)  # fmt: skip
def test_durations_read_well(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_finding_is_in_the_head(subject: Subject, read_html: Callable[[str], Any]) -> None:
    checked = Report(
        "d", {"files": 3}, (Fault("val", "files", "a", "b"),), (), (), files=0, rows=0, pictures=0, seconds=0
    )
    held = read_html(page(Subject(subject.root, subject.splits, subject.trace, checked), [], None))
    assert "1 finding" in held.text
    assert "Nothing wrong" not in held.text
    assert any(told.get("class") == "verdict unsound" for _, told in held.tags)


def _broken_section(subject: Subject) -> Section | None:
    raise KeyError(f"{subject.root}/odd")


def test_a_section_that_fails_is_a_bug_in_our_dataset_and_a_sentence_in_others(
    sample_dataset: Path, own_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "SECTIONS", (_broken_section,))
    with pytest.raises(KeyError):
        make_section(SectionTask(sample_dataset, NOTHING, 0, "ours"))
    (own_dataset / "provenance.json").unlink()
    number, section = make_section(SectionTask(own_dataset, NOTHING, 0, "of others"))
    assert number == 0
    assert section is not None
    (words,) = section.parts
    assert isinstance(words, Words)
    assert "KeyError" in words.text
    assert str(own_dataset.parent) not in words.text


def test_a_dataset_of_others_has_a_page_where_one_asks_for_it(
    own_dataset: Path, tmp_path: Path, read_html: Callable[[str], Any]
) -> None:
    for name in ("provenance.json", "summary.json", "normalization_stats.json"):
        (own_dataset / name).unlink()
    for name in ("fingerprints", "measured", "media", "val", "eval_purple_play"):
        shutil.rmtree(own_dataset / name)
    out = tmp_path / "others.html"
    write_page(own_dataset, out, Inline(), PlainProgress())
    held = read_html(out.read_text(encoding="utf-8"))
    assert held.faults == []
    assert "another_name" in held.text
    assert "cannot be made" not in held.text
    assert not (own_dataset / "report.html").exists()
