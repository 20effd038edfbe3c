"""What the door says when it is done, and to whom: people, scripts (`--quiet`) and programs (`--json`)."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import quickdraw.report.views as views
from quickdraw.cli.main import app
from quickdraw.data.processors import main
from quickdraw.errors import Refused, WorkerDied
from quickdraw.pipeline import plan
from quickdraw.pipeline.view_files import stamp_of

type Five = dict[str, Any]
type Said = Callable[..., tuple[int, str, str]]
ONE, TWO = "campaign3-play/recording_1", "campaign3-play/recording_2"
SKIP = "+source.on_bad_run=skip"
KINDS = {
    "dataset": str, "dry_run": bool, "up_to_date": bool, "fingerprint": str, "splits": list, "refused_runs": dict,
    "warnings": list, "report": str | None, "bytes": int, "seconds": float,
}  # fmt: skip


@pytest.fixture
def door(five: Five, capsys: pytest.CaptureFixture[str]) -> Said:
    """The door on the five tiny runs: exit code, stdout, stderr."""
    tree = five[ONE].tree

    def said(*arguments: str) -> tuple[int, str, str]:
        given = ("+processor=block_stack", f"+source.dir={tree}", f"+output.dir={tree.parent / 'out'}")
        code = main([*given, "+source.objects=none", "+executor=inline", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return said


def document(told: tuple[int, str, str], code: int) -> dict[str, Any]:
    assert told[0] == code, told
    answer: dict[str, Any] = json.loads(told[1])
    return answer


def test_a_build_ends_in_one_screen_and_says_the_same_to_programs(five: Five, door: Said) -> None:
    out = five[ONE].tree.parent / "out"
    five[TWO].meta["status"] = "recording"
    five[TWO].write()
    code, told, err = door(SKIP, "+report=false")
    assert (code, err) == (0, "")
    *_, summary = told.rpartition("\nverify: ")
    lines = summary.splitlines()[2:]
    frames = json.loads((out / "summary.json").read_text())["counts"]["train"]["frames"]
    rows = [("train", 1), ("val", 2), ("eval_purple", 1), ("all", 4)]
    assert [line.split() for line in lines[:6]] == [["split", "episodes", "frames", "long"], *(
        [name, str(n), str(n * frames), f"{n * frames / 30:.1f}", "s"] for name, n in rows), []]  # fmt: skip
    assert lines[6] == "left out: 1 of 5 runs; refused_runs in provenance.json says why"
    held = sum(entry["bytes"] for entry in json.loads((out / "fingerprints/files.json").read_text()).values())
    assert re.fullmatch(rf"{held / 1e3:.0f} kB, built in \d+\.\d s", lines[7])
    said, command, rest = lines[8].partition("quickdraw verify ")
    assert (said[:13], command + rest) == ("prove it:    ", f"quickdraw verify {out} --source {five[ONE].tree}")
    assert lines[9:] == [f"dataset: {out}"]

    answer = document(door(SKIP, "+report=false", "--json"), 0)
    assert list(answer) == list(KINDS)
    assert all(isinstance(answer[key], kind) for key, kind in KINDS.items())
    assert (answer["dataset"], answer["bytes"], answer["report"]) == (str(out), held, None)
    assert (answer["dry_run"], answer["up_to_date"]) == (False, True)
    assert answer["fingerprint"] == json.loads((out / "provenance.json").read_text())["fingerprint"]
    assert [(s["name"], s["episodes"], s["frames"]) for s in answer["splits"]] == [
        (name, n, n * frames) for name, n in rows[:3]
    ]
    assert answer["splits"][0]["seconds"] == pytest.approx(frames / 30)
    assert list(answer["refused_runs"]) == [TWO]

    code, told, _ = door(SKIP, "+report=false")
    assert re.fullmatch(r"\d+ kB, unchanged; looked at in \d+\.\d s", told.splitlines()[-2])
    assert told.splitlines()[-1] == f"up to date: {out}"
    assert door(SKIP, "+report=false", "--quiet") == (0, f"{out}\n", "")

    assert verified(out, "--quiet") == (0, "", "")
    (out / "media/scene_left/val/ep_0000.mp4").write_bytes(b"")
    code, told, err = verified(out, "--quiet")
    assert (code, err) == (1, "")
    assert any("ep_0000.mp4" in line for line in told.splitlines())
    assert all(": found " in line and ", expected " in line for line in told.splitlines())  # nothing but findings


def verified(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["verify", *map(str, arguments), "--workers", "1"])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("flag", ["--json", "--quiet"])
def test_verify_says_of_what_is_no_dataset_why_and_to_programs_too(flag: str, tmp_path: Path) -> None:
    code, told, err = verified(tmp_path, flag)
    assert (code, err.splitlines()[-1]) == (2, "refused: 1 fault; nothing was checked")
    found = [fault["field"] for fault in json.loads(told)["refused"]] if flag == "--json" else told
    assert found == (["splits"] if flag == "--json" else "")


def test_inspect_tells_every_fault_of_one_cause_and_quietly_nothing_else(five: Five) -> None:
    tree = five[ONE].tree
    assert CliRunner().invoke(app, ["inspect", str(tree), "+source.workers=1", "--quiet"]).output == ""
    for run in five.values():
        run.meta["status"] = "recording"
        run.write()
    result = CliRunner().invoke(app, ["inspect", str(tree), "+source.workers=1", "--quiet"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == [*sorted(five), "refused"]


def test_a_dry_run_says_the_same_with_nothing_published(five: Five, door: Said) -> None:
    out = five[ONE].tree.parent / "out"
    answer = document(door("+dry_run=true", "--json", "+source.eval_globs=[campaign8-*,campaign99]"), 0)
    assert list(answer) == list(KINDS)
    assert (answer["dataset"], answer["dry_run"], answer["fingerprint"], answer["report"]) == (
        str(out),
        True,
        None,
        None,
    )
    assert [(split["name"], split["episodes"]) for split in answer["splits"]] == [
        ("train", 2), ("val", 2), ("eval_purple", 1)]  # fmt: skip
    assert answer["warnings"] == ["source.eval_globs: campaign99 matches nothing"]
    assert door("+dry_run=true", "--quiet") == (0, f"{out}\n", "")
    assert not out.exists()


def test_a_refusal_is_a_document_of_every_fault_and_words_on_stderr(five: Five, door: Said) -> None:
    for run in five.values():
        run.meta["status"] = "recording"
        run.write()
    code, told, err = door("--json")
    faults = document((code, told, err), 2)["refused"]
    assert [(fault["where"], fault["field"], fault["found"]) for fault in faults] == [
        (name, "status", "'recording'") for name in sorted(five)
    ]
    assert set(faults[0]) == {"where", "field", "found", "expected", "path", "line", "option"}
    first = "campaign3-play/recording_1, campaign3-play/recording_2, campaign5-play-long/recording_3 and 2 more"
    assert err.splitlines()[0] == f"{first}: run.json: status: found 'recording', expected 'ready'"
    assert err.splitlines()[1] == "refused: 5 faults in 5 of 5 runs; nothing was published"
    assert door("--quiet") == (2, "", err)


def test_a_slip_on_the_command_line_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "+processor=block_stack", "+source.on_bad_rum=skip"]) == 2
    (fault,) = json.loads(capsys.readouterr().out)["refused"]
    assert (fault["where"], fault["field"]) == ("command line", "option")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(OSError(errno.ENOSPC, "No space left on device", "/x/y"), 1, "/x/y: No space left on device"),
     (PermissionError(errno.EACCES, "Permission denied", "/x"), 1, "/x: Permission denied"),
     (WorkerDied("a worker process died"), 1, "a worker process died"), (KeyboardInterrupt(), 130, "interrupted")],
)  # fmt: skip
def test_what_fails_is_said_in_words_and_as_a_document(
    error: BaseException, code: int, words: str, door: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(plan, "make_plan", fail)
    told = door("--json")
    assert document(told, code) == {"failed": words}
    assert told[2] == (f"failed: {words}\n" if code == 1 else "interrupted\n")


def test_a_page_that_fails_does_not_hide_that_the_dataset_is_published(
    five: Five, door: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = five[ONE].tree.parent / "out"
    error: list[Exception] = [OSError(errno.ENOSPC, "No space left on device", str(out / "report.html"))]

    def fail(*_: Any) -> None:
        raise error[0]

    monkeypatch.setattr(views, "write_views", fail)
    code, told, err = door()
    assert (code, told.splitlines()[-1]) == (1, f"dataset: {out}")
    why = f"the dataset is published, but its page could not be written: {out}/report.html: No space left on device"
    assert err == f"failed: {why}\n"
    assert (out / "provenance.json").is_file()
    answer = document(door("--json"), 1)
    assert (answer["dataset"], answer["report"], answer["failed"]) == (str(out), None, why)
    error[0] = Refused([])
    assert door("--quiet")[:2] == (1, f"{out}\n")
    error[0] = KeyError("scene_left")
    code, told, err = door()
    assert (code, told.splitlines()[-1]) == (1, f"up to date: {out}")
    why = "the dataset is published, but its page could not be written: a fault of ours, KeyError: 'scene_left'"
    assert (err.splitlines()[0], err.splitlines()[-1]) == ("Traceback (most recent call last):", f"failed: {why}")
    told = door("--json")
    answer = document(told, 1)
    assert (set(answer), answer["failed"], answer["up_to_date"]) == ({*KINDS, "failed"}, why, True)
    assert "raise error[0]" in told[2]
    assert door("--quiet")[:2] == (1, f"{out}\n")
    assert door("+report=false")[0] == 0


def test_the_page_is_made_where_it_lacks_and_named(five: Five, door: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one that stands for it: what is on a page is looked at elsewhere."""
    out = five[ONE].tree.parent / "out"
    asked = list[Path]()

    def write(dataset: Path, *_: Any) -> tuple[Path, ...]:
        asked.append(dataset)
        (dataset / "report.html").write_text(f'<meta name="quickdraw" content="{stamp_of(dataset, 1)}">')
        return (dataset / "report.html",)

    monkeypatch.setattr(views, "write_views", write)
    monkeypatch.setattr(views, "are_current", lambda dataset: (dataset / "report.html").exists())
    assert door("+report=false")[0] == 0
    assert asked == []
    code, told, err = door()
    assert (code, err, asked) == (0, "", [out])
    assert told.splitlines()[-2:] == [f"look at it:  {out}/report.html", f"up to date: {out}"]
    assert document(door("--json"), 0)["report"] == str(out / "report.html")
    assert asked == [out]


def test_help_tells_of_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert "\n  --quiet\n" in told
    assert "\n  --json\n" in told
    assert all(key in told.partition("--json")[2] for key in KINDS)
