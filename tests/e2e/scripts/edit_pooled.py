"""Merge, delete, split and recompute_stats with lerobot's own tools; then every row of what came out.

Asked: `merge` (folders), `delete` (episodes of the merged), `divide` (name -> episodes of the merged), `target`. Writes
`<target>/<name>.npz` of "merged", "deleted", the parts and "recomputed", whose folders are `<target>/<name>`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from lerobot.datasets import delete_episodes, merge_datasets, recompute_stats, split_dataset
from offline_lerobot import answer, opened, question
from pooled_arrays import dump

asked = question()
target = Path(asked["target"])
target.mkdir(parents=True, exist_ok=True)
merge_datasets([opened(root) for root in asked["merge"]], "local/merged", output_dir=target / "merged")
merged = opened(str(target / "merged"))
delete_episodes(merged, asked["delete"], output_dir=target / "deleted", repo_id="local/deleted")
split_dataset(merged, asked["divide"], output_dir=target)
shutil.copytree(target / "merged", target / "recomputed")
recompute_stats(opened(str(target / "recomputed")))
for name in ("merged", "deleted", "recomputed", *asked["divide"]):
    dump(opened(str(target / name)), target / f"{name}.npz")
answer({})
