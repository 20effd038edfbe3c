"""Rules of the contract that no other test proves by itself; CONTRACT.md beside this file names the test of each.

Witness: plain json, pyarrow and zipfile, ffmpeg's binary, the file system's inodes and locks.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import threading
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app
from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.reader import Task
from quickdraw.formats.pooled.writer import Recorder, Slot

T0, HW0, FRAME_NS = 1.79e9, 5 * 10**12, 33_333_333
COLOUR = np.zeros((32, 32, 3), np.uint8)


def recorder(root: Path, name: str = "pick") -> Recorder:
    return Recorder(root, name, slots=[Slot("rgb", 32, 32)], app_version="1")


def record(made: Recorder, number: int | None = None, *, again: bool = False, glove: float = 1.0) -> int:
    """Two rows of one glove."""
    given = made.begin(number, again=again)
    for k in range(2):
        made.add_glove("left_glove", np.full(256, glove))
        made.add_frame({"rgb": COLOUR}, hardware_ns=HW0 + k * FRAME_NS, wall_time=T0 + k / 30)
    made.end()
    return given


def document(made: Recorder, name: str) -> Any:
    return json.loads((made.root / "meta" / name).read_bytes())


def second_names(task: Path, store: Path) -> dict[Path, tuple[Path, bytes]]:
    """Every visible file under a second name of the same inode: a file that is written into changes there too."""
    store.mkdir()
    files = [path for path in sorted(task.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    found = {}
    for at, path in enumerate(files):
        os.link(path, store / str(at))
        found[path] = (store / str(at), path.read_bytes())
    return found


def written_into(names: dict[Path, tuple[Path, bytes]]) -> list[str]:
    return [path.name for path, (second, content) in names.items() if second.read_bytes() != content]


def renewed(names: dict[Path, tuple[Path, bytes]]) -> set[str]:
    """What is a new file under an old name."""
    there = [(path, second) for path, (second, _) in names.items() if path.exists()]
    return {path.name for path, second in there if not path.samefile(second)}


@pytest.mark.parametrize(("number", "file"), [(1, 0), (2, 1), (1000, 999), (1001, 0)])
def test_the_name_the_arcnames_and_the_form_field_of_an_episode_are_one_number(
    sample_pooled: Path, tmp_path: Path, number: int, file: int
) -> None:
    """Contract 2; the true N is in the Parquet files alone, for 1 and 1001 have all three in common."""
    task = sample_pooled / "recordings" / "手套_抓取"
    arguments = ["pooled", "pack", str(task), "--episode", str(number), "--out", str(tmp_path), "--json"]
    answer = json.loads(CliRunner().invoke(app, arguments).stdout)
    (archive,) = tmp_path.iterdir()
    assert archive.name == f"手套_抓取_ep{file:06d}.zip"
    assert answer["form"] == {"name": "手套_抓取", "episode_index": str(file)}
    with zipfile.ZipFile(archive) as packed:
        stems = re.findall(r"episode-(\d+)\.", " ".join(packed.namelist()))
        assert len(stems) == 3
        assert {int(stem) for stem in stems} == {file}
        for name in packed.namelist():
            if name.endswith(".parquet"):
                assert set(pq.read_table(BytesIO(packed.read(name)))["episode_index"].to_pylist()) == {number}
        assert json.loads(packed.read("meta/info.json"))["format"] == "pooled_episodes_v1"


def test_a_recording_and_its_readers_need_no_lock_that_another_program_holds(tmp_path: Path) -> None:
    """Contract 6.1 and 7.4: the lock is for old shards; one file an episode does without."""
    with recorder(tmp_path) as made:
        record(made)
        anchor = made.root / "meta/episodes/.lock"
        with anchor.open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)

            def use() -> None:
                record(made)
                record(made, 1, again=True)
                row = Task.open(made.root).episode(2).row
                assert row is not None

            using = threading.Thread(target=use, daemon=True)
            using.start()
            using.join(60)
            assert not using.is_alive(), "it waits for the lock"
        rows = [pq.read_table(path).to_pylist() for path in sorted(anchor.parent.rglob("*.parquet"))]
        assert [(len(each), each[0]["episode_index"]) for each in rows] == [(1, 1), (1, 2)]
        assert anchor.read_bytes() == b""


def test_a_recorder_replaces_files_and_never_writes_into_one(tmp_path: Path) -> None:
    """Contract 4, 6.1, 7.5: who has the old file open, or linked, keeps it whole."""
    with recorder(tmp_path) as made:
        record(made)
        made.begin(5)
        made.abort()
        names = second_names(made.root, tmp_path / "second")
        assert {"recycled_episode.json", "tasks.jsonl"} <= {path.name for path in names}
        made.begin(9)
        made.abort()
        assert renewed(names) == {"recycled_episode.json"}
        record(made, 1, again=True, glove=3.0)
        assert renewed(names) == {"info.json", "stats.json", "episode-000.mp4", "episode-000.parquet"}
        assert written_into(names) == []
        assert document(made, "stats.json")["observation.left_glove"]["mean"][0] == 3.0


@pytest.mark.parametrize(
    ("name", "command", "changed"),
    [
        ("legacy_v110", ["recalc-stats"], {"stats.json"}),
        ("legacy_v110", ["split-episodes"], {"info.json"}),
        ("legacy_v110", ["delete", "--episode", "2", "--with-row"], {"info.json", "file-000.parquet"}),
        ("umi_pick", ["repair-scale"], {"episode-005.parquet"}),
    ],
)
def test_a_tool_replaces_files_and_never_writes_into_one(
    pooled_sample: Callable[[str], Any], tmp_path: Path, name: str, command: list[str], changed: set[str]
) -> None:
    task = pooled_sample(name).root
    names = second_names(task, tmp_path / "second")
    result = CliRunner().invoke(app, ["pooled", command[0], str(task), *command[1:], "--apply"])
    assert result.exit_code == 0, result.output
    assert renewed(names) == changed
    assert written_into(names) == []


def test_what_is_no_data_is_passed_over_by_a_recording_a_reader_a_check_and_an_archive(tmp_path: Path) -> None:
    """Contract 4, 7.4, 7.5: neither the old sidecar, nor what is in the lock's anchor, nor a torn marker counts."""
    sidecar = {"observation.left_glove": {"count": 1000, "sum": [5.0] * 256, "sum_sq": [9.0] * 256}}
    with recorder(tmp_path) as made:
        record(made, glove=1.0)
        meta = made.root / "meta"
        (meta / ".stats_state.json").write_text(json.dumps(sidecar))
        (meta / "episodes/.lock").write_bytes(b"PAR1 nothing to read here")
        (meta / "recycled_episode.json").write_text('{"episode_index": 7, "fre')
        (made.root / "_trash").mkdir()
        (made.root / "_trash/episode-006.mp4").write_bytes(b"x")
        assert record(made, glove=3.0) == 2
        block = document(made, "stats.json")["observation.left_glove"]
        assert (block["count"], block["mean"][0]) == (4, 2.0)
        (meta / "recycled_episode.json").write_text('{"episode_index": 7, "fre')
    found = Task.open(made.root)
    assert found.numbers == (1, 2)
    assert [each.row.number for each in found.episodes() if each.row] == [1, 2]
    assert check(made.root, deep=True).findings == ()
    result = CliRunner().invoke(app, ["pooled", "pack", str(made.root), "--episode", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(tmp_path / "pick_ep000000.zip") as packed:
        hidden = [name for name in packed.namelist() if "/." in name or "recycled" in name or "_trash" in name]
        assert (hidden, len(packed.namelist())) == ([], 6)
    assert (meta / "episodes/.lock").read_bytes() == b"PAR1 nothing to read here"


@pytest.mark.parametrize("mode", ["ffv1", "log12"])
def test_depth_is_what_was_registered_as_depth_and_no_camera_whatever_its_name(tmp_path: Path, mode: Any) -> None:
    """P-87, contract 3 and 8: `cameras` has no depth, and `video_extensions` tells what the files end in."""
    slots = [Slot("d435_depth_2", 64, 64), Slot("front_rgb", 64, 64, depth=True)]
    with Recorder(tmp_path, "pick", slots=slots, app_version="1", depth=mode) as made:
        made.begin()
        for k in range(3):
            pictures = {"d435_depth_2": np.zeros((64, 64, 3), np.uint8), "front_rgb": np.full((64, 64), 900, np.uint16)}
            made.add_frame(pictures, hardware_ns=1 + k, wall_time=T0 + k / 30)
        made.end()
    info = document(made, "info.json")
    assert info["cameras"] == {"d435_depth_2": {"height": 64, "width": 64}}
    assert info["video"] is True
    files = {path.parent.name: path for path in (made.root / "videos").rglob("episode-*")}
    assert {name: path.suffix[1:] for name, path in files.items()} == info["video_extensions"]
    assert info["video_extensions"] == {"d435_depth_2": "mp4", "front_rgb": "mkv" if mode == "ffv1" else "mp4"}
    told = {}
    for name, path in files.items():
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)]
        told[name] = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    assert "h264" in told["d435_depth_2"]
    assert ("gray16le" if mode == "ffv1" else "gray12le") in told["front_rgb"]
    with Recorder(tmp_path, "blind", slots=[Slot("d", 64, 64, depth=True)], app_version="1", depth=mode) as made:
        made.begin()
        made.add_frame({"d": np.full((64, 64), 900, np.uint16)}, hardware_ns=1, wall_time=T0)
        made.end()
    assert (document(made, "info.json")["cameras"], document(made, "info.json")["video"]) == ({}, False)


