"""Views lie in a dataset and are no part of it: they come, go, are made again, and what is in their way stays."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from quickdraw.cli.objects import objects
from quickdraw.cli.report import report
from quickdraw.errors import Refused
from quickdraw.formats.durable import lay_aside
from quickdraw.pipeline.digests import DigestIndex
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.inventory import files_of, is_whole, unlisted
from quickdraw.pipeline.objects import _link_rest
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.publish import publish, refuse_unfit
from quickdraw.pipeline.verify.verify import structure_report
from quickdraw.pipeline.view_files import is_stale
from quickdraw.report import page, views
from quickdraw.report.parts import Section, Words
from quickdraw.report.subject import Subject
from quickdraw.report.views import are_current, refresh, write_page, write_views

VIEWS = ("report.html", "README.md")


def _short_section(subject: Subject) -> Section | None:
    return Section("short", "Short", "", (Words(", ".join(subject.splits)),))


@pytest.fixture(autouse=True)
def _one_section(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written into a dataset, and when, does not hang on what pages show."""
    monkeypatch.setattr(page, "SECTIONS", (_short_section,))


def _written(dataset: Path) -> tuple[Path, ...]:
    return write_views(dataset, Inline(), PlainProgress())


def _held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_they_are_current_until_the_dataset_or_their_version_is_another(
    own_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not are_current(own_dataset)
    assert _written(own_dataset) == tuple(own_dataset / name for name in VIEWS)
    assert are_current(own_dataset)
    with monkeypatch.context() as later:
        later.setattr(views, "VERSION", views.VERSION + 1)
        assert not are_current(own_dataset)
    for name in VIEWS:
        content = (own_dataset / name).read_bytes()
        (own_dataset / name).unlink()
        assert not are_current(own_dataset)
        (own_dataset / name).write_bytes(content)
    assert are_current(own_dataset)
    inventory = own_dataset / "fingerprints/files.json"
    content = inventory.read_bytes()
    inventory.unlink()
    inventory.write_bytes(content + b"\n")
    assert not are_current(own_dataset)


def test_no_check_of_a_dataset_knows_them(own_dataset: Path, tmp_path: Path) -> None:
    index = DigestIndex(tmp_path / "index", True)
    files, checked = list(files_of(own_dataset)), structure_report(own_dataset, Inline())
    assert is_whole(own_dataset, index)
    _written(own_dataset)
    (own_dataset / ".report.html.tmp").write_text("a writing that was cut short")
    assert list(files_of(own_dataset)) == files
    assert unlisted(own_dataset) == set()
    assert is_whole(own_dataset, index)
    assert structure_report(own_dataset, Inline()) == checked
    refuse_unfit(own_dataset)


def test_words_of_a_person_are_kept_through_making_and_publishing_again(own_dataset: Path, tmp_path: Path) -> None:
    _written(own_dataset)
    card = own_dataset / "README.md"
    begin, end = "<!-- yours -->", "<!-- /yours -->"
    text = card.read_text()
    assert text.count(begin) == text.count(end) == 1
    head, rest = text.split(begin)
    card.write_text(f"{head}{begin}\nRecorded by Ada, <b>in March</b>.\n{end}{rest.split(end)[1]}")
    _written(own_dataset)
    assert "Recorded by Ada, <b>in March</b>." in card.read_text()
    fresh = tmp_path / "elsewhere" / "fresh"
    fresh.mkdir()
    (fresh / "provenance.json").write_text("{}")
    publish(fresh, own_dataset)
    assert "Recorded by Ada, <b>in March</b>." in card.read_text()
    assert sorted(path.name for path in own_dataset.iterdir()) == ["README.md", "provenance.json"]


def test_a_card_of_somebody_elses_stays_and_is_told(own_dataset: Path, tmp_path: Path) -> None:
    (own_dataset / "README.md").write_text("# My own words\n")
    progress = PlainProgress()
    assert write_views(own_dataset, Inline(), progress) == (own_dataset / "report.html",)
    assert (own_dataset / "README.md").read_text() == "# My own words\n"
    assert any("README.md is not quickdraw's" in line for line in progress.lines)
    assert are_current(own_dataset)
    refuse_unfit(own_dataset)


def _link_to_words(path: Path) -> None:
    words = path.parent.parent / "words"
    words.write_text("words")
    path.symlink_to(words)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, _link_to_words], ids=["folder", "pipe", "link"])
