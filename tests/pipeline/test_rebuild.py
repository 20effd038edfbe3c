"""The published dataset is its own cache: a rebuild makes what has changed, and nothing else."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from quickdraw.data.command_line.composing import parse
from quickdraw.data.processors import block_stack
from quickdraw.errors import Refused
from quickdraw.pipeline.build import build
from quickdraw.pipeline.disk import disk_faults, estimated_bytes
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import make_plan
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.publish import parts_folder, refuse_unfit
from quickdraw.pipeline.seals import read_sealed, sealed

type Once = Callable[[str, Callable[[Path], None]], Path]

RUNS = ("campaign3-play", "campaign6-combos", "campaign8-purple-play")
CUBED = "+source.cameras=[scene_right,gripper_right_top]"
NEW = "parts made"


class Place:
    """A tree and the dataset that is built of it."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.output = folder / "raw", folder / "d"

    def build(self, *options: str) -> str:
        """Build; the line that tells what was made, or `up to date`."""
        given = ["+processor=block_stack", f"+source.dir={self.tree}", f"+output.dir={self.output}",
                 "+source.hw=[48,64]", "+source.video.preset=ultrafast", CUBED, *options]  # fmt: skip
        settings, progress = block_stack(parse(given).config), PlainProgress()
        if not build(*make_plan(settings, Inline(), progress), Inline(), progress):
            return "up to date"
        return next(line for line in progress.lines if NEW in line)

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file but progress.log."""
        files = sorted(path for path in self.output.rglob("*") if path.is_file() and path.name != "progress.log")
        return {str(p.relative_to(self.output)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    def looks(self) -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in self.output.rglob("*")}

    def run(self) -> Path:
        """One of the runs that go to train or val."""
        return sorted(self.tree.glob("campaign3-play/recording_*"))[0]


@pytest.fixture(scope="session")
def built(sample_tree: Path, once: Once) -> Path:
    def make(folder: Path) -> None:
        for name in RUNS:
            shutil.copytree(sample_tree / name, folder / "raw" / name, copy_function=shutil.copy)
        Place(folder).build()

    return once("rebuild", make)


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Place:
    """A copy, with the index as if it had been built here."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    index = tmp_path / ".d.index"
    here, there = str(tmp_path).encode(), str(built).encode()
    index.write_bytes(b"".join(sealed(body.replace(there, here)) for body in list(read_sealed(index))))
    return Place(tmp_path)


def parts_of(place: Place) -> int:
    """How many parts the dataset consists of: rows, clips and tracks of every episode."""
    return sum(1 for _ in place.tree.glob("*/recording_*")) * (1 + 2 + 2)


def altered(path: Path, same_look: bool = False) -> None:
    """Another number in the middle of a JSONL file; with `same_look` size and time stay as they were."""
    stat, lines = path.stat(), path.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    row = json.loads(lines[middle])
    row["move_x"] = 0.5
    line = json.dumps(row, separators=(",", ":")).encode()
    lines[middle] = line.ljust(len(lines[middle]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))
    if same_look:
        assert path.stat().st_size == stat.st_size
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_where_nothing_changed_nothing_is_touched(place: Place) -> None:
    before = place.looks()
    assert place.build() == "up to date"
    assert place.looks() == before
    assert sorted(path.name for path in place.output.parent.iterdir()) == [".d.index", ".d.plans", "d", "raw"]


def test_without_its_index_files_are_read_again_and_found_unchanged(place: Place) -> None:
    (place.output.parent / ".d.index").unlink()
    before = place.looks()
    assert place.build() == "up to date"
    assert place.looks() == before


def test_a_digest_in_the_index_that_is_another_now_is_not_believed(place: Place) -> None:
    index, whole = place.output.parent / ".d.index", place.digests()
    lines = index.read_text()
    at = lines.index('"sha256": "') + len('"sha256": "')
    index.write_text(lines[:at] + ("1" if lines[at] == "0" else "0") + lines[at + 1 :])
    assert place.build() == "up to date"
    assert place.digests() == whole


