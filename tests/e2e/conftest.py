"""Pooled tasks built once by the command, and what lerobot reads of them, beside what an oracle expects."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
type Once = Callable[[str, Callable[[Path], None]], Path]
type Processors = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def oracle(module_of: Callable[[Path], ModuleType]) -> ModuleType:
    """pooled_oracle.py."""
    return module_of(HERE / "pooled_oracle.py")


@pytest.fixture(scope="session")
def forge(module_of: Callable[[Path], ModuleType]) -> ModuleType:
    """pooled_forge.py."""
    return module_of(HERE / "pooled_forge.py")


@pytest.fixture(scope="session")
def watched(module_of: Callable[[Path], ModuleType]) -> ModuleType:
    """watched_build.py."""
    return module_of(HERE / "watched_build.py")


@pytest.fixture(scope="session")
def small(sample_tree: Path) -> list[str]:
    """Options of a build of 30 parts: five short runs of three cameras, in small pictures."""
    return ["+processor=block_stack", f"+source.dir={sample_tree}", "+source.exclude_globs=[campaign5*]",
            "+source.cameras=[scene_left,scene_right,gripper_right_top]", "+source.hw=[48,64]",
            "+report=false"]  # fmt: skip


@pytest.fixture(scope="session")
def built_locally(once: Once, small: list[str], watched: ModuleType) -> Path:
    """What it comes to on processes of this machine."""

    def make(folder: Path) -> None:
        folder.mkdir()
        done = watched.run([*small, "+source.workers=2"], folder / "d")
        assert done.code == 0, done.errors

    return once("built-locally", make) / "d"


@dataclass(frozen=True)
class Recipe:
    """A build: `place` under the tree, the command's options, the oracle's, tasks left out.

    `refused`: run -> what the oracle says, and what the build does.
    """

    tree: str
    place: str
    options: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    copied: bool = False
    logs: bool = False


HEADS = ["D435_depth_rgb", "D435_head_rgb"]
ANY = ["uvc_0", "cam", "umi_rgb", *HEADS]
SPLIT = ("+source.on_gap=split", "+source.fold=first")
RECIPES = {
    "gloves": Recipe("sample", "手套_抓取", (f"+source.slots.head=[{','.join(HEADS)}]", "+source.clocks=true"),
                     {"slots": {"head": HEADS}, "clocks": True}),
    "umi": Recipe("sample", "umi_pick",
                  ("+source.depth=true", "+source.force_matrices=25x25", "+source.clocks=true",
                   "+source.state=[slam_pose,observation.gripper_state]", "+source.action=next_state",
                   "+source.val_frac=0.3"),
                  {"depth": True, "matrices": "25x25", "clocks": True, "state": ("slam_pose", "gripper_state"),
                   "action": "next_state"}),
    "flat": Recipe("sample", "umi_pick",
                   ("+source.state=[slam_pose]", "+source.action=[gripper_state,gripper_left_force]",
                    "+source.imu.mode=last"),
                   {"state": ("slam_pose",), "action": ("gripper_state", "gripper_left_force"), "imu": "last"}),
    "two_slots": Recipe("sample", "two_slots"),
    "apart": Recipe("sample", "two_slots_apart", ("+source.fold=first",), {"fold": "first"}),
    "loose": Recipe("sample", "loose_ends", ("+source.on_bad_run=skip",),
                    refused={"episode_000002": ("without data", "no data file"),
                             "episode_000004": ("hole", "4.033 s between rows 14 and 15")}),
    "several": Recipe("sample", "",
                      (f"+source.slots.front=[{','.join(ANY)}]", "+source.exclude_globs=[two_slots*]",
                       "+source.on_gap=split", "+source.on_bad_run=skip", "+source.imu.mode=mean",
                       "+source.val_rule=random", "+source.seed=3", "+source.eval_globs=[umi*]"),
                      {"slots": {"front": ANY}, "on_gap": "split", "imu": "mean"},
                      ("two_slots", "two_slots_apart"), {"episode_000002": ("without data", "no data file")}),
    "plugging": Recipe("simulated", "手套_插孔",
                       ("+source.slots.head=[head_rgb,head_left_rgb]", "+source.imu.mode=last", "+source.hw=[60,80]"),
                       {"slots": {"head": ["head_rgb", "head_left_rgb"]}, "imu": "last"}),
    "placing": Recipe("simulated", "umi_place", ("+source.depth.mode=lossless", "+source.force_matrices=none"),
                      {"depth": True, "matrices": "none"}),
    "forged": Recipe("forged", "rows", (*SPLIT, "+source.imu.samples=5", "+source.max_gap_s=0.3",
                                          "+source.state=[left_glove]", "+source.action=next_state"),
                     {"on_gap": "split", "fold": "first", "samples": 5, "max_gap_s": 0.3, "state": ("left_glove",),
                      "action": "next_state"}),
    "deep": Recipe("forged", "deep", ("+source.depth=true",), {"depth": True, "fps": 15}),
    "copied": Recipe("forged", "rows", (*SPLIT[:1], "+source.video.mode=copy",
                                          "+source.exclude_globs=[gaps,odd,edges]"),
                     {"on_gap": "split"}, ("gaps", "odd", "edges"), copied=True),
    "logs": Recipe("forged", "logs", ("+source.depth.mode=copy",), {"depth": True}, logs=True),
}  # fmt: skip


@dataclass(frozen=True)
class Build:
    """A recipe's dataset, what lerobot read of each split, and what the oracle expects, in order of the splits."""

    name: str
    recipe: Recipe
    dataset: Path
    source: Path
    said: str
    read: Path
    oracle: ModuleType

    @cached_property
    def provenance(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.dataset / "provenance.json").read_text(encoding="utf-8"))
        return found

    @property
    def asked(self) -> Any:
        return self.oracle.Asked(**self.recipe.asked)

    @property
    def splits(self) -> list[str]:
        return sorted(path.parents[1].name for path in self.dataset.glob("*/meta/info.json"))

    @cached_property
    def takes(self) -> list[Any]:
        """Every expected episode, by task and name."""
        tasks = [self.source] if (self.source / "meta").exists() else sorted(self.source.iterdir())
        found = []
        for task in tasks:
            for number in self.oracle.numbers(task) if task.name not in self.recipe.without else []:
                try:
                    found += self.oracle.take(task, number, self.asked)
                except self.oracle.NotTaken as why:
                    if self.recipe.refused.get(f"episode_{number:06d}", ("another",))[0] not in str(why):
                        raise
        return found

    @cached_property
    def expected(self) -> dict[tuple[str, str], tuple[Any, Mapping[str, Any]]]:
        """Of each task and run what is expected of it and its features."""
        features = self.oracle.features(self.takes, self.asked)
        return {(take.task, take.run): (take, rows) for take, rows in zip(self.takes, features, strict=True)}

    def episodes(self) -> Iterator[tuple[str, dict[str, Any], Any, Mapping[str, Any]]]:
        """Split, provenance of an episode, what is expected of it and its features."""
        for told in self.provenance["episodes"]:
            yield told["split"], told, *self.expected[(told["campaign"], told["run"])]

    def rows(self, split: str) -> dict[str, Any]:
        """What lerobot returned of every row, by feature; `digest` of which is compared elsewhere."""
        with np.load(self.read / self.name / f"{split}.npz") as file:
            return {name: file[name] for name in file.files}


