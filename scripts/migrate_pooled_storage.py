#!/usr/bin/env python3
"""The contract's own name for `quickdraw pooled split-episodes`; `--split-episodes` is the one job it has here."""

import sys

from quickdraw.cli.main import app

app(["pooled", "split-episodes", *(each for each in sys.argv[1:] if each != "--split-episodes")])
