"""A stand-in for Slurm's commands: elements of arrays are sessions of processes of this machine.

`python stand_in_slurm.py install FOLDER` puts the commands into FOLDER/bin; a job that waits or runs is a file of its
id in FOLDER/jobs. The only partition is `default`; arrays have at most 2 elements, or as many as FOLDER/longest says.
Where FOLDER/most says so, no more jobs are taken than that.
Where FOLDER/reason says why, the next array waits for ever.
Each start of a job is a line of FOLDER/started, each command one of FOLDER/called.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

COMMANDS = ("sbatch", "squeue", "scancel", "srun", "scontrol")


def install(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "jobs").mkdir()
    for name in COMMANDS:
        command = folder / "bin" / name
        call = shlex.join([sys.executable, "-I", "-S", __file__, name, str(folder)])
        command.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
        command.chmod(0o755)


def log(folder: Path, name: str, line: str) -> None:
    with (folder / name).open("a") as file:
        file.write(line + "\n")


def sbatch(folder: Path, script: str) -> int:
    text = Path(script).read_text()
    options = {key: value for key, _, value in re.findall(r"^#SBATCH --([\w-]+)(=?)(.*)$", text, re.MULTILINE)}
    if options.get("partition", "default") != "default":
        print(f"sbatch: error: invalid partition specified: {options['partition']}", file=sys.stderr)
        return 1
    last = re.match(r"0-(\d+)%", options.get("array", ""))
    most, there = folder / "most", len(list((folder / "jobs").iterdir()))
    if most.exists() and there + (1 + int(last[1]) if last else 1) > int(most.read_text()):
        print("sbatch: error: Job violates accounting/QOS policy (job submit limit)", file=sys.stderr)
        return 1
    with (folder / "count").open("a+") as count:
        fcntl.flock(count, fcntl.LOCK_EX)
        count.seek(0)
        job = 1 + len(count.read())
        count.write(".")
    elements = [f"{job}_{index}" for index in range(1 + int(last[1]))] if last else [str(job)]
    (folder / f"{job}.sh").write_text(text)
    reason = (folder / "reason").read_text() if (folder / "reason").exists() else ""
    (folder / "reason").unlink(missing_ok=True)
    name = os.environ.get("SBATCH_JOB_NAME", options["job-name"])
    for element in elements:
        (folder / "jobs" / element).write_text(json.dumps({"name": name, "reason": reason}))
        if not reason:
            start_apart([sys.executable, "-I", "-S", __file__, "attend", str(folder), element])
    print(f"Submitted batch job {job}")
    return 0


def start_apart(command: list[str]) -> None:
    subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def attend(folder: Path, element: str) -> int:
    """Run one job as long as it is requeued."""
    job, _, index = element.partition("_")
    state = folder / "jobs" / element
    own = {"SLURM_JOB_ID": job, "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1", "SLURM_NODEID": "0"}
    if index:
        own |= {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": index}
    while state.exists():
        log(folder, "started", element)
        with (folder / f"{element}.batch").open("a") as output:
            running = subprocess.Popen(
                ["bash", str(folder / f"{job}.sh")], env=os.environ | own, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
            state.write_text(json.dumps(json.loads(state.read_text()) | {"session": running.pid}))
            running.wait()
        while members(running.pid):
            kill(running.pid, signal.SIGKILL)
        if not (folder / f"{element}.requeue").exists():
            break
        (folder / f"{element}.requeue").unlink()
    state.unlink(missing_ok=True)
    return 0


def srun(_folder: Path, *arguments: str) -> int:
    rest = list(arguments)
    output = None
    while rest[0].startswith("--"):
        option = rest.pop(0)
        if option == "--output":
            output = rest.pop(0)
    assert output is not None
    element = "_".join(filter(None, (os.environ["SLURM_JOB_ID"], os.environ.get("SLURM_ARRAY_TASK_ID"))))
    path = output.replace("%A_%a", element).replace("%j", element).replace("%t", "0")
    log_file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log_file, 1)
    os.dup2(log_file, 2)
    os.environ |= {"SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
    os.execvp(rest[0], rest)


def squeue(folder: Path, *arguments: str) -> int:
    if "SQUEUE_FORMAT" in os.environ:
        return 1
    for element, _ in chosen(folder, *arguments):
        print(element, json.loads((folder / "jobs" / element).read_text())["reason"] or "None")
    return 0


def scancel(folder: Path, *arguments: str) -> int:
    is_signal = "--signal=KILL" in arguments
    for element, session in list(chosen(folder, *arguments)):
        if is_signal:
            kill(session, signal.SIGKILL)
        else:
            (folder / "jobs" / element).unlink(missing_ok=True)
            kill(session, signal.SIGTERM)
    if not is_signal:
        time.sleep(0.1)
        for _, session in list(chosen(folder, *arguments)):
            kill(session, signal.SIGKILL)
    return 0


def scontrol(folder: Path, *arguments: str) -> int:
    if arguments[:2] == ("show", "config"):
        longest = folder / "longest"
        print(f"MaxArraySize            = {longest.read_text() if longest.exists() else 2}")
    elif arguments[0] == "requeue":
        (folder / f"{arguments[1]}.requeue").touch()
    return 0


def chosen(folder: Path, *arguments: str) -> Iterator[tuple[str, int]]:
    names = [argument.partition("=")[2] for argument in arguments if argument.startswith("--name=")]
    ids = [argument for argument in arguments if not argument.startswith("--")]
    for state in sorted((folder / "jobs").iterdir()):
        with suppress(FileNotFoundError, json.JSONDecodeError):
            told = json.loads(state.read_text())
            if state.name in ids or told["name"] in names:
                yield state.name, told.get("session", 0)


def members(session: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                state, _, _, its = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(its) == session and state not in "ZX":
                    found.append(int(entry.name))
    return found


def kill(session: int, number: int) -> None:
    for process in members(session) if session else []:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def main() -> int:
    name, folder, *arguments = sys.argv[1:]
    if name == "install":
        install(Path(folder))
        return 0
    if name in COMMANDS:
        log(Path(folder), "called", shlex.join([name, *arguments]))
    called: dict[str, Callable[..., int]] = {
        "attend": attend, "sbatch": sbatch, "squeue": squeue, "scancel": scancel, "srun": srun, "scontrol": scontrol,
    }  # fmt: skip
    return called[name](Path(folder), *arguments)


if __name__ == "__main__":
    sys.exit(main())
