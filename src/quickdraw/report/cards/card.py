"""The dataset card: README.md of a dataset, for the people, and the Hub, that find it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quickdraw.formats.lerobot.depth import is_depth
from quickdraw.formats.lerobot.reader import SplitReader
from quickdraw.formats.lerobot.schema import CODEBASE_VERSION
from quickdraw.report.cards.dims import dims_of, dims_table, rotations, vectors
from quickdraw.report.cards.front_matter import Config, Front, front_matter, theirs
from quickdraw.report.cards.markdown import code, flat, table, words
from quickdraw.report.rotations import Rotation
from quickdraw.report.subject import Subject

BEGIN, END = "<!-- yours -->", "<!-- /yours -->"
PLACE = re.compile(re.escape(BEGIN) + r"(.*?)(?:" + re.escape(END) + r"|\Z)", re.DOTALL)
ADDRESS = "user/name"  # where it will be on the Hub is not known to a build
MOST_CAMPAIGNS = 40  # of a split that are named

SLOT = """
## Licence

To be chosen by the owner of the recordings: write it here, and its id under `license` at the top.

## Citation

```bibtex
@misc{to_be_filled_in,
  title  = {},
  author = {},
  year   = {},
  url    = {}
}
```
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a person wrote into a card: `yours` between the markers, None for what stands there at first; `front`
    their keys of the front matter, the licence among them.
    """

    yours: str | None = None
    front: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.yours is not None or bool(self.front)


def kept(text: str) -> Kept:
    """What to keep of a card when it is made again; nothing of a README that is no card of ours but its front matter.

    A closing marker that was lost loses no words: all that follows the opening one is kept. Raises Refused where its
    front matter cannot be read.
    """
    text = text.replace("\r\n", "\n")
    places = PLACE.findall(text)
    yours = "\n".join(place.strip("\n") for place in places)
    return Kept(None if not places or yours.strip() == SLOT.strip() else yours, theirs(text))


def card(subject: Subject, kept: Kept | None, *, stamp: str = "") -> str:
    """README.md of a dataset, with what a person wrote in it before. `stamp` is shown to no reader."""
    configs = [Config(name, name) for name in subject.splits]
    return _rendered(subject, configs, kept=kept, stamp=stamp, address=ADDRESS, only=None)


def split_card(subject: Subject, split: str, address: str, kept: Kept | None) -> str:
    """README.md of a repository, at `address`, that holds one split at its root."""
    return _rendered(subject, [Config("default")], kept=kept, stamp="", address=address, only=split)


def addressed(text: str, address: str) -> str:
    """A card of ours that tells where on the Hub its dataset is."""
    return text.replace(f'snapshot_download("{ADDRESS}"', f'snapshot_download("{address}"')


def _rendered(
    subject: Subject, configs: list[Config], *, kept: Kept | None, stamp: str, address: str, only: str | None
) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    kept = kept or Kept()
    shown = {only: subject.splits[only]} if only is not None else subject.splits
    name = flat(subject.root.name if subject.trace is None else subject.trace.name)
    name = name if only is None else f"{name}, {flat(only)}"
    front = Front(name, sum(reader.rows for reader in shown.values()), _tags(subject), configs, kept.front)
    loader = PackageLoader("quickdraw.report")
    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(loader=loader, undefined=StrictUndefined, autoescape=False, **options)
    environment.filters |= {"words": words, "code": code, "python": _literal, "columns": _columns}
    return environment.get_template("card.md.j2").render(
        front=front_matter(front),
        stamp=stamp,
        name=name,
        address=address,
        only=only,
        slot=SLOT.strip("\n") if kept.yours is None else kept.yours,
        trace=subject.trace,
        version=CODEBASE_VERSION,
        splits=_split_table(subject, shown),
        cameras=_camera_table(_first(subject)),
        dims=dims_table(dims_of(subject)),
        rotations=_by_feature(rotations(subject)),
        campaigns=list(_campaigns(subject, shown)),
        example=_example(subject, only),
    )


def _literal(text: str) -> str:
    """As Python writes a string, in double quotes."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _first(subject: Subject) -> SplitReader:
    return next(iter(subject.splits.values()))