@pytest.fixture(scope="session")
def pooled_trees(once: Once, sample_pooled: Path, forge: ModuleType) -> dict[str, Path]:
    """The recordings roots by name."""

    def simulate(root: Path) -> None:
        from quickdraw.sim.pooled import write_recordings
        from quickdraw.sim.pooled.tasks import default_tasks

        write_recordings(root, tasks=default_tasks(seed=11, frames=16))

    return {"sample": sample_pooled / "recordings", "simulated": once("pooled-build-sim", simulate),
            "forged": once("pooled-build-forged", forge.write_all)}  # fmt: skip


@pytest.fixture(scope="session")
def pooled_datasets(once: Once, lerobot: Callable[..., Any], pooled_trees: dict[str, Path]) -> Path:
    """Every recipe built, `<name>/d` each; what was said is in `<name>/said`, the exit code in `<name>/code`."""

    def make(folder: Path) -> None:
        builds = []
        for name, recipe in RECIPES.items():
            (folder / name).mkdir(parents=True)
            builds.append(arguments(recipe, name, pooled_trees, folder / name / "d", "+source.workers=1"))
        codes = lerobot("build_many", {"builds": builds, "said": [folder / name / "said" for name in RECIPES]})
        for name, code in zip(RECIPES, codes, strict=True):
            (folder / name / "code").write_text(str(code))

    return once("pooled-builds", make)


