"""Which files an episode has: N to (chunk, file) to paths, by templates that info.json names (contract section 2).

Templates and `chunks_size` are input. Only those of the contract's form are taken; nothing else is ever formatted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FORMAT = "pooled_episodes_v1"
CHUNKS_SIZE = 1000
MOST_CHUNKS_SIZE = 1_000_000
DATA_PATH = "data/chunk-{c:03d}/episode-{f:03d}.parquet"
VIDEO_PATH = "videos/chunk-{c:03d}/{image_key}/episode-{f:03d}.{ext}"
EPISODES_PATH = "meta/episodes/chunk-{c:03d}/episode-{f:03d}.parquet"
SHARD_PATH = "meta/episodes/chunk-{c:03d}/file-{c:03d}.parquet"
EXTENSIONS = ("mp4", "mkv")  # of a slot's files
CHUNK_FOLDER = re.compile(r"chunk-(\d+)")

_NUMBER = r"\{%s:0[1-9]d\}"
_CHUNK, _FILE = "chunk-" + _NUMBER % "c", "episode-" + _NUMBER % "f"
DATA_FORM = re.compile(rf"data/{_CHUNK}/{_FILE}\.parquet")
VIDEO_FORM = re.compile(rf"videos/{_CHUNK}/\{{image_key\}}/{_FILE}\.\{{ext\}}")
EPISODES_FORM = re.compile(rf"meta/episodes/{_CHUNK}/(?:{_FILE}|file-{_NUMBER % 'c'}|file-{_NUMBER % 'f'})\.parquet")

PLAIN_NAME = re.compile(r"[^./\\\0][^/\\\0]*")  # of a slot: one folder, not hidden, not above us


@dataclass(frozen=True, slots=True)
class Place:
    """Where all files of one episode lie: chunk and file number, both from 0."""

    chunk: int
    file: int

    @property
    def suffix(self) -> str:
        """`_ep000011`, as screens and archives show it. It repeats in every chunk; N cannot be told from it."""
        return f"_ep{self.file:06d}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one task. `number` is N throughout: the global number of an episode, from 1.

    Every method that takes a number raises ValueError where it is below 1: 0 would share the files of 1.
    """

    root: Path
    chunks_size: int = CHUNKS_SIZE
    data_path: str = DATA_PATH
    video_path: str = VIDEO_PATH
    episodes_path: str = EPISODES_PATH

    @property
    def task(self) -> str:
        """The task folder's name, by which faults, archives and mirrors know the task."""
        return task_of(self.root)

    @property
    def meta(self) -> Path:
        """The folder of task-level documents."""
        return self.root / "meta"

    @property
    def info(self) -> Path:
        """The task's description."""
        return self.meta / "info.json"

    @property
    def stats(self) -> Path:
        """The persistent accumulator of statistics."""
        return self.meta / "stats.json"

    @property
    def tasks(self) -> Path:
        """Task texts, one JSON object a line."""
        return self.meta / "tasks.jsonl"

    @property
    def rows(self) -> Path:
        """The folder of per-episode rows and legacy shards."""
        return self.meta / "episodes"

    @property
    def shard_lock(self) -> Path:
        """The empty anchor for flock while a legacy shard is rewritten (contract 7.4)."""
        return self.rows / ".lock"

    @property
    def recycled(self) -> Path:
        """The marker an aborted recording leaves (contract 7.5)."""
        return self.meta / "recycled_episode.json"

    @property
    def row_template(self) -> str:
        """The `episodes_path` of one-row files: as told, but today's where an old task tells that of shards."""
        return self.episodes_path if "episode-" in self.episodes_path else EPISODES_PATH

    def place(self, number: int) -> Place:
        """(chunk, file) of episode N."""
        if number < 1:
            raise ValueError(f"episode number {number}; numbers start at 1")
        return Place(*divmod(number - 1, self.chunks_size))

    def number(self, place: Place) -> int:
        """N of (chunk, file)."""
        return place.chunk * self.chunks_size + place.file + 1

    def data(self, number: int) -> Path:
        """The episode's rows."""
        place = self.place(number)
        return self.root / self.data_path.format(c=place.chunk, f=place.file)

    def video(self, number: int, slot: str, extension: str) -> Path:
        """The episode's video of one slot. Raises ValueError for a slot that is no plain folder name."""
        if not PLAIN_NAME.fullmatch(slot):
            raise ValueError(f"slot {slot!r} is no plain folder name")
        place = self.place(number)
        return self.root / self.video_path.format(c=place.chunk, f=place.file, image_key=slot, ext=extension)

    def row(self, number: int) -> Path:
        """The episode's one-row file, by today's name, whatever `episodes_path` an old task still tells."""
        place = self.place(number)
        return self.root / self.row_template.format(c=place.chunk, f=place.file)

    def shard(self, number: int) -> Path:
        """The legacy shard that may hold the episode's row among others (v1.1.0)."""
        return self.root / SHARD_PATH.format(c=self.place(number).chunk)

    def old_row(self, number: int) -> Path:
        """The one-row file of v1.1.0 and v1.1.1, whose name a shard may bear as well: content decides."""
        place = self.place(number)
        return self.rows / f"chunk-{place.chunk:03d}" / f"file-{place.file:03d}.parquet"


def task_of(root: Path) -> str:
    """The name of a task's folder, as it was given, or as it is where that was `.` or `..`; `/` has but its path."""
    named = root.name not in ("", "..")
    return root.name if named else root.resolve().name or str(root)


def task_folder(name: str) -> str:
    """The folder name of a task: letters and digits of any script, `_` and `-` stay, all else becomes `_`.

    An empty name is `session`. Raises ValueError for a name of white space, which would be the recordings root itself.
    """
    if not name:
        return "session"
    kept = "".join(each if each.isalnum() or each in "_-" else "_" for each in name.strip())
    if not kept:
        raise ValueError(f"task name {name!r} has nothing a folder could be named by")
    return kept
