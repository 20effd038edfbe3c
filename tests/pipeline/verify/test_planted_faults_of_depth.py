"""Faults planted in a dataset with depth, tasks of their own names, int64 columns and cameras of different sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.pipeline.verify.report import Report
from quickdraw.video.depth_encoding import DepthEncoding

type Verified = Callable[..., Report]
type Codes = npt.NDArray[np.uint16]

DATA, EPISODES = "data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet"
DEPTH = "observation.images.front_depth"


def video(dataset: Path, camera: str) -> Path:
    return dataset / f"val/videos/observation.images.{camera}/chunk-000/file-000.mp4"


def recode(path: Path, change: Callable[[list[Codes]], Sequence[Codes]]) -> None:
    """Encode a file's depth anew, changed."""
    with av.open(str(path)) as container:
        shown = [np.array(frame.to_ndarray(), np.uint16) for frame in container.decode(video=0)]
    path.unlink()
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = DepthEncoding(*shown[0].shape, 30, 5).open_stream(container)
        for number, codes in enumerate(change(shown)):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(codes), format="gray12le")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def shifted(dataset: Path, plants: ModuleType) -> None:
    recode(video(dataset, "front_depth"), lambda shown: [shown[0], *shown[:-1]])


def one_code(dataset: Path, plants: ModuleType) -> None:
    def change(shown: list[Codes]) -> list[Codes]:
        shown[50][7, 9] += 1
        return shown

    recode(video(dataset, "front_depth"), change)


def swapped(dataset: Path, plants: ModuleType) -> None:
    front, side, aside = video(dataset, "front_depth"), video(dataset, "side_depth"), dataset / "aside"
    front.rename(aside)
    side.rename(front)
    aside.rename(side)


def frozen(dataset: Path, plants: ModuleType) -> None:
    recode(video(dataset, "side_depth"), lambda shown: [*shown[:5], *[shown[5]] * 33, *shown[38:]])


def blank_row_filled(dataset: Path, plants: ModuleType) -> None:
    recode(video(dataset, "front_depth"), lambda shown: [shown[2], *shown[1:]])


def in_metres(dataset: Path, plants: ModuleType) -> None:
    def change(stats: dict[str, Any]) -> None:
        stats[DEPTH]["mean"][0][0][0] /= 1000

    plants.redocument(dataset / "val/meta/stats.json", change)


def a_millimetre_off(dataset: Path, plants: ModuleType) -> None:
    def change(stats: dict[str, Any]) -> None:
        stats[DEPTH]["q50"][0][0][0] += 1

    plants.redocument(dataset / "val/meta/stats.json", change)


def episode_off(dataset: Path, plants: ModuleType) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns[f"stats/{DEPTH}/max"][0][0][0][0] -= 1

    plants.retable(dataset / "val" / EPISODES, change)


def task_renamed(dataset: Path, plants: ModuleType) -> None:
    def rename(columns: dict[str, Any]) -> None:
        columns["task"] = ["something else" for _ in columns["task"]]

    def renamed(columns: dict[str, Any]) -> None:
        columns["tasks"] = [["something else"] for _ in columns["tasks"]]

    plants.retable(dataset / "val/meta/tasks.parquet", rename)
    plants.retable(dataset / "val" / EPISODES, renamed)


def other_seed(dataset: Path, plants: ModuleType) -> None:
    plants.redocument(dataset / "provenance.json", lambda document: document["config"].update(seed=6))


def longest_instead(dataset: Path, plants: ModuleType) -> None:
    plants.redocument(dataset / "provenance.json", lambda document: document["config"].pop("val_rule"))


def valid_changed(dataset: Path, plants: ModuleType) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["observation.glove_valid"][3] = 1.0

    plants.retable(dataset / "val" / DATA, change)


def a_nanosecond_off(dataset: Path, plants: ModuleType) -> None:
    """Which float64 would not show."""

    def change(columns: dict[str, Any]) -> None:
        columns["hardware_ns"][9] += 1

    plants.retable(dataset / "val" / DATA, change)


def told(key: str, value: Any) -> Callable[[Path, ModuleType], None]:
    """Another value of `key` in what info.json says of a depth camera; `...` removes it."""

    def plant(dataset: Path, plants: ModuleType) -> None:
        def change(info: dict[str, Any]) -> None:
            about = info["features"][DEPTH]["info"]
            about.pop(key) if value is ... else about.update({key: value})

        plants.redocument(dataset / "val/meta/info.json", change)

    return plant


def called_an_image(dataset: Path, plants: ModuleType) -> None:
    def change(info: dict[str, Any]) -> None:
        info["features"]["observation.image_glove"] = info["features"].pop("observation.glove")

    plants.redocument(dataset / "val/meta/info.json", change)


def other_grid(dataset: Path, plants: ModuleType) -> None:
    def change(document: dict[str, Any]) -> None:
        document["features"]["observation.glove"]["grid"] = [3, 3]

    plants.redocument(dataset / "provenance.json", change)


