"""Tasks of the simulator, an independent hand, and of our own recorder: what is sound passes, each defect is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.repair import apply, plan
from quickdraw.formats.pooled.writer import Recorder, Slot
from quickdraw.sim.pooled import write_recordings
from quickdraw.sim.pooled.defects import DEFECTS

EXPECTED: dict[str, set[str]] = {
    "broken_video": {"video-unreadable"},
    "damaged_matrix": {"matrix-length"},
    "frame_gap": {"frame-index", "row-range"},
    "hole": {"clock-hole"},
    "leftovers": {"leftover-v10"},
    "legacy_shard": {"legacy-shard", "info-episodes-path", "stats-no-count"},
    "low_total": {"info-total"},
    "missing_data": {"data-missing"},
    "missing_row": {"row-missing"},
    "null_cell": {"data-null"},
    "pretty_tasks": {"tasks-line"},
    "ragged_imu": {"data-pair"},
    "row_without_files": {"row-without-files"},
    "short_video": {"video-frames"},
    "truncated_clock": {"clock-truncated"},
    "two_extensions": {"video-twice"},
    "two_slots_apart": {"frame-rows"},
    "uncounted_stats": {"stats-no-count"},
    "unscaled_matrix": {"matrix-scale"},
    "wrong_number": {"data-number"},
}

Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def simulated(once: Once) -> Path:
    """The simulator's tasks, each of its defects among them; not to be changed."""
    return once("check-simulated", lambda folder: write_recordings(folder, seed=5, defects=tuple(DEFECTS)))


def test_each_defect_the_simulator_knows_is_found_and_nothing_else(simulated: Path) -> None:
    assert set(EXPECTED) == set(DEFECTS)
    found = {name: check(simulated / f"defect_{name}", deep=True).findings for name in EXPECTED}
    assert {name: {each.rule for each in findings} for name, findings in found.items()} == EXPECTED


def test_the_simulators_sound_tasks_have_no_finding(simulated: Path) -> None:
    sound = [path for path in simulated.iterdir() if path.is_dir() and not path.name.startswith("defect_")]
    assert len(sound) == 3
    for path in sound:
        assert check(path, deep=True).findings == ()


def test_the_simulators_unscaled_matrices_are_repaired_to_what_it_wrote(
    simulated: Path, pooled_copy: Callable[[Path], Path]
) -> None:
    root = pooled_copy(simulated / "defect_unscaled_matrix")
    found = plan(recognise(root).layout)
    assert found.episodes
    apply(found)
    left = {each.rule for each in check(root, deep=True).findings}
    assert left <= ({"matrix-scale"} if found.undecided else set())


def test_what_our_own_recorder_writes_has_no_finding(tmp_path: Path) -> None:
    slots = [Slot("cam", 48, 64), Slot("depth", 48, 64, depth=True)]
    with Recorder(tmp_path, "own", slots=slots, app_version="1") as recorder:
        for _ in range(2):
            recorder.begin()
            for k in range(12):
                ns = 5_000_000_000_000 + k * 33_333_333
                pictures = {
                    "cam": np.full((48, 64, 3), 20 * k, np.uint8),
                    "depth": np.full((48, 64), 900 + k, np.uint16),
                }
                recorder.add_glove("left_glove", np.full(256, float(k)))
                recorder.add_imu([ns - 20_000_000, ns - 10_000_000, ns], np.ones((3, 6)))
                recorder.add_force("left", [0, 0, 6250.0], ns - 1_000_000)
                recorder.add_force_matrix("left", np.full((250, 250, 3), 0.1, np.float32), ns - 2_000_000)
                recorder.add_trajectory(np.ones((2, 8)), [ns - 9_000_000, ns - 1_000_000])
                recorder.add_gripper_state([50.0, 1.0, 0.0])
                recorder.add_frame(pictures, hardware_ns=ns, wall_time=1.79e9 + k / 30)
            recorder.end()
    assert check(tmp_path / "own", deep=True).findings == ()
