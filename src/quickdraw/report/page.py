"""One page about a dataset, all in one file: nothing is fetched, no script but its own runs, it reads without any.

What it shows is made by sections, each a task of its own. Names come from folders and documents of anybody: every text
is escaped, and the page forbids itself whatever it does not hold.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quickdraw.errors import Refused, VideoError
from quickdraw.pipeline.verify.ledger import MALFORMED
from quickdraw.pipeline.verify.report import Report
from quickdraw.report.head import head_of
from quickdraw.report.parts import Part, Section, Words
from quickdraw.report.plots import own_settings
from quickdraw.report.sections.built import built_section
from quickdraw.report.sections.cube_tracks import cube_tracks_section
from quickdraw.report.sections.displacements import displacements_section
from quickdraw.report.sections.distributions import distributions_section
from quickdraw.report.sections.driving import driving_section
from quickdraw.report.sections.episodes import episodes_section
from quickdraw.report.sections.lengths import lengths_section
from quickdraw.report.sections.made import made_section
from quickdraw.report.sections.orientation import orientation_section
from quickdraw.report.sections.proof import proof_section
from quickdraw.report.sections.refused import refused_section
from quickdraw.report.sections.strips import strips_section
from quickdraw.report.subject import Subject, subject_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# In the order of the page: what answers whether it is right, then what explains. One that a dataset has nothing of is
# left out.
SECTIONS: Final[tuple[Callable[[Subject], Section | None], ...]] = (
    built_section,
    refused_section,
    strips_section,
    proof_section,
    episodes_section,
    displacements_section,
    lengths_section,
    distributions_section,
    orientation_section,
    cube_tracks_section,
    driving_section,
    made_section,
)
NO_SECTION: Final = (Refused, VideoError, *MALFORMED, TypeError, AttributeError)  # what a damaged dataset may come to
TEMPLATES: Final = Path(__file__).parent / "templates"
# Characters that HTML does not hold, and those that turn the direction of what follows them.
_UNFIT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")
_JOINT: Final = re.compile(r"(?<=\w)([_./])(?=\w)")
_NOT_AN_ID: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class SectionTask:
    """Make the section of a number. `call` tells one making of a page from another: each reads the dataset anew."""

    dataset: Path
    checked: Report
    number: int
    call: str


def make_section(task: SectionTask) -> tuple[int, Section | None]:
    """The section and its number.

    Of a dataset that is damaged, or made by others, one that cannot be made says so in its place; of ours it is a bug.
    """
    function = SECTIONS[task.number]
    subject = replace(_opened(task.dataset, task.call), checked=task.checked)
    try:
        with own_settings():
            return task.number, function(subject)
    except NO_SECTION as error:
        if subject.trace is not None and task.checked.sound:
            raise
        name = function.__name__.removesuffix("_section")
        reason = str(error) if isinstance(error, Refused | VideoError) else type(error).__name__
        text = f"It cannot be made of this dataset ({reason.replace(str(task.dataset), task.dataset.name)})."
        return task.number, Section(name, name.replace("_", " ").capitalize(), "", (Words(text, warning=True),))


@lru_cache(maxsize=1)
def _opened(dataset: Path, _call: str) -> Subject:
    """The dataset, opened once by each process for all the sections that it makes."""
    return subject_of(dataset, Report.unchecked(str(dataset)))


@dataclass(frozen=True, slots=True)
class Anchored:
    """A section and its parts, each with the id that it has on the page."""

    anchor: str
    section: Section
    parts: tuple[tuple[str, Part], ...]


def page(subject: Subject, sections: Sequence[Section], stamp: str | None) -> str:
    """The page of a dataset, as HTML, with the stamp it is known by. Raises Refused where a split cannot be read."""
    template = _environment().get_template("report.html.j2")
    anchored = list(_anchored(sections))
    shown = {each.anchor for each in anchored}
    return template.render(head=head_of(subject), sections=anchored, shown=shown, stamp=stamp)


def _anchored(sections: Sequence[Section]) -> Iterator[Anchored]:
    used = {"top", "content"}
    for section in sections:
        anchor = _anchor(section.name, used)
        parts = [(_anchor(f"{anchor} {_name(part)}", used), part) for part in section.parts]
        yield Anchored(anchor, section, tuple(parts))


def _name(part: Part) -> str:
    return "note" if isinstance(part, Words) else part.name


def _anchor(name: str, used: set[str]) -> str:
    """An id that is nobody else's, of the letters and digits of a name."""
    plain = _NOT_AN_ID.sub("-", name.lower()).strip("-") or "part"
    further = (f"{plain}-{number}" for number in count(2))
    anchor = next(each for each in chain([plain], further) if each not in used)
    used.add(anchor)
    return anchor


@cache
def _environment() -> Environment:
    """What templates are rendered with; the page's script is allowed by its digest, and no other."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_fit,
    )
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    made.globals["script"] = script
    made.globals["script_digest"] = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    made.filters |= {"base64": _base64, "breakable": _breakable, "key": _key, "kind": _kind}
    return made


def _kind(part: Part) -> str:
    return type(part).__name__


def _breakable(text: str, longest: int = 0) -> Markup:
    """A text longer than that may go on in another line after what joins the words of a name."""
    from markupsafe import Markup, escape

    shown = escape(_fit(text))
    return Markup(_JOINT.sub(r"\1<wbr>", shown)) if len(text) > longest else shown


def _base64(image: bytes) -> str:
    return b64encode(image).decode()


def _key(key: float) -> str:
    """What a cell is sorted by. Digits beyond these are of the machine's own arithmetic, and pages are the same."""
    return f"{key:.0f}" if float(key).is_integer() else f"{key:.6g}"


def _fit(value: Any) -> Any:
    """A value as it is shown: characters no page may hold are written out."""
    if not isinstance(value, str) or not _UNFIT.search(value):
        return value
    fit = _UNFIT.sub(lambda found: repr(found[0])[1:-1], value)
    return type(value)(fit)
