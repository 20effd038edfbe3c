"""info.json and the rows of meta/episodes as typed values; anything of another kind is refused here, once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickdraw.formats.lerobot import schema
from quickdraw.pipeline.verify.json_reading import read_object, refusal

ROTATION = re.compile(r"(.*)rot6_([0-5])")


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
    splits: Mapping[str, Any]

    @property
    def cameras(self) -> list[str]:
        """Feature names of the cameras."""
        return [name for name, feature in self.features.items() if feature.dtype == "video"]

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


def read_info(path: Path) -> Info:
    """Parse info.json. Raises Refused."""
    raw = read_object(path)
    try:
        features = {str(name): _feature(described) for name, described in raw["features"].items()}
        rate_hz = raw["fps"]
        if type(rate_hz) is not int or rate_hz <= 0:
            raise ValueError(f"fps {rate_hz!r}")
        return Info(
            version=str(raw["codebase_version"]),
            rate_hz=rate_hz,
            features=features,
            episodes=int(raw["total_episodes"]),
            frames=int(raw["total_frames"]),
            tasks=int(raw["total_tasks"]),
            data_path=str(raw["data_path"]),
            video_path=None if raw["video_path"] is None else str(raw["video_path"]),
            splits=dict(raw["splits"]),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise refusal(path, f"malformed ({error!r})", "LeRobot's keys and kinds of values") from error


def _feature(described: Mapping[str, Any]) -> Feature:
    shape = tuple(described["shape"])
    if any(type(length) is not int or length < 1 for length in shape):
        raise ValueError(f"shape {described['shape']!r}")
    return Feature(str(described["dtype"]), shape, described.get("names"), dict(described.get("info") or {}))


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
    statistics: Mapping[str, Mapping[str, Any]]


def parse_entries(info: Info, rows: Sequence[tuple[str, Mapping[str, Any]]], path: Path) -> tuple[Entry, ...]:
    """Rows of meta/episodes, each with the file it lies in. Raises Refused where one lacks a column or a value."""
    entries, first = [], 0
    for number, (lies_in, row) in enumerate(rows):
        try:
            entry = _entry(info, row, number=number, first=first, lies_in=lies_in)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise refusal(path, f"episode {number}: malformed ({error!r})", "LeRobot's columns") from error
        entries.append(entry)
        first += entry.length
    return tuple(entries)


def _entry(info: Info, row: Mapping[str, Any], *, number: int, first: int, lies_in: str) -> Entry:
    length = int(row["length"])
    if length < 1:
        raise ValueError(f"length {length}")
    return Entry(
        number=number,
        index=int(row["episode_index"]),
        length=length,
        first=first,
        begin=int(row["dataset_from_index"]),
        end=int(row["dataset_to_index"]),
        tasks=tuple(map(str, row["tasks"])),
        data=info.data_path.format(**_indices(row, "data")),
        meta=schema.EPISODES_PATH.format(**_indices(row, "meta/episodes")),
        lies_in=lies_in,
        windows={key: _window(info, row, key) for key in info.cameras},
        statistics=_statistics(row),
    )


def _indices(row: Mapping[str, Any], kind: str) -> dict[str, int]:
    return {name: int(row[f"{kind}/{name}"]) for name in ("chunk_index", "file_index")}


def _window(info: Info, row: Mapping[str, Any], key: str) -> Window:
    path = (info.video_path or schema.VIDEO_PATH).format(video_key=key, **_indices(row, f"videos/{key}"))
    return Window(path, float(row[f"videos/{key}/from_timestamp"]), float(row[f"videos/{key}/to_timestamp"]))


def _statistics(row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Feature -> statistic -> nested lists, from the columns `stats/<feature>/<statistic>`."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith("stats/"):
            feature, _, statistic = name.removeprefix("stats/").rpartition("/")
            found.setdefault(feature, {})[statistic] = value
    return found
