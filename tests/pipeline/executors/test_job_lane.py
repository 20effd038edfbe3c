"""How tasks are dealt into jobs, and what is done where Slurm takes some only, or they end before they begin."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickdraw.errors import Fault, Refused, WorkerDied
from quickdraw.pipeline.executors import job_lane
from quickdraw.pipeline.executors.batch import Batch
from quickdraw.pipeline.executors.dealing import Item, deal, put_back
from quickdraw.pipeline.executors.desk import Job, Jobs
from quickdraw.pipeline.executors.flow import flow
from quickdraw.pipeline.executors.frames import Appending, Frame, Kind
from quickdraw.pipeline.executors.job_lane import JobLane
from quickdraw.pipeline.executors.local import LocalProcesses
from quickdraw.pipeline.executors.spool import Kept
from quickdraw.pipeline.executors.surroundings import Surroundings

ASKED = Jobs(
    cluster="local", partition=None, account=None, qos=None, constraint=None, jobs=2, cpus=1, memory_gb=None,
    minutes=60, tasks=2,
)  # fmt: skip


@dataclass
class Played:
    """A desk whose jobs are played by a test: `play` says what each appends; all are dead when they have."""

    folder: Path
    play: Sequence[Sequence[Frame] | None]
    here: int = 0
    asked: Jobs = ASKED
    played: int = 0

    @property
    def queue(self) -> Played:
        return self

    def alive(self) -> dict[str, str]:
        return {}

    def cancel(self, ids: Collection[str] = ()) -> None:
        pass

    def processes_here(self) -> LocalProcesses:
        raise AssertionError

    def submit(self, batches: Sequence[Batch]) -> list[Job]:
        """As many as are played; None plays a refusal of the rest."""
        jobs: list[Job] = []
        for batch in batches:
            frames = self.play[self.played]
            self.played += 1
            if frames is None:
                break
            results = Appending(batch.results)
            for frame in frames:
                results.add(frame)
            results.close()
            log = self.folder / f"{self.played}.log"
            log.write_text(f"said\nby {self.played}\n")
            paths = SimpleNamespace(stdout=log, result_pickle=self.folder / "none")
            jobs.append(SimpleNamespace(job_id=str(self.played), paths=paths))
        if not jobs:
            raise Refused([Fault("slurm", "sbatch", "too many", "fewer")])
        return jobs


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_lane, "SHORTEST_PAUSE_S", 0.0)
    monkeypatch.setattr(job_lane, "LONGEST_PAUSE_S", 0.0)
    monkeypatch.setattr(job_lane, "GATHER_S", 0.0)
    monkeypatch.setattr(job_lane, "AGAIN_S", 3600.0)
    monkeypatch.setitem(job_lane.LOOK_S, "local", 0.0)


def done(number: int) -> Frame:
    return Frame(Kind.DONE, number, pickle.dumps(f"done {number}"))


def results_of(desk: Played, tasks: int) -> list[str]:
    lane = JobLane[int, str](desk, str, Surroundings("", "", "", ()), pause_s=0.0)
    try:
        return list(flow(lane, range(tasks)))
    finally:
        lane.close()


def test_what_slurm_does_not_take_now_waits_for_a_job_to_end(tmp_path: Path) -> None:
    whole = [Frame(Kind.STARTED), done(0), done(1), Frame(Kind.ENDED)]
    desk = Played(tmp_path, [whole, None, whole[:2], whole[:2]])
    assert sorted(results_of(desk, 4)) == ["done 0", "done 0", "done 0", "done 1"]
    with pytest.raises(Refused, match="too many"):
        results_of(Played(tmp_path, [None]), 4)


def test_jobs_that_end_before_they_begin_anything_are_tried_again_but_not_for_ever(tmp_path: Path) -> None:
    assert results_of(Played(tmp_path, [[Frame(Kind.STARTED)], [], [done(0)]]), 1) == ["done 0"]
    with pytest.raises(Refused, match=r"job 3: start: found ended before its first task \(said by 3\)"):
        results_of(Played(tmp_path, [[], [Frame(Kind.STARTED), Frame(Kind.ENDED)], []]), 1)
    four_at_once = replace(ASKED, jobs=4, tasks=1)
    assert len(results_of(Played(tmp_path, [[]] * 4 + [[done(0)]] * 4, asked=four_at_once), 4)) == 4
    assert len(results_of(Played(tmp_path, [[done(0)], *[[]] * 7, [done(0)]], asked=four_at_once), 2)) == 2


def test_a_task_that_no_job_has_the_time_for_is_given_up_and_the_option_named(tmp_path: Path) -> None:
    late = [Frame(Kind.STARTED), Frame(Kind.BEGUN, 0), Frame(Kind.LATE, 0)]
    preempted = [Frame(Kind.STARTED), Frame(Kind.BEGUN, 0), Frame(Kind.LEFT, 0)]
    with pytest.raises(Refused, match=r"executor\.job_minutes: found 60, in which 3 jobs did not get 0 done"):
        results_of(Played(tmp_path, [late, preempted, late, late]), 1)


def test_what_was_begun_too_late_is_dealt_first() -> None:
    waiting = deque([Item(Kept(9, 1))])
    put_back(waiting, [Item(Kept(number, 1), late=late) for number, late in enumerate([0, 0, 1, 0, 2])])
    assert [item.kept.offset for item in waiting] == [4, 2, 0, 1, 3, 9]


def test_innocents_that_were_under_way_whenever_jobs_died_are_done(tmp_path: Path) -> None:
    """Nodes are lost under a job that is started again each time; only alone is a task given up."""
    lost = [Frame(Kind.STARTED), Frame(Kind.BEGUN, 0), Frame(Kind.BEGUN, 1)]
    one = replace(ASKED, jobs=1)
    assert results_of(Played(tmp_path, [lost * 3, [done(0)], [done(0)]], asked=one), 2) == ["done 0", "done 0"]
    with pytest.raises(WorkerDied, match="0: 3 jobs died at it"):
        results_of(Played(tmp_path, [lost * 2, lost[:2], [done(0)]], asked=one), 2)


def test_what_differs_on_several_nodes_is_told_at_once(tmp_path: Path) -> None:
    nodes = [[Frame(Kind.UNFIT, 0, pickle.dumps([Fault(f"node {n}", "av", "1", "2")]))] for n in range(2)]
    with pytest.raises(Refused) as caught:
        results_of(Played(tmp_path, nodes), 4)
    assert [fault.where for fault in caught.value.faults] == ["node 0", "node 1"]


def dealt(begun: Sequence[int], jobs: int, cpus: int, most: int) -> tuple[list[list[int]], int]:
    """Numbers of tasks in each job, and how many wait on."""
    waiting = deque(Item(Kept(number, 1), times) for number, times in enumerate(begun))
    return [[item.kept.offset for item in group] for group in deal(waiting, jobs, cpus, most)], len(waiting)


def test_tasks_are_dealt_evenly_and_those_that_are_suspect_alone() -> None:
    assert dealt([0] * 7, jobs=3, cpus=1, most=9) == ([[0, 3, 6], [1, 4], [2, 5]], 0)
    assert dealt([0] * 7, jobs=3, cpus=4, most=9) == ([[0, 2, 4, 6], [1, 3, 5]], 0)
    assert dealt([0] * 7, jobs=3, cpus=8, most=2) == ([[0, 3], [1, 4], [2, 5]], 1)
    assert dealt([0, 1, 2, 0], jobs=3, cpus=2, most=9) == ([[2], [0, 3], [1]], 0)
    assert dealt([2, 2, 2], jobs=2, cpus=1, most=9) == ([[0], [1]], 1)
    assert dealt([0, 2, 0], jobs=1, cpus=1, most=9) == ([[0]], 2)
