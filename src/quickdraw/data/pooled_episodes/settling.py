"""What a build has, over all of its episodes: features, cameras, what was left out, and what people should know.

An episode's plan says what its data file holds; only all of them together tell which features there are. What is
settled goes into the build's own documents, so that it can be read back as it was. It does not depend on the order of
the episodes, and it goes to workers with each: so no dimension is in it by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import msgspec

from quickdraw.core.episode import EpisodePlan
from quickdraw.core.features import FeatureSpec
from quickdraw.data.pooled_episodes.naming import STATE, Column, Kind, allowed, bare, kind_of, resolved, specs, validity
from quickdraw.data.pooled_episodes.options import NEXT_STATE, PooledOptions
from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.formats.pooled import columns

NO_ACTION: Final = "no action: the recorded one is a placeholder (+source.action=[...] or +source.action=next_state)"
COPIED_DEPTH: Final = "depth is copied as the recorder's codes: where nothing is known it reads 100 mm, not 0"
NO_DEPTH: Final = "depth is asked for, and no episode shows any"
UNFILLED: Final = "nothing but its fill in any episode"
NAMES: Final = "lerobot takes `image` for pictures, parts names at `/`, and writes over what ends `_is_pad`"


class Camera(NamedTuple):
    """One camera of the dataset; `stream` is what its copied streams have alike, None where they are encoded."""

    name: str
    kind: Literal["rgb", "depth"]
    height_px: int
    width_px: int
    stream: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Settled:
    """All columns that are features, as the contract orders them, and all cameras, colour first.

    `left_out` is column -> why it is no feature; `notes` are lines for people.
    """

    columns: tuple[Column, ...]
    cameras: tuple[Camera, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]

    def features(self, options: PooledOptions) -> tuple[FeatureSpec, ...]:
        """All features in order, with `options` those that it was settled with."""
        return specs(self.columns, options)


def settle(plans: Iterable[EpisodePlan], options: PooledOptions) -> Settled:
    """What a build of episodes has, which agree in their traits.

    Raises Refused with every fault: columns that would be one feature, names nobody knows, no camera.
    """
    found = _gathered(plans)
    made, faults = _columns(found, options)
    known = [name for each in made for name in (each.name, *([validity(each.name)] if each.validity else []))]
    left_out = dict(sorted(item for each in found.columns.values() for item in each.left_out()))
    for key, members in (("source.state", options.state), ("source.action", options.action)):
        if members and members != NEXT_STATE:
            faults += _strangers(key, members, known, left_out, options=options)
    if options.action == NEXT_STATE and not options.state:
        expected = "a state, whose next one it would be"
        faults.append(Fault(COMMAND_LINE, "source.action", NEXT_STATE, expected, option="+source.state=[...]"))
    cameras = _cameras(found, options)
    if found.episodes and not cameras:
        expected = "one of colour, or depth that is asked for"
        faults.append(Fault(COMMAND_LINE, "source.cameras", "no camera to show", expected, option="+source.depth=true"))
    if faults:
        raise Refused(faults)
    return Settled(tuple(made), cameras, left_out, tuple(_notes(found, left_out, options)))


def as_document(settled: Settled) -> dict[str, Any]:
    """What was settled as plain values for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(settled)
    return document


def of_document(document: Mapping[str, Any]) -> Settled:
    """What `as_document` told. Raises msgspec.ValidationError where it is no such thing."""
    return msgspec.convert(dict(document), Settled)


@dataclass(slots=True)
class _Gathered:
    """One feature over all episodes.

    `columns` are those it is made from, each with the first episode by key that has it, `filled` those that hold more
    than fill, with the first where they do, and `whys` why one does not. `widths` counts episodes by how wide it is in
    them; `width` is that where it is filled. `missing` counts rows without a sample, `rows` those with one, `odd`
    samples that are not finite.
    """

    columns: dict[str, str] = field(default_factory=dict)
    filled: dict[str, str] = field(default_factory=dict)
    whys: dict[str, tuple[str, str]] = field(default_factory=dict)
    widths: Counter[int] = field(default_factory=Counter)
    width: int = 0
    missing: int = 0
    odd: int = 0
    rows: int = 0

    @property
    def column(self) -> str:
        """The column it is made from, a filled one where there is one."""
        return min(self.filled or self.columns)

    def is_missing(self, episodes: int) -> bool:
        """Whether any row has no sample, or any of `episodes` lacks it, or has it empty and of another width."""
        return self.missing > 0 or self.widths[self.width] < episodes

    def take(self, key: str, held: Mapping[str, Any], frames: int) -> None:
        """Count what the episode `key`, of so many frames, holds of it."""
        column = held["column"]
        self.columns[column] = min(key, self.columns.get(column, key))
        if held["filled"]:
            self.filled[column] = min(key, self.filled.get(column, key))
            self.width = held["width"]
        if "why" in held:
            why = (key, held["why"])
            self.whys[column] = min(why, self.whys.get(column, why))
        self.widths[held["width"]] += 1
        self.missing += held["missing"]
        self.rows += frames - held["missing"]
        self.odd += held.get("odd", 0)

    def left_out(self) -> Iterator[tuple[str, str]]:
        """Its columns that are filled in no episode, and why."""
        for column in self.columns.keys() - self.filled.keys():
            yield column, self.whys[column][1] if column in self.whys else UNFILLED

    def faults(self, name: str) -> Iterator[Fault]:
        """Several columns that would be one feature, each of another episode."""
        several = sorted(each for each in self.columns.items() if kind_of(each[0]) is not Kind.OLD_POSE)
        if len(several) > 1:
            found = " and ".join(f"{column} in {key}" for column, key in several)
            yield self.fault(name, found, "one column of that name in all episodes")

    def fault(self, name: str, found: str, expected: str) -> Fault:
        """A fault of it, which is no single episode's."""
        return Fault("source", name, found, expected, option="+source.exclude_globs=[...]")


