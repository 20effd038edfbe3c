"""Which rows of an episode's data file are the frames that are taken, and what stamps those have (contract 7.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from quickdraw.core.grid import Float64, Int64
from quickdraw.data.pooled_episodes.gaps import Gap, frame_steps, gaps
from quickdraw.data.pooled_episodes.options import PooledOptions
from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled.clock import ClockClass, classify, fold
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.series import KEY_TYPES

MOST_NAMED: Final = 5  # gaps of an episode
MOST_WALL_S: Final = 9e9  # whole nanoseconds of it fit 64 bits
TASK = "task_index"

type Folding = Literal["agreed", "first"]


@dataclass(frozen=True, slots=True)
class Frames:
    """The T frames taken, one row each, in order.

    `rows` `(T,)` int64 is the row of the data file that stands for each, `picture` `(T,)` int64 its frame_index, the
    number of its picture in the recording. `frame_of_row` `(file rows,)` int64 is the frame, 0 .. T-1, that each row of
    the file belongs to, also of rows a fold drops; -1 where it belongs to none that is taken. `hardware_ns` `(T,)`
    int64 [ns], 0 where a row has no stamp, and `wall_time_s` `(T,)` float64 [Unix s] are the rows'. `clock` is the
    class of the whole file's clock, `rate_hz` how many frames a second has.
    """

    rows: Int64
    picture: Int64
    frame_of_row: Int64
    hardware_ns: Int64
    wall_time_s: Float64
    clock: ClockClass
    rate_hz: int

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Keys:
    """The key columns of a data file, each `(file rows,)`, and the index of its task's text, None where it has none.

    `wall_time_s` is float64 [Unix s], `timestamp` float32 [s], `hardware_ns` int64 [ns].
    """

    data: DataFile
    frame_index: Int64
    timestamp: npt.NDArray[np.float32]
    wall_time_s: Float64
    hardware_ns: Int64
    task_index: int | None


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows `(F,)` int64 of a data file that stand for a frame each, how they were chosen, and the gaps they have.

    `frame` `(F,)` int64 is their frame_index, which rises, `steps_s` `(F - 1,)` float64 the times between them [s], by
    `hardware_ns` where both have it. `rows_per_frame` is the most rows of one frame.
    """

    rows: Int64
    frame: Int64
    steps_s: Float64
    folding: Folding
    rows_per_frame: int
    gaps: tuple[Gap, ...]


def read_keys(data: DataFile) -> Keys:
    """The key columns of a data file.

    Raises Refused where one is missing, of another type, damaged or has a null, a time is not finite, or no row is
    there.
    """
    data.require(KEY_TYPES)
    with_task = TASK in data and data.types[TASK] == data.types["frame_index"]
    found, _ = data.read([*KEY_TYPES, *([TASK] if with_task else [])])
    faults = [*_key_faults(data, found)]
    tasks = np.unique(found[TASK]) if with_task else np.zeros(0, np.int64)
    if len(tasks) > 1:
        told = ", ".join(map(str, tasks[:MOST_NAMED].tolist()))
        faults.append(Fault(data.path.name, TASK, told, "one task an episode", path=str(data.path)))
    if faults:
        raise Refused(faults)
    return Keys(
        data=data,
        frame_index=found["frame_index"],
        timestamp=found["timestamp"],
        wall_time_s=found["wall_time"],
        hardware_ns=found["hardware_ns"],
        task_index=int(tasks[0]) if len(tasks) else None,
    )


def _key_faults(data: DataFile, found: dict[str, npt.NDArray[np.generic]]) -> Iterator[Fault]:
    where, path = data.path.name, str(data.path)
    if not len(found["frame_index"]):
        yield Fault(where, "rows", "none", "a row for each frame", path=path)
    for name in ("timestamp", "wall_time"):
        odd = np.flatnonzero(~np.isfinite(found[name].astype(np.float64)))
        if len(odd):
            yield Fault(where, name, f"{found[name][odd[0]]!s} in row {odd[0]}", "seconds in every row", path=path)
    wall_s = np.abs(found["wall_time"].astype(np.float64))
    far = np.flatnonzero((wall_s > MOST_WALL_S) & np.isfinite(wall_s))
    if len(far):
        yield Fault(where, "wall_time", f"{found['wall_time'][far[0]]:g} in row {far[0]}", "Unix seconds", path=path)
    negative = np.flatnonzero(found["frame_index"].astype(np.int64) < 0)
    if len(negative):
        told = f"{found['frame_index'][negative[0]]!s} in row {negative[0]}"
        yield Fault(where, "frame_index", told, "0 or more in every row", path=path)


