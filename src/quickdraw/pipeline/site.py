"""The folder in which one build's dataset grows. No writer of another build can reach it, for its name is random.

Tasks may run twice at once, where a machine is only thought dead: a file grows aside, under a name that no other task
has, and gets its place when it is whole. When the dataset has left, there is no such folder any more, nor such a place.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Site:
    """`folder` holds the `dataset`, what tasks keep for one another, and what is being written."""

    folder: Path

    @classmethod
    def begin(cls, staging: Path) -> Site:
        """A new one in a staging folder."""
        site = cls(staging / f"dataset-{secrets.token_hex(6)}")
        site.aside.mkdir(parents=True)
        return site

    @property
    def dataset(self) -> Path:
        """What is published in the end."""
        return self.folder / "dataset"

    @property
    def kept(self) -> Path:
        """What tasks leave for later ones."""
        return self.folder / "kept"

    @property
    def aside(self) -> Path:
        """Where files grow."""
        return self.folder / "aside"

    @contextmanager
    def filling(self, target: Path) -> Iterator[Path]:
        """A new folder; the files that are in it in the end are put below `target`, a folder of this site, each whole.

        None is where the block is left by an exception.
        """
        fresh = self.aside / secrets.token_hex(16)
        fresh.mkdir()
        try:
            yield fresh
            for folder, _, names in fresh.walk(on_error=_raise):
                place = target / folder.relative_to(fresh)
                self.make(place)
                for name in names:
                    (folder / name).replace(place / name)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def make(self, folder: Path) -> None:
        """Make a folder of this site where it is not there; not the site, which is gone when it is."""
        for parent in reversed(folder.relative_to(self.folder).parents):
            if parent.parts:
                (self.folder / parent).mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)


def _raise(error: OSError) -> None:
    raise error
