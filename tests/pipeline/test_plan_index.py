"""Plans are remembered beside a dataset: an unchanged run is not read again, and anything else is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack
from quickdraw.pipeline.build import build
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import BuildPlan, make_plan
from quickdraw.pipeline.plan_index import read_plans, write_plans
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.publish import plans_file
from quickdraw.pipeline.settings import Settings


class Asked(Inline):
    """An executor that remembers what it was asked to plan."""

    def __init__(self) -> None:
        self.keys: list[EpisodeKey] = []

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        for task in tasks:
            assert isinstance(task, EpisodeKey)
            self.keys.append(task)
            yield function(task)


@pytest.fixture
def tree(sample_tree: Path, tmp_path: Path) -> Path:
    """Two campaigns, three runs."""
    for name in ("campaign3-play", "campaign6-combos"):
        shutil.copytree(sample_tree / name, tmp_path / "raw" / name, copy_function=shutil.copy)
    return tmp_path / "raw"


def settings_of(tree: Path, *options: str) -> Settings:
    output = tree.parent / "d"
    return block_stack(parse(["processor=block_stack", f"source.dir={tree}", f"output.dir={output}", *options]).config)


def planned(tree: Path, *options: str) -> tuple[BuildPlan, Sequence[str]]:
    """The plan, and which runs were read for it."""
    asked = Asked()
    plan, _ = make_plan(settings_of(tree, *options), asked, PlainProgress())
    return plan, [str(key) for key in asked.keys]


def remember(tree: Path, *options: str) -> dict[EpisodeKey, EpisodePlan]:
    """Plan, and leave an index as a build does."""
    settings, (plan, _) = settings_of(tree, *options), planned(tree, *options)
    write_plans(plans_file(settings.output), settings.source, plan.episodes.values())
    return dict(plan.episodes)


def test_planning_alone_remembers_nothing(tree: Path) -> None:
    assert len(planned(tree)[1]) == 3
    assert len(planned(tree)[1]) == 3
    assert sorted(path.name for path in tree.parent.iterdir()) == ["raw"]


def test_unchanged_runs_are_not_read_again_and_their_plans_are_the_same(tree: Path) -> None:
    before = remember(tree)
    plan, read = planned(tree)
    assert read == []
    assert dict(plan.episodes) == before
    assert [type(episode.provenance["mended"]) for episode in plan.episodes.values()] == [dict] * 3


@pytest.mark.parametrize(
    "file",
    ["run.json", "raw/controller.jsonl", "raw/arm_state.jsonl", "raw/commanded.jsonl", "video/scene_left.mp4",
     "video/gripper_right_top_frame_times.json"],
)  # fmt: skip
@pytest.mark.parametrize("cameras", ["[scene_left]", "[scene_right,gripper_right_top]"])
def test_a_run_is_read_again_when_any_file_that_it_is_planned_from_looks_otherwise(
    file: str, cameras: str, tree: Path
) -> None:
    """Whichever cameras are shown: the window spans them all."""
    option = f"source.cameras={cameras}"
    remember(tree, option)
    run = next((tree / "campaign6-combos").glob("recording_*"))
    os.utime(run / file, ns=(1, 1))
    assert planned(tree, option)[1] == [f"campaign6-combos/{run.name}"]


def test_a_run_that_lost_a_file_is_read_again(tree: Path) -> None:
    remember(tree)
    run = next((tree / "campaign6-combos").glob("recording_*"))
    (run / "raw/commanded.jsonl").unlink()
    plan, read = planned(tree)
    assert read == [f"campaign6-combos/{run.name}"]
    assert plan.episodes[EpisodeKey("campaign6-combos", run.name)].provenance["commanded"] is None


@pytest.mark.parametrize(
    "option", ["source.target_hz=15", "source.cameras=[scene_left]", "source.max_gap_s=0.4", "source.rehash=true"]
)
def test_with_other_options_that_a_plan_depends_on_every_run_is_read(option: str, tree: Path) -> None:
    remember(tree)
    assert len(planned(tree, option)[1]) == 3
    assert planned(tree, "source.val_floor=1")[1] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"[" * 100_000 + data,
        lambda data: data.replace(b'"key"', b'"kay"'),
        lambda data: data.replace(b'"rate_hz":30', b'"rate_hz":"30"'),
        lambda data: data.replace(b'"gaps":', b'"gaps":1'),  # as good a plan as any, but not the one that was made
        lambda data: b"\xff\xfe" + data,
    ],
)
def test_a_damaged_index_costs_time_and_nothing_else(spoil: Callable[[bytes], bytes], tree: Path) -> None:
    before, path = remember(tree), plans_file(settings_of(tree).output)
    path.write_bytes(spoil(path.read_bytes()))
    plan, read = planned(tree)
    assert read
    assert dict(plan.episodes) == before


def test_a_build_that_changes_nothing_puts_a_lost_index_back(tree: Path) -> None:
    options = ("source.hw=[32,64]", "source.cameras=[scene_left]")
    settings = settings_of(tree, *options)
    assert build(planned(tree, *options)[0], settings, Inline(), PlainProgress())
    plans_file(settings.output).unlink()
    plan, read = planned(tree, *options)
    assert len(read) == 3
    assert not build(plan, settings, Inline(), PlainProgress())
    assert planned(tree, *options)[1] == []


def test_a_file_that_appears_while_its_run_is_planned_refuses_the_run(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = settings_of(tree).source
    key = source.campaign("campaign6-combos").runs[0]
    video = source.path(key, "video/scene_left.mp4")
    aside = video.rename(tree / "aside.mp4")
    there = Path.stat

    def arriving(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        try:
            return there(path, follow_symlinks=follow_symlinks)
        finally:
            if path.name == "commanded.jsonl" and aside.exists():  # the last that is looked at
                aside.rename(video)

    monkeypatch.setattr(Path, "stat", arriving)
    planned_run = source.plan(key)
    assert isinstance(planned_run, Rejected)
    assert [(fault.field, fault.found) for fault in planned_run.faults] == [("scene_left.mp4", "there only now")]


def test_a_plan_made_for_another_tree_is_not_taken_for_this_ones(tree: Path) -> None:
    """Of equal names, sizes and times, as a tar archive may give them."""
    remember(tree)
    other = tree.with_name("other")
    shutil.copytree(tree, other)
    assert len(planned(other)[1]) == 3


def test_of_a_run_in_another_place_nothing_is_known(tree: Path) -> None:
    remember(tree)
    settings = settings_of(tree)
    index = read_plans(plans_file(settings.output), settings.source)
    assert index.known(EpisodeKey("campaign3-play", "recording_2020_01_01_00_00_00")) is None
