"""A whole recordings root: tasks without a fault, and beside them one task for each defect asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from quickdraw.errors import Fault, Refused
from quickdraw.sim.pooled.defects import DEFECTS, write_defect
from quickdraw.sim.pooled.files import write_task
from quickdraw.sim.pooled.spec import TaskSpec
from quickdraw.sim.pooled.tasks import default_tasks


def write_recordings(
    root: Path,
    *,
    seed: int = 0,
    tasks: Sequence[TaskSpec] | None = None,
    defects: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Path, ...]:
    """Write `tasks` (None: the default ones) and a task `defect_<name>` for each name of `defects.DEFECTS`.

    The same arguments write the same bytes. `tell` hears the name of every task before it is written. Returns the
    tasks' folders. Raises Refused, with nothing written, where `root` holds anything or a defect has no such name.
    """
    require_empty(root)
    _require_known(defects)
    chosen = default_tasks(seed=seed) if tasks is None else tasks
    root.mkdir(parents=True, exist_ok=True)
    written = []
    for task in chosen:
        tell(task.name)
        written.append(write_task(root, task))
    for name in defects:
        tell(f"defect_{name}")
        written.append(write_defect(root, name, seed=seed))
    return tuple(written)


def require_empty(root: Path) -> None:
    """Raise Refused unless `root` is a new or an empty folder."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise Refused([Fault("simulate pooled", "root", f"{root}, which is not empty", "a new or empty folder")])


def _require_known(defects: Sequence[str]) -> None:
    expected = f"one of {', '.join(DEFECTS)}"
    faults = [Fault("simulate pooled", "defect", repr(each), expected) for each in defects if each not in DEFECTS]
    if faults:
        raise Refused(faults)
