"""The columns of an episode's data file as features: what they hold, told when planning, and their rows.

Both go the same ways, so that planning promises what rows keep; but no matrix is decoded for planning. A column of rows
that the footer tells was never filled is read for neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from quickdraw.core.resample import Displacement
from quickdraw.data.pooled_episodes import forces, imu, poses, sampled
from quickdraw.data.pooled_episodes.frames import Frames
from quickdraw.data.pooled_episodes.naming import (
    ACTION,
    STATE,
    Column,
    Kind,
    bare,
    cells,
    kind_of,
    members_of,
    sources,
    validity,
    width_of,
)
from quickdraw.data.pooled_episodes.options import NEXT_STATE, PooledOptions
from quickdraw.data.pooled_episodes.sampled import Sampled
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
    held, moved, scales = dict[str, Mapping[str, Any]](), dict[str, Displacement](), dict[str, tuple[int, str]]()
    try:
        scales |= episode.scales([column for column in made.values() if kind_of(column) is Kind.MATRIX])
    except Refused as refused:
        faults += refused.faults
    for feature, column in made.items():
        if kind_of(column) is Kind.MATRIX and column not in scales:
            continue  # what is wrong with it was told
        try:
            entry, displaced = _entry(data, column, told[column], frames, options=options)
        except Refused as refused:
            faults += refused.faults
            continue
        held[feature] = {"column": column, "width": width_of(column, options) or told[column].width, **entry}
        if displaced is not None:
            moved[bare(column)] = displaced
    if faults:
        raise Refused(dict.fromkeys(faults))
    return Held(held, moved, scales)


def read(
    episode: Episode, frames: Frames, options: PooledOptions, settled: Settled, scales: Scales
) -> dict[str, npt.NDArray[Any]]:
    """Every settled feature's rows `(T, D)`, in its dtype; fill where the episode has no sample.

    `scales` are those that `hold` told. Raises Refused where the data file is damaged, or rows have no sample that had
    one when the build was settled.
    """
    data, faults = episode.data, list[Fault]()
    arrays: dict[str, npt.NDArray[Any]] = dict(sampled.clocks(frames)) if options.clocks else {}
    for column, found in _sampled(data, settled, frames, options, scales=scales):
        arrays[column.name] = found.values
        if column.validity:
            arrays[validity(column.name)] = found.present[:, None].astype(np.float32)
        elif not found.present.all():
            lacking = f"{np.count_nonzero(~found.present)} rows without a sound sample"
            faults.append(
                Fault(data.path.name, column.name, lacking, "one in each, as stamps tell", path=str(data.path))
            )
    if faults:
        raise Refused(faults)
    arrays |= _composed(arrays, options)
    return {spec.name: np.ascontiguousarray(arrays[spec.name]) for spec in settled.features(options)}


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


def _entry(
    data: DataFile, column: str, told: Filling, frames: Frames, *, options: PooledOptions
) -> tuple[dict[str, Any], Displacement | None]:
    """What is held of a column, and how far its samples are from the pictures."""
    why = _unfit(column, told)
    if why:
        return {"filled": False, "missing": len(frames), "why": why}, None
    if kind_of(column) is Kind.MATRIX:
        placed = forces.placing(data, column, frames)
        missing, filled, odd = int(np.count_nonzero(placed.source < 0)), bool((placed.source >= 0).any()), 0
        why, moved = placed.why, placed.displacement
    else:
        found = _of_column(data, column, told, frames, options=options)
        missing, filled, odd = int(np.count_nonzero(~found.present)), found.filled, found.odd
        why, moved = found.why, found.displacement
    entry: dict[str, Any] = {"filled": filled, "missing": missing}
    return entry | ({"odd": odd} if odd else {}) | ({"why": why} if why and not filled else {}), moved


def _unfit(column: str, told: Filling) -> str:
    """Why a column can be no feature, whatever it is filled with; "" where it can."""
    if not bare(column):
        return "no name behind `observation.`"
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


def _of_column(data: DataFile, column: str, told: Filling, frames: Frames, *, options: PooledOptions) -> Sampled:
    """A column on the rows of an episode, but for matrices."""
    match kind_of(column):
        case Kind.IMU:
            return imu.sampled(series.imu(data), frames, options)
        case Kind.POSE:
            return poses.sampled(series.trajectory(data, gripper_of(column)), frames, options.max_gap_s)
        case Kind.FORCE:
            return forces.force(data, column, frames)
        case _ if told.unfilled:
            return sampled.unfilled(column, told.width, frames)
        case _:
            return sampled.recorded(data, column, told.width, frames)


def _sampled(
    data: DataFile, settled: Settled, frames: Frames, options: PooledOptions, *, scales: Scales
) -> Iterator[tuple[Column, Sampled]]:
    """Every column that was settled, one after another; without a sample where the episode lacks it."""
    made = _made(data, options)
    told = fillings(data, [made[each.name] for each in settled.columns if each.name in made])
    for each in settled.columns:
        column = made.get(each.name)
        if column is None or not _is_as_settled(column, told[column], each):
            fill = poses.FILL if kind_of(each.column) is Kind.POSE else np.zeros(each.width, np.float32)
            yield each, sampled.none(len(frames), fill)
        elif kind_of(column) is Kind.MATRIX:
            yield each, forces.summed(data, column, frames, cells(options), scale=scales[column][0])
        else:
            yield each, _of_column(data, column, told[column], frames, options=options)


def _is_as_settled(column: str, told: Filling, settled: Column) -> bool:
    """Whether a column can be the feature: where it is filled, episodes agree on its width."""
    return not _unfit(column, told) and (not _is_row(column) or told.width == settled.width)


def _composed(arrays: Mapping[str, npt.NDArray[Any]], options: PooledOptions) -> dict[str, npt.NDArray[Any]]:
    """The state and the action, where there is one; that of the next row is its own in the last."""
    found = dict[str, npt.NDArray[Any]]()
    for name, members in ((STATE, options.state), (ACTION, options.action)):
        if members == NEXT_STATE:
            for state in tuple(found.values()):
                found[name] = np.concatenate([state[1:], state[-1:]])
        elif members:
            found[name] = np.concatenate([arrays[each] for each in members_of(members, arrays, options)], axis=1)
    return found
