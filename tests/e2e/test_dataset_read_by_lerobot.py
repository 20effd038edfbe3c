"""lerobot's own reader, streaming reader, sampler and check command on what we built, without a network."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SPLITS = ("train", "val", "eval_purple_play", "eval_purple_stack")
CAMERAS = ("scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top")
KEYS = tuple(f"observation.images.{camera}" for camera in CAMERAS)
CHUNK = 10

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
Record = Callable[[str, object], None]


def table(root: Path, kind: str) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted((root / kind).glob("*/*.parquet"))])


@cache
def digests(root: Path, key: str) -> list[str]:
    """Digest of every picture of a camera in row order: what PyAV decodes, file after file."""
    found = []
    for file in sorted((root / "videos" / key).glob("*/*.mp4")):
        with av.open(str(file)) as container:
            for frame in container.decode(video=0):
                found.append(hashlib.sha256(frame.to_ndarray(format="rgb24").tobytes()).hexdigest())
    return found


def probes(root: Path) -> list[int]:
    """First, middle and last row of every episode."""
    ranges = table(root, "meta/episodes").select(["dataset_from_index", "dataset_to_index"]).to_pylist()
    ends = [(row["dataset_from_index"], row["dataset_to_index"]) for row in ranges]
    return [row for first, end in ends for row in (first, (first + end) // 2, end - 1)]


@pytest.fixture(scope="module")
def read(sample_dataset: Path, lerobot: Ask, remember: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    jobs = [{"root": sample_dataset / split, "rows": probes(sample_dataset / split)} for split in SPLITS]
    return remember("sample-read", lambda _: lerobot("read_splits", {"jobs": jobs}))


def test_lerobot_opens_every_split_and_decodes_first_middle_and_last_rows_exactly(
    read: dict[str, Any], record_property: Record
) -> None:
    record_property("backends measured", read["backends"])
    print("backends measured:", *read["backends"], *(() if len(read["backends"]) > 1 else ("(torchcodec unmeasured)",)))
    assert [(Path(r["root"]).name, r["backend"]) for r in read["reports"]] == [
        (split, backend) for split in SPLITS for backend in read["backends"]
    ]
    for report in read["reports"]:
        root = Path(report["root"])
        for item, row in zip(report["items"], probes(root), strict=True):
            assert item["index"] == row
            for key in KEYS:
                assert item[key] == digests(root, key)[row], f"{root.name} {report['backend']} row {row} {key}"


def test_torchcodec_is_measured_wherever_it_loads(read: dict[str, Any]) -> None:
    done = subprocess.run([sys.executable, "-c", "import torchcodec"], capture_output=True, check=False)
    assert ("torchcodec" in read["backends"]) == (done.returncode == 0)


def test_lerobot_returns_the_rows_values_and_tasks(read: dict[str, Any]) -> None:
    for report in read["reports"]:
        root = Path(report["root"])
        rows = table(root, "data").to_pylist()
        tasks = [row["task"] for row in pq.read_table(root / "meta/tasks.parquet").sort_by("task_index").to_pylist()]
        assert report["frames"] == len(rows)
        for item in report["items"]:
            row = rows[item["index"]]
            assert {name: item[name] for name in row} == row
            assert item["task"] == tasks[row["task_index"]]


@pytest.fixture(scope="module")
def train_like(sample_dataset: Path, lerobot: Ask, remember: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    asked = {"root": sample_dataset / "val", "chunk": CHUNK}
    return remember("sample-train-like", lambda _: lerobot("train_like", asked))


def test_policy_features_can_be_made_from_info(train_like: dict[str, Any]) -> None:
    vectors: dict[str, Any] = {"observation.state": ["STATE", [17]], "action": ["ACTION", [5]],
                               "observation.objects.cube": ["STATE", [32]]}  # fmt: skip
    assert train_like["policy"] == vectors | {key: ["VISUAL", [3, 144, 192]] for key in KEYS}


def test_a_batch_for_an_act_like_policy_has_chunks_of_actions_and_their_padding(
    train_like: dict[str, Any], sample_dataset: Path
) -> None:
    batch = train_like["batch"]
    assert batch["action"] == ["torch.float32", [4, CHUNK, 5]]
    assert batch["action_is_pad"] == ["torch.bool", [4, CHUNK]]
    assert batch["observation.state"] == ["torch.float32", [4, 2, 17]]
    assert batch["observation.objects.cube"] == ["torch.float32", [4, 32]]
    assert all(batch[key] == ["torch.float32", [4, 3, 144, 192]] for key in KEYS)
    low, high = train_like["range"]
    assert 0.0 <= low < high <= 1.0
    assert train_like["sampled"] == table(sample_dataset / "val", "data").num_rows


def test_the_streaming_reader_yields_every_row_with_its_own_pictures(
    train_like: dict[str, Any], sample_dataset: Path, record_property: Record
) -> None:
    """It looks pictures up by `index / fps`, so this holds while a camera has one file."""
    record_property("streaming decoder", train_like["stream_decoder"])
    root = sample_dataset / "val"
    items = sorted(train_like["streamed"], key=lambda item: item["index"])
    assert [item["index"] for item in items] == list(range(table(root, "data").num_rows))
    for item in items:
        assert {key: item[key] for key in KEYS} == {key: digests(root, key)[item["index"]] for key in KEYS}


def check(dataset: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from quickdraw.cli.main import app; app()", "lerobot-check", str(dataset)]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=300)


def test_lerobot_check_passes_a_sound_dataset_and_fails_a_damaged_copy(sample_dataset: Path, tmp_path: Path) -> None:
    done = check(sample_dataset)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == sorted(SPLITS)
    damaged = tmp_path / "damaged"
    shutil.copytree(sample_dataset, damaged, ignore=shutil.ignore_patterns("media"))
    (file,) = (damaged / "val/videos" / KEYS[1]).rglob("*.mp4")
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 6 // 10])
    done = check(damaged)
    assert done.returncode == 1
    assert "val: lerobot failed" in done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == sorted({*SPLITS} - {"val"})


def test_lerobot_check_refuses_a_folder_without_splits(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr
    assert "meta/info.json" in done.stderr


def videos(dataset: Path) -> list[Path]:
    return sorted(dataset.rglob("*.mp4"))


def test_every_video_has_even_stamps_from_0_and_a_keyframe_a_gop(sample_dataset: Path) -> None:
    gop = json.loads((sample_dataset / "provenance.json").read_text())["config"]["video"]["gop"]
    assert len(videos(sample_dataset)) == 4 * 4 + 4 * 7
    for path in videos(sample_dataset):
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            packets = [packet for packet in container.demux(stream) if packet.dts is not None]
            step = Fraction(1, 30) / stream.time_base
            assert stream.start_time == 0
            assert [packet.pts for packet in packets] == [packet.dts for packet in packets]
            assert [packet.pts for packet in packets] == [k * step for k in range(len(packets))]
            keys = [k for k, packet in enumerate(packets) if packet.is_keyframe]  # an episode begins with one
            assert keys[0] == 0
            assert max(b - a for a, b in pairwise([*keys, len(packets)])) == gop <= 10
            assert stream.average_rate == 30


def test_ffmpegs_binary_decodes_every_video_without_a_word(sample_dataset: Path) -> None:
    for path in videos(sample_dataset):
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "warning", "-i", str(path), "-f", "null", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == "", path


def test_every_video_is_tagged_bt601_limited(sample_dataset: Path) -> None:
    for path in videos(sample_dataset):
        with av.open(str(path)) as container:
            frame = next(container.decode(video=0))
            assert (frame.colorspace, frame.color_range, frame.format.name) == (6, 1, "yuv420p"), path
            context = container.streams.video[0].codec_context
            assert (context.color_primaries, context.color_trc) == (6, 6)


def test_as_many_pictures_as_rows_in_every_camera_and_clips_are_the_streams_of_the_files(sample_dataset: Path) -> None:
    for split in SPLITS:
        lengths = table(sample_dataset / split, "meta/episodes")["length"].to_pylist()
        for camera, key in zip(CAMERAS, KEYS, strict=True):
            joined = [packet for file in sorted((sample_dataset / split / "videos" / key).rglob("*.mp4"))
                      for packet in payloads(file)]  # fmt: skip
            clips = [payloads(file) for file in sorted((sample_dataset / "media" / camera / split).glob("*.mp4"))]
            assert [len(clip) for clip in clips] == lengths
            assert [packet for clip in clips for packet in clip] == joined


def payloads(file: Path) -> list[bytes]:
    with av.open(str(file)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.dts is not None]


def test_no_video_and_no_document_is_readable_by_its_owner_alone(sample_dataset: Path) -> None:
    umask = os.umask(0o022)
    os.umask(umask)
    for path in (p for p in sample_dataset.rglob("*") if p.is_file()):
        assert path.stat().st_mode & 0o777 == 0o666 & ~umask, path


def test_info_names_all_dimensions_and_tasks_are_sorted(sample_dataset: Path) -> None:
    for split in SPLITS:
        info = json.loads((sample_dataset / split / "meta/info.json").read_text())
        assert info["robot_type"] == "xarm7"
        assert info["features"]["observation.state"]["names"][9] == "gripper"
        assert info["features"]["action"]["names"] == ["move_x", "move_y", "height", "yaw", "gripper"]
        tasks = pq.read_table(sample_dataset / split / "meta/tasks.parquet")
        assert tasks["task_index"].to_pylist() == list(range(info["total_tasks"]))
        used = np.unique(table(sample_dataset / split, "data")["task_index"].to_numpy())
        assert used.tolist() == tasks["task_index"].to_pylist()
