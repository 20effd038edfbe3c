"""The command's options: one spelling as good as another, values verbatim, everything wrong said at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from quickdraw.data.command_line.composing import option_kinds, option_names, parse
from quickdraw.data.command_line.help_text import commented_options, help_lines
from quickdraw.data.config_files import config_folder, group_names
from quickdraw.data.options import Config
from quickdraw.data.processor import processor as processor_of_name
from quickdraw.data.processor import processor_names
from quickdraw.data.processors import block_stack, main
from quickdraw.errors import Refused
from quickdraw.video.codecs import H264

PROCESSOR = "processor=block_stack"
CAMERAS = ["scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top"]
VALUES = {
    "processor": "block_stack", "executor": "local", "source.dir": "/d", "source.name": "n", "source.target_hz": "15",
    "source.hw": "[96,128]", "source.cameras": "[scene_left]", "source.workers": "3", "source.val_frac": "0.25",
    "source.val_floor": "1", "source.val_runs": "[a/b,c/d]", "source.val_from": "/v", "source.eval_globs": "[x*]",
    "source.exclude_globs": "[]", "source.max_runs_per_campaign": "2", "source.video.crf": "23",
    "source.video.codec": "hevc", "source.video.preset": "slow", "source.video.gop": "4",
    "source.lerobot_stats": "split", "source.objects": "none",
    "source.on_bad_run": "skip", "source.require_green": "false", "source.allow_mixed_cameras": "true",
    "source.allow_mixed_control": "true", "source.allow_post_read": "true", "source.allow_simulated": "true",
    "source.allow_faults": "[mode,connected]", "source.min_coverage": "0.5", "source.max_gap_s": "0.1",
    "source.rehash": "true", "source.cube.min_value": "0.2",
    "source.cube.min_saturation": "0.3", "source.cube.peak_saturation": "0.6", "source.cube.min_area_px": "20",
    "source.cube.evidence_area_px": "40", "source.cube.evidence_share": "0.05", "output.dir": "/o",
    "dry_run": "true", "report": "false",
}  # fmt: skip


def value_of(config: Config[Any], name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def refused(*arguments: str) -> str:
    with pytest.raises(Refused) as refusal:
        block_stack(parse(arguments).config)
    return str(refusal.value)


def test_every_option_has_an_example_in_this_file() -> None:
    assert set(VALUES) == set(option_names("block_stack", "local"))


@pytest.mark.parametrize("name", VALUES)
def test_bare_plus_and_double_plus_mean_the_same(name: str) -> None:
    others = [] if name == "processor" else [PROCESSOR]
    plain, *rest = [parse([*others, f"{plus}{name}={VALUES[name]}"]) for plus in ("", "+", "++")]
    assert rest == [plain, plain]
    if "." in name:
        assert value_of(plain.config, name) != value_of(parse([PROCESSOR]).config, name)


@pytest.mark.parametrize(
    "path",
    ["/data/手套", "a(b)", "k=v", "/with space/and, comma", "${oc.env:HOME}", "[not,a,list]", "~/home", "'q\"uoted'",
     "a{b:c}", "#hash", " leading", "trailing ", "100%", "null ", "a+b=", "C:\\x", "!tag", "&a *b", "../up/./x", "-x",
     "true", "3", "a=b=c", "é́"],
)  # fmt: skip
@pytest.mark.parametrize("option", ["source.dir", "output.dir", "source.val_from", "source.name"])
def test_text_and_paths_are_taken_verbatim(path: str, option: str) -> None:
    assert value_of(parse([PROCESSOR, f"+{option}={path}"]).config, option) == path


@pytest.mark.parametrize("option", ["source.dir", "output.dir", "source.val_from", "source.workers"])
def test_null_gives_an_option_back_its_absence(option: str) -> None:
    assert value_of(parse([PROCESSOR, f"+{option}=null"]).config, option) is None


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[]", []),
        ("[a]", ["a"]),
        ("[a,b]", ["a", "b"]),
        ("[ a , b ]", ["a", "b"]),
        ("[campaign8,campaign8-*]", ["campaign8", "campaign8-*"]),
        ("[手套,a(b),k=v]", ["手套", "a(b)", "k=v"]),
        ('["a,b",c]', ["a,b", "c"]),
        ('["campaign8-*", "x"]', ["campaign8-*", "x"]),
        ("['campaign8-*','x']", ["campaign8-*", "x"]),
        ("['a,b', \"c\"]", ["a,b", "c"]),
    ],
)
def test_a_list_is_its_items_with_or_without_quotes(text: str, items: list[str]) -> None:
    """Quotes of either kind, as YAML and Hydra have them, are no part of an item."""
    assert [*parse([PROCESSOR, f"+source.eval_globs={text}"]).config.source.eval_globs] == items


@pytest.mark.parametrize("text", ["[a\nb]", "[a\rb]"])
def test_a_line_break_in_a_list_is_an_item_or_a_refusal_but_no_crash(text: str) -> None:
    try:
        assert parse([PROCESSOR, f"+source.eval_globs={text}"]).config.source.eval_globs == (text[1:-1],)
    except Refused as refusal:
        assert "source.eval_globs" in str(refusal)  # noqa: PT017 -- either outcome is right


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("source.target_hz", "29.97", "whole number"),
        ("source.target_hz", "fast", "whole number"),
        ("source.target_hz", "", "whole number"),
        ("source.target_hz", "null", "whole number"),
        ("source.workers", "two", "whole number or null"),
        ("source.val_frac", "10%", "number"),
        ("source.hw", "144x192", r"a list of whole numbers, as \[a,b\]"),
        ("source.hw", "[144,x]", r"a list of whole numbers, as \[a,b\]"),
        ("source.cameras", "scene_left", r"a list of texts, as \[a,b\]"),
        ("source.val_runs", "[a", r"a list of texts, as \[a,b\]"),
        ("dry_run", "yes", "true or false"),
        ("dry_run", "1", "true or false"),
        ("source.video.crf", "18.5", "whole number or null"),
        ("source.cube.min_area_px", "a few", "number"),
        ("source.cube.evidence_share", "2%", "number"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_in_words(option: str, text: str, expected: str) -> None:
    message = rf"command line: {option}: found {re.escape(repr(text))}, expected {expected}; override: \+{option}="
    with pytest.raises(Refused, match=message):
        parse([PROCESSOR, f"+{option}={text}"])


OUT_OF_RANGE = [
    ("source.target_hz=0", "found 0, expected 1 to 1000 Hz, whole"),
    ("source.target_hz=1001", "found 1001, expected 1 to 1000 Hz, whole"),
    ("source.target_hz=-30", "found -30, expected 1 to 1000 Hz, whole"),
    ("source.hw=[143,192]", "found [143, 192], expected [height,width], both even, 16 to 4320 px"),
    ("source.hw=[144,191]", "found [144, 191], expected [height,width], both even, 16 to 4320 px"),
    ("source.hw=[144]", "found [144], expected [height,width], both even"),
    ("source.hw=[144,192,3]", "found [144, 192, 3], expected [height,width], both even"),
    ("source.hw=[14,192]", "found [14, 192], expected [height,width], both even, 16 to 4320 px"),
    ("source.hw=[-144,-192]", "found [-144, -192], expected [height,width]"),
    ("source.hw=[]", "found [], expected [height,width]"),
    ("source.cameras=[]", "found [], expected different ones of scene_left, scene_right, gripper_right_bottom, gripp"),
    ("source.cameras=[scene_middle]", "found ['scene_middle'], expected different ones of scene_left, scene_right"),
    ("source.cameras=[scene_left,scene_left]", "found ['scene_left', 'scene_left'], expected different ones of"),
    ("source.workers=0", "found 0, expected 1 to 512, or null"),
    ("source.val_frac=0", "found 0.0, expected between 0 and 1"),
    ("source.val_frac=1", "found 1.0, expected between 0 and 1"),
    ("source.val_frac=nan", "found nan, expected between 0 and 1"),
    ("source.val_floor=0", "found 0, expected at least 1"),
    ("source.max_runs_per_campaign=-1", "found -1, expected 0 or more"),
    ("source.video.codec=vp9", "found vp9, expected one of h264, hevc, av1"),
    ("source.video.crf=-1", "found -1, expected 0 to 51"),
    ("source.video.crf=52", "found 52, expected 0 to 51"),
    ("source.video.crf=64", "found 64, expected 0 to 51"),
    ("source.video.preset=warp", "found warp, expected one of ultrafast, superfast, veryfast, faster, fast, medium"),
    ("source.video.gop=0", "found 0, expected 1 to 250 pictures"),
    ("source.video.gop=251", "found 251, expected 1 to 250 pictures"),
    ("source.lerobot_stats=both", "found both, expected train or split"),
    ("source.on_bad_run=ignore", "found ignore, expected refuse or skip"),
    (
        "source.allow_faults=[mode,stage]",
        "found ['mode', 'stage'], expected any of report_alive, error_code, mode, conn",
    ),
    ("source.min_coverage=1.1", "found 1.1, expected 0 to 1"),
    ("source.min_coverage=nan", "found nan, expected 0 to 1"),
    ("source.max_gap_s=0", "found 0.0, expected above 0 s"),
    ("source.max_gap_s=inf", "found inf, expected above 0 s"),
    ("source.objects=cubes", "found cubes, expected auto, cube or none"),
    ("source.cube.min_value=0", "found 0.0, expected above 0, at most 1"),
    ("source.cube.min_saturation=1.1", "found 1.1, expected above 0, at most 1"),
    ("source.cube.min_saturation=90", "found 90.0, expected above 0, at most 1"),  # neither per cent nor levels
    ("source.cube.peak_saturation=nan", "found nan, expected above 0, at most 0.9"),
    ("source.cube.min_area_px=0", "found 0.0, expected 1 to 1e6 px"),
    ("source.cube.min_area_px=nan", "found nan, expected 1 to 1e6 px"),
    ("source.cube.evidence_area_px=0.5", "found 0.5, expected 1 to 1e6 px"),
    ("source.cube.evidence_share=-0.1", "found -0.1, expected above 0, at most 1"),
    ("source.name=", "expected a folder name"),
    ("source.name=..", "found .., expected a folder name"),
    ("source.name=a/b", "found a/b, expected a folder name"),
    ("source.dir=", "expected a raw campaign tree"),
    ("source.dir=null", "found None, expected a raw campaign tree"),
    ("output.dir=", "found '', expected a folder, or null"),
]


@pytest.mark.parametrize(("argument", "message"), OUT_OF_RANGE)
def test_a_value_outside_its_range_is_refused_with_the_range(argument: str, message: str) -> None:
    name = argument.partition("=")[0]
    text = refused(PROCESSOR, *(["+source.dir=/d"] if name != "source.dir" else []), argument)
    assert text.startswith(f"command line: {name}: found ")
    assert message in text
    assert text.endswith(f"override: +{name}=...")


def test_every_option_out_of_its_range_is_reported_in_one_go() -> None:
    wrong = {argument.partition("=")[0]: argument for argument, _ in OUT_OF_RANGE}
    text = refused(PROCESSOR, *wrong.values())
    assert sorted(line.split(": ")[1] for line in text.splitlines()) == sorted(wrong)


def test_an_option_given_twice_is_refused_with_both_values() -> None:
    text = refused(PROCESSOR, "source.dir=/d", "+source.name=a", "source.name=b")
    assert text == "command line: source.name: found 'a' and 'b', expected one value; override: +source.name=..."


def test_faults_of_groups_and_options_are_reported_together() -> None:
    lines = refused("+processor=nothing", "source.drr=/d", "source.val_floor=x").splitlines()
    assert [line.split(": ")[1] for line in lines] == ["processor", "option", "source.val_floor"]


def test_frozen_val_is_given_one_way_or_the_other() -> None:
    text = refused(PROCESSOR, "source.dir=/d", "source.val_runs=[a/b]", "source.val_from=/v")
    assert "source.val_from: found /v, expected not together with val_runs" in text


def test_without_a_tree_the_build_is_refused() -> None:
    assert "source.dir: found None, expected a raw campaign tree; override: +source.dir=..." in refused(PROCESSOR)


@pytest.mark.parametrize(
    "argument",
    ["source.target_hz=1", "source.target_hz=1000", "source.hw=[16,16]", "source.hw=[480,640]", "source.workers=1",
     "source.val_frac=0.001", "source.val_frac=0.999", "source.val_floor=1",
     "source.video.crf=0", "source.video.crf=51",
     "source.video.gop=1", "source.video.gop=250", "source.cameras=[gripper_right_top,scene_left]",
     *(f"source.video.preset={preset}" for preset in H264.presets), "source.lerobot_stats=split", "source.name=...",
     "source.on_bad_run=skip", "source.allow_faults=[]", "source.min_coverage=0", "source.min_coverage=1",
     "source.allow_faults=[report_alive,error_code,mode,connected]", "source.max_gap_s=0.001",
     "source.objects=cube", "source.objects=none", "source.cube.min_value=1", "source.cube.evidence_share=0.0001",
     "source.cube.min_area_px=1", "source.cube.evidence_area_px=1",
     "source.name=手套 a(b)"],
)  # fmt: skip
def test_the_ends_of_every_range_are_within_it(argument: str) -> None:
    settings = block_stack(parse([PROCESSOR, "source.dir=/d", argument]).config)
    assert settings.dataset_spec().rate_hz == settings.source.rate_hz


@pytest.mark.parametrize(
    ("argument", "named", "meant"),
    [
        ("+source.drr=/d", "source.drr", "source.dir"),
        ("source.target_fps=30", "source.target_fps", "source.target_hz"),
        ("+video.crf=3", "video.crf", "source.video.crf"),
        ("++Source.Dir=/d", "Source.Dir", "source.dir"),
        ("dryrun=true", "dryrun", "dry_run"),
        ("source.video=3", "source.video", "source.video.crf"),
        ("procesor=block_stack", "procesor", "processor"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_nearest_and_where_all_are_listed(
    argument: str, named: str, meant: str
) -> None:
    text = refused(PROCESSOR, argument)
    assert text.startswith(f"command line: option: found {named} (did you mean ")
    assert meant in text.partition("?)")[0]
    told = "expected an option that --help +processor=block_stack lists; override: --help explains every option"
    assert text.endswith(told)


def test_every_misspelt_option_and_every_wrong_kind_is_reported_together() -> None:
    text = refused(PROCESSOR, "source.drr=/d", "source.target_hz=x", "sourcename=a")
    assert [line.split(": ")[1] for line in text.splitlines()] == ["option", "source.target_hz", "option"]


@pytest.mark.parametrize("argument", ["source.dir", "=x", "+=x", "++=x", "~source.dir", "build", "--dry-run", "-m"])
def test_what_is_no_option_at_all_is_refused(argument: str) -> None:
    text = refused(PROCESSOR, argument)
    assert f"argument: found {argument!r}, expected +option=value" in text


@pytest.mark.parametrize("argument", ["processor=block_stak", "processor=", "processor=pooled", "executor=dask"])
def test_a_group_that_does_not_exist_is_refused_with_those_that_do(argument: str) -> None:
    group, _, name = argument.partition("=")
    text = refused(*([] if group == "processor" else [PROCESSOR]), argument, "source.dir=/d")
    assert f"command line: {group}: found {name!r}, expected one of {', '.join(group_names(group))}" in text


@pytest.mark.parametrize(
    "arguments",
    [[], ["+processor=nothing"], ["+source.dir=/d"], ["+processor=block_stack", "+source.drr=/d"], [PROCESSOR, "x"]],
)
def test_a_refused_command_prints_usage_on_stderr_and_exits_with_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "usage: python -m quickdraw.data.processors +processor=<name> +source.dir=<tree>" in printed.err
    assert printed.err.count("refused: ") == (1 if arguments else 0)
    assert list(tmp_path.iterdir()) == []


def yaml_files() -> list[Path]:
    return sorted(config_folder().rglob("*.yaml"))


def leaves(value: Any, prefix: str = "") -> Iterator[str]:
    """Dotted names; an empty object stands for one of any name."""
    if isinstance(value, dict):
        for name, inner in (value or {"<name>": None}).items():
            yield from leaves(inner, f"{prefix}{name}.")
    else:
        yield prefix.removesuffix(".")


def test_a_processor_is_known_by_its_yaml() -> None:
    assert group_names("processor") == processor_names()
    assert {"block_stack", "pooled_episodes"} <= {*processor_names()}


@pytest.mark.parametrize("processor", group_names("processor"))
def test_schema_and_yaml_have_the_same_keys(processor: str) -> None:
    path = config_folder() / "processor" / f"{processor}.yaml"
    assert path.read_text().startswith("# @package source\n")
    found = [*leaves(OmegaConf.to_container(OmegaConf.load(path)), "source."),
             *leaves(OmegaConf.to_container(OmegaConf.load(config_folder() / "build.yaml")))]  # fmt: skip
    assert sorted(found) == sorted(option_kinds(processor, "local"))


@pytest.mark.parametrize("processor", group_names("processor"))
@pytest.mark.parametrize("executor", group_names("executor"))
def test_every_yaml_composes_and_every_default_is_in_its_range(processor: str, executor: str) -> None:
    command = parse([f"processor={processor}", f"executor={executor}", "source.dir=/d"])
    assert (command.processor, command.executor) == (processor, executor)
    assert processor_of_name(processor).faults(command.config) == []


@pytest.mark.parametrize("path", yaml_files(), ids=lambda path: path.name)
def test_every_option_of_every_yaml_has_a_comment(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0].startswith("#")
    bare = [
        line
        for above, line in zip(["", *lines], lines, strict=False)
        if not line.strip().startswith("#") and not line.rstrip().endswith(":") and not above.strip().startswith("#")
    ]
    assert bare == []
    assert [name for name, _, comment in commented_options(lines) if not " ".join(comment).strip()] == []


def test_the_defaults_are_the_specifications() -> None:
    source = parse([PROCESSOR]).config.source
    assert (source.name, source.target_hz, source.hw, source.cameras) == ("block_stack", 30, (144, 192), (*CAMERAS,))
    assert (source.val_frac, source.val_floor, source.val_runs, source.val_from) == (0.1, 2, (), None)
    assert source.eval_globs == ("campaign8", "campaign8-*", "campaign9", "campaign9-*")
    assert source.exclude_globs == ("campaign1", "campaign1-*", "campaign2", "campaign2-*", "_*", "shakedown", "audit")
    assert (source.max_runs_per_campaign, source.lerobot_stats, source.objects) == (0, "train", "auto")
    settings = block_stack(parse([PROCESSOR, "source.dir=/d", "source.name=x"]).config)
    assert settings.output == Path("datasets/x").absolute()


@pytest.mark.parametrize("processor", group_names("processor"))
def test_help_explains_every_option_with_its_default(processor: str) -> None:
    lines = list(help_lines(processor))
    chosen = f"processor={processor}"
    config = parse([chosen]).config
    for name in option_names(processor, "local"):
        if name in ("processor", "executor"):
            shown = {"processor": "<required>", "executor": "local"}[name]
            assert lines[lines.index(f"  {name}={shown}") + 1].endswith(f": {', '.join(group_names(name))}")
            continue
        (at,) = [number for number, line in enumerate(lines) if line.startswith(f"  {name}=")]
        shown = lines[at].partition("=")[2]
        if "<name>" in name:
            assert shown == "[]"
        elif shown != str(value_of(config, name)):  # as one would type it, the default is itself
            assert value_of(parse([chosen, f"{name}={shown}"]).config, name) == value_of(config, name)
        assert lines[at + 1].startswith("      ")
        assert len(lines[at + 1].split()) >= 3
    assert f"{processor} options" in lines
    assert not [other for other in group_names("processor") if other != processor and f"{other} options" in lines]


def test_help_has_every_processors_options_under_its_name_and_says_how_it_ends() -> None:
    lines = list(help_lines())
    known = processor_names()
    headings = [lines.index(heading) for heading in ("options of every build", *(f"{name} options" for name in known))]
    assert headings == sorted(headings)
    parts = [lines[start:end] for start, end in zip(headings, [*headings[1:], None], strict=True)]
    for processor, part in zip(known, parts[1:], strict=True):
        told = [line.strip().partition("=")[0] for line in part if line.startswith("  source.")]
        assert sorted(told) == sorted(name for name in option_kinds(processor) if name.startswith("source."))
    text = "\n".join(lines)
    assert "0 done; 1 a failure of ours; 2 input or command refused, nothing touched; 130 interrupted" in text
    assert "[Hz]" in text
    assert "[px]" in text
    assert "--help +processor=<name>" in text


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["+processor=nothing", "--help"], ["+source.drr=1", "-h"]])
def test_help_is_given_whatever_else_is_on_the_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == "\n".join(help_lines()) + "\n"


@pytest.mark.parametrize("plus", ["", "+", "++"])
def test_help_of_one_processor_is_its_alone(plus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help", f"{plus}processor=pooled_episodes"]) == 0
    assert capsys.readouterr().out == "\n".join(help_lines("pooled_episodes")) + "\n"


@pytest.mark.parametrize("processor", group_names("processor"))
def test_the_readme_lists_every_option_with_its_default(processor: str) -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    defaults = {name: default for prefix, path in (("", "build.yaml"), ("source.", f"processor/{processor}.yaml"))
                for name, default, _ in ((f"{prefix}{n}", d, c) for n, d, c in commented_options(
                    (config_folder() / path).read_text().splitlines()))}  # fmt: skip
    for name in option_names(processor, "local"):
        (row,) = [line for line in readme.splitlines() if line.startswith(f"| `{name}` |")]
        if defaults.get(name, "null") != "null" and name not in ("source.cameras", "source.slots.<name>"):
            assert f"`{defaults[name]}`" in row.split("|")[2]


def test_the_readme_lists_no_option_there_is_not() -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    rows = re.findall(r"^\| `((?:source|output|executor)\.[^`]+|dry_run|report)` \|", readme, re.MULTILINE)
    assert sorted(rows) == sorted(option_kinds())


@pytest.mark.parametrize(
    ("given", "before", "after"),
    [("[...,a/b]", [], ["a/b"]), ("[x,...]", ["x"], []), ("[x, ..., y]", ["x"], ["y"]), ("[...]", [], [])],
)
def test_three_dots_in_a_list_are_its_default_items(given: str, before: list[str], after: list[str]) -> None:
    default = parse([PROCESSOR, "source.dir=/d"]).config.source.exclude_globs
    assert len(default) > 3
    found = parse([PROCESSOR, "source.dir=/d", f"source.exclude_globs={given}"]).config.source.exclude_globs
    assert found == (*before, *default, *after)
