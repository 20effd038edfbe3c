"""What the pipeline asks of a source of episodes. One file in `data/` answers for each raw format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from quickdraw.core.episode import DepthPlan, EpisodeKey, EpisodePlan, FramePlan, Rejected, Rows
from quickdraw.core.features import FeatureSpec
from quickdraw.errors import Fault, Words


class Campaign(Protocol):
    """A group of episodes that goes to one split, or to the pool."""

    @property
    def name(self) -> str: ...
    @property
    def runs(self) -> Sequence[EpisodeKey]: ...
    @property
    def ignored(self) -> Sequence[str]: ...
    @property
    def rejected(self) -> Sequence[Rejected]: ...
    @property
    def faults(self) -> Sequence[Fault]: ...


class Source(Protocol):
    """A tree of raw recordings. It is sent to workers, so it is small and pickles.

    Its features and cameras may be known only when all episodes are planned: `settled_by` then tells them. Two that
    are settled alike are equal.
    """

    @property
    def tree(self) -> Path: ...
    @property
    def processor(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def robot_type(self) -> str: ...
    @property
    def words(self) -> Words: ...
    @property
    def rate_hz(self) -> int: ...
    @property
    def features(self) -> tuple[FeatureSpec, ...]: ...
    @property
    def cameras(self) -> tuple[str, ...]: ...

    def campaigns(self) -> Sequence[str]:
        """Campaign names, sorted. Raises Refused where there is no tree."""
        ...

    def campaign(self, name: str) -> Campaign:
        """The runs of one campaign."""
        ...

    def path(self, key: EpisodeKey, file: str) -> Path:
        """A source file of an episode, from its name in `EpisodePlan.stamps`."""
        ...

    def planning(self) -> Mapping[str, Any]:
        """What `plan` depends on besides the files of the episode, JSON-ready."""
        ...

    def reading(self) -> Mapping[str, Any]:
        """What `rows` depends on besides the plan and the files of the episode, JSON-ready."""
        ...

    def settled_by(self, plans: Iterable[EpisodePlan]) -> Self:
        """The same with the features and cameras of these episodes, whatever it was settled by. Raises Refused."""
        ...

    def notes(self) -> Sequence[str]:
        """What the user should know of the whole tree, though nothing is wrong."""
        ...

    def looks(self, key: EpisodeKey) -> str:
        """Stands for size and time of every file that `plan` reads: as long as it is the same, so is the plan."""
        ...

    def plan(self, key: EpisodeKey) -> EpisodePlan | Rejected:
        """What the episode would become, without decoding a picture."""
        ...

    def rows(self, plan: EpisodePlan) -> Rows:
        """Feature name -> `(T, D)`, in the feature's dtype."""
        ...

    def frame_plan(self, plan: EpisodePlan, camera: str) -> FramePlan | DepthPlan:
        """Which picture of the camera's file each row shows."""
        ...
