"""What the pictures of a build showed, episode by episode: looked up by tasks once, for the driver would take long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quickdraw.core.cubes import VIEWS, CubeRule, Track, colours_in
from quickdraw.pipeline.cubes import SplitCubes, cubes_of
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.fragments import Fragment
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.packed import Packed

EPISODES = 100  # that a worker looks up before it answers


@dataclass(frozen=True, slots=True)
class Shown:
    """What one episode shows: `cubes` as provenance.json tells of them, and the colours it is evidence for.

    `beyond_px` is how many pixels of each depth camera lay beyond what its pictures can tell.
    """

    cubes: Mapping[str, Any]
    colours: frozenset[str]
    beyond_px: Mapping[str, int]


type ShownBySplit = Mapping[str, Packed[int, Shown]]  # and by the episode's number in it


@dataclass(frozen=True, slots=True)
class ShownTask:
    """Look up what some episodes of a split show, from number `first` on; cubes where there is a rule for them."""

    split: str
    first: int
    members: Members
    rule: CubeRule | None
    picture_px: int

    def __call__(self) -> tuple[str, int, tuple[Shown, ...]]:
        """Split, number of the first, and what they show, in order."""
        return self.split, self.first, tuple(self._shown(member.fragment) for member in self.members)

    def _shown(self, fragment: Fragment) -> Shown:
        if self.rule is None:
            return Shown({}, frozenset(), fragment.depth_beyond_px())
        tracks = [fragment.track(camera) for camera in self.rule.cameras]
        colours = colours_in(tracks, self.picture_px, self.rule.thresholds)
        return Shown(seen(tracks), frozenset(colours), fragment.depth_beyond_px())


def look_up(members: Mapping[str, Members], rule: CubeRule | None, picture_px: int, executor: Executor) -> ShownBySplit:
    """What every episode of every split shows, looked up by the executor's workers."""
    found = {name: Packed[int, Shown]() for name in members}
    for split, first, episodes in executor.run(_look, _tasks(members, rule, picture_px)):
        for number, shown in enumerate(episodes, first):
            found[split].add(number, shown)
    return found


def _look(task: ShownTask) -> tuple[str, int, tuple[Shown, ...]]:
    """In a worker."""
    return task()


def _tasks(members: Mapping[str, Members], rule: CubeRule | None, picture_px: int) -> Iterator[ShownTask]:
    for name, episodes in members.items():
        begun = range(0, len(episodes), EPISODES)
        for first, some in zip(begun, episodes.parted(first + EPISODES for first in begun), strict=True):
            yield ShownTask(name, first, some, rule, picture_px)


def cubes_shown(rule: CubeRule, shown: Packed[int, Shown], picture_px: int) -> SplitCubes:
    """The cubes of a split whose episodes show that."""
    return cubes_of(rule, (episode.colours for episode in shown.values()), picture_px)


def beyond_px(shown: ShownBySplit) -> Counter[str]:
    """How many pixels of each depth camera, in all splits, lay beyond what its pictures can tell, where any did."""
    episodes = (episode for split in shown.values() for episode in split.values())
    return sum((Counter(episode.beyond_px) for episode in episodes), Counter())


def seen(tracks: Sequence[Track]) -> dict[str, Any]:
    """What was seen of the cubes in an episode, whatever its split's palette: share of the rows, and hue, by view."""
    return {"cubes": {view: _view(track) for view, track in zip(VIEWS, tracks, strict=True)}} if tracks else {}


def _view(track: Track) -> dict[str, Any]:
    shares = track.visible_share()
    return {"visible_share": shares, "hue_deg": {c: peak.hue_deg for c, peak in track.peaks.items() if shares[c]}}
