"""What a build is to do, as the pipeline's settings, of whatever processor: here configuration ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickdraw.data.config_files import option_order
from quickdraw.data.options import NOT_CONTENT, Config, Options, ValByRule, as_json
from quickdraw.data.processor import processor, source_of
from quickdraw.data.recognising import refuse_another
from quickdraw.errors import COMMAND_LINE, Fault, Refused

if TYPE_CHECKING:
    from quickdraw.core.episode import EpisodePlan
    from quickdraw.core.split import SplitRule
    from quickdraw.pipeline.settings import Settings


def settings_of(name: str, config: Config[Any]) -> Settings:
    """What `+processor=<name>` is to do, as far as it is known before an episode is.

    Raises Refused with every option that is out of its range, and where the tree is none of the processor's.
    """
    from quickdraw.pipeline.settings import Settings

    chosen, options = processor(name), config.source
    faults = chosen.faults(config)
    if faults:
        raise Refused(faults)
    tree, output = _places(config)
    refuse_another(name, tree)
    rule = _split_rule(options)
    content = {**_content(name, options, rule), **chosen.decides(options, tree)}
    source = source_of(name, content, tree)
    return Settings(
        name=options.name,
        source=source,
        rule=rule,
        encodings=chosen.films(options, source),
        cubes=chosen.cubes(options),
        stats=options.lerobot_stats,
        max_runs_per_campaign=options.max_runs_per_campaign,
        output=output,
        content=content,
        on_bad_run=options.on_bad_run,
        rehash=options.rehash,
        settling=Settling(name, options),
    )


@dataclass(frozen=True)
class Settling:
    """Completes settings by what the episodes turned out to hold."""

    processor: str
    options: Options

    def __call__(self, settings: Settings, plans: Iterable[EpisodePlan]) -> Settings:
        """The settings with what these episodes hold; the same where the source is. Raises Refused."""
        source, chosen = settings.source.settled_by(plans), processor(self.processor)
        if source is settings.source:
            return settings
        films, content = chosen.films(self.options, source), {**settings.content, **chosen.settles(source)}
        return replace(settings, source=source, encodings=films, content=content)


def output_folder(config: Config[Any]) -> Path:
    """The dataset's folder."""
    return Path(config.output.dir or f"datasets/{config.source.name}").resolve()


def _places(config: Config[Any]) -> tuple[Path, Path]:
    """The source's folder and the dataset's. Raises Refused where one is inside the other."""
    tree = Path(config.source.dir).absolute()
    output = output_folder(config)
    if tree.resolve().is_relative_to(output) or output.is_relative_to(tree.resolve()):
        found = f"{output} and the raw tree {tree}, one inside the other"
        raise Refused([Fault(COMMAND_LINE, "output.dir", found, "two folders apart", option="+output.dir=<folder>")])
    return tree, output


def _split_rule(options: Options) -> SplitRule:
    """Raises Refused where the dataset that val is taken from is none."""
    from quickdraw.core.split import SplitRule
    from quickdraw.pipeline.trace import val_runs_of

    val_runs = options.val_runs if options.val_from is None else val_runs_of(Path(options.val_from))
    rule = SplitRule(
        val_frac=options.val_frac,
        val_floor=options.val_floor,
        eval_globs=options.eval_globs,
        exclude_globs=options.exclude_globs,
        val_runs=val_runs,
    )
    return replace(rule, val_rule=options.val_rule, seed=options.seed) if isinstance(options, ValByRule) else rule


def _content(name: str, options: Options, rule: SplitRule) -> Mapping[str, Any]:
    """The options that can change the dataset, JSON-ready, val's runs spelled out."""
    told = as_json(options) | {"val_runs": list(rule.val_runs)}
    return {each: told[each] for each in option_order(name) if each not in NOT_CONTENT}
