"""`quickdraw pooled info`: what a task holds, an episode a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from quickdraw.cli.pooled.answers import AsJson, TaskFolder, answering, place_document, print_document, telling
from quickdraw.pipeline.amounts import counted

if TYPE_CHECKING:
    from quickdraw.formats.pooled.reader import Task

UNLIMITED = 10_000  # columns of a table that goes into a pipe


def info(task: TaskFolder, *, as_json: AsJson = False) -> None:
    """Show what a task holds: its slots and sensors, and every episode's files, rows and length.

    N is the global number that every tool takes; the file number and the _ep name repeat in every chunk. No picture is
    decoded. Exit code 0, or 2 where the folder is no pooled task.
    """
    from quickdraw.formats.pooled.reader import Task

    with answering(as_json=as_json):
        opened = Task.open(task)
        document = _described(opened)
    if as_json:
        print_document(document)
    else:
        _show(document)


def _described(task: Task) -> dict[str, Any]:
    from quickdraw.formats.pooled.numbers import foreseen_number, read_marker

    about = task.info
    version, sensors = about.document.get("app_version"), about.document.get("sensors")
    episodes = []
    with telling("read", "episodes") as tell:
        for episode in _episodes(task):
            episodes.append(episode)
            tell(len(episodes), len(task.numbers))
    return {
        "task": about.task_name,
        "folder": str(about.layout.root.absolute()),
        "app_version": version if isinstance(version, str) else None,
        "fps": about.fps,
        "slots": sorted({slot for each in episodes for slot in each["slots"]}),
        "sensors": [each for each in sensors if isinstance(each, str)] if isinstance(sensors, list) else [],
        "columns": [name.removeprefix("observation.") for name in about.features if name != "action"],
        "total_episodes": about.total_episodes,
        "waiting_number": read_marker(about.layout) or None,
        "next_number": foreseen_number(about.layout, about),
        "episodes": episodes,
    }


def _episodes(task: Task) -> Iterator[dict[str, Any]]:
    for episode in task.episodes():
        row, files = episode.row, episode.files
        rows = row.length if row else episode.data.rows if files.data else None
        yield place_document(task.info.layout, episode.number) | {
            "rows": rows,
            "seconds": row.duration_s if row else None,
            "dropped_frames": row.dropped_frames if row else None,
            "data": files.data is not None,
            "row": row is not None,
            "slots": {slot: sorted(path.suffix[1:] for path in paths) for slot, paths in files.videos.items()},
        }


def _show(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from quickdraw.formats.pooled.checks.findings import plain

    episodes = document["episodes"]
    seconds = sum(each["seconds"] or 0.0 for each in episodes)
    console = Console(highlight=False, emoji=False, markup=False, width=None if sys.stdout.isatty() else UNLIMITED)
    held = counted(len(episodes), "episode")
    console.print(f"{plain(document['task'])}: {held}, {seconds:,.1f} s, {document['fps']:g} fps")
    console.print(f"slots    {plain(', '.join(document['slots'])) or 'none'}")
    console.print(f"gloves   {plain(', '.join(document['sensors'])) or 'none'}")
    console.print(f"columns  {plain(', '.join(document['columns'])) or 'none'}")
    waiting = f" (freed by an aborted recording: {document['waiting_number']})" if document["waiting_number"] else ""
    console.print(f"next N   {document['next_number']}{waiting}")
    names = ("N", "chunk", "file", "name", "rows", "seconds", "dropped", "videos", "missing")
    table = Table(*names, box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "left" if column.header in ("name", "videos", "missing") else "right"
    for each in episodes:
        table.add_row(*map(plain, _cells(each)))
    if episodes:
        console.print(table)


def _cells(episode: dict[str, Any]) -> tuple[str, ...]:
    videos = ", ".join(f"{slot}.{'+'.join(kinds)}" for slot, kinds in episode["slots"].items())
    missing = [name for name in ("data", "row") if not episode[name]] + ["videos"] * (not episode["slots"])
    return (
        str(episode["episode"]),
        str(episode["chunk"]),
        str(episode["file"]),
        episode["name"],
        "-" if episode["rows"] is None else str(episode["rows"]),
        "-" if episode["seconds"] is None else f"{episode['seconds']:.2f}",
        "-" if episode["dropped_frames"] is None else str(episode["dropped_frames"]),
        videos,
        ", ".join(missing),
    )
