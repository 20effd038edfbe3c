"""The build command, killed with SIGKILL right before or after one of its steps.

Arguments: `before` or `after`, the step as `module:function`, then the command's own.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from functools import reduce
from typing import Any


def arm(when: str, step: str) -> None:
    """Let the process die at a step."""
    module, _, path = step.partition(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, importlib.import_module(module))
    original = getattr(owner, name)

    def killed(*given: Any, **named: Any) -> None:
        if when == "after":
            original(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, killed)


if __name__ == "__main__":  # workers are processes of their own, and live on
    from quickdraw.data.processors import main

    when, step, *arguments = sys.argv[1:]
    arm(when, step)
    sys.exit(main(arguments))
