"""Open splits with lerobot's reader and say what it returns.

Asked: `jobs`, each `root`, `rows` (numbers, or null for all of them) and options of LeRobotDataset. Answers a report a
job and working decoder.
"""

from __future__ import annotations

from typing import Any

from offline_lerobot import answer, backends, described, opened, question


def report(job: dict[str, Any], backend: str) -> dict[str, Any]:
    split = opened(job["root"], video_backend=backend, **job.get("options", {}))
    rows = range(len(split)) if job["rows"] is None else job["rows"]
    return {
        "root": job["root"],
        "backend": backend,
        "episodes": split.num_episodes,
        "frames": split.num_frames,
        "items": [described(split[row], split.meta.video_keys) for row in rows],
    }


asked = question()
answer({"backends": backends(), "reports": [report(job, b) for job in asked["jobs"] for b in backends()]})
