"""What a recorder does not take in silence: calls out of its context, samples left out or cut off, other cameras."""

from __future__ import annotations

import inspect
import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled.check import check
from quickdraw.formats.pooled.force_matrix import SPECS
from quickdraw.formats.pooled.recording.matrix_columns import MatrixColumns
from quickdraw.formats.pooled.rows import EpisodeRow
from quickdraw.formats.pooled.writer import Recorder, Slot

LEFT = "observation.gripper_left_force_matrix"
FRAME_NS, HW0, T0 = 33_333_333, 5 * 10**12, 1.79e9
DEPTH = Slot("d", 32, 32, depth=True)


def made(root: Path | str, *slots: Slot, **options: Any) -> Recorder:
    return Recorder(root, "pick", slots=slots, app_version="1", **options)


def frame(recorder: Recorder, k: int = 0, *, hardware_ns: int | None = None, depth: bool = False) -> None:
    pictures: dict[str, Any] = {
        slot.name: np.zeros((slot.height_px, slot.width_px, 3), np.uint8) for slot in recorder._slots if not slot.depth
    }
    if depth:
        pictures["d"] = np.full((32, 32), 700, np.uint16)
    stamp = HW0 + k * FRAME_NS if hardware_ns is None else hardware_ns
    recorder.add_frame(pictures, hardware_ns=stamp, wall_time=T0 + k / 30)


def ended(recorder: Recorder, frames: int = 1) -> EpisodeRow:
    """An episode that is begun already."""
    for k in range(frames):
        frame(recorder, k)
    return recorder.end()


def told(row: EpisodeRow, ending: str) -> dict[str, int]:
    return {key: value for key, value in row.drop_stats.items() if key.endswith(ending)}


def calls(recorder: Recorder) -> list[Any]:
    return [
        recorder.begin,
        lambda: recorder.begin(1, again=True),
        lambda: frame(recorder),
        lambda: recorder.add_dropped("cam", 1),
        recorder.end,
        recorder.abort,
    ]


def refuse_outside(recorder: Recorder) -> None:
    for call in calls(recorder):
        with pytest.raises(RuntimeError, match=r"enter the recorder first: with Recorder\(\.\.\.\) as recorder"):
            call()


