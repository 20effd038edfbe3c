"""A task checked against every rule there is (contract 11 and all its MUSTs); what they are stands in `rules`.

Nothing is changed and nothing guessed. Damage of any kind is a finding, never an exception; only what is no pooled task
at all is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from quickdraw.formats.pooled.checks.cells import check_cells
from quickdraw.formats.pooled.checks.clocks import check_clocks
from quickdraw.formats.pooled.checks.data import Data, check_keys, read_data
from quickdraw.formats.pooled.checks.findings import Checking, Report
from quickdraw.formats.pooled.checks.info import check_against_files, check_info
from quickdraw.formats.pooled.checks.matrices import check_matrices
from quickdraw.formats.pooled.checks.names import check_names
from quickdraw.formats.pooled.checks.pictures import check_pictures
from quickdraw.formats.pooled.checks.rows import CheckedRow, check_rows
from quickdraw.formats.pooled.checks.stats import check_stats
from quickdraw.formats.pooled.checks.sums import check_sums
from quickdraw.formats.pooled.checks.tasks import check_tasks
from quickdraw.formats.pooled.checks.videos import check_videos
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.scan import EpisodeFiles, scan

type Tell = Callable[[int, int], None]

__all__ = ["Report", "Tell", "check"]


def check(root: Path, *, deep: bool = False, tell: Tell | None = None) -> Report:
    """All findings of the task in `root`: by names, footers, key columns and rows; `deep`, by every cell and picture.

    `tell(done, episodes)` is called after each episode. Raises Refused where `root` is no pooled task, or cannot be
    listed.
    """
    info = recognise(root)
    files = _scanned(info)
    checking = Checking(info, deep)
    check_names(checking)
    check_info(checking, len(files))
    check_tasks(checking)
    rows = check_rows(checking)
    _check_presence(checking, files, rows)
    for done, episode in enumerate(files.values(), 1):
        _check_episode(checking, episode, rows.get(episode.number))
        if tell is not None:
            tell(done, len(files))
    check_against_files(checking)
    check_stats(checking)
    return checking.report(len(files))


def _scanned(info: Info) -> dict[int, EpisodeFiles]:
    """What there is to check: an episode of auxiliary streams alone is none."""
    return {number: files for number, files in scan(info.layout).items() if files.data or files.videos}


def _check_presence(checking: Checking, files: dict[int, EpisodeFiles], rows: dict[int, CheckedRow]) -> None:
    """Rows without files, and files without rows unless it is told already why the row cannot be read."""
    layout = checking.info.layout
    for number in rows.keys() - files.keys():
        checking.add("row-without-files", rows[number].path, "a row, and no file in data/ or videos/", number)
    if not layout.rows.is_dir():
        if files:
            checking.add("rows-missing", layout.rows, "no such folder")
        return
    told = [each for each in checking.findings if each.rule.startswith("row-") and each.severity == "error"]
    numbers, paths = {each.number for each in told}, {each.path for each in told}
    for number in files.keys() - rows.keys() - numbers:
        shard = layout.shard(number).relative_to(layout.root).as_posix()
        if files[number].data is not None and shard not in paths:
            checking.add("row-missing", layout.row(number), "no row of this episode", number)


def _check_episode(checking: Checking, files: EpisodeFiles, row: CheckedRow | None) -> None:
    videos = check_videos(checking, files)
    data = _check_data(checking, files, row)
    if checking.deep:
        check_pictures(checking, files.number, videos, data)


def _check_data(checking: Checking, files: EpisodeFiles, row: CheckedRow | None) -> Data | None:
    home = checking.info.layout.data(files.number)
    if files.data is None:
        checking.add("data-missing", home, f"no data, and video of {', '.join(files.videos)}", files.number)
        return None
    data = read_data(checking, files.number, files.data)
    if data is None:
        return None
    check_keys(checking, data, row)
    check_clocks(checking, data)
    if row is not None:
        check_matrices(checking, data, row)
    if checking.deep:
        check_cells(checking, data)
        if row is not None:
            check_sums(checking, data, row)
    return data
