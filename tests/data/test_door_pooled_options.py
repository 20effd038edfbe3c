"""Options of pooled_episodes: typed as they are meant, every range told in one go, and what a build is told of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.data.command_line.arguments import named
from quickdraw.data.command_line.composing import default_config, option_names, parse
from quickdraw.data.options import as_json
from quickdraw.data.pooled_episodes.options import PooledSource
from quickdraw.data.processor import processor
from quickdraw.errors import Fault, Refused

PROCESSOR = "processor=pooled_episodes"
DEFAULTS: dict[str, Any] = {
    "dir": None, "name": "pooled", "hw": None, "cameras": [], "slots": {}, "depth": {"mode": "none"},
    "video": {"mode": "encode", "codec": "h264", "crf": 15, "preset": "veryfast", "gop": 5}, "fold": "refuse",
    "on_gap": "refuse", "max_gap_s": 0.5, "imu": {"mode": "window", "samples": 8}, "force_matrices": "sums",
    "clocks": False, "state": [], "action": None, "workers": None, "val_frac": 0.1, "val_floor": 0,
    "val_rule": "longest", "seed": 0, "val_runs": [], "val_from": None, "eval_globs": [], "exclude_globs": [],
    "max_runs_per_campaign": 0, "on_bad_run": "refuse", "rehash": False, "lerobot_stats": "train",
}  # fmt: skip
# Each option but source.dir, as it is typed, and what it is then.
GIVEN = [
    ("source.name", "手套", "手套"), ("source.hw", "[96,128]", [96, 128]), ("source.hw", "null", None),
    ("source.cameras", "[umi_rgb,front]", ["umi_rgb", "front"]), ("source.depth.mode", "copy", "copy"),
    ("source.video.mode", "copy", "copy"), ("source.video.codec", "hevc", "hevc"), ("source.video.crf", "20", 20),
    ("source.video.preset", "slow", "slow"), ("source.video.gop", "30", 30), ("source.fold", "first", "first"),
    ("source.on_gap", "split", "split"), ("source.max_gap_s", "2", 2.0), ("source.imu.mode", "mean", "mean"),
    ("source.imu.samples", "16", 16), ("source.force_matrices", "25x50", "25x50"), ("source.clocks", "true", True),
    ("source.state", "[gripper_left_force,slam_pose]", ["gripper_left_force", "slam_pose"]),
    ("source.action", "next_state", "next_state"), ("source.action", "[slam_pose]", ["slam_pose"]),
    ("source.action", "null", None), ("source.workers", "3", 3), ("source.val_frac", "0.25", 0.25),
    ("source.val_floor", "2", 2), ("source.val_rule", "random", "random"), ("source.seed", "7", 7),
    ("source.val_runs", "[umi/episode_000012.01]", ["umi/episode_000012.01"]), ("source.val_from", "/a(b)=", "/a(b)="),
    ("source.eval_globs", "[held-*]", ["held-*"]), ("source.exclude_globs", "[t/episode_0*]", ["t/episode_0*"]),
    ("source.max_runs_per_campaign", "2", 2), ("source.on_bad_run", "skip", "skip"), ("source.rehash", "true", True),
    ("source.lerobot_stats", "split", "split"),
]  # fmt: skip


def source_of(*arguments: str) -> PooledSource:
    source = parse([PROCESSOR, *arguments]).config.source
    assert isinstance(source, PooledSource)
    return source


def value_of(source: PooledSource, option: str) -> Any:
    value: Any = as_json(source)
    for part in option.split(".")[1:]:
        value = value[part]
    return value


def told_of(*arguments: str) -> list[Fault]:
    """Every fault of a command line, be it of its words or of its ranges."""
    try:
        return processor("pooled_episodes").faults(parse([PROCESSOR, *arguments]).config)
    except Refused as refused:
        return list(refused.faults)


def faults(*arguments: str) -> list[str]:
    return [str(fault) for fault in told_of("source.dir=/d", *arguments)]


def test_the_defaults_are_as_they_were_agreed() -> None:
    assert as_json(source_of()) == DEFAULTS
    assert faults() == []


def test_every_option_is_tried_here() -> None:
    tried = {option for option, *_ in GIVEN} | {"processor", "executor", "source.dir", "source.slots.<name>"}
    assert tried | {"output.dir", "dry_run", "report"} == set(option_names("pooled_episodes", "local"))


@pytest.mark.parametrize(("option", "text", "value"), GIVEN)
@pytest.mark.parametrize("plus", ["", "+", "++"])
def test_an_option_is_what_it_was_given_and_no_other_changes(plus: str, option: str, text: str, value: Any) -> None:
    source = source_of(f"{plus}{option}={text}")
    assert value_of(source, option) == value
    first = option.split(".")[1]
    changed = {name for name, is_now in as_json(source).items() if is_now != DEFAULTS[name]}
    assert changed <= {first}


@pytest.mark.parametrize(("text", "mode"), [("true", "lossless"), ("false", "none"), ("True", "lossless")])
def test_depth_true_is_short_for_lossless_and_false_for_none(text: str, mode: str) -> None:
    assert source_of(f"+source.depth={text}").depth.mode == mode


def test_the_short_form_of_depth_is_refused_beside_the_long_one_and_with_other_words() -> None:
    (line,) = faults("+source.depth=true", "source.depth.mode=copy")
    assert "source.depth: found +source.depth=true and +source.depth.mode=copy, expected one value" in line
    (line,) = faults("+source.depth=lossless")
    option = "+source.depth=... or +source.depth.mode=..."
    assert line == f"command line: source.depth: found 'lossless', expected true or false; override: {option}"
    with pytest.raises(Refused, match=r"option: found source\.depth"):
        parse(["processor=block_stack", "source.depth=true"])


# A list's items may stand in quotes of either kind, so that one with both cannot be typed.
NAMES = st.text(st.characters(exclude_characters="=/\\\0'", exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(camera=NAMES.filter(lambda name: name not in ("<name>", "other")), slots=st.lists(NAMES, min_size=1, max_size=4))
def test_slots_of_any_name_are_a_list_taken_verbatim(camera: str, slots: list[str]) -> None:
    typed = ",".join(f"'{slot}'" for slot in slots)
    source = source_of(f"+source.slots.{camera}=[{typed}]", "source.slots.other=[b]")
    assert source.slots == {camera: (*slots,), "other": ("b",)}


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("source.slots.front=uvc_0", "source.slots.front: found 'uvc_0', expected a list of texts, as [a,b]"),
        ("source.slots=[a]", "option: found source.slots (did you mean "),
        ("source.slots.=[a]", "option: found source.slots. (did you mean source.slots.<name>"),
        ("source.slots.<name>=[a]", "option: found source.slots.<name> (did you mean source.slots.<name>"),
        ("source.slot.front=[a]", "option: found source.slot.front (did you mean source.slots.<name>"),
        ("source.target_hz=30", "option: found source.target_hz (an option of block_stack), expected an option "),
        ("source.force_matrix=sums", "option: found source.force_matrix (did you mean source.force_matrices"),
        ("source.imu=last", "option: found source.imu (did you mean source.imu.mode"),
        ("source.hw=96x128", "source.hw: found '96x128', expected a list of whole numbers, as [a,b] or null"),
        ("source.action=[a", "source.action: found '[a', expected text or a list of texts, as [a,b] or null"),
        ("source.state=slam_pose", "source.state: found 'slam_pose', expected a list of texts, as [a,b]"),
        ("source.imu.samples=8.5", "source.imu.samples: found '8.5', expected whole number"),
        ("source.clocks=1", "source.clocks: found '1', expected true or false"),
    ],
)
def test_what_is_misspelt_or_of_another_kind_is_refused_in_words(argument: str, told: str) -> None:
    (line,) = faults(argument)
    assert told in line


OUT_OF_RANGE = [
    ("source.name=a/b", "found a/b, expected a folder name"),
    ("source.hw=[95,128]", "found [95, 128], expected [height,width], both even, 16 to 4320 px, or null"),
    ("source.hw=[]", "found [], expected [height,width]"),
    ("source.cameras=[a,a]", "found ['a', 'a'], expected different slots, or [] for all"),
    ("source.slots.front=[]", "found [], expected different slots, at least one"),
    ("source.slots.back=[a,a]", "found ['a', 'a'], expected different slots, at least one"),
    ("source.slots.a/b=[x]", "found 'a/b', expected a plain name"),
    ("source.slots..x=[y]", "found '.x', expected a plain name"),
    ("source.depth.mode=yes", "found yes, expected none, lossless or copy"),
    ("source.video.mode=both", "found both, expected encode or copy"),
    ("source.video.codec=vp9", "found vp9, expected one of h264, hevc, av1"),
    ("source.video.crf=-1", "found -1, expected 0 to 51"),
    ("source.video.preset=warp", "found warp, expected one of ultrafast, superfast"),
    ("source.video.gop=0", "found 0, expected 1 to 250 pictures"),
    ("source.fold=last", "found last, expected refuse or first"),
    ("source.on_gap=skip", "found skip, expected refuse or split"),
    ("source.max_gap_s=0", "found 0.0, expected above 0 s"),
    ("source.max_gap_s=nan", "found nan, expected above 0 s"),
    ("source.imu.mode=median", "found median, expected window, mean or last"),
    ("source.imu.samples=0", "found 0, expected 1 to 256"),
    ("source.imu.samples=257", "found 257, expected 1 to 256"),
    ("source.force_matrices=24x25", "found 24x25, expected none, sums, or HxW such as 25x25, both dividing 250"),
    ("source.force_matrices=sum", "found sum, expected none, sums, or HxW"),
    ("source.force_matrices=0x25", "found 0x25, expected none, sums, or HxW"),
    ("source.force_matrices=25x25x3", "found 25x25x3, expected none, sums, or HxW"),
    ("source.force_matrices=٢٥x٢٥", "found ٢٥x٢٥, expected none, sums, or HxW"),
    ("source.state=[a,a]", "found ['a', 'a'], expected different features, or [] for none"),
    ("source.action=next", "found next, expected next_state, a list of features, or null"),
    ("source.action=[]", "found [], expected different features, at least one"),
    ("source.action=[a,a]", "found ['a', 'a'], expected different features, at least one"),
    ("source.action=next_state", "found next_state, expected source.state=[...] beside it"),
    ("source.workers=0", "found 0, expected 1 to 512, or null"),
    ("source.val_frac=1", "found 1.0, expected between 0 and 1"),
    ("source.val_floor=-1", "found -1, expected at least 0"),
    ("source.val_rule=shortest", "found shortest, expected longest or random"),
    ("source.seed=-1", "found -1, expected 0 or more"),
    ("source.val_from=", "found '', expected a built dataset, or null"),
    ("source.max_runs_per_campaign=-1", "found -1, expected 0 or more"),
    ("source.on_bad_run=ignore", "found ignore, expected refuse or skip"),
    ("source.lerobot_stats=both", "found both, expected train or split"),
    ("source.dir=", "expected a task folder or a recordings root"),
    ("output.dir=", "found '', expected a folder, or null"),
]


@pytest.mark.parametrize(("argument", "told"), OUT_OF_RANGE)
def test_a_value_out_of_its_range_is_refused_with_the_range(argument: str, told: str) -> None:
    name = argument.partition("=")[0]
    folder = [] if name == "source.dir" else ["source.dir=/d"]
    (fault,) = told_of(*folder, argument)
    assert (fault.where, fault.field, fault.option) == ("command line", name, f"+{name}=...")
    assert told in str(fault)


def test_every_option_out_of_its_range_is_told_in_one_go() -> None:
    wrong = {argument.partition("=")[0]: argument for argument, _ in reversed(OUT_OF_RANGE)}
    told = told_of(*wrong.values())
    assert sorted({fault.field for fault in told}) == sorted(wrong)


def test_a_slot_of_two_cameras_is_refused_with_both() -> None:
    (line,) = faults("source.slots.front=[a,b]", "source.slots.back=[b,c]")
    assert "source.slots.back: found ['b', 'c'], expected slots of no other camera (see source.slots.front)" in line


@pytest.mark.parametrize(
    "arguments",
    [["source.hw=[16,16]"], ["source.slots.a.b=[x]"], ["source.slots.umi_rgb=[umi_rgb,umi_rgb_1]"],
     ["source.max_gap_s=0.001"], ["source.imu.samples=1"], ["source.imu.samples=256"], ["source.val_floor=0"],
     *([f"source.force_matrices={h}x{250 // h}"] for h in (1, 2, 5, 10, 25, 50, 125, 250)),
     ["source.state=[a]", "source.action=next_state"], ["source.action=[a]"], ["source.seed=18446744073709551616"],
     ["source.val_runs=[t/episode_000001]"], ["source.video.mode=copy", "source.hw=[96,128]"]],
)  # fmt: skip
def test_the_ends_of_every_range_are_within_it(arguments: list[str]) -> None:
    assert faults(*arguments) == []


@given(height=st.integers(1, 300), width=st.integers(1, 300))
def test_force_matrices_are_parted_in_patches_that_cover_them_all(height: int, width: int) -> None:
    divides = 250 % height == 0 and 250 % width == 0
    assert (faults(f"source.force_matrices={height}x{width}") == []) is divides


@pytest.mark.parametrize("path", ["/data/手套", "a(b)", "k=v", "[not,a,list]", "${oc.env:HOME}", "trailing ", "true"])
def test_paths_are_taken_verbatim(path: str) -> None:
    command = parse([PROCESSOR, f"+source.dir={path}", f"output.dir={path}", f"source.val_from={path}"])
    config = command.config
    assert (config.source.dir, config.output.dir, config.source.val_from) == (path, path, path)


def test_dots_of_an_empty_default_are_nothing() -> None:
    source = source_of("source.exclude_globs=[...,a]", "source.eval_globs=[...]", "source.action=[...,b]")
    assert (source.exclude_globs, source.eval_globs, source.action) == (("a",), (), ("b",))


def test_one_command_does_not_change_the_defaults_of_the_next() -> None:
    source_of("source.slots.front=[a]", "source.exclude_globs=[x]")
    assert source_of().slots == {}
    assert default_config("pooled_episodes").source.exclude_globs == ()


@pytest.mark.parametrize(
    ("arguments", "processor"),
    [
        (["+processor=pooled_episodes"], "pooled_episodes"),
        (["x", "++processor=a", "=3"], "a"),
        (["--help"], None),
        ([], None),
    ],
)
def test_the_processor_is_known_whatever_else_is_wrong(arguments: list[str], processor: str | None) -> None:
    assert named("processor", arguments) == processor
