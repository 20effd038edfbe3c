"""Clips of one encoding to one file, by stream copy: no picture is decoded or encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.container import OutputContainer
from av.video.stream import VideoStream

from quickdraw.errors import InvariantError
from quickdraw.video.decoding import opened


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A file to be written to `path`: the pictures of `clips`, (file, picture count) each, one clip after the other."""

    path: Path
    clips: tuple[tuple[Path, int], ...]
    rate_hz: int

    def write(self) -> None:
        """Write it; see `join`."""
        join(self.clips, self.path, self.rate_hz)


def join(clips: Sequence[tuple[Path, int]], target: Path, rate_hz: int) -> None:
    """Write the pictures of `clips`, (file, picture count) each, one clip after the other.

    Picture number n of the whole has time n / rate_hz exactly, from integers. Raises InvariantError where a clip's
    pictures are not as many as promised, not evenly timed from 0, or were not encoded like the first clip's.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(target), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream, first, before = None, None, 0
        for clip, pictures in clips:
            with opened(clip) as (source, template):
                if stream is None or first is None:
                    stream, first = _copy_of(template, container), bytes(template.codec_context.extradata or b"")
                if bytes(template.codec_context.extradata or b"") != first:
                    raise InvariantError(f"{clip}: encoded unlike {clips[0][0]}")
                step = _ticks_per_picture(template, rate_hz)
                count = 0
                for packet in source.demux(template):
                    if packet.dts is None:  # the demuxer's end marker
                        continue
                    if packet.pts != count * step or packet.dts != packet.pts:
                        found = f"{packet.pts}/{packet.dts}"
                        raise InvariantError(f"{clip}: picture {count} at {found}, not {count * step}")
                    packet.pts = packet.dts = (before + count) * step
                    packet.duration = step
                    packet.stream = stream
                    container.mux(packet)
                    count += 1
            if count != pictures:
                raise InvariantError(f"{clip}: {count} pictures for {pictures} rows")
            before += count


def _copy_of(template: VideoStream, container: OutputContainer) -> VideoStream:
    stream = container.add_stream_from_template(template, opaque=True)
    stream.time_base = template.time_base
    stream.codec_context.codec_tag = template.codec_context.codec_tag  # ffmpeg would call HEVC hev1 again
    return stream


def _ticks_per_picture(stream: VideoStream, rate_hz: int) -> int:
    step = Fraction(1, rate_hz) / (stream.time_base or Fraction(1))
    if step.denominator != 1:
        raise InvariantError(f"time base {stream.time_base} does not divide 1/{rate_hz} s")
    return int(step)
