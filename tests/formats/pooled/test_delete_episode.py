"""One episode removed: its files, on request its row, and never its number, its statistics or its count."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled import numbers, rows
from quickdraw.formats.pooled.delete import delete
from quickdraw.formats.pooled.exclusive import changing
from quickdraw.formats.pooled.info import recognise
from quickdraw.formats.pooled.layout import Layout


class Killed(BaseException):
    """As SIGKILL: nothing catches it."""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Episodes 1 to 3 of two slots, the last with a renamed slot, a second extension and `_aux` streams."""
    layout = Layout(tmp_path / "task")
    layout.meta.mkdir(parents=True)
    document = {
        "format": "pooled_episodes_v1",
        "total_episodes": 3,
        "later": "手",
        "video_extensions": {"a_rgb": "mp4"},
    }
    layout.info.write_text(json.dumps(document))
    layout.stats.write_text("{}")
    for number in (1, 2, 3):
        touch(layout.data(number))
        touch(layout.video(number, "a_rgb", "mp4"))
        touch(layout.row(number)).write_bytes(rows.row_bytes(rows.EpisodeRow(number, length=number)))
    for name in ("b_depth/episode-002.mkv", "b_depth/episode-002.mp4", "a_rgb_aux/episode-002.mp4"):
        touch(layout.root / "videos" / "chunk-000" / name)
    touch(layout.root / "videos" / "chunk-000" / "a_rgb" / "episode-002_aux.mp4")
    return layout


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def content(root: Path) -> dict[str, bytes]:
    files = (each for each in root.rglob("*") if each.is_file() and each.name not in (".lock", ".recorder.lock"))
    return {each.relative_to(root).as_posix(): each.read_bytes() for each in files}


FILES_OF_3 = {
    "data/chunk-000/episode-002.parquet",
    "videos/chunk-000/a_rgb/episode-002.mp4",
    "videos/chunk-000/a_rgb/episode-002_aux.mp4",
    "videos/chunk-000/a_rgb_aux/episode-002.mp4",
    "videos/chunk-000/b_depth/episode-002.mkv",
    "videos/chunk-000/b_depth/episode-002.mp4",
}
ROW_OF_3 = "meta/episodes/chunk-000/episode-002.parquet"


def test_videos_and_data_go_and_the_row_stays(layout: Layout) -> None:
    before = content(layout.root)
    report = delete(layout, 3, apply=True)
    after = content(layout.root)
    assert {each.relative_to(layout.root).as_posix() for each in report.files} == FILES_OF_3
    assert before.keys() - after.keys() == FILES_OF_3
    assert {name for name in after if after[name] != before[name]} == {"meta/info.json"}
    assert json.loads(after["meta/info.json"]) == {**json.loads(before["meta/info.json"]), "last_episode_index": 3}
    assert not (layout.root / "videos/chunk-000/b_depth").exists()
    assert not (layout.root / "videos/chunk-000/a_rgb_aux").exists()
    assert rows.read_row(layout, 3) is not None


def test_the_row_goes_too_when_it_is_asked_for(layout: Layout) -> None:
    before = content(layout.root)
    delete(layout, 3, with_row=True, apply=True)
    assert before.keys() - content(layout.root).keys() == {*FILES_OF_3, ROW_OF_3}
    assert rows.read_row(layout, 3) is None
    assert numbers.next_number(layout, recognise(layout.root)) == 4


def test_nothing_is_changed_until_it_is_applied(layout: Layout) -> None:
    before = content(layout.root)
    report = delete(layout, 3, with_row=True)
    assert {each.relative_to(layout.root).as_posix() for each in report.files} == {*FILES_OF_3, ROW_OF_3}
    assert not report.applied
    assert content(layout.root) == before


def test_deleting_again_or_what_never_was_succeeds_and_changes_nothing(layout: Layout) -> None:
    delete(layout, 3, apply=True)
    before = content(layout.root)
    assert delete(layout, 3, apply=True).files == ()
    assert delete(layout, 77, with_row=True, apply=True).files == ()
    assert content(layout.root) == before
    assert recognise(layout.root).last_number == 3, "77 was never finished"


def test_a_row_of_a_shard_is_taken_out_and_the_others_stay(sample_pooled: Path, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "legacy")
    source = sample_pooled / "recordings" / "legacy_v110"
    for path in source.rglob("*"):
        if path.is_file():
            shutil.copyfile(path, touch(layout.root / path.relative_to(source)))
    before = pq.read_table(layout.shard(1)).to_pylist()
    report = delete(layout, 3, with_row=True, apply=True)
    assert report.shards == (layout.shard(1),)
    assert pq.read_table(layout.shard(1)).to_pylist() == [before[0], before[1], before[3]]
    for number in (1, 2, 4):
        delete(layout, number, with_row=True, apply=True)
    assert not layout.shard(1).exists()
    assert not (layout.root / "data").exists()
    assert not (layout.root / "videos").exists()
    assert numbers.next_number(layout, recognise(layout.root)) == 5