def keep(keys: Keys, options: PooledOptions) -> Kept:
    """Which rows stand for frames, and the gaps between those, of which pieces are made.

    Raises Refused where rows of one frame differ in their stamps, unless the first of each is asked for, and where
    frame_index does not rise then.
    """
    rows, folding, most = _folded(keys, options)
    number = keys.frame_index[rows]
    back = np.flatnonzero(np.diff(number) <= 0)
    if len(back):
        before, after = int(back[0]), int(back[0]) + 1
        found = f"{number[after]} in row {rows[after]}, after {number[before]} in row {rows[before]}"
        raise keys.data.refusal("frame_index", found, "numbers that rise from frame to frame")
    hardware_ns, wall_time_s, clock = keys.hardware_ns[rows], keys.wall_time_s[rows], classify(keys.hardware_ns)
    holes = gaps(hardware_ns, wall_time_s, clock=clock, rate_hz=options.target_hz, max_gap_s=options.max_gap_s)
    return Kept(rows, number, frame_steps(hardware_ns, wall_time_s, clock), folding, most, tuple(holes))


def _folded(keys: Keys, options: PooledOptions) -> tuple[Int64, Folding, int]:
    """The row of each frame in order, how it was chosen, and the most rows of one frame."""
    found = fold(keys.frame_index, keys.timestamp, keys.hardware_ns)
    if found.agrees:
        return found.keep, "agreed", found.rows_per_frame
    leader = found.first
    if options.fold == "first":
        return np.unique(leader), "first", found.rows_per_frame
    differs = (keys.timestamp != keys.timestamp[leader]) | (keys.hardware_ns != keys.hardware_ns[leader])
    row = int(np.flatnonzero(differs)[0])
    frame, other = keys.frame_index[row], int(leader[row])
    stamps = f"{keys.hardware_ns[other]} and {keys.hardware_ns[row]} ns"
    if keys.hardware_ns[other] == keys.hardware_ns[row]:
        stamps = f"{keys.timestamp[other]:g} and {keys.timestamp[row]:g} s"
    told, path = f"rows {other} and {row} of frame {frame} with stamps of {stamps}", str(keys.data.path)
    expected = "rows of one frame with one timestamp and one hardware_ns"
    raise Refused([Fault(keys.data.path.name, "frame_index", told, expected, path, option="+source.fold=first")])


def gap_faults(keys: Keys, kept: Kept, max_gap_s: float) -> Iterator[Fault]:
    """What is wrong with an episode that has gaps; nothing where it has none."""
    if not kept.gaps:
        return
    rows = kept.rows
    told = [f"{gap.length_s:.3f} s between rows {rows[gap.before]} and {rows[gap.before + 1]}" for gap in kept.gaps]
    more = f", and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
    found, expected = f"{', '.join(told[:MOST_NAMED])}{more}", f"at most {max_gap_s:g} s between frames"
    path = str(keys.data.path)
    yield Fault(keys.data.path.name, kept.gaps[0].clock, found, expected, path, option="+source.on_gap=split")


def take(keys: Keys, rows: Int64, first: int, end: int, *, rate_hz: int) -> Frames:
    """The frames whose `rows`, of `Kept`, are in [first, end)."""
    taken = rows[(rows >= first) & (rows < end)]
    picture = keys.frame_index[taken]
    at = np.searchsorted(picture, keys.frame_index)
    belongs = at < len(picture)
    belongs[belongs] = picture[at[belongs]] == keys.frame_index[belongs]
    found = Frames(
        rows=taken,
        picture=picture,
        frame_of_row=np.where(belongs, at, -1).astype(np.int64),
        hardware_ns=keys.hardware_ns[taken],
        wall_time_s=keys.wall_time_s[taken],
        clock=classify(keys.hardware_ns),
        rate_hz=rate_hz,
    )
    for array in (found.rows, found.picture, found.frame_of_row, found.hardware_ns, found.wall_time_s):
        array.setflags(write=False)
    return found
