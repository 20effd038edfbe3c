"""info.json and the rows of meta/episodes as typed values; anything of another kind is refused here, once."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec

from quickdraw.core.grid import Float64
from quickdraw.core.statistics import RGB_LEVELS
from quickdraw.formats.lerobot import schema
from quickdraw.formats.lerobot.depth import depth_levels, is_depth
from quickdraw.pipeline.verify.json_reading import odd, read_object, refusal, typed

ROTATION = re.compile(r"(.*)rot6_([0-5])")
# Of an episode; more is no recording but a slip. A matrix of 250 x 250 forces is 187,500 wide.
MOST_ROWS, MOST_WIDE, MOST_HZ = 10_000_000, 200_000, 100_000


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of info.json; `names` as it stands there, `video` what is said of a camera's pictures."""

    dtype: str
    shape: tuple[int, ...]
    names: Any
    video: Mapping[str, Any]

    @property
    def is_vector(self) -> bool:
        """Whether it is a row of numbers."""
        return self.dtype not in ("video", "image", "string", "language") and len(self.shape) == 1

    @property
    def is_depth(self) -> bool:
        """Whether it is a camera of depth."""
        return is_depth(self.video)

    @property
    def channels(self) -> int:
        """Of a camera's pictures, as readers get them."""
        return 1 if self.is_depth else 3

    def levels(self) -> Float64:
        """What each level of a camera's pictures is worth, `(N,)`: colour 0 to 1, depth [mm]. Raises ValueError."""
        return depth_levels(self.video) if self.is_depth else RGB_LEVELS

    def dims(self) -> list[str]:
        """Names of the dimensions: a list, or a list in a dict (`{"motors": [...]}`), or else their numbers."""
        names = self.names
        if isinstance(names, dict):
            names = [name for part in names.values() if isinstance(part, list) for name in part]
        width = self.shape[0] if self.shape else 0
        if isinstance(names, list) and len(names) == width:
            return [str(name) for name in names]
        return [str(number) for number in range(width)]

    def rotations(self) -> list[list[int]]:
        """The dimensions of each 6D rotation among them: six that are named `<something>rot6_0` to `rot6_5`."""
        groups: dict[str, dict[str, int]] = {}
        for dim, name in enumerate(self.dims()):
            if matched := ROTATION.fullmatch(name):
                groups.setdefault(matched[1], {})[matched[2]] = dim
        return [[dims[number] for number in sorted(dims)] for dims in groups.values() if len(dims) == 6]


@dataclass(frozen=True, slots=True)
class Info:
    """meta/info.json."""

    version: str
    rate_hz: int
    features: Mapping[str, Feature]
    episodes: int
    frames: int
    tasks: int
    data_path: str
    video_path: str | None
    splits: Mapping[str, str]

    @property
    def cameras(self) -> list[str]:
        """Feature names of the cameras."""
        return [name for name, feature in self.features.items() if feature.dtype == "video"]

    def is_depth(self, camera: str) -> bool:
        """Whether a camera, by its own name, is one of depth."""
        feature = self.features.get(self.camera_key(camera))
        return feature is not None and feature.is_depth

    def camera_key(self, camera: str) -> str:
        """A camera's feature name, from its own."""
        return next((key for key in self.cameras if key.endswith(f".{camera}")), camera)

    @property
    def vectors(self) -> list[str]:
        """Feature names of the vectors, without the bookkeeping."""
        return [n for n, feature in self.features.items() if feature.is_vector and n not in schema.BOOKKEEPING]

    @property
    def columns(self) -> list[str]:
        """Feature names of what has a column in the data files."""
        return [name for name, feature in self.features.items() if feature.dtype != "video"]


