"""Videos of an episode by ffmpeg's binary: RGB as H.264, depth as FFV1 with or without a preview, or as log codes."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

from quickdraw.errors import VideoError
from quickdraw.sim.barcode import Rgb
from quickdraw.sim.pooled import log_codes, truth
from quickdraw.sim.pooled.spec import FPS, HEIGHT_PX, WIDTH_PX, EpisodeSpec, SlotSpec

_CRF: Final = 16
_QP: Final = 6
_FAR_MM: Final = 2000.0  # the preview's red end
_H264: Final = ["-c:v", "libx264", "-crf", str(_CRF), "-pix_fmt", "yuv420p", "-g", str(FPS)]
_FFV1: Final = ["-level", "3", "-pix_fmt", "gray16le"]
_LOG12: Final = ["-c:v", "libx265", "-preset", "fast", "-pix_fmt", "gray12le", "-color_range", "pc", "-tag:v", "hvc1"]
_LOG12_PARAMETERS: Final = f"qp={_QP}:range=full:log-level=none"
_MP4: Final = ["-movflags", "+faststart"]
# Equal pictures make equal files: no random segment number, no version of ffmpeg.
_EXACT: Final = ["-fflags", "+bitexact", "-flags:v", "+bitexact"]

CODECS: Final[dict[str, dict[str, Any]]] = {
    "ffv1": {"codec": "FFV1 gray16le", "format": "uint16 mm"},
    "ffv1+preview": {"codec": "FFV1 gray16le", "format": "uint16 mm"},
    "log12": {"codec": "HEVC (Rext) gray12le", "qp": _QP, "format": "12bit log codes"},
}


def video_codec(episode: EpisodeSpec) -> dict[str, Any]:
    """What the episode's row says of its videos' coding."""
    depth = {slot.name: CODECS[slot.coding] for slot in episode.slots if slot.coding != "rgb"}
    told: dict[str, Any] = {"encoder": "libx264", "codec": "h264", "crf": _CRF, "selected_by": "simulation"}
    return {**told, "depth": depth}


def write_video(path: Path, episode: EpisodeSpec, slot: SlotSpec) -> None:
    """Film one slot of an episode. Raises VideoError where ffmpeg fails."""
    frames = range(slot.head, episode.frames - slot.tail)
    depth = (truth.depth_mm(episode.number, frame) for frame in frames)
    path.parent.mkdir(parents=True, exist_ok=True)
    if slot.coding == "rgb":
        pictures = (truth.picture(episode.number, frame, slot.name) for frame in frames)
        _encode(path, pictures, _raw("rgb24"), [*_H264, *_MP4])
    elif slot.coding == "ffv1":
        _encode(path, depth, _raw("gray16le"), ["-c:v", "ffv1", *_FFV1])
    elif slot.coding == "ffv1+preview":
        _write_with_preview(path, list(depth))
    else:
        codes = (log_codes.codes(mm) for mm in depth)
        options = [*_LOG12, "-x265-params", _LOG12_PARAMETERS, *_MP4]
        _encode(path, codes, ["-color_range", "pc", *_raw("gray12le")], options)


def _write_with_preview(path: Path, depth: list[NDArray[np.uint16]]) -> None:
    """The heat map first, as players show the first stream; the exact depth second."""
    with tempfile.TemporaryDirectory() as folder:
        preview = Path(folder) / "preview.mp4"
        _encode(preview, _heat_maps(depth), _raw("rgb24"), _H264)
        inputs = ["-i", str(preview), *_raw("gray16le")]
        _encode(path, depth, inputs, ["-map", "0:v", "-map", "1:v", "-c:v:0", "copy", "-c:v:1", "ffv1", *_FFV1])


def _heat_maps(depth: Iterable[NDArray[np.uint16]]) -> Iterator[Rgb]:
    """Near blue, far red, invalid black: (H, W, 3) uint8 of (H, W) uint16 [mm]."""
    for mm in depth:
        part = np.minimum(mm / _FAR_MM, 1.0)[..., None]
        colour = np.clip(1.5 - np.abs(4.0 * part - [3.0, 2.0, 1.0]), 0.0, 1.0)
        yield (255 * colour * (mm > 0)[..., None]).astype(np.uint8)


def _raw(pixel_format: str) -> list[str]:
    size = f"{WIDTH_PX}x{HEIGHT_PX}"
    return ["-f", "rawvideo", "-pix_fmt", pixel_format, "-s", size, "-r", str(FPS), "-i", "-"]


def _encode(path: Path, pictures: Iterable[NDArray[Any]], inputs: list[str], options: list[str]) -> None:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *inputs, *options, *_EXACT, str(path)]
    data = b"".join(np.ascontiguousarray(picture).tobytes() for picture in pictures)
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        found = done.stderr.decode(errors="replace").strip() or f"ffmpeg exit code {done.returncode}"
        raise VideoError(str(path), found, "an encoded video")
