"""`quickdraw lerobot-check`: can lerobot itself open every split and decode its rows? The one place that imports it."""

from __future__ import annotations

import os
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quickdraw.pipeline.amounts import counted

if TYPE_CHECKING:
    from lerobot.datasets import LeRobotDataset


class Decoder(StrEnum):
    """lerobot's video decoders."""

    pyav = "pyav"
    torchcodec = "torchcodec"


def lerobot_check(
    dataset: Annotated[
        Path, typer.Argument(help="Folder of a built dataset (holding train/, val/, ...), or of one split.")
    ],
    decoder: Annotated[
        Decoder, typer.Option(help="lerobot's video decoder; torchcodec needs FFmpeg's shared libraries.")
    ] = Decoder.pyav,
) -> None:
    """Open every split with lerobot's reader, offline, and decode the first, middle and last row of every episode.

    Exit code 0 when all of it decodes, 1 when lerobot refuses something, 2 when there is no split.
    """
    infos = [*dataset.glob("meta/info.json"), *dataset.glob("*/meta/info.json")]
    roots = sorted(path.parent.parent for path in infos)
    if not roots:
        typer.echo(f"refused: {dataset}: no split found, expected <split>/meta/info.json in it", err=True)
        raise typer.Exit(2)
    failures = 0
    with tempfile.TemporaryDirectory() as cache:
        # lerobot copies tables to a cache and falls back to the network where it misses a file: neither is wanted.
        os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": cache, "HF_DATASETS_CACHE": cache}
        for root in roots:
            failures += not _split_decodes(root, decoder)
    raise typer.Exit(1 if failures else 0)


def _split_decodes(root: Path, decoder: Decoder) -> bool:
    """Decode the probes of one split and say how it went."""
    from lerobot.datasets import LeRobotDataset

    try:
        split = LeRobotDataset(f"local/{root.name}", root=root, video_backend=decoder.value)
        rows = probe_rows(split)
        for row in rows:
            _refuse_wrong_item(split, row, split[row])
    except Exception as error:  # whatever lerobot raises is the finding
        first_line, *_ = str(error).strip().splitlines() or [""]
        typer.echo(f"{root.name}: lerobot failed: {type(error).__name__}: {first_line}", err=True)
        return False
    cameras = len(split.meta.video_keys)
    sys.stdout.write(
        f"{root.name}: {counted(split.num_episodes, 'episode')}, {counted(split.num_frames, 'row')}, "
        f"{counted(cameras, 'camera')}; {counted(len(rows), 'row')} decoded with {decoder.value}\n"
    )
    return True


def probe_rows(split: LeRobotDataset) -> list[int]:
    """First, middle and last row of every episode."""
    rows = []
    for episode in split.meta.episodes:
        first, end = episode["dataset_from_index"], episode["dataset_to_index"]
        rows += [first, (first + end - 1) // 2, end - 1]
    return rows


def _refuse_wrong_item(split: LeRobotDataset, row: int, item: dict[str, Any]) -> None:
    """A decoded item must be the row asked for, with every camera in the declared size."""
    if int(item["index"]) != row:
        raise ValueError(f"row {row} came back as row {int(item['index'])}")
    for key in split.meta.video_keys:
        height, width, channels = split.meta.features[key]["shape"]
        if tuple(item[key].shape) != (channels, height, width):
            raise ValueError(f"row {row}: {key} is {tuple(item[key].shape)}, not {(channels, height, width)}")
