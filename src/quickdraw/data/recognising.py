"""Which processor a folder of recordings is for."""

from __future__ import annotations

from pathlib import Path

from quickdraw.data.processor import processor, processor_names
from quickdraw.errors import COMMAND_LINE, Fault, Refused

FALLBACK = "block_stack"  # where none knows a folder, or several do: its source says what is wrong with it


def processor_of(tree: Path) -> str:
    """The one processor that recognises a folder; `block_stack` where none does, or more than one.

    What is in the files does not matter: the source says what is wrong with them.
    """
    found = _recognised_by(tree)
    return found[0] if len(found) == 1 else FALLBACK


def refuse_another(name: str, tree: Path) -> None:
    """Raises Refused where a folder is not this processor's, but another's."""
    found = [] if processor(name).recognises(tree) else _recognised_by(tree)
    if found:
        option = " or ".join(f"+processor={each}" for each in found)
        told = f"{name}, but {tree} holds recordings of {' and '.join(found)}"
        raise Refused([Fault(COMMAND_LINE, "processor", told, processor(name).tree, option=option)])


def _recognised_by(tree: Path) -> list[str]:
    return [name for name in processor_names() if processor(name).recognises(tree)]


def folders_of(tree: Path) -> list[Path]:
    """A folder and those in it that are neither hidden nor set aside; none where it cannot be listed."""
    try:
        return [tree, *(each for each in tree.iterdir() if not each.name.startswith((".", "_")))]
    except OSError:
        return []
