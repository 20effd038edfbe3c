"""What the goals are stated in: quotients of figures of one run, which another machine has too."""

from __future__ import annotations

from statistics import median

from benchmarks.measuring import middle
from benchmarks.speed import Speed


def ratios(speed: Speed) -> dict[str, float]:
    """Ratio by name: medians over medians, single runs where there is one."""
    floor, core, ours = (middle(speed.repeats[name]) for name in ("floor", "core", "ours"))
    found = {
        "core / floor, CPU": median(speed.core_tasks_cpu_s) / floor.cpu_s,
        "core with its processes' start / floor, CPU": core.cpu_s / floor.cpu_s,
        "ours / floor, CPU": ours.cpu_s / floor.cpu_s,
        "ours / floor, wall": ours.wall_s / floor.wall_s,
        "split only / ours, wall": speed.once["split only"].wall_s / ours.wall_s,
        "split only / ours, CPU": speed.once["split only"].cpu_s / ours.cpu_s,
    }
    return found | _usual_ratios(speed)


def _usual_ratios(speed: Speed) -> dict[str, float]:
    ours, pictures, video = middle(speed.repeats["ours"]), speed.footage["pictures"], speed.our_video
    found: dict[str, float] = {}
    for setting, usual in speed.usual.items():
        assert video is not None
        theirs = usual.video.pictures
        found |= {
            f"usual ({setting}) / ours, wall a camera-frame": (usual.wall_s / theirs) / (ours.wall_s / pictures),
            f"usual ({setting}) / ours, CPU a camera-frame": (usual.cpu_s / theirs) / (ours.cpu_s / pictures),
            f"ours / usual ({setting}), bytes a camera-frame": video.picture_bytes / usual.video.picture_bytes,
            f"ours / usual ({setting}), residual": video.residual / usual.video.residual,
        }
    return found
