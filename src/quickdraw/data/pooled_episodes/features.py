"""The columns of an episode's data file as features: what they hold, told when planning, and their rows.

Both go the same ways, so that planning promises what rows keep; but no matrix is decoded for planning, and no column of
rows is read that the footer tells was never filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.features import FeatureSpec
from quickdraw.core.resample import Displacement
from quickdraw.data.pooled_episodes import composing, forces, imu, plain, poses
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.naming import (
    ACTION,
    STATE,
    Kind,
    bare,
    cells,
    feature_of,
    is_validity,
    kind_of,
    sources,
    validity,
    width_of,
)
from quickdraw.data.pooled_episodes.options import NEXT_STATE, PooledOptions
from quickdraw.data.pooled_episodes.sampled import Sampled, none
from quickdraw.data.pooled_episodes.settling import Settled
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import series
from quickdraw.formats.pooled.columns import gripper_of
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.fillings import Filling, fillings
from quickdraw.formats.pooled.reader import Episode

type Scales = Mapping[str, tuple[int, str]]

MOST_WIDE: Final = 4096  # numbers a row; 64 x 64 taxels
OLD_POSE: Final = "a column of recorders before v1.3.1, a quarter of whose rows stand for no pose"
ROW_KINDS: Final = (Kind.STATE, Kind.QUAT, Kind.HAND, Kind.PLAIN)  # a row is a sample, and has no stamp of its own


@dataclass(frozen=True, slots=True)
class Held:
    """What an episode's data file holds of features, JSON-ready.

    `columns` is feature -> `column` it is made from, `width`, whether it is `filled` in the rows taken, how many of
    these have no sample, `missing`; where there is any, `odd`, the samples that are not finite, and `why` it has none.
    `displacement` is stream -> how far its samples are from the pictures, `scales` matrix column -> steps a mN, and who
    says so.
    """

    columns: Mapping[str, Mapping[str, Any]]
    displacement: Mapping[str, Displacement]
    scales: Scales


def hold(episode: Episode, frames: Frames, options: PooledOptions) -> Held:
    """What the rows of an episode will hold. Raises Refused where the data file is damaged or not as the contract says.

    Stamps and columns that are filled are read, matrices are not.
    """
    data = episode.data
    made = _made(data, options)
    told = fillings(data, list(made.values()))
    faults = [*_width_faults(data, told, options)]
    found, moved, scales = dict(_empty(made, told, frames)), dict[str, Displacement](), dict[str, tuple[int, str]]()
    for column in [column for column in made.values() if column not in found]:
        try:
            if kind_of(column) is Kind.MATRIX:
                scales[column] = episode.scale(column)
                found[column], displaced = _placed(forces.placing(data, column, frames))
            else:
                sampled = _of_column(data, column, told[column].width, frames, options=options)
                found[column], displaced = _counted(sampled), sampled.displacement
        except Refused as refused:
            faults += refused.faults
            continue
        if displaced is not None:
            moved[bare(column)] = displaced
    if faults:
        raise Refused(dict.fromkeys(faults))
    wide = {column: width_of(column, options) or told[column].width for column in made.values()}
    held = {feature: {"column": column, "width": wide[column], **found[column]} for feature, column in made.items()}
    return Held(held, moved, scales)


def read(
    episode: Episode, frames: Frames, options: PooledOptions, settled: Settled, scales: Scales
) -> dict[str, npt.NDArray[Any]]:
    """Every settled feature's rows `(T, D)`, in its dtype; fill where the episode has no sample.

    `scales` are those that `hold` told. Raises Refused where the data file is damaged, or rows have no sample that had
    one when the build was settled.
    """
    data = episode.data
    own = {spec.name: spec for spec in settled.features if _is_own(spec, options)}
    arrays: dict[str, npt.NDArray[Any]] = dict(plain.clocks(frames)) if options.clocks else {}
    faults = list[Fault]()
    present = {spec.name for spec in settled.features if is_validity(spec)}
    for name, sampled in _sampled(data, own, frames, options, scales=scales):
        arrays[name] = sampled.values
        valid = validity(name).name
        if valid in present:
            arrays[valid] = sampled.present[:, None].astype(np.float32)
        elif not sampled.present.all():
            found = f"{np.count_nonzero(~sampled.present)} rows without a sound sample"
            faults.append(Fault(data.path.name, name, found, "one in each, as stamps tell", path=str(data.path)))
    if faults:
        raise Refused(faults)
    _compose(arrays, settled, options)
    return {spec.name: np.ascontiguousarray(arrays[spec.name]) for spec in settled.features}


def _made(data: DataFile, options: PooledOptions) -> dict[str, str]:
    """Feature -> the one column it is made from. Raises Refused where two would be one feature."""
    found = sources(data.names, options)
    for columns in found.values():
        if len(columns) > 1:
            columns[:] = [column for column in columns if kind_of(column) is not Kind.OLD_POSE]
    faults = [
        Fault(data.path.name, name, " and ".join(columns), "one column of that name", path=str(data.path))
        for name, columns in found.items()
        if len(columns) > 1
    ]
    if faults:
        raise Refused(faults)
    return {name: columns[0] for name, columns in found.items()}


def _width_faults(data: DataFile, told: Mapping[str, Filling], options: PooledOptions) -> Iterator[Fault]:
    """Columns of rows of another width than the contract's, filled or not."""
    for column, filling in told.items():
        wide = width_of(column, options)
        if _is_row(column) and wide is not None and filling.width != wide:
            found = f"{filling.width or 'no fixed count of'} numbers a row ({filling.type})"
            yield Fault(data.path.name, column, found, str(wide), path=str(data.path))


