"""summary.json and provenance.json: true, complete, and any row leads back to the raw line it came from."""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SPLITS = {"train": 3, "val": 2, "eval_purple_play": 1, "eval_purple_stack": 1}
CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
STREAMS = ("controller", "arm_state", *CAMERAS)
AXES = ("move_x", "move_y", "height", "yaw", "gripper")
RATE = 30


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(), parse_constant=lambda token: pytest.fail(f"{token}: no JSON"))
    return found


@pytest.fixture(scope="module")
def provenance(sample_dataset: Path) -> dict[str, Any]:
    return document(sample_dataset / "provenance.json")


def data(root: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted((root / "data").glob("*/*.parquet"))])


def lengths(root: Path) -> list[int]:
    index = data(root)["episode_index"].to_numpy()
    return [int(count) for count in np.bincount(index)]


def test_summary_has_the_keys_a_loader_reads(sample_dataset: Path) -> None:
    summary = document(sample_dataset / "summary.json")
    loader = (
        "counts",
        "splits",
        "split_env",
        "coloring",
        "fps",
        "camera",
        "cameras",
        "image_hw",
        "normalization_stats",
    )
    assert set(loader) <= set(summary)
    assert "dataset_root" not in summary
    assert summary["fps"] == RATE
    assert summary["cameras"] == list(CAMERAS)
    assert summary["camera"] in CAMERAS
    assert summary["image_hw"] == [144, 192]
    assert {
        name: (dims["obs_dim"], dims["action_dim"]) for name, dims in summary["split_env"].items()
    } == dict.fromkeys(SPLITS, (17, 5))
    assert all(dims["dt"] == 1 / RATE for dims in summary["split_env"].values())
    assert summary["coloring"] == dict.fromkeys(SPLITS, "camera")
    assert {name: card["n_traj"] for name, card in summary["splits"].items()} == SPLITS


def test_summary_counts_what_is_there(sample_dataset: Path) -> None:
    counts = document(sample_dataset / "summary.json")["counts"]
    assert list(counts) == list(SPLITS)
    for split, count in counts.items():
        held = lengths(sample_dataset / split)
        assert count["episodes"] == len(held) == SPLITS[split]
        assert count["transitions"] == sum(held) == document(sample_dataset / split / "meta/info.json")["total_frames"]
        assert count["steps_per_episode"] == sum(held) // len(held)
        assert count["seconds"] == round(sum(held) / RATE, 2)
        assert count["minutes"] == round(sum(held) / RATE / 60, 3)
        assert count["hours"] == round(sum(held) / RATE / 3600, 5)


def test_training_windows_are_counted_one_by_one(sample_dataset: Path) -> None:
    for split, count in document(sample_dataset / "summary.json")["counts"].items():
        windows = 0
        for length in lengths(sample_dataset / split):
            windows += sum(1 for start in range(length) if start + 8 + 64 <= length)
        assert count["training_windows"] == windows


def test_no_file_but_progress_log_knows_where_it_was_built(sample_dataset: Path, sample_tree: Path) -> None:
    places = {
        str(sample_tree),
        str(sample_dataset),
        str(sample_dataset.parent),
        str(Path.home()),
        "/tmp/",
        str(Path(__file__).parents[2]),
    }
    for path in (p for p in sample_dataset.rglob("*") if p.is_file() and p.name != "progress.log"):
        found = [place for place in places if place != "/" and place.encode() in path.read_bytes()]
        assert found == [], path.name


