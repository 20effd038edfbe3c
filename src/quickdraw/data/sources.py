"""Which source a processor's name stands for, made of the options of a build, wherever its tree is now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from quickdraw.data.block_stack import BlockStack
from quickdraw.errors import Fault, Refused
from quickdraw.formats.campaign.acceptance import Acceptance
from quickdraw.formats.campaign.layout import CAMERAS


class _BlockStackOptions(msgspec.Struct, frozen=True):
    target_hz: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    cameras: tuple[str, ...]


def _block_stack(options: dict[str, Any], tree: Path) -> BlockStack:
    """Raises msgspec.ValidationError."""
    told = msgspec.convert(options, _BlockStackOptions)
    if not told.cameras or not set(told.cameras) <= set(CAMERAS):
        raise msgspec.ValidationError(f"cameras {list(told.cameras)}, of {', '.join(CAMERAS)}")
    # Every field of an acceptance is the option of its name.
    return BlockStack(tree, told.target_hz, told.cameras, msgspec.convert(options, Acceptance))


SOURCES = {BlockStack.processor: _block_stack}


def source_of(processor: str, options: Mapping[str, Any], tree: Path) -> BlockStack:
    """The source of a dataset. Raises Refused where there is no such processor, or its options are none of its own."""
    if processor not in SOURCES:
        raise Refused([Fault("source", "processor", repr(processor), f"one of {', '.join(SOURCES)}")])
    try:
        return SOURCES[processor](dict(options), tree)
    except msgspec.ValidationError as error:
        raise Refused([Fault("source", "options", f"malformed ({error})", f"those of {processor}")]) from error
