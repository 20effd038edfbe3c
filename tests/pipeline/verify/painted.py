"""A source of painted runs with depth, and a dataset built from it by the pipeline. Loaded from its path.

Two tasks, two colour cameras of different sizes, two of depth with noise; a state that moves for a second and then
stands still, samples that may be missing, a clock of 64 bits. Everything is in closed form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from quickdraw.core.episode import DepthPlan, EpisodeKey, EpisodePlan, FramePlan
from quickdraw.core.features import FeatureSpec
from quickdraw.core.grid import Grid
from quickdraw.core.split import SplitRule
from quickdraw.errors import Words
from quickdraw.pipeline.build import build
from quickdraw.pipeline.digests import stamp_of
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import make_plan
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.settings import Settings
from quickdraw.video.copying import Copying
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.encoding import Encoding

RATE_HZ = 30
STATE = FeatureSpec("observation.state", ("x_mm", "y_mm", "z_mm"), ("mm",) * 3)
CELLS = tuple(f"r{r:02d}c{c:02d}" for r in range(2) for c in range(3))
GLOVE = FeatureSpec("observation.glove", CELLS, ("",) * 6, grid=(2, 3))
VALID = FeatureSpec("observation.glove_valid", ("valid",), ("",))
CLOCK = FeatureSpec("hardware_ns", ("hardware_ns",), ("ns",), dtype="int64")
FEATURES = (STATE, GLOVE, VALID, CLOCK)  # that the runs hold
COLOUR = {"front": (48, 64), "side": (64, 32)}
DEPTH = {"front_depth": (24, 40), "side_depth": (33, 17)}
LATE = {"front_depth": 2, "side_depth": 0}  # rows before the first picture
TASKS = {"fold_towel": "fold the towel", "pick_cup": "拿起杯子"}
RUNS = (("fold_towel", 1, 130), ("fold_towel", 2, 134), ("pick_cup", 1, 140), ("pick_cup", 3, 131))
TASKS_AND_EPISODES = Words("task", "episode", "task/episode_000012")
MOVING = 40  # rows in which all moves
ENCODINGS = {name: Encoding(*size, RATE_HZ, crf=15, preset="ultrafast", gop=5) for name, size in COLOUR.items()}


def colour(camera: str, run: int, row: int) -> npt.NDArray[np.uint8]:
    """A grey ramp with a bright square that walks while all moves."""
    height, width = COLOUR[camera]
    picture = np.repeat(np.linspace(40, 160, width, dtype=np.uint8)[None, :], height, axis=0)
    at = (3 * min(row, MOVING) + 11 * run + (7 if camera == "side" else 0)) % (min(height, width) - 12)
    picture[at : at + 12, at : at + 12] = 230
    return np.repeat(picture[:, :, None], 3, axis=2)


def depth(camera: str, run: int, frame: int) -> npt.NDArray[np.uint16]:
    """A slanted wall with noise, a hole and a speck too far away [mm]."""
    height, width = DEPTH[camera]
    random = np.random.default_rng([len(camera), run, frame])
    wall = 400 + 30 * np.arange(width)[None, :] + 10 * np.arange(height)[:, None]
    wall = wall + random.integers(0, 9, (height, width))
    wall[2:4, 3:5] = 0
    wall[-1, -1] = 20_000
    return wall.astype(np.uint16)


def rows(run: int, frames: int) -> dict[str, npt.NDArray[Any]]:
    """Feature name -> `(T, D)`."""
    row = np.minimum(np.arange(frames), MOVING)
    valid = (np.arange(frames) % 7 != 3).astype(np.float32)[:, None]
    glove = valid * (np.arange(6)[None, :] + np.arange(frames)[:, None] + run)
    return {
        STATE.name: np.stack([row * 4.0, 100 - row * 3.0, row * 2.0 + run], axis=1).astype(np.float32),
        GLOVE.name: glove.astype(np.float32),
        VALID.name: valid,
        CLOCK.name: (1_790_000_000_123_456_789 + run * 10**12 + np.arange(frames) * 33_333_333)[:, None].astype(
            np.int64
        ),
    }


def record(tree: Path) -> None:
    """Every run: `<task>/<run>/` with rows.npz, `<camera>.mp4` and `<camera>.npy`."""
    for task, run, frames in RUNS:
        folder = tree / task / f"episode_{run:06d}"
        folder.mkdir(parents=True)
        arrays: dict[str, Any] = rows(run + 10 * list(TASKS).index(task), frames)
        np.savez(folder / "rows.npz", **arrays)
        for camera, encoding in ENCODINGS.items():
            film(folder / f"{camera}.mp4", (colour(camera, run, row) for row in range(frames)), encoding)
        for camera in DEPTH:
            np.save(folder / f"{camera}.npy", np.stack([depth(camera, run, k) for k in range(frames - LATE[camera])]))


def film(path: Path, pictures: Iterator[npt.NDArray[np.uint8]], encoding: Any) -> None:
    with av.open(str(path), "w", format="mp4") as container:
        stream = encoding.open_stream(container)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
            encoding.stamp(frame, number)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


@dataclass(frozen=True)
class Painted:
    """The tree of `record` as a source."""

    tree: Path
    processor: str = "pooled_episodes"
    version: int = 1
    robot_type: str = "none"
    words: Words = TASKS_AND_EPISODES
    rate_hz: int = RATE_HZ
    features: tuple[FeatureSpec, ...] = FEATURES
    cameras: tuple[str, ...] = (*COLOUR, *DEPTH)

    def campaigns(self) -> list[str]:
        return sorted(path.name for path in self.tree.iterdir() if path.is_dir())

    def campaign(self, name: str) -> Any:
        runs = tuple(EpisodeKey(name, path.name) for path in sorted((self.tree / name).iterdir()))
        return SimpleNamespace(name=name, runs=runs, ignored=(), rejected=(), faults=())

    def path(self, key: EpisodeKey, file: str) -> Path:
        return self.tree / key.campaign / key.run / file

    def planning(self) -> dict[str, Any]:
        return {}

    def reading(self) -> dict[str, Any]:
        return {}

    def settled_by(self, plans: Iterable[EpisodePlan]) -> Painted:
        return replace(self, features=FEATURES)

    def notes(self) -> tuple[str, ...]:
        return ("no action: the recorded one is a placeholder",)

    def looks(self, key: EpisodeKey) -> str:
        return ""

    def _index(self, camera: str, frames: int) -> npt.NDArray[np.int64]:
        index: npt.NDArray[np.int64] = np.maximum(np.arange(frames) - LATE.get(camera, 0), -1)
        return index

    def plan(self, key: EpisodeKey) -> EpisodePlan:
        videos = {**{name: f"{name}.mp4" for name in COLOUR}, **{name: f"{name}.npy" for name in DEPTH}}
        frames = len(self.rows_of(key)[CLOCK.name])
        files = ("rows.npz", *videos.values())
        digests = {name: hashlib.sha256(self._index(name, frames).tobytes()).hexdigest() for name in videos}
        told = {"task": TASKS[key.campaign], "number": int(key.run.split("_")[1]), "depth_starts_at_row": LATE}
        return EpisodePlan(
            key=key,
            task=TASKS[key.campaign],
            grid=Grid(0, RATE_HZ, frames),
            t_hi_s=(frames - 0.5) / RATE_HZ,
            displacement={},
            row_files=("rows.npz",),
            videos={name: videos[name] for name in self.cameras},
            stamps={file: stamp_of(self.path(key, file)) for file in files},
            frame_digests={name: digests[name] for name in self.cameras},
            provenance=told,
            looks="",
        )

    def rows_of(self, key: EpisodeKey) -> dict[str, npt.NDArray[Any]]:
        with np.load(self.path(key, "rows.npz")) as arrays:
            return dict(arrays)

    def rows(self, plan: EpisodePlan) -> Mapping[str, npt.NDArray[Any]]:
        rows = self.rows_of(plan.key)
        return {
            each.name: rows.get(each.name, np.zeros((plan.frames, each.width), np.float32)) for each in self.features
        }

    def frame_plan(self, plan: EpisodePlan, camera: str) -> FramePlan | DepthPlan:
        path, index = self.path(plan.key, plan.videos[camera]), self._index(camera, plan.frames)
        if camera in COLOUR:
            return FramePlan(path, index, plan.frames)
        return DepthPlan(path, index, plan.frames - LATE[camera], lambda: iter(np.load(path)))


def make(
    tree: Path,
    output: Path,
    *,
    copied: bool = False,
    exclude: tuple[str, ...] = (),
    features: tuple[FeatureSpec, ...] = FEATURES,
) -> None:
    """Build the tree but for `exclude`; `copied`: the colour of it as it is; `features` as if they were settled."""
    encodings: dict[str, Any] = dict(ENCODINGS)
    if copied:
        same: dict[str, Any] = {"codec": "h264", "pix_fmt": "yuv420p", "gop": 5}
        encodings = {name: Copying(*size, RATE_HZ, **same) for name, size in COLOUR.items()}
    encodings |= {name: DepthEncoding(*size, RATE_HZ, 5) for name, size in DEPTH.items()}
    rule = SplitRule(0.25, 0, (), exclude, (), "random", 4)
    content = {"target_hz": RATE_HZ, "val_frac": 0.25, "val_floor": 0, "eval_globs": [], "exclude_globs": list(exclude),
               "val_runs": [], "val_rule": "random", "seed": 4, "video": {"mode": "copy" if copied else "encode"},
               "depth": {"mode": "lossless"}}  # fmt: skip
    settings = Settings(
        name="painted",
        source=Painted(tree, features=features),
        rule=rule,
        encodings=encodings,
        cubes=None,
        stats="train",
        max_runs_per_campaign=0,
        output=output,
        content=content,
    )
    assert build(*make_plan(settings, Inline(), PlainProgress()), Inline(), PlainProgress())
