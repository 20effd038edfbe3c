"""Decode every row of some episodes with lerobot's pyav decoder, called in batches as a loader of windows would.

Asked: `jobs`, each `path` of a video file, `from_timestamp`, `timestamps` (an npy of the rows' float32 timestamps) and
`target`, an npy to write: `(T, bits)` mean level of each painted block. Raises where lerobot misses its tolerance.
"""

from __future__ import annotations

import numpy as np
import torch
from lerobot.datasets.video_utils import decode_video_frames_pyav
from offline_lerobot import answer, question

BATCH, BLOCK, BITS = 250, 8, 26

decoded = []
for job in question()["jobs"]:
    rows = torch.from_numpy(np.load(job["timestamps"]))
    levels = []
    for start in range(0, len(rows), BATCH):
        batch = [job["from_timestamp"] + stamp for stamp in rows[start : start + BATCH].tolist()]  # as lerobot adds
        pictures = decode_video_frames_pyav(job["path"], batch, 1e-4, return_uint8=True).numpy()
        centres = [pictures[:, 0, 4 + BLOCK * (bit // 8), 4 + BLOCK * (bit % 8)] for bit in range(BITS)]
        levels.append(np.stack(centres, axis=1))
    np.save(job["target"], np.concatenate(levels))
    decoded.append(len(rows))
answer({"decoded": decoded})
