"""The door of pooled tasks: what a build is told, how it is settled, where it is refused, what a tree is taken for."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.core.depth import CONTRACT, LEROBOT
from quickdraw.data.command_line.composing import default_config, parse
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.filming import filmings
from quickdraw.data.pooled_episodes.options import Depth, Imu, PooledOptions, PooledVideo
from quickdraw.data.pooled_episodes.settling import Camera, Settled, of_document
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.data.processor import source_of
from quickdraw.data.processors import main, pooled_episodes
from quickdraw.data.recognising import processor_of
from quickdraw.errors import Refused
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import BuildPlan, make_plan
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.settings import Settings
from quickdraw.video.copying import Copying
from quickdraw.video.depth_encoding import DepthEncoding
from quickdraw.video.encoding import Encoding

OPTIONS = msgspec.convert(as_json(default_config("pooled_episodes").source) | {"target_hz": 30}, PooledOptions)

type Processors = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def umi(sample_pooled: Path) -> Path:
    """Six episodes of one task: colour of 96x128, depth beside it."""
    return sample_pooled / "recordings" / "umi_pick"


def settings_of(tree: Path, *arguments: str) -> Settings:
    return pooled_episodes(parse(["processor=pooled_episodes", f"source.dir={tree}", *arguments]).config)


def planned(tree: Path, *arguments: str) -> tuple[BuildPlan, Settings]:
    return make_plan(settings_of(tree, *arguments), Inline(), PlainProgress())


def task(folder: Path, **info: Any) -> Path:
    """A task of no episode, as far as its info.json goes."""
    (folder / "meta").mkdir(parents=True)
    document = {"format": "pooled_episodes_v1", "chunks_size": 1000, "fps": 30.0, "features": {}} | info
    (folder / "meta" / "info.json").write_text(json.dumps(document))
    return folder


def test_the_content_is_all_that_can_change_the_dataset_and_nothing_else(umi: Path) -> None:
    settings = settings_of(umi, "source.workers=3", "source.rehash=true", "source.on_bad_run=skip", "source.seed=4",
                           "source.val_rule=random", "source.depth=true")  # fmt: skip
    content = settings.content
    assert (content["target_hz"], content["val_rule"], content["seed"], content["val_runs"]) == (30, "random", 4, [])
    assert content["depth"] == {"mode": "lossless"}
    assert not {"dir", "workers", "val_from", "on_bad_run", "rehash"} & set(content)
    assert json.loads(json.dumps(content)) == content
    assert (settings.rule.val_rule, settings.rule.seed, settings.rule.val_floor) == ("random", 4, 0)
    assert (settings.on_bad_run, settings.rehash, settings.cubes, settings.name) == ("skip", True, None, "pooled")


def test_before_an_episode_is_known_there_is_no_camera_and_no_feature(umi: Path) -> None:
    settings = settings_of(umi)
    assert (settings.encodings, settings.source.features, settings.source.cameras) == ({}, (), ())
    assert "settled" not in settings.content


def test_the_source_is_asked_for_what_was_typed(umi: Path) -> None:
    source = settings_of(
        umi, "source.hw=[48,64]", "source.cameras=[front]", "source.slots.front=[umi_rgb,x]", "source.depth.mode=copy",
        "source.video.mode=copy", "source.video.gop=30", "source.fold=first", "source.on_gap=split",
        "source.max_gap_s=2", "source.imu.mode=mean", "source.imu.samples=4", "source.force_matrices=25x50",
        "source.clocks=true", "source.state=[slam_pose]", "source.action=next_state",
    ).source  # fmt: skip
    assert source == PooledEpisodes(umi, replace(OPTIONS,
        target_hz=30, cameras=("front",), slots={"front": ("umi_rgb", "x")}, hw=(48, 64), depth=Depth("copy"),
        video=PooledVideo(mode="copy", gop=30, codec="h264", crf=15, preset="veryfast"), fold="first", on_gap="split",
        max_gap_s=2.0, imu=Imu("mean", 4),
        force_matrices="25x50", clocks=True, state=("slam_pose",), action="next_state",
    ))  # fmt: skip


def test_settling_gives_features_cameras_and_encodings_and_writes_down_what_it_found(umi: Path) -> None:
    plan, settings = planned(umi, "source.depth=true", "source.video.codec=hevc", "source.state=[slam_pose]")
    assert len(plan.episodes) == 6
    colour, depth = settings.source.cameras
    assert (colour, depth) == ("umi_rgb", "umi_depth")
    assert settings.encodings == {
        colour: Encoding(96, 128, 30, crf=14, preset="ultrafast", gop=5, codec="hevc"),
        depth: DepthEncoding(96, 128, 30, 5, LEROBOT),
    }
    assert settings.source.features[0].name == "observation.state"
    assert [spec.name for spec in settings.dataset_spec().camera_specs] == [colour, depth]
    assert isinstance(settings.source, PooledEpisodes)
    told = json.loads(json.dumps(settings.content))
    assert of_document(told["settled"]) == settings.source.settled
    assert source_of("pooled_episodes", told, umi) == settings.source
    assert pickle.loads(pickle.dumps(settings.source)) == settings.source


def test_a_size_that_is_asked_for_is_that_of_colour_alone(umi: Path) -> None:
    _, settings = planned(umi, "source.hw=[48,64]", "source.depth=true")
    sizes = {name: (each.height_px, each.width_px) for name, each in settings.encodings.items()}
    assert sizes == {"umi_rgb": (48, 64), "umi_depth": (96, 128)}


def test_each_camera_is_filmed_as_it_is_asked_for() -> None:
    stream = {"codec": "hevc", "pix_fmt": "gray12le", "gop": 3}
    cameras = (Camera("odd", "rgb", 97, 129, None), Camera("same", "rgb", 96, 128, stream | {"pix_fmt": "yuv420p"}),
               Camera("deep", "depth", 97, 129, None), Camera("codes", "depth", 96, 128, stream))  # fmt: skip
    video = replace(OPTIONS.video.resolved(), gop=7)
    found = filmings(Settled((), cameras, {}, ()), replace(OPTIONS, target_hz=25, video=video))
    assert found == {
        "odd": Encoding(96, 128, 25, crf=15, preset="veryfast", gop=7),
        "same": Copying(96, 128, 25, codec="hevc", pix_fmt="yuv420p", gop=3),
        "deep": DepthEncoding(97, 129, 25, 7, LEROBOT),
        "codes": Copying(96, 128, 25, codec="hevc", pix_fmt="gray12le", gop=3, scale=CONTRACT),
    }


@pytest.mark.parametrize("output", ["{tree}/out", "{tree}", "{tree}/.."])
def test_source_and_output_must_not_lie_inside_one_another(output: str, tmp_path: Path) -> None:
    tree = task(tmp_path / "root" / "t").parent
    with pytest.raises(Refused, match=r"output\.dir: found .*, one inside the other, expected two folders apart"):
        settings_of(tree, f"output.dir={output.format(tree=tree)}")


def test_the_rate_is_that_of_the_first_task_that_is_not_left_out(tmp_path: Path) -> None:
    for name, fps in (("a", 29.97), ("b", 25.0), ("c", 30.0)):
        task(tmp_path / "root" / name, fps=fps)
    with pytest.raises(Refused, match=r"a: .*fps: found 29\.97, expected a whole number of frames a second"):
        settings_of(tmp_path / "root")
    assert settings_of(tmp_path / "root", "source.exclude_globs=[a]").source.rate_hz == 25
    assert settings_of(tmp_path / "root", "source.exclude_globs=[a,b]").content["target_hz"] == 30


def test_a_rate_the_codec_cannot_tell_is_refused_before_an_episode_is_read(tmp_path: Path) -> None:
    tree = task(tmp_path / "t", fps=250.0)
    with pytest.raises(Refused, match=r"source\.video\.codec: found av1 for tasks of 250 Hz, expected a codec of"):
        settings_of(tree, "source.video.codec=av1")
    assert settings_of(tree).source.rate_hz == 250
    assert settings_of(tree, "source.video.codec=av1", "source.video.mode=copy").source.rate_hz == 250


@pytest.mark.parametrize(("name", "found"), [("gone", "nothing there"), ("file", "a file")])
def test_a_tree_that_is_none_is_refused_with_2(
    name: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["processor=pooled_episodes", f"source.dir={tmp_path / name}"]) == 2
    assert f"dir: found {found}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_every_misspelt_option_and_every_range_is_told_with_usage_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["processor=pooled_episodes", "source.dir=/d", "source.fold=x", "source.imu.samples=0"]) == 2
    *faults, usage = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[2] for line in faults] == ["source.fold", "source.imu.samples"]
    assert usage.startswith("usage: python -m quickdraw.data.processors +processor=<name> +source.dir=<tree>")


def test_refused_episodes_come_with_the_way_to_leave_them_out(
    sample_pooled: Path, tmp_path: Path, processors: Processors
) -> None:
    tree = sample_pooled / "recordings" / "two_slots_apart"
    result = processors("+processor=pooled_episodes", f"source.dir={tree}", "dry_run=true", cwd=tmp_path)
    assert (result.returncode, list(tmp_path.iterdir())) == (2, [])
    *_, advice = result.stderr.splitlines()
    assert "bad episodes are left out, and the others built, with +source.on_bad_run=skip" in advice
    assert advice.endswith("+source.exclude_globs=[...,task/episode_000012]")
    assert "+source.fold=first" in result.stderr
    allowed = processors(
        "+processor=pooled_episodes", f"source.dir={tree}", "dry_run=true", "+source.fold=first", cwd=tmp_path
    )
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert "one pooled episode: it goes to train, and there is no val" in allowed.stdout


def test_a_slip_in_an_option_and_bad_episodes_are_told_together_with_both_ways_out(
    sample_pooled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether a feature is one is known only when the episodes are."""
    monkeypatch.chdir(tmp_path)
    arguments = ["source.state=[nope]", "source.exclude_globs=[two_*]", "executor=inline", "dry_run=true"]
    assert main(["processor=pooled_episodes", f"source.dir={sample_pooled / 'recordings'}", *arguments]) == 2
    *faults, usage, advice = capsys.readouterr().err.splitlines()
    assert any(line.startswith("refused: command line: source.state: found nope, expected ") for line in faults)
    assert any(line.startswith("loose_ends/episode_000002: ") for line in faults)
    assert usage.startswith("usage: ")
    assert advice.startswith("bad episodes are left out")


