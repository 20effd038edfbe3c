"""Write a dataset with depth the way lerobot itself writes one, depth as it is asked for: uint16 mm or float32 m.

Asked: `root`, `fps` and `arrays`, an npz whose `<episode>/depth` `(T, H, W, 1)`, `<episode>/colour` `(T, H, W, 3)` and
`<episode>/state` `(T, D)` float32 hold an episode each.
"""

from __future__ import annotations

import numpy as np
from lerobot.datasets import LeRobotDataset
from offline_lerobot import answer, question

DEPTH, COLOUR, STATE, ACTION = "observation.images.depth", "observation.images.colour", "observation.state", "action"

asked = question()
with np.load(asked["arrays"]) as arrays:
    held = dict(arrays)
height, width = held["0/depth"].shape[1:3]
axes, names = ["height", "width", "channels"], [str(n) for n in range(held["0/state"].shape[1])]
features = {
    DEPTH: {"dtype": "video", "shape": (height, width, 1), "names": axes, "info": {"is_depth_map": True}},
    COLOUR: {"dtype": "video", "shape": (height, width, 3), "names": axes},
    STATE: {"dtype": "float32", "shape": (len(names),), "names": names},
    ACTION: {"dtype": "float32", "shape": (len(names),), "names": names},
}
dataset = LeRobotDataset.create("local/depth", fps=asked["fps"], features=features, root=asked["root"])
for number in range(len(held) // 3):
    rows = [held[f"{number}/{kind}"] for kind in ("depth", "colour", "state", "state")]
    for row in zip(*rows, strict=True):
        dataset.add_frame(dict(zip((DEPTH, COLOUR, STATE, ACTION), row, strict=True)) | {"task": "look"})
    dataset.save_episode(parallel_encoding=False)
dataset.finalize()
answer({"episodes": dataset.num_episodes})
