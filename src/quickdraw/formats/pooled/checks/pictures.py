"""Rules of an episode's pictures: every one decodes, and there are as many as frames (contract 7.3, 8)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quickdraw.errors import VideoError
from quickdraw.formats.pooled.checks.data import Data
from quickdraw.formats.pooled.checks.findings import Checking
from quickdraw.formats.pooled.depth import FULL_RANGE, DepthVideo, open_depth
from quickdraw.formats.pooled.parquet_files import why
from quickdraw.video.decoding import pictures
from quickdraw.video.probing import StreamFacts, streams


def check_pictures(checking: Checking, number: int, videos: Mapping[str, Path], data: Data | None) -> None:
    """Decode every stream of every slot's file, one picture in memory at a time."""
    frames = None if data is None or data.frame_index is None else len(np.unique(data.frame_index))
    for slot, path in videos.items():
        try:
            depth, facts = open_depth(path), streams(path)
            count = sum(1 for _ in pictures(path, None if depth is None else depth.index))
            _check_others(facts, path, depth)
        except (VideoError, OSError, ValueError, MemoryError) as error:
            checking.add("video-unreadable", path, error.found if isinstance(error, VideoError) else why(error), number)
            continue
        _check_kind(checking, number, path, depth)
        _check_camera(checking, number, slot, path=path, facts=facts[0], depth=depth)
        if frames is not None:
            _check_count(checking, number, slot, path=path, count=count, frames=frames, is_depth=depth is not None)


def _check_others(facts: tuple[StreamFacts, ...], path: Path, depth: DepthVideo | None) -> None:
    """Decode what else a file shows: the heat map beside a depth stream. Raises VideoError where it is damaged."""
    for each in facts:
        if depth is not None and each.index != depth.index:
            for _ in pictures(path, each.index):
                pass


def _check_kind(checking: Checking, number: int, path: Path, depth: DepthVideo | None) -> None:
    if path.suffix == ".mkv" and (depth is None or depth.kind != "ffv1"):
        checking.add("video-depth", path, "an mkv without a stream of FFV1 gray16le", number)
    elif depth is not None and depth.kind == "log12" and depth.color_range != FULL_RANGE:
        found = f"depth codes of colour range {depth.color_range}, which may have been scaled; full (pc) is written"
        checking.add("video-depth", path, found, number)


def _check_count(
    checking: Checking, number: int, slot: str, *, path: Path, count: int, frames: int, is_depth: bool
) -> None:
    """Pictures against frames. A camera with a rate of its own has as many as it has; depth may begin late."""
    if "fps" in _camera(checking, slot) or count == frames:
        return
    if is_depth and 0 < count < frames:
        rule = "depth-head" if frames - count <= checking.info.fps else "depth-short"
        checking.add(rule, path, f"{count} pictures of depth for {frames} frames", number)
    else:
        checking.add("video-frames", path, f"{count} pictures for {frames} frames", number)


def _check_camera(
    checking: Checking, number: int, slot: str, *, path: Path, facts: StreamFacts, depth: DepthVideo | None
) -> None:
    cameras = checking.info.document.get("cameras", {})
    if depth is not None:
        if slot in cameras:
            checking.add("video-camera", path, f"{slot} holds depth, and stands in cameras", number)
    elif slot not in cameras:
        checking.add("video-camera", path, f"{slot} holds colour, and does not stand in cameras", number)
    else:
        told = _camera(checking, slot)
        size = told.get("width"), told.get("height")
        if size != (facts.width, facts.height):
            found = f"{facts.width}x{facts.height}, and cameras has {size[0]}x{size[1]}"
            checking.add("video-camera", path, found, number)


def _camera(checking: Checking, slot: str) -> dict[str, Any]:
    found = checking.info.document.get("cameras", {}).get(slot)
    return found if isinstance(found, dict) else {}
