"""What a build says of itself: rows and pictures that belong together, and those that were planted not to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan
from quickdraw.data.block_stack import BlockStack
from quickdraw.errors import Fault
from quickdraw.pipeline.executors import Executor
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.executors.local import local_processes
from quickdraw.pipeline.places import SHIFT_CURVES
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.verify.shift_curves import SampledCurve, ShiftCurves, measure_shifts, warnings_of
from quickdraw.pipeline.verify.shift_sample import SECONDS, Sample, liveliest
from quickdraw.pipeline.verify.verify import structure_report, verify_structure
from quickdraw.video.decoding import as_rgb, pictures
from quickdraw.video.encoding import Encoding

SHIFTS = list(range(-5, 6))


def measured(dataset: Path, source: Any, encodings: Any, samples: list[Sample]) -> ShiftCurves:
    with redirect_stdout(StringIO()):
        return measure_shifts(dataset, samples, source, encodings, executor=Inline(), progress=PlainProgress())


@pytest.fixture
def plan(dataset: Path) -> dict[str, Any]:
    """The first episode of the painted dataset's train, as provenance.json has it."""
    document = json.loads((dataset / "provenance.json").read_text())
    found: dict[str, Any] = next(episode for episode in document["episodes"] if episode["split"] == "train")
    return found


@pytest.fixture
def sampled(dataset: Path, recorded: Path, painted: ModuleType, plan: dict[str, Any]) -> Callable[..., ShiftCurves]:
    """`sampled(source)`: the curves of that episode as a source sees it, the whole of it looked at."""

    def run(source: Any = None) -> ShiftCurves:
        chosen = source or painted.Painted(recorded)
        made: EpisodePlan = chosen.plan(EpisodeKey(plan["campaign"], plan["run"]))
        sample = Sample("train", plan["episode_index"], made, 5, 60)
        encodings = {**painted.ENCODINGS, **dict.fromkeys(painted.DEPTH, painted.DepthEncoding(24, 40, 30, 5))}
        return measured(dataset, chosen, encodings, [sample])

    return run


def refilm(painted: ModuleType, dataset: Path, camera: str, late: int) -> None:
    """The first train episode's clip again, each row showing what `late` rows before it showed."""
    clip = dataset / f"media/{camera}/train/ep_0000.mp4"
    shown = [as_rgb(picture) for picture in pictures(clip)]
    clip.unlink()
    rows = np.clip(np.arange(len(shown)) - late, 0, len(shown) - 1)
    painted.film(clip, (shown[row] for row in rows), painted.ENCODINGS[camera])


def test_a_build_holds_itself_against_its_raw_files_and_finds_itself_aligned(built: Path) -> None:
    document = json.loads((built / SHIFT_CURVES).read_text())
    assert (document["shifts"], document["seconds"]) == (SHIFTS, SECONDS)
    curves = {(c["split"], c["camera"]): c for c in document["curves"]}
    assert set(curves) == {(split, camera) for split in ("train", "val") for camera in ("front", "side")}
    for curve in curves.values():
        assert curve["verdict"] == "aligned"
        assert curve["rows"] == SECONDS * 30
        assert SHIFTS[int(np.argmin(curve["mean_square"]))] == 0
        assert len(curve["others"]) == 1
    assert {(o["split"], o["camera"], o["reason"]) for o in document["left_out"]} == {
        (split, camera, "depth") for split in ("train", "val") for camera in ("front_depth", "side_depth")
    }


def test_it_looks_at_the_longest_episode_of_each_split_where_its_state_moves(built: Path) -> None:
    document = json.loads((built / SHIFT_CURVES).read_text())
    lengths: dict[str, list[int]] = {}
    for episode in json.loads((built / "provenance.json").read_text())["episodes"]:
        lengths.setdefault(episode["split"], []).append(episode["frames"])
    for curve in document["curves"]:
        assert curve["episode"] == int(np.argmax(lengths[curve["split"]]))
        assert curve["first_row"] == 5  # a painted run moves in its first 40 rows


