"""Cube tracks and strips of frames of the sample datasets, against pandas, and a decode of every picture."""

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from quickdraw.data.block_stack_options import CUBE_CAMERAS
from quickdraw.pipeline.verify.report import Report
from quickdraw.report.parts import Drawing, Photograph, Section, Table, Words
from quickdraw.report.sections import cube_tracks, strips
from quickdraw.report.sections.cube_plots import Shown, cube_plot
from quickdraw.report.sections.cube_tracks import cube_tracks_section
from quickdraw.report.sections.depth_colours import UNKNOWN_RGB, DepthScale, scale_of
from quickdraw.report.sections.distributions import distributions_section
from quickdraw.report.sections.orientation import orientation_section
from quickdraw.report.sections.strips import strips_section
from quickdraw.report.subject import Subject, subject_of

# imageio leaves the pipes of its ffmpeg to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

CUBE = "observation.objects.cube"
COLOURS, VIEWS = ("red", "green", "blue", "purple"), ("scene", "wrist")


def about(root: Path) -> Subject:
    nothing: Any = Report
    return subject_of(root, nothing)


def parts[T](section: Section | None, kind: type[T]) -> list[T]:
    assert section is not None
    return [part for part in section.parts if isinstance(part, kind)]


def rows_of(subject: Subject, split: str) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(path) for path in sorted((subject.root / split / "data").glob("*/*.parquet"))])


def rgb(image: bytes) -> npt.NDArray[np.int64]:
    decoded = cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR)
    assert decoded is not None
    return np.asarray(decoded[..., ::-1], np.int64)


def test_the_cameras_of_the_views_are_those_cubes_are_measured_in() -> None:
    assert tuple(cube_tracks.CAMERAS.items()) == tuple(zip(VIEWS, CUBE_CAMERAS, strict=True))


def test_shares_are_those_of_all_rows_and_the_fullest_episode_is_drawn(sample_dataset: Path) -> None:
    subject = about(sample_dataset)
    section = cube_tracks_section(subject)
    (table,) = parts(section, Table)
    names = [column.name for column in table.columns]
    captions = [part.caption for part in parts(section, Drawing)]
    assert [row[0].text for row in table.rows] == list(subject.splits)
    for row, caption in zip(table.rows, captions, strict=True):
        rows = rows_of(subject, row[0].text)
        seen = np.stack(rows[CUBE].to_list()).reshape(-1, 4, 2, 4)[..., 3] > 0
        for number, colour in enumerate(COLOURS):
            for place, view in enumerate(VIEWS):
                if f"{colour}, {view}" in names:
                    told = row[names.index(f"{colour}, {view}")]
                    assert told.key == pytest.approx(seen[:, number, place].mean())
                    assert told.text in (f"{100 * seen[:, number, place].mean():.1f}", "–")
                else:
                    assert not seen[:, number].any()
        scores = {
            episode: (int(seen[rows["episode_index"] == episode].any(axis=0).sum()),
                      int(seen[rows["episode_index"] == episode].sum()), -episode)
            for episode in rows["episode_index"].unique()
        }  # fmt: skip
        best = max(scores, key=lambda episode: scores[episode])
        assert caption.startswith(f"{row[0].text}, episode {best} (")


def test_tracks_lie_over_a_frame_of_each_view(sample_dataset: Path) -> None:
    subject = about(sample_dataset)
    drawn = parts(cube_tracks_section(subject), Drawing)[0]
    found = re.match(r"train, episode (\d+) .* over the frame at ([0-9.]+) s", drawn.caption)
    assert found is not None
    split, row = subject.splits["train"], round(float(found[2]) * 30)
    images = [base64.b64decode(each) for each in re.findall(r'href="data:image/webp;base64,([^"]*)"', drawn.svg)]
    assert "image/png" not in drawn.svg
    assert len(images) == 2
    for image, camera in zip(images, CUBE_CAMERAS, strict=True):
        frame = list(split.pictures(int(found[1]), camera))[row]
        assert rgb(image).shape == frame.shape
        assert np.abs(rgb(image) - frame).mean() < 6


def test_a_track_begins_and_ends_where_the_cube_was_first_and_last_seen() -> None:
    measured = np.zeros((50, 4, 2, 4), np.float32)
    measured[10:30, 0, 0] = [0.25, 0.5, 1, 1]
    measured[10:30, 0, 0, 0] = np.linspace(0.25, 0.75, 20)
    measured[30:, 0, 0, :2] = [0.75, 0.5]  # carried
    shown = Shown(split="x", episode=0, rate_hz=10, measured=measured, row=10, frames={}, cameras={})
    svg = cube_plot(shown).svg
    # Circles of a marker: hollow where it begins, full where it ends.
    ends = re.findall(
        r'<use href="#[^"]*" x="([0-9.]+)" y="([0-9.]+)" style="fill: var\(--(\w+)\); stroke: var\(--red', svg
    )
    assert [fill for *_, fill in ends] == ["paper", "red"]
    (x0, y0), (x1, y1) = [(float(x), float(y)) for x, y, _ in ends]
    width = 648 * 0.94 / (3 + 2 * 0.44)  # of one of three plots
    assert (x1 - x0, y1 - y0) == pytest.approx((width / 2, 0), abs=1)
    assert "red scene" in svg
    assert "green scene" not in svg


