"""Builds one after the other in one process, each the door's own `main`. Asked: `builds`, lists of arguments; `said`, a
file each for what it printed. Answers their exit codes.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from quickdraw.data.processors import main

if __name__ == "__main__":  # workers import this module
    asked, codes = json.load(sys.stdin), []
    for arguments, said in zip(asked["builds"], asked["said"], strict=True):
        with Path(said).open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
            codes.append(main(arguments))
    print()
    print(json.dumps(codes))
