"""What a build is to do, as plain values: the door makes this from configuration, nothing below knows the latter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from quickdraw.core.cubes import CUBE, CubeRule
from quickdraw.core.episode import EpisodePlan
from quickdraw.core.split import SplitRule
from quickdraw.formats.lerobot.schema import CameraSpec, DatasetSpec
from quickdraw.pipeline.source import Source
from quickdraw.video.filming import Filming

StatsMode = Literal["train", "split"]
OnBadRun = Literal["refuse", "skip"]


def settled_already(settings: Settings, _plans: Iterable[EpisodePlan]) -> Settings:
    """The settings of a source whose features and cameras are known before an episode is."""
    return settings


@dataclass(frozen=True, slots=True)
class Settings:
    """One build.

    `encodings` is camera -> how its pictures are filmed. `content` is the part of the configuration that can change the
    dataset, JSON-ready, for provenance; `stats` says whose statistics each split's stats.json carries; without `cubes`
    none are measured. `max_runs_per_campaign` 0 is all. `on_bad_run` says whether one refuses the build or is left out
    of it; with `rehash` no file is taken for unchanged by its size and time. `settling` completes the settings by what
    the episodes turned out to hold, anew where they were settled by others; it raises Refused where they cannot be one
    dataset.
    """

    name: str
    source: Source
    rule: SplitRule
    encodings: Mapping[str, Filming]
    cubes: CubeRule | None
    stats: StatsMode
    max_runs_per_campaign: int
    output: Path
    content: Mapping[str, Any]
    on_bad_run: OnBadRun = "refuse"
    rehash: bool = False
    settling: Callable[[Settings, Iterable[EpisodePlan]], Settings] = field(default=settled_already, repr=False)

    def dataset_spec(self) -> DatasetSpec:
        """What every split has in common."""
        return DatasetSpec(
            rate_hz=self.source.rate_hz,
            robot_type=self.source.robot_type,
            features=(*self.source.features, *([CUBE] if self.cubes else [])),
            camera_specs=tuple(self._camera(name, self.encodings[name]) for name in self.source.cameras),
        )

    def _camera(self, name: str, encoding: Filming) -> CameraSpec:
        return CameraSpec(name, encoding.height_px, encoding.width_px, encoding.channels, encoding.info())
