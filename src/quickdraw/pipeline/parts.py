"""What the map stage makes: parts, each in a folder named by its fingerprint, whole or not there at all.

A part's fingerprint covers all that can change its bytes: content of its sources, the options it depends on, the
versions of what makes it; never the machine, the place or the split it will go to. So "finished" means "there is a
folder of this name", in whatever build it was finished.
"""

from __future__ import annotations

import errno
import secrets
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from quickdraw.core.episode import EpisodePlan
from quickdraw.core.fingerprint import fingerprint
from quickdraw.core.hues import CubeThresholds
from quickdraw.formats.durable import sync_tree
from quickdraw.pipeline.digests import FileDigest
from quickdraw.pipeline.part_files import Kind, are_sound
from quickdraw.pipeline.source import Source
from quickdraw.video.copying import Copying
from quickdraw.video.filming import Filming

GROWING = ".growing-"

# Raised when the code that makes a part makes other bytes than before: what older code made is then made anew.
CLIP_VERSION = 3
TRACK_VERSION = 1


@lru_cache
def _version(package: str) -> str:
    """Of what is installed; looked up once, for that takes milliseconds."""
    return version(package)


def rows_fingerprint(source: Source, plan: EpisodePlan, digests: dict[str, FileDigest]) -> str:
    """Of an episode's rows: its row files, its grid, the processor, and what these are read by."""
    grid = {"t0_ns": plan.grid.t0_ns, "rate_hz": plan.grid.rate_hz, "n": plan.grid.n}
    files = {file: digests[file].sha256 for file in plan.row_files}
    processor = {"name": source.processor, "version": source.version}
    reading = {"source": source.reading(), "episode": plan.reading}
    return fingerprint({"part": "rows", "processor": processor, "grid": grid, "files": files, "reading": reading})


def clip_fingerprint(video: FileDigest, frame_digest: str, encoding: Filming) -> str:
    """Of an encoded clip: the camera's file, which picture each row shows, and the encoder, to its last option."""
    filmed = {"copied": isinstance(encoding, Copying), **encoding.info()}
    if isinstance(encoding, Copying):
        del filmed["video.g"]  # the longest of all episodes, which changes nothing in this one
    made_with = {"version": CLIP_VERSION, "av": _version("av"), "encoding": filmed}
    return fingerprint({"part": "clip", "video": video.sha256, "frames": frame_digest, **made_with})


def track_fingerprint(clip: str, thresholds: CubeThresholds) -> str:
    """Of what is seen of the cubes in a clip, from the clip's own fingerprint."""
    made_with = {"version": TRACK_VERSION, "opencv": _version("opencv-python-headless")}
    return fingerprint({"part": "track", "clip": clip, "thresholds": asdict(thresholds), **made_with})


@dataclass(frozen=True, slots=True)
class PartStore:
    """The parts of a build that is not finished yet."""

    root: Path

    def folder(self, part: str) -> Path:
        """Where a part lies, or will."""
        return self.root / part

    def has(self, part: str) -> bool:
        """Whether it is finished."""
        return self.folder(part).is_dir()

    def has_sound(self, part: str, kind: Kind) -> bool:
        """Whether it is finished, and its files are as they were written; else it is not there afterwards."""
        if not self.has(part):
            return False
        sound = are_sound(part, {name: self.folder(part) / name for name in kind})
        if not sound:
            self._remove(self.folder(part))
        return sound

    def __len__(self) -> int:
        """How many are finished."""
        return sum(1 for _ in self.root.glob("[!.]*"))

    def make[R](self, part: str, fill: Callable[[Path], R]) -> R:
        """Let `fill` write a part's files into a new folder; it gets its name when all of them are on the disk."""
        self.root.mkdir(exist_ok=True)  # not what it lies in, which is gone when the build is
        growing = Path(tempfile.mkdtemp(prefix=GROWING, dir=self.root))
        try:
            filled = fill(growing)
            sync_tree(growing)
            self._name(growing, part)
        finally:
            shutil.rmtree(growing, ignore_errors=True)
        return filled

    def _name(self, growing: Path, part: str) -> None:
        try:
            growing.rename(self.folder(part))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another task has made the very same
                raise

    def clear(self) -> None:
        """Remove what was begun and never finished; nobody may be at it any more."""
        for growing in self.root.glob(f"{GROWING}*"):
            self._remove(growing)
        if self.root.is_dir() and not any(self.root.iterdir()):
            self.root.rmdir()

    def _remove(self, path: Path) -> None:
        """At once, by another name first: who writes there still, on a node thought dead, finds it gone, not half."""
        gone = self.root / f"{GROWING}{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):
            path.rename(gone)
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone, ignore_errors=True)
        else:
            gone.unlink(missing_ok=True)