@pytest.mark.parametrize("name", [".d.index", ".d.plans"])
def test_an_index_that_is_a_link_to_nowhere_is_refused_before_anything_is_done(name: str, place: Place) -> None:
    path = place.output.parent / name
    path.unlink(missing_ok=True)
    path.symlink_to(place.output.parent / "nowhere" / "x")
    with pytest.raises(Refused, match=f"{path}: dir: found something that no build put there"):
        refuse_unfit(place.output)


def test_an_inventory_written_otherwise_is_written_anew(place: Place) -> None:
    whole, inventory = place.digests(), place.output / "fingerprints/files.json"
    with inventory.open("a") as file:
        file.write("\n")
    assert place.build() != "up to date"
    assert place.digests() == whole


def test_a_torn_or_foreign_line_in_the_index_is_no_harm(place: Place) -> None:
    index = place.output.parent / ".d.index"
    index.write_bytes(b"\xff\xfe\n[]\n" + index.read_bytes()[:-20])
    assert place.build() == "up to date"


def test_a_file_that_was_touched_but_not_changed_is_read_and_nothing_is_made(place: Place) -> None:
    for path in place.run().rglob("*"):
        os.utime(path)
    assert place.build() == "up to date"


def test_another_split_decodes_nothing_and_equals_a_build_from_nothing(place: Place, built: Path) -> None:
    options = ["+source.val_floor=1", "+source.val_frac=0.5", "+source.eval_globs=[]"]
    episodes = parts_of(place) // 5
    assert place.build(*options) == f"{episodes} parts made, {4 * episodes} there already"  # rows alone
    rebuilt = place.digests()
    shutil.rmtree(place.output)
    place.build(*options)
    assert place.digests() == rebuilt
    assert rebuilt != Place(built).digests()


def test_campaigns_come_and_go_and_what_stays_is_not_decoded_again(place: Place, built: Path) -> None:
    whole = place.digests()
    shutil.move(place.tree / RUNS[2], place.tree.parent / "aside")
    left = parts_of(place) // 5
    assert place.build() == f"{left} parts made, {4 * left} there already"
    assert "eval_purple_play" not in {path.name for path in place.output.iterdir()}
    shutil.move(place.tree.parent / "aside", place.tree / RUNS[2])
    assert place.build() == f"{left + 5} parts made, {4 * left} there already"
    assert place.digests() == whole


def test_a_changed_stream_makes_its_episodes_rows_anew_and_no_clip(place: Place) -> None:
    before = place.digests()
    altered(place.run() / "raw" / "controller.jsonl")
    episodes = parts_of(place) // 5
    assert place.build() == f"{episodes} parts made, {4 * episodes} there already"
    after = place.digests()
    assert {n for n in after if n.endswith(".mp4")} == {n for n in before if n.endswith(".mp4")}
    assert all(after[name] == before[name] for name in after if name.endswith(".mp4"))
    assert after != before


def test_a_changed_threshold_measures_cubes_anew_in_the_clips_that_are_there(place: Place) -> None:
    episodes = parts_of(place) // 5
    options = ["+source.cube.min_area_px=17"]
    assert place.build(*options) == f"{3 * episodes} parts made, {2 * episodes} there already"
    rebuilt = place.digests()
    shutil.rmtree(place.output)
    place.build(*options)
    assert place.digests() == rebuilt


def test_another_quality_makes_every_clip_anew(place: Place) -> None:
    assert place.build("+source.video.crf=30") == f"{parts_of(place)} parts made, 0 there already"


def test_a_change_that_keeps_size_and_time_is_seen_with_rehash_alone(place: Place) -> None:
    altered(place.run() / "raw" / "controller.jsonl", same_look=True)
    assert place.build() == "up to date"
    episodes = parts_of(place) // 5
    assert place.build("+source.rehash=true") == f"{episodes} parts made, {4 * episodes} there already"
    assert place.build("+source.rehash=true") == "up to date"


