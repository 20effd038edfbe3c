"""Tasks with one named defect each: what is wrong is known, and nothing else is.

Where a defect is in the recording, its task is planned so; else a sound task is written and one thing of it spoiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from quickdraw.sim.pooled import spoil, tasks
from quickdraw.sim.pooled.files import write_task
from quickdraw.sim.pooled.spec import SlotSpec, TaskSpec


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong with a task, in words; the task it is made of and what is done to that task's folder."""

    says: str
    spoil: Callable[[Path], None] = spoil.nothing
    task: Callable[[str, int], TaskSpec] = lambda name, seed: tasks.small(name, seed=seed)


def write_defect(root: Path, name: str, *, seed: int = 0) -> Path:
    """Write the task `defect_<name>` below the recordings root; return its folder.

    Raises KeyError for a name that is not in `DEFECTS`.
    """
    defect = DEFECTS[name]
    folder = write_task(root, defect.task(f"defect_{name}", seed))
    defect.spoil(folder)
    return folder


def _second_take(**changes: Any) -> Callable[[str, int], TaskSpec]:
    """A small task whose episode 2 is recorded otherwise."""

    def planned(name: str, seed: int) -> TaskSpec:
        task = tasks.small(name, seed=seed)
        first, second = task.episodes
        return replace(task, episodes=(first, replace(second, **changes)))

    return planned


def _apart(name: str, seed: int) -> TaskSpec:
    return tasks.two_cameras(name, seed=seed, apart=True)


def _matrices(name: str, seed: int) -> TaskSpec:
    return tasks.every_matrix_spec(name, seed=seed)


DEFECTS: Final[dict[str, Defect]] = {
    "hole": Defect("episode 2: both clocks jump 4 s between two rows", task=_second_take(hole_after=9)),
    "truncated_clock": Defect("episode 2: hardware_ns cut to 32 bits", task=_second_take(truncated=True)),
    "two_slots_apart": Defect("two rows a frame, whose stamps differ", task=_apart),
    "short_video": Defect(
        "episode 2: the video ends 5 pictures early", task=_second_take(slots=(SlotSpec("cam", tail=5),))
    ),
    "missing_data": Defect("episode 2: a video, but no rows", spoil.remove_data),
    "missing_row": Defect("episode 2: no row in meta/episodes", spoil.remove_row),
    "row_without_files": Defect("episode 2: a row, but neither video nor data", spoil.remove_files),
    "two_extensions": Defect("episode 2: one slot as mp4 and as mkv", spoil.second_extension),
    "unscaled_matrix": Defect("no scale of any matrix was written down", spoil.forget_scales, _matrices),
    "damaged_matrix": Defect("episode 3: one matrix of 750 values", spoil.cut_matrix, _matrices),
    "pretty_tasks": Defect("tasks.jsonl over several lines", spoil.prettify_tasks),
    "legacy_shard": Defect("v1.1.0: one shard of rows, no counts in stats.json", spoil.make_legacy),
    "uncounted_stats": Defect("stats.json without counts", spoil.forget_counts),
    "low_total": Defect("total_episodes below the number of episodes", spoil.lower_total),
    "leftovers": Defect("calibration/, metadata.json and a session folder of v1.0", spoil.leave_old_files),
    "wrong_number": Defect("episode 2: its rows say they are of episode 7", spoil.renumber_rows),
    "frame_gap": Defect("episode 2: a frame_index left out", spoil.skip_frame),
    "null_cell": Defect("episode 2: a glove cell that is null", spoil.null_glove),
    "ragged_imu": Defect("episode 2: a row with more IMU samples than stamps", spoil.drop_stamp),
    "broken_video": Defect("episode 2: a video cut off in the middle", spoil.cut_video),
}
