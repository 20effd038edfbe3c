"""Every planted fault is found by a check that looks at what is wrong, and its place is told; digests don't count."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from quickdraw.pipeline.verify.report import Report

Verified = Callable[..., Report]

# plant, the check that must find it, what it must say; then what finds it where nothing says how the dataset was
# built: the same check where it is "", nothing where it is None.
PLANTS = [
    ("frame_dropped", "picture count", "val: .*scene_left.*: found scene_left: 640 pictures, expected 641", ""),
    ("shifted", "fingerprints", r"val: .*found gripper_right_top, row \d+ \(episode 0, .*: another picture", "media"),
    ("swapped", "fingerprints", r"val: .*scene_left, row 0 \(episode 0, .*: another picture: scene_right's",
     "media"),
    ("frozen", "frozen", r"val: .*found scene_right, row 100 \(episode 0, its row 100\): one picture for 3\d rows", ""),
    ("truncated", "decoding", r"val: .*scene_left/.*found scene_left: .*expected", ""),
    ("random_bytes", "fingerprints", r"val: .*found gripper_right_bottom, row \d+ \(episode 0, its row \d+\)",
     "decoding"),
    ("late_first_time", "picture times", r"val: .*found scene_left: picture 0 at 0\.066\d+ s \(and 640 more\)", ""),
    ("z_scored_rotation", "rotation", r"val: .*found row 0 \(episode 0, its row 0\) and 640 more: "
     r"observation\.state rot6 off by", ""),
    ("rows_reordered", "row order", r"val: .*found row 10 \(episode 0, its row 10\) and 1 more: index 11, expected 10",
     ""),
    ("states_reordered", "fingerprints", r"val: .*row 10 \(episode 0, its row 10\) and 1 more: another "
     r"observation\.state that of row 11", None),
    ("cube_held_too_long", "cubes", r"val: .*row 10 \(episode 0, its row 10\): red_scene_cx .* of what was measured",
     None),
    ("fingerprints_removed", "fingerprints", r"val: .*val\.parquet: fingerprints: found nothing there", None),
    ("nan_in_the_state", "finite values",
     r"val: .*row 370 \(episode 1, its row 20\): observation\.state\.joint1_rad nan", ""),
    ("stats_of_another_split", "statistics",
     r"val: .*found index: max\[0\] 467 \(and \d+ more statistics\), expected 640", ""),
    ("task_changed", "tasks", r"train: .*found episode 1: tasks campaign6-combos, expected campaign3-play", ""),
    ("tasks_in_another_order", "tasks", r"train: .*meta/tasks\.parquet: tasks: found task_index \[1, 0\]", ""),
    ("task_texts_exchanged", "tasks", "train: .*found episode 0: tasks campaign3-play .*, expected campaign6",
     ""),
    ("from_timestamp_late", "video windows", r"val: .*found episode 1, scene_right: from_timestamp 11\.7", ""),
    ("picture_statistics_in_255", "statistics", r"val: .*observation\.images\.scene_left: ", ""),
    ("quantiles_missing", "statistics", "val: .*action: no q01", ""),
    ("episode_quantiles_missing", "episode statistics",
     r"val: .*episode 0, action: no q01 \(and 4 more statistics\) \(and 1 more episodes\)", ""),
    ("height_and_width_exchanged", "picture size",
     r"val: .*scene_left: pictures 144 high, 192 wide, expected \[192, 144\]", ""),
    ("another_codec_told", "codec", r"val: .*scene_left: video\.codec av1, expected h264", ""),
    ("orphan_parquet", "files", "val: .*data/chunk-000/file-001.parquet: .*found a file no episode refers to", ""),
    ("orphan_episodes", "files", "val: .*meta/episodes/chunk-000/file-001.parquet: .*a file no episode refers to", ""),
    ("gap_in_episodes", "episodes", "val: .*found episode 1: episode_index 2, expected 1", ""),
    ("clip_of_another_episode", "media", "train: .*scene_left, episode 0: 141 pictures, expected 171", ""),
    ("another_rule", "split rule",
     "val: provenance.json: .*found campaign5-play-long/.*, expected .*campaign3-play/.*, by the split rule", None),
    ("constants_scaled", "normalization", r"normalization_stats\.json: .*found action: std\[2\] ", None),
    ("count_changed", "summary", "val: summary.json: summary: found frames 642, expected 641", None),
]  # fmt: skip
NAMES = [name for name, *_ in PLANTS]


def of_check(report: Report, check: str) -> list[str]:
    return [str(fault) for fault in report.findings if fault.field == check]


def found_by(report: Report) -> set[str]:
    return {fault.field for fault in report.findings}


@pytest.mark.parametrize(("name", "check", "text", "_"), PLANTS, ids=NAMES)
def test_a_planted_fault_is_found_with_its_place(
    name: str, check: str, text: str, _: str | None, whole: Path, plants: ModuleType, verified: Verified
) -> None:
    getattr(plants, name)(whole)
    report = verified(whole)
    told = of_check(report, check)
    assert any(re.search(text, line) for line in told), "\n".join(map(str, report.findings))
    print(name, "|", next(line for line in told if re.search(text, line)))


@pytest.mark.parametrize(
    ("name", "check", "text", "other"),
    [p for p in PLANTS if p[3] is not None],
    ids=[p[0] for p in PLANTS if p[3] is not None],
)
def test_it_is_found_where_nothing_says_how_the_dataset_was_built(
    name: str, check: str, text: str, other: str, bare: Path, plants: ModuleType, verified: Verified
) -> None:
    getattr(plants, name)(bare)
    report = verified(bare)
    told = of_check(report, other or check)
    split = text.split(":", 1)[0]
    assert any(line.startswith(f"{split}: ") for line in told), "\n".join(map(str, report.findings))
    print(name, "| bare |", told[0])


SHOWN_BY_THE_SOURCE = {
    "shifted": ("shift sweep", r"val: .*episode 1, gripper_right_top: most like its source -1 rows away"),
    "swapped": ("source cameras", r"val: .*episode 0, scene_left: .* from its own source, scene_right \d"),
    "wrist_frozen": ("frozen", r"val: .*gripper_right_bottom, row (199|200) .*one picture for 3\d rows, "
                     "expected pictures that change with their source"),
    "states_reordered": ("source rows",
                         r"val: .*row 10 \(episode 0, its row 10\) and 1 more: ee_x_mm .* of the source"),
}  # fmt: skip


def test_the_source_shows_what_the_dataset_alone_may_not(
    whole: Path, plants: ModuleType, verified: Verified, sample_tree: Path
) -> None:
    for name in SHOWN_BY_THE_SOURCE:
        getattr(plants, name)(whole)
    report = verified(whole, sample_tree)
    for name, (check, text) in SHOWN_BY_THE_SOURCE.items():
        told = of_check(report, check)
        assert any(re.search(text, line) for line in told), (name, told)
        print(name, "| source |", next(line for line in told if re.search(text, line)))


def test_findings_of_many_faults_hide_none_of_each_other(whole: Path, plants: ModuleType, verified: Verified) -> None:
    for name in ("truncated", "nan_in_the_state", "task_changed", "quantiles_missing", "orphan_parquet", "swapped"):
        getattr(plants, name)(whole)
    report = verified(whole)
    assert {"decoding", "finite values", "tasks", "statistics", "files", "fingerprints"} <= found_by(report)
