"""Which feature of the dataset a column of a data file becomes, or several, and what its dimensions are called.

No name contains `image` or `/`, or ends `_is_pad`: lerobot takes the first for pictures, parts columns of statistics at
the second, and writes over the last. A dimension that has a unit ends with it, for LeRobot has no other place for one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, product
from typing import Final

from quickdraw.core.features import FeatureSpec
from quickdraw.data.pooled_episodes.options import NEXT_STATE, PooledOptions
from quickdraw.formats.pooled import columns

OBSERVATION: Final = "observation."
STATE, ACTION = "observation.state", "action"
WALL, HARDWARE = "wall_time_ns", "hardware_ns"
AXES: Final = ("gx", "gy", "gz", "ax", "ay", "az")
FORCE: Final = ("fx_mn", "fy_mn", "fz_mn")
XYZ: Final = ("x_m", "y_m", "z_m")
ROT6: Final = tuple(f"rot6_{each}" for each in range(6))
GLOVE: Final = (16, 16)


class Kind(StrEnum):
    """What a column holds."""

    IMU = "imu"
    POSE = "pose"
    OLD_POSE = "old pose"
    FORCE = "force"
    STATE = "state"
    MATRIX = "matrix"
    QUAT = "quat"
    HAND = "hand"
    PLAIN = "plain"  # a glove's pressures, and whatever else has numbers


@dataclass(frozen=True, slots=True)
class Column:
    """A `column` that became the feature `name` of `width` numbers a row; `validity`: of some rows it has no sample."""

    name: str
    column: str
    width: int
    validity: bool


def kind_of(column: str) -> Kind:
    """What a column below `observation.` holds, by its name."""
    forms = (
        (columns.MATRIX, Kind.MATRIX),
        (columns.FORCE, Kind.FORCE),
        (columns.STATE, Kind.STATE),
        (columns.TRAJECTORY, Kind.POSE),
        (columns.OLD_POSE, Kind.OLD_POSE),
        (columns.GLOVE_QUAT, Kind.QUAT),
    )
    if column == columns.IMU:
        return Kind.IMU
    if column in columns.HAND_POSES:
        return Kind.HAND
    return next((kind for form, kind in forms if form.fullmatch(column)), Kind.PLAIN)


def sources(names: Iterable[str], options: PooledOptions) -> dict[str, list[str]]:
    """Feature -> the columns of a data file that would become it, one but for names that fall together.

    Keys, the placeholder of an action, stamps of samples and texts of status are none; nor are matrices where none are
    asked for.
    """
    found: dict[str, list[str]] = {}
    for column in names:
        if not column.startswith(OBSERVATION) or is_stamps(column):
            continue
        if kind_of(column) is Kind.MATRIX and options.force_matrices == "none":
            continue
        found.setdefault(feature_of(column, options), []).append(column)
    return found


def is_stamps(column: str) -> bool:
    """Whether a column holds stamps of the samples in another."""
    return column.endswith("_ns") and columns.gripper_of(column) > 0


def feature_of(column: str, options: PooledOptions) -> str:
    """The name of the feature a column becomes."""
    kind = kind_of(column)
    if kind is Kind.POSE:
        return column.replace("slam_trajectory", "slam_pose")
    if kind is Kind.MATRIX and options.force_matrices == "sums":
        return f"{column}_sum"
    return allowed(column)


def allowed(column: str) -> str:
    """A column's name as lerobot can do with it."""
    name = column.replace("image", "img").replace("/", "_")
    return f"{name.removesuffix('_is_pad')}_pad" if name.endswith("_is_pad") else name


def cells(options: PooledOptions) -> tuple[int, int]:
    """Rows and columns of patches that a force matrix is summed up to."""
    if options.force_matrices == "sums":
        return 1, 1
    height, width = options.force_matrices.split("x")
    return int(height), int(width)


def imu_samples(options: PooledOptions) -> int:
    """IMU samples a row."""
    return options.imu.samples if options.imu.mode == "window" else 1


@lru_cache(maxsize=16)  # thousands of names, which are asked for with every episode
def specs(columns: tuple[Column, ...], options: PooledOptions) -> tuple[FeatureSpec, ...]:
    """All features of a build, in order.

    `observation.state` and `action` come first, then those of columns, `<feature>_valid` right behind its feature, and
    clocks last.
    """
    own = {spec.name: spec for spec in _own(columns, options)}
    found = list[FeatureSpec]()
    for name, members in ((STATE, options.state), (ACTION, options.action)):
        if members == NEXT_STATE:
            found += [replace(state, name=ACTION) for state in found]
        elif members:
            found.append(_composed(name, [own[each] for each in members_of(members, own, options)]))
    clocks = [FeatureSpec(name, (name,), ("ns",), dtype="int64") for name in (HARDWARE, WALL) if options.clocks]
    return (*found, *own.values(), *clocks)


