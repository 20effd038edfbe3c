"""What is wrong with runs is told, and left out, as it is on this machine, wherever it is found."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

type Once = Callable[[str, Callable[[Path], None]], Path]

OPTIONS = ("+processor=block_stack", "+source.cameras=[scene_left]", "+source.hw=[48,64]", "+report=false")
WITHOUT_PLAIN = ("+source.exclude_globs=[campaign8*]",)  # what is bad in it shows in the plan, and ends a build there
SKIPPED = ("+source.on_bad_run=skip",)
ELSEWHERE = {
    "ray": ("+executor=ray", "+executor.address={address}"),
    "slurm": ("+executor=slurm", "+executor.cluster=local", "+executor.job_cpus=2", "+executor.here=6"),
}


def damage(video: Path) -> None:
    """Blot out pictures, and nothing that is looked at before they are decoded."""
    content = bytearray(video.read_bytes())
    begun = content.index(b"mdat") + 4
    end = content.find(b"moov", begun) - 4
    end = end if end > begun else len(content)
    third = (end - begun) // 3
    content[begun + third : end - third] = bytes(end - begun - 2 * third)
    video.write_bytes(content)


@pytest.fixture(scope="session")
def bad_tree(once: Once, sample_tree: Path) -> Path:
    """Five runs, of which one is cut in its streams, and two are damaged in their pictures."""

    def make(tree: Path) -> None:
        for campaign in sample_tree.glob("campaign[3689]*"):
            shutil.copytree(campaign, tree / campaign.name, copy_function=shutil.copyfile)
        (run,) = tree.glob("campaign8*/recording_*")
        (run / "raw/arm_state.jsonl").write_text("")
        for run in [*sorted(tree.glob("campaign3*/recording_*"))[:1], *tree.glob("campaign9*/recording_*")]:
            damage(run / "video/scene_left.mp4")

    return once("bad-tree", make)


def told(watched: ModuleType, tree: Path, output: Path, *where: str) -> tuple[Any, Any]:
    """How a build ends that refuses bad runs, and one that skips them."""
    output.parent.mkdir(exist_ok=True)
    options = [*OPTIONS, f"+source.dir={tree}", *where]
    refused = watched.run([*options, *WITHOUT_PLAIN], output)
    assert not output.exists()
    return refused, watched.run([*options, *SKIPPED], output)


@pytest.fixture(scope="session")
def told_here(once: Once, watched: ModuleType, bad_tree: Path) -> Mapping[str, Any]:
    """By processes of this machine."""

    def make(folder: Path) -> None:
        refused, skipped = told(watched, bad_tree, folder / "d", "+source.workers=2")
        assert (refused.code, skipped.code) == (2, 0), (refused, skipped)
        assert refused.errors.count("scene_left.mp4") == 2, refused.errors
        (folder / "refused").write_text(refused.errors)
        (folder / "skipped").write_text("\n".join(not_built(skipped.out)))

    folder = once("told-here", make)
    words = {name: (folder / name).read_text() for name in ("refused", "skipped")}
    assert words["skipped"].count("not built: ") == 3
    return {**words, "dataset": watched.digests(folder / "d")}


def not_built(said: str) -> list[str]:
    return sorted(line for line in said.splitlines() if "not built: " in line)


@pytest.mark.parametrize("engine", ELSEWHERE)
def test_bad_runs_are_told_whole_and_left_out_as_on_this_machine(
    engine: str, bad_tree: Path, told_here: Mapping[str, Any], watched: ModuleType, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    address = request.getfixturevalue("ray_nodes").address if engine == "ray" else ""
    where = [option.format(address=address) for option in ELSEWHERE[engine]]
    refused, skipped = told(watched, bad_tree, tmp_path / "d", *where)
    assert refused.code == 2
    assert refused.errors == told_here["refused"]
    assert skipped.code == 0, skipped.errors
    assert "\n".join(not_built(skipped.out)) == told_here["skipped"]
    assert watched.digests(tmp_path / "d") == told_here["dataset"]