def test_a_typed_glob_that_matches_nothing_is_warned_of_and_no_task_held_out_is(
    umi: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    build = ["processor=pooled_episodes", f"source.dir={umi}", "dry_run=true", "executor=inline"]
    assert main(build) == 0
    assert "matches nothing" not in (out := capsys.readouterr().out)
    assert "held out" not in out
    assert main([*build, "source.eval_globs=[held-*]", "source.exclude_globs=[umi_pick/episode_000006,b/c]"]) == 0
    out = capsys.readouterr().out
    assert "warning: source.eval_globs: held-* matches nothing" in out
    assert "warning: source.exclude_globs: b/c matches nothing" in out
    assert "warning: no task is held out: none is held-* (source.eval_globs)" in out
    assert "left out: umi_pick/episode_000006" in out
    assert out.count("matches nothing") == 2


def test_a_task_and_a_root_of_tasks_are_told_from_campaigns(tmp_path: Path, sample_pooled: Path) -> None:
    root = sample_pooled / "recordings"
    assert {processor_of(folder) for folder in (root, root / "umi_pick", root / "two_slots")} == {"pooled_episodes"}
    campaigns = tmp_path / "campaigns"
    (campaigns / "campaign3").mkdir(parents=True)
    assert processor_of(campaigns) == "block_stack"
    task(campaigns / "_old")  # passed over, as the source does
    assert processor_of(campaigns) == "block_stack"
    task(campaigns / "stray")
    assert processor_of(campaigns) == "pooled_episodes"
    (campaigns / "campaign3" / "campaign.json").write_text("{}")
    assert processor_of(campaigns) == "block_stack"
    assert processor_of(tmp_path / "gone") == "block_stack"


def inspect(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["inspect", "--json", *arguments, "+executor=inline"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    told: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, told


def test_inspect_takes_a_pooled_task_for_what_it_is(umi: Path) -> None:
    code, told = inspect(str(umi))
    assert (code, told["refused"], told["counts"]["episodes"]) == (0, False, 6)
    assert [campaign["name"] for campaign in told["campaigns"]] == ["umi_pick"]
    assert [episode["run"] for episode in told["episodes"]] == [f"episode_{n:06d}" for n in range(1, 7)]
    assert told["splits"][0]["name"] == "train"
    assert inspect(str(umi), "+processor=pooled_episodes", "source.val_rule=random")[0] == 0


def test_inspect_does_as_it_is_told_where_another_processor_is_named(umi: Path) -> None:
    code, told = inspect(str(umi.parent), "+processor=block_stack")
    assert (code, told["counts"]["episodes"]) == (2, 0)
    code, told = inspect(str(umi), "++processor=pooled")
    assert (code, told["faults"][0]["field"]) == (2, "processor")
    code, told = inspect(str(umi), "+source.target_hz=30")
    assert (code, told["faults"][0]["where"], told["faults"][0]["field"]) == (2, "command line", "option")


def test_inspect_tells_in_words_what_stands_in_the_way_of_each_episode(sample_pooled: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_pooled / "recordings" / "loose_ends", tmp_path / "loose_ends")
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "loose_ends"), "+executor=inline"])
    assert result.exit_code == 2
    assert "loose_ends/episode_000002: " in result.stderr
    assert "override: +source.on_gap=split" in result.stderr
    assert " episodes; nothing was published" in result.stderr.splitlines()[-1]
