"""Cubes in a split: its palette, decided when it is packed, and its episodes' rows with the cubes among them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from quickdraw.core.cubes import CUBE, EVERY_COLUMN, CubeRule, Track, colours_in, cube_rows
from quickdraw.core.episode import Float32, Rows
from quickdraw.core.hues import COLOURS
from quickdraw.core.statistics import Statistics
from quickdraw.pipeline.fragments import Fragment


@dataclass(frozen=True, slots=True)
class SplitCubes:
    """How one split shows cubes: by which rule, and at how many pixels a picture.

    `evidence` is in how many of its `episodes` each colour is; those that are in any are its palette.
    """

    rule: CubeRule
    picture_px: int
    evidence: Mapping[str, int]
    episodes: int

    @property
    def palette(self) -> tuple[str, ...]:
        """The colours it shows, in canonical order."""
        return tuple(colour for colour in COLOURS if self.evidence[colour])

    def __str__(self) -> str:
        counts = [f"{colour} (in {self.evidence[colour]} of {self.episodes} episodes)" for colour in self.palette]
        return ", ".join(counts) or "none"

    def rows(self, tracks: Sequence[Track], columns: slice = EVERY_COLUMN) -> Float32:
        """`(T, 32)` float32 of one episode, or those `columns` of it, from the tracks of the rule's cameras."""
        return cube_rows(tracks, self.palette, self.picture_px, columns)


def split_cubes(rule: CubeRule, episodes: Iterable[Sequence[Track]], picture_px: int) -> SplitCubes:
    """The split whose episodes have these tracks, one per camera of the rule."""
    return cubes_of(rule, (colours_in(tracks, picture_px, rule.thresholds) for tracks in episodes), picture_px)


def cubes_of(rule: CubeRule, episodes: Iterable[Collection[str]], picture_px: int) -> SplitCubes:
    """The split whose episodes are evidence for these colours."""
    found = list(episodes)
    return SplitCubes(rule, picture_px, {c: sum(c in colours for colours in found) for c in COLOURS}, len(found))


@dataclass(frozen=True, slots=True)
class Member:
    """An episode as its split packs it: a fragment, and the cubes in it where they are wanted."""

    fragment: Fragment
    cubes: SplitCubes | None

    @property
    def task(self) -> str:
        """Task text."""
        return self.fragment.task

    @property
    def frames(self) -> int:
        """Number of rows."""
        return self.fragment.frames

    def rows(self) -> Rows:
        """Feature name -> `(T, D)`, in the feature's dtype."""
        rows = self.fragment.rows()
        return rows if self.cubes is None else {**rows, CUBE.name: self.cubes.rows(self.tracks())}

    def tracks(self) -> list[Track]:
        """What the views saw; none where cubes are not wanted."""
        return [] if self.cubes is None else [self.fragment.track(camera) for camera in self.cubes.rule.cameras]

    def picture_statistics(self, camera: str) -> Statistics:
        """Statistics of the camera's sampled pictures."""
        return self.fragment.picture_statistics(camera)
