"""Features and cameras of a dataset against what its runs, read anew, come to all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quickdraw.core.cubes import CUBE
from quickdraw.core.episode import EpisodePlan
from quickdraw.core.features import FeatureSpec
from quickdraw.pipeline.places import PROVENANCE
from quickdraw.pipeline.source import Source
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.split_view import SplitView, camera_name

SETTLED = "settled"


def check_settled(
    dataset: DatasetView, source: Source, plans: Mapping[tuple[str, int], EpisodePlan], ledger: Ledger
) -> None:
    """What provenance.json says was settled is what is settled now, and every split has just that.

    Independent of the build: which episodes are taken together, their files as they are today, the order they come in,
    and info.json. Not independent: plans and settling are by the very code that builds, for no other knows the rules.
    So this finds a dataset that was settled by other episodes, or written or edited otherwise than it was settled, and
    never a rule that is wrong in itself.
    """
    every = len(dataset.ours.episodes) if dataset.ours else 0
    if len(plans) < every:
        ledger.skip(SETTLED, dataset.root.name, f"{every - len(plans)} of {every} runs cannot be read")
        return
    with ledger.checking(SETTLED, PROVENANCE):
        again = source.settled_by(sorted(plans.values(), key=lambda plan: plan.key))
        ledger.saw(SETTLED, len(again.features) + len(again.cameras))
        told = [*_unlike(source.features, again.features), *_other_cameras(source.cameras, again.cameras)]
        if not told and source != again:
            told = [("other reasons, notes or sizes", "those of its runs")]
        for found, expected in told:
            ledger.fault(SETTLED, PROVENANCE, found=found, expected=expected, path=dataset.root / PROVENANCE)
        for name, split in dataset.splits.items():
            with ledger.checking(SETTLED, name):
                _check_split(split, again, ledger)


def _check_split(split: SplitView, source: Source, ledger: Ledger) -> None:
    """A split has the vectors and cameras of a source, in its order; cubes are of the pictures."""
    vectors = [name for name in split.info.vectors if name != CUBE.name]
    right = [feature.name for feature in source.features]
    cameras = tuple(camera_name(key) for key in split.info.cameras)
    told = [(f"vectors {', '.join(vectors)}", ", ".join(right))] if vectors != right else []
    for found, expected in (*told, *_other_cameras(cameras, source.cameras)):
        ledger.fault(SETTLED, split.name, found=found, expected=f"{expected}, by its runs")


def _unlike(settled: tuple[FeatureSpec, ...], right: tuple[FeatureSpec, ...]) -> Iterator[tuple[str, str]]:
    """Which features differ, (found, expected)."""
    there, wanted = ({feature.name: feature for feature in features} for features in (settled, right))
    for name in sorted(wanted.keys() - there.keys()):
        yield f"no feature {name}", f"{name}, which its runs come to"
    for name in sorted(there.keys() - wanted.keys()):
        yield f"a feature {name}", "none of that name, by its runs"
    for name in sorted(there.keys() & wanted.keys()):
        if there[name] != wanted[name]:
            yield f"{name}: other dimensions", "those its runs come to"
    if there == wanted and list(there) != list(wanted):
        yield f"features {', '.join(there)}", f"{', '.join(wanted)}, in the order its runs come to"


def _other_cameras(found: tuple[str, ...], right: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if found != right:
        yield f"cameras {', '.join(found)}", ", ".join(right)
