#!/usr/bin/env python3
"""The contract's own name for `quickdraw pooled split-episodes`; `--split-episodes` is the one job it has here."""

import sys

from quickdraw.cli.main import app

if "--split-episodes" not in sys.argv:  # the contract's own script would migrate v1.0 now
    print("only --split-episodes is built: sessions of v1.0 are migrated by their recorder", file=sys.stderr)
    sys.exit(2)
app(["pooled", "split-episodes", *(each for each in sys.argv[1:] if each != "--split-episodes")])
