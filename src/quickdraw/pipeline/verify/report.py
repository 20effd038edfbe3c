"""What `verify` says in the end, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from quickdraw.errors import Fault
from quickdraw.pipeline.verify.ledger import Skipped

ALIGNED = "aligned"


@dataclass(frozen=True, slots=True)
class Curve:
    """How unlike a camera's pictures are to their source, by how many rows they are shifted against it.

    `mean_square` is the mean squared difference of luma [levels of 255] for each of `shifts`; `others` the same at
    shift 0 to each other camera's source. `verdict` is aligned, shifted or flat (a still scene proves nothing).
    """

    split: str
    episode: int
    camera: str
    shifts: tuple[int, ...]
    mean_square: tuple[float, ...]
    others: Mapping[str, float]
    rows: int
    verdict: str

    def __str__(self) -> str:
        values = " ".join(f"{value:.4g}" for value in self.mean_square)
        others = ", ".join(f"{name} {value:.4g}" for name, value in self.others.items())
        place = f"{self.split}, episode {self.episode}, {self.camera}"
        return f"{place}: {self.verdict}; shifts {self.shifts[0]}..{self.shifts[-1]}: {values}; others: {others}"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome. `checks` is how many things each check looked at; `files`, `rows` and `pictures` were read."""

    dataset: str
    checks: Mapping[str, int]
    findings: tuple[Fault, ...]
    skipped: tuple[Skipped, ...]
    curves: tuple[Curve, ...]
    files: int
    rows: int
    pictures: int
    seconds: float

    @classmethod
    def unchecked(cls, dataset: str = "") -> Report:
        """That of a dataset that nothing looked at."""
        return cls(dataset, {}, (), (), (), files=0, rows=0, pictures=0, seconds=0.0)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def sweep_lines(self) -> Iterator[str]:
        """The curves in words: one line a camera over its aligned episodes, and one for each other episode."""
        aligned: dict[str, list[Curve]] = {}
        for curve in self.curves:
            if curve.verdict == ALIGNED:
                aligned.setdefault(curve.camera, []).append(curve)
        for camera, curves in aligned.items():
            means = [fmean(values) for values in zip(*(curve.mean_square for curve in curves), strict=True)]
            shifts = curves[0].shifts
            yield (
                f"{camera}: aligned in {len(curves)} episodes; mean squared difference [levels^2], shifted by "
                f"{shifts[0]}..{shifts[-1]} rows: {' '.join(f'{mean:.4g}' for mean in means)}"
            )
        yield from (str(curve) for curve in self.curves if curve.verdict != ALIGNED)

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        by_check = Counter(fault.field for fault in self.findings)
        names = dict.fromkeys([*self.checks, *by_check])
        return {
            "dataset": self.dataset,
            "sound": self.sound,
            "checks": {name: {"looked_at": self.checks.get(name, 0), "findings": by_check[name]} for name in names},
            "findings": [_told(fault) for fault in self.findings],
            "skipped": [asdict(skipped) for skipped in self.skipped],
            "shift_sweep": [asdict(curve) for curve in self.curves],
            "files": self.files,
            "rows": self.rows,
            "pictures": self.pictures,
            "seconds": round(self.seconds, 3),
        }


def _told(fault: Fault) -> dict[str, Any]:
    told = {"check": fault.field, "where": fault.where, "path": fault.path}
    return {**told, "found": fault.found, "expected": fault.expected, "message": str(fault)}