def test_values_are_mean_squares_of_grey_fields_to_four_digits(
    built: Path, recorded: Path, painted: ModuleType
) -> None:
    document = json.loads((built / SHIFT_CURVES).read_text())
    curve = next(c for c in document["curves"] if (c["split"], c["camera"]) == ("val", "front"))
    told = next(e for e in json.loads((built / "provenance.json").read_text())["episodes"] if e["split"] == "val")

    def fields(path: Path) -> list[npt.NDArray[np.float64]]:  # of 48 x 64 pixels, 2 x 2 to a field
        grey = (np.asarray(picture.to_ndarray(format="gray"), np.float64) for picture in pictures(path))
        return [np.asarray(np.floor(each.reshape(24, 2, 32, 2).mean(axis=(1, 3)) + 0.5)) for each in grey]

    raw = fields(recorded / told["campaign"] / told["run"] / "front.mp4")
    clip = fields(built / "media/front/val/ep_0000.mp4")
    rows = range(curve["first_row"], curve["first_row"] + curve["rows"])
    expected = [float(np.mean([(clip[r] - raw[r + s]) ** 2 for r in rows])) for s in SHIFTS]
    assert curve["mean_square"] == pytest.approx(expected, rel=0.01, abs=0.05)
    assert all(value == float(f"{value:.4g}") for value in (*curve["mean_square"], *curve["others"].values()))


@pytest.mark.parametrize("late", [1, 2, -2, 5])
def test_a_video_that_was_encoded_some_rows_late_is_shifted(
    dataset: Path, painted: ModuleType, sampled: Callable[..., ShiftCurves], late: int
) -> None:
    refilm(painted, dataset, "front", late)
    found = {curve.camera: curve for curve in sampled().curves}
    assert (found["front"].verdict, found["side"].verdict) == ("shifted", "aligned")
    assert SHIFTS[int(np.argmin(found["front"].mean_square))] == -late
    (warning,) = [text for text in warnings_of(sampled()) if "rows away" in text]
    assert f"train, episode 0, front: pictures are most like the raw ones {-late:+d} rows away" in warning


@pytest.mark.parametrize("off", [2, -2])
def test_a_clip_made_by_another_frame_plan_than_the_one_it_is_held_against_is_shifted(
    painted: ModuleType, recorded: Path, sampled: Callable[..., ShiftCurves], off: int
) -> None:
    class Off(painted.Painted):  # type: ignore[name-defined, misc]  # a class of a module loaded by its path
        def frame_plan(self, plan: EpisodePlan, camera: str) -> Any:
            right = super().frame_plan(plan, camera)
            return replace(right, frame_index=np.clip(right.frame_index + off, 0, right.pictures - 1))

    found = sampled(Off(recorded))
    assert {curve.verdict for curve in found.curves} == {"shifted"}
    assert {SHIFTS[int(np.argmin(curve.mean_square))] for curve in found.curves} == {-off}


def test_cameras_that_were_exchanged_are_warned_of(dataset: Path, sampled: Callable[..., ShiftCurves]) -> None:
    assert not list(warnings_of(sampled()))
    front, side = (dataset / f"media/{camera}/train/ep_0000.mp4" for camera in ("front", "side"))
    front.unlink()
    shutil.copyfile(side, front)
    assert any("front: pictures are nearly as like the raw ones of side" in text for text in warnings_of(sampled()))


def test_cameras_that_were_exchanged_without_loss_are_warned_of_too() -> None:
    squares = tuple(float(abs(shift)) for shift in SHIFTS)
    curve = SampledCurve("train", 0, "front", 5, 60, squares, {"side": 0.0, "top": 3.0}, "aligned")
    found = ShiftCurves(tuple(SHIFTS), SECONDS, (curve,), ())
    assert list(warnings_of(found)) == ["train, episode 0, front: pictures are nearly as like the raw ones of side"]


