"""Plans of the sample's episodes against plain pyarrow and ffmpeg's binary, and what plans are remembered by."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.pooled_episodes.settling import settle
from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.errors import Refused

type Make = Callable[..., PooledEpisodes]

FIRST = EpisodeKey("plain", "episode_000001")
UNITED = {"D435_rgb": ["D435_depth_rgb", "D435_head_rgb"]}
# task -> number -> frames, as the sample was made; None where the issue says it is refused.
SAMPLE: dict[str, dict[int, int | None]] = {
    "legacy_v110": {1: 16, 2: 17, 3: 18, 4: 19},
    "loose_ends": {2: None, 3: 30, 4: None},
    "two_slots": {1: 20},
    "two_slots_apart": {1: None},
    "umi_pick": dict.fromkeys(range(1, 7), 12),
    "手套_抓取": {1: 40, 2: 35, 1000: 20, 1001: 25},
}


def pictures(path: Path, stream: int) -> int:
    """Packets of a stream, by ffmpeg's binary."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-map", f"0:{stream}"]
    told = subprocess.run([*command, "-c", "copy", "-f", "framecrc", "-"], capture_output=True, check=True).stdout
    return sum(not line.startswith(b"#") for line in told.splitlines())


def plan_of(source: PooledEpisodes, key: EpisodeKey = FIRST) -> EpisodePlan:
    plan = source.plan(key)
    assert isinstance(plan, EpisodePlan), plan
    return plan


def planned(source: PooledEpisodes) -> Iterator[EpisodePlan | Rejected]:
    for name in source.campaigns():
        yield from map(source.plan, source.campaign(name).runs)


@pytest.fixture(scope="module")
def recordings(sample_pooled: Path) -> Path:
    return sample_pooled / "recordings"


def test_the_sample_is_planned_or_refused_as_it_was_made(recordings: Path, pooled: Make) -> None:
    found: dict[str, dict[int, int | None]] = {}
    for plan in planned(pooled(recordings, slots=UNITED, depth="lossless")):
        frames = plan.frames if isinstance(plan, EpisodePlan) else None
        found.setdefault(plan.key.campaign, {})[int(plan.key.run[-6:])] = frames
    assert found == SAMPLE


def test_the_samples_plans_say_what_is_in_its_files(recordings: Path, pooled: Make) -> None:
    source = pooled(recordings, slots=UNITED, depth="lossless")
    for plan in planned(source):
        if isinstance(plan, Rejected):
            continue
        task, number = recordings / plan.key.campaign, plan.provenance["number"]
        place = f"chunk-{(number - 1) // 1000:03d}/episode-{(number - 1) % 1000:03d}"
        table = pq.read_table(task / f"data/{place}.parquet")
        frames = np.unique(np.array(table["frame_index"]))
        row_file = f"meta/episodes/{place}.parquet"
        assert plan.row_files == (f"data/{place}.parquet", *([row_file] if (task / row_file).is_file() else []))
        assert plan.frames == len(frames)
        assert (plan.grid.t0_ns, plan.grid.rate_hz, plan.t_hi_s) == (0, 30, (len(frames) - 0.5) / 30)
        assert plan.task == plan.key.campaign
        slots = sorted(each.name for each in (task / "videos" / place.split("/")[0]).iterdir() if each.is_dir())
        mine = [
            slot
            for slot in slots
            if list((task / "videos").glob(f"{place.split('/')[0]}/{slot}/{Path(place).name}.m*"))
        ]
        assert sorted(plan.provenance["slots"].values()) == mine
        for camera, file in plan.videos.items():
            two = plan.holds["cameras"][camera]["kind"] == "depth" and plan.key.run.endswith("3")
            count = pictures(task / file, 1 if two else 0)
            index = source.frame_plan(plan, camera)
            assert (index.pictures, index.frame_index.tolist()) == (count, frames.tolist())
            assert plan.frame_digests[camera] == hashlib.sha256(frames.astype(np.int64).tobytes()).hexdigest()
            assert source.path(plan.key, file) == index.path
        for file, stamp in plan.stamps.items():
            state = (task / file).stat()
            assert (stamp.bytes, stamp.mtime_ns) == (state.st_size, state.st_mtime_ns)
        assert set(plan.stamps) == {*plan.row_files, *plan.videos.values()}


