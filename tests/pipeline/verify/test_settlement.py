"""A dataset whose features are not those its runs come to, though all else of it is sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quickdraw.pipeline.verify import verify as verification
from quickdraw.pipeline.verify.report import Report
from quickdraw.pipeline.verify.settlement import SETTLED

type Told = Callable[[tuple[Any, ...]], list[tuple[str, str]]]


@pytest.fixture
def told(
    painted: ModuleType, recorded: Path, tmp_path: Path, verified: Callable[..., Report],
    monkeypatch: pytest.MonkeyPatch,
) -> Told:  # fmt: skip
    """`told(features)`: where and what is found in a dataset that was settled to `features`, with its source."""

    def of(features: tuple[Any, ...]) -> list[tuple[str, str]]:
        painted.make(recorded, tmp_path / "dataset", features=features)
        monkeypatch.setattr(verification, "source_of", lambda *_: painted.Painted(recorded, features=features))
        assert not verified(tmp_path / "dataset").findings  # nothing shows without the source
        report = verified(tmp_path / "dataset", recorded)
        assert report.checks[SETTLED] == 8
        assert {fault.field for fault in report.findings} <= {SETTLED}
        return [(fault.where, fault.found) for fault in report.findings]

    return of


def test_a_validity_that_was_dropped_everywhere_is_missed(told: Told, painted: ModuleType) -> None:
    named = "vectors observation.state, observation.glove, hardware_ns"
    assert told((painted.STATE, painted.GLOVE, painted.CLOCK)) == [
        ("provenance.json", "no feature observation.glove_valid"), ("train", named), ("val", named)
    ]  # fmt: skip


def test_a_feature_that_no_run_fills_is_told(told: Told, painted: ModuleType) -> None:
    dead = replace(painted.GLOVE, name="observation.dead")
    where = [where for where, _ in told((*painted.FEATURES, dead))]
    assert where == ["provenance.json", "train", "val"]


def test_other_dimensions_and_another_order_are_told(told: Told, painted: ModuleType) -> None:
    state, glove, valid, clock = painted.FEATURES
    pinned = replace(state, identity_dims=(2,))
    assert told((pinned, glove, valid, clock)) == [("provenance.json", "observation.state: other dimensions")]


def test_another_order_is_told(told: Told, painted: ModuleType) -> None:
    state, glove, valid, clock = painted.FEATURES
    order = "observation.glove, observation.state, observation.glove_valid, hardware_ns"
    assert told((glove, state, valid, clock)) == [
        ("provenance.json", f"features {order}"), ("train", f"vectors {order}"), ("val", f"vectors {order}")
    ]  # fmt: skip


def test_a_sound_dataset_was_settled_by_its_runs(against: Callable[[Path], Report], dataset: Path) -> None:
    report = against(dataset)
    assert (report.checks[SETTLED], report.findings) == (8, ())


def test_nothing_is_settled_where_a_run_is_gone(
    dataset: Path, recorded: Path, painted: ModuleType, verified: Callable[..., Report],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    plan = painted.Painted.plan

    def gone(source: Any, key: Any) -> Any:
        if key.run.endswith("1"):
            raise FileNotFoundError(2, "No such file or directory", "rows.npz")
        return plan(source, key)

    monkeypatch.setattr(painted.Painted, "plan", gone)
    # Of another version, for what was read of this one is remembered.
    monkeypatch.setattr(verification, "source_of", lambda *_: painted.Painted(recorded, version=2))
    skipped = verified(dataset, recorded).skipped
    assert [told.reason for told in skipped if told.check == SETTLED] == ["2 of 4 runs cannot be read"]