@pytest.mark.parametrize("name", VIEWS)
def test_what_is_in_their_way_is_refused_and_stays(own_dataset: Path, name: str, make: Callable[[Path], None]) -> None:
    make(own_dataset / name)
    before = (own_dataset / name).lstat()
    with pytest.raises(Refused, match=f"{name}: found a|{name}: found no file"):
        _written(own_dataset)
    assert (own_dataset / name).lstat() == before
    assert not any((own_dataset / other).exists() for other in VIEWS if other != name)
    with pytest.raises(Refused, match=f"besides a dataset a {name} that is"):
        refuse_unfit(own_dataset)


def test_a_page_that_is_none_of_ours_is_refused_and_stays(own_dataset: Path) -> None:
    (own_dataset / "report.html").write_text("<h1>quarterly figures</h1>")
    with pytest.raises(Refused, match=r"report\.html: found none of ours"):
        _written(own_dataset)
    with pytest.raises(Refused, match=r"a report\.html that is none of ours"):
        refuse_unfit(own_dataset)
    assert (own_dataset / "report.html").read_text() == "<h1>quarterly figures</h1>"


@pytest.mark.parametrize("full_at", [1, 2])
def test_on_a_full_disk_what_was_there_is_there_still(
    own_dataset: Path, monkeypatch: pytest.MonkeyPatch, full_at: int
) -> None:
    _written(own_dataset)
    (own_dataset / "README.md").write_text((own_dataset / "README.md").read_text() + "\nolder\n")
    before, begun = _held(own_dataset), list[Path]()

    def full(path: Path, pieces: Iterable[bytes]) -> Path:
        begun.append(path)
        if len(begun) == full_at:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return lay_aside(path, pieces)

    monkeypatch.setattr(views, "lay_aside", full)
    with pytest.raises(OSError, match="No space left"):
        _written(own_dataset)
    assert _held(own_dataset) == before


def test_a_folder_that_cannot_be_written_in_is_an_error_that_says_so(
    own_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _held(own_dataset)

    def closed(path: Path, *_: Any, **__: Any) -> None:  # root writes anywhere, so the system cannot refuse it
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(views, "lay_aside", closed)
    with pytest.raises(PermissionError, match=r"report\.html"):
        _written(own_dataset)
    assert _held(own_dataset) == before


def test_a_dataset_of_others_is_refused_unless_the_page_goes_elsewhere(own_dataset: Path, tmp_path: Path) -> None:
    (own_dataset / "provenance.json").unlink()
    before = _held(own_dataset)
    with pytest.raises(Refused, match="--out <file>"):
        _written(own_dataset)
    write_page(own_dataset, tmp_path / "page.html", Inline(), PlainProgress())
    assert "another_name" in (tmp_path / "page.html").read_text()
    assert _held(own_dataset) == before


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "of others"])
@pytest.mark.parametrize("place", ["val/page.html", "page.html", "report.html", "../..", "../nowhere/page.html"])
def test_a_page_is_put_to_no_place_that_is_not_its(own_dataset: Path, place: str, ours: bool) -> None:
    (own_dataset / "report.html").write_text("<h1>quarterly figures</h1>")
    if not ours:
        (own_dataset / "provenance.json").unlink()
    before = _held(own_dataset)
    (own_dataset.parent / "link").symlink_to(own_dataset)
    for way in (own_dataset, own_dataset.parent / "link"):
        with pytest.raises(Refused, match="expected a file outside the dataset, in a folder that is there"):
            write_page(own_dataset, way / place, Inline(), PlainProgress())
    assert _held(own_dataset) == before


def test_a_page_replaces_a_file_that_is_there_and_nothing_else(own_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("the last one")
    write_page(own_dataset, tmp_path / "page.html", Inline(), PlainProgress())
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="found no file"):
        write_page(own_dataset, tmp_path / "pipe", Inline(), PlainProgress())


def _change(dataset: Path) -> None:
    """It holds something else now."""
    inventory = dataset / "fingerprints/files.json"
    content = inventory.read_bytes()
    inventory.unlink()
    inventory.write_bytes(content + b"\n")


def _refreshed(dataset: Path, *, wanted: bool) -> str:
    return refresh(dataset, Inline(), PlainProgress(), wanted=wanted)


def _annotate(card: Path) -> None:
    begin = "<!-- yours -->"
    head, _, rest = card.read_text().partition(begin)
    card.write_text(f"{head}{begin}\nRecorded by Ada.\n{rest}")


