"""`scripts/bench` at a tiny size: its figures fit together, and are of what it says they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from benchmarks.filling import fill
from benchmarks.floor import run_floor
from benchmarks.footage import Footage
from benchmarks.growth import Point, slopes_ms
from benchmarks.growth_figures import draw_growth
from benchmarks.measuring import Measured
from benchmarks.ours import task_of
from benchmarks.trees import plans, write_tree
from benchmarks.usual import files_of_one_run, measure_usual, our_video
from benchmarks.usual_path import SETTINGS
from benchmarks.work import OtherOptions, work_folder
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.formats.pooled.check import check
from quickdraw.sim.film import count_pictures

ROOT = Path(__file__).resolve().parents[2]
TINY = ["--runs", "2", "--seconds", "3", "--long-runs", "0", "--repeats", "1", "--no-usual", "--noise-levels", "0"]


def bench(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    found = os.pathsep.join(filter(None, [str(ROOT / "scripts"), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": found}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def measured(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A folder in which `speed` was measured at a tiny size: work/ and speed.json."""

    def make(folder: Path) -> None:
        folder.mkdir()
        result = bench("speed", *TINY, "--folder", "work", "--json", "speed.json", folder=folder)
        assert result.returncode == 0, result.stderr
        (folder / "printed.txt").write_text(result.stdout)

    return once("bench-speed", make)


