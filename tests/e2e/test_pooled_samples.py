"""Every task of the sample, and of the simulator, read by our reader and compared with plain pyarrow and plain ffmpeg.

What is expected comes from no code of ours: files are found by their names, cells by pyarrow's `to_pylist`, JSON by
json, pictures by ffmpeg's binary as raw video, matrices and depth codes by the sheet's formulas written out below.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from quickdraw.errors import Refused
from quickdraw.formats.pooled.align import NotAlignable, Side, Which, align
from quickdraw.formats.pooled.depth import open_depth
from quickdraw.formats.pooled.keypoint_files import Mirror, read_hand_pose_3d
from quickdraw.formats.pooled.reader import Episode, Task
from quickdraw.sim.pooled import write_recordings
from quickdraw.sim.pooled.tasks import default_tasks, every_matrix_spec

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
SAMPLE = {
    "手套_抓取": (1, 2, 1000, 1001),
    "umi_pick": (1, 2, 3, 4, 5, 6),
    "legacy_v110": (1, 2, 3, 4),
    "two_slots": (1,),
    "two_slots_apart": (1,),
    "loose_ends": (2, 3, 4),
}
SIMULATED = {"手套_插孔": (1, 2, 3), "umi_place": (1, 2, 3, 4), "two_cameras": (1,), "specs": (1, 2, 3, 4, 5)}
TREES = {"sample": SAMPLE, "simulated": SIMULATED}
TASKS = [(tree, task) for tree, tasks in TREES.items() for task in tasks]
TAKES = [(tree, task, number) for tree, task in TASKS for number in TREES[tree][task]]
WITHOUT_DATA = ("sample", "loose_ends", 2)
POINTS, MATRIX_VALUES = 8, 187_500


@dataclass(frozen=True, slots=True)
class Take:
    """One episode as our reader has it, and its files as their names tell them."""

    task: Path
    number: int
    ours: Episode

    @property
    def place(self) -> tuple[str, str]:
        return f"chunk-{(self.number - 1) // 1000:03d}", f"episode-{(self.number - 1) % 1000:03d}"

    @property
    def table(self) -> pa.Table:
        chunk, episode = self.place
        return pq.read_table(self.task / "data" / chunk / f"{episode}.parquet")

    @property
    def films(self) -> dict[str, Path]:
        chunk, episode = self.place
        return {path.parent.name: path for path in sorted((self.task / "videos" / chunk).glob(f"*/{episode}.*"))}

    @property
    def info(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.task / "meta" / "info.json").read_text(encoding="utf-8"))
        return found

    @property
    def row(self) -> dict[str, Any] | None:
        files = sorted((self.task / "meta" / "episodes").rglob("*.parquet"))
        rows = [row for path in files for row in pq.read_table(path).to_pylist()]
        return next((row for row in rows if row["episode_index"] == self.number), None)


@pytest.fixture(scope="session")
def simulated(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    tasks = (*default_tasks(seed=5, frames=16), every_matrix_spec("specs", seed=5, frames=8))

    def make(root: Path) -> None:
        write_recordings(root, tasks=tasks)

    return once("pooled-oracle", make)


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Callable[[str, str], Path]:
    def found(tree: str, task: str) -> Path:
        if tree == "simulated":
            root: Path = request.getfixturevalue("simulated")
            return root / task
        sample: Path = request.getfixturevalue("sample_pooled")
        return sample / "recordings" / task

    return found


@pytest.fixture(params=TAKES, ids=lambda take: "-".join(map(str, take)))
def any_take(request: pytest.FixtureRequest, folder: Callable[[str, str], Path]) -> Take:
    tree, task, number = request.param
    path = folder(tree, task)
    return Take(path, number, Task.open(path).episode(number))


@pytest.fixture(params=[take for take in TAKES if take != WITHOUT_DATA], ids=lambda take: "-".join(map(str, take)))
def take(request: pytest.FixtureRequest, folder: Callable[[str, str], Path]) -> Take:
    tree, task, number = request.param
    path = folder(tree, task)
    return Take(path, number, Task.open(path).episode(number))


def raw_video(path: Path, pixel_format: str, stream: int = 0) -> bytes:
    command = [FFMPEG, "-v", "error", "-i", str(path), "-map", f"0:{stream}", "-fps_mode", "passthrough"]
    command += ["-f", "rawvideo", "-pix_fmt", pixel_format, "-"]
    return subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout


def stream_lines(path: Path) -> list[str]:
    """What `ffmpeg -i` prints of each stream; without output it fails, by design."""
    told = subprocess.run([FFMPEG, "-hide_banner", "-i", str(path)], capture_output=True, text=True, check=False).stderr
    return [line for line in told.splitlines() if re.match(r"\s*Stream #0:\d", line)]


def size_of(path: Path) -> tuple[int, int]:
    found = re.search(r" (\d{2,5})x(\d{2,5})[ ,\[]", stream_lines(path)[0])
    assert found is not None
    return int(found[2]), int(found[1])


def depth_stream(path: Path) -> tuple[str, int] | None:
    """("ffv1" or "log12", stream number) by ffmpeg's own words, None for colour."""
    for number, line in enumerate(stream_lines(path)):
        if "ffv1" in line and "gray16le" in line:
            return "ffv1", number
        if "hevc" in line and "gray12le" in line:
            return "log12", number
    return None


