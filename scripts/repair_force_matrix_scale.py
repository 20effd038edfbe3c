#!/usr/bin/env python3
"""The contract's own name for `quickdraw pooled repair-scale`: a dry run until --apply."""

import sys

from quickdraw.cli.main import app

app(["pooled", "repair-scale", *sys.argv[1:]])
