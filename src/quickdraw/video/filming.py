"""The three ways the pictures of a dataset come about: encoded, depth without loss, or copied as they are."""

from __future__ import annotations

from pathlib import Path

from quickdraw.core.episode import DepthPlan, FramePlan
from quickdraw.errors import InvariantError
from quickdraw.video.copying import Copying, copy_clip
from quickdraw.video.depth_encoding import DepthEncoding, encode_depth
from quickdraw.video.encoding import Encoding
from quickdraw.video.transcode import transcode

type Filming = Encoding | DepthEncoding | Copying


def film(plan: FramePlan | DepthPlan, target: Path, filming: Filming) -> int:
    """Write the clip that shows each row's picture; how many pixels of depth lay beyond what it can tell.

    Raises VideoError where the source is damaged or does not hold the pictures that were planned.
    """
    match plan, filming:
        case FramePlan(), Encoding():
            transcode(plan, target, filming)
        case FramePlan(), Copying():
            copy_clip(plan, target, filming)
        case DepthPlan(), DepthEncoding():
            return encode_depth(plan, target, filming)
        case _:
            raise InvariantError(f"{target}: {type(plan).__name__} cannot be filmed by {type(filming).__name__}")
    return 0
