"""Files of every kind that roll over at different episodes: rows, metadata and pictures still find one another."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

KB = 1024
LENGTHS = (9, 14, 5, 22, 7, 18, 11, 4, 75, 16, 6, 13, 21, 8, 10, 17, 5, 12, 19, 6, 9, 15, 7, 20, 4, 11)
LONGEST = LENGTHS.index(75)  # longer than `video_s` alone
VIDEO_S, VIDEO_KB, DATA_KB, FILES_PER_CHUNK = 2, 22, 105, 2
CAMERAS = ("scene_left", "gripper_right_top")
DATA, VIDEOS, META = "data", "videos/observation.images.{}", "meta/episodes"


@dataclass(frozen=True)
class Rolled:
    root: Path
    episodes: list[dict[str, Any]]

    def path(self, episode: int, kind: str, suffix: str) -> Path:
        """The file that episode's metadata names."""
        row = self.episodes[episode]
        chunk, file = row[f"{kind}/chunk_index"], row[f"{kind}/file_index"]
        return self.root / kind / f"chunk-{chunk:03d}" / f"file-{file:03d}{suffix}"

    def video(self, episode: int, camera: str) -> Path:
        return self.path(episode, VIDEOS.format(camera), ".mp4")

    def boundaries(self, kind: str) -> list[int]:
        """Episodes at which files of a kind roll over."""
        places = [(row[f"{kind}/chunk_index"], row[f"{kind}/file_index"]) for row in self.episodes]
        return [number for number, (a, b) in enumerate(pairwise(places), start=1) if a != b]


def plain_episodes(root: Path) -> list[dict[str, Any]]:
    """meta/episodes by plain pyarrow, statistics aside."""
    tables = [pq.read_table(file) for file in sorted((root / META).glob("*/*.parquet"))]
    whole = pa.concat_tables(tables)
    rows: list[dict[str, Any]] = whole.select([n for n in whole.column_names if not n.startswith("stats/")]).to_pylist()
    return rows


