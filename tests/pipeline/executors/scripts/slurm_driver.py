"""A command that runs endless tasks in jobs. Arguments: cluster, folder of jobs, folder that tasks write to, jobs."""

from __future__ import annotations

import sys
from pathlib import Path

import job_tasks

from quickdraw.pipeline.executors.slurm import slurm_jobs


def main(cluster: str, folder: str, place: str, jobs: str) -> int:
    with slurm_jobs(
        folder=Path(folder),
        cluster="local" if cluster == "local" else "slurm",
        partition=None,
        account=None,
        qos=None,
        constraint=None,
        jobs=int(jobs),
        job_cpus=1,
        job_memory_gb=None,
        job_minutes=60,
        job_tasks=1,
        here=0,
        workers=1,
    ) as executor:
        list(executor.run(job_tasks.beat, [(Path(place), number) for number in range(int(jobs))]))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
