"""The plan of one episode, or of a piece of one, from its files: what it would become, or all that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quickdraw.core.episode import EpisodeKey, EpisodePlan, FileStamp, Rejected
from quickdraw.data.pooled_episodes import features
from quickdraw.data.pooled_episodes.copies import copy_faults
from quickdraw.data.pooled_episodes.episode_plan import Files, Piece, Taken, planned
from quickdraw.data.pooled_episodes.features import Held
from quickdraw.data.pooled_episodes.frames import Frames, Kept, Keys, gap_faults, keep, read_keys, take
from quickdraw.data.pooled_episodes.gaps import pieces
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.data.pooled_episodes.pictures import Match, match, match_faults
from quickdraw.data.pooled_episodes.slots import Shown, slots_of
from quickdraw.data.pooled_episodes.task_folders import TaskFolder
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.reader import Episode


@dataclass(frozen=True, slots=True)
class Planner:
    """One episode about to be planned: its task, what is asked for, and how its files looked before any was read.

    `piece` is which one of it, 0 for the whole. `row_file` is the name of its one-row file in `stamps`, empty where it
    has none.
    """

    key: EpisodeKey
    piece: int
    episode: Episode
    folder: TaskFolder
    options: PooledOptions
    stamps: Mapping[str, FileStamp]
    row_file: str
    looks: str

    @property
    def where(self) -> str:
        """What faults call it."""
        return str(self.key)

    def plan(self) -> EpisodePlan | Rejected:
        """Raises OSError where a file went meanwhile."""
        faults = [*self._lacking()]
        if faults:
            return Rejected(self.key, tuple(faults))
        root = self.episode.info.layout.root
        shown, of_slots = slots_of(self.episode.files, self.options, self.where, root)
        rows = self._rows(faults)
        faults += of_slots
        if rows is None:
            return Rejected(self.key, tuple(faults))
        keys, kept, piece = rows
        rate_hz = self.options.target_hz
        # Where a slot is damaged, what is left of them does not tell whether a row is short of a picture.
        matched = match(kept.frame, kept.steps_s, () if of_slots else shown, rate_hz)
        frames = self._frames(keys, kept, piece, matched)
        if not of_slots:
            faults += match_faults(self.where, matched, shown, rate_hz)
            faults += self._copy_faults(shown, frames, matched)
            faults += self._emptied(keys, piece, matched)
        held = self._held(frames, faults)
        faults += self._late(shown)
        if faults or held is None:
            return Rejected(self.key, tuple(faults))
        row_files = (self.folder.name(keys.data.path), *([self.row_file] if self.row_file else []))
        files = Files(row_files, {each.camera: self.folder.name(each.path) for each in shown}, self.stamps, self.looks)
        return planned(self.key, self.episode, self.folder, self.options, files=files, shown=shown, keys=keys,
                       taken=Taken(kept, piece, frames, matched), held=held)  # fmt: skip

    def _lacking(self) -> Iterator[Fault]:
        """What is wrong before a file is opened."""
        info, files = self.episode.info, self.episode.files
        if info.fps != self.options.target_hz:
            expected = f"{self.options.target_hz}, as the other tasks"
            option = f"+source.exclude_globs=[...,{self.key.campaign}]"
            yield Fault(self.where, "fps", f"{info.fps:g}", expected, path=str(info.layout.info), option=option)
        if files.data is None:
            home = info.layout.data(self.episode.number)
            yield Fault(self.where, "data", "no data file", "one beside its videos", path=str(home))
        if not files.playable():
            path = str(files.data or info.layout.root / "videos")
            yield Fault(self.where, "videos", "no video", "one beside its data file", path=path)

    def _rows(self, faults: list[Fault]) -> tuple[Keys, Kept, Piece] | None:
        """Key columns, the rows that are frames, and the piece; None, with the faults added, where there are none."""
        try:
            keys = read_keys(self.episode.data)
            kept = keep(keys, self.options)
        except Refused as refused:
            faults += self.of(refused.faults)
            return None
        if self.options.on_gap == "refuse":
            faults += self.of(gap_faults(keys, kept, self.options.max_gap_s))
        every = pieces(len(kept.rows), list(kept.gaps))
        count = len(every) if self.options.on_gap == "split" else 1
        listed = range(1, count + 1) if count > 1 else range(1)
        if self.piece not in listed:
            faults.append(self._other_pieces(keys, count))
            return None
        if count == 1:
            return keys, kept, Piece(1, 1, 0, len(kept.rows))
        return keys, kept, Piece(self.piece, count, *every[self.piece - 1])

    def _other_pieces(self, keys: Keys, count: int) -> Fault:
        """Its data file is another one than when its pieces were listed."""
        found = f"{count} piece{'s' if count != 1 else ''} now"
        expected = "as many as were listed: a source left alone while it is built"
        return Fault(self.where, "pieces", found, expected, path=str(keys.data.path))

    def _frames(self, keys: Keys, kept: Kept, piece: Piece, matched: Match) -> Frames:
        rows = kept.rows[piece.first : piece.end]
        short = bool(matched.short) and piece.number == piece.count
        end = int(rows[-1]) + (0 if short and len(rows) > 1 else 1)
        return take(keys, kept.rows, int(rows[0]), end, rate_hz=self.options.target_hz)

    def _emptied(self, keys: Keys, piece: Piece, matched: Match) -> Iterator[Fault]:
        if matched.short and piece.number == piece.count and piece.end - piece.first == 1:
            yield Fault(self.where, "rows", "none that has a picture", "one or more", path=str(keys.data.path))

    def _copy_faults(self, shown: Sequence[Shown], frames: Frames, matched: Match) -> Iterator[Fault]:
        for each in shown:
            starts = matched.depth_starts.get(each.camera, 0)
            yield from copy_faults(each, frames.picture, starts, self.options, self.where)

    def _held(self, frames: Frames, faults: list[Fault]) -> Held | None:
        try:
            return features.hold(self.episode, frames, self.options)
        except Refused as refused:
            faults += self.of(refused.faults)
            return None

    def _late(self, shown: Sequence[Shown]) -> Iterator[Fault]:
        """What lies there now, and did not when the files were looked at."""
        for path in [self.episode.files.data, *(each.path for each in shown)]:
            if path is not None and self.folder.name(path) not in self.stamps:
                expected = "a source left alone while it is built"
                yield Fault(self.where, path.name, "there only now", expected, path=str(path))

    def of(self, faults: Iterable[Fault]) -> list[Fault]:
        """Faults that a file's own reader told, as this episode's."""
        return [replace(fault, where=self.where) for fault in faults]
