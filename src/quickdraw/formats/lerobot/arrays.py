"""Columns of anybody's Parquet files as arrays: vectors in lists of one length each, however these are stored."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NUMBERS: Final = ("float", "int", "uint", "bool")


def opened(path: Path) -> pa.NativeFile:
    """A file for Arrow, which knows no names but UTF-8's when it is given a path. Raises OSError."""
    return pa.OSFile(os.fsencode(path))


def values_of(name: str, column: pa.Array, described: Mapping[str, Any]) -> npt.NDArray[Any]:
    """A column as `(T, D)`, or `(T,)` for scalars, in its dtype; a null among numbers is a NaN.

    `described` is what info.json says of the feature. Raises ValueError where the column holds something else.
    """
    try:
        values = _array(column)
    except ValueError as error:
        raise ValueError(f"{name} holds {error}") from error
    shape, width = described["shape"], math.prod(values.shape[1:])
    if described["dtype"].startswith(NUMBERS):
        if values.dtype == object and len(values):
            raise ValueError(f"{name} holds {column.type}, and info.json says {described['dtype']}")
        if len(shape) == 1 and len(values) and width != shape[0]:
            raise ValueError(f"{name} holds {width} numbers a row, and info.json says {shape[0]}")
    return values


def _array(column: pa.Array) -> npt.NDArray[Any]:
    """Lists in lists, if need be. Raises ValueError where lists of numbers are of more than one length, or missing."""
    kind = column.type
    fixed = pa.types.is_fixed_size_list(kind)
    if fixed or (_is_list(kind) and _has_numbers(kind)):
        lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
        if column.null_count:
            raise ValueError("rows of nothing")
        if len(lengths) and lengths.min() != lengths.max():
            raise ValueError(f"rows of {lengths.min()} to {lengths.max()} values")
        width = kind.list_size if fixed else int(lengths[0]) if len(lengths) else 0
        inner = _array(column.flatten())
        return inner.reshape(len(column), width, *inner.shape[1:])
    if pa.types.is_boolean(kind) and column.null_count:
        column = column.cast(pa.int8())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _has_numbers(kind: pa.DataType) -> bool:
    """Whether lists end in numbers."""
    while _is_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_primitive(kind))
