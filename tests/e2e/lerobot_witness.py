"""Runs lerobot in a process of its own: importing it in a test raises warnings and costs seconds.

Loaded by the conftest files from its path (tests are no package). Scripts read one JSON document from stdin and print
one as their last line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent / "scripts"


def offline(home: Path) -> dict[str, str]:
    """An environment in which lerobot finds no network, no cache of the user's and no warning filter of ours."""
    caches = {"HF_HOME": str(home), "HF_DATASETS_CACHE": str(home / "datasets"), "HF_LEROBOT_HOME": str(home / "lr")}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    return kept | caches | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def run_lerobot(script: str, payload: dict[str, Any], home: Path) -> dict[str, Any]:
    """The answer of `scripts/<script>.py` to `payload`."""
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(SCRIPTS / f"{script}.py")]
    done = subprocess.run(command, input=json.dumps(payload, default=str), capture_output=True, text=True, check=False,
                          env=offline(home), timeout=600)  # fmt: skip
    assert done.returncode == 0, f"{script} ended with {done.returncode}:\n{done.stderr[-6000:]}"
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