def test_a_pooled_dataset_has_no_cubes_and_its_depth_is_on_a_scale(pooled_dataset: Path) -> None:
    subject = about(pooled_dataset)
    assert cube_tracks_section(subject) is None
    photographs = parts(strips_section(subject), Photograph)
    assert [each.name for each in photographs] == [f"frames-{name}" for name in subject.splits]
    split = subject.splits["train"]
    depth_camera = next(camera for camera in split.cameras if split.is_depth(camera))
    told = re.search(
        rf"{depth_camera}, \d+ x \d+, depth from (\d+) mm, bright, to (\d+) mm, dark", photographs[0].caption
    )
    assert told is not None
    lengths = [int(episode["length"]) for episode in split.episodes]
    episode = int(np.argmax(lengths))
    rows = set(np.linspace(0, max(lengths) - 1, strips.FRAMES).round().astype(int).tolist())
    known = np.concatenate([mm[mm > 0] for row, mm in enumerate(split.depth(episode, depth_camera)) if row in rows])
    assert [int(told[1]), int(told[2])] == pytest.approx(np.percentile(known, [1, 99]), abs=1.01)


def test_depth_goes_from_bright_to_dark_and_nothing_known_is_grey() -> None:
    scale = DepthScale(500, 1500)
    depth_mm = np.array([[0, 400, 500, 700, 1000, 1400, 1500, 2000]], np.uint16)
    picture = scale.picture(depth_mm)[0]
    assert tuple(picture[0]) == UNKNOWN_RGB
    light = picture[1:].astype(int).sum(axis=1)
    assert (np.diff(light) <= 0).all()
    assert light[0] == light[1] > light[2] > light[3] > light[4] > light[5] == light[6]
    assert not (scale.bar(2, 50) == UNKNOWN_RGB).all(axis=-1).any()
    assert scale_of([np.zeros((3, 3), np.uint16)]) == DepthScale(1, 1)
    assert tuple(scale_of([np.zeros((3, 3), np.uint16)]).picture(depth_mm)[0, 0]) == UNKNOWN_RGB


def test_strips_are_the_frames_they_say(sample_dataset: Path) -> None:
    subject = about(sample_dataset)
    photograph = parts(strips_section(subject), Photograph)[list(subject.splits).index("val")]
    split = subject.splits["val"]
    lengths = [int(episode["length"]) for episode in split.episodes]
    episode = lengths.index(max(lengths))
    rows = np.linspace(0, max(lengths) - 1, 6).round().astype(int).tolist()
    times = ", ".join(f"{row / 30:.2f}" for row in rows)
    assert f"val, episode {episode}, {max(lengths)} rows" in photograph.caption
    assert f"frames at {times} s" in photograph.caption
    image = rgb(photograph.image)
    height = 144
    assert image.shape == (18 + len(split.cameras) * (18 + height), 6 * 196 - 4, 3)
    for place, camera in enumerate(split.cameras):
        frames = {row: frame for row, frame in enumerate(split.pictures(episode, camera)) if row in rows}
        top = 18 + place * (18 + height) + 18
        for column, row in enumerate(rows):
            tile = image[top : top + height, column * 196 : column * 196 + 192]
            assert np.abs(tile - frames[row]).mean() < 7


def test_a_film_that_is_gone_is_a_warning_and_the_others_are_shown(sample_dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_dataset / "val", tmp_path / "val")
    (tmp_path / "val/videos/observation.images.scene_right/chunk-000/file-000.mp4").unlink()
    subject = about(tmp_path)
    assert subject.trace is None
    (warned,) = parts(strips_section(subject), Words)
    assert warned.warning
    assert re.fullmatch(r"val, episode \d+, scene_right: found unreadable .*\.", warned.text)
    assert str(tmp_path) not in warned.text
    assert "scene_right" not in parts(strips_section(subject), Photograph)[0].caption
    section = cube_tracks_section(subject)
    assert [part.warning for part in parts(section, Words)] == [True]
    assert len(re.findall("image/webp", parts(section, Drawing)[0].svg)) == 1


def test_a_split_without_cameras_has_no_frames(tmp_path: Path) -> None:
    (tmp_path / "only/meta/episodes").mkdir(parents=True)
    (tmp_path / "only/meta/info.json").write_text(json.dumps({"codebase_version": "v3.0", "fps": 30, "features": {}}))
    assert strips_section(about(tmp_path)) is None
    assert cube_tracks_section(about(tmp_path)) is None


def test_all_drawn_sections_are_small_and_show_no_place_and_frames_are_the_same_each_time(sample_dataset: Path) -> None:
    subject = about(sample_dataset)
    ids: list[str] = []
    for make in (distributions_section, orientation_section, cube_tracks_section, strips_section):
        section = make(subject)
        assert str(sample_dataset) not in repr(section)
        for part in parts(section, Drawing):
            assert len(part.svg) < 250_000
            ids += re.findall(r' id="([^"]*)"', part.svg)
        assert sum(len(part.image) for part in parts(section, Photograph)) < 600_000
    assert len(ids) == len(set(ids))
    assert strips_section(about(sample_dataset)) == strips_section(subject)
