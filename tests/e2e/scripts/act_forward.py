"""One normalised batch through an ACT policy that is configured from a split, as lerobot-train would.

Asked: `jobs`, each `root`, `arguments` (of lerobot-train, beside those naming the split) and `expand` (features whose
one channel is given three). Answers of each the features the policy takes and its loss, or what it raised.
"""

from __future__ import annotations

from typing import Any

import draccus
import torch
from lerobot.configs.train import TrainPipelineConfig
from lerobot.datasets.factory import resolve_delta_timestamps
from lerobot.policies.factory import make_policy, make_pre_post_processors
from offline_lerobot import answer, opened, question

SMALL = ["--policy.type=act", "--policy.chunk_size=4", "--policy.n_action_steps=4", "--policy.dim_model=32",
         "--policy.n_heads=2", "--policy.dim_feedforward=32", "--policy.pretrained_backbone_weights=null",
         "--policy.device=cpu", "--policy.push_to_hub=false", "--dataset.repo_id=local/split"]  # fmt: skip


def forward(asked: dict[str, Any]) -> dict[str, Any]:
    config = draccus.parse(TrainPipelineConfig, None, args=[*SMALL, *asked["arguments"]])
    torch.manual_seed(0)
    meta = opened(asked["root"]).meta
    policy = make_policy(config.policy, ds_meta=meta)
    before, _ = make_pre_post_processors(config.policy, dataset_stats=meta.stats)
    times = resolve_delta_timestamps(config.policy, meta)
    split = opened(asked["root"], return_uint8=False, delta_timestamps=times)
    batch = before(next(iter(torch.utils.data.DataLoader(split, batch_size=4, shuffle=False))))
    for name in asked["expand"]:
        batch[name] = batch[name].expand(-1, 3, -1, -1)
    policy.train()
    takes = {name: [ft.type.value, list(ft.shape)] for name, ft in policy.config.input_features.items()}
    normal = {n: [float(batch[n].mean()), float(batch[n].std())] for n in takes if n in batch}
    try:
        loss, _ = policy.forward(batch)
        loss.backward()
    except RuntimeError as error:
        return {"takes": takes, "raised": str(error)}
    return {"takes": takes, "loss": float(loss), "normal": normal}


answer({"told": [forward(job) for job in question()["jobs"]]})