def random_bytes(path: Path) -> None:
    """400 of them in the middle, in a file of its own."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = np.random.default_rng(0).bytes(400)
    path.unlink()
    path.write_bytes(data)


def exchange(one: Path, other: Path) -> None:
    """Each under the name of the other."""
    first, second = one.read_bytes(), other.read_bytes()
    for path, data in ((one, second), (other, first)):
        path.unlink()
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "anew"),
    [
        (lambda d: random_bytes(d / "media/scene_right/train/ep_0000.mp4"), 1),
        (lambda d: (d / "media/scene_right/train/ep_0000.mp4").unlink(), 1),
        (lambda d: random_bytes(d / "measured/scene_right/train/ep_0000.npz"), 1),
        (lambda d: (d / "measured/scene_right/train/ep_0000.track.npz").write_bytes(b""), 1),
        (lambda d: random_bytes(next(d.glob("train/videos/*/*/*.mp4"))), 0),
        (lambda d: random_bytes(next(d.glob("val/data/*/*.parquet"))), 0),
        (lambda d: (d / "train/meta/stats.json").write_bytes((d / "val/meta/stats.json").read_bytes()), 0),
        (lambda d: exchange(*sorted(d.glob("measured/scene_right/*/ep_0000.track.npz"))[:2]), 2),
        (lambda d: exchange(*sorted(d.glob("media/scene_right/*/ep_0000.mp4"))[:2]), 2),
        (lambda d: (d / "summary.json").unlink(), 0),
        (lambda d: (d / "fingerprints/files.json").write_text("[]"), 0),
        (lambda d: (d / "fingerprints/files.json").unlink(), 0),
    ],
)
def test_a_damaged_dataset_is_not_up_to_date_and_is_put_right(
    damage: Callable[[Path], None], anew: int, place: Place
) -> None:
    whole, episodes = place.digests(), parts_of(place) // 5
    damage(place.output)
    assert place.build() == f"{episodes + anew} parts made, {4 * episodes - anew} there already"
    assert place.digests() == whole


@pytest.mark.parametrize("fragments", [None, [], {"clips": 3}, {"clips": {"scene_right": None}, "tracks": {}}])
def test_documents_of_another_shape_are_no_cache_and_no_stumbling_block(fragments: object, place: Place) -> None:
    whole, path = place.digests(), place.output / "provenance.json"
    document = json.loads(path.read_bytes())
    for episode in document["episodes"]:
        episode["fragments"] = fragments
    path.write_text(json.dumps(document))
    assert place.build() == f"{parts_of(place)} parts made, 0 there already"
    assert place.digests() == whole


def test_a_bad_picture_refuses_the_build_at_its_end_and_what_is_finished_is_kept(place: Place) -> None:
    """Both bad runs are named, not the first alone; mended, the build goes on from what the first try finished."""
    runs = [sorted((place.tree / name).glob("recording_*"))[0] for name in RUNS[:2]]
    bad = [run / "video" / "scene_right.mp4" for run in runs]
    good = {path: path.read_bytes() for path in bad}
    old, options = place.digests(), ["+source.video.crf=31"]
    for path in bad:
        random_bytes(path)
    with pytest.raises(Refused) as refusal:
        place.build(*options)
    assert sorted(fault.path for fault in refusal.value.faults) == sorted(map(str, bad))
    assert place.digests() == old
    for path, data in good.items():
        path.write_bytes(data)
    made = 2 * len(bad)  # their clips and tracks
    assert place.build(*options) == f"{made} parts made, {parts_of(place) - made} there already"


def test_with_skip_a_bad_picture_leaves_its_run_out_and_the_splits_are_made_of_the_rest(place: Place) -> None:
    bad = place.run()
    random_bytes(bad / "video" / "scene_right.mp4")
    place.build("+source.on_bad_run=skip")
    document = json.loads((place.output / "provenance.json").read_bytes())
    assert list(document["refused_runs"]) == [f"campaign3-play/{bad.name}"]
    (reason,) = document["refused_runs"][f"campaign3-play/{bad.name}"]
    assert f"campaign3-play/{bad.name}/video/scene_right.mp4" in reason
    assert str(place.tree) not in reason
    assert bad.name not in {episode["run"] for episode in document["episodes"]}
    assert {episode["split"] for episode in document["episodes"]} == {"train", "val", "eval_purple_play"}
    assert place.build("+source.on_bad_run=skip") == "up to date"


def test_a_full_disk_ends_the_build_and_what_is_finished_is_kept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    old, savez, written = place.digests(), np.savez, 0

    def full_after_seven(path: Path, **arrays: object) -> None:
        nonlocal written
        written += 1
        if written > 7:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        savez(path, **arrays)

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full_after_seven)
        with pytest.raises(OSError, match="No space left"):
            place.build("+source.video.crf=32")
    assert place.digests() == old
    parts = parts_folder(place.output)
    assert sorted(path.name[0] == "." for path in parts.iterdir()) == [False] * 7
    assert place.build("+source.video.crf=32") == f"{parts_of(place) - 7} parts made, 7 there already"


def test_finished_parts_count_as_disk_that_is_not_needed_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that a full disk ended could else never go on."""
    settings = block_stack(parse(["+processor=block_stack", f"+source.dir={place.tree}", f"+output.dir={place.output}"])
                           .config)  # fmt: skip
    plan, settings = make_plan(settings, Inline(), PlainProgress())
    shutil.rmtree(place.output)
    needed = estimated_bytes(plan, settings)
    monkeypatch.setattr("quickdraw.pipeline.disk.free_bytes", lambda output: needed * 3 // 4)
    (fault,) = disk_faults(plan, settings)
    assert (fault.field, fault.option) == ("disk", "+output.dir=<folder>")
    clip = parts_folder(place.output) / "finished" / "clip.mp4"
    clip.parent.mkdir(parents=True)
    clip.write_bytes(bytes(needed // 3))
    assert disk_faults(plan, settings) == []


@pytest.mark.parametrize("file", ["rows.npz", "clip.mp4", "pictures.npz", "track.npz"])
@pytest.mark.parametrize("how", ["a byte", "cut", "gone", "another's"])
def test_an_unfinished_builds_part_that_is_damaged_is_made_again(
    file: str, how: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, options = place.digests(), ["+source.rehash=true"]
    shutil.rmtree(place.output)
    monkeypatch.setattr("quickdraw.pipeline.build._Stages.publish", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        place.build(*options)
    monkeypatch.undo()
    path, other = sorted(parts_folder(place.output).rglob(file))[:2]
    match how:
        case "a byte":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        case "cut":
            path.write_bytes(path.read_bytes()[:-1])
        case "gone":
            path.unlink()
        case _:
            path.write_bytes(other.read_bytes())
    assert place.build(*options) == f"1 parts made, {parts_of(place) - 1} there already"
    assert place.digests() == whole


def test_a_file_that_no_build_put_into_the_dataset_is_not_removed(place: Place) -> None:
    for name in ("train/notes.txt", "train/data/chunk-000/file-009.parquet"):
        (place.output / name).write_text("mine")
    with pytest.raises(Refused, match=r"besides a dataset train/data/chunk-000/file-009.parquet, train/notes.txt"):
        refuse_unfit(place.output)


@pytest.mark.parametrize(
    "name",
    [".d.building", ".d.building/lock", ".d.building/parts", ".d.index", ".d.plans", "..d.index.tmp", "..d.plans.tmp"],
)
def test_what_stands_in_the_hidden_places_and_is_not_a_builds_is_told(name: str, place: Place) -> None:
    path = place.output.parent / name
    path.parent.mkdir(exist_ok=True)
    if name in (".d.building", ".d.building/parts"):
        path.write_text("mine")
    else:
        path.unlink(missing_ok=True)
        path.mkdir()
    with pytest.raises(Refused, match=f"{path}: dir: found something that no build put there") as refusal:
        refuse_unfit(place.output)
    assert len(refusal.value.faults) == 1


def test_rubbish_where_parts_grow_and_in_the_index_is_no_stumbling_block(place: Place) -> None:
    parts = parts_folder(place.output)
    parts.mkdir(parents=True)
    (parts / ".growing-f").write_text("rubbish")
    (place.output.parent / ".d.index").write_text("[" * 100_000 + "\n")
    assert place.build() == "up to date"
