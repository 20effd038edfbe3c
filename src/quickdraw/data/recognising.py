"""Which processor a folder of recordings is for."""

from __future__ import annotations

from pathlib import Path

TASK = Path("meta", "info.json")  # in every pooled task
CAMPAIGN = "campaign.json"  # in every campaign a collector has written


def processor_of(tree: Path) -> str:
    """`pooled_episodes` where the folder is a pooled task, or holds one and no campaign; else `block_stack`.

    What is in the files does not matter: the source says what is wrong with them.
    """
    try:
        folders = [tree, *(each for each in tree.iterdir() if not each.name.startswith((".", "_")))]
    except OSError:
        folders = []
    tasks = any((folder / TASK).is_file() for folder in folders)
    campaigns = any((folder / CAMPAIGN).is_file() for folder in folders)
    return "pooled_episodes" if tasks and not campaigns else "block_stack"
