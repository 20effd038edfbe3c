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
    names = sorted(entry.name for entry in tree.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if any(RUN_NAME.fullmatch(name) for name in names):
        raise Refused([_tree_fault(tree, "run folders (this is one campaign)", f"the folder above it, {tree.parent}")])
    if not names:
        raise Refused([_tree_fault(tree, "no campaign folder", "a folder of campaign folders")])
    return names


def _tree_fault(tree: Path, found: str, expected: str) -> Fault:
    return Fault("source", "dir", found, expected, path=str(tree), option="+source.dir=<tree>")


def read_campaign(tree: Path, name: str) -> CampaignFolder:
    """The runs of one campaign, sorted as plain text."""
    runs, ignored, faults = [], [], []
    for folder in sorted(entry for entry in (tree / name).iterdir() if entry.is_dir()):
        key, has_run_json = EpisodeKey(name, folder.name), (folder / RUN_JSON).is_file()
        if RUN_NAME.fullmatch(folder.name) and has_run_json:
            runs.append(key)
        elif RUN_NAME.fullmatch(folder.name):
            faults.append(Fault(str(key), RUN_JSON, "missing", "a run.json in every run folder", path=str(folder),
                                option="+source.exclude_globs=[...], or rename the folder"))  # fmt: skip
        elif has_run_json:
            ignored.append(str(key))
    return CampaignFolder(name, tuple(runs), tuple(ignored), tuple(faults))