def test_a_row_file_that_holds_another_episode_is_left(layout: Layout) -> None:
    pq.write_table(pa.table({"episode_index": [9]}), layout.row(3))
    delete(layout, 3, with_row=True, apply=True)
    assert pq.read_table(layout.row(3)).column("episode_index").to_pylist() == [9]


def test_an_episode_of_a_video_alone_is_deleted_and_its_number_stays_taken(layout: Layout) -> None:
    touch(layout.video(8, "a_rgb", "mp4"))
    delete(layout, 8, apply=True)
    assert numbers.known_numbers(layout) == {1, 2, 3}
    assert numbers.next_number(layout, recognise(layout.root)) == 9


def test_a_marker_that_names_the_deleted_episode_goes_another_stays(layout: Layout) -> None:
    numbers.write_marker(layout, 9)
    delete(layout, 1, apply=True)
    assert numbers.read_marker(layout) == 9
    numbers.write_marker(layout, 2)  # of a finished episode: never to be given again
    delete(layout, 2, with_row=True, apply=True)
    assert not layout.recycled.exists()


def test_the_freed_number_of_the_sample_survives_a_deletion_below_it(sample_pooled: Path, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "gloves")
    source = sample_pooled / "recordings" / "手套_抓取"
    for path in source.rglob("*"):
        if path.is_file():
            shutil.copyfile(path, touch(layout.root / path.relative_to(source)))
    delete(layout, 2, with_row=True, apply=True)
    assert numbers.next_number(layout, recognise(layout.root)) == 3


def test_the_remembered_number_never_falls(layout: Layout) -> None:
    delete(layout, 3, apply=True)
    delete(layout, 1, apply=True)
    assert recognise(layout.root).last_number == 3


@pytest.mark.parametrize("call", ["replace", "unlink"])
def test_a_kill_at_every_step_leaves_the_episode_whole_or_gone(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str
) -> None:
    real = getattr(os, call)
    before = content(layout.root)
    for k in range(100):
        here, calls = Layout(Path(shutil.copytree(layout.root, tmp_path / f"copy{k}"))), []

        def dying(*arguments: Any, at: int = k, seen: list[Any] = calls, **named: Any) -> Any:
            seen.append(arguments)
            if len(seen) == at + 1:
                raise Killed
            return real(*arguments, **named)

        with monkeypatch.context() as patched:
            patched.setattr(os, call, dying)
            try:
                delete(here, 3, with_row=True, apply=True)
            except Killed:
                pass
            else:
                break
        with changing(here):
            found = content(here.root)
        assert found == before or not found.keys() & {*FILES_OF_3, ROW_OF_3}
        assert numbers.next_number(here, recognise(here.root)) == 4
    assert k >= (2 if call == "replace" else 7)


@pytest.mark.parametrize("number", [0, -1])
def test_a_number_below_1_is_refused(layout: Layout, number: int) -> None:
    with pytest.raises(Refused, match="from 1 on"):
        delete(layout, number, apply=True)


def test_a_task_that_is_being_recorded_is_left_alone(layout: Layout) -> None:
    before = content(layout.root)
    with changing(layout), pytest.raises(Refused, match="is at work"):
        delete(layout, 3, apply=True)
    assert content(layout.root) == before


def test_a_row_that_cannot_be_read_goes_by_its_name_a_shard_never(layout: Layout) -> None:
    layout.row(2).write_bytes(b"no parquet")
    layout.shard(2).write_bytes(b"no parquet either")
    assert layout.row(2) in delete(layout, 2, with_row=True, apply=True).files
    assert not layout.row(2).exists()
    assert layout.shard(2).exists()


def test_a_folder_with_an_episodes_name_stays_and_hinders_no_later_change(layout: Layout) -> None:
    odd = layout.root / "videos/chunk-000/odd/episode-002.png"
    odd.mkdir(parents=True)
    assert odd not in delete(layout, 3, apply=True).files
    assert odd.is_dir()
    with changing(layout):
        pass
    delete(layout, 2, apply=True)


def test_a_slot_with_a_backslash_is_deleted_as_any_other(layout: Layout) -> None:
    path = touch(layout.root / "videos/chunk-000/a\\b/episode-002.mp4")
    assert path in delete(layout, 3, apply=True).files
    assert not path.exists()


def test_a_kill_after_the_files_went_leaves_no_row_in_the_shard(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.concat_tables([pq.read_table(layout.row(number)) for number in (1, 2, 3)])
    pq.write_table(table, layout.shard(1))
    for number in (1, 2, 3):
        layout.row(number).unlink()
    real = os.unlink

    def dying(path: Any, *arguments: Any, **named: Any) -> None:
        real(path, *arguments, **named)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", dying)
        with pytest.raises(Killed):
            delete(layout, 3, with_row=True, apply=True)
    with changing(layout):
        assert not content(layout.root).keys() & FILES_OF_3
        assert rows.read_row(layout, 3) is None
        assert rows.read_row(layout, 2) is not None
