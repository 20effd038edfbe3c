"""What all processors have alike: how one is found, whose folder it is, and everything wrong told in one round."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.data.building import settings_of
from quickdraw.data.command_line.composing import default_config, option_names, parse
from quickdraw.data.options import as_json
from quickdraw.data.processor import processor, processor_names, source_of
from quickdraw.data.processors import main
from quickdraw.data.recognising import processor_of
from quickdraw.errors import Refused

BLOCK_STACK, POOLED = "block_stack", "pooled_episodes"


def refusal_of(*arguments: str) -> list[str]:
    try:
        command = parse(arguments)
        settings_of(command.processor, command.config)
    except Refused as refused:
        return [str(fault) for fault in refused.faults]
    return []


def told() -> dict[str, Any]:
    """Options of pooled_episodes as a dataset tells them."""
    return as_json(default_config(POOLED).source) | {"target_hz": 30}


def test_every_processor_says_in_its_source_that_it_is_the_one() -> None:
    options = {BLOCK_STACK: as_json(default_config(BLOCK_STACK).source), POOLED: told()}
    assert {name: source_of(name, options[name], Path("/t")).processor for name in processor_names()} == {
        name: name for name in options
    }


@pytest.mark.parametrize("name", ["os", "processors", "..cli.main", "", "block_stack.yaml"])
def test_only_what_has_a_yaml_is_imported(name: str) -> None:
    """The name may come from somebody's provenance.json."""
    with pytest.raises(Refused, match=r"source: processor: found .*, expected one of block_stack, pooled_episodes"):
        processor(name)


@pytest.mark.parametrize("missing", ["fold", "imu", "slots", "target_hz"])
def test_a_source_is_not_made_of_options_that_lack_one(missing: str) -> None:
    options = {name: value for name, value in told().items() if name != missing}
    with pytest.raises(Refused, match=f"malformed .*missing required field `{missing}`"):
        source_of(POOLED, options, Path("/t"))


@pytest.mark.parametrize("wrong", [{"fold": "last"}, {"hw": [3, 4]}, {"imu": {"mode": "window", "samples": 0}}])
def test_a_source_is_held_to_the_ranges_of_the_command(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"source: options: found malformed \(.+\), expected those of pooled_episodes"):
        source_of(POOLED, told() | wrong, Path("/t"))


def test_campaigns_for_the_wrong_processor_are_told_as_such(
    tmp_path: Path, sample_tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = refusal_of(f"processor={POOLED}", f"source.dir={sample_tree}", f"output.dir={tmp_path / 'out'}")
    assert (
        f"processor: found pooled_episodes, but {sample_tree} holds recordings of block_stack, expected a task" in line
    )
    assert line.endswith("override: +processor=block_stack")
    monkeypatch.chdir(tmp_path)
    assert main([f"processor={POOLED}", f"source.dir={sample_tree}"]) == 2
    assert "+processor=block_stack" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["recordings", "recordings/umi_pick"])
def test_tasks_for_the_wrong_processor_are_told_as_such(tmp_path: Path, sample_pooled: Path, below: str) -> None:
    tree = sample_pooled / below
    (line,) = refusal_of(f"processor={BLOCK_STACK}", f"source.dir={tree}", f"output.dir={tmp_path / 'out'}")
    assert (
        f"processor: found block_stack, but {tree} holds recordings of pooled_episodes, expected a raw campaign" in line
    )
    assert line.endswith("override: +processor=pooled_episodes")


def test_campaigns_without_a_campaign_json_are_campaigns_whatever_lies_beside_them(
    tmp_path: Path, tiny_run: Callable[..., Any]
) -> None:
    run = tiny_run(tmp_path / "tree", "campaign3-play", "recording_1")
    run.write()
    (tmp_path / "tree/campaign3-play/campaign.json").unlink(missing_ok=True)
    assert processor_of(tmp_path / "tree") == BLOCK_STACK
    (tmp_path / "tree/a_dataset/meta").mkdir(parents=True)
    (tmp_path / "tree/a_dataset/meta/info.json").touch()
    command = parse([f"processor={BLOCK_STACK}", f"source.dir={tmp_path / 'tree'}", f"output.dir={tmp_path / 'out'}"])
    assert settings_of(BLOCK_STACK, command.config).source.campaigns() == ["a_dataset", "campaign3-play"]
    shutil.rmtree(tmp_path / "tree/campaign3-play")
    assert processor_of(tmp_path / "tree") == POOLED


def test_a_task_whose_name_is_a_runs_is_a_task(tmp_path: Path) -> None:
    (tmp_path / "recording_of_cups/meta").mkdir(parents=True)
    (tmp_path / "recording_of_cups/meta/info.json").touch()
    assert processor_of(tmp_path) == POOLED


def test_kinds_choices_and_ranges_are_told_in_one_round() -> None:
    lines = refusal_of(
        f"processor={POOLED}", "source.dri=/d", "source.workers=two", "source.fold=x", "source.imu.samples=0",
        "source.slots.front=[]", "source.video.crf=99", "source.seed=-1", "x",
    )  # fmt: skip
    fields = ["argument", "option", "source.workers", "source.fold", "source.slots.front", "source.imu.samples",
              "source.video.crf", "source.seed"]  # fmt: skip
    assert [line.split(": ")[1] for line in lines] == fields


def test_what_was_not_typed_is_no_fault_beside_a_misspelt_option() -> None:
    (line,) = refusal_of(f"processor={BLOCK_STACK}", "source.dri=/d")
    assert "found source.dri (did you mean source.dir" in line


def test_a_misspelt_option_is_not_answered_by_all_there_are() -> None:
    (line,) = refusal_of(f"processor={POOLED}", "source.dir=/d", "source.image_size=3")
    assert sum(name in line for name in option_names(POOLED)) <= 4
    assert "expected an option that --help +processor=pooled_episodes lists" in line


def test_defaults_are_the_same_whatever_was_typed_before() -> None:
    parse([f"processor={POOLED}", "source.slots.a=[b]", "source.exclude_globs=[x]", "source.video.crf=3"])
    assert default_config(POOLED).source.slots == {}
    assert default_config(POOLED).source.exclude_globs == ()
    assert default_config(POOLED).source.video.crf is None


def test_a_processor_warns_of_its_own_options() -> None:
    warns = processor(BLOCK_STACK).warns
    one = parse([f"processor={BLOCK_STACK}", "source.cameras=[scene_left]"]).config.source
    (line,) = warns(one)
    assert line.startswith("no observation.objects.cube: it is measured in scene_right and gripper_right_top")
    assert (
        [*warns(default_config(BLOCK_STACK).source)] == [*processor(POOLED).warns(default_config(POOLED).source)] == []
    )
