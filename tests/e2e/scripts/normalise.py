"""Send rows through lerobot's own normaliser in every mode, and back.

Asked: `splits`, each `root` (whose meta/stats.json is used) and `rows` (npz of feature -> (T, D)), and `target`, an npz
to write. Its arrays are `<number>/<mode>/<there|back>/<feature>`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from lerobot.configs.types import FeatureType, NormalizationMode
from lerobot.datasets import LeRobotDatasetMetadata
from lerobot.lerobot_types import TransitionKey
from lerobot.processor import NormalizerProcessorStep, UnnormalizerProcessorStep
from lerobot.processor.converters import create_transition
from lerobot.utils.feature_utils import dataset_to_policy_features
from offline_lerobot import answer, question

warnings.simplefilter("error")


def through(step: Any, rows: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    observation = {name: value for name, value in rows.items() if name != "action"}
    passed = step(create_transition(observation=observation, action=rows["action"]))
    result: dict[str, torch.Tensor] = dict(passed[TransitionKey.OBSERVATION])
    result["action"] = passed[TransitionKey.ACTION]
    return result


asked = question()
arrays: dict[str, Any] = {}
for number, split in enumerate(asked["splits"]):
    meta = LeRobotDatasetMetadata("local/split", root=split["root"])
    features = dataset_to_policy_features(meta.features)
    with np.load(split["rows"]) as file:
        rows = {name: torch.from_numpy(file[name]) for name in file.files}
    for mode in NormalizationMode:
        norm_map = dict.fromkeys((FeatureType.STATE, FeatureType.ACTION, FeatureType.VISUAL), mode)
        told = {"features": features, "norm_map": norm_map, "stats": meta.stats}
        there = through(NormalizerProcessorStep(**told), dict(rows))
        back = through(UnnormalizerProcessorStep(**told), dict(there))
        for name in rows:
            arrays[f"{number}/{mode.value}/there/{name}"] = there[name].numpy()
            arrays[f"{number}/{mode.value}/back/{name}"] = back[name].numpy()
np.savez(asked["target"], **arrays)
answer({"modes": [mode.value for mode in NormalizationMode]})
