"""What people do today, with public APIs: imageio, cv2.resize, the whole episode in memory, LeRobotDataset.

Run as a command, `python -m benchmarks.usual_path <setting> <fps> <height> <width> <root> <mp4> [<mp4> ...]`, offline.
Prints one line of JSON: rows, and wall and CPU of the work alone, without imports. The settings are lerobot's defaults,
and its fastest: pictures go to an H.264 encoder while they are added, past a queue as long as the episode.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import cv2
import imageio.v2 as imageio
import numpy as np
import numpy.typing as npt

SETTINGS = ("defaults", "fastest")
STATE_DIMS, ACTION_DIMS = 17, 5

type Pictures = list[npt.NDArray[np.uint8]]


def read_camera(path: str, height_px: int, width_px: int) -> Pictures:
    """All pictures of a file, `(H, W, 3)` uint8 RGB each."""
    reader = imageio.get_reader(path)
    try:
        return [
            np.asarray(cv2.resize(np.asarray(picture), (width_px, height_px), interpolation=cv2.INTER_AREA), np.uint8)
            for picture in reader.iter_data()
        ]
    finally:
        reader.close()


def features(cameras: list[str], height_px: int, width_px: int) -> dict[str, Any]:
    """What a dataset of these cameras is told to hold."""
    video = {"dtype": "video", "shape": (height_px, width_px, 3), "names": ["height", "width", "channels"]}
    return {
        "observation.state": {"dtype": "float32", "shape": (STATE_DIMS,), "names": None},
        "action": {"dtype": "float32", "shape": (ACTION_DIMS,), "names": None},
        **{camera: dict(video) for camera in cameras},
    }


def convert(setting: str, fps: int, size_px: tuple[int, int], root: Path, paths: list[str]) -> int:
    """Write the dataset of one episode; its rows."""
    from lerobot.configs.video import RGBEncoderConfig
    from lerobot.datasets import LeRobotDataset

    episode = {f"observation.images.{Path(path).stem}": read_camera(path, *size_px) for path in paths}
    rows = min(len(pictures) for pictures in episode.values())
    fastest = {
        "streaming_encoding": True,
        "rgb_encoder": RGBEncoderConfig(vcodec="h264"),
        "encoder_queue_maxsize": rows,
    }
    chosen: dict[str, Any] = fastest if setting == "fastest" else {}
    dataset = LeRobotDataset.create(
        "local/usual", fps=fps, features=features(list(episode), *size_px), root=root, **chosen
    )
    state, action = np.zeros(STATE_DIMS, np.float32), np.zeros(ACTION_DIMS, np.float32)
    for row in range(rows):
        pictures = {camera: pictures[row] for camera, pictures in episode.items()}
        dataset.add_frame({"observation.state": state, "action": action, **pictures, "task": "play"})
    dataset.save_episode()
    dataset.finalize()
    return rows


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main(setting: str, fps: int, size_px: tuple[int, int], root: Path, paths: list[str]) -> None:
    """The command."""
    import lerobot.datasets  # noqa: F401  (its imports take 10 s and more; they are not what is compared)

    begun_s, begun_cpu_s = time.perf_counter(), _cpu_s()
    rows = convert(setting, fps, size_px, root, paths)
    spent = {"rows": rows, "wall_s": time.perf_counter() - begun_s, "cpu_s": _cpu_s() - begun_cpu_s}
    print()
    print(json.dumps(spent))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), (int(sys.argv[3]), int(sys.argv[4])), Path(sys.argv[5]), sys.argv[6:])