# The task as a whole


@pytest.mark.parametrize(("tree", "name"), TASKS)
def test_a_task_has_the_episodes_whose_files_are_there(
    tree: str, name: str, folder: Callable[[str, str], Path]
) -> None:
    path = folder(tree, name)
    files = [*path.glob("data/chunk-*/episode-*.parquet"), *path.glob("videos/chunk-*/*/episode-*.m*")]
    chunks = [int(re.findall(r"chunk-(\d+)", str(file))[-1]) for file in files]
    numbers = {chunk * 1000 + int(file.stem[8:]) + 1 for chunk, file in zip(chunks, files, strict=True)}
    assert Task.open(path).numbers == tuple(sorted(numbers)) == TREES[tree][name]
    assert [episode.number for episode in Task.open(path).episodes()] == sorted(numbers)


@pytest.mark.parametrize(("tree", "name"), TASKS)
def test_what_a_task_tells_of_itself_is_what_its_document_says(
    tree: str, name: str, folder: Callable[[str, str], Path]
) -> None:
    path = folder(tree, name)
    document, info = json.loads((path / "meta" / "info.json").read_text(encoding="utf-8")), Task.open(path).info
    assert (info.fps, info.task_name) == (document["fps"], document["task_name"]) == (30.0, name)
    assert info.total_episodes == document["total_episodes"]
    assert (dict(info.features), dict(info.extensions)) == (document["features"], document["video_extensions"])
    scales = {column: entry["scale"] for column, entry in document["features"].items() if "scale" in entry}
    assert dict(info.scales) == scales


def test_an_episodes_row_is_found_and_parsed_wherever_it_lies(any_take: Take) -> None:
    row, ours = any_take.row, any_take.ours.row
    if row is None:
        assert (any_take.task.name, any_take.number, ours) == ("loose_ends", 2, None)
        return
    assert ours is not None
    whole = ("task_index", "start_frame_index", "end_frame_index", "length", "created_at")
    assert {name: getattr(ours, name) for name in whole} == {name: row[name] for name in whole}
    assert (ours.number, ours.duration_s) == (row["episode_index"], row["duration_sec"])
    for name in ("drop_stats", "video_codec", "calibration"):
        assert getattr(ours, name) == json.loads(row[name])
    assert ours.force_matrix_specs == json.loads(row.get("force_matrix_specs", "{}"))
    assert dict(ours.extra) == {}


def test_a_video_without_data_has_slots_and_no_rows(folder: Callable[[str, str], Path]) -> None:
    tree, task, number = WITHOUT_DATA
    episode = Task.open(folder(tree, task)).episode(number)
    assert list(episode.slots()) == ["cam"]
    with pytest.raises(Refused, match="no data file"):
        _ = episode.data