def _tags(subject: Subject) -> list[str]:
    reader = _first(subject)
    robot = reader.info.get("robot_type")
    named = [flat(robot)] if isinstance(robot, str) and flat(robot) else []
    deep = ["depth"] if any(is_depth(_video(reader, camera)) for camera in reader.cameras) else []
    return ["LeRobot", "robotics", *named, *deep]


def _video(reader: SplitReader, camera: str) -> dict[str, Any]:
    return reader.info["features"][reader.key(camera)].get("info") or {}


def _split_table(subject: Subject, shown: Mapping[str, SplitReader]) -> str:
    rows = []
    for name, reader in shown.items():
        hours = reader.rows / reader.rate_hz / 3600
        numbers = (f"{len(reader.episodes):,}", f"{reader.rows:,}", f"{hours:,.2f}" if hours >= 1 else f"{hours:.4f}")
        rows.append((code(name), *numbers, _rule(subject, name)))
    return table(("split", "episodes", "rows", "hours", "what it is"), rows, numeric=(1, 2, 3))


def _rule(subject: Subject, split: str) -> str:
    if subject.trace is None:
        return ""
    if split == "train":
        return "what the others leave"
    if split != "val":
        return "campaigns held out whole, never mixed into train"
    chosen = subject.trace.chosen
    if chosen.val_runs:
        return "recordings chosen by name"
    if chosen.val_rule == "random":
        return f"recordings of train and val together, drawn with seed {chosen.seed}, {chosen.share}"
    return f"the longest recordings of train and val together, {chosen.share}: for long rollouts, not a random sample"


def _camera_table(reader: SplitReader) -> str:
    rows = []
    for camera in reader.cameras:
        video, shape = _video(reader, camera), reader.info["features"][reader.key(camera)].get("shape") or []
        size = " × ".join(str(side) for side in shape[:2])
        kind = "depth, in mm" if is_depth(video) else "colour"
        codec = ", ".join(str(video[name]) for name in ("video.codec", "video.pix_fmt") if video.get(name))
        rows.append((code(reader.key(camera)), kind, size, words(codec), f"{reader.rate_hz}"))
    head = ("camera", "shows", "height × width [px]", "codec", "rate [Hz]")
    return table(head, rows, numeric=(4,)) if rows else ""


def _by_feature(found: list[Rotation]) -> dict[str, list[str]]:
    dims: dict[str, list[str]] = {}
    for rotation in found:
        first, *_, last = rotation.dims
        told = f"{first}–{last}" if _is_run(rotation.dims) else f"({', '.join(map(str, rotation.dims))})"
        dims.setdefault(rotation.feature, []).append(told)
    return dims


def _is_run(dims: Sequence[int]) -> bool:
    return list(dims) == list(range(dims[0], dims[0] + len(dims)))


def _columns(dims: Sequence[int]) -> str:
    """Dimensions as Python takes them from an array."""
    return f"{dims[0]}:{dims[-1] + 1}" if _is_run(dims) else str(list(dims))


def _campaigns(subject: Subject, shown: Mapping[str, SplitReader]) -> Iterator[str]:
    """A line a split: its campaigns, with how many episodes are of each."""
    for split in shown:
        counts = Counter(episode.campaign for episode in subject.episodes(split))
        told = [f"{code(name)} ({amount})" for name, amount in sorted(counts.items())[:MOST_CAMPAIGNS]]
        more = [f"and {len(counts) - MOST_CAMPAIGNS} more"] if len(counts) > MOST_CAMPAIGNS else []
        if told:
            yield f"{code(split)}: {', '.join(told + more)}"


def _example(subject: Subject, only: str | None) -> dict[str, Any]:
    """The names that the code on the card is written with."""
    split = only if only is not None else next(iter(subject.splits))
    reader = subject.splits[split]
    widths = vectors(reader.info)
    turned = next(iter(rotations(subject)), None)
    wide = [name for name, width in widths.items() if width > 1]
    kinds = {camera: is_depth(_video(reader, camera)) for camera in reader.cameras}
    return {
        "split": split,
        "place": "folder" if only is not None else f"folder / {_literal(split)}",
        "vector": turned.feature if turned else next(iter(wide), None),
        "turned": turned,
        "camera": next((camera for camera, deep in kinds.items() if not deep), None),
        "deep": next((camera for camera, deep in kinds.items() if deep), None),
        "rate_hz": reader.rate_hz,
    }
