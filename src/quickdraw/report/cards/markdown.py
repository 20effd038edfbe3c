"""Names and words of others in Markdown: shown as they are, whatever they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

ACTIVE = re.compile(r"([\\`*_\[\]|~$]|^[#+-])")


def flat(text: object) -> str:
    """On one line: runs of spaces, line ends and what cannot be printed become one space."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def words(text: object) -> str:
    """As words: nothing in it is markup, of Markdown or of HTML."""
    escaped = flat(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return ACTIVE.sub(r"\\\1", escaped)


def code(text: object) -> str:
    """As a span of code, in a cell of a table too."""
    line = flat(text) or " "
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already; columns `numeric` stand to the right."""
    right = set(numeric)
    rule = ["--:" if number in right else "---" for number in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
