"""Where things lie in a tree of raw campaigns: `<tree>/<campaign>/<run>/{run.json,raw/,video/}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.episode import EpisodeKey, Rejected
from quickdraw.errors import Fault, Refused

CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
RUN_NAME = re.compile(r"recording_.+|run_\d{4}_.+")  # the second form is the collector's older one

RUN_JSON = "run.json"
CONTROLLER = "raw/controller.jsonl"
ARM_STATE = "raw/arm_state.jsonl"
COMMANDED = "raw/commanded.jsonl"


def video_file(camera: str) -> str:
    """A camera's pictures, relative to its run."""
    return f"video/{camera}.mp4"


def stamps_file(camera: str) -> str:
    """A camera's capture stamps, relative to its run."""
    return f"video/{camera}_frame_times.json"


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """One campaign: its runs by name, and the folders that hold a run.json under a name no run has.

    `rejected` are folders that should be runs and are none; `faults` is what is wrong with the campaign's own folder.
    """

    name: str
    runs: tuple[EpisodeKey, ...]
    ignored: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    faults: tuple[Fault, ...] = ()


def campaign_names(tree: Path) -> list[str]:
    """Every folder of the tree that is not hidden, and every link to where none is, sorted as plain text.

    Raises Refused where there can be none.
    """
    if not tree.is_dir():
        found = "a file" if tree.exists() else "nothing there"
        raise Refused([_tree_fault(tree, found, "a folder of campaign folders")])
    entries = sorted(entry for entry in tree.iterdir() if not entry.name.startswith("."))
    names = [entry.name for entry in entries if entry.is_dir() or _leads_nowhere(entry)]
    if any(RUN_NAME.fullmatch(name) for name in names):
        raise Refused([_tree_fault(tree, "run folders (this is one campaign)", f"the folder above it, {tree.parent}")])
    if not names:
        raise Refused([_tree_fault(tree, "no campaign folder", "a folder of campaign folders")])
    return names


def _leads_nowhere(entry: Path) -> bool:
    return entry.is_symlink() and not entry.exists()


def _link_fault(where: str, entry: Path) -> Fault:
    found = f"a link to {entry.readlink()}, which is not there"
    return Fault(where, "name", found, "a folder (is a disk not mounted?)", path=str(entry))


def _name_fault(where: str, entry: Path) -> Fault:
    return Fault(where, "name", ascii(entry.name), "a name in UTF-8", path=_text(str(entry)))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tree_fault(tree: Path, found: str, expected: str) -> Fault:
    return Fault("source", "dir", found, expected, path=str(tree), option="+source.dir=<tree>")


def read_campaign(tree: Path, name: str) -> CampaignFolder:
    """The runs of one campaign, sorted as plain text."""
    runs, ignored, rejected = list[EpisodeKey](), list[str](), list[Rejected]()
    if _leads_nowhere(tree / name) or not _is_text(name):
        wrong = _link_fault if _is_text(name) else _name_fault
        return CampaignFolder(name, (), (), (), (wrong(_text(name), tree / name),))
    for entry in sorted((tree / name).iterdir()):
        is_run, has_run_json = RUN_NAME.fullmatch(entry.name) is not None, (entry / RUN_JSON).is_file()
        if is_run and (fault := _run_fault(name, entry)):
            rejected.append(Rejected(EpisodeKey(name, _text(entry.name)), (fault,)))
        elif is_run and has_run_json:
            runs.append(EpisodeKey(name, entry.name))
        elif not is_run and has_run_json:
            ignored.append(f"{name}/{_text(entry.name)}")
    return CampaignFolder(name, tuple(runs), tuple(ignored), tuple(rejected))


def _run_fault(campaign: str, entry: Path) -> Fault | None:
    """Why an entry with a run's name is no run; None too where it is a file, which nobody takes for one."""
    where = f"{campaign}/{_text(entry.name)}"
    if not _is_text(entry.name):
        return _name_fault(where, entry)
    if _leads_nowhere(entry):
        return _link_fault(where, entry)
    if entry.is_dir() and not (entry / RUN_JSON).is_file():
        return Fault(where, RUN_JSON, "missing", "a run.json in every run folder", path=str(entry),
                     option="+source.exclude_globs=[...], or rename the folder")  # fmt: skip
    return None


def _text(name: str) -> str:
    """A name as it can be shown and written down."""
    return name if _is_text(name) else ascii(name)[1:-1]
