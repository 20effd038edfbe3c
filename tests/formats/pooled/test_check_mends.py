"""The command that a finding names does mend it: run as it stands there, the finding is gone."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.checks.rules import RULES

ROWS = "meta/episodes/chunk-000"
OLD_PATH = "meta/episodes/chunk-{c:03d}/file-{c:03d}.parquet"

Plant = Callable[[Any], object]


def rows_of(t: Any, number: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(t.row(number)).to_pylist()
    return rows


def twice(t: Any) -> None:
    t.write_rows(t.root / ROWS / "file-000.parquet", [*rows_of(t, 2), *rows_of(t, 3)])


def shard(t: Any) -> None:
    twice(t)
    t.row(2).unlink()
    t.row(3).unlink()


def block(t: Any, name: str, **values: Any) -> None:
    t.edit("stats.json", lambda document: document[name].update(values))


CASES: list[tuple[str, Plant]] = [
    ("legacy-shard", shard),
    ("row-twice", twice),
    ("row-count", lambda t: t.write_rows(t.row(2), [*rows_of(t, 2), {**rows_of(t, 2)[0], "episode_index": 7}])),
    ("info-episodes-path", lambda t: shard(t) or t.edit("info.json", lambda d: d.update(episodes_path=OLD_PATH))),
    ("stats-unreadable", lambda t: (t.root / "meta/stats.json").write_text("{")),
    ("stats-unreadable", lambda t: (t.root / "meta/stats.json").unlink()),
    ("stats-no-count", lambda t: t.edit("stats.json", lambda d: d["observation.imu"].pop("count"))),
    ("stats-block", lambda t: block(t, "observation.imu", std=[-1.0] * 6)),
    ("stats-action", lambda t: block(t, "action", count=30)),
    ("stats-column", lambda t: t.edit("stats.json", lambda d: d.update({"observation.gripper_state": d["action"]}))),
    ("stats-count", lambda t: block(t, "observation.left_glove", count=29)),
    ("matrix-scale", lambda t: t.set_row(2, force_matrix_specs="{}")),
    ("data-missing", lambda t: t.data(2).unlink()),
    ("data-unreadable", lambda t: t.data(2).write_bytes(b"PAR1")),
]


def found(t: Any, rule: str) -> list[str]:
    return [each.mend for each in check(t.root, deep=True).findings if each.rule == rule]


@pytest.mark.parametrize(("rule", "plant"), CASES)
def test_the_command_of_a_finding_mends_it(tiny: Any, rule: str, plant: Plant) -> None:
    plant(tiny)
    mend = found(tiny, rule)[0]
    command = shlex.split(mend[mend.index("quickdraw pooled") :].split(";")[0])
    result = CliRunner().invoke(app, command[1:])
    assert result.exit_code == 0, result.output
    assert found(tiny, rule) == []


def test_every_command_named_by_a_rule_is_one() -> None:
    mends = {rule.mend.split("quickdraw pooled ")[1].split()[0] for rule in RULES.values() if "quickdraw" in rule.mend}
    assert mends == {"split-episodes", "recalc-stats", "repair-scale", "delete"}
    for name in mends:
        assert CliRunner().invoke(app, ["pooled", name, "--help"]).exit_code == 0


def test_deleting_is_the_last_resort_and_only_for_an_episode_whose_data_nobody_can_read() -> None:
    deleting = {rule.id: rule.mend for rule in RULES.values() if "pooled delete" in rule.mend}
    assert set(deleting) == {"data-missing", "data-unreadable", "data-empty"}
    for mend in deleting.values():
        assert mend.startswith("restore it from an uploaded archive; as a last resort delete the episode: ")
    others = [rule.mend for rule in RULES.values() if rule.id not in deleting]
    assert not [mend for mend in others if "delete" in mend.replace("were deleted", "")]
