"""One episode as the upload's zip, read back by plain zipfile: names, order, bytes, flags, and what is refused."""

from __future__ import annotations

import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats import durable
from quickdraw.formats.pooled import archive
from quickdraw.formats.pooled.info import recognise

TASK_FILES = ["meta/info.json", "meta/stats.json", "meta/tasks.jsonl"]


def packed(root: Path, number: int, target: Path) -> Path:
    return archive.pack(recognise(root).layout, number, target)


def test_the_names_and_their_order_are_the_contracts(tiny: Any, tmp_path: Path) -> None:
    path = packed(tiny.root, 2, tmp_path / "out.zip")
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        assert file.namelist() == [
            "videos/chunk-000/cam/episode-001.mp4",
            "videos/chunk-000/depth/episode-001.mkv",
            "data/chunk-000/episode-001.parquet",
            "meta/episodes/chunk-000/episode-001.parquet",
            *TASK_FILES,
        ]
        for each in file.infolist():
            assert each.compress_type == zipfile.ZIP_STORED
            assert file.read(each) == (tiny.root / each.filename).read_bytes()


def test_an_episode_beyond_the_first_chunk_has_its_own_names(
    pooled_sample: Callable[[str], Any], tmp_path: Path
) -> None:
    gloves = pooled_sample("手套_抓取")
    with zipfile.ZipFile(packed(gloves.root, 1001, tmp_path)) as file:
        assert file.filename == str(tmp_path / "手套_抓取_ep000000.zip")
        assert file.namelist() == [
            "videos/chunk-001/D435_head_rgb/episode-000.mp4",
            "data/chunk-001/episode-000.parquet",
            "meta/episodes/chunk-001/episode-000.parquet",
            *TASK_FILES,
        ]
    with zipfile.ZipFile(packed(gloves.root, 1000, tmp_path)) as file:
        assert file.filename == str(tmp_path / "手套_抓取_ep000999.zip")
        assert "meta/recycled_episode.json" not in file.namelist()


def test_slots_come_by_name_and_beyond_ascii_as_flagged_utf8(tiny: Any, tmp_path: Path) -> None:
    cam = tiny.root / "videos/chunk-000/cam"
    shutil.copytree(cam, cam.with_name("右手"))
    shutil.copytree(cam, cam.with_name("Zoom"))
    path = packed(tiny.root, 1, tmp_path / "out.zip")
    with zipfile.ZipFile(path) as file:
        slots = [name.split("/")[2] for name in file.namelist() if name.startswith("videos")]
        assert slots == sorted(slots) == ["Zoom", "cam", "depth", "右手"]
    # Without zipfile: the flag word of each local header (APPNOTE 4.3.7), of which bit 11 says UTF-8.
    content = path.read_bytes()
    name = "videos/chunk-000/右手/episode-000.mp4".encode()
    at = content.index(name) - 30
    signature, flags = struct.unpack_from("<4s2xH", content, at)
    assert signature == b"PK\x03\x04"
    assert flags & 0x800
    assert flags & ~0x800 == 0  # no encryption, no data descriptor


