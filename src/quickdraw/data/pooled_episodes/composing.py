"""`observation.state` and `action`: features put one behind the other, as one was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from quickdraw.core.episode import Float32
from quickdraw.core.features import FeatureSpec
from quickdraw.data.pooled_episodes.naming import OBSERVATION, bare, feature_of
from quickdraw.data.pooled_episodes.options import PooledOptions


def resolved(name: str, features: Mapping[str, FeatureSpec], options: PooledOptions) -> FeatureSpec | None:
    """The feature that `name` means: its own name, or that of the column it is made from, with `observation.` or not.

    None where it means none.
    """
    for full in (name, f"{OBSERVATION}{name}"):
        for feature in (full, feature_of(full, options)):
            if feature in features:
                return features[feature]
    return None


def composed(name: str, parts: Sequence[FeatureSpec]) -> FeatureSpec:
    """A feature of all dimensions of `parts`, `<part>.<dimension>`; what no normaliser may scale stays so.

    Raises ValueError where one part is there twice.
    """
    starts = np.cumsum([0, *(part.width for part in parts)])
    return FeatureSpec(
        name=name,
        names=tuple(f"{bare(part.name)}.{dimension}" for part in parts for dimension in part.names),
        unit=tuple(unit for part in parts for unit in part.unit),
        identity_dims=tuple(
            int(start) + at for start, part in zip(starts, parts, strict=False) for at in part.identity_dims
        ),
    )


def joined(parts: Sequence[FeatureSpec], arrays: Mapping[str, Float32]) -> Float32:
    """The rows `(T, D)` of a feature composed of `parts`."""
    return np.concatenate([arrays[part.name] for part in parts], axis=1)


def following(state: Float32) -> Float32:
    """The state of the next row, of the last its own: `(T, D)`."""
    return np.concatenate([state[1:], state[-1:]])
