"""Rules of an episode's video files, without opening one (contract 8); their pictures are in `pictures`."""

from __future__ import annotations

import stat
from pathlib import Path

from quickdraw.formats.pooled.checks.findings import Checking, listed
from quickdraw.formats.pooled.layout import EXTENSIONS
from quickdraw.formats.pooled.scan import EpisodeFiles


def check_videos(checking: Checking, files: EpisodeFiles) -> dict[str, Path]:
    """The one file of each slot that can be opened."""
    number, sound = files.number, dict[str, Path]()
    if not files.videos and checking.info.document.get("video", True) is not False:
        path = files.data or checking.info.layout.root / "videos"
        checking.add("video-missing", path, "data, and no video of any slot", number)
    for slot, paths in files.videos.items():
        checking.slots.setdefault(slot, number)
        known = [path for path in paths if path.suffix[1:] in EXTENSIONS]
        for path in paths:
            if path not in known:
                checking.add("video-extension", path, f"a video that ends in {path.suffix}", number)
        if len(known) > 1:
            names = listed(path.name for path in known)
            checking.add("video-twice", known[0].parent, f"{names} of one episode", number)
        elif known and _has_bytes(checking, known[0], number):
            sound[slot] = known[0]
    return sound


def _has_bytes(checking: Checking, path: Path, number: int) -> bool:
    try:
        state = path.stat()
    except OSError as error:
        checking.add("video-unreadable", path, error.strerror or str(error), number)
        return False
    if not stat.S_ISREG(state.st_mode):
        checking.add("video-unreadable", path, "no regular file", number)
    elif not state.st_size:
        checking.add("video-empty", path, "0 bytes", number)
    else:
        return True
    return False
