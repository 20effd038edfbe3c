"""Pieces of an episode that was split at a hole: left out, counted and sent to val as the one episode they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import main, pooled_episodes
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import BuildPlan, make_plan
from quickdraw.pipeline.progress import PlainProgress

WHOLE, SPLIT = "loose_ends/episode_000003", "loose_ends/episode_000004"
PIECES = [f"{SPLIT}.01", f"{SPLIT}.02"]


@pytest.fixture
def task(sample_pooled: Path) -> Path:
    """An episode without data, a whole one, and one with a hole of 4 s."""
    return sample_pooled / "recordings" / "loose_ends"


def planned(task: Path, *options: str) -> BuildPlan:
    typed = [f"source.dir={task}", "source.on_gap=split", "source.on_bad_run=skip", *options]
    settings = pooled_episodes(parse(["processor=pooled_episodes", *typed]).config)
    return make_plan(settings, Inline(), PlainProgress())[0]


def splits(plan: BuildPlan) -> dict[str, list[str]]:
    return {split.name: [str(key) for key in split.episodes] for split in plan.splits}


@pytest.mark.parametrize("options", [(), ("source.val_frac=0.01",), ("source.val_rule=random", "source.seed=2")])
def test_pieces_are_in_one_split(task: Path, options: tuple[str, ...]) -> None:
    found = splits(planned(task, *options))
    assert sorted(found.values()) == [[WHOLE], PIECES]


def test_the_episodes_name_leaves_all_its_pieces_out(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(task, f"source.exclude_globs=[{SPLIT}]")
    assert (splits(plan), plan.left_out) == ({"train": [WHOLE]}, (SPLIT,))
    piece = planned(task, f"source.exclude_globs=[{SPLIT}.02]")
    assert ([str(key) for key in piece.episodes], piece.left_out) == ([WHOLE, PIECES[0]], (PIECES[1],))
    typed = [f"+source.dir={task}", f"+output.dir={tmp_path / 'out'}", "+source.on_gap=split", "+dry_run=true"]
    assert main(["+processor=pooled_episodes", *typed, "+source.on_bad_run=skip", "+executor=inline",
                 f"+source.exclude_globs=[{SPLIT}]"]) == 0  # fmt: skip
    assert "matches nothing" not in capsys.readouterr().out


@pytest.mark.parametrize("name", [SPLIT, *PIECES])
def test_a_frozen_val_takes_all_pieces(task: Path, name: str) -> None:
    assert splits(planned(task, f"source.val_runs=[{name}]")) == {"train": [WHOLE], "val": PIECES}


def test_only_so_many_episodes_of_a_task_are_built_and_all_pieces_of_those(task: Path) -> None:
    """The first, by number, has no data."""
    found = {most: planned(task, f"source.max_runs_per_campaign={most}").episodes for most in (2, 3)}
    assert {most: [*map(str, keys)] for most, keys in found.items()} == {2: [WHOLE], 3: [WHOLE, *PIECES]}
