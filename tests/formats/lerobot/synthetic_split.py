"""Small LeRobot splits with painted pictures, made through the packer; their truth is in closed form.

Every picture carries its camera, its episode and its row as black and white blocks, so that any decoder can say which
picture it was handed, also after another encoding. Loaded by the conftest files from its path (tests are no package).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from quickdraw.core.depth import Depth
from quickdraw.core.episode import DepthPlan
from quickdraw.core.features import FeatureSpec
from quickdraw.core.normalization import for_training
from quickdraw.core.statistics import LEVELS, Statistics, histogram, of_histogram, of_rows
from quickdraw.formats.lerobot.packer import BlockPlan, Contents, pack_block, write_documents
from quickdraw.formats.lerobot.schema import CameraSpec, DatasetSpec, Limits
from quickdraw.formats.lerobot.videos import Clip, plan_reel
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.depth_encoding import encode_depth as film_depth
from quickdraw.video.encoding import Encoding

Rgb = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]

RATE_HZ = 30
HEIGHT_PX, WIDTH_PX, BLOCK_PX = 48, 64, 8  # not square, so that exchanged axes show
CAMERA_BITS, EPISODE_BITS, ROW_BITS = 2, 8, 16
BITS = CAMERA_BITS + EPISODE_BITS + ROW_BITS
CAMERAS = ("scene_left", "gripper_right_top")
NOISE = {"scene_left": 0, "gripper_right_top": 60}  # what makes one camera's clips larger than the other's
ENCODING = Encoding(HEIGHT_PX, WIDTH_PX, RATE_HZ, crf=18, preset="veryfast", gop=2)
DEPTH_CAMERA = "wrist_depth"
DEPTH_ENCODING = DepthEncoding(HEIGHT_PX, WIDTH_PX, RATE_HZ, gop=5)

STATE = FeatureSpec(
    "observation.state",
    ("x_mm", "y_mm", "z_mm", *(f"rot6_{i}" for i in range(6)), "gripper"),
    ("mm",) * 3 + ("",) * 7,
    identity_dims=(3, 4, 5, 6, 7, 8),
)
ACTION = FeatureSpec("action", ("a", "b", "c"), ("",) * 3)


def paint(camera: str, episode: int, row: int) -> Rgb:
    """The picture of a row: its number in the first blocks, camera-dependent noise in the rest."""
    number = (CAMERAS.index(camera) << (EPISODE_BITS + ROW_BITS)) | (episode << ROW_BITS) | row
    blocks = np.full(HEIGHT_PX * WIDTH_PX // BLOCK_PX**2, 128, np.int64)
    blocks[:BITS] = [230 if number >> bit & 1 else 25 for bit in range(BITS)]
    grey = blocks.reshape(HEIGHT_PX // BLOCK_PX, -1).repeat(BLOCK_PX, 0).repeat(BLOCK_PX, 1)
    if NOISE[camera]:
        below = -(-BITS // (WIDTH_PX // BLOCK_PX)) * BLOCK_PX
        random = np.random.default_rng([number])
        grey[below:] += random.integers(-NOISE[camera], NOISE[camera], grey[below:].shape)
    picture: Rgb = np.repeat(grey.astype(np.uint8)[:, :, None], 3, axis=2)
    return picture


def read_paint(rgb: Rgb) -> tuple[str, int, int]:
    """Camera, episode and row a picture was painted with."""
    half = BLOCK_PX // 2
    centres = [rgb[half + BLOCK_PX * (bit // 8), half + BLOCK_PX * (bit % 8)].mean() for bit in range(BITS)]
    number = sum(1 << bit for bit, level in enumerate(centres) if level > 128)
    episode = number >> ROW_BITS & (1 << EPISODE_BITS) - 1
    return CAMERAS[number >> (EPISODE_BITS + ROW_BITS)], episode, number & (1 << ROW_BITS) - 1


def paint_depth(episode: int, row: int) -> Depth:
    """The depth of a row [mm], its episode and row in the first pixels; a hole, and a speck beyond the scale."""
    across, down = np.meshgrid(np.arange(WIDTH_PX), np.arange(HEIGHT_PX))
    depth_mm = (300 + 20 * across + 15 * down).astype(np.uint16)
    depth_mm[0, :2] = 100 * (1 + episode), 100 + 3 * row
    depth_mm[4:7, 9:20] = 0
    depth_mm[-1, -1] = 30_000
    return depth_mm


def encode_depth(frames: Sequence[Depth], target: Path, encoding: DepthEncoding = DEPTH_ENCODING) -> Path:
    """Depth to a clip as the packer takes it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    film_depth(DepthPlan(target, np.arange(len(frames)), len(frames), lambda: iter(frames)), target, encoding)
    return target


