"""A build by the command that is looked at, and disturbed, while it runs; and what is compared of its dataset."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent / "scripts"
COMMAND = ("-m", "quickdraw.data.processors")
MARK = "QUICKDRAW_WATCHED_BUILD"
VIEWS = ("report.html", "README.md", "progress.log")  # made once a dataset is published, or told by it alone


def digests(root: Path) -> dict[str, str]:
    """SHA-256 of every file of a dataset but its views."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name not in VIEWS)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def is_running(process: int) -> bool:
    """Whether a process is there, and more than an entry that nobody has asked for yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def environments(sought: str) -> dict[int, bytes]:
    """The environments of the processes that have `sought` in theirs."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
        if sought.encode() in environment and is_running(int(entry.name)):
            found[int(entry.name)] = environment
    return found


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    errors: str
    seconds: float  # since it was asked to


@dataclass(frozen=True)
class WatchedBuild:
    """A command that runs, with all that it starts on this machine marked, and what it leaves at `output`."""

    process: subprocess.Popen[str]
    output: Path

    @property
    def parts(self) -> dict[str, int]:
        """The finished parts, with the times [ns] at which they were."""
        folder = self.output.parent / f".{self.output.name}.building" / "parts"
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("[!.]*")}

    def in_the_middle(self, parts: int) -> dict[str, int]:
        """The finished parts, as soon as there are so many."""
        while self.process.poll() is None:
            if len(found := self.parts) >= parts:
                return found
            time.sleep(0.01)
        raise AssertionError(self.process.communicate())

    def ended(self, by: signal.Signals | None = None, timeout_s: float = 240) -> Said:
        """Send it a signal, and wait for its end, and that of all that could still write to what it says."""
        began_s = time.monotonic()
        if by is not None:
            self.process.send_signal(by)
        try:
            out, errors = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return Said(self.process.returncode, out, errors, time.monotonic() - began_s)

    def descendants(self) -> dict[int, bytes]:
        """Processes of this machine that it started, and their environments, whoever their parent is by now."""
        return environments(f"{MARK}={self.output}\0")

    def is_still(self, for_s: float = 1.0) -> bool:
        """Whether nothing is written beside or below its output for a while."""
        before = self._written()
        time.sleep(for_s)
        return self._written() == before

    def _written(self) -> dict[Path, tuple[int, int]]:
        return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in self.output.parent.rglob("*")}


def start(arguments: Sequence[str], output: Path, script: Sequence[str] = COMMAND) -> WatchedBuild:
    """The command, into `output`."""
    process = subprocess.Popen(
        [sys.executable, *script, *arguments, f"+output.dir={output}"], text=True, cwd=output.parent,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {MARK: str(output)},
    )  # fmt: skip
    return WatchedBuild(process, output)


def run(arguments: Sequence[str], output: Path, script: Sequence[str] = COMMAND) -> Said:
    """The same, and its end."""
    return start(arguments, output, script).ended()
