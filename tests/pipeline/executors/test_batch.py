"""What a job does, and the file it leaves: nothing is lost or done twice, wherever it was killed."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quickdraw.errors import Fault, NoWorkers, WorkerDied
from quickdraw.pipeline.executors.batch import TRIES, Batch, Clock, outcome_in, write_tasks
from quickdraw.pipeline.executors.flow import Failed
from quickdraw.pipeline.executors.frames import Appending, Following, Frame, Kind, frames_in
from quickdraw.pipeline.executors.local import LocalProcesses
from quickdraw.pipeline.executors.surroundings import surroundings

FRAMES = [
    Frame(Kind.STARTED, payload=b"node"),
    Frame(Kind.BEGUN, 7),
    Frame(Kind.DONE, 7, bytes(range(256))),
    Frame(Kind.ENDED),
]
WHOLE = b"".join(frame.packed() for frame in FRAMES)


def test_a_file_cut_anywhere_gives_its_whole_frames_and_those_appended_later() -> None:
    ends = [len(b"".join(frame.packed() for frame in FRAMES[: n + 1])) for n in range(len(FRAMES))]
    for cut in range(len(WHOLE)):
        found, end = frames_in(WHOLE[:cut])
        assert found == FRAMES[: sum(e <= cut for e in ends)]
        assert end == max((e for e in ends if e <= cut), default=0)
        assert frames_in(WHOLE[:cut] + WHOLE)[0] == found + FRAMES


@pytest.mark.parametrize("damage", [b"\0", b"\xff"])
def test_a_frame_that_is_not_as_it_was_written_is_passed_over(damage: bytes) -> None:
    second = len(FRAMES[0].packed())
    for at in range(second, second + len(FRAMES[1].packed())):
        if WHOLE[at : at + 1] != damage:
            assert frames_in(WHOLE[:at] + damage + WHOLE[at + 1 :])[0] == [FRAMES[0], *FRAMES[2:]]


def test_a_growing_file_is_read_once_even_where_pages_arrive_late(tmp_path: Path) -> None:
    path = tmp_path / "x.results"
    path.touch()
    following, seen, hole = Following(path), list[Frame](), b"\0" * 100
    for size in range(0, len(WHOLE), 11):
        path.write_bytes(WHOLE[:size] + hole[: len(WHOLE) - size])
        seen += following.read()
    path.write_bytes(WHOLE)
    assert seen + following.read() == FRAMES
    assert following.read() == []


def test_a_job_whose_driver_is_gone_does_not_make_its_file_anew(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Appending(tmp_path / "x.results")


def batch_of(
    folder: Path, function: Callable[[Any], Any], tasks: Sequence[Any], *, cpus: int = 1, limit_s: float = 3600
) -> Batch:
    batch = Batch(str(folder / "x"), cpus, limit_s)
    write_tasks(batch.tasks, surroundings([]), function, [pickle.dumps(task) for task in tasks])
    batch.results.touch()
    return batch


def outcomes(batch: Batch) -> dict[int, Any]:
    frames = Following(batch.results).read()
    assert frames[0].kind is Kind.STARTED
    assert frames[-1].kind is Kind.ENDED
    done = [frame for frame in frames if frame.kind is Kind.DONE]
    assert len({frame.number for frame in done}) == len(done)
    return {frame.number: outcome_in(frame.payload) for frame in done}


def start(batch: Batch, before: Sequence[Frame], torn: bytes = b"") -> dict[int, Any]:
    """Outcomes of a job that was started before, and left these frames."""
    batch.results.write_bytes(b"".join(frame.packed() for frame in before) + torn)
    batch()
    return outcomes(batch)


def test_a_job_started_again_goes_on_with_what_has_no_result_and_passes_suspects_over(tmp_path: Path) -> None:
    batch = batch_of(tmp_path, abs, [-1, -2, -3, None, -5])
    left = [Frame(Kind.BEGUN, 4), Frame(Kind.LEFT, 4)] * 3
    killer = [Frame(Kind.BEGUN, 1)] * (TRIES - 1)
    before = [Frame(Kind.STARTED), Frame(Kind.BEGUN, 2), Frame(Kind.DONE, 0, pickle.dumps("of before")), *killer, *left]
    found = start(batch, before, torn=Frame(Kind.DONE, 2, pickle.dumps("torn")).packed()[:-1])
    assert (found[0], found[2], found[4]) == ("of before", 3, 5)
    assert list(found) == [0, 3, 4, 2]  # what was begun in vain comes last
    assert isinstance(found[3], Failed)
    assert isinstance(found[3].error, TypeError)
    assert "in __call__" in str(found[3].error.__cause__)


def test_a_task_alone_in_a_job_that_died_again_and_again_is_given_up(tmp_path: Path) -> None:
    killer = [Frame(Kind.STARTED), Frame(Kind.BEGUN)] * (TRIES - 1)
    assert start(batch_of(tmp_path, abs, [-2]), killer) == {0: 2}
    (tmp_path / "x.tasks").unlink()
    found = start(batch_of(tmp_path, abs, [-2]), [*killer, Frame(Kind.BEGUN)])[0]
    assert isinstance(found, Failed)
    assert isinstance(found.error, WorkerDied)
    assert str(found.error).startswith("-2: 3 jobs died at it")


def test_processes_that_die_as_they_start_are_no_fault_of_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of(tmp_path, abs, [-1, -2])
    monkeypatch.setattr(LocalProcesses, "submit", lambda *_: lost())
    with pytest.raises(NoWorkers):
        batch()
    kinds = [frame.kind for frame in Following(batch.results).read()]
    assert kinds == [Kind.STARTED, Kind.BEGUN, Kind.BEGUN, Kind.LEFT, Kind.LEFT]


@pytest.mark.parametrize("is_up", [False, True])
def test_a_job_that_leaves_says_whether_its_time_was_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_up: bool
) -> None:
    def told_to_leave(_pool: LocalProcesses, _function: object, tasks: Iterator[object]) -> Iterator[Any]:
        yield 0, b"outcome", float(next(tasks) is None)
        next(tasks)
        raise SystemExit(143)

    monkeypatch.setattr(LocalProcesses, "run", told_to_leave)
    monkeypatch.setattr(Clock, "is_up", is_up)
    batch = batch_of(tmp_path, abs, [-1, -2, -3])
    with pytest.raises(SystemExit):
        batch()
    frames = [(frame.kind, frame.number) for frame in Following(batch.results).read()]
    assert frames[-1] == (Kind.LATE if is_up else Kind.LEFT, 1)
    assert frames[1:-1] == [(Kind.BEGUN, 0), (Kind.DONE, 0), (Kind.BEGUN, 1)]


def lost() -> Future[Any]:
    future = Future[Any]()
    future.set_exception(BrokenProcessPool())
    return future


def test_a_job_begins_nothing_that_might_not_be_done_in_its_time(tmp_path: Path) -> None:
    now_s = time.monotonic()
    assert not Clock(3600, longest_s=1700, began_s=now_s).is_late
    assert Clock(3600, longest_s=1800, began_s=now_s).is_late
    assert Clock(3600, began_s=now_s - 3600 + 80).is_late
    assert not Clock(3600, began_s=now_s - 3600 + 120).is_late
    assert Clock(3600, began_s=now_s - 3600 + 140).is_up
    assert not Clock(3600, began_s=now_s - 3600 + 160).is_up
    assert not Clock(300, began_s=now_s - 140).is_up
    batch = batch_of(tmp_path, abs, [-1, -2], limit_s=0.0)
    batch()
    assert outcomes(batch) == {}


def test_a_node_with_another_package_says_so_and_does_not_look_at_tasks(tmp_path: Path) -> None:
    batch = batch_of(tmp_path, abs, [-1])
    other = replace(surroundings([]), python="cpython 3.99")
    batch.tasks.write_bytes(pickle.dumps(other) + b"what only that Python reads")
    batch()
    batch.tasks.write_bytes(pickle.dumps(surroundings([])) + b"cquickdraw.gone\nfunction\n.")
    batch()
    told = [pickle.loads(frame.payload) for frame in Following(batch.results).read() if frame.kind is Kind.UNFIT]
    (python,), (package,) = told
    assert isinstance(python, Fault)
    assert (python.where, python.field) == (f"node {os.uname().nodename}", "python")
    assert "No module named 'quickdraw.gone'" in str(package)


def session(leader: int) -> list[str]:
    """What processes of a session run."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            state, _, _, its = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its) == leader and state not in "ZX":
                found.append((entry / "cmdline").read_text())
    return found


def test_a_job_told_to_leave_ends_its_processes_and_blames_no_task(tmp_path: Path) -> None:
    batch = batch_of(tmp_path, time.sleep, [60, 60, 60], cpus=2)
    run = f"from quickdraw.pipeline.executors.batch import Batch; ({batch!r})()"
    with subprocess.Popen([sys.executable, "-c", run], start_new_session=True) as job:
        until = time.monotonic() + 60
        while Kind.BEGUN not in {frame.kind for frame in Following(batch.results).read()}:
            assert time.monotonic() < until
            time.sleep(0.02)
        job.send_signal(signal.SIGTERM)
        assert job.wait(60) == 128 + signal.SIGTERM
    frames = Following(batch.results).read()
    begun = {frame.number for frame in frames if frame.kind is Kind.BEGUN}
    assert begun <= {frame.number for frame in frames if frame.kind is Kind.LEFT}
    until = time.monotonic() + 10
    while left := session(job.pid):
        assert time.monotonic() < until, left
