#!/usr/bin/env python3
"""The contract's own name for `quickdraw pooled split-episodes`, `--split-episodes` being the one job it has here."""

import sys

from quickdraw.cli.main import app

jobs = [each for each in sys.argv[1:] if each == "--split-episodes"] or ["--help"]
app(["pooled", *(each.removeprefix("--") for each in jobs), *(each for each in sys.argv[1:] if each not in jobs)])