def test_a_recorder_that_holds_no_task_records_nothing_and_leaves_the_one_that_does_alone(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        recorder.begin()
        frame(recorder, 0)
        outside = made(tmp_path)
        refuse_outside(outside)
        with pytest.raises(Refused, match="at work"), outside:
            pass
        refuse_outside(outside)
        frame(recorder, 1)
        assert recorder.end().length == 2
        assert recorder.begin() == 2
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refuse_outside(recorder)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with recorder:
        assert recorder.begin() == 2
        assert ended(recorder).number == 2


def test_a_recorder_whose_episode_was_being_published_when_it_left_goes_on_once_entered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, real = made(tmp_path), Path.replace

    def no_info(self: Path, target: Path) -> Path:
        if target.name == "info.json":
            raise OSError(28, "No space left on device")
        return real(self, target)

    def leave() -> None:
        with recorder:
            recorder.begin()
            frame(recorder)
            monkeypatch.setattr(Path, "replace", no_info)
            recorder.end()

    with pytest.raises(OSError, match="No space"):
        leave()
    monkeypatch.undo()
    refuse_outside(recorder)
    with recorder:
        assert recorder.begin() == 2
        assert ended(recorder).number == 2


def test_samples_left_out_are_told_by_column_with_their_count(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        recorder.begin()
        for _ in range(144):
            recorder.add_glove("right_glove", np.ones(255))
        recorder.add_trajectory(np.full((2, 8), np.nan), [1, 2])
        recorder.add_force_matrix("left", np.full((250, 250, 3), np.nan), 5)
        recorder.add_imu([HW0, 0, HW0], [[0.0] * 6, [0.0] * 6, [np.inf] * 6])
        row = ended(recorder)
        assert recorder.notes == (
            f"{LEFT}: 1 sample of a wrong shape or not finite, left out",
            "observation.imu: 2 samples of a wrong shape, not finite or without a stamp, left out",
            "observation.right_glove: 144 samples of a wrong shape or not finite, left out",
            "observation.slam_trajectory: 2 samples of a wrong shape or not finite, left out",
        )
        assert told(row, "glove_rejected_count") == {"observation.right_glove_rejected_count": 144}
        assert row.dropped_frames == 0
        recorder.begin()
        recorder.add_glove("right_glove", np.ones(256))
        ended(recorder)
        assert recorder.notes == ()


def test_inertial_samples_of_another_clock_are_asked_about_and_those_around_a_recording_are_only_told(
    tmp_path: Path,
) -> None:
    with made(tmp_path) as recorder:
        recorder.begin()
        recorder.add_imu([HW0 - 10 * FRAME_NS, HW0, HW0 + 1, HW0 + 2, HW0 + 2 * FRAME_NS], np.ones((5, 6)))
        row = ended(recorder, 2)
        assert recorder.notes == (
            "observation.imu: 2 samples of 5 without a row, left out (1 before the first, 1 after the last)",
        )
        assert told(row, "_count") == {"gap_count": 0, "imu_before_count": 1, "imu_after_count": 1}
        for shift_ns, why in ((-(10**12), "40 before the first"), (10**12, "40 after the last")):
            recorder.begin()
            recorder.add_imu(HW0 + shift_ns + np.arange(40), np.ones((40, 6)))
            ended(recorder, 2)
            expected = f"observation.imu: 40 samples of 40 without a row, left out ({why}); is it the clock of"
            assert recorder.notes == (f"{expected} hardware_ns?",)
        recorder.begin()
        recorder.add_imu([HW0], np.ones((1, 6)))
        for _ in range(40):
            frame(recorder)
        recorder.add_imu([HW0 - 5, HW0 - 4], np.ones((2, 6)))
        recorder.end()
        (note,) = recorder.notes
        assert "2 samples of 3 without a row, left out (2 later than a second after theirs); is it" in note


def matrix(peak_mn: float) -> Any:
    values = np.zeros((250, 250, 3), np.float32)
    values[100, 7, 1] = peak_mn
    return values


def test_matrices_beyond_the_range_of_their_spec_are_counted_and_told(tmp_path: Path) -> None:
    with made(tmp_path) as recorder:
        recorder.begin()
        for peak in (327.67, -327.67, 327.7, -400.0, 1e38):
            recorder.add_force_matrix("left", matrix(peak), 5)
        recorder.add_force_matrix("right", matrix(4000), 5, spec="int16x10")
        recorder.add_force_matrix("left", matrix(1e38), 5, gripper=2, spec="float32")
        row = ended(recorder)
        right = LEFT.replace("left", "right")
        assert told(row, "_saturated_count") == {f"{LEFT}_saturated_count": 3, f"{right}_saturated_count": 1}
        assert recorder.notes == (
            f"{LEFT}: 3 matrices beyond +-327.67 mN, where int16x100 cuts off; another force_spec reaches further",
            f"{right}: 1 matrix beyond +-3276.7 mN, where int16x10 cuts off; another force_spec reaches further",
        )
        assert row.dropped_frames == 0
        recorder.begin()
        recorder.add_force_matrix("left", matrix(327.67), 5)
        assert not told(ended(recorder), "_saturated_count")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_matrix_is_counted_exactly_where_a_value_comes_back_as_another(spec: str, sign: int) -> None:
    """Witness: the stored number, the peak being the first value of its row."""
    scale = SPECS[spec].scale
    for steps in (32766.0, 32767.0, 32767.25, 32767.75, 32768.0, 32769.0, 1e6):
        columns, values = MatrixColumns(spec), np.zeros((250, 250, 3), np.float32)
        values[3, 0, 0] = sign * steps / scale
        flat = columns.encoded(LEFT, values)
        assert flat is not None
        whole = np.trunc(values[3, 0, 0]) if scale == 1 else np.rint(values[3, 0, 0] * np.float32(scale))
        cut = spec != "float32" and flat[3 * 750] != whole
        assert dict(columns.counts) == ({f"{LEFT}_saturated_count": 1} if cut else {}), steps


def test_the_documentation_of_the_specs_has_their_range_and_step() -> None:
    for text in (inspect.getdoc(Recorder), inspect.getdoc(Recorder.add_force_matrix)):
        assert text is not None
        lines = {line[2:].split(":")[0].split(",")[0]: line for line in text.splitlines() if line.startswith("- ")}
        for name, spec in SPECS.items():
            expected = f"+-{32767 / spec.scale:g} mN in steps of {1 / spec.scale:g} mN"
            assert ("every value" if name == "float32" else expected) in lines[name]
    assert "force_spec" in (inspect.getdoc(Recorder.add_force_matrix) or "")


def test_pictures_of_depth_that_are_repeated_are_counted_and_the_ones_before_the_first_are_not(tmp_path: Path) -> None:
    with made(tmp_path, DEPTH) as recorder:
        recorder.begin()
        for k in range(7):
            frame(recorder, k, depth=k in (2, 5))
        row = recorder.end()
        assert told(row, "_repeated_count") == {"d_repeated_count": 3}
        assert row.dropped_frames == 0
        recorder.begin()
        frame(recorder, 0, depth=True)
        assert not told(recorder.end(), "_repeated_count")
    assert "<slot>_repeated_count" in (inspect.getdoc(Recorder.add_frame) or "")


def test_a_size_or_a_rate_other_than_the_tasks_is_told_once(tmp_path: Path) -> None:
    with made(tmp_path, Slot("head_rgb", 120, 160), Slot("side", 32, 32, fps=15.0)) as recorder:
        for _ in range(2):
            recorder.begin()
            ended(recorder)
            assert recorder.notes == ()
    with made(tmp_path, Slot("head_rgb", 240, 320), Slot("side", 32, 32, fps=15.0), fps=25.0) as recorder:
        recorder.begin()
        ended(recorder)
        assert recorder.notes == (
            "fps: 25 where earlier episodes had 30",
            "head_rgb: 240x320 where earlier episodes had 120x160",
        )
        recorder.begin()
        ended(recorder)
        assert recorder.notes == ()
    with made(tmp_path, Slot("side", 32, 32), Slot("new", 32, 32), fps=25.0) as recorder:
        recorder.begin()
        ended(recorder)
        assert recorder.notes == ("side: 25 fps where earlier episodes had 15",)


def test_a_camera_whose_description_is_none_does_not_end_a_recording(tmp_path: Path) -> None:
    with made(tmp_path, Slot("a", 32, 32), Slot("b", 32, 32)) as recorder:
        recorder.begin()
        ended(recorder)
        path = recorder.root / "meta/info.json"
        document = json.loads(path.read_text())
        document["cameras"] = {"a": None, "b": {"height": None, "fps": "fast"}}
        path.write_text(json.dumps(document))
        recorder.begin()
        ended(recorder)
        assert recorder.notes == ("b: 30 fps where earlier episodes had fast",)


def test_the_folder_of_recordings_may_be_text(tmp_path: Path) -> None:
    with made(str(tmp_path / "new")) as recorder:
        recorder.begin()
        ended(recorder)
    assert recorder.root == tmp_path / "new/pick"
    assert (tmp_path / "new/pick/meta/info.json").is_file()


def test_the_example_of_the_documentation_records_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = inspect.getdoc(Recorder)
    assert text is not None
    example = "\n".join(line for line in text.splitlines() if line.startswith("    ") or not line)
    monkeypatch.chdir(tmp_path)
    exec(compile(textwrap.dedent(example), "example", "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("1 3 {'gap_count': ")  # of a busy machine, not always 0
    assert said.endswith("}\n")  # and no note
    (task,) = (tmp_path / "recordings").iterdir()
    (rows,) = [pq.read_table(path) for path in task.rglob("data/**/*.parquet")]
    found = rows.to_pylist()
    assert len(found[0]["imu_ts_ns"]) >= 2
    assert sum(len(row["imu_ts_ns"]) for row in found) == 6
    assert [len(row[LEFT]) for row in found] == [187_500] * 3
    assert [row["observation.gripper_left_force"][2] for row in found] == [1500.0] * 3
    assert {path.parent.name + path.suffix for path in task.rglob("videos/**/episode-*")} == {
        "head_rgb.mp4",
        "head_depth.mkv",
    }
    assert not [each for each in check(task, deep=True).findings if each.severity == "error"]