@pytest.fixture(scope="session")
def rolled(synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Rolled:
    """26 episodes under limits in kilobytes."""
    from quickdraw.formats.lerobot import blocks, files
    from quickdraw.formats.lerobot.schema import Limits

    def make(folder: Path) -> None:
        limits = Limits(files_per_chunk=FILES_PER_CHUNK, data_mb=DATA_KB, video_mb=VIDEO_KB, video_s=VIDEO_S)
        episodes = [synthetic.fake_episode(n, length, folder / "clips") for n, length in enumerate(LENGTHS)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "MB", KB)
            patch.setattr(blocks, "MB", KB)
            synthetic.pack(folder / "split", synthetic.dataset_spec(limits), episodes)

    root = once("rolled", make) / "split"
    return Rolled(root, plain_episodes(root))


def test_rows_and_each_camera_roll_over_at_other_episodes_and_into_a_second_chunk(rolled: Rolled) -> None:
    boundaries = {kind: rolled.boundaries(kind) for kind in (DATA, META, *(VIDEOS.format(c) for c in CAMERAS))}
    assert all(len(numbers) >= 2 for numbers in boundaries.values()), boundaries
    assert boundaries[DATA] == boundaries[META], boundaries
    assert len({tuple(numbers) for numbers in boundaries.values()}) == 3, boundaries
    assert {row["data/chunk_index"] for row in rolled.episodes} >= {0, 1}
    assert {row["data/file_index"] for row in rolled.episodes} == {0, 1}


def test_every_file_there_is_named_by_an_episode_and_the_other_way_round(rolled: Rolled) -> None:
    numbers = range(len(LENGTHS))
    named = {rolled.path(number, kind, ".parquet") for number in numbers for kind in (DATA, META)}
    named |= {rolled.video(number, camera) for number in numbers for camera in CAMERAS}
    there = {path for kind in (DATA, META, "videos") for path in (rolled.root / kind).rglob("*") if path.is_file()}
    assert named == there


def test_every_episodes_rows_are_in_the_file_its_metadata_names(rolled: Rolled, synthetic: ModuleType) -> None:
    for number, length in enumerate(LENGTHS):
        table = pq.read_table(rolled.path(number, DATA, ".parquet"), filters=[("episode_index", "=", number)])
        assert table["frame_index"].to_pylist() == list(range(length))
        row = rolled.episodes[number]
        assert table["index"].to_pylist() == list(range(row["dataset_from_index"], row["dataset_to_index"]))
        state = np.stack(table["observation.state"].to_numpy(zero_copy_only=False))
        np.testing.assert_array_equal(state, synthetic.state_rows(number, length))


def test_every_episodes_metadata_is_in_the_file_it_names(rolled: Rolled) -> None:
    for number in range(len(LENGTHS)):
        held = pq.read_table(rolled.path(number, META, ".parquet"), columns=["episode_index"])
        assert number in held["episode_index"].to_pylist()


def test_ranges_tile_all_rows_and_episodes_are_numbered_without_a_gap(rolled: Rolled) -> None:
    ends = np.cumsum((0, *LENGTHS)).tolist()
    assert [row["episode_index"] for row in rolled.episodes] == list(range(len(LENGTHS)))
    assert [row["dataset_from_index"] for row in rolled.episodes] == ends[:-1]
    assert [row["dataset_to_index"] for row in rolled.episodes] == ends[1:]
    assert [row["length"] for row in rolled.episodes] == list(LENGTHS)


def test_timestamps_restart_in_every_episode_and_are_frame_index_over_fps_in_float32(rolled: Rolled) -> None:
    whole = pa.concat_tables([pq.read_table(file) for file in sorted((rolled.root / DATA).glob("*/*.parquet"))])
    frame = whole["frame_index"].to_numpy()
    assert whole["timestamp"].type == pa.float32()
    np.testing.assert_array_equal(whole["timestamp"].to_numpy(), (frame / 30).astype(np.float32))
    np.testing.assert_array_equal(whole["index"].to_numpy(), np.arange(sum(LENGTHS)))


@pytest.mark.parametrize("camera", CAMERAS)
def test_an_episodes_window_comes_from_frame_numbers_and_lies_within_its_file(rolled: Rolled, camera: str) -> None:
    held: dict[Path, int] = {}
    for number, length in enumerate(LENGTHS):
        path, key = rolled.video(number, camera), VIDEOS.format(camera)
        first = held.get(path, 0)
        assert rolled.episodes[number][f"{key}/from_timestamp"] == first / 30
        assert rolled.episodes[number][f"{key}/to_timestamp"] == (first + length) / 30
        held[path] = first + length
    for path, frames in held.items():
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            assert stream.duration * stream.time_base * 30 == frames
            assert container.duration / 1e6 >= frames / 30 - 1e-6


@pytest.mark.parametrize("camera", CAMERAS)
def test_pictures_lie_where_their_episode_says_one_a_row(rolled: Rolled, synthetic: ModuleType, camera: str) -> None:
    pictures = {path: list(synthetic.decoded(path)) for path in {rolled.video(n, camera) for n in range(len(LENGTHS))}}
    for number, length in enumerate(LENGTHS):
        first = round(rolled.episodes[number][f"{VIDEOS.format(camera)}/from_timestamp"] * 30)
        shown = [synthetic.read_paint(rgb) for rgb in pictures[rolled.video(number, camera)][first : first + length]]
        assert shown == [(camera, number, row) for row in range(length)]
    assert sum(map(len, pictures.values())) == sum(LENGTHS)


@pytest.mark.parametrize("camera", CAMERAS)
def test_no_video_file_is_longer_or_larger_than_allowed_unless_one_episode_alone_is(
    rolled: Rolled, camera: str
) -> None:
    held: dict[Path, list[int]] = {}
    for number in range(len(LENGTHS)):
        held.setdefault(rolled.video(number, camera), []).append(number)
    for path, numbers in held.items():
        if len(numbers) > 1:
            assert sum(LENGTHS[number] for number in numbers) <= VIDEO_S * 30, numbers
            assert path.stat().st_size < VIDEO_KB * KB, numbers
    assert [LONGEST] in held.values()


def test_files_are_filled_as_far_as_the_limits_allow(rolled: Rolled) -> None:
    """The next episode would not have fitted: no needless small files (the quiet camera is limited by length alone)."""
    starts = [0, *rolled.boundaries(VIDEOS.format("scene_left"))]
    for start, end in pairwise(starts):
        assert sum(LENGTHS[start : end + 1]) > VIDEO_S * 30


@pytest.mark.parametrize("kind", [DATA, META])
def test_files_of_rows_and_metadata_keep_to_their_limit(rolled: Rolled, kind: str) -> None:
    held = Counter(rolled.path(number, kind, ".parquet") for number in range(len(LENGTHS)))
    assert all(path.stat().st_size < DATA_KB * KB for path, episodes in held.items() if episodes > 1)
    assert max(held.values()) > 1


@pytest.fixture(scope="session")
def read_back(
    rolled: Rolled, lerobot: Callable[..., dict[str, Any]], remember: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """What lerobot returns: every row, some episodes alone, and windows over borders."""
    cameras = [f"observation.images.{camera}" for camera in CAMERAS]
    window = {name: [-2 / 30, 0.0, 1 / 30] for name in ("observation.state", "action", *cameras)}
    chosen = [0, 3, LONGEST, 17, len(LENGTHS) - 1]
    jobs = [{"root": rolled.root, "rows": None}]
    jobs += [{"root": rolled.root, "rows": None, "options": {"episodes": [number]}} for number in chosen]
    jobs += [{"root": rolled.root, "rows": [0, LENGTHS[17] - 1],
              "options": {"episodes": [17], "delta_timestamps": window}}]  # fmt: skip
    ends = [rolled.episodes[number]["dataset_to_index"] for number in range(len(LENGTHS) - 1)]
    borders = sorted({row for end in ends for row in (end - 1, end)})
    jobs += [{"root": rolled.root, "rows": borders, "options": {"delta_timestamps": window}}]
    answer = remember("rolled-read-back", lambda _: lerobot("read_splits", {"jobs": jobs}))
    return answer | {"borders": borders, "chosen": chosen}


@pytest.fixture(scope="session")
def digests(rolled: Rolled, synthetic: ModuleType) -> dict[tuple[str, int, int], str]:
    """Digest of every picture PyAV decodes, by what is painted into it."""
    found = {}
    for path in (rolled.root / "videos").rglob("*.mp4"):
        for rgb in synthetic.decoded(path):
            found[synthetic.read_paint(rgb)] = hashlib.sha256(rgb.tobytes()).hexdigest()
    return found


def of_row(digests: dict[tuple[str, int, int], str], episode: int, row: int) -> dict[str, str]:
    return {f"observation.images.{camera}": digests[camera, episode, row] for camera in CAMERAS}


def test_lerobot_reads_every_row_with_its_own_pictures(
    read_back: dict[str, Any],
    digests: dict[tuple[str, int, int], str],
    record_property: Callable[[str, object], None],
) -> None:
    record_property("backends measured", read_back["backends"])
    whole = [report for report in read_back["reports"] if report["frames"] == sum(LENGTHS) and
             len(report["items"]) == sum(LENGTHS)]  # fmt: skip
    assert [report["backend"] for report in whole] == read_back["backends"]
    for report in whole:
        expected = [(number, row) for number, length in enumerate(LENGTHS) for row in range(length)]
        for index, (item, (number, row)) in enumerate(zip(report["items"], expected, strict=True)):
            assert (item["index"], item["episode_index"], item["frame_index"]) == (index, number, row)
            assert item["task"] == f"task {number % 2}"
            assert {name: item[name] for name in of_row(digests, number, row)} == of_row(digests, number, row)


def test_lerobot_reads_an_episode_alone_as_in_the_whole(
    read_back: dict[str, Any], digests: dict[tuple[str, int, int], str]
) -> None:
    alone = [report for report in read_back["reports"] if report["episodes"] == 1 and len(report["items"]) > 2]
    assert len(alone) == len(read_back["chosen"]) * len(read_back["backends"])
    for report in alone:
        number = report["items"][0]["episode_index"]
        assert report["frames"] == len(report["items"]) == LENGTHS[number]
        for row, item in enumerate(report["items"]):
            assert (item["episode_index"], item["frame_index"]) == (number, row)
            assert {name: item[name] for name in of_row(digests, number, row)} == of_row(digests, number, row)


def windows(read_back: dict[str, Any]) -> list[dict[str, Any]]:
    """Items that were asked for with delta_timestamps."""
    return [item for report in read_back["reports"] for item in report["items"] if "action_is_pad" in item]


def test_windows_never_cross_episodes(
    read_back: dict[str, Any], digests: dict[tuple[str, int, int], str], synthetic: ModuleType
) -> None:
    items = windows(read_back)
    assert len(items) == (len(read_back["borders"]) + 2) * len(read_back["backends"])
    for item in items:
        number, row = item["episode_index"], item["frame_index"]
        wanted = [row - 2, row, row + 1]
        clamped = [min(max(r, 0), LENGTHS[number] - 1) for r in wanted]
        assert item["action_is_pad"] == [r != c for r, c in zip(wanted, clamped, strict=True)]
        np.testing.assert_array_equal(
            np.array(item["observation.state"], np.float32), synthetic.state_rows(number, LENGTHS[number])[clamped]
        )
        for camera in CAMERAS:
            assert item[f"observation.images.{camera}"] == [digests[camera, number, r] for r in clamped]


def test_a_clip_with_another_number_of_pictures_than_rows_is_a_hard_failure(
    synthetic: ModuleType, tmp_path: Path
) -> None:
    from quickdraw.errors import InvariantError

    for pictures in (4, 6):
        episode = synthetic.fake_episode(0, 5, tmp_path)
        path = synthetic.encode((synthetic.paint(CAMERAS[0], 0, r) for r in range(pictures)), tmp_path / "odd.mp4")
        episode.clips[CAMERAS[0]] = path
        with pytest.raises(InvariantError, match=f"{pictures} pictures for 5 rows"):
            synthetic.pack(tmp_path / f"split{pictures}", synthetic.dataset_spec(), [episode])


def test_a_clip_encoded_unlike_the_others_of_its_file_is_a_hard_failure(synthetic: ModuleType, tmp_path: Path) -> None:
    from quickdraw.errors import InvariantError
    from quickdraw.video.encoding import Encoding

    episodes = [synthetic.fake_episode(number, 5, tmp_path) for number in range(2)]
    other = Encoding(96, 64, 30, crf=18, preset="veryfast", gop=2)
    blank = np.zeros((96, 64, 3), np.uint8)
    episodes[1].clips[CAMERAS[0]] = synthetic.encode([blank] * 5, tmp_path / "other.mp4", other)
    with pytest.raises(InvariantError, match=r"other\.mp4: encoded unlike"):
        synthetic.pack(tmp_path / "split", synthetic.dataset_spec(), episodes)


def test_an_episode_of_one_row_is_packed_with_std_0_and_quantiles_at_its_value(
    synthetic: ModuleType, tmp_path: Path
) -> None:
    root = synthetic.pack(tmp_path / "split", synthetic.dataset_spec(),
                          [synthetic.fake_episode(0, 1, tmp_path), synthetic.fake_episode(1, 2, tmp_path)])  # fmt: skip
    row = pq.read_table(root / META).to_pylist()[0]
    assert row["length"] == 1
    assert row["stats/action/std"] == [0.0] * 3
    assert row["stats/action/q01"] == row["stats/action/q99"] == row["stats/action/mean"] == [0.0] * 3
