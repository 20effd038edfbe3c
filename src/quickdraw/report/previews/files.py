"""A preview as files: a film every browser plays, and a sheet of some of its frames."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import cv2
import numpy as np

from quickdraw.errors import VideoError
from quickdraw.formats.durable import lay_aside, write_aside
from quickdraw.report.drawing import Rgb
from quickdraw.report.previews.canvas import paper, scaled, write
from quickdraw.report.previews.preview import Preview
from quickdraw.report.room import is_full
from quickdraw.video.checksums import read_packets

TILES, TILE_COLUMNS, TILE_WIDTH, TITLE_PX, TILE_GAP_PX = 12, 4, 640, 28, 10
PIECE_BYTES: Final = 1 << 20
PNG_LEVEL: Final = 6  # of 9; OpenCV's own is made for speed
# Two threads, told, and nothing of the time or of ffmpeg's version: the same bytes wherever this ffmpeg runs. Colours
# are those of HD, and say so; a keyframe a second lets a player jump.
ENCODING: Final = (
    "-preset", "veryfast", "-crf", "20", "-threads", "2", "-vf", "scale=out_color_matrix=bt709:out_range=tv",
    "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv",
    "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1", "-movflags", "+faststart", "-f", "mp4",
)  # fmt: skip


def write_preview(preview: Preview, video: Path, sheet: Path, advance: Callable[[int], None]) -> None:
    """Write the film (H.264, yuv420p) and the sheet (PNG), each whole or not at all; `advance` hears of each frame.

    What has those names is replaced. Raises VideoError where a video is damaged, OSError where nothing can be written.
    """
    chosen = np.unique(np.linspace(0, preview.rows - 1, TILES).round().astype(int)).tolist()
    tiles = dict[int, Rgb]()
    # Not beside the film: where this is killed, what is left is where the machine clears up.
    with TemporaryDirectory(prefix="quickdraw-preview-") as folder:
        film = Path(folder) / "film.mp4"
        with closing(_writer(preview, film)) as writer:
            for row, frame in enumerate(preview.frames):
                _send(writer, frame, film)
                if row in chosen:
                    tiles[row] = _tile(frame)
                advance(1)
        _check(film, preview.rows)
        with film.open("rb") as opened:
            fresh = lay_aside(video, iter(lambda: opened.read(PIECE_BYTES), b""))
        try:
            write_aside(sheet, [_sheet(preview, tiles)])
            fresh.replace(video)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


def _send(writer: Any, frame: Rgb, path: Path) -> None:
    try:
        writer.send(frame)
    except OSError as error:  # a pipe that broke, and pages of ffmpeg's
        raise _unwritten(path) from error


def _check(path: Path, rows: int) -> None:
    """Raise OSError where the film is not whole: ffmpeg does not say where it could not end a file."""
    try:
        whole = len(read_packets(path).pts) == rows
    except VideoError as error:
        raise _unwritten(path) from error
    if not whole:
        raise _unwritten(path)


def _unwritten(path: Path) -> OSError:
    if is_full(path.parent):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path.parent))
    return OSError("the film cannot be written: ffmpeg ended before it was done")


def _writer(preview: Preview, path: Path) -> Any:
    """The writer of imageio, started: `send` takes a frame, `close` ends the file."""
    import imageio_ffmpeg

    writer = imageio_ffmpeg.write_frames(
        path,
        (preview.width, preview.height),
        fps=preview.rate_hz,
        codec="libx264",
        pix_fmt_out="yuv420p",
        quality=None,
        macro_block_size=2,
        ffmpeg_log_level="fatal",
        output_params=[*ENCODING, "-g", str(preview.rate_hz)],
    )
    writer.send(None)
    return writer


def _tile(frame: Rgb) -> Rgb:
    """A frame as the sheet has it."""
    height, width = frame.shape[:2]
    wide = min(TILE_WIDTH, width)
    return scaled(frame, wide, round(height * wide / width)).copy()


def _sheet(preview: Preview, tiles: dict[int, Rgb]) -> bytes:
    """A PNG of tiles row by row, a time above each."""
    high, wide = next(iter(tiles.values())).shape[:2]
    columns = min(TILE_COLUMNS, len(tiles))
    lines = -(-len(tiles) // columns)
    step_x, step_y = wide + TILE_GAP_PX, high + TITLE_PX + TILE_GAP_PX
    canvas = paper(columns * step_x + TILE_GAP_PX, lines * step_y + TILE_GAP_PX)
    for number, (row, tile) in enumerate(tiles.items()):
        x, y = TILE_GAP_PX + number % columns * step_x, TILE_GAP_PX + number // columns * step_y
        write(canvas, f"{preview.times_s[row]:.2f} s, row {row}", (x + 2, y + 20), size=0.6)
        canvas[y + TITLE_PX : y + TITLE_PX + high, x : x + wide] = tile
    pixels = cv2.cvtColor(canvas, cv2.COLOR_RGB2BGR)
    return bytes(cv2.imencode(".png", pixels, (cv2.IMWRITE_PNG_COMPRESSION, PNG_LEVEL))[1])
