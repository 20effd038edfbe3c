"""What a dry run says and leaves alone, and what freezes or limits a plan; against an independent read of the tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack, main
from quickdraw.errors import Refused
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import BuildPlan, make_plan
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.publish import refuse_unfit

type Processors = Callable[..., subprocess.CompletedProcess[str]]
CAMERAS = ["scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top"]
LISTING = dict[str, tuple[int, int, str]]


def plan(tree: Path, *arguments: str) -> BuildPlan:
    config = parse(["processor=block_stack", f"source.dir={tree}", *arguments]).config
    return make_plan(block_stack(config), Inline(), PlainProgress())[0]


def split_runs(built: BuildPlan) -> dict[str, list[str]]:
    return {split.name: [str(key) for key in split.episodes] for split in built.splits}


def listing(folder: Path) -> LISTING:
    """Everything below a folder, hidden or not: size, time of change, where a link leads."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns,
                                        str(path.readlink()) if path.is_symlink() else "")
        for path in sorted(folder.rglob("*"))
    }  # fmt: skip


def frames_by_hand(run: Path) -> int:
    """Ticks of a run from its JSON alone, exactly."""
    streams = []
    for name in ("controller", "arm_state"):
        rows = (run / f"raw/{name}.jsonl").read_text().splitlines()
        streams.append([json.loads(row)["t"] for row in (rows[0], rows[-1])])
    streams += [json.loads((run / f"video/{camera}_frame_times.json").read_text())["t"] for camera in CAMERAS]
    ends = [(Fraction(round(t[0] * 1e9), 10**9), Fraction(round(t[-1] * 1e9), 10**9)) for t in streams]
    span = min(last for _, last in ends) - max(first for first, _ in ends)
    return -((-span * 30).__floor__())


