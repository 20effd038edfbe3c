"""What tasks a tree holds, and what episodes a task: N of `episode_000012`, and of its pieces `.01`, `.02`, ..."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quickdraw.core.episode import PIECE, EpisodeKey, Rejected
from quickdraw.data.pooled_episodes.frames import keep, read_keys
from quickdraw.data.pooled_episodes.gaps import pieces
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.task_folders import task_folder
from quickdraw.data.pooled_episodes.tree import is_task
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.layout import task_of
from quickdraw.formats.pooled.reader import Episode

RUN: Final = re.compile(rf"episode_(\d{{6,}})(?:{re.escape(PIECE)}(\d{{2,}}))?")


@dataclass(frozen=True, slots=True)
class TaskEpisodes:
    """The episodes of a task, by name; `faults` is what is wrong with the task itself."""

    name: str
    runs: tuple[EpisodeKey, ...]
    faults: tuple[Fault, ...] = ()

    @property
    def ignored(self) -> tuple[str, ...]:
        """None: a recorder keeps other things in a task, which are no episodes."""
        return ()

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """None: what has a name of an episode is planned, and rejected then."""
        return ()


def run_name(number: int, piece: int = 0, pieces: int = 0) -> str:
    """What episode N is called, or one of its `pieces`, counted from 1; names are in their order as plain text too."""
    digits = max(2, len(str(pieces)))
    return f"episode_{number:06d}" + (f"{PIECE}{piece:0{digits}d}" if piece else "")


def number_and_piece(run: str) -> tuple[int, int]:
    """N and the piece, 0 for the whole, of a run's name. Raises ValueError for any other name."""
    match = RUN.fullmatch(run)
    if match is None or run_name(int(match[1])) != run.partition(PIECE)[0] or match[2] == "00":
        raise ValueError(f"{run!r} is no name of an episode")
    return int(match[1]), int(match[2] or 0)


def root_of(tree: Path, task: str) -> Path:
    """A task's folder: below the tree, or the tree itself where that is a task."""
    return tree if is_task(tree) else tree / task


def task_names(tree: Path) -> list[str]:
    """The tasks of a tree, sorted as plain text, or the one that it is; links that lead nowhere among them.

    Passed over are names that begin with `.` or `_` and folders without meta/info.json. Raises Refused where there is
    no task.
    """
    if is_task(tree):
        return [task_of(tree)]
    if not tree.is_dir():
        found = "a file" if tree.exists() else "nothing there"
        raise Refused([_tree_fault(tree, found)])
    try:
        entries = sorted(tree.iterdir())
    except OSError as error:
        raise Refused([_tree_fault(tree, f"unreadable ({error.strerror})")]) from error
    names = [each.name for each in entries if each.name[0] not in "._" and (is_task(each) or _leads_nowhere(each))]
    if not names:
        recognise(tree)  # which tells other formats by name
        raise Refused([_tree_fault(tree, "no task")])
    return names


def episodes_of(tree: Path, task: str, options: PooledOptions) -> TaskEpisodes:
    """The episodes of one task that have files, or their pieces, where those with gaps are to be split."""
    root = root_of(tree, task)
    try:
        task.encode()
    except UnicodeEncodeError:
        name = ascii(task)[1:-1]
        fault = Fault(name, "name", ascii(task), "a name in UTF-8", path=ascii(str(root))[1:-1])
        return TaskEpisodes(name, (), (fault,))
    if _leads_nowhere(root):
        found, expected = f"a link to {root.readlink()}, which is not there", "a folder (is a disk not mounted?)"
        return TaskEpisodes(task, (), (Fault(task, "name", found, expected, path=str(root)),))
    try:
        folder = task_folder(root)
    except Refused as refused:
        return TaskEpisodes(task, (), refused.faults)
    named = (Episode(folder.info, number, files) for number, files in folder.found.items())
    return TaskEpisodes(task, tuple(EpisodeKey(task, run) for each in named for run in _runs(each, options)))


def _runs(episode: Episode, options: PooledOptions) -> Iterator[str]:
    count = _pieces(episode, options) if options.on_gap == "split" else 1
    yield from (run_name(episode.number, piece, count) for piece in (range(1, count + 1) if count > 1 else [0]))


def _pieces(episode: Episode, options: PooledOptions) -> int:
    """How many pieces an episode has; 1 where that cannot be read, for its plan will say why."""
    try:
        kept = keep(read_keys(episode.data), options)
    except (Refused, OSError):
        return 1
    return len(pieces(len(kept.rows), list(kept.gaps)))


def _leads_nowhere(entry: Path) -> bool:
    return entry.is_symlink() and not entry.exists()


def _tree_fault(tree: Path, found: str) -> Fault:
    return Fault(
        "source", "dir", found, "a task folder, or a folder of such", path=str(tree), option="+source.dir=<dir>"
    )
