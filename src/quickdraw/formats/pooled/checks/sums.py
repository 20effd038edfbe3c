"""The contract's own test of a matrix's scale, for a deep check: its fz adds up to the force's (contract 7.2.1)."""

from __future__ import annotations

from quickdraw.errors import Refused
from quickdraw.formats.pooled.checks.data import Data
from quickdraw.formats.pooled.checks.findings import Checking
from quickdraw.formats.pooled.checks.rows import CheckedRow
from quickdraw.formats.pooled.columns import MATRIX
from quickdraw.formats.pooled.data import DataFile
from quickdraw.formats.pooled.info import is_scale
from quickdraw.formats.pooled.parquet_files import UNREADABLE
from quickdraw.formats.pooled.repair import measure


def check_sums(checking: Checking, data: Data, row: CheckedRow) -> None:
    """Compare each recorded scale with the one the column adds up to, where it does add up to one."""
    for name in data.types:
        entry = row.specs.get(name) if MATRIX.fullmatch(name) else None
        scale = entry.get("scale") if isinstance(entry, dict) else None
        if not is_scale(scale):
            continue
        try:
            found = measure(DataFile(data.path), name)
        except (Refused, *UNREADABLE):
            return  # replaced or damaged since; told by its cells
        if found.spec is not None and found.ratio is not None and found.spec.scale != scale:
            what = f"{name}: scale {scale} is recorded, and fz adds up to {found.ratio:.4g} times the force's"
            checking.add("matrix-sum", data.path, what, data.number)
