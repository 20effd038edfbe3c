"""Array jobs, on a stand-in for Slurm's commands: submitted through submitit, killed, preempted, orphaned."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quickdraw.errors import Refused, WorkerDied
from quickdraw.pipeline.executors import job_lane, queues
from quickdraw.pipeline.executors import slurm as slurm_module
from quickdraw.pipeline.executors.job_folder import end_orphans
from quickdraw.pipeline.executors.slurm import SlurmJobs, slurm_jobs
from quickdraw.pipeline.executors.surroundings import Surroundings, surroundings

SCRIPTS = Path(__file__).resolve().parent / "scripts"
STAND_IN = SCRIPTS / "stand_in_slurm.py"
DRIVER = SCRIPTS / "slurm_driver.py"


class Slurm:
    """The stand-in, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-I", "-S", STAND_IN, "install", folder], check=True)

    def running(self) -> list[str]:
        return sorted(state.name for state in (self.folder / "jobs").iterdir())

    def started(self) -> list[str]:
        return (self.folder / "started").read_text().split()

    def called(self, command: str) -> list[str]:
        lines = (self.folder / "called").read_text().splitlines()
        return [line for line in lines if line.startswith(command)]

    def kill(self, job: str, number: int, of: str = "") -> None:
        """Send a signal to all processes of a job, or to those with something in their command line."""
        session = json.loads((self.folder / "jobs" / job).read_text())["session"]
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    its = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                    if its == session and of in (entry / "cmdline").read_text():
                        os.kill(int(entry.name), number)
                except OSError:
                    continue


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    stand_in = Slurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{stand_in.folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{SCRIPTS}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setitem(job_lane.LOOK_S, "slurm", 0.5)
    monkeypatch.setattr(job_lane, "GATHER_S", 0.5)
    return stand_in


@pytest.fixture
def todo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """job_tasks.py, which jobs import."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("job_tasks")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where tasks leave traces."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def jobs_in(folder: Path, **asked: Any) -> AbstractContextManager[SlurmJobs]:
    plain: dict[str, Any] = {
        "cluster": "slurm", "partition": None, "account": None, "qos": None, "constraint": None, "jobs": 1,
        "job_cpus": 1, "job_memory_gb": None, "job_minutes": 60, "job_tasks": 100, "here": 0, "workers": 1,
    }  # fmt: skip
    return slurm_jobs(folder=folder / ".jobs", **plain | asked)


def tasks(place: Path, numbers: Sequence[int]) -> list[tuple[Path, int]]:
    return [(place, number) for number in numbers]


def drain(results: Iterator[int], seen: list[int]) -> None:
    """Keep what comes, until an exception."""
    for result in results:
        seen.append(result)


def begun(place: Path) -> dict[int, int]:
    """How many times each task was."""
    notes = {int(note.name.partition("-")[2]): note for note in place.glob("begun-*")}
    return {number: len(notes[number].read_text().splitlines()) for number in sorted(notes)}


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_job_killed_and_one_that_is_preempted_go_on_with_what_has_no_result(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    with jobs_in(tmp_path) as executor:
        executor.refuse_unseen(lock)
        assert not (tmp_path / ".jobs").exists()  # before there is a job
        results = executor.run(todo.gated, tasks(place, [0, 1, 0, 2]))
        assert next(results) == 0
        wait_until((place / "begun-1").exists)
        slurm.kill("1", signal.SIGUSR2, of="submitit")  # handed on while the job still runs; then it is preempted
        wait_until(lambda: begun(place)[1] == 2)
        assert slurm.started() == ["1", "1"]
        (place / "open-1").touch()
        assert next(results) == 1
        assert next(results) == 0
        wait_until((place / "begun-2").exists)
        slurm.kill("1", signal.SIGKILL)
        (place / "open-2").touch()
        assert list(results) == [2]
        lock.unlink()  # as it is when a dataset is published; what comes after is done all the same
        assert list(executor.run(todo.noted, tasks(place, [5]))) == [5]
    assert begun(place) == {0: 2, 1: 2, 2: 2, 5: 1}
    assert slurm.started() == ["1", "1", "2", "3"]
    assert not (tmp_path / ".jobs").exists()
    assert slurm.running() == []


def test_jobs_are_submitted_as_arrays_with_what_was_asked_and_share_tasks_evenly(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path
) -> None:
    seen: list[int] = []
    asked = {"partition": "default", "account": "lab", "qos": "low", "constraint": "avx2", "job_memory_gb": 6}
    with jobs_in(tmp_path, jobs=3, job_tasks=4, job_minutes=7, **asked) as executor:
        assert executor.workers == 3
        results = executor.run(todo.fussy, tasks(place, range(12)), lambda done: tasks(place, [12]) if not done else [])
        with pytest.raises(FileNotFoundError, match=r"'/a/b'") as caught:
            drain(results, seen)
    assert sorted(seen) == [0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12]
    assert "fussy" in str(caught.value.__cause__)
    (note,) = caught.value.__notes__
    assert re.search(r"1 further task failed.*WorkerDied.*5\).*its worker process died each time", note)
    assert begun(place)[7] == 2
    assert sorted(slurm.started()[:3]) == ["1_0", "1_1", "2"]
    script = (slurm.folder / "1.sh").read_text()
    wanted = {"account=lab", "array=0-1%2", "constraint=avx2", "cpus-per-task=1", "mem=6GB", "qos=low", "requeue"}
    assert wanted <= set(re.findall(r"^#SBATCH --(.*)$", script, re.MULTILINE))
    assert {"partition=default", "time=7", "signal=USR2@30"} <= set(re.findall(r"--(\S*)", script))
    assert "wckey" not in script
    assert len(slurm.called("scontrol")) == 1
    assert slurm.called("scancel") == []  # jobs that have done all they were given end by themselves


def test_a_task_that_kills_its_jobs_is_given_up_and_others_are_done(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path
) -> None:
    seen: list[int] = []
    with jobs_in(tmp_path) as executor, pytest.raises(WorkerDied, match=r", 0\): 3 jobs died at"):
        drain(executor.run(todo.deadly, tasks(place, [0, 1])), seen)
    assert seen == [1]  # though it was begun in the first two of those jobs
    assert begun(place)[0] == 3


def test_a_node_that_is_not_as_this_one_is_told_before_a_task_runs(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_another(places: Sequence[str]) -> Surroundings:
        here = replace(surroundings([*places]), code="0123456789abcdef")
        shutil.rmtree(places[-1])
        return here

    (tmp_path / "unseen").mkdir()
    with jobs_in(tmp_path) as executor:
        executor.refuse_unseen(tmp_path / "unseen")
        monkeypatch.setattr(slurm_module, "surroundings", of_another)
        with pytest.raises(Refused) as caught:
            list(executor.run(todo.noted, tasks(place, [1, 2])))
    node = f"node {os.uname().nodename}"
    assert [fault.where for fault in caught.value.faults] == [node, node]
    assert "code 0123456789ab" in str(caught.value)
    assert str(tmp_path / "unseen") in str(caught.value)
    assert begun(place) == {}
    assert slurm.running() == []


def test_jobs_that_never_start_are_told_with_what_they_said_last(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "cv2.py").write_text("raise ImportError('libGL.so.1: no such file on this node')")
    monkeypatch.setenv("PYTHONPATH", f"{broken}:{os.environ['PYTHONPATH']}")
    with jobs_in(tmp_path) as executor, pytest.raises(Refused, match=r"job 1: start: found .*libGL\.so\.1: no such"):
        list(executor.run(todo.noted, tasks(place, [1, 2])))


def test_what_slurm_refuses_is_told_in_its_words(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    executors = jobs_in(tmp_path, partition="fast")
    with executors as executor, pytest.raises(Refused, match=r"sbatch: found invalid partition specified: fast,"):
        list(executor.run(todo.noted, tasks(place, [1, 2])))
    assert not (tmp_path / ".jobs").exists()
    assert capfd.readouterr() == ("", "")


def test_where_slurm_has_no_room_for_an_array_half_of_it_is_tried(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (slurm.folder / "most").write_text("1")
    monkeypatch.setenv("SBATCH_JOB_NAME", "of the user")
    monkeypatch.setenv("SQUEUE_FORMAT", "of the user")
    with jobs_in(tmp_path, jobs=4, job_tasks=1) as executor:
        assert sorted(executor.run(todo.noted, tasks(place, [1, 2]))) == [1, 2]
        (slurm.folder / "most").write_text("0")
        with pytest.raises(Refused, match=r"Job violates .*submit limit.* executor\.jobs"):
            list(executor.run(todo.noted, tasks(place, [1, 2])))
    assert slurm.started() == ["1", "2"]
    assert os.environ["SBATCH_JOB_NAME"] == "of the user"


def test_a_job_that_slurm_takes_and_never_starts_is_told(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path
) -> None:
    (slurm.folder / "reason").write_text("PartitionTimeLimit")
    with (
        jobs_in(tmp_path) as executor,
        pytest.raises(Refused, match=r"job 1: reason: found PartitionTime.*minutes"),
    ):
        list(executor.run(todo.noted, tasks(place, [1])))
    assert slurm.running() == []
    (slurm.folder / "reason").write_text("launch_failed_requeued_held")
    with jobs_in(tmp_path) as executor:
        assert list(executor.run(todo.noted, tasks(place, [1]))) == [1]
    assert slurm.started() == ["3"]


def test_without_slurm_the_option_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match=r"executor\.cluster: found slurm without sbatch, .* override"), jobs_in(tmp_path):
        raise AssertionError


def test_a_stage_of_few_tasks_runs_here_and_so_does_what_few_jobs_made_possible(
    slurm: Slurm, todo: ModuleType, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_lane, "GATHER_S", 60.0)
    with jobs_in(tmp_path, here=3) as executor:
        assert sorted(executor.run(todo.noted, tasks(place, [1, 2]))) == [1, 2]
        assert not (slurm.folder / "called").exists()
        results = executor.run(todo.noted, tasks(place, [1, 2, 3]), lambda done: tasks(place, [4] if done == 3 else []))
        assert sorted(results) == [1, 2, 3, 4]
    assert slurm.started() == ["1"]


def test_folders_without_a_driver_are_removed_unless_there_may_be_jobs(
    slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = tmp_path / ".jobs"
    stale, fresh = parent / "new-slurm-1", parent / "new-slurm-2"
    stuck, away = parent / "quickdraw-slurm-3", parent / "quickdraw-local-4-n7-a"
    for folder in (stale, fresh, stuck, away):
        folder.mkdir(parents=True)
    os.utime(stale, (0, 0))
    monkeypatch.setattr(queues, "PATIENCE_S", 0.1)
    monkeypatch.setattr(queues, "AGAIN_S", 0.1)
    (slurm.folder / "jobs" / "7").write_text(json.dumps({"name": stuck.name, "reason": ""}))
    (slurm.folder / "bin" / "scancel").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(Refused, match=r"died on n7-a, in .*quickdraw-local-4-n7-a"):
        end_orphans(parent)
    shutil.rmtree(away)
    with pytest.raises(Refused, match=r"which do not end .*quickdraw-slurm-3"):
        end_orphans(parent)
    (slurm.folder / "jobs" / "7").unlink()
    end_orphans(parent)
    assert list(parent.iterdir()) == [fresh]


@pytest.fixture(params=["slurm 2", "local 1"])
def driver(
    request: pytest.FixtureRequest, slurm: Slurm, place: Path, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A command whose jobs write until they are killed."""
    cluster, jobs = request.param.split()
    command = [sys.executable, DRIVER, cluster, tmp_path / ".jobs", place, jobs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as started:
        wait_until(lambda: len(beats(place)) == int(jobs))
        yield started
        started.kill()


def beats(place: Path) -> list[str]:
    return [beat.read_text() for beat in sorted(place.glob("beat-*"))]


def test_the_jobs_of_a_driver_that_was_killed_are_ended_by_the_next(
    driver: subprocess.Popen[bytes], slurm: Slurm, place: Path, tmp_path: Path
) -> None:
    end_orphans(tmp_path / ".jobs")  # not while it lives
    driver.kill()
    driver.wait()
    before = beats(place)
    wait_until(lambda: beats(place) != before)
    assert (tmp_path / ".jobs").exists()
    with jobs_in(tmp_path, cluster="local"):
        before = beats(place)
        assert slurm.running() == []
        time.sleep(0.1)
        assert beats(place) == before
    assert not (tmp_path / ".jobs").exists()


def test_ctrl_c_ends_all_jobs_and_waits_for_them(
    driver: subprocess.Popen[bytes], slurm: Slurm, place: Path, tmp_path: Path
) -> None:
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    said, _ = driver.communicate(timeout=60)
    before = beats(place)
    assert (driver.returncode, said) == (130, b"")
    assert slurm.running() == []
    time.sleep(0.1)
    assert beats(place) == before
    assert not (tmp_path / ".jobs").exists()
