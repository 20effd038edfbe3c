"""6D rotations among the dimensions of a feature, known by their names alone.

Other dimensions that a normaliser leaves alone, quaternions for one, are no such rotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

SIX: Final = tuple(f"rot6_{number}" for number in range(6))
TOOL: Final = "ee_"


@dataclass(frozen=True, slots=True)
class Rotation:
    """Six `dims` of `feature`: the first two columns of a matrix. `prefix` stands before each of their names."""

    feature: str
    prefix: str
    dims: tuple[int, ...]

    @property
    def name(self) -> str:
        """What their names have in common."""
        return f"{self.prefix}rot6"

    @property
    def tool(self) -> bool:
        """Whether it is a robot's tool, whose axis is known to be along the third column."""
        return self.prefix == TOOL


def rotations_of(feature: str, names: Sequence[str]) -> Iterator[Rotation]:
    """The rotations of a feature whose dimensions are called `names`: `<prefix>rot6_0` to `rot6_5`, wherever they are.

    In the order of their first dimensions. Source of the representation: Zhou et al., 2019.
    """
    at = {name: dim for dim, name in enumerate(names)}
    for name in at:
        prefix = name.removesuffix(SIX[0])
        six = [prefix + each for each in SIX]
        if prefix != name and all(each in at for each in six):
            yield Rotation(feature, prefix, tuple(at[each] for each in six))
