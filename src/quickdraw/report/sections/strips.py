"""The section of frames: for each split a strip per camera, evenly over time, of its longest episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
import numpy.typing as npt

from quickdraw.errors import Fault, Refused, VideoError
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.report.drawing import readable
from quickdraw.report.parts import Part, Photograph, Section, Words
from quickdraw.report.sections.depth_colours import UNKNOWN_RGB, DepthScale, scale_of
from quickdraw.report.subject import Subject

Rgb = npt.NDArray[np.uint8]

MOST_SPLITS, MOST_CAMERAS = 4, 6
FRAMES: Final = 6
# A page is about this wide. Frames are shown as they are stored, but not larger than this.
TILE_PX, GAP_PX, TEXT_PX = 192, 4, 18
QUALITY: Final = 70
PAPER, INK = (24, 24, 24), (235, 235, 235)


def strips_section(subject: Subject) -> Section | None:
    """A photograph a split: a strip of frames a camera, with their times. None where there is no camera."""
    shown = [name for name, split in subject.splits.items() if split.cameras and split.episodes]
    parts: list[Part] = []
    for name in shown[:MOST_SPLITS]:
        parts += _of_split(name, subject.splits[name])
    if not parts:
        return None
    if len(shown) > MOST_SPLITS:
        parts.append(Words(f"Frames of {MOST_SPLITS} splits are shown; not shown: {', '.join(shown[MOST_SPLITS:])}."))
    lead = (
        "What a model sees: frames of the longest episode of each split, evenly over its time. "
        "All cameras of one column show the same moment."
    )
    return Section("frames", "Frames", lead, tuple(parts))


def _of_split(name: str, split: SplitReader) -> list[Part]:
    lengths = [int(episode["length"]) for episode in split.episodes]
    episode = int(np.argmax(lengths))
    rows = np.unique(np.linspace(0, lengths[episode] - 1, FRAMES).round().astype(int)).tolist()
    strips, told, said = [], [], list[Part]()
    for camera in split.cameras[:MOST_CAMERAS]:
        try:
            strip, words = _strip(split, episode, camera, rows)
        except (VideoError, Refused) as error:
            said.append(Words(f"{name}, episode {episode}, {camera}: {_problem(error)}.", warning=True))
            continue
        strips.append(strip)
        told += words
    if len(split.cameras) > MOST_CAMERAS:
        said.append(Words(f"{name}: not shown: {', '.join(split.cameras[MOST_CAMERAS:])}."))
    if not strips:
        return said
    at_s = [row / split.rate_hz for row in rows]
    image = np.concatenate([_times(at_s), *strips])
    coded = cv2.imencode(".webp", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_WEBP_QUALITY, QUALITY])[1]
    caption = (
        f"{name}, episode {episode}, {lengths[episode]} rows, {lengths[episode] / split.rate_hz:.1f} s; frames at "
        f"{', '.join(f'{each:.2f}' for each in at_s)} s.{''.join(f' {words}.' for words in told)}"
    )
    alt = f"{len(rows)} frames of each of {len(strips)} cameras, evenly over episode {episode} of {name}."
    return [*said, Photograph(f"frames-{name}", caption, alt, coded.tobytes(), "image/webp")]


def _problem(error: VideoError | Refused) -> str:
    """What was found and expected, without the place of the dataset."""
    told: Sequence[VideoError | Fault] = error.faults if isinstance(error, Refused) else [error]
    return "; ".join(f"found {each.found}, expected {each.expected}" for each in told)


def _strip(split: SplitReader, episode: int, camera: str, rows: list[int]) -> tuple[Rgb, list[str]]:
    """A camera's frames beside one another under a line that names it, and what the caption says of it beyond that."""
    pictures: list[npt.NDArray[Any]] = [picture for _, picture in split.pictures_at(episode, camera, rows)]
    height, width = pictures[0].shape[:2]
    line = _paper(TEXT_PX, len(rows))
    size = f"{camera}, {width} x {height}"
    if not split.is_depth(camera):
        _write(line, size, 2)
        return np.concatenate([line, _beside([_fitted(each, cv2.INTER_AREA) for each in pictures])]), []
    scale = scale_of(pictures)
    _draw_scale(line, scale, 14 + _write(line, f"{size}, depth", 2))
    words = (
        f"{size}, depth from {scale.near_mm} mm, bright, to {scale.far_mm} mm, dark, and grey where nothing is known"
    )
    tiles = [_fitted(scale.picture(each), cv2.INTER_NEAREST) for each in pictures]
    return np.concatenate([line, _beside(tiles)]), [words]


def _times(at_s: list[float]) -> Rgb:
    line = _paper(TEXT_PX, len(at_s))
    for column, each in enumerate(at_s):
        _write(line, f"{each:.2f} s", column * (TILE_PX + GAP_PX) + 2)
    return line


def _paper(height_px: int, columns: int) -> Rgb:
    return np.full((height_px, columns * (TILE_PX + GAP_PX) - GAP_PX, 3), PAPER, np.uint8)


def _fitted(picture: Rgb, how: int) -> Rgb:
    """As wide as a tile; a small one is not made to look better than it is."""
    height = max(1, round(picture.shape[0] * TILE_PX / picture.shape[1]))
    if picture.shape[1] < TILE_PX:
        how = cv2.INTER_NEAREST
    return np.asarray(cv2.resize(picture, (TILE_PX, height), interpolation=how), np.uint8)


def _beside(tiles: list[Rgb]) -> Rgb:
    gap = np.full((tiles[0].shape[0], GAP_PX, 3), PAPER, np.uint8)
    return np.concatenate([part for tile in tiles for part in (tile, gap)][:-1], axis=1)


def _draw_scale(line: Rgb, scale: DepthScale, x: int) -> None:
    """The colour bar between its two ends, and the colour of what is not known."""
    if x + 420 > line.shape[1]:
        return  # the caption tells it too
    x += 8 + _write(line, f"{scale.far_mm} mm", x)
    line[4:14, x : x + 100] = scale.bar(10, 100)
    x += 108 + _write(line, f"{scale.near_mm} mm", x + 108)
    line[4:14, x + 16 : x + 30] = UNKNOWN_RGB
    _write(line, "nothing known", x + 36)


def _write(line: Rgb, text: str, x: int) -> int:
    """Text from `x` on, and how wide it is [px]."""
    text = readable(text)
    cv2.putText(line, text, (x, TEXT_PX - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.42, INK, 1, cv2.LINE_AA)
    return int(cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.42, 1)[0][0])
