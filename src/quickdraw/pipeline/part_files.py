"""The files a part consists of, and whether they are still what was written."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

ROWS, CLIP, PICTURES, TRACK = "rows.npz", "clip.mp4", "pictures.npz", "track.npz"
PART = "part"  # in every array file: whose it is, so that none is taken for another's
CLIP_DIGEST = "clip_sha256"  # in PICTURES

type Kind = tuple[str, ...]
ROWS_KIND: Kind = (ROWS,)
CLIP_KIND: Kind = (CLIP, PICTURES)
TRACK_KIND: Kind = (TRACK,)


def are_sound(part: str, files: Mapping[str, Path]) -> bool:
    """Whether files, by name, are the part's and whole: arrays by the checksums in them, a clip by its digest there."""
    try:
        arrays = {name: _arrays(path) for name, path in files.items() if name != CLIP}
        if any(str(held[PART]) != part for held in arrays.values()):
            return False
        return CLIP not in files or bool((clip_digest(files[CLIP]) == arrays[PICTURES][CLIP_DIGEST]).all())
    except (OSError, ValueError, LookupError, EOFError, NotImplementedError, BadZipFile, zlib.error):
        return False


def clip_digest(path: Path) -> npt.NDArray[np.uint8]:
    """SHA-256 of a clip, `(32,)` uint8."""
    with path.open("rb") as file:
        return np.frombuffer(hashlib.file_digest(file, "sha256").digest(), np.uint8)


def _arrays(path: Path) -> dict[str, Any]:
    """All arrays of a file, read whole and so checked."""
    with path.open("rb") as file, np.load(file) as arrays:  # numpy forgets to close what it cannot read
        return dict(arrays)
