"""JSON documents on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, document: Any, indent: int = 4) -> None:
    """Write a document. NaN is refused: it is not JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
