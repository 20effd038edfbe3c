"""Whether a folder is a pooled task is told, never guessed; what info.json says is input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled.info import recognise


def task(tmp_path: Path, text: str | None, *sessions: str) -> Path:
    root = tmp_path / "pick"
    (root / "meta").mkdir(parents=True)
    for name in sessions:
        (root / name).mkdir()
    if text is not None:
        (root / "meta/info.json").write_text(text, encoding="utf-8")
    return root


def described(**changes: Any) -> str:
    return json.dumps({"format": "pooled_episodes_v1", "fps": 30.0} | changes)


def refusal(root: Path) -> str:
    with pytest.raises(Refused) as refused:
        recognise(root)
    return str(refused.value)


def test_the_sample_tasks_are_recognised(sample_pooled: Path) -> None:
    tasks = {path.name: recognise(path) for path in (sample_pooled / "recordings").iterdir()}
    assert len(tasks) == 6
    assert {info.fps for info in tasks.values()} == {30.0}
    assert tasks["umi_pick"].scales == {
        "observation.gripper_left_force_matrix": 100,
        "observation.gripper_2_gripper_right_force_matrix": 10,
    }
    assert tasks["umi_pick"].extensions == {"umi_rgb": "mp4", "umi_depth": "mkv"}


@pytest.mark.parametrize("text", [None, "{}"])
def test_session_folders_without_a_format_are_version_1_by_name(tmp_path: Path, text: str | None) -> None:
    assert "v1.0, one folder a session (pick_000001" in refusal(task(tmp_path, text, "pick_000001", "pick_000002"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "found nothing"),
        ("{}", "found no format"),
        ('{"format": "lerobot_v3"}', "found format 'lerobot_v3', expected 'pooled_episodes_v1'"),
        ('{"format": "pooled_episodes_v2"}', "found format 'pooled_episodes_v2'"),
        ('{"format": null}', "found no format"),
        ("[]", "found list, expected one JSON object"),
        ("{", "unreadable"),
        ("", "unreadable"),
        ("[" * 100_000, "unreadable"),
    ],
)
def test_anything_else_is_an_error_and_no_guess(tmp_path: Path, text: str | None, words: str) -> None:
    found = refusal(task(tmp_path, text))
    assert words in found
    assert "info.json" in found


def test_a_format_in_bytes_that_are_no_text_is_unreadable(tmp_path: Path) -> None:
    root = task(tmp_path, "")
    (root / "meta/info.json").write_bytes(b"\xff\xfe{}")
    assert "unreadable" in refusal(root)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "gone")


@pytest.mark.parametrize(
    "template",
    [
        "/etc/chunk-{c:03d}/episode-{f:03d}.parquet",
        "../data/chunk-{c:03d}/episode-{f:03d}.parquet",
        "data/chunk-{c:03d}/episode-{f:0999999999d}.parquet",
        "data/chunk-{c.__class__}/episode-{f:03d}.parquet",
        "data/chunk-{c:03d}/episode-{c:03d}.parquet",
        "data/episode-{f:03d}.parquet",
        7,
        None,
    ],
)
def test_a_template_of_another_form_is_refused_and_never_formatted(tmp_path: Path, template: Any) -> None:
    assert "data_path" in refusal(task(tmp_path, described(data_path=template)))


def test_all_faults_of_a_description_come_at_once(tmp_path: Path) -> None:
    text = described(chunks_size=0, fps=0, features=[], video_path="x", total_episodes=-1)
    found = refusal(task(tmp_path, text))
    assert [key for key in ("chunks_size", "fps", "features", "video_path", "total_episodes") if key in found] == [
        "chunks_size", "fps", "features", "video_path", "total_episodes",
    ]  # fmt: skip


@pytest.mark.parametrize("fps", ["NaN", "Infinity", "1" + 400 * "0", "true", '"30"', "-1"])
def test_frames_a_second_are_a_sensible_number(tmp_path: Path, fps: str) -> None:
    text = f'{{"format": "pooled_episodes_v1", "fps": {fps}}}'
    assert "frames a second" in refusal(task(tmp_path, text))


def test_chunks_size_and_wider_digits_are_followed(tmp_path: Path) -> None:
    text = described(chunks_size=10, data_path="data/chunk-{c:04d}/episode-{f:02d}.parquet")
    root = task(tmp_path, text)
    assert recognise(root).layout.data(25) == root / "data/chunk-0002/episode-04.parquet"


@pytest.mark.parametrize("scale", [0, -1, True, "10", 1.5, None])
def test_a_scale_that_cannot_be_one_is_none(tmp_path: Path, scale: Any) -> None:
    root = task(tmp_path, described(features={"observation.gripper_left_force_matrix": {"scale": scale}}))
    assert recognise(root).scales == {}


@pytest.mark.parametrize("text", [None, "{}"])
def test_a_folder_of_recordings_is_told_by_the_tasks_in_it(tmp_path: Path, text: str | None) -> None:
    root = task(tmp_path, text)
    for name in ("d", "b", "a", "c"):
        (root / name / "meta").mkdir(parents=True)
        (root / name / "meta/info.json").write_text(described())
    assert refusal(root).endswith("; tasks in this folder: a, b, c, ...")


def test_a_task_given_as_a_dot_has_its_folders_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = task(tmp_path, "{}", "pick_000001")
    monkeypatch.chdir(root)
    assert "v1.0, one folder a session (pick_000001" in refusal(Path())
    assert refusal(Path()).startswith("pick: ")
    (root / "meta/info.json").write_text(described())
    info = recognise(Path())
    assert (info.layout.task, info.task_name) == ("pick", "pick")
    monkeypatch.chdir(root / "meta")
    assert recognise(Path("..")).layout.task == "pick"
