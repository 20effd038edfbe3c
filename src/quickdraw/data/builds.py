"""What each processor is to do, as the pipeline's settings: here configuration ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quickdraw.data.block_stack_ranges import block_stack_faults
from quickdraw.data.options import BlockStackSource, Config, PooledSource, Source
from quickdraw.data.pooled_ranges import pooled_faults
from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.video.codecs import CODECS

if TYPE_CHECKING:
    from quickdraw.core.cubes import CubeRule
    from quickdraw.core.episode import EpisodePlan
    from quickdraw.core.split import SplitRule
    from quickdraw.pipeline.settings import Settings

# Options of `source` that cannot change what is built.
NOT_CONTENT = ("dir", "workers", "val_from", "on_bad_run", "rehash")


def block_stack(config: Config[BlockStackSource]) -> Settings:
    """What `+processor=block_stack` is to do. Raises Refused with every option that is out of its range."""
    from quickdraw.data.sources import source_of
    from quickdraw.pipeline.settings import Settings
    from quickdraw.video.encoding import Encoding

    source, cubes = config.source, _cube_rule(config)
    _refuse(block_stack_faults(config))
    tree, output = _places(config)
    rule = _split_rule(source)
    height_px, width_px = source.hw
    encoding = Encoding(height_px, width_px, source.target_hz, **asdict(source.video))
    return Settings(
        name=source.name,
        source=source_of("block_stack", asdict(source), tree),
        rule=rule,
        encodings=dict.fromkeys(source.cameras, encoding),
        cubes=cubes,
        stats=_stats(source),
        max_runs_per_campaign=source.max_runs_per_campaign,
        output=output,
        content=_content(source, rule) | {"objects": "none" if cubes is None else "cube"},
        on_bad_run=_on_bad_run(source),
        rehash=source.rehash,
    )


def pooled_episodes(config: Config[PooledSource]) -> Settings:
    """What `+processor=pooled_episodes` is to do, as far as it is known before an episode is.

    Raises Refused with every option that is out of its range, and where the tree has no task, or no rate.
    """
    from quickdraw.data.pooled_episodes.source import rate_of
    from quickdraw.data.sources import source_of
    from quickdraw.pipeline.settings import Settings

    source = config.source
    _refuse(pooled_faults(config))
    tree, output = _places(config)
    rule = _split_rule(source)
    rate_hz = rate_of(tree, rule.exclude_globs)
    _refuse(_rate_faults(source, rate_hz))
    content = _content(source, rule) | {"target_hz": rate_hz}
    return Settings(
        name=source.name,
        source=source_of("pooled_episodes", content, tree),
        rule=rule,
        encodings={},
        cubes=None,
        stats=_stats(source),
        max_runs_per_campaign=source.max_runs_per_campaign,
        output=output,
        content=content,
        on_bad_run=_on_bad_run(source),
        rehash=source.rehash,
        settling=settle_pooled,
    )


def settle_pooled(settings: Settings, plans: Iterable[EpisodePlan]) -> Settings:
    """The settings with the features and cameras that the episodes turned out to hold. Raises Refused."""
    from quickdraw.data.pooled_episodes.settling import as_document
    from quickdraw.data.pooled_episodes.source import PooledEpisodes
    from quickdraw.data.pooled_filming import filmings

    source = settings.source
    assert isinstance(source, PooledEpisodes)
    source = source.settled_by(plans)
    settled = source.settled
    assert settled is not None
    return replace(
        settings,
        source=source,
        encodings=filmings(settled, source.options, settings.content["video"]),
        content={**settings.content, "settled": as_document(settled)},
    )


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise Refused(faults)


def _places(config: Config[Any]) -> tuple[Path, Path]:
    """The source's folder and the dataset's. Raises Refused where one is inside the other."""
    tree = Path(config.source.dir).absolute()
    output = Path(config.output.dir or f"datasets/{config.source.name}").resolve()
    if tree.resolve().is_relative_to(output) or output.is_relative_to(tree.resolve()):
        found = f"{output} and the raw tree {tree}, one inside the other"
        raise Refused([Fault(COMMAND_LINE, "output.dir", found, "two folders apart", option="+output.dir=<folder>")])
    return tree, output


def _split_rule(source: Source) -> SplitRule:
    """Raises Refused where the dataset that val is taken from is none."""
    from quickdraw.core.split import SplitRule
    from quickdraw.pipeline.trace import val_runs_of

    val_runs = tuple(source.val_runs) if source.val_from is None else val_runs_of(Path(source.val_from))
    rule = SplitRule(
        val_frac=source.val_frac,
        val_floor=source.val_floor,
        eval_globs=tuple(source.eval_globs),
        exclude_globs=tuple(source.exclude_globs),
        val_runs=val_runs,
    )
    if isinstance(source, BlockStackSource):
        return rule
    return replace(rule, val_rule="random" if source.val_rule == "random" else "longest", seed=source.seed)


def _content(source: Source, rule: SplitRule) -> dict[str, Any]:
    """The options that can change the dataset, val's runs spelled out."""
    options = {name: value for name, value in asdict(source).items() if name not in NOT_CONTENT}
    return options | {"val_runs": list(rule.val_runs)}


def _stats(source: Source) -> Literal["train", "split"]:
    return "split" if source.lerobot_stats == "split" else "train"


def _on_bad_run(source: Source) -> Literal["refuse", "skip"]:
    return "skip" if source.on_bad_run == "skip" else "refuse"


def _cube_rule(config: Config[BlockStackSource]) -> CubeRule | None:
    """How cubes are measured; None where they are not wanted, or not shown."""
    from quickdraw.core.cubes import CubeRule
    from quickdraw.core.hues import CubeThresholds
    from quickdraw.data.block_stack import CUBE_CAMERAS

    if config.source.objects == "none" or not set(CUBE_CAMERAS) <= set(config.source.cameras):
        return None
    return CubeRule(CUBE_CAMERAS, CubeThresholds(**vars(config.source.cube)))


def _rate_faults(source: PooledSource, rate_hz: int) -> list[Fault]:
    """Where the tasks have more frames a second than the codec can be told of."""
    codec = CODECS[source.video.codec]
    if source.video.mode == "copy" or rate_hz <= codec.most_hz:
        return []
    found, expected = f"{codec.name} for tasks of {rate_hz} Hz", f"a codec of so many Hz, not at most {codec.most_hz}"
    return [Fault(COMMAND_LINE, "source.video.codec", found, expected, option="+source.video.codec=...")]
