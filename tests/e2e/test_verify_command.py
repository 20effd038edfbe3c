"""`quickdraw verify` as it is typed: exit codes, lines, JSON; and every kind of build it must find sound."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Once = Callable[[str, Callable[[Path], None]], Path]
Processors = Callable[..., "subprocess.CompletedProcess[str]"]


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    typed = [sys.executable, "-c", "from quickdraw.cli.main import app; app()", "verify", *map(str, arguments)]
    return subprocess.run(typed, capture_output=True, text=True, timeout=300, check=False)


def built(once: Once, name: str, processors: Processors, tree: Path, *options: str) -> Path:
    def make(folder: Path) -> None:
        folder.mkdir()
        result = processors("+processor=block_stack", f"+source.dir={tree}", "+report=false", *options, cwd=folder)
        assert result.returncode == 0, result.stderr

    return once(name, make) / "datasets" / "block_stack"


def test_a_sound_build_ends_with_0_and_a_summary(sample_dataset: Path) -> None:
    result = command(sample_dataset, "--workers", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    checked, verdict = result.stdout.splitlines()
    assert checked.startswith("checked: documents ")
    assert "fingerprints 8,526" in checked
    assert "nothing wrong; " in verdict
    assert "1,421 rows, 5,684 pictures in " in verdict
    assert "decode: 5684/5684 pictures" in result.stderr


@pytest.mark.parametrize(
    ("name", "options", "source"),
    [
        ("plain-statistics", ["+source.lerobot_stats=split"], False),
        ("one-camera", ["+source.cameras=[scene_left]", "+source.objects=none"], True),
    ],
)
def test_other_builds_are_sound_too(
    name: str, options: list[str], source: bool, once: Once, processors: Processors, sample_tree: Path
) -> None:
    dataset = built(once, f"verified-{name}", processors, sample_tree, *options)
    result = command(dataset, "--json", *(["--source", sample_tree] if source else []))
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["findings"] == []
    assert result.returncode == 0
    assert [curve["verdict"] for curve in document["shift_sweep"]] == ["aligned"] * (7 if source else 0)


def test_a_finding_ends_with_1_and_a_line_that_says_where(sample_dataset: Path, tmp_path: Path) -> None:
    dataset = shutil.copytree(sample_dataset / "eval_purple_stack", tmp_path / "split", copy_function=os.link)
    info = dataset / "meta/info.json"
    document = json.loads(info.read_text())
    document["total_frames"] += 1
    info.unlink()
    info.write_text(json.dumps(document))
    result = command(dataset)
    assert result.returncode == 1
    *_, first, _verdict = result.stdout.splitlines()
    assert first == (
        "split: meta/info.json: info: found total_frames 143, expected 142, the length of all episodes"
    )  # fmt: skip
    told = json.loads(command(dataset, "--json").stdout)
    assert [finding["message"] for finding in told["findings"]] == [first]
    assert told["checks"]["info"]["findings"] == 1


@pytest.mark.parametrize("name", ["gone", "empty", "file"])
def test_what_is_no_dataset_ends_with_2(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("not a folder")
    result = command(tmp_path / name)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[0].endswith(
        "splits: found none, expected a dataset folder, with <split>/meta/info.json in it"
    )
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_a_source_that_is_another_tree_is_refused_before_a_picture_is_decoded(
    name: str, sample_dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    result = command(sample_dataset, "--source", tmp_path / name)
    assert (result.returncode, result.stdout) == (2, "")
    found = {"gone": "no such folder", "empty": "none of the dataset's campaigns"}[name]
    assert f"found {found}, expected the tree it was built from, with campaign3-play, " in result.stderr
    assert "decode" not in result.stderr