def another(tree: Path, campaign: str) -> None:
    """The runs of campaign5-play-long once more, as another campaign recorded them: a stick was held otherwise."""
    for run in sorted((tree / "campaign5-play-long").glob("recording_*")):
        copy = tree / campaign / run.name
        shutil.copytree(run, copy, copy_function=shutil.copy)
        rows = [json.loads(line) for line in (copy / "raw/controller.jsonl").read_text().splitlines()]
        rows[-1]["move_x"] = 0.123
        (copy / "raw/controller.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def linked(sample_tree: Path, tmp_path: Path) -> Path:
    """A tree of links to the sample campaigns, to which more can be added."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for campaign in sample_tree.iterdir():
        if campaign.is_dir():
            (tree / campaign.name).mkdir()  # real, so that nothing put into it lands in the sample
            for entry in campaign.iterdir():
                (tree / campaign.name / entry.name).symlink_to(entry)
    return tree


def test_a_dry_run_prints_the_whole_plan_and_touches_nothing(
    linked: Path, tmp_path: Path, processors: Processors
) -> None:
    """In a tree of an unkind name, with a folder no run's name fits and a campaign that is left out."""
    tree = linked.rename(tmp_path / "手套 a(b) k=v, [x] ${y}")
    stray = tree / "campaign7-stray" / "copy of a run"
    stray.mkdir(parents=True)
    (stray / "run.json").write_text("{}")
    (tree / "_rt" / "run_0001_20260909_000000").mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir()
    before = listing(tmp_path)
    result = processors("+processor=block_stack", f"++source.dir={tree}", "source.name=手套", "+dry_run=true", cwd=work)
    assert (result.returncode, result.stderr) == (0, "")
    assert listing(tmp_path) == before
    out = result.stdout.splitlines()
    assert out[-1] == "dry run: nothing was touched"
    table = {line.split()[0]: line.split()[1:] for line in out if line.strip()}
    goes = {"3": "train 2", "5": "val 2", "6": "train 1", "8": "eval_purple_play", "9": "eval_purple_stack"}
    campaigns = sorted(path for path in tree.iterdir() if (path / "campaign.json").exists())
    assert [campaign.name[8] for campaign in campaigns] == list(goes)
    for campaign in campaigns:
        frames = [frames_by_hand(run) for run in sorted(campaign.glob("recording_*"))]
        words = table[campaign.name]
        assert words[-3:] == [str(len(frames)), f"{sum(frames):,}", f"{sum(frames) / 30:.1f}"]
        assert " ".join(words[:-3]) == goes[campaign.name[8]]
    assert table["_rt"] == ["excluded"]
    assert table["campaign7-stray"] == ["no", "runs"]
    assert "ignored: campaign7-stray/copy of a run holds a run.json under a name no run has" in out
    assert table["train"][:1] + table["val"][:1] == ["3", "2"]
    how = "(the longest, at least val_floor=2 episodes, aiming at val_frac=10.0%):"
    assert f"val: 57.8% of the pool's frames {how}" in out
    assert any(line.startswith("estimated size ") and line.endswith("/datasets/手套") for line in out)


def test_a_refused_tree_exits_with_2_names_every_fault_of_every_run_and_touches_nothing(
    linked: Path, tmp_path: Path, processors: Processors
) -> None:
    for name, run_json in (("recording_1", "{}"), ("recording_2", "[]"), ("recording_3", None)):
        folder = linked / "campaign4-bad" / name
        folder.mkdir(parents=True)
        if run_json is not None:
            (folder / "run.json").write_text(run_json)
    before = listing(tmp_path)
    result = processors("+processor=block_stack", f"+source.dir={linked}", cwd=tmp_path)
    assert result.returncode == 2
    assert listing(tmp_path) == before
    *faults, summary, advice = result.stderr.splitlines()
    of_run = {n: [line for line in faults if line.startswith(f"campaign4-bad/recording_{n}: ")] for n in (1, 2, 3)}
    # two streams, and video and stamps of four cameras; an empty run.json lacks status, validation and mount
    assert {n: len(lines) for n, lines in of_run.items()} == {1: 10 + 3, 2: 10 + 1, 3: 1}
    assert len(faults) == 25
    assert summary == "refused: 25 faults in 3 of 10 runs; nothing was published"
    assert "+source.on_bad_run=skip" in advice
    assert "run.json: found missing, expected a run.json in every run folder" in of_run[3][0]
    assert "Traceback" not in result.stderr
    assert "usage:" not in result.stderr


@pytest.mark.parametrize(
    ("name", "found"), [("gone", "nothing there"), ("file", "a file"), ("empty", "no campaign fol")]
)
def test_a_tree_that_is_none_is_refused_with_2(
    name: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    assert main(["processor=block_stack", f"source.dir={tmp_path / name}", "dry_run=true"]) == 2
    assert f"dir: found {found}" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]


def test_one_campaign_given_as_the_tree_is_refused_with_the_folder_above_it(
    sample_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["processor=block_stack", f"source.dir={sample_tree / 'campaign3-play'}"]) == 2
    assert f"this is one campaign), expected the folder above it, {sample_tree}; override:" in capsys.readouterr().err


@pytest.mark.parametrize("dry", ["true", "false"])
@pytest.mark.parametrize("kind", ["a folder that quickdraw did not build", "a file"])
def test_an_output_that_is_not_ours_is_refused_at_once_and_left_as_it_is(
    kind: str, dry: str, sample_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "thesis"
    if kind == "a file":
        output.write_text("years of work")
    else:
        output.mkdir()
        (output / "provenance.json").write_text('{"made by": "somebody else"}')
    before = listing(tmp_path)
    assert main(["processor=block_stack", f"source.dir={sample_tree}", f"output.dir={output}", f"dry_run={dry}"]) == 2
    text = capsys.readouterr()
    assert text.out == ""  # before any run was read
    assert f"output: {output}: dir: found {kind}, expected nothing there, or a dataset built by quick" in text.err
    assert listing(tmp_path) == before


def test_an_output_below_a_file_is_refused_with_2_before_anything_is_read(
    sample_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    (tmp_path / "file").write_text("")
    result = processors(
        "processor=block_stack", f"source.dir={sample_tree}", "output.dir=file/deep/below", cwd=tmp_path
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("output: ")
    assert result.stderr.splitlines()[-1] == "refused: 1 fault; nothing was published"


def test_the_current_folder_as_output_is_built_or_refused_but_not_lost_at_the_last_step(
    sample_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    """`.` has no name to put a hidden sibling beside: a build must not find that out after hours of encoding."""
    here = tmp_path / "here"
    here.mkdir()
    result = processors("processor=block_stack", f"source.dir={sample_tree}", "output.dir=.",
                        "source.cameras=[scene_left]", "source.max_runs_per_campaign=1", cwd=here)  # fmt: skip
    built = (here / "summary.json").exists() if here.exists() else False
    assert (result.returncode, built) in ((0, True), (2, False)), result.stderr
    assert "Traceback" not in result.stderr


def test_an_empty_folder_and_a_dataset_of_ours_may_be_built_over(tmp_path: Path, sample_dataset: Path) -> None:
    for output in (tmp_path, tmp_path / "not yet", sample_dataset):
        refuse_unfit(output)
    assert list(tmp_path.iterdir()) == []


def test_without_freezing_val_moves_when_a_longer_campaign_is_added_and_val_runs_keeps_it(linked: Path) -> None:
    val = split_runs(plan(linked))["val"]
    assert [run.split("/")[0] for run in val] == ["campaign5-play-long"] * 2
    another(linked, "campaign4-more")
    moved = split_runs(plan(linked))["val"]
    assert moved != val
    frozen = plan(linked, f"source.val_runs=[{','.join(val)}]")
    assert split_runs(frozen)["val"] == val
    assert len(split_runs(frozen)["train"]) == 5


def test_val_from_takes_the_val_runs_of_a_built_dataset(linked: Path, sample_dataset: Path) -> None:
    another(linked, "campaign4-more")
    built = split_runs(plan(linked, f"source.val_from={sample_dataset}"))
    episodes = json.loads((sample_dataset / "provenance.json").read_text())["episodes"]
    assert built["val"] == [f"{e['campaign']}/{e['run']}" for e in episodes if e["split"] == "val"]
    assert len(built["val"]) == 2
    assert set(built["train"]) >= {e["campaign"] + "/" + e["run"] for e in episodes if e["split"] == "train"}


def test_the_content_says_the_frozen_runs_however_they_were_given(sample_tree: Path, sample_dataset: Path) -> None:
    """Two builds that differ only in how val was frozen are of one content."""
    given = []
    for argument in (
        f"source.val_from={sample_dataset}",
        "source.val_runs=[campaign5-play-long/recording_2026_09_10_05_32_37,"
        "campaign5-play-long/recording_2026_09_10_05_33_19]",
    ):
        config = parse(["processor=block_stack", f"source.dir={sample_tree}", argument]).config
        given.append(block_stack(config).content)
    assert given[0] == given[1]
    assert not {"dir", "workers", "val_from"} & set(given[0])


@pytest.mark.parametrize("content", [None, "not JSON", "{}", "[]"])
def test_val_from_what_is_no_dataset_of_ours_is_refused(content: str | None, tmp_path: Path, sample_tree: Path) -> None:
    if content is not None:
        (tmp_path / "provenance.json").write_text(content)
    config = parse(["processor=block_stack", f"source.dir={sample_tree}", f"source.val_from={tmp_path}"]).config
    with pytest.raises(
        Refused, match=r"provenance\.json: found unreadable \(.*\), expected a dataset built by quickdraw"
    ):
        block_stack(config)


def test_a_frozen_run_that_is_not_in_the_tree_is_refused_with_those_that_are(linked: Path) -> None:
    with pytest.raises(
        Refused, match=r"val_runs: found campaign5/x not in the pool, .*campaign3-play/recording_2026_09"
    ):
        plan(linked, "source.val_runs=[campaign5/x]")


def test_max_runs_per_campaign_takes_the_first_of_each_by_name(linked: Path) -> None:
    every, first = split_runs(plan(linked)), split_runs(plan(linked, "source.max_runs_per_campaign=1"))
    runs = sorted(run for split in every.values() for run in split)
    expected: dict[str, str] = {}
    for run in runs:
        expected.setdefault(run.split("/")[0], run)
    assert sorted(run for split in first.values() for run in split) == sorted(expected.values())
    assert split_runs(plan(linked, "source.max_runs_per_campaign=99")) == every


def test_two_pooled_runs_give_one_val_run_and_a_warning(linked: Path) -> None:
    built = plan(linked, "source.exclude_globs=[campaign5-*,campaign6-*]")
    assert [len(runs) for runs in split_runs(built).values()] == [1, 1, 1, 1]
    assert built.warnings == ("only 2 pooled episodes: val has 1, not val_floor = 2",)


def test_one_pooled_run_is_refused(linked: Path) -> None:
    with pytest.raises(Refused, match=r"pooled runs: found 1 \(campaign6-combos/recording_2026_09_10_05_33_59\)"):
        plan(linked, "source.exclude_globs=[campaign3-*,campaign5-*]")


def test_rows_are_counted_at_the_rate_that_is_asked_for(linked: Path) -> None:
    at_30, at_7 = plan(linked), plan(linked, "source.target_hz=7")
    for key, episode in at_30.episodes.items():
        assert abs(at_7.episodes[key].frames - episode.frames * 7 / 30) <= 1


@pytest.mark.parametrize("arguments", [(), ("+processor=nothing",), ("+source.dir=/d",)])
def test_no_arguments_and_an_unknown_processor_print_usage_and_exit_with_2(
    arguments: tuple[str, ...], tmp_path: Path, processors: Processors
) -> None:
    result = processors(*arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "usage: python -m quickdraw.data.processors" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_answers_in_under_a_second_and_a_half(tmp_path: Path) -> None:
    took = []
    for _ in range(3):
        started = time.monotonic()
        command = [sys.executable, "-m", "quickdraw.data.processors", "--help"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        took.append(time.monotonic() - started)
    assert min(took) < 1.5
    assert "source.target_hz=30" in result.stdout
    assert (result.stderr, list(tmp_path.iterdir())) == ("", [])


def test_one_run_is_left_out_by_its_name_and_its_faults_do_not_count(linked: Path, tmp_path: Path) -> None:
    (linked / "campaign4-bad" / "recording_bad").mkdir(parents=True)
    bad = "+source.exclude_globs=[campaign4-bad/recording_bad,campaign3-play/*_05_32_02]"
    built = plan(linked, bad)
    assert built.left_out == ("campaign3-play/recording_2026_09_10_05_32_02",)
    assert all("05_32_02" not in run for runs in split_runs(built).values() for run in runs)


def test_a_typed_glob_that_matches_nothing_is_warned_of_and_a_default_one_is_not(
    sample_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    arguments = ("+processor=block_stack", f"source.dir={sample_tree}", "dry_run=true")
    assert "matches nothing" not in processors(*arguments, cwd=tmp_path).stdout
    told = processors(*arguments, "source.eval_globs=[campaign88-*,campaign9-*]", cwd=tmp_path).stdout
    assert "warning: source.eval_globs: campaign88-* matches nothing" in told
    assert told.count("matches nothing") == 1
    told = processors(*arguments, "source.exclude_globs=[...,campaign77,campaign8-*,campaign9-*]", cwd=tmp_path).stdout
    assert [line for line in told.splitlines() if "matches nothing" in line] == [
        "warning: source.exclude_globs: campaign77 matches nothing"
    ]
    assert "warning: no campaign is held out: none is campaign8 or campaign8-* or campaign9 or campaign9-*" in told


def test_refused_runs_come_with_the_way_to_leave_them_out(linked: Path, tmp_path: Path, processors: Processors) -> None:
    (linked / "campaign4-bad" / "recording_bad").mkdir(parents=True)
    result = processors("+processor=block_stack", f"source.dir={linked}", "dry_run=true", cwd=tmp_path)
    assert result.returncode == 2
    *_, advice = result.stderr.splitlines()
    assert "the others built, with +source.on_bad_run=skip" in advice
    assert "a single one, beside what is by default, with +source.exclude_globs=[...,campaign/run]" in advice
