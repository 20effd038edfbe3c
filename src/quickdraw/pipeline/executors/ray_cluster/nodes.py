"""The nodes of the cluster this process is connected to, and what room they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickdraw.errors import COMMAND_LINE, Fault

SMALLEST = 1e-4  # CPUs; Ray counts no less

type Node = dict[str, Any]  # as Ray tells of it


@dataclass(frozen=True, slots=True)
class Need:
    """What one task takes of a node: CPUs, and bytes of memory."""

    cpus: float
    memory: int

    def fits(self, node: Node) -> int:
        """How many such tasks a node runs at once."""
        has = node["Resources"]
        by_memory = [has.get("memory", 0) // self.memory] if self.memory else []
        by_cpus = (has.get("CPU", 0) + SMALLEST / 2) // self.cpus  # 1 CPU holds ten tenths, also in floating point
        return int(min([by_cpus, *by_memory]))

    def __str__(self) -> str:
        return f"{self.cpus:g} CPUs" + (f" and {self.memory >> 20} MB of memory" if self.memory else "")


def alive() -> list[Node]:
    """Those that are there now."""
    import ray

    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]  # Ray tells no type


def name_of(node: Node) -> str:
    """What people call it, and what Ray does: of one machine there may be several."""
    return f"node {node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


def no_room(need: Need) -> Fault:
    """No node that is there could ever run such a task; what it has too much of is named."""
    nodes = alive()
    found = "; ".join(f"{name_of(node)} of {_resources(node)}" for node in nodes) or "no node"
    option = "task_memory_mb" if any(map(Need(need.cpus, 0).fits, nodes)) else "task_cpus"
    return Fault(COMMAND_LINE, f"executor.{option}", found, f"a node with {need} for a task")


def _resources(node: Node) -> str:
    has = node["Resources"]
    return f"{has.get('CPU', 0):g} CPUs and {int(has.get('memory', 0)) >> 20} MB of memory"
