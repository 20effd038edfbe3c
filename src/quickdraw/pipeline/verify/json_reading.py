"""JSON documents of anyone's making: NaN and Infinity are refused, which Python reads and JSON forbids."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from quickdraw.errors import Fault, Refused

DOCUMENTS = "documents"


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object. Raises Refused where the file is missing, is none, or is not JSON."""
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise refusal(path, f"unreadable ({error})", "a JSON object") from error
    if not isinstance(document, dict):
        raise refusal(path, odd(document), "a JSON object")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_typed[T](path: Path, kind: type[T], expected: str) -> T:
    """A document as a value of `kind`; what that does not ask for is never made. Raises Refused as the other two do."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.ValidationError as error:
        raise refusal(path, f"malformed ({error})", expected) from error
    except (OSError, ValueError, RecursionError, msgspec.DecodeError) as error:
        raise refusal(path, f"unreadable ({error})", "a JSON object") from error


def typed[T](document: Mapping[str, Any], kind: type[T], path: Path, expected: str) -> T:
    """What was read from a document as a value of `kind`. Raises Refused where it is of other kinds."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise refusal(path, f"malformed ({error})", expected) from error


def object_in(document: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    """The object a document holds under a key. Raises Refused where there is none."""
    if not isinstance(found := document.get(key), dict):
        raise refusal(path, f"{key}: {odd(found)}", "an object")
    return found


def odd(value: object) -> str:
    """A value of a kind nobody expected, in a few words however large it is."""
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:60]}..."
    return f"a {type(value).__name__}"


def refusal(path: Path, found: str, expected: str) -> Refused:
    """What is wrong with a document."""
    return Refused([Fault(path.name, DOCUMENTS, found, expected, path=str(path))])