@pytest.mark.parametrize("name", ["two_slots", "legacy_v110"])
def test_every_template_of_a_description_leads_to_the_files_that_were_recorded(
    pooled_sample: Callable[[str], Any], name: str
) -> None:
    """Contract 2 and checklist 2: a reader that knows nothing but info.json finds a new episode, in an old task too."""
    task = pooled_sample(name).root
    with recorder(task.parent, name) as made:
        number = record(made)
    info = document(made, "info.json")
    chunk, file = divmod(number - 1, info["chunks_size"])
    data = pq.read_table(task / info["data_path"].format(c=chunk, f=file))
    assert set(data["episode_index"].to_pylist()) == {number}
    place = {"image_key": "rgb", "ext": info["video_extensions"]["rgb"]}
    assert (task / info["video_path"].format(c=chunk, f=file, **place)).is_file()
    row = pq.read_table(task / info["episodes_path"].format(c=chunk, f=file)).to_pylist()
    assert [each["episode_index"] for each in row] == [number]


def deliver(made: Recorder, value: float) -> None:
    """A sample of every sensor there is."""
    made.add_glove("left_glove", np.full(256, value))
    made.add_glove_imu("left_glove", np.full((16, 4), value), np.ones(16))
    made.add_force("left", [value] * 3, HW0)
    made.add_force_matrix("left", np.full((250, 250, 3), value), HW0)
    made.add_gripper_state([value] * 3)
    made.add_trajectory(np.full((2, 8), value), [HW0, HW0 + 1])
    made.add_hand_pose("right", np.full((21, 3), value))
    made.add_imu([HW0 - 1], np.full((1, 6), value))


