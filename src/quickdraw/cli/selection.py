"""Which episodes of which split a command is to show, and where it may write: everything wrong with that at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quickdraw.errors import Fault
    from quickdraw.formats.lerobot.reader import SplitReader

USUAL_SPLIT = "val"


@dataclass(frozen=True, slots=True)
class Selection:
    """Episodes of one split; `name` stands for it in the names of files, such as `block_stack_val`."""

    split: SplitReader
    name: str
    episodes: tuple[int, ...]


def selected(dataset: Path, split: str | None, episodes: Sequence[int], writes: Sequence[Fault] = ()) -> Selection:
    """The chosen episodes; of `val`, or else of the first split, where none is named.

    A dataset is a folder of splits, or one split by itself. Raises Refused with the faults `writes`, found before, and
    every split and episode that is not there.
    """
    from quickdraw.errors import COMMAND_LINE, Fault, Refused
    from quickdraw.formats.lerobot import schema
    from quickdraw.formats.lerobot.reader import SplitReader, splits_of

    faults, root = list(writes), dataset.resolve()
    alone = (root / schema.INFO_PATH).is_file()
    try:
        splits = {root.name: SplitReader(root)} if alone else splits_of(root)
    except Refused as refused:
        raise Refused([*faults, *refused.faults]) from refused
    name = split or (USUAL_SPLIT if USUAL_SPLIT in splits else next(iter(splits)))
    if name in splits:
        known = len(splits[name].episodes)
        expected = f"0 to {known - 1}, the episodes of {name}" if known else f"one of {name}, which has none"
        faults += [
            Fault(COMMAND_LINE, "--episode", str(episode), expected) for episode in episodes if not 0 <= episode < known
        ]
    else:
        faults.append(Fault(COMMAND_LINE, "--split", name, f"one of {', '.join(splits)}", path=str(dataset)))
    if faults:
        raise Refused(faults)
    return Selection(splits[name], name if alone else f"{root.name}_{name}", tuple(dict.fromkeys(episodes)))


def inside(dataset: Path, option: str, target: Path) -> list[Fault]:
    """The fault of a place to write to that lies in the dataset, which nothing is put into."""
    from quickdraw.errors import COMMAND_LINE, Fault

    if not target.resolve().is_relative_to(dataset.resolve()):
        return []
    expected = f"a place outside the dataset {dataset.resolve()}"
    return [Fault(COMMAND_LINE, option, "a place inside the dataset", expected, path=str(target))]


def cube_cameras() -> dict[str, str]:
    """The camera of each view that cubes are measured in."""
    from quickdraw.core.cubes import VIEWS
    from quickdraw.data.block_stack_options import CUBE_CAMERAS

    return dict(zip(VIEWS, CUBE_CAMERAS, strict=True))