# Rows, cell by cell


def test_every_cell_of_every_column_is_pyarrows(take: Take) -> None:
    table, data = take.table, take.ours.data
    assert (list(data.names), data.rows) == (table.column_names, table.num_rows)
    assert dict(data.types) == {field.name: field.type for field in table.schema}
    for name in table.column_names:
        kind = table.schema.field(name).type
        if pa.types.is_list(kind) and not pa.types.is_fixed_size_list(kind):
            assert_ragged(data.ragged(name), table[name], kind.value_type)
        else:
            ours, cells = data.column(name), table[name].to_pylist()
            assert ours.tolist() == cells, name
            inner = kind.value_type if pa.types.is_fixed_size_list(kind) else kind
            assert ours.dtype == (object if pa.types.is_string(inner) else inner.to_pandas_dtype()), name


def assert_ragged(ours: Any, column: pa.ChunkedArray, inner: Any) -> None:
    assert len(ours) == len(column)
    assert ours.offsets.dtype == np.int64
    leaf = inner.value_type if pa.types.is_fixed_size_list(inner) else inner
    assert ours.values.dtype == leaf.to_pandas_dtype()
    for row, cell in enumerate(column):
        assert ours[row].tolist() == cell.as_py()


def test_batches_of_few_rows_are_the_same_rows(take: Take) -> None:
    table = take.table
    names = [name for name in table.column_names if not name.endswith("_force_matrix")]
    batches = list(take.ours.data.batches(names, rows_at_a_time=5))
    assert max(batch.num_rows for batch in batches) <= 5
    assert pa.Table.from_batches(batches).to_pylist() == table.select(names).to_pylist()


def test_imu_samples_come_with_their_stamps_and_rows(take: Take) -> None:
    table, ours = take.table, take.ours.imu()
    has = "observation.imu" in table.column_names
    cells = table["observation.imu"].to_pylist() if has else []
    stamps = table["imu_ts_ns"].to_pylist() if has else []
    assert ours.values.tolist() == [sample for cell in cells for sample in cell]
    assert ours.ts_ns.tolist() == [stamp for cell in stamps for stamp in cell]
    assert ours.row.tolist() == [row for row, cell in enumerate(cells) for _ in cell]
    assert (ours.ts_ns.dtype, ours.values.dtype, ours.values.shape[1]) == (np.int64, np.float32, 6)


