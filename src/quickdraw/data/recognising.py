"""Which processor a folder of recordings is for."""

from __future__ import annotations

from pathlib import Path

from quickdraw.formats.pooled.layout import Layout

CAMPAIGN = "campaign.json"  # in every campaign a collector has written


def processor_of(tree: Path) -> str:
    """`pooled_episodes` where the folder is a pooled task, or holds one and no campaign; else `block_stack`.

    What is in the files does not matter: the source says what is wrong with them, and with folders nobody may enter.
    """
    try:
        folders = [tree, *(each for each in tree.iterdir() if not each.name.startswith((".", "_")))]
    except OSError:
        folders = []
    tasks = any(_is_file(Layout(folder).info) for folder in folders)
    campaigns = any(_is_file(folder / CAMPAIGN) for folder in folders)
    return "pooled_episodes" if tasks and not campaigns else "block_stack"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
