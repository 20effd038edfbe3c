"""Merge, split and delete with lerobot's own tools, then read every row of what came out.

Asked: `merge` (lists of folders), `edit` (a folder), `delete` (episodes), `divide` (name -> episodes), `target`.
Answers, by name of the result, its folder and its items; small pictures are put into `<target>/<name>.npz` as
`<row>/<camera>`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from lerobot.datasets import aggregate_datasets, delete_episodes, merge_datasets, split_dataset
from offline_lerobot import answer, described, opened, question


def report(name: str, root: Path, target: Path) -> dict[str, Any]:
    """Every row of a small result with its pictures; of a large one every fifth, its pictures as digests."""
    split = opened(str(root))
    cameras = split.meta.video_keys
    small = split.meta.features[cameras[0]]["shape"][0] <= 64
    items = [split[row] for row in range(0, len(split), 1 if small else 5)]
    if small:
        pictures = {f"{int(i['index'])}/{k}": i[k].permute(1, 2, 0).numpy() for i in items for k in cameras}
        np.savez(target / f"{name}.npz", **pictures)
    return {
        "root": str(root),
        "episodes": split.num_episodes,
        "frames": split.num_frames,
        "items": [described(item, cameras) for item in items],
    }


asked = question()
target = Path(asked["target"])
target.mkdir(parents=True, exist_ok=True)
results: dict[str, Path] = {}
for number, roots in enumerate(asked["merge"]):
    results[f"merged{number}"] = target / f"merged{number}"
    merge_datasets([opened(root) for root in roots], "local/merged", output_dir=results[f"merged{number}"])
    results[f"aggregated{number}"] = target / f"aggregated{number}"
    aggregate_datasets(
        repo_ids=[f"local/{i}" for i in range(len(roots))],
        roots=[Path(root) for root in roots],
        aggr_repo_id="local/aggregated",
        aggr_root=results[f"aggregated{number}"],
        concatenate_videos=False,
        concatenate_data=False,
    )
results["deleted"] = target / "deleted"
delete_episodes(opened(asked["edit"]), asked["delete"], output_dir=results["deleted"], repo_id="local/deleted")
split_dataset(opened(asked["edit"]), asked["divide"], output_dir=target / "divided")
results |= {name: target / "divided" / name for name in asked["divide"]}
answer({name: report(name, root, target) for name, root in results.items()})
