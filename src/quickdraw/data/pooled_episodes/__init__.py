"""One recorded episode of a pooled task to one episode, or to several pieces of one (contract pooled_episodes_v1).

What the command line needs stands here and is light; the source and how it films cost Arrow and PyAV, and are imported
when they are asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quickdraw.data.pooled_episodes.options import PooledSource
from quickdraw.data.pooled_episodes.ranges import recorded_checks
from quickdraw.data.processor import Processor, Told
from quickdraw.data.recognising import folders_of
from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.video.codecs import CODECS

if TYPE_CHECKING:
    from quickdraw.data.pooled_episodes.source import PooledEpisodes
    from quickdraw.video.filming import Filming


def _source(options: Told, tree: Path) -> PooledEpisodes:
    from quickdraw.data.pooled_episodes.provenance import pooled_source

    return pooled_source(options, tree)


def _films(_: PooledSource, source: PooledEpisodes) -> dict[str, Filming]:
    """None before the source is settled, for its cameras are those the episodes hold."""
    from quickdraw.data.pooled_episodes.filming import filmings

    return {} if source.settled is None else filmings(source.settled, source.options)


def _rate(options: PooledSource, tree: Path) -> Told:
    """The frames a second of every task. Raises Refused where there is none, or more than the codec can be told of."""
    from quickdraw.data.pooled_episodes.source import rate_of

    rate_hz, codec = rate_of(tree, options.exclude_globs), CODECS[options.video.codec]
    if options.video.mode == "encode" and rate_hz > codec.most_hz:
        found = f"{codec.name} for tasks of {rate_hz} Hz"
        expected = f"a codec of so many Hz, not at most {codec.most_hz}"
        raise Refused([Fault(COMMAND_LINE, "source.video.codec", found, expected, option="+source.video.codec=...")])
    return {"target_hz": rate_hz}


def _settled(source: PooledEpisodes) -> Told:
    from quickdraw.data.pooled_episodes.settling import as_document

    return {} if source.settled is None else {"settled": as_document(source.settled)}


def _recognises(tree: Path) -> bool:
    """Whether a folder is a task, or holds one, or one that cannot be looked at, of which the source says so."""
    from quickdraw.data.pooled_episodes.tree import is_task

    return any(is_task(folder) for folder in folders_of(tree))


PROCESSOR = Processor(
    options=PooledSource,
    tree="a task folder or a recordings root",
    recognises=_recognises,
    source=_source,
    films=_films,
    checks=recorded_checks,
    decides=_rate,
    settles=_settled,
    short_forms={"source.depth": ("source.depth.mode", {"true": "lossless", "false": "none"})},
    least_val_floor=0,
)
