"""Read depth as lerobot's dataset reader does: decode by time, then to mm by what info.json says of the feature.

Asked: `clips`, each `path`, `info`, `timestamps` [s] and `target`, an npy to write `(T, H, W)` mm to; and `scales`,
each what info.json says of one. Answers `levels`: the mm of each of the 4096 codes, per scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from lerobot.configs.video import DepthEncoderConfig, encoder_config_from_video_info
from lerobot.datasets.depth_utils import dequantize_depth
from lerobot.datasets.video_utils import decode_video_frames
from offline_lerobot import answer, question

asked = question()


def in_mm(codes: torch.Tensor, info: dict[str, Any]) -> np.ndarray[Any, Any]:
    scale = encoder_config_from_video_info(info)
    assert isinstance(scale, DepthEncoderConfig)
    read = dequantize_depth(
        codes, depth_min=scale.depth_min, depth_max=scale.depth_max, shift=scale.shift, use_log=scale.use_log
    )
    return np.asarray(read)


for clip in asked["clips"]:
    codes = decode_video_frames(clip["path"], clip["timestamps"], 1e-4, "torchcodec", is_depth=True)
    np.save(clip["target"], in_mm(codes, clip["info"])[:, 0])
every = torch.from_numpy(np.arange(4096, dtype=np.uint16).reshape(1, 1, 64, 64))
answer({"levels": [in_mm(every, info).ravel().tolist() for info in asked["scales"]]})
