"""Matrices of an episode that is recorded anew while they are read: never one recording by the scale of another."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quickdraw.errors import Refused
from quickdraw.formats.pooled import journal, matrices, reader
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.reader import Episode, Task
from quickdraw.formats.pooled.writer import Recorder

LEFT = "observation.gripper_left_force_matrix"
# Of each spec one value only, so that a value by another's scale is none of these.
OF_SPEC = {"int16x10": 3.0, "int16x100": 7.0, "int16x1000": 11.0}


def record(recorder: Recorder, spec: str, rows: int = 3) -> None:
    recorder.begin(1, again=True)
    for k in range(rows):
        recorder.add_force_matrix("left", np.full((250, 250, 3), OF_SPEC[spec]), k + 1, spec=spec)
        recorder.add_frame({}, hardware_ns=k + 1, wall_time=time.time())
    recorder.end()


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with Recorder(tmp_path, "umi", slots=[], app_version="1") as made:
        record(made, "int16x10")
        yield made


def episode(recorder: Recorder) -> Episode:
    return Task.open(recorder.root).episode(1)


def values(found: Episode) -> set[float]:
    return {float(value) for sample in found.matrices(LEFT) for value in np.unique(sample.mn)}


def everything(found: Episode) -> tuple[Any, ...]:
    held = {float(each.max()) for each in found.held_matrices(LEFT) if each is not None}
    force = {round(float(value) / 62_500, 3) for value in np.unique(found.force("left").mn)}
    return values(found), held, force


def between_row_and_data(monkeypatch: pytest.MonkeyPatch, recorder: Recorder, act: Any) -> None:
    """Do `act` when the new row is in its place and the new data is not."""
    row, replace = Layout(recorder.root).row(1), Path.replace

    def then(path: Path, place: Path) -> Any:
        done = replace(path, place)
        if Path(place) == row:
            act()
        return done

    monkeypatch.setattr(Path, "replace", then)


def test_a_reader_waits_for_the_data_where_only_the_row_is_new(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, started, seen = episode(recorder), threading.Event(), list[Any]()
    monkeypatch.setattr(reader, "PATIENCE_S", 60.0)

    def read() -> None:
        started.set()
        seen.extend((everything(found), found.scale(LEFT)))

    thread = threading.Thread(target=read)

    def meet() -> None:
        thread.start()
        assert started.wait(30)
        time.sleep(0.2)
        assert not seen

    with monkeypatch.context() as meeting:
        between_row_and_data(meeting, recorder, meet)
        record(recorder, "int16x1000")
    thread.join(60)
    assert seen == [({11.0}, {11.0}, {11.0}), (1000, "row")]


def test_a_recorder_that_was_killed_there_is_told_of_and_recovering_ends_it(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = episode(recorder)
    monkeypatch.setattr(reader, "PATIENCE_S", 0.05)
    with monkeypatch.context() as killing:
        between_row_and_data(killing, recorder, lambda: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            record(recorder, "int16x1000")
    for read in (values, everything, lambda each: each.scale(LEFT)):
        with pytest.raises(Refused, match=f"{LEFT}: found half replaced, expected one recording"):
            read(found)
    assert found.data.rows == 3
    journal.recover(Layout(recorder.root))
    assert everything(found) == ({11.0}, {11.0}, {11.0})
    recorder._take = None


def test_a_recording_that_comes_between_the_row_and_the_data_is_read_whole(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, opened, left = episode(recorder), matrices.opened, ["int16x100", "int16x1000"]

    def late(*given: Any) -> Any:
        if left:
            record(recorder, left.pop(0))
        return opened(*given)

    monkeypatch.setattr(matrices, "opened", late)
    assert values(found) == {11.0}
    assert not left


def test_what_is_being_read_stays_of_the_recording_it_was_begun_with(recorder: Recorder) -> None:
    record(recorder, "int16x10", rows=40)
    reading = episode(recorder).matrices(LEFT)
    first = next(reading)
    record(recorder, "int16x1000")
    rest = list(reading)
    assert {float(np.unique(each.mn).item()) for each in (first, *rest)} == {3.0}
    assert len(rest) == 39


def test_a_note_that_is_none_of_ours_or_of_another_episode_holds_no_reader_up(recorder: Recorder) -> None:
    note = journal.note(Layout(recorder.root))
    for content in (b"{", b"[]", b'{"renames": [["data/chunk-000/.episode-007.parquet.tmp", '
                    b'"data/chunk-000/episode-007.parquet"]], "removals": []}'):  # fmt: skip
        note.write_bytes(content)
        assert values(episode(recorder)) == {3.0}
    note.unlink()


def test_readers_of_an_episode_that_is_recorded_again_and_again_never_see_a_foreign_scale(recorder: Recorder) -> None:
    stop, found, seen = threading.Event(), episode(recorder), Counter[tuple[float, ...]]()

    def read() -> None:
        while not stop.is_set():
            seen[tuple(values(found))] += 1

    threads = [threading.Thread(target=read) for _ in range(2)]
    for each in threads:
        each.start()
    until, recorded = time.monotonic() + 3.0, 0
    while time.monotonic() < until:
        record(recorder, list(OF_SPEC)[recorded % 3])
        recorded += 1
    stop.set()
    for each in threads:
        each.join()
    print(f"{recorded} recordings, read meanwhile: {dict(seen)}")
    assert recorded > 3
    assert set(seen) <= {(value,) for value in OF_SPEC.values()}
    assert sum(seen.values()) > 3
