"""The lines and documents the collector writes, as typed records. Unknown fields are skipped, at full speed.

The collector's JSON is Python's: it holds bare `NaN` tokens, which are read as None.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from quickdraw.errors import Fault, Refused

Number = float | None


class ControllerRow(msgspec.Struct):
    """One row of controller.jsonl: time [s] and the five shaped axes, sticks in [-1, 1], trigger in [0, 1].

    `connected` tells whether the pad was there.
    """

    t: Number
    move_x: Number
    move_y: Number
    height: Number
    yaw: Number
    gripper: Number
    connected: bool | None = None


class ArmRow(msgspec.Struct):
    """One row of arm_state.jsonl. A list is empty where that one read failed; older writers lack whole fields."""

    t: Number
    pose_world_xyz_mm: list[Number] = []
    pose_base_mm_deg: list[Number] = []
    gripper_pos: Number = None
    joints_real_deg: list[Number] = []
    report_alive: bool | None = None
    error_code: Number = None
    mode: Number = None


class CommandedRow(msgspec.Struct):
    """One row of commanded.jsonl: where the operator's target stood, and what was done to it."""

    t: Number
    target_world_xyz_mm: list[Number] = []
    target_rpy_deg: list[Number] = []
    gripper_closure: Number = None
    clamped_by_workspace: bool | None = None
    reanchored: bool | None = None


class Actual(msgspec.Struct):
    """What a camera granted of what was asked of it."""

    buffersize_set: bool | None = None


class FrameTimes(msgspec.Struct):
    """`<camera>_frame_times.json`: one capture stamp [s] per picture of the camera's mp4, and how they came about."""

    t: list[Number]
    error: str | None = None
    device: str | None = None
    stopped_early: bool | None = None
    stopped_at_s: Number = None
    timestamp_source: str | None = None
    flipped_vertical: bool | None = None
    frames_in_mp4: int | None = None
    actual: Actual | None = None
    label: str | None = None


class Gripper(msgspec.Struct):
    """Counts of the gripper when open and when closed."""

    open_position: float = 850.0
    closed_position: float = 0.0


class Control(msgspec.Struct):
    """What makes of a stick a motion: dead zone and exponent of the axes, and the rates at full deflection."""

    deadzone: float = 0.12
    expo: float = 2.0
    translation_rate_mm_s: float = 120.0
    yaw_rate_deg_s: float = 60.0


class Invert(msgspec.Struct):
    """Which axes are turned round."""

    move_x: bool = True
    move_y: bool = True
    height: bool = True
    yaw: bool = True


class ControllerConfig(msgspec.Struct):
    """The pad."""

    invert: Invert = msgspec.field(default_factory=Invert)


class Config(msgspec.Struct):
    """The part of the collector's configuration this project needs; what a run does not say is as in the newest one."""

    control: Control = msgspec.field(default_factory=Control)
    controller: ControllerConfig = msgspec.field(default_factory=ControllerConfig)
    gripper: Gripper = msgspec.field(default_factory=Gripper)


class Provenance(msgspec.Struct):
    """What the collector knew about itself."""

    R_WORLD_FROM_BASE: list[list[float]] | None = None
    git_sha: str | None = None
    config: Config = msgspec.field(default_factory=Config)


class Check(msgspec.Struct):
    """One of the collector's own checks of a run: `pass`, `warn` or `fail`."""

    check: str | None = None
    level: str | None = None
    detail: str | None = None


class Validation(msgspec.Struct):
    """The collector's checks, which every version writes, and its verdict, which older ones do not."""

    checks: list[Check] | None = None
    all_green: bool | None = None


class CameraEnd(msgspec.Struct):
    """How a camera ended, as run.json tells it too."""

    label: str | None = None
    error: str | None = None
    stopped_early: bool | None = None


class RunJson(msgspec.Struct):
    """`run.json`."""

    status: str | None = None
    stopped_by: str | None = None
    provenance: Provenance = msgspec.field(default_factory=Provenance)
    validation: Validation | None = None
    cameras: list[CameraEnd] | None = None


NOT_JSON = (b"NaN", b"Infinity")
IN_A_WORD = re.compile(rb"\w")
BOM = b"\xef\xbb\xbf"
AT_FIELD = re.compile(r" - at `\$\.?(.*)`$")


def _payload(path: Path, where: str) -> bytes:
    """The file's bytes. Raises Refused where it cannot be read, or holds nothing."""
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            raise OSError(errno.EINVAL, "not a file")
        data = path.read_bytes().removeprefix(BOM)
    except OSError as error:
        beside = ", ".join(sorted(p.name for p in path.parent.glob("*"))) or "nothing"
        found = f"{error.strerror} (there is: {beside})"
        raise Refused([Fault(where, path.name, found, "a readable file", path=str(path))]) from error
    if not data or data.isspace():
        raise Refused([Fault(where, path.name, "an empty file", "at least one record", path=str(path))])
    return data


