"""Distributions and orientation of small made-up datasets of anyone's, against plain NumPy and SciPy."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.dom import minidom

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

from quickdraw.formats.lerobot import reader
from quickdraw.pipeline.verify.report import Report
from quickdraw.report.parts import Drawing, Section, Table, Words
from quickdraw.report.sections import small_multiples, spread
from quickdraw.report.sections.attitude import attitude
from quickdraw.report.sections.distributions import distributions_section
from quickdraw.report.sections.orientation import orientation_section
from quickdraw.report.subject import Subject, subject_of

Float = npt.NDArray[np.float32]
ROT6 = tuple(f"rot6_{number}" for number in range(6))
STATISTICS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: x.mean(axis=0), "std": lambda x: x.std(axis=0), "q01": lambda x: np.quantile(x, 0.01, axis=0),
    "q99": lambda x: np.quantile(x, 0.99, axis=0), "min": lambda x: x.min(axis=0), "max": lambda x: x.max(axis=0),
}  # fmt: skip


def write(root: Path, features: Mapping[str, Float], names: Mapping[str, object]) -> None:
    """One split of one episode, in row groups of a few rows, with statistics of its own."""
    rows = len(next(iter(features.values())))
    columns: dict[str, Any] = {
        name: pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1]) for name, values in features.items()
    }
    described: dict[str, Any] = {
        name: {"dtype": "float32", "shape": [values.shape[1]], "names": names.get(name)}
        for name, values in features.items()
    }
    for key in ("frame_index", "episode_index", "index"):
        columns[key] = np.zeros(rows, np.int64) if key == "episode_index" else np.arange(rows)
        described[key] = {"dtype": "int64", "shape": [1], "names": None}
    for folder in ("data/chunk-000", "meta/episodes/chunk-000"):
        (root / folder).mkdir(parents=True)
    pq.write_table(pa.table(columns), root / "data/chunk-000/file-000.parquet", row_group_size=max(1, rows // 5))
    info = {"codebase_version": "v3.0", "fps": 30, "features": described, "video_path": ""}
    (root / "meta/info.json").write_text(json.dumps(info))
    lengths = pa.table({"episode_index": [0], "length": [rows]})
    pq.write_table(lengths, root / "meta/episodes/chunk-000/file-000.parquet")
    with np.errstate(all="ignore"):
        told = {
            name: {statistic: of(values.astype(np.float64)).tolist() for statistic, of in STATISTICS.items()}
            for name, values in features.items()
        }
    (root / "meta/stats.json").write_text(json.dumps(told))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Subject]:
    monkeypatch.setattr(reader, "BLOCK_ROWS", 17)  # so that many blocks are joined

    def make(names: Mapping[str, object] | None = None, **splits: Mapping[str, Float]) -> Subject:
        for name, features in splits.items():
            write(tmp_path / name, features, names or {})
        nothing: Any = Report
        return subject_of(tmp_path, nothing)

    return make


def normal(rows: int, width: int, seed: int = 0) -> Float:
    return np.random.default_rng(seed).normal(2, 3, (rows, width)).astype(np.float32)


def parts[T](section: Section | None, kind: type[T]) -> list[T]:
    assert section is not None
    return [part for part in section.parts if isinstance(part, kind)]


def cells(table: Table, row: int) -> dict[str, str]:
    return {column.name: cell.text for column, cell in zip(table.columns, table.rows[row], strict=True)}


def rotated(matrices: npt.NDArray[np.float64]) -> Float:
    return np.concatenate([matrices[:, :, 0], matrices[:, :, 1]], axis=1).astype(np.float32)


def about_z(yaws_deg: npt.ArrayLike) -> Rotation:
    return Rotation.from_euler("z", np.asarray(yaws_deg, np.float64)[:, None], degrees=True)


def test_spreads_are_those_of_plain_numpy(made: Callable[..., Subject]) -> None:
    train, val = normal(500, 3), normal(80, 3, 1) * np.float32(1.5)
    train[3, 1] = np.nan
    subject = made(train={"action": train}, val={"action": val})
    extents = {name: spread.extents(split, ["action"]) for name, split in subject.splits.items()}
    both = np.concatenate([train, val]).astype(np.float64)
    low, high = np.nanmin(both, axis=0), np.nanmax(both, axis=0)
    bounds = {"action": (low, high)}
    for name, values in (("train", train), ("val", val)):
        found = spread.spreads(subject.splits[name], extents[name], bounds, extents["train"])["action"]
        exact = values.astype(np.float64)
        np.testing.assert_allclose(found.extent.mean, np.nanmean(exact, axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.std, np.nanstd(exact, axis=0), rtol=1e-12)
        np.testing.assert_array_equal(found.extent.finite, np.isfinite(values).sum(axis=0))
        beyond = (exact < np.nanmin(train, axis=0)) | (exact > np.nanmax(train, axis=0))
        np.testing.assert_array_equal(found.outside, beyond.sum(axis=0))
        for dim in range(3):
            column = exact[:, dim][np.isfinite(exact[:, dim])]
            counts, edges = np.histogram(column, spread.FINE_BINS, (low[dim], high[dim]))
            assert np.abs(np.cumsum(counts) - np.cumsum(found.counts[dim])).max() <= 1
            assert len(edges) == spread.FINE_BINS + 1


def test_the_table_tells_what_is_in_use_and_where_the_others_lie(made: Callable[..., Subject]) -> None:
    train, val = normal(400, 2), normal(90, 2, 1) + np.float32(5)
    subject = made({"action": ["move_mm", "b"]}, train={"action": train}, val={"action": val})
    constants = {"action": {"mean": [1.5, 0.0], "std": [2.5, 1.0]}}
    (subject.root / "normalization_stats.json").write_text(json.dumps(constants))
    statistics, agreement = parts(distributions_section(subject), Table)
    row = cells(statistics, 0) | cells(agreement, 0)
    assert (row["dimension"], row["unit"], row["treatment"]) == ("move_mm", "mm", "scaled")
    assert (row["mean"], row["std"]) == ("1.5", "2.5")  # normalization_stats.json trumps
    assert row["q01"] == f"{np.quantile(train[:, 0].astype(np.float64), 0.01):.5g}"
    off = (val[:, 0].astype(np.float64).mean() - train[:, 0].astype(np.float64).mean()) / train[:, 0].astype(
        np.float64
    ).std()
    assert row["val: mean off by"] == f"{off:+.2f}"
    share = ((val[:, 0] < train[:, 0].min()) | (val[:, 0] > train[:, 0].max())).mean()
    assert row["val: outside"] == f"{100 * share:.1f}"


def test_what_does_not_vary_or_is_not_there_is_told_in_words(made: Callable[..., Subject]) -> None:
    state = normal(60, 4)
    state[:, 0], state[:, 1], state[7, 2] = np.nan, 5.0, np.inf
    subject = made({"observation.state": list("abcd")}, train={"observation.state": state})
    section = distributions_section(subject)
    words = [part.text for part in parts(section, Words)]
    assert words == [
        "observation.state in train: without a finite value in any row: a.",
        "observation.state in train: not finite in some rows: c.",
        "observation.state: the same in every row of a split: b.",
    ]
    svg = parts(section, Drawing)[0].svg
    assert "no value in any row" in svg
    assert "5 in every row" in svg
    assert [cells(parts(section, Table)[0], row)["treatment"] for row in range(4)] == [
        "no value",
        "constant",
        "scaled",
        "scaled",
    ]


def test_hundreds_of_dimensions_are_one_row_of_a_table(made: Callable[..., Subject]) -> None:
    features = {
        "action": normal(30, 2), "observation.matrix": normal(30, 625), "observation.state": normal(30, 3),
        "observation.pose": normal(30, 2),
    }  # fmt: skip
    names = {"observation.state": ["pose.x", "pose.y", "open"], "observation.pose": ["x", "y"]}
    section = distributions_section(made(names, train=features))
    assert [part.name for part in parts(section, Drawing)] == ["distribution-observation.state", "distribution-action"]
    others = parts(section, Table)[1]
    told = {row[0].text: row[2].text for row in others.rows}
    assert told == {
        "observation.matrix": "625 dimensions are too many to look at", "observation.pose": "part of the state",
    }  # fmt: skip


def test_identity_is_marked_and_a_split_of_one_row_is_drawn(made: Callable[..., Subject]) -> None:
    subject = made(train={"action": normal(30, 2)}, val={"action": normal(1, 2)})
    path = subject.root / "train/meta/stats.json"
    told = json.loads(path.read_text())
    for name, value in {"mean": 0.0, "std": 1.0, "min": -1.0, "max": 1.0, "q01": -1.0, "q99": 1.0}.items():
        told["action"][name][1] = value
    path.write_text(json.dumps(told))
    section = distributions_section(subject)
    assert parts(section, Drawing)[0].svg.count("identity: left as it is") == 1
    assert [cells(parts(section, Table)[0], row)["treatment"] for row in range(2)] == ["scaled", "identity"]


def test_names_of_any_letters_and_splits_of_other_dimensions_are_borne(made: Callable[..., Subject]) -> None:
    odd = "<a> & \"b\" $x$ '字'/"
    subject = made(
        {"action": [odd, "x" * 90]}, train={"action": normal(30, 2)}, **{"评 <b>": {"action": normal(30, 3)}}
    )
    section = distributions_section(subject)
    assert [part.text for part in parts(section, Words)] == ["action: not there, or with other dimensions, in 评 <b>."]
    document = minidom.parseString(parts(section, Drawing)[0].svg)
    shown: list[Any] = document.getElementsByTagName("text")
    texts = ["".join(str(node.data) for node in text.childNodes) for text in shown]
    assert odd in texts


def test_nothing_to_draw_is_no_section(made: Callable[..., Subject]) -> None:
    subject = made(train={"timestamp": normal(9, 1)})
    assert distributions_section(subject) is None
    assert orientation_section(subject) is None


def test_rare_values_far_away_are_counted_instead_of_pressing_all_others_together() -> None:
    counts = np.zeros(spread.FINE_BINS, np.int64)
    counts[1000:1100], counts[-1] = 500, 3
    edges, heights, beyond = small_multiples._bars({"train": counts}, 0.0, float(spread.FINE_BINS))
    assert (edges[0], beyond) == (1000, 3)
    assert edges[-1] >= 1100
    np.testing.assert_allclose((heights["train"] ** 2).sum() / heights["train"].max() ** 2, 100 / 3, rtol=0.05)


def test_a_turn_about_the_vertical_alone_is_measured_as_one(made: Callable[..., Subject]) -> None:
    yaw_deg = np.linspace(150, 260, 300)  # past 180
    tilted = Rotation.from_euler("xyz", [180 - 40, 0, 0], degrees=True)
    matrices = (about_z(yaw_deg) * tilted).as_matrix()
    subject = made({"observation.state": ROT6}, train={"observation.state": rotated(matrices)})
    found = attitude(subject.splits["train"], "observation.state", tuple(range(6)))
    assert found is not None
    assert found.tilt_deg == pytest.approx((40, 40, 40, 0), abs=1e-4)
    assert found.azimuth_range_deg == pytest.approx(110, abs=1e-4)
    assert max(found.yaw_error_deg) < 1e-4
    assert found.singular[2] < 1e-6 < found.singular[1]
    assert (found.rows, found.sound, int(found.tilts.sum()), int(found.azimuths.sum())) == (300, 300, 300, 300)


def test_attitudes_are_those_of_scipy(made: Callable[..., Subject]) -> None:
    rotations = about_z(np.random.default_rng(0).uniform(-60, 60, 200)) * (
        Rotation.from_rotvec(np.random.default_rng(1).normal(0, 0.05, (200, 3)))
        * Rotation.from_euler("x", 140, degrees=True)
    )
    state = rotated(rotations.as_matrix())
    state[5], state[6] = np.nan, 0  # two rows without a rotation
    subject = made({"observation.state": ["ee_" + name for name in ROT6]}, train={"observation.state": state})
    found = attitude(subject.splits["train"], "observation.state", tuple(range(6)))
    assert found is not None
    sound = np.delete(np.arange(200), [5, 6])
    assert (found.rows, found.sound) == (200, 198)
    axes = rotations[sound].apply([0, 0, 1])
    tilt_deg = np.degrees(np.arccos(-axes[:, 2]))
    assert found.tilt_deg == pytest.approx((tilt_deg.min(), tilt_deg.max(), tilt_deg.mean(), tilt_deg.std()), abs=1e-4)
    azimuth_deg = np.sort(np.degrees(np.arctan2(axes[:, 1], axes[:, 0])) % 360)
    widest = np.diff(np.append(azimuth_deg, azimuth_deg[0] + 360)).max()
    assert found.azimuth_range_deg == pytest.approx(360 - widest, abs=1e-3)
    cloud = state[sound].astype(np.float64)
    singular = np.linalg.svd(cloud - cloud.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(found.singular, singular / singular[0], atol=1e-7)
    errors = yaw_errors_deg(rotations[sound])
    assert found.yaw_error_deg == pytest.approx((errors.mean(), errors.max()), abs=2e-3)
    section = orientation_section(subject)
    assert [part.text for part in parts(section, Words) if part.warning] == [
        "ee_rot6 in train: 2 of 200 rows hold no rotation."
    ]
    assert "tool axis" in parts(section, Drawing)[0].svg


def yaw_errors_deg(rotations: Rotation) -> npt.NDArray[np.float64]:
    """By search: the angle to the nearest Rz(yaw) R0, R0 the mean of all once the best yaws are taken out."""

    def best(still: Rotation, each: Rotation) -> float:
        def off(yaw: float) -> float:
            return float((each * (Rotation.from_euler("z", yaw) * still).inv()).magnitude())

        start = min(np.linspace(-np.pi, np.pi, 25), key=off)
        return float(minimize_scalar(off, bounds=(start - 0.3, start + 0.3), options={"xatol": 1e-7}).x)

    yaws = [best(rotations[0], each) for each in rotations]
    still = (about_z(-np.degrees(yaws)) * rotations).mean()
    again = about_z(np.degrees([best(still, each) for each in rotations]))
    return np.degrees((rotations * (again * still).inv()).magnitude())


def test_an_upright_axis_has_the_azimuth_of_the_first_and_others_say_which_frame(made: Callable[..., Subject]) -> None:
    matrices = about_z(np.linspace(0, 30, 50)).as_matrix()
    pose = np.concatenate([normal(50, 3), rotated(matrices)], axis=1)
    names = {"observation.slam_pose": ["x_m", "y_m", "z_m", *ROT6]}
    none = np.full((4, 9), np.nan, np.float32)
    subject = made(names, train={"observation.slam_pose": pose}, val={"observation.slam_pose": none},
                   one={"observation.slam_pose": pose[:1]})  # fmt: skip
    section = orientation_section(subject)
    warned, told = parts(section, Words)
    assert warned.text == "rot6: no row of val holds a rotation."
    assert "the first axis' azimuth covers 30.0°" in told.text
    assert "from −z of the frame it is told in" in told.text
    assert [row[0].text for row in parts(section, Table)[0].rows] == ["train", "one"]


def test_columns_that_are_no_rotation_are_warned_of(made: Callable[..., Subject]) -> None:
    state = rotated(Rotation.random(40, random_state=0).as_matrix()) * np.float32(2)
    section = orientation_section(made({"observation.state": ROT6}, train={"observation.state": state}))
    assert [part.text for part in parts(section, Words) if part.warning] == [
        "rot6 in train: columns are up to 1 off unit length or a right angle."
    ]
