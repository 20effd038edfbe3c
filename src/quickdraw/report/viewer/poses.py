"""Poses among the dimensions of a split's vectors: positions with a 6D rotation, as their names tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from quickdraw.core.grid import Float64
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.rotations import rotations_of
from quickdraw.report.vectors import vectors_of, width_of

AXES: Final = ("x", "y", "z")
METRES: Final = {"mm": 0.001, "m": 1.0}
FAMILIAR: Final = {"ee": "end_effector"}


@dataclass(frozen=True, slots=True)
class Pose:
    """A pose `name`: nine `columns` of `feature`, x y z, then six of rotation; `metres` are in a unit of the first."""

    name: str
    feature: str
    columns: tuple[int, ...]
    metres: float

    def read(self, split: SplitReader, episode: int) -> tuple[Float64, Float64]:
        """Positions `(T, 3)` [m] and rotation matrices `(T, 3, 3)` of an episode, in the frame they are told in.

        Six numbers are the first two columns, the third is their cross product (Zhou et al., 2019).
        """
        values = vectors_of(split, self.feature, episode)[:, self.columns]
        first, second = values[:, 3:6], values[:, 6:9]
        return values[:, :3] * self.metres, np.stack([first, second, np.cross(first, second)], axis=2)


def poses_of(split: SplitReader) -> tuple[Pose, ...]:
    """The poses that observations tell, each name once: an action is where something is wanted, not where it is."""
    found = dict[str, Pose]()
    for feature in split.info["features"]:
        if feature.startswith("observation.") and width_of(split, feature):
            for pose in _poses(feature, split.dimensions(feature)):
                found.setdefault(pose.name, pose)
    return tuple(found.values())


def _poses(feature: str, dimensions: tuple[str, ...]) -> Iterator[Pose]:
    for rotation in rotations_of(feature, dimensions):
        for unit, metres in METRES.items():
            position = [f"{rotation.prefix}{axis}_{unit}" for axis in AXES]
            if set(position) <= set(dimensions):
                name = rotation.prefix.rstrip("._") or feature.removeprefix("observation.")
                columns = (*(dimensions.index(each) for each in position), *rotation.dims)
                yield Pose(FAMILIAR.get(name, name), feature, columns, metres)