@pytest.fixture(scope="module")
def document(measured: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((measured / "speed.json").read_text())
    return found


def test_ratios_are_those_of_the_numbers_beside_them(document: dict[str, Any]) -> None:
    cpu_s = {name: median(each["cpu_s"] for each in costs) for name, costs in document["repeats"].items()}
    wall_s = {name: median(each["wall_s"] for each in costs) for name, costs in document["repeats"].items()}
    assert document["ratios"] == pytest.approx(
        {
            "core / floor, CPU": median(document["core_tasks_cpu_s"]) / cpu_s["floor"],
            "core with its processes' start / floor, CPU": cpu_s["core"] / cpu_s["floor"],
            "ours / floor, CPU": cpu_s["ours"] / cpu_s["floor"],
            "ours / floor, wall": wall_s["ours"] / wall_s["floor"],
            "split only / ours, wall": document["once"]["split only"]["wall_s"] / wall_s["ours"],
            "split only / ours, CPU": document["once"]["split only"]["cpu_s"] / cpu_s["ours"],
        }
    )


def test_every_cost_is_one_that_can_be(document: dict[str, Any]) -> None:
    costs = [cost for costs in document["repeats"].values() for cost in costs] + list(document["once"].values())
    cores = document["machine"]["cores"]
    assert len(costs) == 3 + 4
    for cost in costs:
        assert 0 < cost["cpu_s"] < cost["wall_s"] * cores * 1.1
        assert max(cost["parent_peak_mb"], cost["worker_peak_mb"]) > 10
    assert document["core_tasks_cpu_s"][0] < document["repeats"]["core"][0]["cpu_s"]
    assert document["repeats"]["ours"][0]["worker_peak_mb"] > document["repeats"]["core"][0]["worker_peak_mb"]


def test_frames_are_what_the_tree_holds_and_the_dataset_shows(measured: Path, document: dict[str, Any]) -> None:
    sidecars = [json.loads(path.read_text()) for path in measured.glob("work/raw/*/*/video/*.json")]
    assert len(sidecars) == document["footage"]["camera_files"] == 8
    assert document["footage"]["pictures"] == sum(len(sidecar["t"]) for sidecar in sidecars)
    splits = [SplitReader(measured / "work/ours/dataset" / name) for name in ("train", "val")]
    assert document["footage"]["rows"] == sum(len(split.frame()) for split in splits)


def test_the_floors_clips_hold_every_picture_of_the_source_and_the_cores_every_row(
    measured: Path, document: dict[str, Any]
) -> None:
    files = task_of(measured / "work/raw").files
    floor, core = (sorted((measured / "work" / name).glob("*.mp4")) for name in ("floor", "core"))
    assert [count_pictures(clip) for clip in floor] == [count_pictures(file.path) for file in files]
    assert [count_pictures(clip) for clip in core] == [file.rows for file in files]
    assert [file.pictures for file in files] == sorted((file.pictures for file in files), reverse=True)


def test_the_cores_clips_are_those_the_build_publishes(measured: Path) -> None:
    core = sorted(clip.read_bytes() for clip in measured.glob("work/core/*.mp4"))
    built = sorted(clip.read_bytes() for clip in measured.glob("work/ours/dataset/media/*/*/*.mp4"))
    assert core == built
    assert len(core) == 8


def test_what_is_printed_names_the_footage_every_cost_and_every_ratio(measured: Path, document: dict[str, Any]) -> None:
    printed = (measured / "printed.txt").read_text()
    for name in (*document["repeats"], *document["once"], *document["ratios"], "camera minutes"):
        assert name in printed


def test_bare_ffmpeg_and_our_core_write_pictures_equally_near_their_source(measured: Path, tmp_path: Path) -> None:
    task = task_of(measured / "work/raw")
    files = [file for file in task.files if file.camera == "scene_left"][:1]
    ours = our_video(files, [measured / f"work/core/{task.files.index(files[0]):04d}.mp4"])
    _, (clip,) = run_floor([files[0].path], tmp_path, task.encoding, 1)
    assert clip.stat().st_size / files[0].pictures == pytest.approx(ours.picture_bytes, rel=0.1)
    assert 0.1 < ours.residual < 2.0


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_usual_path_makes_the_same_pictures_farther_from_their_source(
    measured: Path, tmp_path: Path, setting: str
) -> None:
    task = task_of(measured / "work/raw")
    files = files_of_one_run(task, 1)
    usual = measure_usual(setting, files, task, tmp_path)
    ours = our_video(files, [measured / f"work/core/{task.files.index(files[0]):04d}.mp4"])
    assert usual.video.pictures == files[0].pictures
    assert ours.residual < usual.video.residual < 10
    assert 0 < usual.wall_s < usual.command.wall_s
    assert 0 < usual.cpu_s < usual.command.cpu_s


def test_a_kept_folder_is_used_again_with_the_same_options_only(tmp_path: Path) -> None:
    with work_folder(tmp_path / "kept", {"runs": 2}) as work:
        (work / "tree").touch()
    with work_folder(tmp_path / "kept", {"runs": 2}) as work:
        assert (work / "tree").exists()
    with (
        pytest.raises(OtherOptions, match=r'made with \{"runs": 2\}, not \{"runs": 3\}'),
        work_folder(tmp_path / "kept", {"runs": 3}),
    ):
        pass
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").touch()
    with pytest.raises(OtherOptions, match="holds something else"), work_folder(tmp_path / "foreign", {}):
        pass


def test_runs_filled_up_from_a_few_are_all_accepted_as_recordings_of_their_own(
    measured: Path, tmp_path: Path, processors: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    footage = Footage(measured / "work/footage", 3.0, noise_levels=0.0)
    tree = tmp_path / "raw"
    fill(write_tree(tree, plans(runs=1, seconds=3.0), footage), 3)
    result = processors(
        "+processor=block_stack", f"+source.dir={tree}", "+source.allow_simulated=true", "+dry_run=true", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert len({path.stat().st_ino for path in tree.glob("*/*/video/scene_left.mp4")}) == 1
    first, second, third = (json.loads(path.read_text())["t"] for path in sorted(tree.glob("*/*/video/scene_left_*")))
    assert [second[7] - first[7], third[7] - second[7]] == pytest.approx([1000, 1000])
    assert {file.rows for file in task_of(tree).files} == {task_of(tree).files[0].rows}


def test_slopes_are_those_of_a_line(tmp_path: Path) -> None:
    points = [Point(2, s, 100 * s, Measured(1.0, 3.0 + 0.2 * s, 100.0, 200.0)) for s in (10, 20, 40)]
    assert slopes_ms(points) == pytest.approx([2.0, 2.0])
    draw_growth({"episode length": points}, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_both_readers_of_jsonl_see_the_same_rows(tmp_path: Path) -> None:
    result = bench("jsonl", "--megabytes", "0.5", "--repeats", "1", "--json", "jsonl.json", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    streams = json.loads((tmp_path / "jsonl.json").read_text())["streams"]
    assert [stream["stream"] for stream in streams] == ["controller", "arm_state"]
    for stream in streams:
        assert stream["ratio"] == pytest.approx(stream["json_loads_s"][0] / stream["read_rows_s"][0])
        assert 100 < stream["bytes"] / stream["rows"] < 2000


def test_a_plan_is_of_as_many_runs_as_were_asked_for_and_writes_nothing(tmp_path: Path) -> None:
    options = ["--runs", "5", "--seconds", "2.5", "--workers", "1"]
    result = bench("plan", *options, "--folder", "work", "--json", "plan.json", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "plan.json").read_text())
    assert (found["runs"], found["seconds"]) == (5, 2.5)
    assert found["cost"]["cpu_s"] > 0
    assert found["cost"]["parent_peak_mb"] > 50
    assert len(list((tmp_path / "work/raw").glob("*/*/video/scene_left.mp4"))) == 5
    assert not (tmp_path / "work/planned").exists()


def test_extras_are_measured_on_every_picture_of_every_camera(tmp_path: Path) -> None:
    result = bench("extras", "--seconds", "2.5", "--folder", "work", "--json", "extras.json", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "extras.json").read_text())
    files = task_of(tmp_path / "work/raw").files
    cubes = sum(file.rows for file in files if file.camera.startswith("scene"))
    rows = sum(file.rows for file in files)
    assert found["pictures"]["decode, scale, encode"] == sum(file.pictures for file in files)
    assert found["pictures"]["checksums of the clip"] == found["pictures"]["joining"] == rows
    assert (found["pictures"]["cubes and colours"], found["pictures"]["colours"]) == (cubes, rows - cubes)
    for name, cpu_s in found["cpu_s"].items():
        assert f"{cpu_s / found['pictures'][name] * 1e3:.3f}" in result.stdout, name


def test_pooled_tasks_are_measured_beside_a_plain_script_on_as_many_episodes_as_were_asked_for(tmp_path: Path) -> None:
    options = ["--episodes", "4", "--rows", "10", "--pictures", "3", "--repeats", "2"]
    result = bench("pooled", *options, "--folder", "work", "--json", "pooled.json", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    rates = {each["name"]: each for each in json.loads((tmp_path / "pooled.json").read_text())["rates"]}
    assert list(rates) == [
        "decode int16x100",
        "decode float32",
        "read int16x100",
        "read float32",
        "check",
        "open",
        "record ffv1",
        "decode ffv1",
        "record ffv1 and heat map",
        "decode ffv1 and heat map",
        "record log12",
        "decode log12",
    ]
    assert rates["check"]["units"] == rates["open"]["units"] == 4
    for rate in rates.values():
        assert len(rate["plain_s"]) == len(rate["ours_s"]) == 2
        assert rate["ratio"] == pytest.approx(median(rate["plain_s"]) / median(rate["ours_s"]))
    assert check(tmp_path / "work/bench", deep=True).passes(strict=True)
