"""A recorder killed at every step: the task stays readable, and the next recording goes on with the right number.

Witness: plain json and pyarrow, ffmpeg's binary.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow.parquet as pq
import pytest

from quickdraw.formats.pooled.writer import Recorder, Slot

SCRIPT = Path(__file__).with_name("killed_recorder.py")
OLD, NEW = [1.0, 2.0], [10.0, 11.0, 12.0]


def recorder(root: Path, slot: str) -> Recorder:
    return Recorder(root, "pick", slots=[Slot(slot, 32, 32)], app_version="1")


def record(recording: Recorder, slot: str, values: list[float]) -> int:
    number = recording.begin()
    for k, value in enumerate(values):
        recording.add_glove("right_glove", np.full(256, value))
        recording.add_frame({slot: np.zeros((32, 32, 3), np.uint8)}, hardware_ns=k + 1, wall_time=1.79e9 + k)
    recording.end()
    return number


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task of one episode."""
    root = tmp_path_factory.mktemp("killed")
    with recorder(root, "old_rgb") as recording:
        record(recording, "old_rgb", OLD)
    return root


def killed(base: Path, output: Path, mode: str) -> list[Path]:
    """The tasks of recorders that were killed at each step, and last of one that was not."""
    command = [sys.executable, str(SCRIPT), str(base), str(output), mode]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    steps = int(result.stdout)
    print(f"{mode}: killed at {steps} steps")
    return [output / str(at) / "pick" for at in range(steps + 1)]


def visible(task: Path) -> list[Path]:
    return sorted(path for path in task.rglob("*") if path.is_file() and not path.name.startswith("."))


@cache
def decode(video: bytes) -> None:
    """By ffmpeg's binary; the same bytes once."""
    with tempfile.NamedTemporaryFile(suffix=".mp4") as file:
        file.write(video)
        file.flush()
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-xerror", "-i", file.name, "-f", "null", "-"]
        subprocess.run(command, check=True, timeout=60, capture_output=True)


def contents(task: Path) -> dict[int, list[float]]:
    """The glove of each episode, after every visible file was read whole: Parquet, JSON, video."""
    found = {}
    for path in visible(task):
        if path.suffix == ".mp4":
            decode(path.read_bytes())
        elif path.suffix == ".parquet":
            table = pq.read_table(path)
            if "data" in path.parts:
                glove = table["observation.right_glove"].to_pylist()
                found[table["episode_index"][0].as_py()] = [row[0] for row in glove]
        else:
            for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                json.loads(line)
    return found


def whole(task: Path, episodes: dict[int, list[float]]) -> None:
    """All documents agree on these episodes, and nothing hidden is left but the locks."""
    rows = {}
    for path in (task / "meta/episodes").rglob("episode-*.parquet"):
        (row,) = pq.read_table(path).to_pylist()
        rows[row["episode_index"]] = row["length"]
    assert contents(task) == episodes
    assert rows == {number: len(values) for number, values in episodes.items()}
    info: dict[str, Any] = json.loads((task / "meta/info.json").read_text())
    assert (info["total_episodes"], info["last_episode_index"]) == (len(episodes), max(episodes))
    block = json.loads((task / "meta/stats.json").read_text())["observation.right_glove"]
    every = [value for values in episodes.values() for value in values]
    assert (block["count"], block["mean"][0]) == (len(every), pytest.approx(np.mean(every)))
    hidden = {path.name for path in task.rglob(".*") if path.is_file()}
    assert hidden <= {".recorder.lock", ".lock"}
    videos = {int(path.stem[-3:]) + 1 for path in (task / "videos").rglob("*.mp4")}
    assert videos == set(episodes)
    assert len(list((task / "videos").rglob("*.mp4"))) == len(episodes)


def test_a_recorder_killed_at_any_step_of_an_end_leaves_the_task_before_or_after(base: Path, tmp_path: Path) -> None:
    """P-57."""
    tasks = killed(base, tmp_path, "end")
    assert len(tasks) > 15
    outcomes = []
    for task in tasks:
        assert contents(task) in ({1: OLD}, {1: OLD, 2: NEW})
        with recorder(task.parent, "new_rgb") as recording:
            recovered = contents(task)
            whole(task, recovered)
            outcomes.append(2 in recovered)
            assert recording.begin() == max(recovered) + 1
            recording.abort()
            (task / "meta/recycled_episode.json").unlink()
        whole(task, recovered)
    assert outcomes == sorted(outcomes)  # once it is noted down, it comes to be
    assert {*outcomes} == {False, True}
    with recorder(tasks[0].parent, "new_rgb") as recording:
        assert record(recording, "new_rgb", NEW) == 2
    whole(tasks[0], {1: OLD, 2: NEW})


def test_a_recorder_killed_at_any_step_of_replacing_an_episode_leaves_the_old_or_the_new(
    base: Path, tmp_path: Path
) -> None:
    """P-46, and statistics never have both."""
    outcomes = []
    for task in killed(base, tmp_path, "again"):
        assert contents(task) in ({1: OLD}, {1: NEW})
        with recorder(task.parent, "new_rgb"):
            pass
        recovered = contents(task)
        whole(task, recovered)
        outcomes.append(recovered[1] == NEW)
        (video,) = (task / "videos").rglob("*.mp4")
        assert video.parent.name == ("new_rgb" if outcomes[-1] else "old_rgb")
    assert outcomes == sorted(outcomes)
    assert {*outcomes} == {False, True}


def test_a_recorder_killed_at_any_step_of_an_abort_leaves_the_number_free(base: Path, tmp_path: Path) -> None:
    """P-44: with the contract's recorder the half-written video stays, as an episode, and drops the marker."""
    markers = []
    for task in killed(base, tmp_path, "abort"):
        assert contents(task) == {1: OLD}
        marker = task / "meta/recycled_episode.json"
        markers.append(marker.exists())
        with recorder(task.parent, "new_rgb") as recording:
            assert recording.begin() == 2
            recording.abort()
            assert json.loads(marker.read_text())["episode_index"] == 2
        marker.unlink()
        whole(task, {1: OLD})
    assert markers == sorted(markers)
    assert {*markers} == {False, True}