def test_views_that_nobody_wants_stay_while_they_are_right_and_go_when_they_are_not(own_dataset: Path) -> None:
    _written(own_dataset)
    before = _held(own_dataset)
    assert _refreshed(own_dataset, wanted=False) == ""
    assert _held(own_dataset) == before
    _change(own_dataset)
    assert _refreshed(own_dataset, wanted=False) == ""
    assert set(before) - set(_held(own_dataset)) == set(VIEWS)


def test_a_card_with_somebodys_words_is_made_anew_where_no_page_is_wanted(own_dataset: Path) -> None:
    _written(own_dataset)
    card = own_dataset / "README.md"
    _annotate(card)
    _change(own_dataset)
    assert is_stale(card)
    assert _refreshed(own_dataset, wanted=False) == ""
    assert not is_stale(card)
    assert "Recorded by Ada." in card.read_text()
    assert not (own_dataset / "report.html").exists()
    _written(own_dataset)
    made_with_the_page = card.read_text()
    card.write_text(made_with_the_page.replace("Recorded by", "Recorded and checked by"))
    assert _refreshed(own_dataset, wanted=False) == ""  # it is right, and whose it is
    assert "checked by Ada" in card.read_text()


def test_a_card_of_somebody_elses_stays_where_no_page_is_wanted(own_dataset: Path) -> None:
    (own_dataset / "README.md").write_text("# My own words\n")
    _change(own_dataset)
    assert _refreshed(own_dataset, wanted=False) == ""
    assert (own_dataset / "README.md").read_text() == "# My own words\n"


def test_a_bug_in_a_section_leaves_no_view_of_what_was_there_before_and_is_told(
    own_dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _written(own_dataset)
    _annotate(own_dataset / "README.md")
    _change(own_dataset)

    def broken_section(_: Subject) -> Section | None:
        raise StopIteration("a bug")

    monkeypatch.setattr(page, "SECTIONS", (broken_section,))
    why = _refreshed(own_dataset, wanted=True)
    assert why.startswith("the dataset is published, but its page could not be written: a fault of ours, ")
    assert "in broken_section" in capsys.readouterr().err
    assert not (own_dataset / "report.html").exists()
    assert not is_stale(own_dataset / "README.md")
    assert "Recorded by Ada." in (own_dataset / "README.md").read_text()


@pytest.mark.parametrize("there", [(), ("report.html",), ("README.md",), VIEWS])
def test_cubes_measured_anew_make_the_views_anew_where_there_was_one(
    own_dataset: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    """With a measuring that stands for it: it takes the page away, as it does."""

    def measure(dataset: Path, *_: Any) -> None:
        (dataset / "report.html").unlink(missing_ok=True)
        _change(dataset)

    monkeypatch.setattr("quickdraw.pipeline.executors.local.local_processes", lambda _: nullcontext(Inline()))
    monkeypatch.setattr("quickdraw.pipeline.objects.put_cubes", measure)
    _written(own_dataset)
    for name in set(VIEWS) - set(there):
        (own_dataset / name).unlink()
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(objects)
    result = CliRunner().invoke(app, [str(own_dataset)])
    assert result.exit_code == 0, result.output
    assert {name for name in VIEWS if (own_dataset / name).exists()} == (set(VIEWS) if there else set())
    assert are_current(own_dataset) == bool(there)


def test_cubes_measured_anew_take_the_old_page_away_and_leave_the_card(own_dataset: Path, tmp_path: Path) -> None:
    _written(own_dataset)
    target = tmp_path / "target"
    _link_rest(own_dataset, target)
    assert (target / "README.md").exists()
    assert not (target / "report.html").exists()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`command(*arguments)`: what `quickdraw report` says, its sections made by this process."""
    monkeypatch.setattr("quickdraw.pipeline.executors.local.local_processes", lambda _: nullcontext(Inline()))
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(report)
    return lambda *arguments: CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_command_writes_both_and_says_where(own_dataset: Path, command: Callable[..., Result]) -> None:
    result = command(own_dataset, "--json")
    assert result.exit_code == 0, result.output
    written = [str(own_dataset / name) for name in VIEWS]
    assert json.loads(result.stdout) == {"dataset": str(own_dataset), "written": written}
    assert "report:" in result.stderr


def test_the_command_refuses_what_is_no_dataset(tmp_path: Path, command: Callable[..., Result]) -> None:
    for arguments in ((tmp_path,), (tmp_path, "--out", tmp_path / "x.html"), (tmp_path / "not there",)):
        result = command(*arguments)
        assert result.exit_code == 2
        assert "nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []
