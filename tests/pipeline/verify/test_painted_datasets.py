"""Datasets with depth as others hand them on, with copied colour, without val, and held against another tree."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import pytest

from quickdraw.errors import Refused
from quickdraw.pipeline.verify.report import Report

type Verified = Callable[..., Report]

EPISODES = "meta/episodes/chunk-000/file-000.parquet"
DEPTH = "observation.images.front_depth"


def video(dataset: Path, camera: str) -> Path:
    return dataset / f"val/videos/observation.images.{camera}/chunk-000/file-000.mp4"


def lines(report: Report, check: str) -> list[str]:
    return [str(fault) for fault in report.findings if fault.field == check]


def bare(dataset: Path) -> Path:
    for name in ("fingerprints", "measured", "media"):
        shutil.rmtree(dataset / name)
    for name in ("provenance.json", "normalization_stats.json", "summary.json"):
        (dataset / name).unlink()
    return dataset


def test_nothing_is_wrong_with_it_as_others_would_hand_it_on(dataset: Path, verified: Verified) -> None:
    report = verified(bare(dataset))
    assert [str(fault) for fault in report.findings] == []
    assert report.checks["frozen"] == 4 * 535


def test_statistics_of_an_episodes_depth_in_another_unit_are_found_in_what_others_wrote(
    dataset: Path, plants: ModuleType, verified: Verified
) -> None:
    def change(columns: dict[str, Any]) -> None:
        for name in ("min", "max", "mean", "std", "q01", "q10", "q50", "q90", "q99"):
            column = columns[f"stats/{DEPTH}/{name}"]
            column[0] = (np.array(column[0]) / 1000).tolist()

    plants.retable(bare(dataset) / "val" / EPISODES, change)
    (found,) = verified(dataset).findings
    assert (found.field, found.where) == ("episode statistics", "val")
    plants.redocument(  # and in metres they are right
        dataset / "val/meta/info.json", lambda info: info["features"][DEPTH]["info"].update(depth_unit="m")
    )
    assert verified(dataset).findings == ()


def test_depth_that_was_measured_before_it_was_cut_off_is_no_finding(
    dataset: Path, plants: ModuleType, verified: Verified
) -> None:
    """Of what lay beyond the scale others have the true mean: one pixel of 960 at 20 m, not 10."""

    def change(columns: dict[str, Any]) -> None:
        columns[f"stats/{DEPTH}/mean"][0][0][0][0] += 10_000 / 960

    plants.retable(bare(dataset) / "val" / EPISODES, change)
    assert verified(dataset).findings == ()


def test_copied_colour_is_held_against_its_source_byte_by_byte(
    painted: ModuleType, recorded: Path, against: Verified, tmp_path: Path
) -> None:
    painted.make(recorded, tmp_path / "copied", copied=True)
    report = against(tmp_path / "copied")
    assert [str(fault) for fault in report.findings] == []
    assert report.checks["source packets"] == 2 * 535
    assert report.curves == ()
    path = video(tmp_path / "copied", "front")
    late = path.with_suffix(".late")
    with av.open(str(path)) as source, av.open(str(late), "w", format="mp4") as target:
        stream = target.add_stream_from_template(source.streams.video[0], opaque=True)
        packets = [packet for packet in source.demux(source.streams.video[0]) if packet.size]
        times = [(packet.pts, packet.dts) for packet in packets]
        packets[10:15], packets[15:20] = packets[15:20], packets[10:15]  # two whole groups of pictures
        for packet, (pts, dts) in zip(packets, times, strict=True):
            packet.pts, packet.dts, packet.stream = pts, dts, stream
            target.mux(packet)
    late.replace(path)
    (found,) = lines(against(tmp_path / "copied"), "source packets")
    assert re.search(r"episode 0, front: row 10 \(episode 0, its row 10\) and 9 more: another picture than its", found)


def test_a_pool_of_one_episode_has_no_val_and_is_sound(
    painted: ModuleType, recorded: Path, against: Verified, tmp_path: Path
) -> None:
    painted.make(recorded, tmp_path / "one", exclude=("fold_towel", "pick_cup/episode_000003"))
    assert [path.name for path in (tmp_path / "one").iterdir() if (path / "meta").is_dir()] == ["train"]
    report = against(tmp_path / "one")
    assert [str(fault) for fault in report.findings] == []
    document = json.loads((tmp_path / "one/provenance.json").read_text())
    document["config"]["val_floor"] = 1
    (tmp_path / "one/provenance.json").write_text(json.dumps(document))
    found = [str(fault) for fault in against(tmp_path / "one").findings if fault.field != "digests"]
    assert any("at least 2" in line for line in found), found


def test_a_tree_without_the_datasets_tasks_is_refused(
    dataset: Path, against: Verified, verified: Verified, tmp_path: Path
) -> None:

    (tmp_path / "tree/another_task").mkdir(parents=True)
    with pytest.raises(Refused, match=r"tree: found none of the dataset's tasks, expected .*fold_towel, pick_cup"):
        verified(dataset, tmp_path / "tree")
    with pytest.raises(Refused, match="tree: found no such folder"):
        verified(dataset, tmp_path / "nowhere")
