"""Sheets of pooled episodes: what each tile shows against plain readers, where curves run, and that all can be read."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused, VideoError
from quickdraw.formats.pooled.reader import Task
from quickdraw.formats.pooled.recording.depth_writer import DepthWriter
from quickdraw.report import drawing
from quickdraw.report.drawing import (
    CURVES,
    FIELD,
    GAP_PX,
    LEFT_PX,
    LINE_PX,
    PAPER,
    PLOT_PX,
    TILE_PX,
    WIDTH,
    Curve,
    Scale,
    Tile,
    band,
    chart,
    line,
    readable,
)
from quickdraw.report.sheets.pooled_sheet import sheet, write_png

Pictures = npt.NDArray[np.uint8]
HEAD_PX = 36 + LINE_PX  # the title and the times
HEIGHT, WIDE = 96, 128
TILE_HEIGHT = TILE_PX * HEIGHT // WIDE


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, int], int]]:
    """Every text that is drawn: itself, where its baseline begins, how wide it is [px]."""
    drawn, put = list[tuple[str, tuple[int, int], int]](), cv2.putText

    def record(paper: Any, text: str, at: tuple[int, int], font: int, size: float, *rest: Any) -> Any:
        drawn.append((text, at, cv2.getTextSize(text, font, size, 1)[0][0]))
        return put(paper, text, at, font, size, *rest)

    monkeypatch.setattr(drawing.cv2, "putText", record)
    return drawn


@pytest.fixture
def copied(sample_pooled: Path, tmp_path: Path) -> Callable[[str], Path]:
    """`copied(task)`: a task of the sample that may be changed."""

    def copy(task: str) -> Path:
        shutil.copytree(sample_pooled / "recordings" / task, tmp_path / task)
        for path in [tmp_path / task, *(tmp_path / task).rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        return tmp_path / task

    return copy


def decoded(path: Path, pix_fmt: str, *options: str) -> bytes:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), *options, "-fps_mode", "passthrough"]
    command += ["-sws_flags", "accurate_rnd+full_chroma_int", "-pix_fmt", pix_fmt, "-f", "rawvideo", "-"]
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout


def tile(picture: Pictures, top: int, column: int, height: int = TILE_HEIGHT) -> Pictures:
    """A tile of a sheet whose upper edge is at `top`."""
    x = LEFT_PX + column * (TILE_PX + GAP_PX)
    return picture[top : top + height, x : x + TILE_PX]


def test_every_sample_has_a_sheet_of_one_width_whose_words_are_ascii_and_within_it(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    count = 0
    for root in sorted((sample_pooled / "recordings").iterdir()):
        for episode in Task.open(root).episodes():
            picture = sheet(episode)
            count += 1
            assert (picture.shape[1:], picture.dtype) == ((WIDTH, 3), np.uint8)
            assert all(text.isascii() and x >= 0 and x + wide <= WIDTH for text, (x, _), wide in words)
            assert not any("???" in text for text, _, _ in words)
            title = words[0][0]
            suffix = f"_ep{(episode.number - 1) % 1000:06d}"
            assert f"episode {episode.number} ({suffix})" in title
            assert (root.name in title) == root.name.isascii()
            words.clear()
    assert count == 19


def test_colour_tiles_are_the_frames_at_their_times(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = sample_pooled / "recordings" / "two_slots"
    picture = sheet(Task.open(root).episode(1))
    rows = pq.read_table(root / "data/chunk-000/episode-000.parquet").to_pydict()
    shown = [text for text, _, _ in words]
    frames = [0, 4, 8, 11, 15, 19]
    assert [text for text in shown if text.startswith("frame ")] == [f"frame {number}" for number in frames] * 2
    stamps = [rows["hardware_ns"][rows["frame_index"].index(frame)] for frame in frames]
    at_s = [(stamp - stamps[0]) / 1e9 for stamp in stamps]
    assert shown[1:7] == [f"{seconds:.2f} s" for seconds in at_s]
    for number, slot in enumerate(("a_rgb", "b_rgb")):
        raw = decoded(root / f"videos/chunk-000/{slot}/episode-000.mp4", "rgb24")
        truth = np.frombuffer(raw, np.uint8).reshape(-1, HEIGHT, WIDE, 3)
        assert f"{slot}: colour 128x96, {len(truth)} pictures" in shown
        top = HEAD_PX + LINE_PX + number * (TILE_HEIGHT + drawing.CAPTION_PX + 6 + LINE_PX)
        for column, frame in enumerate(frames):
            small = cv2.resize(tile(picture, top, column), (WIDE, HEIGHT), interpolation=cv2.INTER_AREA)
            assert np.abs(small.astype(int) - truth[frame]).mean() < 3, (slot, frame)


def test_depth_tiles_are_jet_of_millimetres_and_black_where_there_is_none(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = sample_pooled / "recordings" / "umi_pick"
    picture = sheet(Task.open(root).episode(2))
    raw = decoded(root / "videos/chunk-000/umi_depth/episode-001.mkv", "gray16le")
    depth = np.frombuffer(raw, "<u2").reshape(-1, HEIGHT, WIDE)
    captions = [text for text, _, _ in words if text.startswith("median")]
    for column, frame in enumerate([0, 2, 4, 7, 9, 11]):
        here = depth[frame]
        expected = f"median {np.median(here[here > 0]):.0f} mm, {100 * (here == 0).mean():.0f} % none"
        assert captions[column] == expected
        shown = tile(picture, HEAD_PX + LINE_PX, column)
        rows = np.arange(TILE_HEIGHT) * HEIGHT // TILE_HEIGHT
        columns = np.arange(TILE_PX) * WIDE // TILE_PX
        at = here[rows][:, columns]
        np.testing.assert_array_equal((shown == 0).all(axis=-1), at == 0)
        code = np.clip(np.rint(4095 * np.log(np.maximum(at, 1) / 100) / np.log(50)), 0, 4095).astype(int)
        jet = cv2.applyColorMap((code * 255 // 4095).astype(np.uint8), cv2.COLORMAP_JET)[..., ::-1]
        np.testing.assert_array_equal(shown[at > 0], jet[at > 0])


def test_depth_that_lacks_its_head_stands_under_the_frames_it_belongs_to(
    copied: Callable[[str], Path], words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = copied("umi_pick")
    path = root / "videos/chunk-000/umi_depth/episode-001.mkv"
    with DepthWriter(path, height_px=HEIGHT, width_px=WIDE, fps=30.0) as writer:
        for frame in range(3, 12):  # the camera came with frame 3
            writer.write(np.full((HEIGHT, WIDE), 1000 + frame, np.uint16))
    picture = sheet(Task.open(root).episode(2))
    shown = [text for text, _, _ in words]
    assert shown.count("no depth yet") == 2
    assert [text for text in shown if text.startswith("median")] == [
        f"median {1000 + frame} mm, 0 % none" for frame in (4, 7, 9, 11)
    ]
    assert (tile(picture, HEAD_PX + LINE_PX, 1) == FIELD).all()


def test_a_matrix_sums_up_to_the_force_beside_it_and_shines_where_it_presses(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = sample_pooled / "recordings" / "umi_pick"
    picture = sheet(Task.open(root).episode(1))
    force = pq.read_table(root / "data/chunk-000/episode-000.parquet")["observation.gripper_left_force"].to_pylist()
    sums = [int(match[1]) for text, _, _ in words if (match := re.fullmatch(r"sum (-?\d+) mN", text))]
    assert len(sums) == 6
    assert sums == pytest.approx([force[0][2]] * 6, rel=0.01)
    label, (_, baseline), _ = next(each for each in words if "force_matrix" in each[0])
    assert label.startswith("gripper_left_force_matrix: fz [mN], latest of 8 samples; scale 10, told by its row")
    assert baseline == LINE_PX - 8  # of a line of its own
    top = HEAD_PX + 2 * (LINE_PX + TILE_HEIGHT + drawing.CAPTION_PX + 6) + LINE_PX
    shown = tile(picture, top, 0, TILE_PX).astype(int)
    assert shown[..., 0].max() > 200  # orange: fz is above 0
    assert (shown[:20].max(), shown[..., 2].max() <= shown[..., 0].max()) == (0, True)


def test_an_episode_without_data_is_its_pictures_and_says_so(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    picture = sheet(Task.open(sample_pooled / "recordings" / "loose_ends").episode(2))
    shown = [text for text, _, _ in words]
    assert "by the frame rate   no data file" in shown[0]
    assert shown[1:7] == [f"{frame / 30:.2f} s" for frame in (0, 6, 12, 17, 23, 29)]
    assert picture.shape[0] == HEAD_PX + LINE_PX + TILE_HEIGHT + drawing.CAPTION_PX + 6


def test_samples_before_the_first_frame_are_told_and_not_drawn_at_the_edge(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = sample_pooled / "recordings" / "手套_抓取"
    sheet(Task.open(root).episode(1001))
    table = pq.read_table(root / "data/chunk-001/episode-000.parquet").to_pydict()
    stamps = [stamp for row in table["imu_ts_ns"] for stamp in row]
    before = sum(stamp < table["hardware_ns"][0] for stamp in stamps)
    assert before > 0
    expected = f"{len(stamps)} samples, {before} of them before or after the frames:"
    assert [text for text, _, _ in words if expected in text and text.startswith("imu, ")]


def change(path: Path, name: str, spoil: Callable[[pa.Array], pa.Array]) -> None:
    """A column of a data file, as one array, put back spoilt."""
    table = pq.read_table(path)
    column = spoil(table[name].combine_chunks())
    pq.write_table(table.set_column(table.column_names.index(name), name, column), path)


MAGENTA = (255, 0, 255)


def test_what_is_not_finite_is_magenta_and_told_and_the_rest_is_drawn_as_ever(
    copied: Callable[[str], Path], words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root, matrix = copied("umi_pick"), "observation.gripper_left_force_matrix"

    def spoilt(column: pa.Array) -> pa.Array:
        values = column.values.to_numpy().copy().reshape(-1, 250, 250, 3)
        values[:, :50, :, 2], values[:, 60, 60, 2] = np.nan, np.inf
        return pa.ListArray.from_arrays(column.offsets, pa.array(values.reshape(-1)))

    whole = sheet(Task.open(root).episode(4))
    most = next(text for text, _, _ in words if text.endswith(" mN") and text.startswith("+"))
    words.clear()
    change(root / "data/chunk-000/episode-003.parquet", matrix, spoilt)
    picture = sheet(Task.open(root).episode(4))
    shown = [text for text, _, _ in words]
    assert picture.shape == whole.shape
    assert sum(bool(re.fullmatch(r"sum -?\d+ mN, 12501 not finite", text)) for text in shown) == 6
    assert most in shown
    odd = (picture == MAGENTA).all(axis=-1)
    assert odd.sum() == pytest.approx(6 * TILE_PX * TILE_PX / 5, rel=0.05)
    top = int(np.flatnonzero(odd.any(axis=1))[0])
    below = slice(top + TILE_PX // 2, top + TILE_PX)
    np.testing.assert_array_equal(picture[below], whole[below])


def test_a_glove_without_numbers_in_some_cells_is_drawn_too(
    copied: Callable[[str], Path], words: list[tuple[str, tuple[int, int], int]]
) -> None:
    def spoilt(column: pa.Array) -> pa.Array:
        values = column.values.to_numpy().copy().reshape(-1, 256)
        values[:, :16], values[0] = np.nan, np.inf
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), 256)

    root = copied("two_slots")
    change(root / "data/chunk-000/episode-000.parquet", "observation.left_glove", spoilt)
    odd = (sheet(Task.open(root).episode(1)) == MAGENTA).all(axis=-1).sum()
    told = [text for text, _, _ in words if "not finite" in text]
    assert told[0] == "max -inf, 256 not finite"
    assert [text.split(", ")[1] for text in told] == ["256 not finite"] + ["16 not finite"] * 5
    assert odd == pytest.approx(TILE_PX * TILE_PX * (1 + 5 / 16), rel=0.05)


def test_curves_begin_with_the_episode_where_its_first_rows_have_no_stamp(
    copied: Callable[[str], Path], words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = copied("手套_抓取")

    def inertial() -> str:
        words.clear()
        sheet(Task.open(root).episode(1001))
        return next(text for text, _, _ in words if text.startswith("imu, gyroscope"))

    def spoilt(column: pa.Array) -> pa.Array:
        return pa.array([0, 0, *column.to_pylist()[2:]])

    expected = inertial()
    change(root / "data/chunk-001/episode-000.parquet", "hardware_ns", spoilt)
    assert inertial() == expected


def test_two_files_of_a_slot_and_a_damaged_video_are_no_sheet(copied: Callable[[str], Path]) -> None:
    root = copied("two_slots")
    video = root / "videos/chunk-000/a_rgb/episode-000.mp4"
    content = bytearray(video.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    video.write_bytes(content)
    with pytest.raises(VideoError):
        sheet(Task.open(root).episode(1))
    video.with_suffix(".mkv").write_bytes(b"")
    with pytest.raises(Refused, match="a_rgb"):
        sheet(Task.open(root).episode(1))


def test_a_curve_runs_where_its_numbers_say() -> None:
    times_s = np.linspace(0, 2, 500)
    picture = chart("line", [Curve("x", times_s, 10 * times_s)], end_s=2.0, marks_s=(0.0, 1.0, 2.0))
    plot = picture[LINE_PX : LINE_PX + drawing.CHART_PX]
    red = (plot.astype(int) - CURVES[0]).__abs__().max(axis=-1) < 60
    assert red.any()
    for share in (0.1, 0.5, 0.9):
        x = LEFT_PX + round(share * (PLOT_PX - 1))
        y = float(np.flatnonzero(red[:, x]).mean())
        assert y == pytest.approx(drawing.CHART_PX - 8 - share * (drawing.CHART_PX - 16), abs=1.5)


@pytest.mark.parametrize("values", [np.zeros(0), np.zeros(3), np.full(3, np.nan), np.array([5.0, np.inf, -1.0])])
def test_curves_of_nothing_or_of_no_numbers_can_be_drawn(values: npt.NDArray[np.float64]) -> None:
    picture = chart("odd", [Curve("x", np.arange(len(values), dtype=float), values)], end_s=0.0, marks_s=())
    assert picture.shape == (LINE_PX + drawing.CHART_PX + LINE_PX, WIDTH, 3)


def test_tall_pictures_fit_their_tile_and_missing_ones_are_empty_fields() -> None:
    tall = np.full((400, 100, 3), 255, np.uint8)
    scale = Scale(np.arange(6, dtype=np.uint8).reshape(2, 3), ((0, "low"), (1, "high")))
    picture = band("tall", [Tile(tall, "a"), Tile(None, "b" * 200)], scale)[LINE_PX:]
    assert (picture[:TILE_PX, LEFT_PX : LEFT_PX + TILE_PX // 4] == 255).all()
    assert (picture[:TILE_PX, LEFT_PX + TILE_PX // 4 : LEFT_PX + TILE_PX] == PAPER).all()
    assert (tile(picture, 0, 1, TILE_PX) == FIELD).all()
    bar = picture[:TILE_PX, LEFT_PX + PLOT_PX + 12]
    assert (bar[0].tolist(), bar[-1].tolist()) == ([3, 4, 5], [0, 1, 2])


def test_a_name_of_other_letters_is_told_by_code_points_and_a_long_line_shrinks() -> None:
    assert readable("手_left") == "\\u624b_left"
    long = line("w" * 400)
    assert (long[:, -6:] == PAPER).all()
    assert (long != PAPER).any()


def test_a_sheet_is_written_as_the_picture_it_is(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    write_png(tmp_path / "new" / "手.png", picture)
    content = np.frombuffer((tmp_path / "new" / "手.png").read_bytes(), np.uint8)
    np.testing.assert_array_equal(cv2.imdecode(content, cv2.IMREAD_COLOR)[..., ::-1], picture)
    with pytest.raises(Refused, match="cannot be written"):
        write_png(tmp_path / "new", picture)


@pytest.mark.parametrize(
    ("name", "number", "clock"), [("loose_ends", 4, "hardware_ns"), ("loose_ends", 3, "wall_time")]
)
def test_times_are_by_the_samples_clock_where_it_is_whole(
    name: str, number: int, clock: str, sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]]
) -> None:
    root = sample_pooled / "recordings" / name
    sheet(Task.open(root).episode(number))
    rows = pq.read_table(root / f"data/chunk-000/episode-{number - 1:03d}.parquet").to_pydict()
    end_s = (rows[clock][-1] - rows[clock][0]) / (1e9 if clock == "hardware_ns" else 1)
    assert f"30 frames, {end_s:.2f} s by {clock}" in words[0][0]


def test_a_disk_that_is_full_keeps_the_sheet_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a.png"
    place.write_bytes(b"older")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_png(place, np.zeros((4, 4, 3), np.uint8))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.png": b"older"}


@pytest.mark.parametrize(
    ("column", "values"),
    [("frame_index", pa.array([{"a": 1}] * 12)), ("wall_time", pa.array([float("nan")] * 12, pa.float64()))],
    ids=["structs", "nan"],
)
def test_key_columns_that_are_none_are_refused(copied: Callable[[str], Path], column: str, values: Any) -> None:
    root = copied("umi_pick")
    path = root / "data/chunk-000/episode-000.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), path)
    with pytest.raises(Refused, match=column):
        sheet(Task.open(root).episode(1))


def test_a_task_that_is_the_current_folder_has_its_name(
    sample_pooled: Path, words: list[tuple[str, tuple[int, int], int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample_pooled / "recordings" / "loose_ends")
    sheet(Task.open(Path()).episode(2))
    assert words[0][0].startswith("loose_ends   episode 2 ")
