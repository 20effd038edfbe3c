"""Pictures to a video file while they are recorded, by ffmpeg in a process of its own.

A crash of the encoder, a full disk or a file that came out short is an error here, never a missing video found later.
The process is in its own session, so that Ctrl-C at a terminal ends our work and not its file. It reads our pipe to the
end, and ends by itself when we are gone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

import imageio_ffmpeg
import numpy as np
import numpy.typing as npt

from quickdraw.errors import VideoError
from quickdraw.video.encoders import Encoder
from quickdraw.video.probing import counts

MOST_TOLD: Final = 2000  # bytes of what ffmpeg said last
SECONDS_TO_DIE: Final = 60.0  # for a process that closed its pipe but goes on


def ffmpeg() -> str:
    """Where the ffmpeg of imageio-ffmpeg lies, or the one `$IMAGEIO_FFMPEG_EXE` names."""
    return str(imageio_ffmpeg.get_ffmpeg_exe())


@functools.cache
def ffmpeg_version() -> str:
    """As it calls itself, e.g. `9.0.2`."""
    return str(imageio_ffmpeg.get_ffmpeg_version())


class EncoderProcess:
    """One video file being written by a process. As a context it is closed at the end, and killed at an error.

    `path` is overwritten. `fps` may be a fraction of a second's pictures; picture k is shown at k / fps. One thread
    writes; another may `kill`.
    """

    def __init__(self, path: Path, encoder: Encoder, *, height_px: int, width_px: int, fps: float) -> None:
        """Start the process. Raises VideoError where there is no ffmpeg to be started."""
        self.path, self.encoder, self.written = path, encoder, 0
        self._shape, self._dtype = encoder.shape(height_px, width_px), encoder.dtype
        self._told = tempfile.TemporaryFile()  # noqa: SIM115  # not a pipe: nobody needs to empty it
        self._pipe, self._open = Lock(), True
        rate = Fraction(fps).limit_denominator(10_000)
        source = ("-f", "rawvideo", "-pix_fmt", encoder.pixel_format, "-video_size", f"{width_px}x{height_px}")
        sink = ("-fps_mode", "passthrough", "-an", "-fflags", "+bitexact", "-f", encoder.container, f"file:{path}")
        options = ("-v", "error", "-nostdin", "-y", *source, "-framerate", str(rate), "-i", "pipe:0", *encoder.options)
        try:
            self._process = subprocess.Popen(
                [ffmpeg(), *options, *sink], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._told,
                bufsize=0, start_new_session=True,
            )  # fmt: skip
        except (OSError, RuntimeError) as error:  # imageio-ffmpeg raises the latter where it has no binary
            self._told.close()
            raise VideoError(str(path), f"ffmpeg cannot be started ({error})", "an ffmpeg that runs") from error

    def write(self, picture: npt.NDArray[Any]) -> None:
        """Give it the next picture, of the encoder's shape and dtype; returns when the process has taken it.

        Nothing of `picture` is kept. Raises VideoError, with what ffmpeg said, where the process is gone; ValueError
        for an array of another form, or after `close`.
        """
        if picture.shape != self._shape or picture.dtype != self._dtype:
            found = f"{picture.shape} {picture.dtype}"
            raise ValueError(f"{self.path}: a picture of {found}, not of {self._shape} {self._dtype}")
        with self._pipe:
            if not self._open:
                raise ValueError(f"{self.path}: written to after it was closed")
            assert self._process.stdin is not None
            left = memoryview(np.ascontiguousarray(picture)).cast("B")
            try:
                while left:
                    left = left[os.write(self._process.stdin.fileno(), left) :]
            except BrokenPipeError:
                pass
            except BaseException:  # Ctrl-C: part of a picture went in, and no other may follow it
                self._process.kill()
                raise
            else:
                self.written += 1
                return
        raise self._ended(self._reaped())

    def close(self) -> None:
        """Return when the file is whole, however long ffmpeg takes. A second time does nothing.

        Raises VideoError where ffmpeg failed, was killed, or the file does not hold every picture written.
        """
        if self._told.closed:
            return
        self._close_pipe()
        code = self._process.wait()
        try:
            if code != 0:
                raise self._ended(code)
            found = tuple(counts(self.path).values())
            if found != (self.written,) * self.encoder.streams:
                told = ", ".join(map(str, found)) or "no"
                raise VideoError(str(self.path), f"{told} pictures in the finished file", f"{self.written} as written")
        finally:
            self._told.close()

    def kill(self) -> None:
        """End the process at once, and leave the file as it is. Does nothing after `close` or a second time."""
        self._process.kill()
        self._close_pipe()
        self._process.wait()
        self._told.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    def _close_pipe(self) -> None:
        with self._pipe:
            if self._open and self._process.stdin is not None:
                self._open = False
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

    def _reaped(self) -> int:
        """The exit code of a process that takes no more pictures."""
        try:
            return self._process.wait(SECONDS_TO_DIE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _ended(self, code: int) -> VideoError:
        how = f"ended by {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        said = self._last_words()
        found = f"ffmpeg {how} after {self.written} pictures" + (f": {said}" if said else "")
        return VideoError(str(self.path), found, f"a {self.encoder.codec} file of every picture")

    def _last_words(self) -> str:
        with contextlib.suppress(ValueError):  # closed: another thread has killed the process, which is no news then
            self._told.seek(max(0, self._told.seek(0, os.SEEK_END) - MOST_TOLD))
            return " | ".join(self._told.read().decode(errors="replace").split("\n")).strip(" |")
        return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