class _FeatureAsWritten(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[Annotated[int, msgspec.Meta(ge=1, le=MOST_WIDE)], ...]
    names: list[Any] | dict[str, Any] | None = None
    info: dict[str, Any] | None = None


class _InfoAsWritten(msgspec.Struct, frozen=True):
    codebase_version: str
    fps: Annotated[int, msgspec.Meta(ge=1, le=MOST_HZ)]
    features: dict[str, _FeatureAsWritten]
    total_episodes: int
    total_frames: int
    total_tasks: int
    data_path: str
    video_path: str | None
    splits: dict[str, str]


def read_info(path: Path) -> Info:
    """Parse info.json. Raises Refused."""
    raw = typed(read_object(path), _InfoAsWritten, path, "LeRobot's keys and kinds of values")
    features = {name: Feature(f.dtype, f.shape, f.names, f.info or {}) for name, f in raw.features.items()}
    for name, template in (("data_path", raw.data_path), ("video_path", raw.video_path or schema.VIDEO_PATH)):
        try:
            inside(template.format(chunk_index=0, file_index=0, video_key=""))
        except (LookupError, ValueError, AttributeError, TypeError) as error:
            expected = f"a path inside the split, such as {getattr(schema, name.upper())}"
            raise refusal(path, f"{name} {odd(template)}", expected) from error
    return Info(
        version=raw.codebase_version,
        rate_hz=raw.fps,
        features=features,
        episodes=raw.total_episodes,
        frames=raw.total_frames,
        tasks=raw.total_tasks,
        data_path=raw.data_path,
        video_path=raw.video_path,
        splits=raw.splits,
    )


def inside(path: str) -> str:
    """The path itself, which stays in the folder it is relative to. Raises ValueError where it does not."""
    if "\0" in path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError(f"a path {path!r}")
    return path


@dataclass(frozen=True, slots=True)
class Window:
    """Where an episode's pictures lie: a file, relative to the split, and seconds into it."""

    path: str
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode by its row of meta/episodes: `number` is that row, `index` the number it gives itself.

    `first` is the row of the data it begins at by the lengths of those before it, `begin` and `end` what it says
    itself; `data` and `meta` are the files it says it is in, `lies_in` the one its row was read from.
    """

    number: int
    index: int
    length: int
    first: int
    begin: int
    end: int
    tasks: tuple[str, ...]
    data: str
    meta: str
    lies_in: str
    windows: Mapping[str, Window]


def parse_entries(info: Info, rows: Iterable[tuple[str, Mapping[str, Any]]], path: Path) -> list[Entry]:
    """Rows of meta/episodes, each with the file it lies in. Raises Refused where one lacks a column or a value."""
    entries, first = list[Entry](), 0
    for number, (lies_in, row) in enumerate(rows):
        try:
            entry = _entry(info, row, number=number, first=first, lies_in=lies_in)
        except ValueError as error:
            raise refusal(path, f"episode {number}: malformed ({error})", "LeRobot's columns") from error
        entries.append(entry)
        first += entry.length
    return entries


def renumbered(entries: Sequence[Entry]) -> list[Entry]:
    """Entries as if there were no others."""
    found, first = list[Entry](), 0
    for number, entry in enumerate(entries):
        found.append(replace(entry, number=number, first=first))
        first += entry.length
    return found


def _entry(info: Info, row: Mapping[str, Any], *, number: int, first: int, lies_in: str) -> Entry:
    length, tasks = _whole(row, "length"), row.get("tasks")
    if not 1 <= length <= MOST_ROWS:
        raise ValueError(f"length {length}")
    if not isinstance(tasks, list):
        raise ValueError(f"tasks {odd(tasks)}")
    return Entry(
        number=number,
        index=_whole(row, "episode_index"),
        length=length,
        first=first,
        begin=_whole(row, "dataset_from_index"),
        end=_whole(row, "dataset_to_index"),
        tasks=tuple(sys.intern(str(task)) for task in tasks),
        data=sys.intern(inside(info.data_path.format(**_indices(row, "data")))),
        meta=sys.intern(schema.EPISODES_PATH.format(**_indices(row, "meta/episodes"))),
        lies_in=lies_in,
        windows={key: _window(info, row, key) for key in info.cameras},
    )


def _indices(row: Mapping[str, Any], kind: str) -> dict[str, int]:
    return {name: _whole(row, f"{kind}/{name}") for name in ("chunk_index", "file_index")}


def _window(info: Info, row: Mapping[str, Any], key: str) -> Window:
    path = (info.video_path or schema.VIDEO_PATH).format(video_key=key, **_indices(row, f"videos/{key}"))
    from_s, to_s = (_number(row, f"videos/{key}/{name}") for name in ("from_timestamp", "to_timestamp"))
    return Window(sys.intern(inside(path)), from_s, to_s)


def _number(row: Mapping[str, Any], name: str) -> float:
    """A number of a row. Raises ValueError where there is none."""
    value = row.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{name} {odd(value)}")
    return float(value)


def _whole(row: Mapping[str, Any], name: str) -> int:
    """A whole number of a row. Raises ValueError where there is none."""
    number = _number(row, name)
    if not number.is_integer():
        raise ValueError(f"{name} {number}")
    return int(row[name])
