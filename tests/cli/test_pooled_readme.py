"""What the README says of pooled tasks is run as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quickdraw.cli.main import app

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README[README.index("## Pooled tasks") : README.index("## Working on quickdraw")]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)


def test_its_commands_and_its_lines_of_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (commands,) = blocks("bash")
    lines = [shlex.split(line, comments=True) for line in commands.splitlines()]
    assert [line[1:3] for line in lines] == [
        ["simulate", "pooled"],
        ["pooled", "info"],
        ["pooled", "check"],
        ["pooled", "show"],
    ]
    for program, *arguments in lines:
        assert program == ".venv/bin/quickdraw"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "umi_place_episode_000001.png").is_file()
    (code,) = blocks("python")
    found: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), found)
    assert {"rgb", "mm", "mn", "ts_ns"} <= found.keys()


def test_every_tool_is_in_its_table() -> None:
    listed = re.findall(r"^\| `([a-z-]+) <task>", SECTION, re.MULTILINE)
    assert sorted(listed) == sorted(
        ["info", "check", "show", "align", "pack", "delete", "repair-scale", "split-episodes", "recalc-stats"]
    )