def _empty(
    made: Mapping[str, str], told: Mapping[str, Filling], frames: Frames
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Columns that need not be read: those that can be no feature, and those the footer tells were never filled."""
    for column in made.values():
        why = _unfit(column, told[column])
        if why:
            yield column, _entry(len(frames), len(frames), why=why)
        elif _is_row(column) and told[column].unfilled:
            yield column, _entry(len(frames) if plain.tells_samples(column) else 0, 0)


def _unfit(column: str, told: Filling) -> str:
    """Why a column can be no feature, whatever it is filled with; "" where it can."""
    if kind_of(column) is Kind.OLD_POSE:
        return OLD_POSE
    if kind_of(column) is not Kind.PLAIN:
        return ""
    if not told.width:
        return f"{told.type}, which is no fixed count of numbers a row"
    if column.endswith("_ns") and "int64" in told.type:
        return "stamps, which float32 does not hold"
    return f"{told.width} numbers a row" if told.width > MOST_WIDE else ""


def _is_row(column: str) -> bool:
    return kind_of(column) in ROW_KINDS


def _entry(missing: int, rows: int, *, odd: int = 0, why: str = "") -> dict[str, Any]:
    """Of a column that is filled where less rows are missing than there are `rows`."""
    filled = missing < rows
    told = {"odd": odd} if odd else {}
    return {"filled": filled, "missing": missing, **told, **({"why": why} if why and not filled else {})}


def _counted(sampled: Sampled) -> dict[str, Any]:
    missing = int(np.count_nonzero(~sampled.present))
    entry = _entry(missing, len(sampled.present), odd=sampled.odd, why=sampled.why)
    return {**entry, "filled": sampled.filled}


def _placed(placed: forces.Placing) -> tuple[dict[str, Any], Displacement | None]:
    rows = len(placed.source)
    return _entry(int(np.count_nonzero(placed.source < 0)), rows, why=placed.why), placed.displacement


def _of_column(data: DataFile, column: str, width: int, frames: Frames, *, options: PooledOptions) -> Sampled:
    """A column on the rows of an episode, but for matrices."""
    match kind_of(column):
        case Kind.IMU:
            return imu.sampled(series.imu(data), frames, options)
        case Kind.POSE:
            return poses.sampled(series.trajectory(data, gripper_of(column)), frames, options.max_gap_s)
        case Kind.FORCE:
            return forces.force(data, column, frames)
        case _:
            return plain.sampled(data, column, width, frames)


def _is_own(spec: FeatureSpec, options: PooledOptions) -> bool:
    """Whether a feature is made from a column, and not of others."""
    composed = spec.name == ACTION or (spec.name == STATE and bool(options.state))
    return not (composed or is_validity(spec) or spec.dtype == "int64")


def _sampled(
    data: DataFile, own: Mapping[str, FeatureSpec], frames: Frames, options: PooledOptions, *, scales: Scales
) -> Iterator[tuple[str, Sampled]]:
    """Every feature of `own`, one after another; without a sample where the episode lacks it."""
    made = {name: column for name, column in _made(data, options).items() if name in own}
    told = fillings(data, list(made.values()))
    for column in [column for column in made.values() if _unfit(column, told[column])]:
        del made[feature_of(column, options)]
    for name in [name for name, column in made.items() if _is_row(column) and told[column].width != own[name].width]:
        del made[name]  # settling saw to it that it is not filled
    for name, spec in own.items():
        if name not in made:
            yield name, none(len(frames), _fill(spec))
            continue
        column = made[name]
        if kind_of(column) is Kind.MATRIX:
            yield name, forces.summed(data, column, frames, cells(options), scale=scales[column][0])
        else:
            yield name, _of_column(data, column, told[column].width, frames, options=options)


def _fill(spec: FeatureSpec) -> npt.NDArray[np.float32]:
    posed = kind_of(spec.name) is Kind.OLD_POSE  # which the feature of a path is called as
    return poses.FILL if posed else np.zeros(spec.width, np.float32)


def _compose(arrays: dict[str, npt.NDArray[Any]], settled: Settled, options: PooledOptions) -> None:
    """Add the state and the action, where there is one."""
    own = {spec.name: spec for spec in settled.features if spec.name in arrays}
    for name, members in ((STATE, options.state), (ACTION, options.action)):
        if members == NEXT_STATE:
            arrays[ACTION] = composing.following(arrays[STATE])
        elif members:
            parts = [composing.resolved(member, own, options) for member in members]
            arrays[name] = composing.joined([part for part in parts if part is not None], arrays)
