"""Read every row of splits. Asked: `jobs`, each `root` and the npz to write, `target` (see pooled_arrays.py)."""

from __future__ import annotations

from offline_lerobot import answer, opened, question
from pooled_arrays import dump

for job in question()["jobs"]:
    dump(opened(job["root"]), job["target"])
answer({})