# The plant, what finds it without the source ("" nothing but digests), and what it must say.
PLANTS: list[tuple[Any, str, str]] = [
    (shifted, "fingerprints", r"val: .*front_depth, row 2 \(episode 0, .*: another picture"),
    (one_code, "fingerprints", r"val: .*front_depth, row 50 \(episode 0"),
    (swapped, "picture size", r"val: .*front_depth: pictures 33 high, 17 wide, expected \[24, 40\]"),
    (frozen, "frozen", r"val: .*side_depth, row [45] \(episode 0, .*one picture for 3\d rows"),
    (blank_row_filled, "fingerprints", r"val: .*front_depth, row 0"),
    (in_metres, "statistics", r"val: .*front_depth: mean\[0\] 1\.\d+, expected 1\d\d\d\."),
    (a_millimetre_off, "statistics", r"val: .*front_depth: q50\[0\] "),
    (episode_off, "episode statistics", r"val: .*episode 0, observation\.images\.front_depth: max\[0\] 9999, "
     "expected 10000"),
    (task_renamed, "tasks", r"val: .*episode 0: tasks something else, expected .*, what it was recorded as"),
    (other_seed, "split rule", r"(train|val): provenance\.json: .*, by the split rule"),
    (longest_instead, "split rule", r"(train|val): provenance\.json: .*, by the split rule"),
    (valid_changed, "fingerprints", r"val: .*row 3 .*: another observation\.glove_valid"),
    (a_nanosecond_off, "fingerprints", r"val: .*row 9 .*: another hardware_ns"),
    (told("video.shift", 0.5), "episode statistics", r"val: .*images\.front_depth: "),
    (told("video.depth_max", -1), "info", r"front_depth: depth from 0\.0 to -1\.0 m, expected a range"),
    (told("video.depth_min", "x"), "info", r"front_depth: video\.depth_min 'x', expected a number of metres"),
    (told("video.use_log", ...), "info", r"front_depth: video\.use_log None, expected true or false"),
    (told("depth_unit", "cm"), "info", r"front_depth: depth_unit 'cm', expected mm or m"),
    (told("is_depth_map", ...), "info", r"front_depth: 1 channels, expected 3 of colour"),
    (called_an_image, "info", r"a float32 feature named 'observation\.image_glove', expected `image` in no name"),
    (other_grid, "info", r"observation\.glove: a grid of \[3, 3\] in provenance\.json, expected 6 cells"),
]  # fmt: skip


def lines(report: Report, check: str) -> list[str]:
    return [str(fault) for fault in report.findings if fault.field == check]


def test_nothing_is_wrong_with_what_was_built(dataset: Path, against: Verified) -> None:
    report = against(dataset)
    assert [str(fault) for fault in report.findings] == []
    assert list(report.skipped) == []
    assert (report.rows, report.pictures) == (535, 4 * 535)
    assert report.checks["source depth"] == 2 * 535
    assert report.checks["source rows"] == 4 * 535
    assert report.checks["frozen"] == 4 * 535
    assert {curve.camera for curve in report.curves} == {"front", "side"}
    assert {curve.verdict for curve in report.curves} == {"aligned"}


@pytest.mark.parametrize(("plant", "check", "text"), PLANTS, ids=[str(n) for n in range(len(PLANTS))])
def test_a_planted_fault_is_found(
    plant: Any, check: str, text: str, dataset: Path, plants: ModuleType, verified: Verified
) -> None:
    plant(dataset, plants)
    report = verified(dataset)
    found = lines(report, check)
    assert any(re.search(text, line) for line in found), "\n".join(map(str, report.findings))


SHOWN_BY_THE_SOURCE: list[list[tuple[Any, str, str]]] = [
    [
        (shifted, "source depth",
         r"val: .*episode 0, front_depth: row 2 .* other depth than its source's: that of 1 row before"),
        (frozen, "source depth", r"val: .*episode 0, side_depth: row 6 \(episode 0, its row 6\) and 31 more"),
        (task_renamed, "source tasks", r"val: .*: tasks something else, expected .*, of the source"),
        (valid_changed, "source rows", r"val: .*glove_valid: row 3 .*: valid 1\.0, expected 0\.0 of the source"),
        (a_nanosecond_off, "source rows", r"val: .*hardware_ns: row 9 .*: hardware_ns \d{18}7, expected \d{18}6 of"),
    ],
    [
        (one_code, "source depth", r"val: .*episode 0, front_depth: row 50 \(episode 0, its row 50\): other depth"),
    ],
    [
        (blank_row_filled, "source depth", r"val: .*front_depth: row 0 \(episode 0, its row 0\): other depth"),
    ],
    [
        (swapped, "source depth", r"val: .*front_depth: row 0 .*: other depth than its source's: side_depth's"),
    ],
]  # fmt: skip


@pytest.mark.parametrize("planted", SHOWN_BY_THE_SOURCE, ids=["many", "one_code", "blank_row_filled", "swapped"])
def test_the_source_shows_it_exactly(
    planted: list[tuple[Any, str, str]], dataset: Path, plants: ModuleType, against: Verified
) -> None:
    for plant, *_ in planted:
        plant(dataset, plants)
    report = against(dataset)
    for _, check, text in planted:
        found = lines(report, check)
        assert any(re.search(text, line) for line in found), "\n".join(map(str, report.findings))
