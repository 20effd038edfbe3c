"""Which processor a folder of recordings is for."""

from __future__ import annotations

from pathlib import Path

from quickdraw.formats.pooled.layout import Layout

CAMPAIGN = "campaign.json"  # in every campaign a collector has written


def processor_of(tree: Path) -> str:
    """`pooled_episodes` where the folder is a pooled task, or holds one and no campaign; else `block_stack`.

    What is in the files does not matter: the source says what is wrong with them, and with folders nobody may enter,
    which are no campaigns.
    """
    try:
        folders = [tree, *(each for each in tree.iterdir() if not each.name.startswith((".", "_")))]
    except OSError:
        folders = []
    tasks = any(is_task(folder) for folder in folders)
    campaigns = any(_is_campaign(folder) for folder in folders)
    return "pooled_episodes" if tasks and not campaigns else "block_stack"


def is_task(folder: Path) -> bool:
    """Whether a folder holds a pooled task's description, or may: what cannot be looked at must not be passed over."""
    try:
        return Layout(folder).info.is_file()
    except OSError:
        return True


def _is_campaign(folder: Path) -> bool:
    try:
        return (folder / CAMPAIGN).is_file()
    except OSError:
        return False
