"""A camera file to a clip of the dataset, in one pass: decode, select, scale, encode.

Pixels stay YUV from decoder to encoder, and memory does not grow with the length: a picture is encoded, as often as
rows show it, before the next one is decoded.
"""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from av.filter import Graph
from av.video.frame import VideoFrame

from quickdraw.core.episode import FramePlan
from quickdraw.errors import InvariantError, VideoError
from quickdraw.video.decoding import pictures
from quickdraw.video.encoding import PIXEL_FORMAT, Encoding

# ITU-T H.273 matrix codes -> the scale filter's names. Untagged (2) is what the recorder's ffmpeg makes of RGB: BT.601.
MATRIX = {1: "bt709", 2: "bt601", 4: "fcc", 5: "bt601", 6: "bt601", 7: "smpte240m", 9: "bt2020"}
FULL_RANGE = 2


def transcode(plan: FramePlan, target: Path, encoding: Encoding) -> None:
    """Write a clip whose i-th picture is the `plan.frame_index[i]`-th of the source, scaled by area, BT.601 limited.

    The whole source is decoded, so that its picture count is known. Raises VideoError where the source is damaged or
    does not hold `plan.pictures` pictures.
    """
    times = np.bincount(plan.frame_index, minlength=plan.pictures)
    scaler, decoded, row = None, 0, 0
    with av.open(str(target), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = encoding.open_stream(container)
        for picture in pictures(plan.path, plan.stream):
            if decoded < len(times) and times[decoded]:
                scaler = scaler or _Scaler(plan.path, picture, encoding)
                scaled = scaler(picture)
                for _ in range(times[decoded]):
                    encoding.stamp(scaled, row)
                    container.mux(stream.encode(scaled))
                    row += 1
            decoded += 1
        container.mux(stream.encode())
    if decoded != plan.pictures:
        raise VideoError(str(plan.path), f"{decoded} pictures", f"{plan.pictures}, one per capture stamp")
    if row != len(plan.frame_index):
        raise InvariantError(f"{target}: {row} pictures written for {len(plan.frame_index)} rows")


class _Scaler:
    """Area scaling and colour conversion by one filter graph, built for the first picture's format."""

    def __init__(self, path: Path, first: VideoFrame, encoding: Encoding) -> None:
        if first.colorspace not in MATRIX:
            raise VideoError(str(path), f"colour matrix {first.colorspace}", f"one of {sorted(MATRIX)} (H.273)")
        matrix, full = MATRIX[first.colorspace], first.color_range == FULL_RANGE
        self.graph = Graph()
        source = self.graph.add_buffer(
            width=first.width, height=first.height, format=first.format, time_base=first.time_base
        )
        scale = self.graph.add(
            "scale",
            f"w={encoding.width_px}:h={encoding.height_px}:flags=area+accurate_rnd"
            f":in_color_matrix={matrix}:in_range={'full' if full else 'limited'}"
            ":out_color_matrix=bt601:out_range=limited:threads=1",
        )
        pixels = self.graph.add("format", PIXEL_FORMAT)
        sink = self.graph.add("buffersink")
        source.link_to(scale)
        scale.link_to(pixels)
        pixels.link_to(sink)
        self.graph.configure()

    def __call__(self, picture: VideoFrame) -> VideoFrame:
        self.graph.push(picture)
        scaled = self.graph.pull()
        assert isinstance(scaled, VideoFrame)
        return scaled