def strings(value: Any) -> list[str]:
    """Every text in a document."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_no_text_of_the_documents_is_an_absolute_path(sample_dataset: Path) -> None:
    for path in (*sample_dataset.glob("*.json"), *sample_dataset.glob("*/meta/*.json")):
        assert [text for text in strings(document(path)) if text.startswith("/")] == [], path


def test_every_episode_is_told_with_all_it_came_from(provenance: dict[str, Any], sample_dataset: Path) -> None:
    places = [(episode["split"], episode["episode_index"]) for episode in provenance["episodes"]]
    assert places == [(split, number) for split, count in SPLITS.items() for number in range(count)]
    for episode in provenance["episodes"]:
        assert set(episode) >= {"campaign", "run", "frames", "t_lo_s", "t_hi_s", "displacement", "validation",
                                "timestamp_source", "git_sha", "mount_hash", "sources"}  # fmt: skip
        assert episode["frames"] == lengths(sample_dataset / episode["split"])[episode["episode_index"]]
        assert list(episode["displacement"]) == list(STREAMS)


def test_what_run_json_says_is_passed_on(provenance: dict[str, Any], sample_tree: Path) -> None:
    for episode in provenance["episodes"]:
        folder = sample_tree / episode["campaign"] / episode["run"]
        run = json.loads((folder / "run.json").read_text())
        assert episode["git_sha"] == run["provenance"]["git_sha"]
        assert (episode["status"], episode["stopped_by"]) == (run["status"], run["stopped_by"])
        levels = [check["level"] for check in run["validation"]["checks"]]
        assert episode["validation"] == {level: levels.count(level) for level in ("pass", "warn", "fail")}
        matrix = np.array(run["provenance"]["R_WORLD_FROM_BASE"], np.float64)
        assert hashlib.sha256(matrix.tobytes()).hexdigest().startswith(episode["mount_hash"])
        for camera in CAMERAS:
            times = json.loads((folder / f"video/{camera}_frame_times.json").read_text())
            assert episode["timestamp_source"][camera] == times["timestamp_source"]


def test_digests_and_sizes_are_those_of_the_source_files(provenance: dict[str, Any], sample_tree: Path) -> None:
    expected = {"run.json", "raw/controller.jsonl", "raw/arm_state.jsonl"}
    expected |= {f"video/{camera}{end}" for camera in CAMERAS for end in (".mp4", "_frame_times.json")}
    for episode in provenance["episodes"]:
        assert set(episode["sources"]) == expected
        for name, told in episode["sources"].items():
            content = (sample_tree / episode["campaign"] / episode["run"] / name).read_bytes()
            assert told == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@dataclass(frozen=True)
class Raw:
    """One run as plain json reads it; stamps in whole nanoseconds."""

    rows: dict[str, list[dict[str, Any]]]
    t_ns: dict[str, list[int]]


def nanoseconds(stamp: Decimal) -> int:
    return round(stamp * 1_000_000_000)


def raw(tree: Path, episode: dict[str, Any]) -> Raw:
    folder = tree / episode["campaign"] / episode["run"]
    rows, t_ns = {}, {}
    for stream in ("controller", "arm_state"):
        lines = (folder / f"raw/{stream}.jsonl").read_text().splitlines()
        read = [json.loads(line, parse_float=Decimal) for line in lines if line.strip()]
        if stream == "arm_state":
            read = [row for row in read if complete(row)]
        rows[stream] = read
        t_ns[stream] = [nanoseconds(Decimal(row["t"])) for row in read]
    for camera in CAMERAS:
        times = json.loads((folder / f"video/{camera}_frame_times.json").read_text(), parse_float=Decimal)
        t_ns[camera] = [nanoseconds(Decimal(t)) for t in times["t"]]
    for stamps in t_ns.values():
        assert stamps == sorted(stamps)
    return Raw(rows, t_ns)


def complete(row: dict[str, Any]) -> bool:
    """Whether all 17 values of a state can be had from this row."""
    numbers = [*row.get("pose_world_xyz_mm", []), *row.get("pose_base_mm_deg", []), *row.get("joints_real_deg", [])]
    gripper = row.get("gripper_pos")
    return len(numbers) == 3 + 6 + 7 and gripper is not None and all(math.isfinite(x) for x in (*numbers, gripper))


def chosen(t_ns: Sequence[int], tick: Fraction) -> int:
    """The nearest sample, the earlier on a tie, the earliest of equal stamps; exactly."""
    at = bisect_left(t_ns, tick)
    candidates = [i for i in (at - 1, at) if 0 <= i < len(t_ns)]
    best = min(candidates, key=lambda i: (abs(t_ns[i] - tick), i))
    return bisect_left(t_ns, t_ns[best])


@pytest.fixture(scope="module")
def raw_runs(provenance: dict[str, Any], sample_tree: Path) -> list[Raw]:
    return [raw(sample_tree, episode) for episode in provenance["episodes"]]


def ticks(run: Raw, frames: int) -> list[Fraction]:
    start = max(stamps[0] for stamps in run.t_ns.values())
    return [start + Fraction(k * 1_000_000_000, RATE) for k in range(frames)]


def test_windows_are_those_in_which_all_six_streams_live(provenance: dict[str, Any], raw_runs: list[Raw]) -> None:
    for episode, run in zip(provenance["episodes"], raw_runs, strict=True):
        start = max(stamps[0] for stamps in run.t_ns.values())
        end = min(stamps[-1] for stamps in run.t_ns.values())
        assert (episode["t_lo_s"], episode["t_hi_s"]) == (start / 1e9, end / 1e9)
        assert episode["frames"] == sum(1 for tick in ticks(run, 1000) if tick < end)


def test_any_row_leads_back_to_its_raw_lines(
    provenance: dict[str, Any], raw_runs: list[Raw], sample_dataset: Path
) -> None:
    for episode, run in zip(provenance["episodes"], raw_runs, strict=True):
        table = data(sample_dataset / episode["split"])
        of = np.flatnonzero(table["episode_index"].to_numpy() == episode["episode_index"])
        times = ticks(run, episode["frames"])
        for k in {0, 1, 7, episode["frames"] // 2, episode["frames"] - 1}:
            row = table.slice(int(of[k]), 1).to_pylist()[0]
            line = run.rows["controller"][chosen(run.t_ns["controller"], times[k])]
            assert row["action"] == [float(np.float32(float(line[axis]))) for axis in AXES]
            line = run.rows["arm_state"][chosen(run.t_ns["arm_state"], times[k])]
            np.testing.assert_allclose(row["observation.state"], state(line), atol=2e-6, rtol=1e-7)


def state(line: dict[str, Any]) -> list[float]:
    """17 values of one arm_state row, by hand."""
    roll, pitch, yaw = (math.radians(angle) for angle in line["pose_base_mm_deg"][3:])
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a), math.cos(a)) for a in (roll, pitch, yaw))
    columns = ((cy * cp, sy * cp, -sp), (cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr))
    half = math.sqrt(0.5)  # the mount turns the base by 45 degrees about x
    rotation = [v for x, y, z in columns for v in (x, half * (y - z), half * (y + z))]
    xyz = [float(v) for v in line["pose_world_xyz_mm"]]
    gripper = min(max(float(line["gripper_pos"]) / 850, 0.0), 1.0)
    return [*xyz, *rotation, gripper, *(math.radians(angle) for angle in line["joints_real_deg"])]


@pytest.mark.parametrize("stream", STREAMS)
def test_displacement_is_what_the_stamps_say(provenance: dict[str, Any], raw_runs: list[Raw], stream: str) -> None:
    for episode, run in zip(provenance["episodes"], raw_runs, strict=True):
        t_ns, told = run.t_ns[stream], episode["displacement"][stream]
        moved = [abs(t_ns[chosen(t_ns, tick)] - tick) / 10**9 for tick in ticks(run, episode["frames"])]
        intervals = sorted(b - a for a, b in pairwise(t_ns))
        half = len(intervals) // 2
        median = Fraction(intervals[half] + intervals[-half - 1], 2)
        bound = median / 2 / 10**9
        assert told["max_s"] == pytest.approx(float(max(moved)), abs=1e-12)
        assert told["p99_s"] == pytest.approx(np.quantile([float(m) for m in moved], 0.99), abs=1e-12)
        assert told["bound_s"] == pytest.approx(float(bound), abs=1e-12)
        assert told["past_bound"] == sum(m > bound + Fraction(1, 10**6) for m in moved) / len(moved)
        assert told["gaps"] == sum(interval > 3 * median for interval in intervals)


def test_configuration_is_told_as_far_as_it_can_change_the_content(
    provenance: dict[str, Any], sample_dataset: Path
) -> None:
    config = provenance["config"]
    assert config["target_hz"] == RATE
    assert not {"dir", "workers"} & set(config)
    assert set(provenance["packages"]) >= {"av", "numpy", "pyarrow"}
    for split in SPLITS:
        for feature in document(sample_dataset / split / "meta/info.json")["features"].values():
            if feature["dtype"] == "video":
                told = {name: feature["info"][f"video.{name}"] for name in ("crf", "preset", "g")}
                assert told == {"crf": config["video"]["crf"], "preset": config["video"]["preset"],
                                "g": config["video"]["gop"]}  # fmt: skip


def test_media_hold_one_clip_an_episode_and_camera(provenance: dict[str, Any], sample_dataset: Path) -> None:
    expected = {f"{c}/{e['split']}/ep_{e['episode_index']:04d}.mp4" for e in provenance["episodes"] for c in CAMERAS}
    media = sample_dataset / "media"
    assert {str(path.relative_to(media)) for path in media.rglob("*") if path.is_file()} == expected


def test_the_dataset_holds_its_documents_its_splits_and_nothing_else(sample_dataset: Path) -> None:
    documents = {"normalization_stats.json", "summary.json", "provenance.json", "progress.log"}
    folders, views = {"media", "measured", "fingerprints"}, {"report.html", "README.md"}
    assert {path.name for path in sample_dataset.iterdir()} == documents | views | folders | set(SPLITS)
