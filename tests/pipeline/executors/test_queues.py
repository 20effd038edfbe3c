"""Whose processes are jobs, and what sbatch is told by variables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quickdraw.pipeline.executors import queues


def test_in_a_job_sbatch_has_what_the_site_set_and_not_what_the_job_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    site = {"SLURM_CONF": "/etc/here", "SBATCH_RESERVATION": "night"}
    told = {"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "8", "SBATCH_MEM_BIND": "x", "SBATCH_PARTITION": "p"}
    for name, value in (site | told).items():
        monkeypatch.setenv(name, value)
    with queues.sites_environment(["PARTITION"]):
        assert site.items() <= os.environ.items()
        assert not told.keys() & os.environ.keys()
    assert (site | told).items() <= os.environ.items()


def test_only_processes_of_submitits_controller_are_a_local_folders_jobs(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-c", "input()"]
    for variables, jobs in ({"PWD": str(tmp_path)}, 0), ({"SUBMITIT_LOCAL_COMMAND": f"python {tmp_path}"}, 1):
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | variables) as process:
            while b"input()" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                time.sleep(0.01)
            assert len(queues.LocalQueue(tmp_path).alive() or {}) == jobs
            queues.LocalQueue(tmp_path).cancel()
            process.communicate(b"\n")
        assert process.returncode == (-signal.SIGKILL if jobs else 0)
