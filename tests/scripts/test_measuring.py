"""What a measured command is said to have cost, against children whose cost is known."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measuring import CommandFailed, Measured, least, middle, most, run

BURN = "import time\nwhile time.process_time() < {cpu_s}: pass\n"
HOLD = "held = bytearray({bytes}); held[::4096] = b'x' * len(held[::4096])\nimport time; time.sleep({s})\n"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def start(code: str) -> str:
    """Code that runs other code in a child and waits for it."""
    return f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], check=True)"


@pytest.mark.parametrize("nested", [False, True], ids=["itself", "in a child"])
def test_cpu_is_counted_wherever_below_the_command_it_is_burnt(nested: bool) -> None:
    code = BURN.format(cpu_s=0.6)
    cost = run(python(start(code) if nested else code)).cost
    assert 0.6 <= cost.cpu_s < 1.0
    assert cost.wall_s > 0.6


def test_waiting_is_wall_and_no_cpu() -> None:
    cost = run(python("import time; time.sleep(0.7)")).cost
    assert cost.wall_s >= 0.7
    assert cost.cpu_s < 0.4


def test_the_command_and_the_largest_process_below_it_are_told_apart_by_memory() -> None:
    child = HOLD.format(bytes=300_000_000, s=0.3)
    code = f"{HOLD.format(bytes=100_000_000, s=0)}{start(child)}"
    cost = run(python(code)).cost
    assert 100 < cost.parent_peak_mb < 150
    assert 300 < cost.worker_peak_mb < 350


def test_memory_that_was_given_back_counts() -> None:
    cost = run(python(f"{HOLD.format(bytes=200_000_000, s=0)}del held; time.sleep(0.3)")).cost
    assert 200 < cost.parent_peak_mb < 250
    assert cost.worker_peak_mb == 0


def test_a_command_without_children_has_no_worker_and_its_output_is_kept() -> None:
    ran = run(python("print('out')"))
    assert ran.stdout == "out\n"
    assert ran.cost.worker_peak_mb == 0


def test_a_command_that_fails_is_told_with_its_last_words() -> None:
    with pytest.raises(CommandFailed, match=r"exit code 3 of .*\nno such thing"):
        run(python("import sys; print('no such thing', file=sys.stderr); sys.exit(3)"))


def test_environment_and_folder_are_the_commands(tmp_path: Path) -> None:
    code = "import os; print(os.environ['WHERE'], os.getcwd())"
    ran = run(python(code), env={**os.environ, "WHERE": "here"}, cwd=tmp_path)
    assert ran.stdout == f"here {tmp_path}\n"


def test_each_figure_has_its_own_median() -> None:
    costs = [Measured(1, 9, 5, 5), Measured(2, 8, 5, 7), Measured(6, 1, 5, 6)]
    assert middle(costs) == Measured(2, 8, 5, 6)
    assert least(costs) == Measured(1, 1, 5, 5)
    assert most(costs) == Measured(6, 9, 5, 7)