def _own(columns: Iterable[Column], options: PooledOptions) -> Iterator[FeatureSpec]:
    for each in columns:
        yield spec_of(each.column, each.width, options)
        if each.validity:
            yield FeatureSpec(validity(each.name), ("valid",), ("",))


def validity(feature: str) -> str:
    """The feature that says whether a row of another has a sample, 1, or fill, 0."""
    return f"{feature}_valid"


def members_of(members: Iterable[str], features: Container[str], options: PooledOptions) -> list[str]:
    """The features that the members of a state or an action mean, each once; those that mean none are passed over."""
    found = dict.fromkeys(resolved(member, features, options) for member in members)
    return [name for name in found if name is not None]


def resolved(member: str, features: Container[str], options: PooledOptions) -> str | None:
    """The feature that is meant: by its name, or that of the column it is made from, with `observation.` or not.

    None where it is none of `features`.
    """
    whole = (member, f"{OBSERVATION}{member}")
    return next((name for full in whole for name in (full, feature_of(full, options)) if name in features), None)


def _composed(name: str, parts: Sequence[FeatureSpec]) -> FeatureSpec:
    """A feature of all dimensions of `parts`, `<part>.<dimension>`; what no normaliser may scale stays so.

    Raises ValueError where one part is there twice.
    """
    starts = accumulate((part.width for part in parts), initial=0)
    return FeatureSpec(
        name=name,
        names=tuple(f"{bare(part.name)}.{dimension}" for part in parts for dimension in part.names),
        unit=tuple(unit for part in parts for unit in part.unit),
        identity_dims=tuple(
            start + at for start, part in zip(starts, parts, strict=False) for at in part.identity_dims
        ),
    )


def spec_of(column: str, width: int, options: PooledOptions) -> FeatureSpec:
    """The feature a column of `width` numbers a row becomes."""
    name = feature_of(column, options)
    match kind_of(column):
        case Kind.IMU:
            return _imu(name, imu_samples(options))
        case Kind.POSE | Kind.OLD_POSE:
            return FeatureSpec(name, (*XYZ, *ROT6), ("m",) * 3 + ("",) * 6, identity_dims=tuple(range(3, 9)))
        case Kind.FORCE:
            return FeatureSpec(name, FORCE, ("mN",) * 3)
        case Kind.STATE:
            return FeatureSpec(name, ("open_pct", "gripped", "fz_mn"), ("%", "", "mN"))
        case Kind.MATRIX:
            return _matrix(name, *cells(options))
        case Kind.QUAT:
            quat = _parted("s", 16, ("qx", "qy", "qz", "qw"))
            return FeatureSpec(name, quat, ("",) * 64, identity_dims=tuple(range(64)), grid=(16, 4))
        case Kind.HAND:
            return FeatureSpec(name, _parted("p", 21, XYZ), ("m",) * 63, grid=(21, 3))
        case Kind.PLAIN:
            return _plain(name, column, width)


def width_of(column: str, options: PooledOptions) -> int | None:
    """How wide the feature of a column is; None where that is as wide as the column."""
    kind = kind_of(column)
    fixed = {Kind.POSE: 9, Kind.OLD_POSE: 9, Kind.FORCE: 3, Kind.STATE: 3, Kind.QUAT: 64, Kind.HAND: 63}
    if kind is Kind.IMU:
        return columns.IMU_AXES * imu_samples(options)
    if kind is Kind.MATRIX:
        height, width = cells(options)
        return height * width * len(FORCE)
    return 16 if columns.GLOVE_VALID.fullmatch(column) else fixed.get(kind)


def bare(feature: str) -> str:
    """A feature's name without `observation.`."""
    return feature.removeprefix(OBSERVATION)


def _parted(letter: str, parts: int, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{letter}{part:02d}_{name}" for part in range(parts) for name in names)


def _imu(name: str, samples: int) -> FeatureSpec:
    if samples == 1:
        return FeatureSpec(name, AXES, ("",) * 6)  # the contract names no units
    return FeatureSpec(name, _parted("s", samples, AXES), ("",) * 6 * samples, grid=(samples, 6))


def _matrix(name: str, height: int, width: int) -> FeatureSpec:
    if height == width == 1:
        return FeatureSpec(name, FORCE, ("mN",) * 3)
    names = tuple(f"{cell}_{axis}" for cell in _grid(height, width) for axis in FORCE)
    return FeatureSpec(name, names, ("mN",) * len(names), grid=(height, width, 3))


def _plain(name: str, column: str, width: int) -> FeatureSpec:
    if columns.GLOVE_VALID.fullmatch(column):
        return FeatureSpec(name, tuple(f"s{each:02d}" for each in range(width)), ("",) * width)
    if width == columns.GLOVE_VALUES:
        return FeatureSpec(name, tuple(_grid(*GLOVE)), ("",) * width, grid=GLOVE)
    return FeatureSpec(name, tuple(f"v{each:03d}" for each in range(width)), ("",) * width)


def _grid(height: int, width: int) -> list[str]:
    return [f"r{row:02d}c{column:02d}" for row, column in product(range(height), range(width))]