def encode(pictures: Iterable[Rgb], target: Path, encoding: Encoding = ENCODING) -> Path:
    """Pictures to a clip as the packer takes it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(target), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = encoding.open_stream(container)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
            encoding.stamp(frame, number)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return target


def decoded(path: Path) -> Iterator[Rgb]:
    """Every picture of a file, in decoding order, by plain PyAV."""
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


def state_rows(episode: int, frames: int) -> Float32:
    """`(T, 10)`: three positions, a rotation about z, a gripper that stays shut; every value from episode and row."""
    row = np.arange(frames)
    angle = (episode * 7 + row) / 10
    zero = np.zeros(frames)
    columns = [episode * 100 + row / 4, row * 2.0, zero + episode,
               np.cos(angle), np.sin(angle), zero, -np.sin(angle), np.cos(angle), zero, zero + 0.25]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def action_rows(episode: int, frames: int) -> Float32:
    """`(T, 3)` in halves and quarters."""
    row = np.arange(frames)
    return np.stack([row / 2, -row / 4, np.full(frames, episode)], axis=1).astype(np.float32)


@dataclass
class FakeEpisode:
    """A finished episode as the packer asks for it, without a source."""

    number: int
    frames: int
    folder: Path
    task: str
    arrays: Mapping[str, Float32]
    clips: dict[str, Path] = field(default_factory=dict)

    def rows(self) -> Mapping[str, Float32]:
        return self.arrays

    def clip(self, camera: str) -> Path:
        target = self.folder / f"{camera}_{self.number}.mp4"
        if camera == DEPTH_CAMERA and camera not in self.clips:
            self.clips[camera] = encode_depth([paint_depth(self.number, row) for row in range(self.frames)], target)
        if camera not in self.clips:
            self.clips[camera] = encode((paint(camera, self.number, row) for row in range(self.frames)), target)
        return self.clips[camera]

    def picture_statistics(self, camera: str) -> Statistics:
        if camera == DEPTH_CAMERA:
            codes = [DEPTH_ENCODING.scale.codes(paint_depth(self.number, row)) for row in range(self.frames)][:100]
            counted = np.bincount(np.stack(codes).ravel(), minlength=4096)[None, :]
            return of_histogram(counted, len(codes), DEPTH_ENCODING.levels)
        counts, pictures = np.zeros((3, LEVELS), np.int64), 0
        for picture in list(decoded(self.clip(camera)))[:100]:
            counts += histogram(picture)
            pictures += 1
        return of_histogram(counts, pictures)


def fake_episode(number: int, frames: int, folder: Path, task: str | None = None) -> FakeEpisode:
    """Episode `number` in closed form; its task alternates between two where none is given."""
    arrays = {STATE.name: state_rows(number, frames), ACTION.name: action_rows(number, frames)}
    return FakeEpisode(number, frames, folder, f"task {number % 2}" if task is None else task, arrays)


DEFAULT_LIMITS = Limits()


def dataset_spec(
    limits: Limits = DEFAULT_LIMITS,
    cameras: tuple[str, ...] = CAMERAS,
    size_px: tuple[int, int] = (HEIGHT_PX, WIDTH_PX),
    encoding: Encoding = ENCODING,
    **changes: Any,
) -> DatasetSpec:
    """What the synthetic splits have in common; every camera is of one size, and of colour but for `DEPTH_CAMERA`."""
    filmed = [(camera, DEPTH_ENCODING if camera == DEPTH_CAMERA else encoding) for camera in cameras]
    shown = tuple(CameraSpec(camera, *size_px, how.channels, how.info()) for camera, how in filmed)
    common: dict[str, Any] = {"rate_hz": RATE_HZ, "robot_type": "xarm7", "features": (STATE, ACTION),
                              "camera_specs": shown}  # fmt: skip
    return DatasetSpec(limits=limits, **(common | changes))


def trainer_statistics(spec: DatasetSpec, train: Sequence[FakeEpisode]) -> dict[str, Statistics]:
    """What stats.json carries for `train`, as the pipeline would make it; pictures from the first episode alone."""
    statistics = {
        f.name: for_training(of_rows(np.concatenate([e.arrays[f.name] for e in train])), f.identity_dims)
        for f in spec.features
    }
    cameras = {spec.video_key(c): for_training(train[0].picture_statistics(c), ()) for c in spec.cameras}
    return statistics | cameras


def pack(root: Path, spec: DatasetSpec, episodes: Sequence[FakeEpisode], pin: bool = True) -> Path:
    """A split of `episodes` at `root`, carrying its own trainer statistics."""
    clips = {c: [Clip(e.clip(c), e.frames, e.clip(c).stat().st_size) for e in episodes] for c in spec.cameras}
    reels = {camera: plan_reel(root, spec, camera, of_camera) for camera, of_camera in clips.items()}
    for file in [file for reel in reels.values() for file in reel.files]:
        file.write()
    places = {camera: reel.places for camera, reel in reels.items()}
    contents = Contents.of((episode.frames, episode.task) for episode in episodes)
    for block in contents.blocks(spec):
        some = slice(block.first, block.stop)
        of_block = {camera: of_camera[some] for camera, of_camera in places.items()}
        pack_block(BlockPlan(spec, block, episodes[some], contents.task_of[some], of_block, pin), root)
    write_documents(root, spec, contents, trainer_statistics(spec, episodes))
    return root