def test_a_row_from_a_shard_is_told_and_no_file_of_the_episode(recordings: Path, pooled: Make) -> None:
    plan = plan_of(pooled(recordings), EpisodeKey("legacy_v110", "episode_000003"))
    shard = pq.read_table(recordings / "legacy_v110/meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert plan.provenance["created_at"] == next(row["created_at"] for row in shard if row["episode_index"] == 3)
    assert plan.row_files == ("data/chunk-000/episode-002.parquet",)


def test_a_row_of_the_older_name_is_a_file_of_the_episode(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    rows = task / "meta/episodes/chunk-000"
    created = plan_of(pooled(task.parent)).provenance["created_at"]
    (rows / "episode-000.parquet").rename(rows / "file-000.parquet")
    plan = plan_of(pooled(task.parent))
    assert plan.row_files == ("data/chunk-000/episode-000.parquet", "meta/episodes/chunk-000/file-000.parquet")
    assert plan.provenance["created_at"] == created
    (rows / "file-000.parquet").unlink()
    assert plan_of(pooled(task.parent)).row_files == ("data/chunk-000/episode-000.parquet",)
    assert plan_of(pooled(task.parent)).provenance["created_at"] is None


def test_the_samples_clocks_are_told(recordings: Path, pooled: Make) -> None:
    source = pooled(recordings, depth="lossless")
    cut = plan_of(source, EpisodeKey("loose_ends", "episode_000003"))
    folded = plan_of(source, EpisodeKey("two_slots", "episode_000001"))
    assert [cut.provenance["clock"], folded.provenance["clock"]] == ["trunc32", "hw64"]
    assert [cut.provenance["rows_per_frame"], folded.provenance["rows_per_frame"]] == [1, 2]
    scale = plan_of(source, EpisodeKey("umi_pick", "episode_000001")).provenance["force_matrix_scale"]
    assert scale == {"observation.gripper_left_force_matrix": [10, "row"]}


def test_a_tail_of_one_row_is_trimmed_and_reported(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated)
    plan = plan_of(source, EpisodeKey("pair", "episode_000002"))
    assert (plan.frames, plan.provenance["trimmed_rows"], plan.provenance["trimmed_pictures"]) == (19, 1, {"left": 1})
    assert plan.reading["rows"] == {"fold": "agreed", "first": 0, "end": 19}
    assert plan.warnings == (
        "the last row is left out: right has 19 pictures for 20 frames",
        "no row shows the end of left: 20 pictures for 19 frames",
    )
    for camera, count in (("left", 20), ("right", 19)):
        assert source.frame_plan(plan, camera).frame_index.tolist() == list(range(19))
        assert source.frame_plan(plan, camera).pictures == count


def test_each_piece_tells_its_own_numbers_and_people_are_told_nothing_that_is_read(
    spoiled: Callable[[str], Path], pooled: Make, put: Callable[..., None]
) -> None:
    def pieces(task: str, number: int, hole_after: int, **options: Any) -> Iterator[tuple[PooledEpisodes, EpisodePlan]]:
        data = tree / task / f"data/chunk-000/episode-{number - 1:03d}.parquet"
        stamps = np.array(pq.read_table(data)["hardware_ns"])
        put(data, hardware_ns=stamps + (np.arange(len(stamps)) > hole_after) * 10**9)
        source = pooled(tree, on_gap="split", **options)
        for piece in (1, 2):
            yield source, plan_of(source, EpisodeKey(task, f"episode_{number:06d}.{piece:02d}"))

    tree = spoiled("pair").parent
    spoiled("deep")
    told = [plan.provenance for _, plan in pieces("pair", 2, 9)]
    assert [each["piece"] for each in told] == ["1 of 2", "2 of 2"]
    assert [(each["trimmed_rows"], each["trimmed_pictures"]) for each in told] == [(0, {}), (1, {"left": 1})]
    found = [*pieces("deep", 3, 1, depth="lossless")]
    assert [plan.provenance["depth_starts_at_row"] for _, plan in found] == [{"depth": 2}, {"depth": 1}]
    assert [plan.holds["cameras"]["depth"]["starts"] for _, plan in found] == [3, 3]
    index = [source.frame_plan(replace(plan, provenance={}), "depth").frame_index.tolist() for source, plan in found]
    assert index == [[-1, -1], [-1, *range(9)]]
    assert [plan.warnings for _, plan in found] == [
        ("depth begins later, at frame 3: all its depth is 0, not known",),
        ("depth begins at frame 3: all depth before is 0, not known",),
    ]


def test_a_hole_in_frame_index_passes_over_pictures(
    spoiled: Callable[[str], Path], pooled: Make, put: Callable[..., None]
) -> None:
    task = spoiled("plain")
    data = task / "data/chunk-000/episode-000.parquet"
    pq.write_table(pq.read_table(data).take([*range(5), *range(8, 20)]), data)
    plan = plan_of(pooled(task.parent))
    assert plan.warnings == ("3 pictures shown by no row: frame_index passes over them",)
    assert pooled(task.parent).frame_plan(plan, "cam").frame_index.tolist() == [*range(5), *range(8, 20)]


def test_a_clock_that_steps_back_is_reported(
    spoiled: Callable[[str], Path], pooled: Make, put: Callable[..., None]
) -> None:
    task = spoiled("plain")
    data = task / "data/chunk-000/episode-000.parquet"
    stamps = np.array(pq.read_table(data)["hardware_ns"]).copy()
    stamps[10:] -= 10**9
    put(data, hardware_ns=stamps)
    told = f"hardware_ns steps back to {stamps[10]}: nothing is aligned by it"
    assert plan_of(pooled(task.parent)).warnings == (told,)


def test_a_clock_cut_to_32_bits_is_said_whether_it_wraps_or_not(
    spoiled: Callable[[str], Path], pooled: Make, put: Callable[..., None]
) -> None:
    task = spoiled("plain")
    data = task / "data/chunk-000/episode-000.parquet"
    told = ("hardware_ns is cut to 32 bits: nothing is aligned by it",)
    for first in (10**9, (1 << 31) - 200_000_000):
        stamps = (first + np.arange(20) * 33_333_333).astype(np.uint32).view(np.int32).astype(np.int64)
        put(data, hardware_ns=stamps)
        assert plan_of(pooled(task.parent)).warnings == told


def test_the_task_of_an_episode_is_what_its_rows_name(
    spoiled: Callable[[str], Path], pooled: Make, put: Callable[..., None]
) -> None:
    task = spoiled("plain")
    texts = task / "meta/tasks.jsonl"
    texts.write_text('{"task_index": 0, "task": "put it in"}\n{"task_index": 4, "task": "take it out"}\n')
    put(task / "data/chunk-000/episode-001.parquet", task_index=np.full(20, 4))
    second = EpisodeKey("plain", "episode_000002")
    assert [plan_of(pooled(task.parent), key).task for key in (FIRST, second)] == ["put it in", "take it out"]
    texts.unlink()
    found = plan_of(pooled(task.parent))
    assert found.task == "plain"
    assert found.warnings[0].startswith("its task's text is not known: plain: ")


def test_a_plan_survives_being_written_down_and_so_does_its_source(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated, depth="lossless")
    plan = plan_of(source, EpisodeKey("deep", "episode_000003"))
    settled = replace(source, settled=settle([plan], source.options))
    for each in (source, settled):
        copy = pickle.loads(pickle.dumps(each))
        assert copy == each
        assert copy.plan(plan.key) == plan
    assert len(pickle.dumps(settled)) < 40_000
    read = msgspec.json.decode(msgspec.json.encode(plan), type=EpisodePlan)
    assert read == plan
    rows, again = settled.rows(plan), settled.rows(read)
    assert rows.keys() == {spec.name for spec in settled.features}
    for name, values in rows.items():
        assert len(values) == plan.frames
        assert not values.flags.writeable
        np.testing.assert_array_equal(values, again[name])
    assert settled.cameras == ("cam", "depth")
    assert (settled.rate_hz, settled.robot_type) == (30, "pooled_episodes")


def test_a_source_without_settled_features_has_none(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated)
    assert (source.features, source.cameras, source.notes()) == ((), (), ())
    with pytest.raises(ValueError, match="not settled"):
        source.rows(plan_of(source))


def test_what_is_planned_by_does_not_depend_on_what_was_settled(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated)
    settled = replace(source, settled=settle([plan_of(source)], source.options))
    assert settled.planning() == source.planning()
    assert settled.reading() != source.reading()
    assert settled.looks(FIRST) == source.looks(FIRST) == plan_of(source).looks
    again: Any
    for again in ({"max_gap_s": 1.0}, {"cameras": ["cam"]}, {"fold": "first"}, {"force_matrices": "none"}):
        assert pooled(simulated, **again).planning() != source.planning()
    for again in ({"clocks": True}, {"state": ["glove"]}, {"action": ["glove"]}):
        assert pooled(simulated, **again).planning() == source.planning()
        assert pooled(simulated, **again).reading() != source.reading()
    for again in ({"cameras": ["cam"]}, {"hw": [16, 16]}, {"slots": {"a": ["cam"]}}):
        assert pooled(simulated, **again).reading() == source.reading()
    assert msgspec.json.decode(msgspec.json.encode(source.planning())) == source.planning()
    assert msgspec.json.decode(msgspec.json.encode(settled.reading())) == settled.reading()


def test_two_recordings_are_told_apart_whatever_they_are_called(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    for part, name in (("data/chunk-000", "episode-002.parquet"), ("videos/chunk-000/cam", "episode-002.mp4")):
        source = task / part / name.replace("002", "000")
        shutil.copy(source, task / part / name)
    source_of = pooled(task.parent)
    digests = [plan_of(source_of, EpisodeKey("plain", f"episode_00000{n}")).content_digest for n in (1, 2, 3)]
    assert digests[0] == digests[2] != digests[1]


def test_rows_that_are_not_the_planned_ones_any_more_are_refused(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    source = pooled(task.parent)
    plan = plan_of(source)
    settled = replace(source, settled=settle([plan], source.options))
    data = task / "data/chunk-000/episode-000.parquet"
    pq.write_table(pq.read_table(data).slice(0, 15), data)
    for read in (settled.rows, lambda plan: settled.frame_plan(plan, "cam")):
        with pytest.raises(Refused, match="rows: found 15 now, 20 as planned, expected a source left alone while it"):
            read(plan)
    shutil.rmtree(task / "data")
    shutil.rmtree(task / "videos")
    with pytest.raises(Refused, match="episode: found none of its files, expected a source left alone while it is bui"):
        settled.rows(plan)