def test_a_raw_file_that_is_gone_by_now_costs_its_curve_and_no_build(
    painted: ModuleType, recorded: Path, sampled: Callable[..., ShiftCurves], plan: dict[str, Any], tmp_path: Path
) -> None:
    tree = Path(shutil.copytree(recorded, tmp_path / "tree"))
    source = painted.Painted(tree)

    class Gone(painted.Painted):  # type: ignore[name-defined, misc]  # a class of a module loaded by its path
        def frame_plan(self, plan: EpisodePlan, camera: str) -> Any:
            self.path(plan.key, "front.mp4").unlink(missing_ok=True)
            return super().frame_plan(plan, camera)

    found = sampled(Gone(source.tree))
    assert [curve.camera for curve in found.curves] == ["side"]
    (left,) = [each for each in found.left_out if each.camera == "front"]
    assert left.reason == "its raw file could not be read again"  # without a path: the bytes are the dataset's


def test_bytes_do_not_depend_on_workers_and_a_real_dataset_is_aligned(sample_dataset: Path, sample_tree: Path) -> None:
    document = json.loads((sample_dataset / "provenance.json").read_text())
    source = BlockStack(sample_tree, rate_hz=30)
    told = json.loads((sample_dataset / SHIFT_CURVES).read_text())
    assert {curve["verdict"] for curve in told["curves"]} == {"aligned"}
    chosen = [episode for episode in document["episodes"] if episode["split"] == "eval_purple_stack"]
    curve = next(each for each in told["curves"] if each["split"] == "eval_purple_stack")
    made = source.plan(EpisodeKey(chosen[0]["campaign"], chosen[0]["run"]))
    assert isinstance(made, EpisodePlan)
    sample = Sample("eval_purple_stack", 0, made, curve["first_row"], curve["rows"])
    encodings = dict.fromkeys(source.cameras, Encoding(144, 192, 30, crf=15, preset="veryfast", gop=5))

    def bytes_with(executor: Executor) -> bytes:
        with redirect_stdout(StringIO()):
            return msgspec.json.encode(
                measure_shifts(
                    sample_dataset, [sample], source, encodings, executor=executor, progress=PlainProgress()
                ).curves
            )

    with local_processes(2) as two:
        assert bytes_with(two) == bytes_with(Inline())
    again = msgspec.json.decode(bytes_with(Inline()))
    assert again == [each for each in told["curves"] if each["split"] == "eval_purple_stack"]


def stretches(length: int, rows: int, rate_hz: int) -> Iterator[int]:
    first = 5
    while first + rows <= length - 5:
        yield first
        first += rate_hz


@pytest.mark.parametrize("length", [1, 9, 10, 11, 12, 40, 70, 71, 400])
@pytest.mark.parametrize("moves", ["nothing", "late", "no state", "not a number"])
def test_a_sample_lies_where_the_state_gets_farthest_and_has_a_neighbour_at_every_shift(
    length: int, moves: str
) -> None:
    state = np.zeros((length, 3), np.float32)
    state[:, 2] = 7
    if moves != "nothing":
        at = np.arange(length)
        state[:, 0] = np.clip(at - 0.7 * length, 0, 0.15 * length)
        state[:, 1] = 1e-9 * (at % 2)  # noise, alike everywhere
    if moves == "not a number":
        state[:, 1] = np.nan
    first, rows = liveliest(None if moves == "no state" else state, length, 30)
    assert rows == min(60, max(0, length - 10))
    if rows:
        assert 5 <= first <= first + rows <= length - 5
    if rows and moves in ("nothing", "no state"):
        assert abs((first - 5) - (length - 5 - first - rows)) <= 1
    if rows and moves in ("late", "not a number"):
        reached = {at: float(np.ptp(state[at : at + rows, 0])) for at in stretches(length, rows, 30)}
        assert reached[first] == max(reached.values())


