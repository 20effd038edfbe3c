"""What stands above a dataset card for the Hub to read: licence, tags, size, and where the rows of each split are."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.places import CARD

FENCE = re.compile(r"\A\s*---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)  # as the Hub finds it
LICENSE, UNTOLD = "license", "unknown"
OURS = ("pretty_name", "task_categories", "tags", "size_categories", "configs")
SIZES = (("n<1K", 10**3), ("1K<n<10K", 10**4), ("10K<n<100K", 10**5), ("100K<n<1M", 10**6), ("1M<n<10M", 10**7),
         ("10M<n<100M", 10**8), ("100M<n<1B", 10**9), ("1B<n<10B", 10**10), ("10B<n<100B", 10**11),
         ("100B<n<1T", 10**12))  # fmt: skip
NOT_IN_A_NAME = re.compile(r'[<>:/\\|?*"\x00-\x1f]')  # of a config: it becomes a folder's name


@dataclass(frozen=True, slots=True)
class Config:
    """Rows that are loaded together: their `name` on the Hub, and the folder, in the repository, that holds data/."""

    name: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Front:
    """What the front matter tells. `rows` is of all configs together, `theirs` what a person wrote there."""

    name: str
    rows: int
    tags: Sequence[str]
    configs: Sequence[Config]
    theirs: Mapping[str, Any] = field(default_factory=dict)


def front_matter(front: Front) -> str:
    """The YAML between two `---` lines, ending with a newline."""
    import yaml

    document = {
        LICENSE: UNTOLD,
        **front.theirs,
        "pretty_name": front.name,
        "task_categories": ["robotics"],
        "tags": list(dict.fromkeys(front.tags)),
        "size_categories": [next((name for name, below in SIZES if front.rows < below), "n>1T")],
        "configs": [_config(config, first=number == 0) for number, config in enumerate(front.configs)],
    }
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1 << 16)
    return f"---\n{text}---\n"


def _config(config: Config, first: bool) -> dict[str, Any]:
    place = f"{glob.escape(config.folder)}/" if config.folder else ""
    named = {"config_name": NOT_IN_A_NAME.sub("_", config.name), "data_files": f"{place}data/*/*.parquet"}
    return {**named, **({"default": True} if first else {})}  # the one that is loaded where none is named


def theirs(text: str) -> dict[str, Any]:
    """What a card's front matter tells beside what we write: a licence that was chosen, and any key that is not ours.

    Empty where there is none. Raises Refused where it cannot be read: a licence somebody chose must not be lost.
    """
    import yaml

    found = FENCE.match(text.removeprefix("\ufeff"))
    try:
        document = yaml.safe_load(found[1]) if found else None
        yaml.safe_dump(document)  # what holds itself can be read, and is never written
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date of month 13 is a ValueError
        words = " ".join(str(error).split())
        expected = "YAML between its `---` lines; please mend it there, or move the file away"
        raise Refused([Fault(CARD, "front matter", f"unreadable ({words})", expected)]) from error
    if not isinstance(document, dict):
        return {}
    chosen = {key: value for key, value in document.items() if isinstance(key, str) and key not in OURS}
    if chosen.get(LICENSE) in (UNTOLD, None):
        chosen.pop(LICENSE, None)
    return chosen