def test_the_same_episode_makes_the_same_bytes(tiny: Any, tmp_path: Path) -> None:
    first = packed(tiny.root, 1, tmp_path / "a.zip").read_bytes()
    copy = shutil.copytree(tiny.root, tmp_path / "elsewhere/tiny", copy_function=shutil.copyfile)
    for path in copy.rglob("*.parquet"):
        path.chmod(0o600)
    assert packed(copy, 1, tmp_path / "b.zip").read_bytes() == first
    with zipfile.ZipFile(BytesIO(first)) as file:
        assert {each.date_time for each in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_hidden_files_temporaries_markers_and_auxiliary_streams_stay_out(tiny: Any, tmp_path: Path) -> None:
    root = tiny.root
    for name in ("meta/recycled_episode.json", "meta/.stats_state.json", "data/chunk-000/.episode-000.parquet.tmp",
                 "meta/episodes/chunk-000/.episode-000.parquet.tmp", "meta/.recorder.lock",
                 "videos/chunk-000/cam/.episode-000.mp4.tmp", "videos/chunk-000/cam/episode-000_aux.mp4",
                 "videos/chunk-000/cam_aux/episode-000.mp4", "_trash/episode-000.mp4"):  # fmt: skip
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x")
    with zipfile.ZipFile(packed(root, 1, tmp_path / "out.zip")) as file:
        assert file.namelist() == [
            "videos/chunk-000/cam/episode-000.mp4", "videos/chunk-000/depth/episode-000.mkv",
            "data/chunk-000/episode-000.parquet", "meta/episodes/chunk-000/episode-000.parquet", *TASK_FILES,
        ]  # fmt: skip


def test_of_a_shard_one_row_is_sliced_under_the_new_name(pooled_sample: Callable[[str], Any], tmp_path: Path) -> None:
    legacy = pooled_sample("legacy_v110")
    whole = pq.read_table(legacy.root / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    before = legacy.bytes_of_all()
    with zipfile.ZipFile(packed(legacy.root, 3, tmp_path / "out.zip")) as file:
        assert file.namelist() == [
            "videos/chunk-000/uvc_0/episode-002.mp4", "data/chunk-000/episode-002.parquet",
            "meta/episodes/chunk-000/episode-002.parquet", *TASK_FILES,
        ]  # fmt: skip
        table = pq.read_table(BytesIO(file.read("meta/episodes/chunk-000/episode-002.parquet")))
    assert table.num_columns == 11
    assert table.to_pylist() == [{**whole[2], "force_matrix_specs": "{}"}]
    assert legacy.bytes_of_all() == before


def test_a_row_of_the_old_name_goes_out_under_the_new_one(tiny: Any, tmp_path: Path) -> None:
    content = tiny.row(2).read_bytes()
    tiny.row(2).rename(tiny.row(2).with_name("file-001.parquet"))
    with zipfile.ZipFile(packed(tiny.root, 2, tmp_path / "out.zip")) as file:
        assert file.read("meta/episodes/chunk-000/episode-001.parquet") == content


def test_a_per_episode_file_of_another_episode_is_not_taken(tiny: Any, tmp_path: Path) -> None:
    (row,) = pq.read_table(tiny.row(2)).to_pylist()
    tiny.set_row(2, episode_index=3)
    with pytest.raises(Refused, match="row: found nothing"):
        packed(tiny.root, 2, tmp_path / "out.zip")
    tiny.write_rows(tiny.root / "meta/episodes/chunk-000/file-000.parquet", [{**row, "length": 7}, {**row}][:1])
    with zipfile.ZipFile(packed(tiny.root, 2, tmp_path / "out.zip")) as file:
        table = pq.read_table(BytesIO(file.read("meta/episodes/chunk-000/episode-001.parquet")))
    assert table.column("length").to_pylist() == [7]


INCOMPLETE: list[tuple[str, Callable[[Any], object]]] = [
    ("data: found nothing", lambda t: t.data(2).unlink()),
    ("data: found nothing", lambda t: t.data(2).write_bytes(b"")),
    ("data: found unreadable", lambda t: t.data(2).write_bytes(t.data(2).read_bytes()[:-9])),
    ("data: found no row", lambda t: t.edit_table(t.data(2), lambda c: c.update({n: c[n].slice(0, 0) for n in c}))),
    ("row: found nothing", lambda t: t.row(2).unlink()),
    ("row: found nothing", lambda t: t.row(2).write_bytes(b"PAR1")),
    ("video: found nothing", lambda t: (t.video(2).unlink(), t.video(2, "depth").unlink())),
    ("video of cam: found no bytes", lambda t: t.video(2).write_bytes(b"")),
    ("video of cam: found episode-001.avi", lambda t: t.video(2).rename(t.video(2).with_suffix(".avi"))),
    ("video of cam: found episode-001.mkv, episode-001.mp4",
     lambda t: t.video(2).with_suffix(".mkv").write_bytes(b"x")),
    ("video of cam: found .*cut off", lambda t: t.video(2).write_bytes(t.video(2).read_bytes()[:-700])),
    ("video of depth: found .*cut off",
     lambda t: t.video(2, "depth").write_bytes(t.video(2, "depth").read_bytes()[:-700])),
    ("stats.json: found nothing", lambda t: (t.root / "meta/stats.json").unlink()),
    ("tasks.jsonl: found nothing", lambda t: (t.root / "meta/tasks.jsonl").unlink()),
    ("info.json: found nothing", lambda t: (t.root / "meta/info.json").unlink()),
]  # fmt: skip


@pytest.mark.parametrize(("told", "harm"), INCOMPLETE)
def test_an_incomplete_episode_is_refused_and_leaves_nothing(
    tiny: Any, tmp_path: Path, told: str, harm: Callable[[Any], object]
) -> None:
    layout = recognise(tiny.root).layout
    harm(tiny)
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(Refused, match=told):
        archive.pack(layout, 2, folder)
    assert list(folder.iterdir()) == []


def test_everything_that_is_missing_is_told_at_once(tiny: Any, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        packed(tiny.root, 7, tmp_path / "out.zip")
    assert [fault.field for fault in refusal.value.faults] == ["data", "row", "video"]
    assert all("episode 7 (_ep000006)" in fault.where for fault in refusal.value.faults)


def test_episodes_of_the_sample_that_lack_a_part_are_refused(sample_pooled: Path, tmp_path: Path) -> None:
    root = sample_pooled / "recordings/loose_ends"
    for number in (1, 2):
        with pytest.raises(Refused):
            packed(root, number, tmp_path / "out.zip")
    with zipfile.ZipFile(packed(root, 3, tmp_path / "out.zip")) as file:
        assert len(file.namelist()) == 6


def test_a_number_below_1_is_an_error(tiny: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="numbers start at 1"):
        packed(tiny.root, 0, tmp_path / "out.zip")


def test_a_place_inside_the_task_is_refused(tiny: Any) -> None:
    before = tiny.bytes_of_all()
    for target in (tiny.root, tiny.root / "out.zip", tiny.root / "meta/../out.zip"):
        with pytest.raises(Refused, match="outside the task"):
            packed(tiny.root, 1, target)
    assert tiny.bytes_of_all() == before


def test_a_task_without_colour_needs_no_video(tiny: Any, tmp_path: Path) -> None:
    tiny.edit("info.json", lambda document: document.update(video=False))
    tiny.video(1).unlink()
    tiny.video(1, "depth").unlink()
    with zipfile.ZipFile(packed(tiny.root, 1, tmp_path / "out.zip")) as file:
        assert len(file.namelist()) == 5


def test_an_older_archive_stays_until_the_new_one_is_whole(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tiny.root, 1, tmp_path / "out.zip")
    before = path.read_bytes()
    tiny.edit("info.json", lambda document: document.update(app_version="9"))

    def full(source: Any, sink: Any, size: int = 0) -> None:
        sink.write(source.read(100))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        with pytest.raises(OSError, match="No space"):
            packed(tiny.root, 1, path)
    assert path.read_bytes() == before
    assert not durable.aside(path).exists()
    packed(tiny.root, 1, path)
    with zipfile.ZipFile(path) as file:
        assert json.loads(file.read("meta/info.json"))["app_version"] == "9"


@pytest.mark.parametrize("given", [".", "../tiny/", "meta/.."])
def test_a_zip_bears_the_folders_name_however_the_task_was_given(
    tiny: Any, tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny.root)
    out = tmp_path / "out"
    out.mkdir()
    path = packed(Path(given), 2, out)
    assert path == out / "tiny_ep000001.zip"
    with zipfile.ZipFile(path) as file:
        assert file.namelist()[0] == "videos/chunk-000/cam/episode-001.mp4"
    with pytest.raises(Refused) as refusal:
        packed(Path(given), 9, out)
    assert {fault.where for fault in refusal.value.faults} == {"tiny: episode 9 (_ep000008)"}


def test_an_archive_of_another_episode_is_never_replaced(sample_pooled: Path, tmp_path: Path) -> None:
    layout = recognise(sample_pooled / "recordings/手套_抓取").layout
    first = archive.pack(layout, 1, tmp_path)
    before = first.read_bytes()
    assert archive.pack(layout, 1, tmp_path) == first
    assert first.read_bytes() == before
    with pytest.raises(Refused, match="no archive of episode 1001"):
        archive.pack(layout, 1001, tmp_path)
    assert first.read_bytes() == before
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(Refused, match="no archive of episode 2"):
        archive.pack(layout, 2, tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"


def test_an_episode_that_is_recorded_anew_while_it_is_packed_is_refused(
    pooled_sample: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = pooled_sample("umi_pick").root
    layout, written = recognise(root).layout, archive._write

    def replaced(sink: Any, name: str, content: Any) -> None:
        written(sink, name, content)
        if name.startswith("data/"):
            fresh = tmp_path / "fresh"
            fresh.write_bytes(layout.data(1).read_bytes())
            fresh.replace(layout.data(1))

    with monkeypatch.context() as patch:
        patch.setattr(archive, "_write", replaced)
        with pytest.raises(Refused, match="replaced while it was packed"):
            archive.pack(layout, 1, tmp_path / "a.zip")
    half = {"renames": [[".episode-000.parquet.tmp", "episode-000.parquet"]], "removals": []}
    half["renames"] = [[f"data/chunk-000/{each}" for each in pair] for pair in half["renames"]]
    (layout.root / "data/chunk-000/.episode-000.parquet.tmp").write_bytes(layout.data(1).read_bytes())
    (layout.meta / ".finishing.json").write_text(json.dumps(half))
    with pytest.raises(Refused, match="replaced while it was packed"):
        archive.pack(layout, 1, tmp_path / "a.zip")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".zip"] == []
