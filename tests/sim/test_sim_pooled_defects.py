"""Each named defect is there, and nothing else of its task differs from a sound one."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import pyarrow.parquet as pq
import pytest

from quickdraw.sim.pooled.defects import DEFECTS, write_defect
from quickdraw.sim.pooled.files import write_task

DATA, ROW = "data/chunk-000/episode-001.parquet", "meta/episodes/chunk-000/episode-001.parquet"
FILM = "videos/chunk-000/cam/episode-001.mp4"
INFO, STATS, TASKS = "meta/info.json", "meta/stats.json", "meta/tasks.jsonl"
ROWS = {f"meta/episodes/chunk-000/episode-{file:03d}.parquet" for file in range(5)}
SPOILED = {
    "missing_data": {DATA},
    "missing_row": {ROW},
    "row_without_files": {DATA, FILM},
    "two_extensions": {FILM.replace("mp4", "mkv")},
    "unscaled_matrix": {INFO, *ROWS},
    "damaged_matrix": {"data/chunk-000/episode-002.parquet"},
    "pretty_tasks": {TASKS},
    "legacy_shard": {INFO, STATS, "meta/episodes/chunk-000/file-000.parquet", *sorted(ROWS)[:2]},
    "uncounted_stats": {STATS},
    "low_total": {INFO},
    "leftovers": {"metadata.json"},
    "wrong_number": {DATA},
    "frame_gap": {DATA},
    "null_cell": {DATA},
    "ragged_imu": {DATA},
    "broken_video": {FILM},
}
PLANNED = {"hole", "truncated_clock", "two_slots_apart", "short_video"}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(spoiled, sound): the same tasks with and without what is done to them after writing."""
    spoiled, sound = (tmp_path_factory.mktemp(each) for each in ("spoiled", "sound"))
    for name, defect in DEFECTS.items():
        write_defect(spoiled, name)
        if name not in PLANNED:
            write_task(sound, defect.task(f"defect_{name}", 0))
    return spoiled, sound


@pytest.fixture
def spoiled(roots: tuple[Path, Path]) -> Path:
    return roots[0]


def contents(task: Path) -> dict[str, bytes]:
    return {str(path.relative_to(task)): path.read_bytes() for path in task.rglob("*") if path.is_file()}


def cells(task: Path, column: str, file: int = 1) -> list[Any]:
    found: list[Any] = pq.read_table(task / f"data/chunk-000/episode-{file:03d}.parquet")[column].to_pylist()
    return found


def pictures_in(film: Path) -> int:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-xerror", "-i", str(film)]
    command += ["-f", "rawvideo", "-pix_fmt", "gray", "-"]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return len(done.stdout) // (120 * 160) if done.returncode == 0 and not done.stderr else -1


def test_every_defect_is_known_here_and_says_what_it_is() -> None:
    assert set(DEFECTS) == PLANNED | set(SPOILED)
    assert len({defect.says for defect in DEFECTS.values()}) == len(DEFECTS)


@pytest.mark.parametrize("name", SPOILED)
def test_only_what_is_named_differs_from_a_sound_task(roots: tuple[Path, Path], name: str) -> None:
    spoiled, sound = (contents(root / f"defect_{name}") for root in roots)
    assert {path for path in spoiled | sound if spoiled.get(path) != sound.get(path)} == SPOILED[name]


def test_a_hole_is_four_seconds_on_both_clocks(spoiled: Path) -> None:
    for column, unit in (("hardware_ns", 1e-9), ("wall_time", 1.0)):
        stamps = cells(spoiled / "defect_hole", column)
        steps = [(after - before) * unit for before, after in pairwise(stamps)]
        assert [step > 4.0 for step in steps] == [row == 9 for row in range(len(steps))]


def test_a_truncated_clock_fits_in_32_bits(spoiled: Path) -> None:
    task = spoiled / "defect_truncated_clock"
    assert max(abs(stamp) for stamp in cells(task, "hardware_ns")) < 2**31
    assert min(cells(task, "hardware_ns", file=0)) > 2**32
    assert max(max(each) for each in cells(task, "imu_ts_ns")) > 2**32


def test_two_slots_apart_repeat_a_frame_with_another_stamp(spoiled: Path) -> None:
    task = spoiled / "defect_two_slots_apart"
    frames, stamps = cells(task, "frame_index", file=0), cells(task, "hardware_ns", file=0)
    assert frames[:4] == [0, 0, 1, 1]
    assert stamps[1] - stamps[0] == 4_000_000


def test_a_short_video_and_a_broken_one(spoiled: Path) -> None:
    assert pictures_in(spoiled / "defect_short_video" / FILM) == 15
    assert pictures_in(spoiled / "defect_short_video" / FILM.replace("001", "000")) == 20
    assert pictures_in(spoiled / "defect_broken_video" / FILM) == -1


def test_documents_say_what_their_defect_says(spoiled: Path) -> None:
    def document(name: str, path: str) -> Any:
        return json.loads((spoiled / f"defect_{name}" / path).read_text())

    assert (spoiled / "defect_pretty_tasks" / TASKS).read_text().splitlines()[0] == "{"
    assert document("low_total", INFO)["total_episodes"] == 1
    assert all("count" not in block for block in document("uncounted_stats", STATS).values())
    assert not any("scale" in entry for entry in document("unscaled_matrix", INFO)["features"].values())
    assert document("legacy_shard", INFO)["episodes_path"].endswith("file-{c:03d}.parquet")
    assert sorted(path.name for path in (spoiled / "defect_leftovers").iterdir() if path.is_dir()) == [
        "calibration",
        "data",
        "defect_leftovers_000001",
        "meta",
        "videos",
    ]


def test_a_legacy_shard_has_every_row_and_ten_columns(spoiled: Path) -> None:
    shard = pq.read_table(spoiled / "defect_legacy_shard/meta/episodes/chunk-000/file-000.parquet")
    assert (shard["episode_index"].to_pylist(), shard.num_columns) == ([1, 2], 10)


def test_cells_say_what_their_defect_says(spoiled: Path) -> None:
    assert set(cells(spoiled / "defect_wrong_number", "episode_index")) == {7}
    assert cells(spoiled / "defect_frame_gap", "frame_index") == [*range(10), *range(11, 21)]
    assert [cell is None for cell in cells(spoiled / "defect_null_cell", "observation.left_glove")].index(True) == 3
    ragged = spoiled / "defect_ragged_imu"
    samples, stamps = cells(ragged, "observation.imu"), cells(ragged, "imu_ts_ns")
    assert [len(one) - len(two) for one, two in zip(samples, stamps, strict=True)] == [0, 0, 0, 1, *[0] * 16]
    matrices = cells(spoiled / "defect_damaged_matrix", "observation.gripper_left_force_matrix", file=2)
    assert [len(cell) for cell in matrices] == [750, 0, 187500, 0, 187500, 0, 187500, 0, 187500, 0, 187500, 0]
