"""What a column of the built dataset is called, how wide it is and what its dimensions mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """One vector feature: one name and one unit per dimension; `dtype` as NumPy names it. One dimension is a scalar.

    `identity_dims` are the dimensions no normaliser may scale, because together they are one geometric object
    (a 6D rotation). `unit` is per dimension; "" is unitless. `grid` is the shape that the dimensions have row by row,
    where they are a grid: a trainer's tools take one dimension only.
    """

    name: str
    names: tuple[str, ...]
    unit: tuple[str, ...]
    identity_dims: tuple[int, ...] = ()
    dtype: str = "float32"
    grid: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != len(self.unit) or len(set(self.names)) != len(self.names):
            raise ValueError(f"{self.name}: one distinct name and one unit per dimension")

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return len(self.names)
