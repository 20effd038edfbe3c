"""A whole build of a simulated tree: what its rows say of the cubes against where the simulator has them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.core.hues import COLOURS
from quickdraw.data.block_stack import BlockStack
from quickdraw.data.block_stack_options import CUBE_CAMERAS
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.pipeline.trace import read_provenance
from quickdraw.sim.scene import renderer
from quickdraw.sim.scenes import ALL_TRAPS
from quickdraw.sim.spec import DEFAULT_COLOURS, PURPLE_COLOURS, Look, RunSpec
from quickdraw.sim.tree import CampaignSpec, plan_tree, write_tree

SEED = 11
CAMPAIGNS = (
    CampaignSpec("campaign3-play", runs=2, seconds=4.0),
    CampaignSpec("campaign8-purple-play", runs=1, seconds=5.0, cube_colours=PURPLE_COLOURS),
)
BASE = RunSpec(look=Look(gain_swing=0.2, balance_swing=0.06), traps=ALL_TRAPS)
PALETTES = {"train": DEFAULT_COLOURS, "val": DEFAULT_COLOURS, "eval_purple_play": PURPLE_COLOURS}


@pytest.fixture(scope="module")
def lit(
    once: Callable[[str, Callable[[Path], None]], Path], processors: Callable[..., subprocess.CompletedProcess[str]]
) -> Path:
    """A folder with the tree, `raw`, and what was built of it, `built`."""

    def make(folder: Path) -> None:
        write_tree(folder / "raw", seed=SEED, campaigns=CAMPAIGNS, base=BASE, strays=False)
        result = processors(
            "+processor=block_stack",
            "+report=false",
            f"+source.dir={folder / 'raw'}",
            f"+output.dir={folder / 'built'}",
            cwd=folder,
        )
        assert result.returncode == 0, result.stderr

    return once("lit", make)


def rows_of(lit: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each episode's provenance and its `(T, 4, 2, 4)` rows: colour, view, measure."""
    for episode in read_provenance(lit / "built")["episodes"]:
        rows = SplitReader(lit / "built" / episode["split"]).array("observation.objects.cube", episode["episode_index"])
        yield episode, rows.reshape(-1, 4, 2, 4)


def truth_of(lit: Path, episode: dict[str, Any], camera: str) -> Any:
    """`(T, 4, 3)` visible area [px] and centre [0, 1] of each colour in the picture every row shows."""
    folder = Path(episode["campaign"], episode["run"])
    (spec,) = [run.spec for run in plan_tree(seed=SEED, campaigns=CAMPAIGNS, base=BASE) if run.folder == folder]
    source, shown = BlockStack(lit / "raw", 30), renderer(spec, camera)
    plan = next(source.plan(key) for key in source.campaign(episode["campaign"]).runs if key.run == episode["run"])
    truth = np.zeros((episode["frames"], 4, 3))
    for row, picture in enumerate(source.frame_plan(plan, camera).frame_index.tolist()):
        for cube in shown.visible_cubes(picture):
            truth[row, COLOURS.index(cube.colour)] = cube.area * 144 * 192, *cube.centre
    return truth


def test_rows_say_where_the_cubes_are_and_how_much_is_seen_of_them(lit: Path) -> None:
    visible = seen = phantoms = 0
    errors_px, ratios = list[float](), list[float]()
    for episode, rows in rows_of(lit):
        for view, camera in enumerate(CUBE_CAMERAS):
            truth = truth_of(lit, episode, camera)
            measured = rows[:, :, view]
            due, found = truth[..., 0] > 25, measured[..., 3] > 0
            visible, seen = visible + int(due.sum()), seen + int((due & found).sum())
            phantoms += int((found & (truth[..., 0] == 0)).sum())
            both = due & found
            errors_px += np.hypot(*((measured[both, :2] - truth[both, 1:]) * [192, 144]).T).tolist()
            ratios += (measured[both, 2] ** 2 * 120 / truth[both, 0]).tolist()
    assert visible > 1000
    assert seen / visible >= 0.98
    assert phantoms == 0
    assert np.median(errors_px) < 0.8
    assert np.percentile(errors_px, 95) < 2.5
    assert 0.85 <= np.median(ratios) <= 1.15


def test_a_cube_not_seen_stays_where_it_was_last_seen_in_its_own_episode(lit: Path) -> None:
    held = 0
    for _, rows in rows_of(lit):
        last = np.zeros((4, 2, 2), np.float32)
        for row in rows:
            seen = row[..., 3] > 0
            np.testing.assert_array_equal(row[~seen][:, :2], last[~seen])
            np.testing.assert_array_equal(row[~seen][:, 2:], 0)
            np.testing.assert_allclose(row[seen][:, 3], np.minimum(row[seen][:, 2] ** 2, 1), rtol=1e-6)
            last[seen] = row[seen][:, :2]
            held += int((~seen & last.any(axis=-1)).sum())
    assert held > 50


def test_every_split_has_its_own_colours_and_is_zero_in_the_others(lit: Path) -> None:
    assert read_provenance(lit / "built")["palette"] == {split: list(colours) for split, colours in PALETTES.items()}
    for episode, rows in rows_of(lit):
        for number, colour in enumerate(COLOURS):
            assert rows[:, number].any() == (colour in PALETTES[episode["split"]]), (episode["run"], colour)
