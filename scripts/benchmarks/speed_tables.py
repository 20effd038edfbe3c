"""What `scripts/bench speed` prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from benchmarks.measuring import Measured, least, middle, most
from benchmarks.ratios import ratios
from benchmarks.speed import Speed
from benchmarks.tables import table


def speed_tables(speed: Speed) -> Iterator[RenderableType]:
    """Footage, costs, videos, ratios."""
    footage = speed.footage
    yield (
        f"footage: {footage['runs']} runs, {footage['episode_minutes']:.1f} episode minutes, "
        f"{footage['camera_minutes']:.1f} camera minutes, {footage['pictures']} camera frames in "
        f"{footage['camera_files']} files of {footage['bytes'] / footage['pictures'] / 1000:.1f} kB a picture; "
        f"{footage['rows']} rows; {speed.options.workers} workers; medians of {speed.options.repeats}, (least - most)"
    )
    yield _costs(speed)
    if speed.usual:
        yield _videos(speed)
    yield table("ratios", ["", ""], [[name, f"{ratio:.3f}"] for name, ratio in ratios(speed).items()])


def _costs(speed: Speed) -> Table:
    pictures = speed.footage["pictures"]
    rows = [[name, *_spread(costs, pictures)] for name, costs in speed.repeats.items()]
    rows += [[name, *_single(cost)] for name, cost in speed.once.items()]
    for setting, usual in speed.usual.items():
        ms = f"{usual.cpu_s / usual.video.pictures * 1e3:.2f}"
        memory = [f"{usual.command.parent_peak_mb:.0f}", f"{usual.command.worker_peak_mb:.0f}"]
        rows.append([f"usual, {setting}*", f"{usual.wall_s:.1f}", f"{usual.cpu_s:.1f}", ms, *memory])
    costs = table("cost", ["", "wall s", "CPU s", "CPU ms a camera frame", "parent peak MB", "worker peak MB"], rows)
    if speed.usual:
        costs.caption = f"* of {speed.options.usual_cameras} camera files of one run, without lerobot's imports"
    return costs


def _spread(costs: list[Measured], pictures: float) -> list[str]:
    low, mid, high = least(costs), middle(costs), most(costs)
    return [
        f"{mid.wall_s:.1f} ({low.wall_s:.1f} - {high.wall_s:.1f})",
        f"{mid.cpu_s:.1f} ({low.cpu_s:.1f} - {high.cpu_s:.1f})",
        f"{mid.cpu_s / pictures * 1e3:.2f}",
        f"{high.parent_peak_mb:.0f}",
        f"{high.worker_peak_mb:.0f}",
    ]


def _single(cost: Measured) -> list[str]:
    memory = [f"{cost.parent_peak_mb:.0f}", f"{cost.worker_peak_mb:.0f}"]
    return [f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}", "", *memory]


def _videos(speed: Speed) -> Table:
    assert speed.our_video is not None
    videos = {"ours": speed.our_video} | {f"usual, {name}": usual.video for name, usual in speed.usual.items()}
    rows = [[name, f"{video.picture_bytes:.0f}", f"{video.residual:.2f}"] for name, video in videos.items()]
    return table("video of the same camera files", ["", "bytes a camera frame", "residual of 255"], rows)
