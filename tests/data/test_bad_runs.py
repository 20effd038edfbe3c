"""What becomes of a tree with bad runs: all of it told at once, or the good ones planned without them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.block_stack import BlockStack
from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline import disk
from quickdraw.pipeline.plan import BuildPlan, make_plan, without
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.settings import Settings

type TinyRun = Any
type Five = dict[str, TinyRun]
ONE, TWO, THREE, FOUR, FIVE = (
    "campaign3-play/recording_1",
    "campaign3-play/recording_2",
    "campaign5-play-long/recording_3",
    "campaign5-play-long/recording_4",
    "campaign8-purple/recording_5",
)
SKIP = "source.on_bad_run=skip"


class Inline:
    """An executor that runs tasks where it is called, the last first."""

    workers = 1

    def run[T, R](self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        return map(function, reversed(list(tasks)))


def settings_of(tree: Path, *arguments: str) -> Settings:
    output = f"output.dir={tree.parent / 'out'}"
    return block_stack(parse(["processor=block_stack", f"source.dir={tree}", output, *arguments]).config)


def planned(runs: Five, *arguments: str) -> BuildPlan:
    return make_plan(settings_of(runs[ONE].tree, *arguments), Inline(), PlainProgress())[0]


def refusal(runs: Five, *arguments: str) -> Refused:
    with pytest.raises(Refused) as refused:
        planned(runs, *arguments)
    return refused.value


def told(runs: Five, *arguments: str) -> list[str]:
    return [str(fault).replace(f"{runs[ONE].tree}/", "") for fault in refusal(runs, *arguments).faults]


def splits(plan: BuildPlan) -> dict[str, list[str]]:
    return {split.name: [str(key) for key in split.episodes] for split in plan.splits}


def left_out(plan: BuildPlan) -> list[str]:
    return [str(rejected.key) for rejected in plan.rejected]


def test_five_good_runs_are_planned(five: Five) -> None:
    plan = planned(five)
    assert splits(plan) == {"train": [THREE, FOUR], "val": [ONE, TWO], "eval_purple": [FIVE]}
    assert (plan.rejected, plan.warnings) == ((), ())


def spoil(run: TinyRun, **meta: Any) -> None:
    run.meta |= meta
    run.write()


def test_a_skipped_run_is_left_out_with_its_reasons_and_splits_are_made_of_the_others(five: Five) -> None:
    spoil(five[ONE], status="processing", validation=None)
    spoil(five[FOUR], status="recording")
    assert len(refusal(five).faults) == 3
    assert refusal(five).runs == 5
    plan = planned(five, SKIP)
    assert splits(plan) == {"train": [THREE], "val": [TWO], "eval_purple": [FIVE]}
    assert left_out(plan) == [ONE, FOUR]
    assert [fault.field for rejected in plan.rejected for fault in rejected.faults] == [
        "status",
        "validation",
        "status",
    ]


SIZE = "override: +source.allow_mixed_cameras=true"


def test_pictures_of_another_size_are_refused_with_who_has_which(five: Five) -> None:
    five[TWO].films["scene_right"] = five[TWO].encode(75, 48, 16)
    five[TWO].write()
    assert told(five) == [
        f"{TWO}: {TWO}/video/scene_right.mp4: scene_right picture size: found 48x16, expected one scene_right picture "
        f"size in all runs, not 48x16 in 1 run ({TWO}); 32x16 in 4 runs ({ONE}, {THREE}, {FOUR}, {FIVE}); {SIZE}"
    ]
    assert len(planned(five, "source.allow_mixed_cameras=true").episodes) == 5
    assert left_out(planned(five, SKIP)) == [TWO]
    assert len(planned(five, "source.cameras=[scene_left]").episodes) == 5  # nobody sees the difference


def test_a_camera_that_was_turned_in_some_runs_is_refused_and_one_that_does_not_say_is_not(five: Five) -> None:
    for name, turned in ((ONE, False), (TWO, False), (THREE, True), (FOUR, False)):
        five[name].times["scene_left"]["flipped_vertical"] = turned
        five[name].write()
    assert told(five) == [
        f"{THREE}: {THREE}/video/scene_left_frame_times.json: scene_left flipped_vertical: found true, expected one "
        f"scene_left flipped_vertical in all runs, not true in 1 run ({THREE}); false in 3 runs "
        f"({ONE}, {TWO}, {FOUR}); {SIZE}"
    ]
    assert len(planned(five, "source.allow_mixed_cameras=true").episodes) == 5


def test_controls_that_differ_are_refused_setting_by_setting_the_smaller_groups_first(five: Five) -> None:
    five[TWO].meta["provenance"]["config"] |= {"control": {"expo": 1.5, "deadzone": 0.12}}
    five[FOUR].meta["provenance"]["config"] |= {"control": {"expo": 1}, "controller": {"invert": {"yaw": False}}}
    for name in (TWO, FOUR):
        five[name].write()
    option = "override: +source.allow_mixed_control=true"
    most = f"2.0 in 3 runs ({ONE}, {THREE}, {FIVE}); others in 1 run"
    yaw = f"false in 1 run ({FOUR}); true in 4 runs ({ONE}, {TWO}, {THREE}, {FIVE})"
    one = "expected one control.expo in all runs, not"
    assert told(five) == [
        f"{TWO}: {TWO}/run.json: control.expo: found 1.5, {one} 1.5 in 1 run ({TWO}); {most}; {option}",
        f"{FOUR}: {FOUR}/run.json: control.expo: found 1.0, {one} 1.0 in 1 run ({FOUR}); {most}; {option}",
        f"{FOUR}: {FOUR}/run.json: controller.invert.yaw: found false, expected one controller.invert.yaw in all runs, "
        f"not {yaw}; {option}",
    ]
    assert left_out(planned(five, SKIP)) == [TWO, FOUR]
    assert len(planned(five, "source.allow_mixed_control=true").episodes) == 5


@pytest.mark.parametrize(
    ("section", "setting"),
    [("control", {"deadzone": 0.1}), ("control", {"translation_rate_mm_s": 100}), ("control", {"yaw_rate_deg_s": 59.5}),
     ("controller", {"invert": {"move_x": False}}), ("controller", {"invert": {"height": False}})],
)  # fmt: skip
def test_every_setting_that_changes_what_an_action_means_counts(
    section: str, setting: dict[str, Any], five: Five
) -> None:
    five[FIVE].meta["provenance"]["config"] |= {section: setting}
    five[FIVE].write()
    (fault,) = refusal(five).faults
    assert fault.where == FIVE
    assert fault.field.startswith(f"{section}.")


def test_settings_that_are_spelt_out_are_those_that_are_assumed_and_others_do_not_count(five: Five) -> None:
    five[ONE].meta["provenance"]["config"] |= {
        "control": {"deadzone": 0.12, "expo": 2, "translation_rate_mm_s": 120, "yaw_rate_deg_s": 60, "reanchor_mm": 5},
        "controller": {"invert": {"yaw": True}, "axes": {"move_x": "ABS_X"}},
    }
    five[ONE].write()
    assert len(planned(five).episodes) == 5


def test_of_two_groups_of_one_size_the_one_with_the_earliest_run_stays(five: Five) -> None:
    five[FOUR].meta["provenance"]["config"] |= {"control": {"expo": 3}}
    five[FOUR].write()
    excluded = "source.exclude_globs=[campaign8-*,campaign3-*]"
    (fault,) = refusal(five, excluded).faults
    assert (fault.where, fault.found) == (FOUR, "3.0")
    assert f"not 3.0 in 1 run ({FOUR}); 2.0 in 1 run ({THREE})" in fault.expected


def test_a_run_that_is_refused_already_has_no_say_in_what_most_runs_are(five: Five) -> None:
    for name in (ONE, TWO, THREE):
        five[name].meta["provenance"]["config"] |= {"control": {"expo": 3}}
        spoil(five[name], status="recording")
    assert [line.split(": ")[2] for line in told(five)] == ["status"] * 3


def test_one_recording_under_two_names_is_refused_however_it_is_written_down(five: Five) -> None:
    """The later name is the bad one: here it would be trained on and evaluated on."""
    copy = five[ONE].tree / "campaign9-copy" / "recording_0"
    shutil.copytree(five[ONE].folder, copy)
    for file in ("raw/controller.jsonl", "raw/arm_state.jsonl"):
        rows = [json.loads(line) for line in (copy / file).read_text().splitlines()]
        text = "\r\n".join(json.dumps(dict(sorted(row.items())) | {"note": 1}) for row in rows)
        (copy / file).write_text(text)
    assert told(five) == [
        "campaign9-copy/recording_0: campaign9-copy/recording_0: recording: "
        f"found the same streams and stamps as {ONE}, expected every recording once"
    ]
    plan = planned(five, SKIP)
    assert left_out(plan) == ["campaign9-copy/recording_0"]
    assert "eval_copy" not in splits(plan)
    rows[3]["gripper_pos"] = 12.0
    (copy / file).write_text("\n".join(map(json.dumps, rows)))
    assert len(planned(five).episodes) == 6


def test_a_folder_that_should_be_a_run_is_skipped_like_any_bad_run(five: Five) -> None:
    (five[ONE].tree / "campaign3-play" / "recording_0").mkdir()
    (five[ONE].tree / "campaign3-play" / "recording_6").symlink_to("/not/mounted")
    assert [line.partition(": found ")[2].partition(",")[0] for line in told(five)] == [
        "missing",
        "a link to /not/mounted",
    ]
    assert refusal(five).runs == 7
    assert left_out(planned(five, SKIP)) == ["campaign3-play/recording_0", "campaign3-play/recording_6"]


def test_faults_of_runs_between_runs_and_of_the_tree_are_told_together(five: Five) -> None:
    spoil(five[TWO], status="recording")
    five[FOUR].meta["provenance"]["config"] |= {"control": {"expo": 3}}
    five[FOUR].write()
    (five[ONE].tree / "campaign6-gone").symlink_to("/not/mounted")
    (five[ONE].tree / os.fsdecode(b"campaign7-\xff")).mkdir()
    clash = "source.eval_globs=[campaign8-*,campaign9-*,campaign5-*,campaign3-*]"
    shutil.copytree(five[FIVE].folder, five[ONE].tree / "campaign9-purple" / "recording_9")
    assert [line.split(": found ")[0].rpartition(": ")[2] for line in told(five, clash)] == [
        "status", "control.expo", "recording", "name", "name", "eval_globs", "pooled runs"
    ]  # fmt: skip


def test_an_excluded_campaign_whose_name_is_no_text_can_be_written_down(five: Five) -> None:
    (five[ONE].tree / os.fsdecode(b"_\xff")).mkdir()
    assert [name for name, split in planned(five).campaigns.items() if split is None] == [r"_\udcff"]


@pytest.mark.parametrize("how", [(), (SKIP,)])
def test_no_run_and_one_pooled_run_are_refused(how: tuple[str, ...], five: Five) -> None:
    one = told(five, *how, "source.exclude_globs=[campaign5-*,campaign3-play/recording_2]")
    assert one == [
        f"source: pooled runs: found 1 ({ONE}), expected at least 2, one for train, one for val; "
        "override: +source.dir=<tree> or +source.eval_globs=[...] or +source.exclude_globs=[...]"
    ]
    (none,) = told(five, *how, "source.exclude_globs=[campaign*]")
    assert none.startswith("source: pooled runs: found 0 (none), expected at least 2")


def test_a_pool_that_is_large_enough_but_for_bad_runs_is_no_fault_of_its_own_unless_they_are_skipped(
    five: Five,
) -> None:
    for name in (TWO, THREE, FOUR):
        spoil(five[name], status="recording")
    assert [line.split(": ")[2] for line in told(five)] == ["status"] * 3
    skipped = told(five, SKIP)
    assert skipped[:3] == told(five)
    assert skipped[3].startswith(f"source: pooled runs: found 1 ({ONE}), expected at least 2")


def test_a_frozen_val_run_that_is_bad_is_not_skipped_in_silence(five: Five) -> None:
    spoil(five[TWO], status="recording")
    frozen = f"source.val_runs=[{TWO}]"
    assert [line.split(": ")[2] for line in told(five, frozen)] == ["status"]
    assert told(five, frozen, SKIP)[1].startswith(f"source: val_runs: found {TWO} not in the pool, expected some of")


def bad(name: str) -> Rejected:
    return Rejected(EpisodeKey(*name.split("/")), (Fault(name, "scene_left", "picture 3: damaged", "a picture"),))


def test_what_turns_out_bad_later_is_taken_out_of_a_plan_and_splits_are_made_anew(five: Five) -> None:
    spoil(five[FOUR], status="recording")
    chosen = settings_of(five[ONE].tree, SKIP)
    plan = planned(five, SKIP)
    assert splits(plan) == {"train": [THREE], "val": [ONE, TWO], "eval_purple": [FIVE]}
    less, settled = without(plan, [bad(TWO), bad(FIVE)], chosen)
    assert settled is chosen  # what campaigns hold is known before any run is
    assert splits(less) == {"train": [THREE], "val": [ONE]}
    assert left_out(less) == [TWO, FOUR, FIVE]
    assert sorted(map(str, less.episodes)) == [ONE, THREE]
    assert less.warnings == ("only 2 pooled episodes: val has 1, not val_floor = 2",)
    assert (less.campaigns, less.left_out, less.ignored) == (plan.campaigns, plan.left_out, plan.ignored)
    with pytest.raises(Refused) as refused:
        without(less, [bad(ONE)], chosen)
    assert [fault.field for fault in refused.value.faults] == [
        "scene_left", "scene_left", "status", "scene_left", "pooled runs"]  # fmt: skip
    assert refused.value.runs == 5


def test_too_little_disk_is_refused_with_both_numbers_and_what_is_linked_need_not_fit_twice(
    five: Five, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = disk.estimated_bytes(planned(five), settings_of(five[ONE].tree))
    assert estimate == 2 * 1800 * 4 * sum(episode.frames for episode in planned(five).episodes.values())
    monkeypatch.setattr(disk, "free_bytes", lambda output: estimate - 1)
    (fault,) = refusal(five).faults
    assert (fault.where, fault.field, fault.path) == ("source", "disk", str(five[ONE].tree.parent / "out"))
    assert fault.found.endswith(" MB free")
    assert fault.expected.startswith("about ")
    clips = five[ONE].tree.parent / "out" / "media" / "scene_left"
    clips.mkdir(parents=True)
    (clips / "ep_0000.mp4").write_bytes(bytes(2))
    assert len(planned(five).episodes) == 5
    monkeypatch.setattr(disk, "free_bytes", lambda output: estimate // 2 - 1)
    (clips / "ep_0001.mp4").write_bytes(bytes(estimate))
    assert [fault.field for fault in refusal(five).faults] == ["disk"]


RECORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([10**400, "\ud800"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        ["t", "status", "provenance", "validation", "checks", "config", "control", "move_x", "mode", "x"]), inner),
    max_leaves=12,
)  # fmt: skip
FILES = ["run.json", "raw/controller.jsonl", "raw/arm_state.jsonl", "raw/commanded.jsonl",
         "video/scene_left_frame_times.json", "video/scene_left.mp4"]  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=st.sampled_from(FILES), content=st.binary(max_size=60) | RECORDS.map(lambda r: json.dumps(r).encode())
       | st.integers(1, 20000).map(lambda depth: b'{"t":' + b"[" * depth))  # fmt: skip
def test_whatever_stands_in_a_file_its_run_is_planned_or_rejected(file: str, content: bytes, five: Five) -> None:
    path = five[ONE].folder / file
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(content)
    result = BlockStack(five[ONE].tree, 30).plan(EpisodeKey(*ONE.split("/")))
    path.write_bytes(before)
    assert isinstance(result, EpisodePlan) or result.faults
    assert isinstance(result, EpisodePlan) is (file == "raw/commanded.jsonl")
