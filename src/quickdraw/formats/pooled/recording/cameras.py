"""The cameras of a recording: one slot each, one encoder each, in hidden files until the episode ends (contract 8)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.errors import Fault
from quickdraw.formats.durable import aside, sync
from quickdraw.formats.pooled.depth import Mode
from quickdraw.formats.pooled.layout import PLAIN_NAME, Layout
from quickdraw.formats.pooled.recording.depth_writer import DepthWriter, extension
from quickdraw.formats.pooled.scan import is_auxiliary
from quickdraw.video.encoder_process import EncoderProcess
from quickdraw.video.encoders import RGB

type Picture = npt.NDArray[Any]

MOST_PX = 16384


@dataclass(frozen=True, slots=True)
class Slot:
    """A camera: its folder's `name`, its picture, whether that is `depth` [mm], and its rate where not the task's.

    Depth is registered here, never guessed by a name. Colour pictures have an even height and width.
    """

    name: str
    height_px: int
    width_px: int
    depth: bool = False
    fps: float | None = None

    def check(self, picture: Picture) -> None:
        """Raise ValueError for what is no `(H, W, 3)` uint8 RGB, or no `(H, W)` uint16 [mm] where the slot is depth."""
        shape = (self.height_px, self.width_px) if self.depth else (self.height_px, self.width_px, 3)
        dtype = np.uint16 if self.depth else np.uint8
        if not isinstance(picture, np.ndarray) or picture.shape != shape or picture.dtype != dtype:
            found = f"{getattr(picture, 'shape', type(picture).__name__)} {getattr(picture, 'dtype', '')}"
            raise ValueError(f"slot {self.name}: a picture of {found}, not of {shape} {np.dtype(dtype)}")


def slot_faults(slots: Sequence[Slot], *, preview: bool) -> list[Fault]:
    """What is wrong with the slots of a recording; a `preview` of depth is a colour picture, and even like those."""
    found = []
    for at, slot in enumerate(slots):
        names = [each.name for each in slots[:at]]
        even = (slot.depth and not preview) or slot.height_px % 2 == slot.width_px % 2 == 0
        wrong = {
            "name": (
                PLAIN_NAME.fullmatch(slot.name) and not is_auxiliary(slot.name),
                "a plain folder name, not `_aux`",
            ),
            "another name": (slot.name not in names, "one slot of that name"),
            "size": (
                even and 2 <= slot.height_px <= MOST_PX and 2 <= slot.width_px <= MOST_PX,
                "even pixels, 2 or more",
            ),
            "fps": (slot.fps is None or (math.isfinite(slot.fps) and 0 < slot.fps <= 1000), "frames a second, above 0"),
        }
        found += [Fault(slot.name, key, repr(slot), expected) for key, (right, expected) in wrong.items() if not right]
    return found


class Cameras:
    """The videos of one episode as they grow. An encoder starts with its slot's first picture.

    A depth camera may stall: its latest picture is repeated, so that depth k belongs to row k. Before its first one
    nothing is written, so its video may lack a head. `counts` tells how often: `<slot>_repeated_count`.
    """

    def __init__(
        self, layout: Layout, number: int, slots: Sequence[Slot], *, fps: float, mode: Mode, preview: bool
    ) -> None:
        self._layout, self._number, self._slots = layout, number, tuple(slots)
        self._fps, self._mode, self._preview = fps, mode, preview
        self._latest: dict[str, Picture] = {}
        self.counts: Counter[str] = Counter()
        self._encoders: dict[str, EncoderProcess | DepthWriter] = {}

    @property
    def recorded(self) -> tuple[Slot, ...]:
        """The slots that had a picture."""
        return tuple(slot for slot in self._slots if slot.name in self._encoders)

    @property
    def files(self) -> dict[str, Path]:
        """Where each recorded slot's video will be."""
        return {slot.name: self._place(slot) for slot in self.recorded}

    def check(self, pictures: Mapping[str, Picture]) -> None:
        """Raise ValueError, before anything is written, where a colour picture is missing or one is not of its slot."""
        known = {slot.name: slot for slot in self._slots}
        if unknown := sorted(set(pictures) - set(known)):
            raise ValueError(f"pictures of {', '.join(unknown)}; the slots are {', '.join(known)}")
        if missing := sorted(name for name, slot in known.items() if not slot.depth and name not in pictures):
            raise ValueError(f"no picture of {', '.join(missing)}; every colour slot has one a row")
        for name, picture in pictures.items():
            known[name].check(picture)

    def write(self, pictures: Mapping[str, Picture]) -> None:
        """One picture of every slot. Raises VideoError where an encoder is gone, OSError where a folder is refused."""
        for slot in self._slots:
            if slot.depth and slot.name in pictures:
                self._latest[slot.name] = pictures[slot.name].copy()
            elif slot.name in self._latest:
                self.counts[f"{slot.name}_repeated_count"] += 1
            picture = self._latest.get(slot.name) if slot.depth else pictures[slot.name]
            if picture is not None:
                self._encoder(slot).write(picture)

    def close(self) -> None:
        """Return when every video is whole and on the disk. Raises VideoError where one is not."""
        if self._encoders:
            with ThreadPoolExecutor(len(self._encoders)) as pool:  # each may have seconds to do still
                list(pool.map(lambda encoder: encoder.close(), self._encoders.values()))
        for place in self.files.values():
            sync(aside(place))

    def discard(self) -> None:
        """End the encoders at once and remove what they wrote."""
        for encoder in self._encoders.values():
            encoder.kill()
        for place in self.files.values():
            aside(place).unlink(missing_ok=True)

    def _place(self, slot: Slot) -> Path:
        ending = extension(self._mode) if slot.depth else RGB.extension
        return self._layout.video(self._number, slot.name, ending)

    def _encoder(self, slot: Slot) -> EncoderProcess | DepthWriter:
        if slot.name not in self._encoders:
            place, fps = self._place(slot), slot.fps or self._fps
            place.parent.mkdir(parents=True, exist_ok=True)
            size: dict[str, Any] = {"height_px": slot.height_px, "width_px": slot.width_px, "fps": fps}
            self._encoders[slot.name] = (
                DepthWriter(aside(place), mode=self._mode, preview=self._preview, **size)
                if slot.depth
                else EncoderProcess(aside(place), RGB, **size)
            )
        return self._encoders[slot.name]
