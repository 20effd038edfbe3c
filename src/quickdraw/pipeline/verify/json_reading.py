"""JSON documents of anyone's making: NaN and Infinity are refused, which Python reads and JSON forbids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from quickdraw.errors import Fault, Refused

CHECK = "documents"


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object. Raises Refused where the file is missing, is none, or is not JSON."""
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise refusal(path, f"unreadable ({error})", "a JSON object") from error
    if not isinstance(document, dict):
        raise refusal(path, f"a {type(document).__name__}", "a JSON object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def refusal(path: Path, found: str, expected: str) -> Refused:
    """What is wrong with a document."""
    return Refused([Fault(path.name, CHECK, found, expected, path=str(path))])
