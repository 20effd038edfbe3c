"""Run the Python of dataset cards, as who found them on the Hub would, and compare with the datasets that were pushed.

Asked: `cards`, each `text` and the `root` of the split, on this disk, that its example opens. Answers a document a
card: what its code came to. Reads from the Hub of HF_ENDPOINT, and nowhere else.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import torch

HUB = urlsplit(os.environ["HF_ENDPOINT"])
connect = socket.socket.connect


def connect_there(self: socket.socket, address: Any) -> None:
    if self.family == socket.AF_INET and tuple(address) != (HUB.hostname, HUB.port):
        raise RuntimeError(f"a test reached for {address}")
    connect(self, address)


socket.socket.connect = connect_there  # type: ignore[method-assign,assignment]  # before anything else connects

from datasets import load_dataset, load_dataset_builder  # type: ignore[import-untyped]  # noqa: E402  (after the guard above, as the two below)
from huggingface_hub import DatasetCard  # noqa: E402
from lerobot.datasets import LeRobotDataset  # noqa: E402


def same(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def configs(folder: str) -> dict[str, int]:
    """Config -> its rows, as `datasets` finds them by the card; the one it takes by itself first."""
    names = [config["config_name"] for config in DatasetCard.load(f"{folder}/README.md").data.to_dict()["configs"]]
    chosen = load_dataset_builder(folder).config.name
    ordered = sorted(names, key=lambda name: name != chosen)
    return {name: sum(part.num_rows for part in load_dataset(folder, name).values()) for name in ordered}


def of_card(text: str, root: str) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "README.md", "exec"), held)
    dataset, local = held["dataset"], LeRobotDataset("local/split", root=root)
    asked = sorted({0, len(local) // 2, len(local) - 1})
    unlike = [name for i in asked for name, value in local[i].items() if not same(value, dataset[i][name])]
    c0, matrix = held["c0"], held["matrix"]
    told = {
        "folder": str(held["folder"]),
        "configs": configs(str(held["folder"])),
        "rows": len(dataset),
        "unlike": unlike,
        "numbers": bool(np.array_equal(np.stack(local.hf_dataset["observation.state"]), held["raw"])),
        "array": bool(np.array_equal(held["values"], held["raw"][: len(held["values"])])),
        "table": list(held["table"].columns)[:2],
        "picture": list(held["picture"].shape),
        "pictures": sum(1 for _ in held["pictures"]),
        "first": bool(
            np.array_equal(next(iter(held["reader"].pictures(0, held["reader"].cameras[0]))), held["picture"])
        ),
        "rotated": float(np.abs(np.einsum("nij,nik->njk", matrix, matrix) - np.eye(3)).max()),
        "pinned": bool(np.array_equal(held["normal"][:, 3:6], c0)),
        "scaled": float(np.abs(held["normal"].mean(axis=0)[:3]).max()),
    }
    return told | ({"depth": [str(held["depth_mm"].dtype), *held["depth_mm"].shape]} if "depth_mm" in held else {})


if __name__ == "__main__":
    print("\n" + json.dumps([of_card(card["text"], card["root"]) for card in json.load(sys.stdin)["cards"]]))
