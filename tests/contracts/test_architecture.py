"""The house rules that no single module can show: direction of imports, size of files, names of rooms."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "quickdraw"
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_LINES = 300
HEAVY = ("torch", "torchvision", "torchcodec", "lerobot", "datasets", "ray", "submitit")
FOR_LEROBOT = {"quickdraw.cli.lerobot_check"}  # the one module whose purpose is lerobot's reader


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run_python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_import_contracts_are_kept() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Contracts: " in result.stdout
    assert " 0 broken" in result.stdout


def test_every_room_of_the_package_is_one_the_layers_name() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= {"cli", "core", "data", "formats", "hub", "pipeline", "report", "sim", "video", "configs"}


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_module_is_one_idea_of_at_most_350_lines_under_a_name_that_says_which(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert not {"util", "utils", "helper", "helpers", "common", "misc"} & set(
        path.relative_to(SOURCE).with_suffix("").parts
    )
    assert not lines or lines[0].startswith('"""')


IMPORTED = "import sys, json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def imported_by(code: str, *arguments: str, cwd: Path) -> set[str]:
    result = run_python(f"{code}\n{IMPORTED}", *arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_no_module_of_the_build_path_imports_torch_or_lerobot_or_an_engine(tmp_path: Path) -> None:
    """Every module but the command that exists to run lerobot's reader: what workers import is among them."""
    names = [dotted(path) for path in MODULES if dotted(path) not in FOR_LEROBOT]
    assert {"quickdraw.pipeline.mapping", "quickdraw.pipeline.packing", "quickdraw.video.transcode"} <= set(names)
    assert not imported_by("\n".join(f"import {name}" for name in names), cwd=tmp_path) & set(HEAVY)


def test_a_whole_dry_run_on_this_machine_imports_neither_torch_nor_lerobot_nor_an_engine(
    sample_tree: Path, tmp_path: Path
) -> None:
    code = """if __name__ == "__main__":
    import sys
    from quickdraw.data.processors import main
    assert main(sys.argv[1:]) == 0"""
    arguments = ("processor=block_stack", f"source.dir={sample_tree}", "dry_run=true", "source.workers=1")
    loaded = imported_by(code, *arguments, cwd=tmp_path)
    assert not loaded & set(HEAVY)
    assert {"numpy", "hydra", "msgspec"} <= loaded
    assert list(tmp_path.iterdir()) == []


def test_help_imports_nothing_heavy_at_all(tmp_path: Path) -> None:
    loaded = imported_by("from quickdraw.data.processors import main\nassert main(['--help']) == 0", cwd=tmp_path)
    assert not loaded & {
        *HEAVY,
        "numpy",
        "hydra",
        "pyarrow",
        "av",
        "cv2",
        "scipy",
        "pandas",
        "rich",
        "typer",
    }


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("quickdraw.errors", {"numpy"}),
        ("quickdraw.formats.campaign.reader", {"av", "pyarrow", "cv2", "scipy", "hydra"}),
        ("quickdraw.data.block_stack", {"av", "pyarrow", "hydra", "pandas"}),
        ("quickdraw.video.transcode", {"pyarrow", "hydra", "pandas"}),
        ("quickdraw.pipeline.mapping", {"pyarrow", "hydra", "omegaconf", "pandas", "rich"}),
        ("quickdraw.formats.lerobot.reader", {"av", "hydra", "pandas", "imageio"}),
    ],
)
def test_a_process_imports_only_what_it_needs(module: str, absent: set[str], tmp_path: Path) -> None:
    assert not imported_by(f"import {module}", cwd=tmp_path) & absent


def test_the_package_is_typed_and_its_configuration_lies_where_the_wheel_takes_it_from() -> None:
    assert (SOURCE / "py.typed").is_file()
    assert (ROOT / "configs" / "build.yaml").is_file()
    assert 'configs = "quickdraw/configs"' in (ROOT / "pyproject.toml").read_text()
