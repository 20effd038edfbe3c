"""What every script here begins with: no network, lerobot opened on a folder, pictures by their digest."""

from __future__ import annotations

import hashlib
import importlib
import json
import socket
import sys
from typing import Any, NoReturn

import numpy as np
import torch
from lerobot.datasets import LeRobotDataset


def _refuse(*_: object) -> NoReturn:
    raise RuntimeError("a test reached for the network")


socket.socket.connect = _refuse


def question() -> dict[str, Any]:
    """The document a test asked with."""
    asked: dict[str, Any] = json.load(sys.stdin)
    return asked


def answer(document: dict[str, Any]) -> None:
    """Print the answer as the last line."""
    print()
    print(json.dumps(document))


def torchcodec_loads() -> bool:
    """Whether FFmpeg's shared libraries are there for torchcodec."""
    try:
        importlib.import_module("torchcodec")
    except (ImportError, OSError, RuntimeError):
        return False
    return True


def backends() -> list[str]:
    """Every decoder that works here."""
    return ["pyav", "torchcodec"] if torchcodec_loads() else ["pyav"]


def opened(root: str, **options: Any) -> LeRobotDataset:
    """A split by its folder; pictures come as uint8."""
    options = {"video_backend": "pyav", "return_uint8": True} | options
    return LeRobotDataset("local/split", root=root, **options)


def digest(picture: torch.Tensor) -> str:
    """Digest of a `(3, H, W)` uint8 picture, as the bytes of `(H, W, 3)`."""
    assert picture.dtype == torch.uint8, picture.dtype
    return hashlib.sha256(np.ascontiguousarray(picture.permute(1, 2, 0).numpy()).tobytes()).hexdigest()


def described(item: dict[str, Any], cameras: list[str]) -> dict[str, Any]:
    """An item in JSON: numbers as lists, pictures as digests."""
    told: dict[str, Any] = {}
    for name, value in item.items():
        if name in cameras:
            told[name] = digest(value) if value.ndim == 3 else [digest(picture) for picture in value]
        else:
            told[name] = value.tolist() if isinstance(value, torch.Tensor) else value
    return told
