"""What a build has, over all of its episodes: features, cameras, what was left out, and what people should know.

An episode's plan says what its data file holds; only all of them together tell which features there are. What is
settled goes into the build's own documents, so that it can be read back as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import msgspec

from quickdraw.core.episode import EpisodePlan
from quickdraw.core.features import FeatureSpec
from quickdraw.data.pooled_episodes import naming
from quickdraw.data.pooled_episodes.composing import composed, resolved
from quickdraw.data.pooled_episodes.gathering import Gathered, Gathering, gathered
from quickdraw.data.pooled_episodes.naming import ACTION, HARDWARE, STATE, WALL
from quickdraw.data.pooled_episodes.options import NEXT_STATE, PooledOptions
from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.formats.pooled import columns

NO_ACTION: Final = "no action: the recorded one is a placeholder (+source.action=[...] or +source.action=next_state)"
COPIED_DEPTH: Final = "depth is copied as the recorder's codes: where nothing is known it reads 100 mm, not 0"


class Camera(NamedTuple):
    """One camera of the dataset; `stream` is what its copied streams have alike, None where they are encoded."""

    name: str
    kind: Literal["rgb", "depth"]
    height_px: int
    width_px: int
    stream: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Settled:
    """All features in order, and all cameras, colour first.

    `observation.state` and `action` come first, then columns as the contract orders them, `<feature>_valid` right
    behind its feature, and clocks last. `left_out` is column -> why it is no feature; `notes` are lines for people.
    """

    features: tuple[FeatureSpec, ...]
    cameras: tuple[Camera, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def settle(plans: Iterable[EpisodePlan], options: PooledOptions) -> Settled:
    """What a build of episodes has. Raises Refused with every fault: names nobody knows, no camera, mixed widths."""
    found = gathered(plans)
    own, faults = _columns(found, options)
    composing = _Composing(own, found, options)
    state, more = composing.state()
    faults += more
    action, more = composing.action(state)
    faults += more
    faults += _cameras_missing(found, options)
    if faults:
        raise Refused(faults)
    clocks = (_clock(HARDWARE), _clock(WALL)) if options.clocks else ()
    return Settled(
        features=tuple(spec for spec in (state, action) if spec) + tuple(own.values()) + clocks,
        cameras=_cameras(found, options),
        left_out={each.column: each.reason for each in found.columns.values() if not each.filled},
        notes=tuple(_notes(found, options)),
    )


def as_document(settled: Settled) -> dict[str, Any]:
    """What was settled as plain values for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(settled)
    return document


def of_document(document: Mapping[str, Any]) -> Settled:
    """What `as_document` told. Raises msgspec.ValidationError where it is no such thing."""
    return msgspec.convert(dict(document), Settled)


def _columns(found: Gathering, options: PooledOptions) -> tuple[dict[str, FeatureSpec], list[Fault]]:
    """Features made of columns, by name and in order, each followed by its validity."""
    specs, faults = dict[str, FeatureSpec](), list[Fault]()
    ordered = sorted((each for each in found.columns.items() if each[1].filled), key=lambda each: _order(each[1]))
    for name, held in ordered:
        faults += held.faults(name)
        spec = naming.spec_of(held.column, held.width, options)
        specs[name] = spec
        if held.missing or held.lacking(found.episodes):
            valid = naming.validity(name)
            if valid.name in found.columns and found.columns[valid.name].filled:
                faults.append(held.fault(name, f"a column {valid.name} of its own", "its name free to tell samples by"))
            specs[valid.name] = valid
    if options.state and STATE in specs:
        taken = found.columns[STATE].fault(STATE, "a column of that name", "its name free for +source.state")
        faults.append(taken)
    return specs, faults


def _order(held: Gathered) -> tuple[int, str]:
    return columns.order(held.column)


@dataclass(frozen=True, slots=True)
class _Composing:
    """State and action of the features of `own`, as `options` ask for them: a feature, and what is wrong with it."""

    own: Mapping[str, FeatureSpec]
    found: Gathering
    options: PooledOptions

    def state(self) -> tuple[FeatureSpec | None, list[Fault]]:
        return self._composed(STATE, self.options.state, "source.state")

    def action(self, state: FeatureSpec | None) -> tuple[FeatureSpec | None, list[Fault]]:
        wanted = self.options.action
        if wanted is None:
            return None, []
        if wanted != NEXT_STATE:
            return self._composed(ACTION, tuple(wanted), "source.action")
        if not self.options.state:
            expected = "a state, whose next one it would be"
            return None, [Fault(COMMAND_LINE, "source.action", NEXT_STATE, expected, option="+source.state=[...]")]
        if state is None:
            return None, []  # what is wrong with the state was said
        return FeatureSpec(ACTION, state.names, state.unit, state.identity_dims), []

    def _composed(self, name: str, members: tuple[str, ...], key: str) -> tuple[FeatureSpec | None, list[Fault]]:
        parts, faults = list[FeatureSpec](), list[Fault]()
        for member in members:
            part = resolved(member, self.own, self.options)
            if part is None:
                faults.append(self._unknown(member, key))
            elif part in parts:
                expected = "each feature once"
                faults.append(Fault(COMMAND_LINE, key, f"{member} twice", expected, option=f"+{key}=[...]"))
            else:
                parts.append(part)
        return (composed(name, parts) if parts else None), faults

    def _unknown(self, member: str, key: str) -> Fault:
        dropped = {each.column: each.reason for each in self.found.columns.values() if not each.filled}
        why = next((why for column, why in dropped.items() if member in (column, naming.bare(column))), None)
        said = f"{member}, which was left out ({why})" if why else member
        known = ", ".join(naming.bare(name) for name in self.own) or "none, for no column was filled"
        return Fault(COMMAND_LINE, key, said, f"features: {known}", option=f"+{key}=[...]")


def _cameras_missing(found: Gathering, options: PooledOptions) -> list[Fault]:
    if not found.episodes or _cameras(found, options):
        return []
    expected = "one of colour, or depth that is asked for"
    return [Fault(COMMAND_LINE, "source.cameras", "no camera to show", expected, option="+source.depth=true")]


def _cameras(found: Gathering, options: PooledOptions) -> tuple[Camera, ...]:
    shown = [
        Camera(name, each["kind"], each["height_px"], each["width_px"], each.get("stream"))
        for name, each in found.cameras.items()
        if each["kind"] == "rgb" or options.depth != "none"
    ]
    return tuple(sorted(shown, key=lambda camera: (camera.kind == "depth", camera.name)))


def _clock(name: str) -> FeatureSpec:
    return FeatureSpec(name, (name,), ("ns",), dtype="int64")


def _notes(found: Gathering, options: PooledOptions) -> Iterable[str]:
    if options.action is None:
        yield NO_ACTION
    if options.depth == "copy":
        yield COPIED_DEPTH
    reasons: dict[str, list[str]] = {}
    for each in found.columns.values():
        if not each.filled:
            reasons.setdefault(each.reason, []).append(each.column)
    for why, names in reasons.items():
        yield f"left out: {', '.join(sorted(names))} ({why})"
    for name, each in found.columns.items():
        if each.filled and each.odd:
            yield f"{name}: {each.odd} samples hold numbers that are not finite, and count as none"
        if each.filled and ("image" in each.column or "/" in each.column):
            yield f"{each.column} is called {name}: lerobot takes `image` for pictures, and parts names at `/`"