def change(dataset: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = dataset / SHIFT_CURVES
    document = json.loads(path.read_text())
    edit(document)
    path.unlink()
    path.write_text(json.dumps(document))


def first(document: dict[str, Any]) -> dict[str, Any]:
    curve: dict[str, Any] = document["curves"][0]
    return curve


def leave_out(document: dict[str, Any], reason: str, camera: str = "front") -> None:
    """Take away train's curve of front, for a reason."""
    document["curves"] = [c for c in document["curves"] if (c["split"], c["camera"]) != ("train", "front")]
    document["left_out"].append({"split": "train", "camera": camera, "reason": reason})


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda d: leave_out(d, "for reasons"), "front left out: for reasons"),
        (lambda d: leave_out(d, "depth"), "front left out: depth"),
        (lambda d: leave_out(d, "copied, the source's own pictures"), "front left out: copied"),
        (lambda d: leave_out(d, "too short to be shifted"), "front left out: too short"),
        (lambda d: leave_out(d, "depth", "top"), "cameras top"),
        (lambda d: leave_out(d, "depth", "side"), "twice of side"),
        (lambda d: d["left_out"][0].update(split="test"), "no such split"),
        (lambda d: d["left_out"][0].update(reason="its raw file could not be read again"), "depth left out: its raw"),
        (lambda d: d.update(shifts=[0]), "shifts [0]"),
        (lambda d: d["curves"].pop(), "nothing of side"),
        (lambda d: d["left_out"].clear(), "nothing of front_depth"),
        (lambda d: first(d).update(split="test"), "no such split"),
        (lambda d: first(d).update(episode=99), "no such episode"),
        (lambda d: first(d).update(first_row=1), "rows 1 to 61"),
        (lambda d: first(d).update(rows=10**6), "rows 5 to 1000005"),
        (lambda d: first(d).update(rows=0), "rows 5 to 5"),
        (lambda d: d["curves"].append(first(d)), "twice of front"),
        (lambda d: first(d).update(others={"<b>": 1.0}), "cameras <b>"),
        (lambda d: first(d).update(mean_square=[1.0]), "no mean squares"),
        (lambda d: first(d)["mean_square"].__setitem__(3, -1.0), "no mean squares"),
        (lambda d: first(d).update(verdict="shifted"), "verdict shifted"),
        (lambda d: first(d).update(mean_square="many"), "malformed"),
    ],
)
def test_verify_refuses_curves_that_cannot_be_of_the_dataset(
    dataset: Path, edit: Callable[[dict[str, Any]], object], found: str
) -> None:
    change(dataset, edit)
    faults: list[Fault] = verify_structure(dataset)
    assert faults
    assert any(found in fault.found for fault in faults)
    assert {fault.path for fault in faults} <= {SHIFT_CURVES}


def test_verify_accepts_that_a_raw_file_could_not_be_read_again(dataset: Path) -> None:
    change(dataset, lambda document: leave_out(document, "its raw file could not be read again"))
    assert not verify_structure(dataset)


def test_verify_accepts_honest_curves_and_tells_of_those_that_are_not_aligned(dataset: Path) -> None:
    assert not verify_structure(dataset)
    values = [9.0, 7, 5, 3, 2, 1.5, 1, 3, 5, 7, 9]
    change(dataset, lambda document: first(document).update(mean_square=values, verdict="shifted"))
    report = structure_report(dataset, Inline())
    assert report.sound
    assert [s.reason for s in report.skipped if s.check == "shift curves"] == [
        f"episode {report.curves[0].episode}, front: shifted when it was built"
    ]


def test_a_report_of_structure_tells_stored_curves_and_does_not_depend_on_views(dataset: Path, tmp_path: Path) -> None:
    report = structure_report(dataset, Inline())
    assert report.checks["shift curves"] == len(report.curves) == 4
    assert (report.seconds, report.pictures, report.findings) == (0, 0, ())
    assert report.rows == sum(e["frames"] for e in json.loads((dataset / "provenance.json").read_text())["episodes"])
    (dataset / "progress.log").unlink()
    (dataset / "report.html").write_text("<p>")
    (dataset / "README.md").write_text("#")
    moved = tmp_path / "elsewhere" / "dataset"
    moved.parent.mkdir()
    dataset.rename(moved)
    assert structure_report(moved, Inline()) == report


def test_datasets_without_curves_are_still_datasets(dataset: Path, bare: Path) -> None:
    (dataset / SHIFT_CURVES).unlink()
    report = structure_report(dataset, Inline())
    assert (report.curves, report.findings) == ((), ())
    assert "no measured/shift_curves.json" in {skipped.reason for skipped in report.skipped}
    assert structure_report(bare, Inline()).curves == ()
