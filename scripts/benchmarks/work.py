"""The folder a benchmark works in: a temporary one, or one that is kept and used again with the same options."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MADE_WITH = "made_with.json"


class OtherOptions(Exception):
    """A kept folder holds what was made with other options, or what no benchmark made."""


@contextmanager
def work_folder(kept: Path | None, made_with: Mapping[str, Any]) -> Iterator[Path]:
    """A folder for trees and outputs. `made_with` is what its trees depend on, JSON-ready. Raises OtherOptions."""
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="quickdraw-bench-") as folder:
            yield Path(folder)
        return
    note, wanted = kept / MADE_WITH, json.dumps(made_with, sort_keys=True)
    if kept.exists() and any(kept.iterdir()) and not note.exists():
        raise OtherOptions(f"{kept} holds something else; --folder wants a new or empty folder, or one of its own")
    if note.exists() and note.read_text(encoding="utf-8") != wanted:
        found = note.read_text(encoding="utf-8")
        raise OtherOptions(f"{kept} was made with {found}, not {wanted}; name another folder, or remove it")
    kept.mkdir(parents=True, exist_ok=True)
    note.write_text(wanted, encoding="utf-8")
    yield kept.resolve()


@contextmanager
def once(folder: Path, name: str) -> Iterator[Path | None]:
    """A new folder `<folder>/<name>` to fill, None where it has been filled before; what was half filled is redone."""
    done, target = folder / f"{name}.done", folder / name
    if done.exists():
        yield None
        return
    shutil.rmtree(target, ignore_errors=True)
    yield target
    done.touch()
