"""What a build is to do, as plain values: the door makes this from configuration, nothing below knows the latter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from quickdraw.core.cubes import CUBE, CubeRule
from quickdraw.core.split import SplitRule
from quickdraw.formats.lerobot.schema import DatasetSpec
from quickdraw.pipeline.source import Source
from quickdraw.video.encoding import Encoding

StatsMode = Literal["train", "split"]
OnBadRun = Literal["refuse", "skip"]


@dataclass(frozen=True, slots=True)
class Settings:
    """One build.

    `content` is the part of the configuration that can change the dataset, JSON-ready, for provenance; `stats` says
    whose statistics each split's stats.json carries; without `cubes` none are
    measured. `max_runs_per_campaign` 0 is all. `on_bad_run` says whether one refuses the build or is left out of it;
    with `rehash` no file is taken for unchanged by its size and time.
    """

    name: str
    source: Source
    rule: SplitRule
    encoding: Encoding
    cubes: CubeRule | None
    stats: StatsMode
    max_runs_per_campaign: int
    output: Path
    content: Mapping[str, Any]
    on_bad_run: OnBadRun = "refuse"
    rehash: bool = False

    def dataset_spec(self) -> DatasetSpec:
        """What every split has in common."""
        return DatasetSpec(
            rate_hz=self.source.rate_hz,
            robot_type=self.source.robot_type,
            features=(*self.source.features, *([CUBE] if self.cubes else [])),
            cameras=self.source.cameras,
            height_px=self.encoding.height_px,
            width_px=self.encoding.width_px,
            video_info=self.encoding.info(),
        )
