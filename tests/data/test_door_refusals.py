"""How a refusal reaches whoever typed the command: exit code, a line a fault, a summary, and nothing touched."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.refusals import show

type Processors = Callable[..., subprocess.CompletedProcess[str]]
type Five = dict[str, Any]
TWO, THREE = "campaign3-play/recording_2", "campaign5-play-long/recording_3"
BUILD = ("+processor=block_stack", "+source.workers=1", "+source.objects=none")


@pytest.fixture
def bad_tree(five: Five) -> Path:
    """Three faults in two of five runs."""
    five[TWO].meta["status"] = "recording"
    five[TWO].times["scene_left"]["error"] = "could not open\n/dev/video0"
    five[THREE].meta["provenance"]["config"] |= {"control": {"expo": 3}}
    for name in (TWO, THREE):
        five[name].write()
    five[TWO].films["scene_right"] = b""
    tree: Path = five[TWO].tree
    return tree


def listing(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def lines(tree: Path) -> list[str]:
    two, three = tree / TWO, tree / THREE
    others = "campaign3-play/recording_1, campaign5-play-long/recording_4, campaign8-purple/recording_5"
    return [
        f"{TWO}: {two}/run.json: status: found 'recording', expected 'ready'",
        f"{TWO}: {two}/video/scene_left_frame_times.json: error: found 'could not open\\n/dev/video0', "
        "expected no camera error",
        f"{THREE}: {three}/run.json: control.expo: found 3.0, expected one control.expo in all runs, not 3.0 in 1 run "
        f"({THREE}); 2.0 in 3 runs ({others}); override: +source.allow_mixed_control=true",
    ]


@pytest.mark.parametrize("dry", ["true", "false"])
def test_a_build_and_its_dry_run_are_refused_alike_a_line_a_fault_and_nothing_is_touched(
    dry: str, bad_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    before = listing(tmp_path)
    result = processors(*BUILD, f"+source.dir={bad_tree}", f"+dry_run={dry}", cwd=tmp_path)
    assert result.returncode == 2
    *faults, summary, advice = result.stderr.splitlines()
    assert faults == lines(bad_tree)
    assert summary == "refused: 3 faults in 2 of 5 runs; nothing was published"
    assert advice.startswith(
        "bad runs are left out, and the others built, with +source.on_bad_run=skip; a single one, beside"
    )
    assert listing(tmp_path) == before


def test_with_skip_a_dry_run_says_who_is_left_out_and_why_and_exits_with_0(
    bad_tree: Path, tmp_path: Path, processors: Processors
) -> None:
    result = processors(*BUILD, f"+source.dir={bad_tree}", "+source.on_bad_run=skip", "+dry_run=true", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    told = [line for line in result.stdout.splitlines() if line.startswith("not built: ")]
    assert told == [f"not built: {line}" for line in lines(bad_tree)]
    (val,) = [line.split() for line in result.stdout.splitlines() if line.startswith("val ")]
    assert val[:3] == ["val", "1", "episode"]


def test_what_relaxes_a_check_is_content_and_how_bad_runs_are_treated_is_not(tmp_path: Path) -> None:
    from quickdraw.data.command_line.composing import parse
    from quickdraw.data.processors import block_stack

    tree = f"source.dir={tmp_path / 'tree'}"
    given = ["source.allow_faults=[mode]", "source.max_gap_s=0.2", "source.min_coverage=0.5"]
    config = parse(["processor=block_stack", tree, *given, "source.require_green=false"]).config
    made = block_stack(config)
    acceptance = made.source.acceptance
    assert (acceptance.allow_faults, acceptance.max_gap_s, acceptance.min_coverage) == (("mode",), 0.2, 0.5)
    assert (acceptance.require_green, acceptance.allow_simulated, made.on_bad_run) == (False, False, "refuse")
    assert made.content["allow_faults"] == ["mode"]
    assert not {"on_bad_run", "rehash"} & set(made.content)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fault(where: str, **told: Any) -> Fault:
    return Fault(where, "field", "found it", "expected it", **told)


def test_on_a_terminal_faults_are_a_table_that_folds_and_never_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    path = "/data/" + "/".join(f"folder[{n}]" for n in range(30)) + "/controller.jsonl"
    show(Refused([fault("c/run_1", path=path, line=17, option="+source.max_gap_s=...")], runs=9), ["do this"])
    text = re.sub("\x1b\\[[0-9;]*m", "", screen.getvalue())
    assert max(map(len, text.splitlines())) <= 80
    run, *wrong = [line.split("│")[1:3] for line in text.splitlines() if line.count("│") == 3]
    assert [cell.strip() for cell in run] == ["run", "what is wrong"]
    assert "".join(row[0].strip() for row in wrong) == "c/run_1"
    told = "".join(row[1].strip() for row in wrong).replace(" ", "")
    assert told == f"fieldfoundfounditexpectedexpecteditin{path}:17override+source.max_gap_s=..."
    assert text.splitlines()[-2:] == ["refused: 1 fault in 1 of 9 runs; nothing was published", "do this"]


@pytest.mark.parametrize(
    ("faults", "runs", "told"),
    [
        ([fault(COMMAND_LINE)], None, ["refused: command line: field: found found it, expected expected it"]),
        ([fault("source")], 4, ["source: field: found found it, expected expected it",
                                "refused: 1 fault; nothing was published"]),
        ([fault("c/r"), fault("c/r"), fault("c/s")], 12, [*["c/r: field: found found it, expected expected it"] * 2,
          "c/s: field: found found it, expected expected it",
          "refused: 3 faults in 2 of 12 runs; nothing was published"]),
        ([fault("/a/dataset")], None, ["/a/dataset: field: found found it, expected expected it",
                                       "refused: 1 fault; nothing was published"]),
        ([fault("c\r/r\n")], None, ["c\\r/r\\n: field: found found it, expected expected it",
                                    "refused: 1 fault; nothing was published"]),
    ],
)  # fmt: skip
def test_elsewhere_a_fault_is_a_line_whatever_is_in_it(
    faults: list[Fault], runs: int | None, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show(Refused(faults, runs))
    assert capsys.readouterr().err.splitlines() == told


def test_without_a_stderr_a_refusal_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    show(Refused([fault("c/r")]))
