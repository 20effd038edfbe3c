"""A name for content: equal exactly where the content is, on every machine and in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any


def fingerprint(content: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of JSON-ready content; the order of keys does not matter."""
    return hashlib.sha256(_text(content)).hexdigest()


def fingerprint_with(content: Mapping[str, Any], name: str, items: Iterable[Any]) -> str:
    """`fingerprint` of the content with a list under `name`, of which one item at a time is in memory."""
    digest, before = hashlib.sha256(), b"{"
    for key in sorted({*content, name}):
        digest.update(before + _text(key) + b":")
        before = b","
        if key != name:
            digest.update(_text(content[key]))
            continue
        digest.update(b"[")
        for number, item in enumerate(items):
            digest.update((b"," if number else b"") + _text(item))
        digest.update(b"]")
    digest.update(b"}")
    return digest.hexdigest()


def _text(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