def _as_json(data: bytes) -> bytes:
    """Python's numbers that JSON has not, as null. Looked for only in what cannot be read as it is.

    By `find`, for a regular expression takes ten times as long, and most runs have a few of them in their first rows.
    """
    pieces, done = list[bytes](), 0
    for begin, end in sorted(span for word in NOT_JSON for span in _words(data, word)):
        pieces += [data[done:begin], b"null"]
        done = end
    return b"".join([*pieces, data[done:]]) if pieces else data


def _words(data: bytes, word: bytes) -> Iterator[tuple[int, int]]:
    """Where a word stands by itself, with its sign."""
    begin = data.find(word)
    while begin >= 0:
        end = begin + len(word)
        before = data[max(0, begin - 1) : begin]
        if not IN_A_WORD.search(before + data[end : end + 1]):
            yield begin - (before == b"-"), end
        begin = data.find(word, end)


def read_document[T](path: Path, where: str, kind: type[T]) -> T:
    """One JSON document. Raises Refused with the field that is wrong."""
    data = _payload(path, where)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError):
        try:
            return msgspec.json.decode(_as_json(data), type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Refused([_fault(error, path, where, None)]) from error


@dataclass(frozen=True, slots=True)
class Rows[T]:
    """The rows of a JSONL file that could be read, what is wrong with the others, and how many lines were torn off.

    `line_numbers` are the rows', where some line is missing among them; else None.
    """

    rows: list[T]
    faults: list[Fault]
    torn: int
    data: bytes
    line_numbers: list[int] | None = None

    def line(self, row: int) -> int:
        """In which line of the file row `row` (from 0) stands."""
        return numbered_lines(self.data)[row][0] if self.line_numbers is None else self.line_numbers[row]


def read_rows[T](path: Path, where: str, kind: type[T]) -> Rows[T]:
    """The rows of a JSONL file. Blank lines are nothing; a last line that is no JSON is a torn write, dropped.

    Raises Refused where the file cannot be read or is empty.
    """
    data = _payload(path, where)
    decoder = msgspec.json.Decoder(kind)
    rows = _decoded(data, decoder)
    if rows is None:
        data = _as_json(data)
        rows = _decoded(data, decoder)
    return _read_line_by_line(data, decoder, path, where) if rows is None else Rows(rows, [], 0, data)


def _decoded[T](data: bytes, decoder: msgspec.json.Decoder[T]) -> list[T] | None:
    """The rows where all of them can be read, a line each; else None."""
    try:
        rows = decoder.decode_lines(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    # msgspec does not mind two records on a line, or one on two; then the lines could not be told.
    told = len(rows) == data.count(b"\n") + (not data.endswith(b"\n")) or len(rows) == len(numbered_lines(data))
    return rows if told else None


def _read_line_by_line[T](data: bytes, decoder: msgspec.json.Decoder[T], path: Path, where: str) -> Rows[T]:
    read: Rows[T] = Rows([], [], 0, data, numbers := [])
    lines = numbered_lines(data)
    for number, line in lines:
        try:
            read.rows.append(decoder.decode(line))
            numbers.append(number)
        except msgspec.ValidationError as error:
            read.faults.append(_fault(error, path, where, number))
        except (msgspec.DecodeError, RecursionError) as error:
            if number == lines[-1][0] and read.rows:
                return replace(read, torn=1)
            read.faults.append(_fault(error, path, where, number))
    return replace(read, faults=_gathered(read.faults))


def _gathered(faults: list[Fault]) -> list[Fault]:
    """Faults alike as one: that of the first line, and how many more lines have it."""
    alike: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        alike.setdefault((fault.field, fault.found), []).append(fault)
    return [
        replace(same[0], found=f"{same[0].found} (and {len(same) - 1} more lines)") if len(same) > 1 else same[0]
        for same in alike.values()
    ]


def numbered_lines(data: bytes) -> list[tuple[int, bytes]]:
    """The lines that are not blank, numbered from 1."""
    return [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]


def _fault(error: Exception, path: Path, where: str, line: int | None) -> Fault:
    text = str(error)
    at = AT_FIELD.search(text)
    if isinstance(error, msgspec.ValidationError):
        return Fault(where, at[1] if at else "record", AT_FIELD.sub("", text), "the type the collector writes",
                     path=str(path), line=line)  # fmt: skip
    return Fault(where, "record", f"undecodable JSON ({text})", "one JSON object", path=str(path), line=line)
