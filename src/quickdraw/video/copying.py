"""A camera file's pictures as they are: what is copied, whether that can be, and the copy."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, cast

import av
import numpy as np
from av.container import InputContainer, OutputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.stream import VideoStream

from quickdraw.core.depth import DepthScale
from quickdraw.core.episode import FramePlan
from quickdraw.core.grid import Float64
from quickdraw.errors import InvariantError, VideoError
from quickdraw.video.codecs import CODECS
from quickdraw.video.cut_off import refuse_cut
from quickdraw.video.decoding import opened, pictures
from quickdraw.video.encoding import LEVELS, typical_bytes
from quickdraw.video.times import Times, read_times
from quickdraw.video.units import Entry, UnitReader

TAGS: Final = {"h264": "avc1", "hevc": "hvc1", "av1": "av01"}  # what an MP4 calls the codecs that can be copied
CONTAINERS: Final = frozenset({"mp4", "matroska"})
FULL_RANGE: Final = 2
LOG_BYTES_PER_PX = 0.1  # of the recorder's log depth (pooled_episodes, section 8.2)


@dataclass(frozen=True, slots=True)
class CopiedStream:
    """One video stream of a file, as far as it matters to a copy.

    `codec` and `pix_fmt` are ffmpeg's names. `gop` is the most `pictures` from one at which decoding can begin up to
    the next. `reordered`: pictures are not stored in the order they are shown in. `configuration` is the sha256 of what
    the file's header tells the decoder; only streams of equal ones can be joined. A clip may begin at the pictures
    `restarts`. `times` is when they are shown.
    """

    codec: str
    pix_fmt: str
    height_px: int
    width_px: int
    pictures: int
    gop: int
    reordered: bool
    configuration: str
    full_range: bool
    restarts: tuple[int, ...]
    times: Times = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Copying:
    """Pictures of `height_px` x `width_px` by a recorder's encoder, to be shown `rate_hz` a second.

    `codec` and `pix_fmt` are ffmpeg's names, decoding can begin at least at every `gop`-th picture. With a `scale` they
    hold its codes of depth, of 12 bits and full range.
    """

    height_px: int
    width_px: int
    rate_hz: int
    codec: str
    pix_fmt: str
    gop: int
    scale: DepthScale | None = None

    @property
    def picture_px(self) -> int:
        """Pixels of a picture."""
        return self.height_px * self.width_px

    @property
    def picture_bytes(self) -> float:
        """What a picture takes, about; how well it was encoded is not known."""
        return LOG_BYTES_PER_PX * self.picture_px if self.scale else typical_bytes(CODECS[self.codec], self.picture_px)

    @property
    def channels(self) -> int:
        """Of a picture."""
        return 1 if self.scale else 3

    @property
    def levels(self) -> Float64:
        """What each sample a picture may hold stands for: `(256,)` of 0 to 1, or `(4096,)` depth [mm]."""
        return self.scale.levels if self.scale else LEVELS

    def info(self) -> dict[str, Any]:
        """What LeRobot's info.json says of the feature; of the recorder's encoder no more is known."""
        return {
            "video.height": self.height_px,
            "video.width": self.width_px,
            "video.codec": self.codec,
            "video.pix_fmt": self.pix_fmt,
            "video.fps": self.rate_hz,
            "video.channels": self.channels,
            "has_audio": False,
            "video.g": self.gop,
            "video.crf": None,
            "video.preset": None,
            "video.fast_decode": None,
            "video.video_backend": "pyav",
            "video.extra_options": {},
            **(self.scale.info() if self.scale else {"is_depth_map": False}),
        }


def read_stream(path: Path, stream: int | None = None) -> CopiedStream:
    """A file's first video, or its stream of that number over all; it is read through, and no picture is decoded.

    Raises VideoError where the file is cut off or damaged, or no player would play a copy of it.
    """
    refuse_cut(path)
    with opened(path, stream) as (container, video):
        seen = _Seen()
        for packet, entry in _packets(path, container, video):
            seen.add(packet, entry)
        return seen.stream(path, container, video)


@dataclass(slots=True)
class _Seen:
    """The pictures of a stream that was read through: when each is shown, and how decoding may come to it."""

    shown: list[int | None] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def add(self, packet: Packet, entry: Entry) -> None:
        self.shown.append(packet.pts)
        self.entries.append(entry)

    def stream(self, path: Path, container: InputContainer, video: VideoStream) -> CopiedStream:
        """Raises VideoError where there was no picture, or the header is damaged."""
        if not self.shown:
            raise VideoError(str(path), "no picture", "a video")
        context: Any = video.codec_context
        starts = [0, *(number for number, entry in enumerate(self.entries) if entry and number)]
        return CopiedStream(
            codec=context.codec.canonical_name,
            pix_fmt=context.pix_fmt or "",
            height_px=context.height,
            width_px=context.width,
            pictures=len(self.shown),
            gop=max(end - start for start, end in itertools.pairwise([*starts, len(self.shown)])),
            reordered=bool(context.has_b_frames) or not _rise(self.shown),
            configuration=_configuration(path, container, video),
            full_range=context.color_range == FULL_RANGE,
            restarts=tuple(number for number, entry in enumerate(self.entries) if entry is Entry.RESTART),
            times=read_times(self.shown, video),
        )


def copy_clip(plan: FramePlan, target: Path, copying: Copying) -> None:
    """Write a clip whose i-th picture is the `plan.frame_index[i]`-th of the source, which rise by one, bit by bit.

    The source is decoded too, so that damage is found now and not by who trains on it. Raises VideoError where it is
    damaged, is not what `copying` says, does not hold `plan.pictures` pictures, or decoding cannot begin at the first.
    """
    first, rows = int(plan.frame_index[0]), len(plan.frame_index)
    if not np.array_equal(plan.frame_index, np.arange(first, first + rows)):
        raise InvariantError(f"{target}: to be copied from {plan.path}, whose pictures are not shown one after another")
    if first + rows > plan.pictures:
        raise InvariantError(f"{target}: {rows} rows from picture {first} on, of {plan.pictures}")
    refuse_cut(plan.path)
    with opened(plan.path, plan.stream) as (source, video):
        _refuse_other(plan.path, video, copying)
        with av.open(str(target), "w", format="mp4", options={"movflags": "faststart"}) as container:
            copied, seen = _copy_of(video, container, copying), _Seen()
            for number, (packet, entry) in enumerate(_packets(plan.path, source, video)):
                seen.add(packet, entry)
                if number == first and entry < Entry.RESTART:
                    found = f"picture {number}: a film cannot begin there"
                    raise VideoError(str(plan.path), found, "a keyframe that starts anew (IDR)")
                if first <= number < first + rows:
                    packet.pts = packet.dts = number - first
                    packet.duration, packet.time_base = 1, Fraction(1, copying.rate_hz)
                    packet.stream, packet.is_keyframe = copied, entry > Entry.NONE
                    container.mux(packet)
        _refuse_unlike(plan, seen.stream(plan.path, source, video), copying)


def _copy_of(video: VideoStream, container: OutputContainer, copying: Copying) -> VideoStream:
    copied = container.add_stream_from_template(video, opaque=True)
    copied.time_base = Fraction(1, copying.rate_hz)  # which the muxer divides by a power of two
    copied.codec_context.codec_tag = TAGS[copying.codec]
    return copied


def _refuse_other(path: Path, video: VideoStream, copying: Copying) -> None:
    """Raise VideoError where a file's header tells of another stream than the dataset's, or of one that is no copy."""
    context: Any = video.codec_context
    if copying.codec not in TAGS or context.has_b_frames:
        kind = "pictures stored out of order" if context.has_b_frames else copying.codec
        raise VideoError(str(path), kind, f"one of {', '.join(TAGS)} without B-frames")
    facts = (context.codec.canonical_name, context.pix_fmt or "", f"{context.width}x{context.height}")
    wanted = (copying.codec, copying.pix_fmt, f"{copying.width_px}x{copying.height_px}")
    if facts != wanted:
        raise VideoError(str(path), " ".join(facts), " ".join(wanted))
    if copying.scale and context.color_range != FULL_RANGE:
        raise VideoError(str(path), "depth codes not flagged as of full range", "range=full (pc)")


def _refuse_unlike(plan: FramePlan, found: CopiedStream, copying: Copying) -> None:
    """Raise VideoError where a file that was read through is not what was planned, or damaged."""
    path = str(plan.path)
    if found.reordered:
        raise VideoError(path, "pictures stored out of order", f"one of {', '.join(TAGS)} without B-frames")
    if found.gop > copying.gop:
        raise VideoError(path, f"up to {found.gop} pictures from keyframe to keyframe", f"{copying.gop} at most")
    decoded = sum(1 for _ in pictures(plan.path, plan.stream))
    if not decoded == found.pictures == plan.pictures:
        raise VideoError(path, f"{decoded} pictures", f"{plan.pictures}")


def _configuration(path: Path, container: InputContainer, video: VideoStream) -> str:
    reader = _unit_reader(path, container, video)
    try:
        told = reader.in_any_container() if reader else bytes(video.codec_context.extradata or b"")
    except ValueError as error:
        raise VideoError(str(path), f"a damaged header ({error})", "a playable video file") from error
    return hashlib.sha256(told).hexdigest()


def _packets(path: Path, container: InputContainer, video: VideoStream) -> Iterator[tuple[Packet, Entry]]:
    """Every picture as it is stored, and how decoding may come to it."""
    units = _unit_reader(path, container, video)
    number = 0
    try:
        for packet in container.demux(video):
            if not packet.size:  # the demuxer's end marker
                continue
            if packet.is_corrupt or packet.is_discard:
                how = "flagged corrupt" if packet.is_corrupt else "hidden by an edit list"
                raise VideoError(str(path), f"picture {number}: {how}", "an undamaged picture that is shown")
            by_flag = Entry.RESTART if packet.is_keyframe else Entry.NONE
            yield packet, units.entry(bytes(packet)) if units else by_flag
            number += 1
    except FFmpegError as error:
        raise VideoError(str(path), f"picture {number}: {error.strerror}", "a readable picture") from error
    except ValueError as error:
        raise VideoError(str(path), f"picture {number}: {error}", "a picture that can be copied") from error


def _unit_reader(path: Path, container: InputContainer, video: VideoStream) -> UnitReader | None:
    """What reads the codec's units; None where it has none."""
    if CONTAINERS.isdisjoint(container.format.name.split(",")):
        raise VideoError(str(path), f"a file of {container.format.long_name}", "an mp4 or mkv, to copy from")
    codec, configuration = video.codec_context.codec.canonical_name, bytes(video.codec_context.extradata or b"")
    if codec == "av1" and configuration[:1] != b"\x81":
        raise VideoError(str(path), "AV1 whose header does not say how to decode it", "a header of the version 1")
    if codec not in ("h264", "hevc"):
        return None
    reader = UnitReader(cast(Literal["h264", "hevc"], codec), configuration)
    if not reader.is_readable:
        raise VideoError(str(path), f"{codec} in Annex B, as streams have it", "units with lengths, to copy from")
    return reader


def _rise(shown: list[int | None]) -> bool:
    """Whether pictures are stored in the order they are shown in."""
    times = [time for time in shown if time is not None]
    return len(times) == len(shown) and all(before < after for before, after in itertools.pairwise(times))
