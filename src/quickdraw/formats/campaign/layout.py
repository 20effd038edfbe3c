"""Where things lie in a tree of raw campaigns: `<tree>/<campaign>/<run>/{run.json,raw/,video/}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from quickdraw.core.episode import EpisodeKey
from quickdraw.errors import Fault, Refused

CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
RUN_NAME = re.compile(r"recording_.+|run_\d{4}_.+")  # the second form is the collector's older one

RUN_JSON = "run.json"
CONTROLLER = "raw/controller.jsonl"
ARM_STATE = "raw/arm_state.jsonl"


def video_file(camera: str) -> str:
    """A camera's pictures, relative to its run."""
    return f"video/{camera}.mp4"


def stamps_file(camera: str) -> str:
    """A camera's capture stamps, relative to its run."""
    return f"video/{camera}_frame_times.json"


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """One campaign: its runs by name, and the folders that hold a run.json under a name no run has."""

    name: str
    runs: tuple[EpisodeKey, ...]
    ignored: tuple[str, ...]
    faults: tuple[Fault, ...]


def campaign_names(tree: Path) -> list[str]:
    """Every folder of the tree that is not hidden, sorted as plain text. Raises Refused where there can be none."""
    if not tree.is_dir():
        found = "a file" if tree.exists() else "nothing there"
        raise Refused([_tree_fault(tree, found, "a folder of campaign folders")])
    entries = [entry for entry in tree.iterdir() if not entry.name.startswith(".")]
    faults = [fault for entry in sorted(entries) if (fault := _entry_fault(entry.name, entry)) is not None]
    if faults:
        raise Refused(faults)
    names = sorted(entry.name for entry in entries if entry.is_dir())
    if any(RUN_NAME.fullmatch(name) for name in names):
        raise Refused([_tree_fault(tree, "run folders (this is one campaign)", f"the folder above it, {tree.parent}")])
    if not names:
        raise Refused([_tree_fault(tree, "no campaign folder", "a folder of campaign folders")])
    return names


def _entry_fault(where: str, entry: Path) -> Fault | None:
    """What is wrong with a folder entry before it is looked into."""
    if entry.is_symlink() and not entry.exists():
        found, expected = f"a link to {entry.readlink()}, which is not there", "a folder (is a disk not mounted?)"
    elif not _is_text(entry.name):
        found, expected = repr(entry.name), "a name in UTF-8"
    else:
        return None
    return Fault(ascii(where), "name", found, expected, path=ascii(str(entry)))


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
    runs, ignored, faults = [], [], []
    for folder in sorted((tree / name).iterdir()):
        wrong = _entry_fault(f"{name}/{folder.name}", folder) if RUN_NAME.fullmatch(folder.name) else None
        if wrong is not None:
            faults.append(wrong)
        if wrong is not None or not folder.is_dir():
            continue
        key, has_run_json = EpisodeKey(name, folder.name), (folder / RUN_JSON).is_file()
        if RUN_NAME.fullmatch(folder.name) and has_run_json:
            runs.append(key)
        elif RUN_NAME.fullmatch(folder.name):
            faults.append(Fault(str(key), RUN_JSON, "missing", "a run.json in every run folder", path=str(folder),
                                option="+source.exclude_globs=[...], or rename the folder"))  # fmt: skip
        elif has_run_json:
            ignored.append(str(key))
    return CampaignFolder(name, tuple(runs), tuple(ignored), tuple(faults))