def test_a_trajectory_comes_point_by_point_with_stamps_and_rows(take: Take) -> None:
    table, ours = take.table, take.ours.trajectory()
    has = "observation.slam_trajectory" in table.column_names
    cells = table["observation.slam_trajectory"].to_pylist() if has else []
    stamps = table["observation.slam_trajectory_ns"].to_pylist() if has else []
    points = [cell[at : at + POINTS] for cell in cells for at in range(0, len(cell), POINTS)]
    assert ours.points.tolist() == points
    assert ours.ns.tolist() == [stamp for cell in stamps for stamp in cell]
    assert ours.row.tolist() == [row for row, cell in enumerate(cells) for _ in range(len(cell) // POINTS)]


def test_rows_fold_to_frames_only_where_both_stamps_agree(take: Take) -> None:
    keys = take.table.select(["frame_index", "timestamp", "hardware_ns"]).to_pylist()
    first: dict[int, int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key["frame_index"], row)
    agree = all(key == keys[first[key["frame_index"]]] for key in keys)
    fold = take.ours.fold()
    assert (fold.agrees, fold.rows_per_frame) == (agree, max(1, len(keys) // len(first)))
    assert fold.keep.tolist() == (sorted(first.values()) if agree else list(range(len(keys))))


# Matrices


def written_scale(take: Take, column: str) -> int:
    """The sheet's order: the episode's own row, then info.json, then 1; raw values have none."""
    row = take.row
    own = json.loads((row or {}).get("force_matrix_specs", "{}")).get(column, {}).get("scale")
    return int(own or take.info["features"].get(column, {}).get("scale") or 1)


def decoded(flat: NDArray[Any], scale: int) -> NDArray[np.float32]:
    """Sheet 7.3: sums along each row of points, wrapped to 16 bits, over the scale; float32 as it stands."""
    if flat.dtype == np.float32:
        return flat.reshape(250, 250, 3)
    sums = np.cumsum(flat.astype(np.int64).reshape(250, 750), axis=1)
    wrapped = (sums + 2**15) % 2**16 - 2**15
    return (wrapped.astype(np.float32) / np.float32(scale)).reshape(250, 250, 3)


def test_every_matrix_is_what_the_sheets_formula_makes_of_its_cell(take: Take) -> None:
    table = take.table
    for column in (name for name in table.column_names if name.endswith("_force_matrix")):
        scale = written_scale(take, column)
        stamps = table[f"{column}_ns"].to_pylist()
        expected = [(row, cell.values.to_numpy()) for row, cell in enumerate(table[column]) if len(cell)]
        ours = list(take.ours.matrices(column))
        whole = [(row, flat) for row, flat in expected if len(flat) == MATRIX_VALUES]
        assert [sample.row for sample in ours] == [row for row, _ in whole]
        assert [sample.ns for sample in ours] == [stamps[row] for row, _ in whole]
        for sample, (_, flat) in zip(ours, whole, strict=True):
            assert sample.mn.dtype == np.float32
            assert np.array_equal(sample.mn, decoded(flat, scale)), column
            assert not np.shares_memory(sample.mn, ours[0].mn) or sample is ours[0]
        assert take.ours.scale(column)[0] == (1 if expected and expected[0][1].dtype == np.float32 else scale)


def test_a_recorded_scale_makes_a_matrix_sum_up_to_the_force_of_its_row(take: Take) -> None:
    """The contract's self-check; coarse levels lose what is below half a step, whole ones up to all of it."""
    row = take.row
    specs = json.loads((row or {}).get("force_matrix_specs", "{}"))
    table = take.table
    for column in specs:
        forces = table[column.removesuffix("_matrix")].to_pylist()
        ratios = [
            float(sample.mn[..., 2].sum(dtype=np.float64)) / forces[sample.row][2]
            for sample in take.ours.matrices(column)
            if abs(forces[sample.row][2]) >= 50.0
        ]
        within = {1: 1.0, 10: 0.03, 100: 0.01, 1000: 0.01}[specs[column]["scale"]]
        if specs[column]["dtype"] == "float32":
            within = 1e-5
        assert len(ratios) >= 3
        assert float(np.median(ratios)) == pytest.approx(1.0, abs=within), column


def test_rows_are_aligned_with_the_nearest_stamp_and_beyond_the_ends_with_none(take: Take) -> None:
    table = take.table
    chosen: list[tuple[Side, Which, str]] = [
        (side, which, f"observation.gripper_{side}_force{suffix}_ns")
        for side in ("left", "right")
        for which, suffix in (("force", ""), ("matrix", "_matrix"))
    ]
    for side, which, column in chosen:
        if column not in table.column_names:
            with pytest.raises(NotAlignable):
                align(take.ours, side, which)
            continue
        stamps = table[column].to_pylist()
        known = [(stamp, row) for row, stamp in enumerate(stamps) if stamp > 0]
        ours = align(take.ours, side, which)
        for row, target in enumerate(table["hardware_ns"].to_pylist()):
            gap, stamp, best = min((abs(stamp - target), stamp, row) for stamp, row in known)
            assert (int(ours.index[row]), int(ours.residual_ns[row])) == (best, gap), (column, stamp)
            assert bool(ours.out_of_range[row]) == (not min(known)[0] <= target <= max(known)[0])


# Videos


def test_slots_are_the_files_there_and_their_kind_is_what_ffmpeg_says(any_take: Take) -> None:
    slots = any_take.ours.slots()
    assert {name: slot.path for name, slot in slots.items()} == any_take.films
    kinds = {name: "rgb" if depth_stream(path) is None else "depth" for name, path in any_take.films.items()}
    assert {name: slot.kind for name, slot in slots.items()} == kinds


def test_every_colour_picture_is_ffmpegs_to_within_rounding(any_take: Take) -> None:
    """Measured: not one value differs with ffmpeg's default scaler on both sides; another build may round otherwise."""
    for name, path in any_take.films.items():
        if depth_stream(path) is not None:
            continue
        ours = np.stack(list(any_take.ours.frames(name)))
        plain = np.frombuffer(raw_video(path, "rgb24"), np.uint8).reshape(-1, *size_of(path), 3)
        assert ours.shape == plain.shape
        assert np.abs(ours.astype(int) - plain).max() <= 1


def test_every_depth_picture_is_ffmpegs_exactly(any_take: Take) -> None:
    for name, path in any_take.films.items():
        found = depth_stream(path)
        if found is None:
            continue
        kind, stream = found
        video = open_depth(path)
        assert video is not None
        assert (video.kind, video.index, (video.height, video.width)) == (kind, stream, size_of(path))
        ours = np.stack(list(any_take.ours.depth(name)))
        pixel_format = "gray16le" if kind == "ffv1" else "gray12le"
        plain = np.frombuffer(raw_video(path, pixel_format, stream), "<u2").reshape(-1, *size_of(path))
        assert ours.dtype == np.uint16
        if kind == "log12":
            assert np.array_equal(np.stack(list(video.codes())), plain)
            plain = metric(plain)
        assert np.array_equal(ours, plain)


def metric(codes: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Sheet 8.2, code by code: below 128 nothing, else round(exp(ln 100 + code / step)) mm."""
    step = 4095 / (math.log(5000.0) - math.log(100.0))
    table = [0 if code < 128 else round(math.exp(math.log(100.0) + code / step)) for code in range(4096)]
    return np.array(table, np.uint16)[codes]


def test_the_three_depth_layouts_are_all_in_the_sample(sample_pooled: Path) -> None:
    films = sorted((sample_pooled / "recordings" / "umi_pick").glob("videos/*/umi_depth/*"))
    assert {depth_stream(path) for path in films} == {("log12", 0), ("ffv1", 0), ("ffv1", 1)}


def test_a_video_has_a_picture_for_every_frame_or_depth_lacks_its_head(take: Take) -> None:
    frames = len(set(take.table["frame_index"].to_pylist()))
    for name, slot in take.ours.slots().items():
        count = sum(1 for _ in (take.ours.frames(name) if slot.kind == "rgb" else take.ours.depth(name)))
        assert count == frames if slot.kind == "rgb" else frames - 5 <= count <= frames


# The mirror


def test_hands_of_the_mirror_are_pyarrows_cells(sample_pooled: Path) -> None:
    mirror = Mirror.of(sample_pooled / "keypoints_output", "手套_抓取", 2)
    path = sample_pooled / "keypoints_output" / "手套_抓取" / "episode_000002" / "hand_pose_3d" / "chunk-000.parquet"
    table, ours = pq.read_table(path), read_hand_pose_3d(mirror.hand_pose_3d)
    assert ours.frame_index.tolist() == table["frame_index"].to_pylist()
    for hand in (0, 1):
        assert ours.present[:, hand].tolist() == table[f"hand_{hand}_present"].to_pylist()
        assert ours.labels[:, hand].tolist() == table[f"hand_{hand}_label"].to_pylist()
        landmarks = ours.landmarks_m[:, hand].reshape(len(table), 63)
        assert landmarks.tolist() == table[f"hand_{hand}_landmarks_3d"].to_pylist()


def test_reading_a_task_whole_writes_nothing(sample_pooled: Path) -> None:
    def digests(task: Path) -> dict[str, str]:
        files = sorted(path for path in task.rglob("*") if path.is_file())
        return {str(path.relative_to(task)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    task = sample_pooled / "recordings" / "umi_pick"
    before = digests(task)
    for episode in Task.open(task).episodes():
        assert episode.row is not None
        assert all(batch.num_rows for batch in episode.data.batches(episode.data.names))
        assert [slot.path.is_file() for slot in episode.slots().values()] == [True, True]
    assert digests(task) == before
