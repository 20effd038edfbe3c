"""Rules of what is recorded of an episode's force matrices: the scale nothing else can tell (contract 7.2.1)."""

from __future__ import annotations

from typing import Any

from quickdraw.formats.pooled.arrow_arrays import is_list
from quickdraw.formats.pooled.checks.data import Data
from quickdraw.formats.pooled.checks.findings import Checking
from quickdraw.formats.pooled.checks.info import matrix_fault
from quickdraw.formats.pooled.checks.rows import CheckedRow
from quickdraw.formats.pooled.columns import MATRIX


def check_matrices(checking: Checking, data: Data, row: CheckedRow) -> None:
    """Rules of `force_matrix_specs`, beside the columns of the episode it is of."""
    columns = {name: kind for name, kind in data.types.items() if MATRIX.fullmatch(name)}
    for name, kind in columns.items():
        entry = row.specs.get(name)
        if not (isinstance(entry, dict) and entry.get("scale")):
            scale = checking.info.scales.get(name)
            instead = f"info.json's {scale} is taken, the latest episode's" if scale else "it is read unscaled"
            checking.add("matrix-scale", row.path, f"no scale of {name}; {instead}", row.number)
        elif wrong := matrix_fault(entry) or _contradiction(kind, entry):
            checking.add("matrix-spec", row.path, f"{name}: {wrong}", row.number)
    for name in row.specs:
        if name not in columns:
            checking.add("matrix-spec-unused", row.path, f"{name}, which the data does not have", row.number)


def _contradiction(kind: Any, entry: dict[str, Any]) -> str:
    stored = str(kind.value_type) if is_list(kind) else ""
    stored = {"int16": "int16", "float": "float32"}.get(stored, "")
    return f"recorded as {entry['dtype']}, stored as {stored}" if stored and stored != entry["dtype"] else ""