def arguments(recipe: Recipe, name: str, trees: Mapping[str, Path], output: Path, *more: str) -> list[str]:
    """What is typed to build a recipe."""
    source = trees[recipe.tree] / recipe.place
    return ["+processor=pooled_episodes", f"+source.dir={source}", f"+source.name={name}", f"+output.dir={output}",
            "+report=false", *recipe.options, *more]  # fmt: skip


@pytest.fixture(scope="session")
def pooled_typed(pooled_trees: dict[str, Path]) -> Callable[..., list[str]]:
    """`pooled_typed(recipe, output, *more)`: the arguments that build a recipe."""
    return lambda name, output, *more: arguments(RECIPES[name], name, pooled_trees, output, *more)


@pytest.fixture(scope="session")
def pooled_read(once: Once, pooled_datasets: Path, lerobot: Callable[..., dict[str, Any]]) -> Path:
    """What lerobot's reader returns of every split that was built, `<recipe>/<split>.npz`."""

    def make(folder: Path) -> None:
        jobs = []
        for name in RECIPES:
            (folder / name).mkdir(parents=True)
            roots = sorted((pooled_datasets / name / "d").glob("*/meta/info.json"))
            jobs += [{"root": r.parents[1], "target": folder / name / f"{r.parents[1].name}.npz"} for r in roots]
        lerobot("read_pooled", {"jobs": jobs})

    return once("pooled-read", make)


@pytest.fixture(scope="session")
def pooled_verified(
    pooled_datasets: Path, pooled_trees: dict[str, Path], lerobot: Callable[..., Any], remember: Callable[..., Any]
) -> dict[str, Any]:
    """What `quickdraw verify --source` says of every recipe's dataset."""
    pairs = [[pooled_datasets / n / "d", pooled_trees[r.tree] / r.place] for n, r in RECIPES.items()]
    told = remember("pooled-verified", lambda _: lerobot("verify_many", {"datasets": pairs}))["told"]
    return dict(zip(RECIPES, told, strict=True))


@pytest.fixture(scope="session")
def pooled_builds(
    pooled_datasets: Path, pooled_read: Path, pooled_trees: dict[str, Path], oracle: ModuleType
) -> dict[str, Build]:
    """Every recipe's build, its expectations worked out once a process."""
    found = {}
    for name, recipe in RECIPES.items():
        folder, source = pooled_datasets / name, pooled_trees[recipe.tree] / recipe.place
        said = (folder / "said").read_text()
        assert (folder / "code").read_text() == "0", said
        found[name] = Build(name, recipe, folder / "d", source, said, pooled_read, oracle)
    return found


@pytest.fixture(params=RECIPES)
def build(request: pytest.FixtureRequest, pooled_builds: dict[str, Build]) -> Build:
    """Each recipe's."""
    return pooled_builds[request.param]
