"""A name for content: equal exactly where the content is, on every machine and in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def fingerprint(content: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of JSON-ready content; the order of keys does not matter."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
