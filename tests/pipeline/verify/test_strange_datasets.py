"""Whatever is in a folder that has a split: findings, never a traceback, and every other split is still checked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.pipeline.verify.report import Report

Verified = Callable[..., Report]

DEEP = "[" * 100_000
DOCUMENTS = ("val/meta/info.json", "val/meta/stats.json", "provenance.json", "summary.json",
             "normalization_stats.json", "fingerprints/files.json")  # fmt: skip
TABLES = ("val/meta/tasks.parquet", "val/meta/episodes/chunk-000/file-000.parquet",
          "val/data/chunk-000/file-000.parquet", "fingerprints/val.parquet")  # fmt: skip
VIDEO = "val/videos/observation.images.scene_left/chunk-000/file-000.mp4"


def replaced(path: Path, content: str | bytes) -> None:
    path.unlink()
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def told(report: Report) -> str:
    return "\n".join(map(str, report.findings))


@pytest.mark.parametrize("content", ["", "[]", '{"a": NaN}', DEEP])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_none_is_a_finding(name: str, content: str, whole: Path, verified: Verified) -> None:
    replaced(whole / name, content)
    report = verified(whole)
    assert name in told(report) or Path(name).name in told(report)
    assert report.checks["row order"] >= 1421 - 641
    assert not any(fault.where in ("train", "eval_purple_play") for fault in report.findings if "info" in name)


@pytest.mark.parametrize("value", [None, "x", [[1]]])
@pytest.mark.parametrize("key", ["fps", "features", "total_episodes", "video_path", "data_path", "splits"])
def test_a_value_of_another_kind_in_info_json_is_a_finding(
    key: str, value: Any, whole: Path, verified: Verified
) -> None:
    info = json.loads((whole / "val/meta/info.json").read_text())
    replaced(whole / "val/meta/info.json", json.dumps({**info, key: value}))
    assert "val/meta/info.json" in told(verified(whole))


@pytest.mark.parametrize("key", ["config", "features", "episodes", "processor"])
@pytest.mark.parametrize("value", [None, {}, [3]])
def test_a_value_of_another_kind_in_provenance_json_is_a_finding(
    key: str, value: Any, whole: Path, verified: Verified, sample_tree: Path
) -> None:
    document = json.loads((whole / "provenance.json").read_text())
    replaced(whole / "provenance.json", json.dumps({**document, key: value}))
    assert verified(whole).findings


@pytest.mark.parametrize("name", [*DOCUMENTS, *TABLES, VIDEO])
@pytest.mark.parametrize("what", ["nothing", "a folder", "half of it"])
def test_a_file_that_is_gone_or_broken_is_a_finding(name: str, what: str, whole: Path, verified: Verified) -> None:
    path = whole / name
    content = path.read_bytes()
    path.unlink()
    match what:
        case "a folder":
            path.mkdir()
        case "half of it":
            path.write_bytes(content[: len(content) // 2])
    report = verified(whole)
    if name == "provenance.json" and what == "nothing":
        assert any("no " + name == skipped.reason for skipped in report.skipped)
    else:
        assert Path(name).name in told(report)


@pytest.mark.parametrize("folder", ["val/meta", "val/data", "val/videos", "val", "media/scene_left", "fingerprints"])
def test_a_folder_that_is_gone_is_a_finding(folder: str, whole: Path, verified: Verified) -> None:
    shutil.rmtree(whole / folder)
    report = verified(whole)
    assert report.findings
    assert report.checks["row order"] >= 1421 - 641
