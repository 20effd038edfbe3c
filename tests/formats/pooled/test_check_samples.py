"""What `check` says of each task of the sample, exactly; a deep check has nothing to add."""

from __future__ import annotations

from pathlib import Path

import pytest

from quickdraw.formats.pooled.check import check

Expected = list[tuple[str, str, int | None, str]]

ROWS = "meta/episodes/chunk-000"
EXPECTED: dict[str, Expected] = {
    "legacy_v110": [
        ("warning", "legacy-shard", None, f"{ROWS}/file-000.parquet"),
        ("warning", "info-episodes-path", None, "meta/info.json"),
        ("warning", "stats-no-count", None, "meta/stats.json"),
    ],
    "loose_ends": [
        ("info", "row-without-files", 1, f"{ROWS}/episode-000.parquet"),
        ("error", "data-missing", 2, "data/chunk-000/episode-001.parquet"),
        ("warning", "clock-truncated", 3, "data/chunk-000/episode-002.parquet"),
        ("warning", "clock-hole", 4, "data/chunk-000/episode-003.parquet"),
    ],
    "two_slots": [],
    "two_slots_apart": [("warning", "frame-rows", 1, "data/chunk-000/episode-000.parquet")],
    "umi_pick": [("warning", "matrix-scale", 6, f"{ROWS}/episode-005.parquet")],
    "手套_抓取": [("info", "row-10-columns", 2, f"{ROWS}/episode-001.parquet")],
}


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_task_of_the_sample_has_exactly_its_known_faults(sample_pooled: Path, name: str, deep: bool) -> None:
    report = check(sample_pooled / "recordings" / name, deep=deep)
    assert [(each.severity, each.rule, each.number, each.path) for each in report.findings] == EXPECTED[name]


def test_the_sample_has_no_other_task(sample_pooled: Path) -> None:
    assert {path.name for path in (sample_pooled / "recordings").iterdir()} == set(EXPECTED)


def test_findings_name_the_command_that_mends(sample_pooled: Path) -> None:
    def mends(name: str) -> set[str]:
        return {each.mend for each in check(sample_pooled / "recordings" / name).findings}

    root = sample_pooled / "recordings"
    assert f"quickdraw pooled split-episodes {root}/legacy_v110 --apply" in mends("legacy_v110")
    assert f"quickdraw pooled recalc-stats {root}/legacy_v110 --apply" in mends("legacy_v110")
    assert mends("umi_pick") == {f"quickdraw pooled repair-scale {root}/umi_pick --apply"}
    (hole,) = [each for each in check(root / "loose_ends").findings if each.rule == "clock-hole"]
    assert "4033 ms after row 14" in hole.found


def test_a_sample_is_not_touched(sample_pooled: Path) -> None:
    def state() -> list[tuple[str, int, int]]:
        files = sorted((sample_pooled / "recordings").rglob("*"))
        return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]

    before = state()
    for name in EXPECTED:
        check(sample_pooled / "recordings" / name, deep=True)
    assert state() == before
