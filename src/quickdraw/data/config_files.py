"""configs/: where it lies, and which names its groups have."""

from __future__ import annotations

from pathlib import Path


def config_folder() -> Path:
    """configs/ of the checkout, or its copy inside the installed package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parents[1] / "configs"


def group_names(group: str) -> list[str]:
    """What a group may be: a processor, for one, is what has a file in configs/processor/."""
    return sorted(path.stem for path in (config_folder() / group).glob("*.yaml"))


def processor_lines(name: str) -> list[str]:
    """The lines of a processor's file."""
    return (config_folder() / "processor" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()


def option_order(processor: str) -> list[str]:
    """The options of a processor in the order its file tells them, which is the order provenance.json has."""
    return [line.partition(":")[0] for line in processor_lines(processor) if line[:1].isalpha()]
