"""What a training script asks of a split before its first step: features, sampler, a batch, a stream.

Asked: `root`, `chunk`. Answers policy features, the shapes of a batch, and what StreamingLeRobotDataset yields.
"""

from __future__ import annotations

from typing import Any

import lerobot.datasets.streaming_dataset as streaming
import torch
from lerobot.datasets import EpisodeAwareSampler, StreamingLeRobotDataset
from lerobot.datasets.video_utils import decode_video_frames_pyav
from lerobot.utils.feature_utils import dataset_to_policy_features
from offline_lerobot import answer, described, opened, question, torchcodec_loads


def pyav_instead(path: str, timestamps: list[float], tolerance_s: float, **options: Any) -> torch.Tensor:
    """lerobot's own pyav decoder in the place of torchcodec, which the streaming reader insists on."""
    return decode_video_frames_pyav(path, timestamps, tolerance_s, return_uint8=options["return_uint8"])


asked = question()
split = opened(
    asked["root"],
    return_uint8=False,
    delta_timestamps={"action": [k / 30 for k in range(asked["chunk"])], "observation.state": [-1 / 30, 0.0]},
)
policy = dataset_to_policy_features(split.meta.features)
meta = split.meta
sampler = EpisodeAwareSampler(meta.episodes["dataset_from_index"], meta.episodes["dataset_to_index"], shuffle=True)
batch = next(iter(torch.utils.data.DataLoader(split, batch_size=4, sampler=sampler, num_workers=0)))
if not torchcodec_loads():
    streaming.decode_video_frames_torchcodec = pyav_instead
stream = StreamingLeRobotDataset("local/split", root=asked["root"], shuffle=False, return_uint8=True, buffer_size=7)
answer({
    "policy": {name: [feature.type.value, list(feature.shape)] for name, feature in policy.items()},
    "sampled": len(sampler),
    "batch": {name: [str(v.dtype), list(v.shape)] for name, v in batch.items() if isinstance(v, torch.Tensor)},
    "range": [min(batch[key].min().item() for key in meta.video_keys),
              max(batch[key].max().item() for key in meta.video_keys)],
    "streamed": [described(item, meta.video_keys) for item in stream],
    "stream_decoder": "torchcodec" if torchcodec_loads() else "pyav in its place",
})  # fmt: skip
