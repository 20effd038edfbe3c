"""Rules of `meta/info.json` beyond what makes a task one at all (contract 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from quickdraw.formats.pooled.checks.findings import Checking, said
from quickdraw.formats.pooled.columns import (
    FORCE,
    GLOVE_QUAT,
    GLOVE_VALID,
    HAND_POSES,
    IMU,
    MATRIX,
    STATE,
    TRAJECTORY,
    is_glove,
)
from quickdraw.formats.pooled.force_matrix import RAW, SHAPE, SPECS
from quickdraw.formats.pooled.info import is_scale
from quickdraw.formats.pooled.layout import EXTENSIONS
from quickdraw.formats.pooled.matrices import MOST_SCALE
from quickdraw.formats.pooled.stats import Counting

MOST: Final = 1e300  # JSON has numbers no float holds
_ENCODINGS: Final[Mapping[str, str]] = {spec.dtype: spec.encoding for spec in SPECS.values()}


def check_info(checking: Checking, episodes: int) -> None:
    """Rules of the document alone. `episodes` have files."""
    info = checking.info
    for name, (kind, holds) in _FIELDS.items():
        if name not in info.document:
            checking.add("info-field", info.layout.info, f"no {name}; {kind} expected")
        elif not holds(info.document[name]):
            found = f"{name} is {said(info.document[name])}; {kind} expected"
            checking.add("info-field", info.layout.info, found)
    if "episode-" not in info.layout.episodes_path:
        checking.add("info-episodes-path", info.layout.info, f"episodes_path {info.layout.episodes_path}")
    if info.total_episodes < episodes:
        found = f"total_episodes {info.total_episodes}, and {episodes} episodes have files"
        checking.add("info-total", info.layout.info, found)
    _extensions(checking)
    gloves = Counting.of(info.document).sensors
    for name, entry in info.document.get("features", {}).items():
        if wrong := _feature_fault(name, entry, gloves):
            checking.add("feature-entry", info.layout.info, f"{name}: {wrong}")


def check_against_files(checking: Checking) -> None:
    """Rules of the document beside what the episodes hold, once all of them have been looked at."""
    info = checking.info
    for name, number in checking.columns.items():
        if name not in info.document.get("features", {}):
            checking.add("feature-missing", info.layout.info, f"no {name}, which episode {number} has")
    for slot, number in checking.slots.items():
        if slot not in info.extensions:
            checking.add("extension-missing", info.layout.info, f"no {slot}, of which episode {number} has a file")
    for slot in info.extensions:
        if slot not in checking.slots:
            checking.add("extension-unused", info.layout.info, f"{slot}, of which no episode has a file")


def _extensions(checking: Checking) -> None:
    for slot, extension in checking.info.document.get("video_extensions", {}).items():
        if extension not in EXTENSIONS:
            found = f"video_extensions of {slot} is {said(extension)}; mp4 or mkv expected"
            checking.add("info-field", checking.info.layout.info, found)


def _feature_fault(name: str, entry: Any, gloves: frozenset[str]) -> str:
    """What is wrong with a column's entry, or nothing; a column the contract does not describe may say anything."""
    if not isinstance(entry, dict):
        return f"{said(entry)}; an object expected"
    if MATRIX.fullmatch(name):  # whose scale here is a fallback only, and may be missing
        return matrix_fault({"scale": 1, **entry})
    if _is_glove(name) and name not in gloves:
        return ""  # an older episode's, or no glove but a later version's column
    for holds, dtype, shapes in _FEATURES:
        if holds(name):
            if entry.get("dtype") != dtype or entry.get("shape") not in shapes:
                return (
                    f"dtype {said(entry.get('dtype'))}, shape {said(entry.get('shape'))}; {dtype} {shapes[0]} expected"
                )
            return ""
    return ""


def matrix_fault(entry: Any) -> str:
    """What is wrong with a matrix column's dtype, shape, encoding and scale, or nothing."""
    if not isinstance(entry, dict):
        return f"{said(entry)}; an object expected"
    dtype, encoding, scale = entry.get("dtype"), entry.get("encoding"), entry.get("scale")
    if not isinstance(dtype, str) or _ENCODINGS.get(dtype) != encoding:
        return f"dtype {said(dtype)} with encoding {said(encoding)}"
    if entry.get("shape") != list(SHAPE):
        return f"shape {said(entry.get('shape'))}; {list(SHAPE)} expected"
    is_one = isinstance(scale, int) and is_scale(scale) and scale <= MOST_SCALE
    if not is_one or (encoding == RAW and scale != 1):
        return f"scale {said(scale)} with encoding {said(encoding)}"
    return ""


def _form(*forms: Any) -> Callable[[str], bool]:
    return lambda name: any(form.fullmatch(name) for form in forms)


def _is_glove(name: str) -> bool:
    return is_glove(name) and name.count(".") == 1  # a server declares images below `observation.`


def _is_stamp(name: str) -> bool:
    return name.endswith("_ns") and _form(FORCE, MATRIX, TRAJECTORY)(name.removesuffix("_ns"))


_FEATURES: Final[tuple[tuple[Callable[[str], bool], str, list[list[int]]], ...]] = (
    (lambda name: name == "action", "float32", [[1]]),
    (lambda name: name == IMU, "float32", [[6]]),
    (lambda name: name in HAND_POSES, "float32", [[21, 3], [63]]),
    (_is_glove, "float32", [[16, 16], [256]]),
    (_is_stamp, "int64", [[1]]),
    (_form(FORCE, STATE), "float32", [[3]]),
    (_form(TRAJECTORY), "float64", [[8]]),
    (_form(GLOVE_QUAT), "float32", [[16, 4], [64]]),
    (_form(GLOVE_VALID), "float32", [[16]]),
)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


# What `recognise` refuses where it is wrong is only missed here where it is not there.
_FIELDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "chunks_size": ("a whole number", _is_number),
    "data_path": ("a template", lambda value: isinstance(value, str)),
    "video_path": ("a template", lambda value: isinstance(value, str)),
    "episodes_path": ("a template", lambda value: isinstance(value, str)),
    "codebase_version": ("text", lambda value: isinstance(value, str)),
    "app_version": ("text", lambda value: isinstance(value, str)),
    "fps": ("a number", _is_number),
    "video": ("true or false", lambda value: isinstance(value, bool)),
    "task_name": ("text", lambda value: isinstance(value, str)),
    "features": ("an object", lambda value: isinstance(value, dict)),
    "cameras": ("an object", lambda value: isinstance(value, dict)),
    "devices": ("a list of objects", lambda value: isinstance(value, list) and all(map(_is_object, value))),
    "device_names": ("an object", lambda value: isinstance(value, dict)),
    "sensors": ("a list of names", _is_names),
    "sensor_dim": (
        "a whole number",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    ),
    "created_at": ("Unix seconds", _is_number),
    "calibration": ("an object", lambda value: isinstance(value, dict)),
    "total_episodes": ("a whole number", _is_number),
    "video_extensions": ("an object", lambda value: isinstance(value, dict)),
}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