@pytest.mark.parametrize("over", ["end", "abort"])
def test_what_was_delivered_and_had_no_row_yet_is_of_no_later_episode(tmp_path: Path, over: str) -> None:
    """P-6, without a race: samples that wait for a row as an episode is over, and ones between two episodes."""
    with recorder(tmp_path) as made:
        deliver(made, 7.0)
        made.begin()
        made.add_frame({"rgb": COLOUR}, hardware_ns=HW0, wall_time=T0)
        deliver(made, 8.0)
        getattr(made, over)()
        deliver(made, 9.0)
        number = made.begin()
        made.add_frame({"rgb": COLOUR}, hardware_ns=HW0, wall_time=T0)
        made.end()
    table = pq.read_table(made.root / f"data/chunk-000/episode-{number - 1:03d}.parquet")
    poses = ["observation.left_hand_pose", "observation.right_hand_pose"]
    assert [name for name in table.column_names if name.startswith(("observation", "imu"))] == poses
    assert [table[name].to_pylist() for name in poses] == [[[0.0] * 63]] * 2
    (row,) = pq.read_table(made.root / f"meta/episodes/chunk-000/episode-{number - 1:03d}.parquet").to_pylist()
    assert row["force_matrix_specs"] == "{}"


LEGACY: dict[str, Callable[[dict[str, Any]], str]] = {
    "v1.1.0": lambda document: json.dumps({name: {**block, "count": 0} for name, block in document.items()}).replace(
        '"count": 0, ', ""
    ),
    "torn": lambda document: json.dumps(document)[:-5],
    "no object": lambda document: json.dumps([document]),
    "empty": lambda document: "",
}


@pytest.mark.parametrize("spoil", LEGACY.values(), ids=LEGACY.keys())
def test_statistics_that_cannot_be_added_to_are_made_of_all_data_and_then_added_to(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], str]
) -> None:
    """Contract 4: each by itself, for a later rescan heals what an earlier one did not."""
    with recorder(tmp_path) as made:
        record(made, glove=1.0), record(made, glove=2.0)
        path = made.root / "meta/stats.json"
        text = spoil(json.loads(path.read_bytes()))
        assert "count" not in text or spoil is not LEGACY["v1.1.0"]
        path.write_text(text)
        record(made, glove=6.0)
        for count, mean in ((6, 3.0), (8, 2.5)):
            block = document(made, "stats.json")["observation.left_glove"]
            assert (block["count"], block["mean"]) == (count, pytest.approx([mean] * 256))
            record(made, glove=1.0)


def test_hidden_folders_are_ignored_as_hidden_files_are(pooled_sample: Callable[[str], Any], tmp_path: Path) -> None:
    """Checklist 8: a dot before a name, of a file or of the folder it is in."""
    task = pooled_sample("two_slots").root
    (film,) = (task / "videos/chunk-000/a_rgb").iterdir()
    for name in (".cache", ".a_rgb"):
        (film.parent.with_name(name)).mkdir()
        (film.parent.with_name(name) / film.name).write_bytes(film.read_bytes())
        (film.parent.with_name(name) / "episode-006.mp4").write_bytes(film.read_bytes())
    (task / "data/.chunk-000").mkdir()
    (task / "data/.chunk-000/episode-007.parquet").write_bytes(b"")
    found = Task.open(task)
    assert found.numbers == (1,)
    assert list(found.episode(1).slots()) == ["a_rgb", "b_rgb"]
    assert check(task, deep=True).findings == ()
    result = CliRunner().invoke(app, ["pooled", "pack", str(task), "--episode", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(tmp_path / "two_slots_ep000000.zip") as packed:
        assert [name for name in packed.namelist() if "/." in name] == []
