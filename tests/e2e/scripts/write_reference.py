"""Write a dataset the way lerobot itself writes one: create, add_frame, save_episode, finalize.

Asked: `root`, `features`, `fps`, `robot_type`, `encoder` (of RGBEncoderConfig), `tasks` (an episode each) and `arrays`,
an npz whose `<episode>/<feature>` hold rows or pictures.
"""

from __future__ import annotations

import numpy as np
from lerobot.configs.video import RGBEncoderConfig
from lerobot.datasets import LeRobotDataset
from offline_lerobot import answer, question

asked = question()
features = {
    name: {key: value for key, value in feature.items() if key != "info"} | {"shape": tuple(feature["shape"])}
    for name, feature in asked["features"].items()
}
dataset = LeRobotDataset.create(
    "local/reference",
    fps=asked["fps"],
    features=features,
    root=asked["root"],
    robot_type=asked["robot_type"],
    rgb_encoder=RGBEncoderConfig(**asked["encoder"]),
    encoder_threads=1,
)
with np.load(asked["arrays"]) as arrays:
    for number, task in enumerate(asked["tasks"]):
        columns = {name: arrays[f"{number}/{name}"] for name in features}
        for row in range(len(columns["action"])):
            dataset.add_frame({name: column[row] for name, column in columns.items()} | {"task": task})
        dataset.save_episode(parallel_encoding=False)
dataset.finalize()
answer({"episodes": dataset.num_episodes})
