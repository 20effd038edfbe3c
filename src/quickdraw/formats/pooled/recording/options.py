"""What a recorder may be told: checked before anything is touched, all faults at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import info_merge
from quickdraw.formats.pooled.depth import Mode
from quickdraw.formats.pooled.force_matrix import SPECS
from quickdraw.formats.pooled.layout import task_folder
from quickdraw.formats.pooled.recording.cameras import Slot, slot_faults
from quickdraw.formats.pooled.recording.depth_writer import encoder_of

DEVICE_KEYS = ("key", "kind", "name", "slots")


def checked(
    task_name: str, *, slots: Sequence[Slot], fps: float, force_spec: str, depth: Mode, preview: bool,
    devices: Sequence[Mapping[str, Any]], documents: Mapping[str, Any],
) -> str:  # fmt: skip
    """The folder of the task. Raises Refused with everything that is wrong, of what goes into `documents` too."""
    where, folder = task_name or "recorder", ""
    faults = slot_faults(slots, preview=preview)
    try:
        folder = task_folder(task_name)
    except ValueError as error:
        faults.append(Fault(where, "task_name", str(error), "a name"))
    if folder.startswith("_"):
        faults.append(
            Fault(where, "task_name", f"folder {folder!r}", "a name that begins otherwise: `_` hides a folder")
        )
    if not (math.isfinite(fps) and 0 < fps <= 1000):
        faults.append(Fault(where, "fps", repr(fps), "frames a second, above 0"))
    if force_spec not in SPECS:
        faults.append(Fault(where, "force_spec", repr(force_spec), f"one of {', '.join(SPECS)}"))
    try:
        encoder_of(depth, preview=preview)
    except ValueError as error:
        faults.append(Fault(where, "depth", str(error), "ffv1, or log12 without a preview"))
    faults += _document_faults(where, devices, documents)
    if faults:
        raise Refused(faults)
    return folder


def _document_faults(where: str, devices: Sequence[Mapping[str, Any]], documents: Mapping[str, Any]) -> Iterator[Fault]:
    for device in devices:
        if missing := [key for key in DEVICE_KEYS if key not in device]:
            yield Fault(where, "devices", f"one without {', '.join(missing)}", f"objects of {', '.join(DEVICE_KEYS)}")
        elif not isinstance(device["slots"], list) or not all(isinstance(each, str) for each in device["slots"]):
            yield Fault(where, "devices", f"slots {device['slots']!r}", "a list of slot names")
    try:
        info_merge.document_bytes({"task_name": where, "devices": [dict(each) for each in devices], **documents})
    except (Refused, TypeError) as error:  # found now, and not when an episode ends
        yield Fault(where, ", ".join(["devices", *documents]), str(error), "what JSON can hold")
