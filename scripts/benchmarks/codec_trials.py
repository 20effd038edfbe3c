"""What an encoding costs and keeps: CPU, bytes, distance from the source, and the time to fetch a row at random.

CPU is of this process and its threads (SVT-AV1 has some), so that other work on the machine disturbs it little.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import FramePlan
from quickdraw.video.decoding import Picture, as_rgb, pictures
from quickdraw.video.encoding import Encoding
from quickdraw.video.join import join
from quickdraw.video.transcode import transcode

LIVELIEST_ROWS = 120
UNCOUNTED = 3
TOLERANCE_S = 1e-4  # LeRobotDataset's default

type Fetch = Callable[[Path, float], object]


@dataclass(frozen=True)
class Film:
    """One camera file, every picture of which is a row. `encoding` is any of the size and rate that are wanted."""

    path: Path
    encoding: Encoding

    @cached_property
    def reference(self) -> npt.NDArray[np.uint8]:
        """`(T, H, W, 3)` uint8 RGB: what the source decodes to, scaled by area by OpenCV."""
        size_px = (self.encoding.width_px, self.encoding.height_px)
        scaled = [cv2.resize(as_rgb(each), size_px, interpolation=cv2.INTER_AREA) for each in pictures(self.path)]
        return np.asarray(scaled, np.uint8)

    @cached_property
    def liveliest(self) -> npt.NDArray[np.int64]:
        """The rows with most motion: by the mean difference of the pictures before and after."""
        grey = self.reference.mean(axis=-1, dtype=np.float32)
        motion = np.zeros(len(grey))
        motion[1:-1] = np.abs(grey[2:] - grey[:-2]).mean(axis=(1, 2))
        return np.argsort(-motion, kind="stable")[:LIVELIEST_ROWS]

    @property
    def plan(self) -> FramePlan:
        """All of it."""
        return FramePlan(self.path, np.arange(len(self.reference)), len(self.reference))


@dataclass(frozen=True, slots=True)
class Fetching:
    """How rows are read at random: `rows` of them by `fetch(path, seconds)`, from a file of about `joined_s`."""

    fetch: Fetch
    rows: int
    joined_s: float

    def median_ms(self, path: Path, count: int, rate_hz: int) -> float:
        """Median CPU of a row of `count`; the first few do not count."""
        rows = np.random.default_rng(0).integers(0, count, self.rows + UNCOUNTED)
        return 1e3 * median([cpu_s(partial(self.fetch, path, int(row) / rate_hz)) for row in rows][UNCOUNTED:])


@dataclass(frozen=True, slots=True)
class Trial:
    """An encoding on the films of one kind of footage; without one, what lerobot writes by default.

    `pass_ms` is CPU a picture from source file to clip, `encoder_ms` that of encoding scaled pictures alone,
    `picture_bytes` of the clip's file. `residual` is the mean |difference| to the reference [levels of 255],
    `liveliest_residual` that of the worst film's liveliest rows. `random_row_ms` is the CPU lerobot's reader takes for
    one row of one camera, picked at random in a file joined from the clips.
    """

    footage: str
    encoding: Encoding | None
    pass_ms: float
    encoder_ms: float
    picture_bytes: float
    residual: float
    liveliest_residual: float
    psnr_db: float
    random_row_ms: float


@dataclass(frozen=True, slots=True)
class Footage:
    """Films of one kind; `scaled` are clips of theirs without loss, all a film's pictures as an encoder gets them."""

    name: str
    films: tuple[Film, ...]
    scaled: tuple[Path, ...]

    @classmethod
    def of(cls, name: str, sources: Sequence[Path], encoding: Encoding, folder: Path) -> Footage:
        """Camera files of one kind; the clips go into `folder`."""
        lossless = Encoding(encoding.height_px, encoding.width_px, encoding.rate_hz, crf=0, preset="ultrafast", gop=1)
        films = tuple(Film(path, encoding) for path in sources)
        clips = tuple(folder / f"{name}_{number}.mp4" for number in range(len(films)))
        for film, clip in zip(films, clips, strict=True):
            transcode(film.plan, clip, lossless)
        return cls(name, films, clips)

    @property
    def count(self) -> int:
        """Pictures of all films."""
        return sum(len(film.reference) for film in self.films)

    def clips_in(self, folder: Path) -> list[Path]:
        """Where the films' clips are to go."""
        return [folder / f"clip_{number}.mp4" for number in range(len(self.films))]


