"""What must not be built of pooled tasks: every reason the issue gives, its words, and the option that overrides it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

type Once = Callable[[str, Callable[[Path], None]], Path]

CASES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "renamed slots": ("sample/手套_抓取", (), ("D435_depth_rgb", "D435_head_rgb", "+source.slots.<name>=[a,b]")),
    "slots that differ": ("simulated/手套_插孔", (), ("head_left_rgb", "head_rgb", "+source.slots.<name>=[a,b]")),
    "stamps apart": ("sample/two_slots_apart", (), ("two_slots_apart/episode_000001", "+source.fold=first")),
    "loose ends": ("sample/loose_ends", (), ("loose_ends/episode_000002", "no data file",
                                             "loose_ends/episode_000004", "+source.on_gap=split")),
    "both of a camera": ("sample/two_slots", ("+source.slots.eye=[a_rgb,b_rgb]",), ("a_rgb", "b_rgb", "eye")),
    "holes": ("forged/rows/gaps", ("+source.max_gap_s=0.3",),
              ("gaps/episode_000001", "gaps/episode_000002", "gaps/episode_000003", "+source.on_gap=split")),
    "two pictures few": ("bad/two_few", (), ("two_few/episode_000001", "cam")),
    "two pictures many": ("bad/two_many", (), ("two_many/episode_000001", "cam")),
    "data without video": ("bad/no_video", (), ("no_video/episode_000002", "video")),
    "another rate": ("bad/other_rate", (), ("other_rate/episode_000001", "30")),
    "falling frames": ("bad/falling", (), ("falling/episode_000001", "frame_index")),
    "depth of one picture": ("bad/no_depth", ("+source.depth=true",), ("no_depth/episode_000001", "depth_0")),
    "depth too long": ("bad/long_depth", ("+source.depth=true",), ("long_depth/episode_000001", "depth_0")),
    "copied without keyframes": ("sample/umi_pick", ("+source.video.mode=copy",), ("source.video.gop",)),
    "no such task": ("bad/nothing", (), ("meta/info.json",)),
    "state of nothing": ("sample/legacy_v110", ("+source.state=[slam_pose]",), ("slam_pose", "source.state")),
    "next state of no state": ("sample/legacy_v110", ("+source.action=next_state",), ("source.state",)),
    "patches that do not fit": ("sample/umi_pick", ("+source.force_matrices=33x25",), ("source.force_matrices",)),
    "tasks of two rates": ("bad/rates", (), ("+source.exclude_globs",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad(once: Once, forge: ModuleType) -> Path:
    """Tasks of one fault each."""

    def write(root: Path) -> None:
        even = forge.clock(12, 30)
        good = forge.plain(1, even, seed=1)
        forge.write_task(root, "two_few", [forge.plain(1, even, seed=1, missing=2)], 30)
        forge.write_task(root, "two_many", [forge.plain(1, even, seed=1, missing=-2)], 30)
        task = forge.write_task(root, "no_video", [good, forge.plain(2, even, seed=2)], 30)
        (task / "videos/chunk-000/cam/episode-001.mp4").unlink()
        task = forge.write_task(root, "other_rate", [good], 15)
        info = (task / "meta/info.json").read_text().replace('"fps": 15.0', '"fps": 30.0')
        (task / "meta/info.json").write_text(info)
        falling = np.array([0, 1, 2, 4, 3, *range(5, 12)])
        forge.write_task(root, "falling", [forge.replace(good, frame_index=falling)], 30)
        for name, count in (("no_depth", 1), ("long_depth", 14)):
            films = {"cam": forge.painted(12, 1), "depth_0": forge.depths(count, 1)}
            forge.write_task(root, name, [forge.replace(good, films=films)], 30)
        (root / "nothing").mkdir()
        for name, rate in (("a", 15), ("b", 30)):
            forge.write_task(root / "rates", name, [forge.plain(1, forge.clock(12, rate), seed=1)], rate)

    return once("pooled-build-bad", write)


@pytest.fixture(scope="module")
def refused(
    once: Once, bad: Path, pooled_trees: dict[str, Path], lerobot: Callable[..., Any]
) -> Callable[[str], tuple[int, str]]:
    roots = pooled_trees | {"bad": bad}

    def make(folder: Path) -> None:
        folder.mkdir()
        builds = []
        for name, (place, options, _) in CASES.items():
            tree, _, rest = place.partition("/")
            builds.append(["+processor=pooled_episodes", f"+source.dir={roots[tree] / rest}", *options,
                           "+source.workers=1", f"+output.dir={folder / name / 'd'}"])  # fmt: skip
        codes = lerobot("build_many", {"builds": builds, "said": [folder / f"{name}.said" for name in CASES]})
        for name, code in zip(CASES, codes, strict=True):
            (folder / f"{name}.code").write_text(str(code))

    folder = once("pooled-refused", make)
    return lambda name: (int((folder / f"{name}.code").read_text()), (folder / f"{name}.said").read_text())


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_words_that_say_where_and_what_helps(
    name: str, refused: Callable[[str], tuple[int, str]]
) -> None:
    code, said = refused(name)
    assert code == 2, said
    assert "Traceback" not in said
    for words in CASES[name][2]:
        assert words in said, said