@dataclass(slots=True)
class _Gathering:
    """All features and cameras of `episodes` plans of `rows` in all, and the `slots` these are recorded in.

    Of a camera what the first episode by key that has it says; `gops` is the longest that any says, where it is copied.
    """

    episodes: int = 0
    rows: int = 0
    columns: dict[str, _Gathered] = field(default_factory=dict)
    cameras: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    gops: dict[str, int] = field(default_factory=dict)
    slots: set[str] = field(default_factory=set)

    def take(self, key: str, name: str, camera: Mapping[str, Any]) -> None:
        """Note what the episode `key` says of a camera."""
        self.slots.add(camera["slot"])
        if name not in self.cameras or key < self.cameras[name][0]:
            self.cameras[name] = key, camera
        if "stream" in camera:
            self.gops[name] = max(self.gops.get(name, 0), camera["stream"]["gop"])


def _gathered(plans: Iterable[EpisodePlan]) -> _Gathering:
    """What the plans hold, one after another, in whichever order."""
    found = _Gathering()
    for plan in plans:
        found.episodes += 1
        found.rows += plan.frames
        key = str(plan.key)
        for name, held in plan.holds["columns"].items():
            found.columns.setdefault(name, _Gathered()).take(key, held, plan.frames)
        for name, camera in plan.holds["cameras"].items():
            found.take(key, name, camera)
    return found


def _columns(found: _Gathering, options: PooledOptions) -> tuple[list[Column], list[Fault]]:
    """The columns that are features, in order."""
    made, faults = list[Column](), list[Fault]()
    filled = {name: each for name, each in found.columns.items() if each.filled}
    for name, held in sorted(filled.items(), key=lambda item: (columns.order(item[1].column), item[0])):
        faults += held.faults(name)
        missing, valid = held.is_missing(found.episodes), validity(name)
        if missing and valid in filled:
            faults.append(held.fault(name, f"a column {valid} of its own", "its name free to tell samples by"))
        made.append(Column(name, held.column, held.width, missing))
    if options.state and STATE in filled:
        taken = filled[STATE].fault(STATE, "a column of that name", "its name free for +source.state")
        faults.append(taken)
    return made, faults


def _strangers(
    key: str, members: Iterable[str], known: Collection[str], left_out: Mapping[str, str], *, options: PooledOptions
) -> Iterator[Fault]:
    """Members of a state or an action that mean no feature, or one that is in it already."""
    had = set[str]()
    for member in members:
        name = resolved(member, known, options)
        if name in had:
            yield Fault(COMMAND_LINE, key, f"{member} twice", "each feature once", option=f"+{key}=[...]")
        elif name is None:
            why = next((why for column, why in left_out.items() if member in (column, bare(column))), None)
            said = f"{member}, which was left out ({why})" if why else member
            names = ", ".join(map(bare, known)) or "none, for no column was filled"
            yield Fault(COMMAND_LINE, key, said, f"features: {names}", option=f"+{key}=[...]")
        else:
            had.add(name)


def _cameras(found: _Gathering, options: PooledOptions) -> tuple[Camera, ...]:
    shown = [
        Camera(name, each["kind"], each["height_px"], each["width_px"], _stream(each, found.gops.get(name)))
        for name, (_, each) in found.cameras.items()
        if each["kind"] == "rgb" or options.depth.mode != "none"
    ]
    return tuple(sorted(shown, key=lambda camera: (camera.kind == "depth", camera.name)))


def _of_depth(found: _Gathering, options: PooledOptions) -> Iterator[str]:
    if options.depth.mode == "copy":
        yield COPIED_DEPTH
    if options.depth.mode != "none" and all(each["kind"] == "rgb" for _, each in found.cameras.values()):
        yield NO_DEPTH


def _filled_up(found: _Gathering, options: PooledOptions) -> Iterator[str]:
    """What of a state and an action is not measured in every row: a policy would learn from fill."""
    chosen = (options.action,) if isinstance(options.action, str) else options.action or ()
    for member in dict.fromkeys((*options.state, *(each for each in chosen if each != NEXT_STATE))):
        name = resolved(member, found.columns, options)
        if name is not None and (lacking := found.rows - found.columns[name].rows):
            told = f"{name}_valid tells, state and action do not"
            yield f"{name} has no sample in {lacking:,} of {found.rows:,} rows, which hold fill: {told}"


def _stream(camera: Mapping[str, Any], gop: int | None) -> dict[str, Any] | None:
    """What the copied streams of a camera have alike, and the longest way from keyframe to keyframe in any of them."""
    return None if gop is None else {**camera["stream"], "gop": gop}


def _notes(found: _Gathering, left_out: Mapping[str, str], options: PooledOptions) -> Iterator[str]:
    if options.action is None:
        yield NO_ACTION
    yield from _of_depth(found, options)
    yield from _filled_up(found, options)
    for camera, slots in sorted(options.slots.items()):
        if found.slots.isdisjoint(slots) and (not options.cameras or camera in options.cameras):
            yield f"source.slots.{camera}: no episode shows {' or '.join(slots)}"
    reasons: dict[str, list[str]] = {}
    for column, why in left_out.items():
        reasons.setdefault(why, []).append(column)
    for why, names in reasons.items():
        yield f"left out: {', '.join(names)} ({why})"
    for name, each in sorted(found.columns.items()):
        if each.filled and each.odd:
            yield f"{name}: {each.odd} samples hold numbers that are not finite, and count as none"
        if each.filled and allowed(each.column) != each.column:
            yield f"{each.column} is called {name}: {NAMES}"