def try_encoding(footage: Footage, encoding: Encoding, folder: Path, fetching: Fetching) -> Trial:
    """Encode all films, into `folder`."""
    clips = footage.clips_in(folder)
    pass_s = sum(cpu_s(partial(transcode, film.plan, clip, encoding))
                 for film, clip in zip(footage.films, clips, strict=True))  # fmt: skip
    alone_s = sum(encoder_s(list(pictures(clip)), folder / "alone.mp4", encoding) for clip in footage.scaled)
    return _trial(footage, encoding, clips, fetching, pass_s=pass_s, encoder_s=alone_s)


def try_lerobot(footage: Footage, folder: Path, fetching: Fetching) -> Trial:
    """Encode all films' scaled pictures as LeRobotDataset does by default; its `encoder_ms` converts from RGB, too."""
    from lerobot.configs.video import VideoEncoderConfig

    os.environ.setdefault("SVT_LOG", "1")
    config, clips, begun_s = VideoEncoderConfig(), footage.clips_in(folder), time.process_time()
    options = config.get_codec_options(as_strings=True)
    for film, clip in zip(footage.films, clips, strict=True):
        with av.open(str(clip), "w", format="mp4") as container:
            stream: Any = container.add_stream(config.vcodec, rate=film.encoding.rate_hz, options=options)
            stream.height, stream.width, stream.pix_fmt = *film.reference.shape[1:3], config.pix_fmt
            for rgb in film.reference:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(rgb, format="rgb24")))
            container.mux(stream.encode())
    return _trial(footage, None, clips, fetching, pass_s=0.0, encoder_s=time.process_time() - begun_s)


def _trial(
    footage: Footage, encoding: Encoding | None, clips: Sequence[Path], fetching: Fetching, *, pass_s: float,
    encoder_s: float,
) -> Trial:  # fmt: skip
    """What is to be said of clips."""
    absolute, squared = zip(*map(_errors, footage.films, clips), strict=True)
    lively = [errors[film.liveliest].mean() for film, errors in zip(footage.films, absolute, strict=True)]
    rate_hz, joined, count = footage.films[0].encoding.rate_hz, clips[0].with_name("joined.mp4"), footage.count
    return Trial(
        footage=footage.name,
        encoding=encoding,
        pass_ms=1e3 * pass_s / count,
        encoder_ms=1e3 * encoder_s / count,
        picture_bytes=sum(clip.stat().st_size for clip in clips) / count,
        residual=float(np.concatenate(absolute).mean()),
        liveliest_residual=float(max(lively)),
        psnr_db=float(10 * np.log10(255**2 / max(float(np.concatenate(squared).mean()), 1e-9))),
        random_row_ms=fetching.median_ms(joined, _join_all(footage, clips, joined, fetching.joined_s), rate_hz),
    )


def cpu_s(work: Callable[[], object]) -> float:
    """CPU of this process while it does something [s]."""
    begun_s = time.process_time()
    work()
    return time.process_time() - begun_s


def encoder_s(scaled: Sequence[Picture], target: Path, encoding: Encoding) -> float:
    """CPU of encoding pictures that are decoded and scaled already [s]."""
    begun_s = time.process_time()
    with av.open(str(target), "w", format="mp4") as container:
        stream = encoding.open_stream(container)
        for number, picture in enumerate(scaled):
            encoding.stamp(picture, number)
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return time.process_time() - begun_s


def _errors(film: Film, clip: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """`(T,)` mean absolute and `(T,)` mean squared difference of each picture of a clip to the reference."""
    differences = (cv2.absdiff(as_rgb(made), wanted) for made, wanted in
                   zip(pictures(clip), film.reference, strict=True))  # fmt: skip
    errors = [(each.mean(), np.square(each, dtype=np.float32).mean()) for each in differences]
    absolute, squared = np.array(errors, np.float64).T
    return absolute, squared


def _join_all(footage: Footage, clips: Sequence[Path], target: Path, seconds: float) -> int:
    """Join the clips, over and over, to a file of about so many seconds; the number of its pictures."""
    once = [(clip, len(film.reference)) for clip, film in zip(clips, footage.films, strict=True)]
    rate_hz = footage.films[0].encoding.rate_hz
    rounds = max(1, round(seconds * rate_hz / footage.count))
    join(once * rounds, target, rate_hz)
    return footage.count * rounds


def lerobot_fetch() -> Fetch:
    """Lerobot's pyav reader, on one thread, as in a worker of a data loader."""
    import torch
    from lerobot.datasets.video_utils import decode_video_frames

    torch.set_num_threads(1)
    return lambda path, at_s: decode_video_frames(path, [at_s], TOLERANCE_S, "pyav")
