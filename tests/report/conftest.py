"""Reports of the sample datasets, and a strict reader of what a page holds."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

VOID = {"meta", "link", "img", "input", "br", "hr", "wbr", "path", "use", "rect", "circle", "line"}
ADDRESSES = {"href", "src", "xlink:href", "srcset", "action", "poster", "data"}


@dataclass
class Held:
    """What a page holds: its text, ids, addresses, and tags; `faults` is what is malformed."""

    text: str = ""
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.held, self.open = Held(), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.held.faults.append(f"{tag} has an attribute twice: {names}")
        told = dict(attrs)
        self.held.tags.append((tag, told))
        self.held.ids += [told["id"] or ""] if "id" in told else []
        self.held.addresses += [value or "" for name, value in attrs if name in ADDRESSES]
        self.held.addresses += re.findall(r"url\(([^)]*)\)", f"{told.get('style') or ''} {told.get('clip-path') or ''}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.held.faults.append(f"</{tag}> at {self.getpos()} inside {self.open[-4:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.held.text += data


def _read(html: str) -> Held:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.held.faults += [f"{tag} is never closed" for tag in reader.open]
    return reader.held


@pytest.fixture(scope="session")
def read_html() -> Callable[[str], Held]:
    """`read_html(text)`: what a page holds, read by the standard library."""
    return _read


@pytest.fixture(scope="session")
def sample_report(sample_dataset: Path) -> Path:
    """The report of `sample_dataset`, as its build wrote it: by a process of its own, and workers."""
    return sample_dataset / "report.html"


@pytest.fixture(scope="session")
def pooled_report(pooled_dataset: Path) -> Path:
    """The report of `pooled_dataset`, likewise."""
    return pooled_dataset / "report.html"


@pytest.fixture
def own_dataset(sample_dataset: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of `sample_dataset` that a test may change, without the views its build made."""
    copy = tmp_path / "elsewhere" / "another_name"
    shutil.copytree(sample_dataset, copy, copy_function=os.link)
    for name in ("report.html", "README.md"):
        (copy / name).unlink(missing_ok=True)
    yield copy
    for folder in (copy, copy.parent):
        folder.chmod(0o755)
