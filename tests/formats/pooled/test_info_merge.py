"""What a further episode makes of info.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled.info_merge import document_bytes, merged

OLD: dict[str, Any] = {
    "format": "pooled_episodes_v1",
    "later": {"unknown": [1]},
    "fps": 25.0,
    "created_at": 100.0,
    "features": {"action": {"shape": [1]}, "m": {"scale": 10}},
    "cameras": {"a_rgb": {"height": 96, "width": 128}},
    "video_extensions": {"a_rgb": "mp4"},
    "sensors": ["right_glove"],
    "devices": [{"key": "old"}],
    "device_names": {"a_rgb": "old"},
    "calibration": {"old": 1},
    "total_episodes": 7,
    "last_episode_index": 9,
}
LATEST: dict[str, Any] = {
    "format": "pooled_episodes_v1",
    "fps": 30.0,
    "created_at": 900.0,
    "features": {"m": {"scale": 100}, "n": {}},
    "cameras": {"b_rgb": {"height": 1, "width": 2}},
    "video_extensions": {"b_depth": "mkv"},
    "sensors": ["left_glove"],
    "devices": [],
    "device_names": {"b_rgb": "new"},
    "calibration": {"new": 1},
    "total_episodes": 3,
    "last_episode_index": 8,
}


def test_three_keys_are_united_and_the_latest_episodes_word_is_final() -> None:
    document = merged(OLD, LATEST)
    assert document["features"] == {"action": {"shape": [1]}, "m": {"scale": 100}, "n": {}}
    assert document["cameras"] == {**OLD["cameras"], **LATEST["cameras"]}
    assert document["video_extensions"] == {"a_rgb": "mp4", "b_depth": "mkv"}


def test_the_rest_is_replaced_and_what_we_do_not_know_is_kept() -> None:
    document = merged(OLD, LATEST)
    for key in ("fps", "devices", "device_names", "calibration"):
        assert document[key] == LATEST[key]
    assert document["later"] == {"unknown": [1]}
    assert list(document)[: len(OLD)] == list(OLD)


def test_the_task_keeps_its_first_time_all_sensors_and_counts_that_never_fall() -> None:
    document = merged(OLD, LATEST)
    assert document["created_at"] == 100.0
    assert document["sensors"] == ["left_glove", "right_glove"]
    assert (document["total_episodes"], document["last_episode_index"]) == (7, 9)
    higher = merged(OLD, {"total_episodes": 8, "last_episode_index": 10})
    assert (higher["total_episodes"], higher["last_episode_index"]) == (8, 10)
    assert higher["sensors"] == ["right_glove"]


def test_merging_again_changes_nothing_and_its_input_is_left_alone() -> None:
    before = json.dumps([OLD, LATEST])
    once = merged(OLD, LATEST)
    assert merged(once, LATEST) == once
    assert json.dumps([OLD, LATEST]) == before


@pytest.mark.parametrize("old", [None, {}])
def test_a_first_episode_tells_everything(old: dict[str, Any] | None) -> None:
    assert merged(old, LATEST) == LATEST


def test_old_values_of_a_wrong_type_count_as_absent() -> None:
    wrong = dict.fromkeys(OLD, None) | {"sensors": [3, "right_glove"], "total_episodes": "7", "created_at": True}
    document = merged(wrong, LATEST)
    assert document == {**LATEST, "later": None, "sensors": ["left_glove", "right_glove"]}


def test_the_document_is_indented_by_2_and_keeps_every_script(sample_pooled: Path) -> None:
    document = {"task_name": "手套_抓取", "list": [1]}
    assert document_bytes(document) == '{\n  "task_name": "手套_抓取",\n  "list": [\n    1\n  ]\n}'.encode()
    for path in sorted(sample_pooled.glob("recordings/*/meta/info.json")):
        assert document_bytes(json.loads(path.read_bytes())) == path.read_bytes()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_no_json_file_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(Refused, match="finite numbers"):
        document_bytes({"later": value})
