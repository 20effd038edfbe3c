"""The documents beside the splits: each says of the splits what they are."""

from __future__ import annotations

from typing import Any

from quickdraw.core.episode import EpisodeKey
from quickdraw.core.grid import grid_over, to_ns
from quickdraw.core.split import SplitRule, make_splits
from quickdraw.pipeline.documents import WINDOW
from quickdraw.pipeline.places import PROVENANCE, SUMMARY
from quickdraw.pipeline.verify.dataset_view import DatasetView, Provenance, Traced
from quickdraw.pipeline.verify.json_reading import object_in, odd, read_object
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.metadata import Entry
from quickdraw.pipeline.verify.split_view import SplitView, camera_name

TRACED, RULE, SUMMED = "provenance", "split rule", "summary"


def check_provenance(dataset: DatasetView, provenance: Provenance, ledger: Ledger) -> None:
    """Each episode of the dataset is one of provenance.json, as long as its window on its grid."""
    path = dataset.root / PROVENANCE
    for name in dict.fromkeys([*dataset.splits, *(episode.split for episode in provenance.episodes)]):
        with ledger.checking(TRACED, name):
            traced = dataset.traced(name)
            there = dataset.splits[name].entries if name in dataset.splits else ()
            if len(there) != len(traced):
                expected = f"{len(traced)} of provenance.json"
                ledger.fault(TRACED, name, found=f"{len(there)} episodes", expected=expected, path=path)
            for entry, episode in zip(there, traced, strict=False):
                ledger.saw(TRACED)
                for found, expected in _unlike(entry, episode, provenance.built.target_hz):
                    told = f"episode {entry.number} ({episode}): {found}"
                    ledger.fault(TRACED, name, found=told, expected=expected, path=path)


def _unlike(entry: Entry, episode: Traced, rate_hz: int) -> list[tuple[str, str]]:
    ticks = grid_over(int(to_ns(episode.t_lo_s)), int(to_ns(episode.t_hi_s)), rate_hz).n
    wrong = []
    if episode.index != entry.number:
        wrong.append((f"episode_index {episode.index}", str(entry.number)))
    if episode.frames != entry.length:
        wrong.append((f"{episode.frames} frames", f"{entry.length}, its length in meta/episodes"))
    if ticks != entry.length:
        wrong.append((f"a window of {ticks} ticks", f"{entry.length}, its length in meta/episodes"))
    return wrong


def check_rule(dataset: DatasetView, provenance: Provenance, ledger: Ledger) -> None:
    """Which episodes go to val, computed again from the configuration and the episodes' lengths."""
    with ledger.checking(RULE, PROVENANCE):
        built = provenance.built
        rule = SplitRule(
            built.val_frac,
            built.val_floor,
            built.eval_globs,
            built.exclude_globs,
            built.val_runs,
            val_rule=built.val_rule,
            seed=built.seed,
        )
        held = {name: [EpisodeKey(e.campaign, e.run) for e in dataset.traced(name)] for name in dataset.splits}
        lengths = {
            key: entry.length
            for name, split in dataset.splits.items()
            for key, entry in zip(held[name], split.entries, strict=False)
        }
        for expected in make_splits(lengths, rule):
            ledger.saw(RULE)
            if list(expected.episodes) != (found := held.get(expected.name, [])):
                told, right = (", ".join(map(str, keys)) or "nothing" for keys in (found, expected.episodes))
                path = dataset.root / PROVENANCE
                ledger.fault(RULE, expected.name, found=told, expected=f"{right}, by the split rule", path=path)


def check_summary(dataset: DatasetView, ledger: Ledger) -> None:
    """summary.json counts what is there."""
    path = dataset.root / SUMMARY
    with ledger.checking(SUMMED, SUMMARY):
        summary = read_object(path)
        parts = [object_in(summary, part, path) for part in ("counts", "splits", "split_env")]
        if sorted(counts := parts[0]) != sorted(dataset.splits):
            found, expected = ", ".join(sorted(counts)), ", ".join(sorted(dataset.splits))
            ledger.fault(SUMMED, SUMMARY, found=f"counts of {found}", expected=expected, path=path)
        for name, split in dataset.splits.items():
            with ledger.checking(SUMMED, name):
                ledger.saw(SUMMED)
                places = [summary, *(object_in(part, name, path) for part in parts if name in part)]
                for key, right in _expected(split).items():
                    told: Any = next((place[key] for place in places if key in place), None)
                    if told != right:
                        text = ", ".join(map(odd, told)) if isinstance(told, list) else odd(told)
                        ledger.fault(SUMMED, name, found=f"{key} {text}", expected=str(right), path=path)


def _expected(split: SplitView) -> dict[str, Any]:
    lengths = [entry.length for entry in split.entries]
    frames, rate_hz, cameras = sum(lengths), split.info.rate_hz, split.info.cameras
    widths = {name: split.info.features[name].shape[0] for name in split.info.vectors}
    return {
        "fps": rate_hz,
        "cameras": [camera_name(key) for key in cameras],
        "image_hw": list(split.info.features[cameras[0]].shape[:2]) if cameras else None,
        "episodes": len(lengths),
        "frames": frames,
        "steps_per_episode": frames // len(lengths),
        "transitions": frames,
        "seconds": round(frames / rate_hz, 2),
        "minutes": round(frames / rate_hz / 60, 3),
        "hours": round(frames / rate_hz / 3600, 5),
        "training_windows": sum(max(0, length - WINDOW + 1) for length in lengths),
        "n_traj": len(lengths),
        "steps": frames // len(lengths),
        "obs_dim": widths.get("observation.state"),
        "action_dim": widths.get("action"),
        "dt": 1 / rate_hz,
    }
