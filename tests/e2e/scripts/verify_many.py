"""`quickdraw verify <dataset> --source <dir> --json` of many in one process. Asked: `datasets`, pairs of folders.

Answers of each the exit code and what was printed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from typer.testing import CliRunner

from quickdraw.cli.main import app

if __name__ == "__main__":  # workers import this module
    told: list[dict[str, Any]] = []
    for dataset, source in json.load(sys.stdin)["datasets"]:
        done = CliRunner().invoke(app, ["verify", dataset, "--source", source, "--workers", "1", "--json"])
        told.append({"code": done.exit_code, "said": done.stdout, "complained": done.stderr})
    print()
    print(json.dumps({"told": told}))
