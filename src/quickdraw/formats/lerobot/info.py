"""meta/info.json of anybody's split, held against what readers go by: what is odd is refused here, and nowhere else."""

from __future__ import annotations

import json
import re
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeGuard

from quickdraw.errors import Fault, Refused
from quickdraw.formats.lerobot import schema

MOST_HZ, MOST_WIDE = 100_000, 200_000  # beyond these it is damage
SPLIT: Final = f"a LeRobot {schema.CODEBASE_VERSION} split"
PLACE: Final = ("chunk_index", "file_index")
_WIDTH: Final = re.compile(r"(0?\d{0,2}d)?")


def split_fault(root: Path, path: Path, name: str, found: str) -> Fault:
    """The fault of something in the split at `root` that is not as in a LeRobot split."""
    return Fault(str(root), name, found, SPLIT, path=str(path))


def read_object(path: Path) -> dict[str, Any]:
    """A JSON document that is an object. Raises OSError, or ValueError where it is anything else.

    So it is where its texts are none: half a character, which JSON can name, can neither be shown nor be written.
    """
    try:
        document = json.loads(path.read_bytes())
        json.dumps(document, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    return document


def read_info(root: Path) -> dict[str, Any]:
    """meta/info.json of the split at `root`, as it is. Raises Refused with all that is not as in a LeRobot split."""
    path = root / schema.INFO_PATH
    try:
        info = read_object(path)
        version = info["codebase_version"]
    except KeyError as error:
        raise Refused([split_fault(root, path, "info.json", "unreadable (no codebase_version)")]) from error
    except (OSError, ValueError) as error:
        raise Refused([split_fault(root, path, "info.json", f"unreadable ({error})")]) from error
    if version != schema.CODEBASE_VERSION:
        raise Refused([split_fault(root, path, "codebase_version", _short(version))])
    faults = [Fault(str(root), field, found, expected, path=str(path)) for field, found, expected in _odd(info)]
    if faults:
        raise Refused(faults)
    return info


def dimension_names(names: Any, width: int) -> Sequence[object]:
    """Names of a feature's dimensions, or else their numbers.

    A list; a list inside a dict (`{"motors": [...]}`); or a dict of numbers, as lerobot's gamepad has it.
    """
    if isinstance(names, dict):
        parts = list(names.values())
        if all(type(part) is int for part in parts):
            names = sorted(names, key=names.__getitem__)
        else:
            names = [name for part in parts if isinstance(part, list) for name in part]
    return names if isinstance(names, list) and len(names) == width else range(width)


def video_file(template: object, key: str, indices: Mapping[str, object]) -> Path:
    """Where a video lies in its split, by info.json's `video_path`.

    Raises ValueError where that is no such template, or leads out of the split.
    """
    if not isinstance(template, str):
        raise ValueError(_short(template))
    for _, field, width, conversion in string.Formatter().parse(template):
        # Python's templates can do more than name places.
        if field is not None and (
            field not in ("video_key", *PLACE) or conversion or not _WIDTH.fullmatch(width or "")
        ):
            raise ValueError(_short(template))
    place = PurePosixPath(template.format(video_key=key, **indices))
    if place.is_absolute() or ".." in place.parts or "\0" in str(place):
        raise ValueError(_short(str(place)))
    return Path(place)


def _odd(info: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Field, what was found and what was expected."""
    rate_hz = info.get("fps")
    if not is_number(rate_hz) or not (1 <= rate_hz <= MOST_HZ and rate_hz == int(rate_hz)):
        yield "fps", _short(rate_hz), f"a whole number of rows a second, 1 to {MOST_HZ:,}"
    features = info.get("features")
    if not isinstance(features, dict):
        yield "info.json", f"unreadable (features {_short(features)})", "an object of features"
        return
    for name, described in features.items():
        yield from _odd_feature(f"features.{name}", described)


def _odd_feature(field: str, described: Any) -> Iterator[tuple[str, str, str]]:
    if not isinstance(described, dict):
        yield field, _short(described), "an object with dtype and shape"
        return
    dtype, shape, film = described.get("dtype"), described.get("shape"), described.get("info")
    if not isinstance(dtype, str):
        yield f"{field}.dtype", _short(dtype), "the name of a type"
    if not isinstance(shape, list) or not all(type(side) is int and side > 0 for side in shape):
        yield f"{field}.shape", _short(shape), "a list of whole numbers above 0"
    elif len(shape) == 1 and shape[0] > MOST_WIDE:
        yield f"{field}.shape", _short(shape), f"at most {MOST_WIDE:,} numbers a row"
    elif dtype == "video" and len(shape) != 3:
        yield f"{field}.shape", _short(shape), "height, width and channels"
    if film is not None and not isinstance(film, dict):
        yield f"{field}.info", _short(film), "an object, or nothing"


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that a double can tell, from JSON or a table."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is a whole number of 64 bits, 0 or more."""
    return type(value) is int and 0 <= value < 1 << 63


def _short(value: object) -> str:
    return "nothing" if value is None else repr(value)[:80]
