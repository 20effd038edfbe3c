"""Pack, fingerprint and verify a split of many episodes in this process; prints its peak memory [kB] after each.

argv: folder, number of episodes, rows of each. All episodes show one clip and have one episode's rows.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from quickdraw.core.passes import of_passes
from quickdraw.core.statistics import Statistics
from quickdraw.formats.lerobot.fingerprints import FINGERPRINTS_PATH, vector_crcs, write_fingerprints
from quickdraw.formats.lerobot.packer import BlockPlan, Contents, pack_block, write_documents
from quickdraw.formats.lerobot.videos import Clip, plan_reel
from quickdraw.pipeline.verify.verify import verify_structure
from quickdraw.video.checksums import packet_crcs

CAMERA = "scene_left"


def synthetic() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "formats/lerobot/synthetic_split.py"
    found = importlib.util.spec_from_file_location("synthetic_split", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["synthetic_split"] = module
    found.loader.exec_module(module)
    return module


@dataclass(frozen=True, slots=True)
class Same:
    """The same episode over and over."""

    frames: int
    task: str
    arrays: Mapping[str, npt.NDArray[np.float32]]
    file: Path
    pictures: Statistics

    def rows(self) -> Mapping[str, npt.NDArray[np.float32]]:
        return self.arrays

    def clip(self, camera: str) -> Path:
        return self.file

    def picture_statistics(self, camera: str) -> Statistics:
        return self.pictures


def peak_kb() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1])


def main(folder: Path, episodes: int, rows: int) -> None:
    made = synthetic()
    spec = made.dataset_spec(cameras=(CAMERA,))
    first = made.fake_episode(0, rows, folder / "clips", "a task")
    same = Same(rows, "a task", first.arrays, first.clip(CAMERA), first.picture_statistics(CAMERA))
    many = [same] * episodes
    root = folder / "many"
    reel = plan_reel(root, spec, CAMERA, [Clip(same.file, rows, same.file.stat().st_size)] * episodes)
    for file in reel.files:
        file.write()
    print("join", peak_kb())
    statistics: dict[str, Any] = {
        f.name: of_passes(lambda name=f.name: (e.arrays[name] for e in many)) for f in spec.features
    }
    statistics[spec.video_key(CAMERA)] = replace(same.pictures, count=same.pictures.count * episodes)
    print("measure", peak_kb())
    contents = Contents.of((episode.frames, episode.task) for episode in many)
    for block in contents.blocks(spec):
        some = slice(block.first, block.stop)
        places = {CAMERA: reel.places[some]}
        pack_block(BlockPlan(spec, block, many[some], contents.task_of[some], places, pin=False), root)
    write_documents(root, spec, contents, statistics)
    print("pack", peak_kb())
    crcs = {CAMERA: packet_crcs(same.file)} | {name: vector_crcs(array) for name, array in same.arrays.items()}
    write_fingerprints(folder / FINGERPRINTS_PATH.format(split="many"), (crcs for _ in many))
    print("fingerprints", peak_kb())
    findings = verify_structure(root.parent)
    assert not findings, "\n".join(map(str, findings))
    print("verify", peak_kb())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
