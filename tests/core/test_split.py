"""Campaigns to splits, and episodes to val, against the vectors of the specification and brute force."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from quickdraw.core.episode import EpisodeKey
from quickdraw.core.split import (
    POOL,
    SplitRule,
    ValRule,
    assign_campaigns,
    eval_name,
    first_to_val,
    in_random_order,
    longest_first,
    make_splits,
)
from quickdraw.errors import Refused

CONFIG = OmegaConf.load(Path(__file__).resolve().parents[2] / "configs" / "processor" / "block_stack.yaml")


def rule(
    val_frac: float = 0.1,
    val_floor: int = 2,
    eval_globs: tuple[str, ...] | None = None,
    exclude_globs: tuple[str, ...] | None = None,
    val_runs: tuple[str, ...] = (),
    val_rule: ValRule = "longest",
    seed: int = 0,
) -> SplitRule:
    """The shipped defaults, but for what is given."""
    return SplitRule(
        val_frac=val_frac,
        val_floor=val_floor,
        eval_globs=tuple(CONFIG.eval_globs) if eval_globs is None else eval_globs,
        exclude_globs=tuple(CONFIG.exclude_globs) if exclude_globs is None else exclude_globs,
        val_runs=val_runs,
        val_rule=val_rule,
        seed=seed,
    )


def longest_to_val(lengths: Sequence[int], frac: float, floor: int) -> tuple[int, ...]:
    return first_to_val(lengths, longest_first(lengths), frac, floor)


def pool_of(lengths: Sequence[int], task: str = "a") -> dict[EpisodeKey, int]:
    return {EpisodeKey(task, f"episode_{number:06d}"): rows for number, rows in enumerate(lengths, 1)}


def keys(*names: str) -> list[EpisodeKey]:
    return [EpisodeKey(*name.split("/")) for name in names]


@pytest.mark.parametrize(
    ("lengths", "val"),
    [
        ([100, 4000, 200, 150, 3000, 120, 90, 300, 110, 130], {1, 4}),
        ([1000, 800] + [100] * 60, {0, 1}),
        ([100] * 100, set(range(10))),
        ([10000] + [100] * 40, {0, 1}),
        ([7] * 20 + [9] * 3, {20, 21, 22}),
        ([10, 10], {0}),
        ([10, 11], {1}),
        ([1, 1, 1], {0, 1}),
    ],
)
def test_val_is_the_longest_episodes_as_the_specification_gives_them(lengths: list[int], val: set[int]) -> None:
    frac = 0.2 if lengths[-1] == 9 else 0.1
    chosen = longest_to_val(lengths, frac, 2)
    assert chosen == tuple(sorted(chosen))
    assert set(chosen) >= val if lengths[-1] == 9 else set(chosen) == val


@pytest.mark.parametrize("lengths", [[10, 10], [1, 1, 1], [5, 5, 5, 5]])
@pytest.mark.parametrize("frac", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_neither_val_nor_train_is_ever_empty(lengths: list[int], frac: float) -> None:
    assert 0 < len(longest_to_val(lengths, frac, 2)) < len(lengths)


def test_the_two_longest_of_the_published_corpus_go_to_val_though_that_is_more_than_a_tenth() -> None:
    """18,193 and 16,606 rows of 207,634; train's longest is 15,996: the floor of two binds."""
    lengths = [15996, 18193, *[3824] * 40, 16606, 3879]
    assert longest_to_val(lengths, 0.1, 2) == (1, 42)


def test_equal_lengths_go_to_val_by_position() -> None:
    assert longest_to_val([5, 9, 9, 9, 5, 5, 5], 0.2, 1) == (1,)
    assert longest_to_val([5, 9, 9, 9, 5, 5, 5], 0.2, 2) == (1, 2)


def test_on_a_tie_of_shares_the_smaller_val_is_taken() -> None:
    """Shares 0.2, 0.4, 0.6, 0.8 of five equal episodes: 0.3 lies exactly between the first two."""
    assert longest_to_val([10] * 5, 0.3, 1) == (0,)
    assert longest_to_val([10] * 5, 0.5, 1) == (0, 1)
    assert longest_to_val([10] * 5, 0.7, 1) == (0, 1, 2)
    # Here floats see the larger val as nearer by a rounding error.
    assert longest_to_val([10] * 3, 0.5, 1) == (0,)
    assert longest_to_val([10] * 6, 0.25, 1) == (0,)
    assert longest_to_val([10] * 10, 0.55, 1) == (0, 1, 2, 3, 4)


@given(
    lengths=st.lists(st.integers(1, 20), min_size=2, max_size=15),
    hundredths=st.integers(1, 99),
    floor=st.integers(1, 6),
)
def test_the_val_prefix_is_the_closest_of_all_allowed_ones(lengths: list[int], hundredths: int, floor: int) -> None:
    n, wanted = len(lengths), Fraction(hundredths, 100)
    order = [i for _, i in sorted((-length, i) for i, length in enumerate(lengths))]
    best, distance = 0, Fraction(2)
    for k in range(min(floor, n - 1), n):
        off = abs(Fraction(sum(lengths[i] for i in order[:k]), sum(lengths)) - wanted)
        if off < distance:
            best, distance = k, off
    assert longest_to_val(lengths, hundredths / 100, floor) == tuple(sorted(order[:best]))
    assert min(lengths[i] for i in order[:best]) >= max(lengths[i] for i in order[best:])


def test_a_pool_of_two_gives_one_val_episode_and_a_pool_of_one_is_refused() -> None:
    splits = make_splits(dict(zip(keys("a/recording_1", "a/recording_2"), [10, 20], strict=True)), rule())
    assert [split.episodes for split in splits] == [
        (EpisodeKey("a", "recording_1"),),
        (EpisodeKey("a", "recording_2"),),
    ]
    with pytest.raises(Refused, match=r"pooled runs: found 1 \(a/recording_1\), expected at least 2, one for train"):
        make_splits({EpisodeKey("a", "recording_1"): 10}, rule())
    with pytest.raises(Refused, match=r"pooled runs: found 0 \(none\), expected at least 2"):
        make_splits({EpisodeKey("campaign8", "recording_1"): 10}, rule())


def test_the_default_globs_tell_campaign1_from_campaign10_and_campaign8_from_campaign80() -> None:
    names = {
        "campaign1": None, "campaign1-bringup": None, "campaign2": None, "campaign2-x": None,
        "campaign10": POOL, "campaign10-new": POOL, "campaign12": POOL, "campaign20-y": POOL, "campaign3-play": POOL,
        "campaign8": "eval_campaign8", "campaign8-purple-play": "eval_purple_play", "campaign80": POOL,
        "campaign9-purple-stack": "eval_purple_stack", "campaign90-z": POOL,
        "_rt": None, "_rt4": None, "_lagtest_100": None, "shakedown": None, "audit": None,
        "audit2": POOL, "shakedown-x": POOL, "Campaign1": POOL, "test": POOL,
    }  # fmt: skip
    assert assign_campaigns(reversed(list(names)), rule()) == names


@pytest.mark.parametrize(
    ("campaign", "name"),
    [
        ("campaign8-purple-play", "eval_purple_play"),
        ("campaign9", "eval_campaign9"),
        ("campaign9-", "eval_campaign9_"),
        ("lego-pick-place", "eval_pick_place"),
    ],
)
def test_an_eval_split_is_called_after_what_follows_the_first_dash(campaign: str, name: str) -> None:
    assert eval_name(campaign) == name


def test_two_eval_campaigns_of_one_name_are_refused_with_both_named() -> None:
    with pytest.raises(Refused, match="campaign8-purple and campaign9-purple both become eval_purple") as refusal:
        assign_campaigns(["campaign9-purple", "campaign8-purple", "campaign3"], rule())
    assert refusal.value.faults[0].option == "+source.eval_globs=[...] or +source.exclude_globs=[...]"
    with pytest.raises(Refused, match="campaign8-a-b and campaign9-a_b both become eval_a_b"):
        assign_campaigns(["campaign8-a-b", "campaign9-a_b"], rule())


def test_exclusion_wins_over_eval_and_settles_a_clash_of_names() -> None:
    globs = rule(exclude_globs=("campaign8-*",))
    assigned = assign_campaigns(["campaign8-purple", "campaign9-purple"], globs)
    assert assigned == {"campaign8-purple": None, "campaign9-purple": "eval_purple"}


def test_episodes_keep_their_order_of_campaign_and_run_within_every_split() -> None:
    names = ["b/recording_2", "b/recording_1", "a/run_0001_x", "a/recording_9", "campaign9-q/recording_1",
             "campaign8-p/recording_2", "campaign8-p/recording_1"]  # fmt: skip
    frames = dict(zip(keys(*names), [50, 40, 100, 60, 7, 8, 9], strict=True))
    splits = {split.name: [str(key) for key in split.episodes] for split in make_splits(frames, rule(0.6))}
    assert list(splits) == ["train", "val", "eval_p", "eval_q"]
    assert splits["val"] == ["a/recording_9", "a/run_0001_x"]
    assert splits["train"] == ["b/recording_1", "b/recording_2"]
    assert splits["eval_p"] == ["campaign8-p/recording_1", "campaign8-p/recording_2"]


def test_a_frozen_val_does_not_move_when_a_longer_campaign_is_added() -> None:
    frozen = rule(val_runs=("a/recording_1",))
    before = dict(zip(keys("a/recording_1", "a/recording_2", "b/recording_1"), [10, 20, 30], strict=True))
    after = before | {EpisodeKey("c", "recording_1"): 10_000}
    for frames in (before, after):
        train, val = make_splits(frames, frozen)
        assert val.episodes == (EpisodeKey("a", "recording_1"),)
        assert len(train.episodes) == len(frames) - 1


@pytest.mark.parametrize(
    ("val_runs", "message"),
    [
        (
            ("a/recording_7",),
            r"val_runs: found a/recording_7 not in the pool, expected some of the pooled runs: a/recor",
        ),
        (("campaign8-p/recording_1",), r"found campaign8-p/recording_1 not in the pool"),
        (("a/recording_1", "a/recording_2"), r"found every pooled run, expected some of the pooled runs"),
    ],
)
def test_a_frozen_val_that_is_not_there_or_leaves_no_train_is_refused(val_runs: tuple[str, ...], message: str) -> None:
    frames = dict.fromkeys(keys("a/recording_1", "a/recording_2", "campaign8-p/recording_1"), 10)
    with pytest.raises(Refused, match=message):
        make_splits(frames, rule(val_runs=val_runs))


@given(
    frames=st.dictionaries(
        st.builds(
            EpisodeKey, st.sampled_from(["a", "b", "campaign8-x", "_rt"]), st.text("0123", min_size=1, max_size=3)
        ),
        st.integers(1, 500),
        min_size=1,
        max_size=20,
    )
)
def test_every_episode_that_is_not_excluded_is_in_exactly_one_split(frames: dict[EpisodeKey, int]) -> None:
    if sum(key.campaign in "ab" for key in frames) < 2:
        with pytest.raises(Refused, match="pooled runs"):
            make_splits(frames, rule())
        return
    splits = make_splits(frames, rule())
    listed = [key for split in splits for key in split.episodes]
    assert sorted(listed) == sorted(key for key in frames if key.campaign != "_rt")
    assert all(split.episodes == tuple(sorted(split.episodes)) and split.episodes for split in splits)


LENGTHS = st.lists(st.integers(1, 500), min_size=2, max_size=30)


def val_of(frames: dict[EpisodeKey, int], given: SplitRule) -> set[EpisodeKey]:
    return {key for split in make_splits(frames, given) if split.name == "val" for key in split.episodes}


@given(lengths=LENGTHS, hundredths=st.integers(1, 99), floor=st.integers(0, 6), seed=st.integers(0, 2**70))
def test_a_random_val_is_the_closest_prefix_of_the_seeds_order(
    lengths: list[int], hundredths: int, floor: int, seed: int
) -> None:
    n = len(lengths)
    drawn = [hashlib.sha256(b"%d:%s" % (seed, str(key).encode())).hexdigest() for key in sorted(pool_of(lengths))]
    order = sorted(range(n), key=drawn.__getitem__)
    wanted = Fraction(hundredths, 100)
    least = max(1, min(floor, n - 1))
    off = [abs(Fraction(sum(lengths[i] for i in order[:k]), sum(lengths)) - wanted) for k in range(least, n)]
    expected = set(order[: least + off.index(min(off))])
    frames = pool_of(lengths)
    chosen = val_of(frames, rule(hundredths / 100, floor, val_rule="random", seed=seed))
    assert chosen == {key for i, key in enumerate(sorted(frames)) if i in expected}


@given(lengths=LENGTHS, frac=st.floats(0.001, 0.999), floor=st.integers(0, 40), seed=st.integers(0, 2**32))
def test_a_random_split_parts_the_pool_and_leaves_neither_side_empty(
    lengths: list[int], frac: float, floor: int, seed: int
) -> None:
    frames, given_rule = pool_of(lengths), rule(frac, floor, val_rule="random", seed=seed)
    train, val = make_splits(frames, given_rule)
    assert train.episodes
    assert len(val.episodes) >= max(1, min(floor, len(lengths) - 1))
    assert sorted(train.episodes + val.episodes) == sorted(frames)
    assert make_splits(dict(reversed(list(frames.items()))), given_rule) == (
        train,
        val,
    )  # whatever the order they came in


def test_a_seed_gives_the_same_order_wherever_it_is_drawn() -> None:
    """Another order would move episodes between the splits of a dataset that is built again."""
    names = [f"a/episode_{number:06d}" for number in range(1, 9)]
    assert in_random_order(names, 0) == [0, 5, 7, 2, 6, 4, 3, 1]
    assert in_random_order(names[:5], 7) == [1, 4, 0, 3, 2]
    assert [names[i] for i in in_random_order(names, 0)] == [names[::-1][i] for i in in_random_order(names[::-1], 0)]
    assert sorted(in_random_order([str(i) for i in range(1000)], 3)) == list(range(1000))


@given(
    lengths=st.lists(st.integers(1, 500), min_size=3, max_size=30),
    added=st.integers(0, 29),
    hundredths=st.integers(1, 99),
    seed=st.integers(0, 2**70),
)
def test_an_episode_more_moves_no_other_but_at_the_end_of_a_random_val(
    lengths: list[int], added: int, hundredths: int, seed: int
) -> None:
    """Either no old episode leaves val or none comes to it: val is a beginning of one order, whatever is in it."""
    after, chosen = pool_of(lengths), rule(hundredths / 100, 0, val_rule="random", seed=seed)
    new = sorted(after)[added % len(after)]
    before = {key: length for key, length in after.items() if key != new}
    was, now = val_of(before, chosen), val_of(after, chosen) - {new}
    assert was <= now or now <= was


def test_different_seeds_choose_different_episodes_and_each_episode_about_equally_often() -> None:
    frames, times = pool_of([100] * 20), dict.fromkeys(pool_of([100] * 20), 0)
    for seed in range(1000):
        for key in val_of(frames, rule(0.1, 0, val_rule="random", seed=seed)):
            times[key] += 1
    assert sum(times.values()) == 2000
    assert all(60 <= count <= 140 for count in times.values())  # 100 expected, 9.5 is one standard deviation


def test_a_random_val_does_not_take_the_longest() -> None:
    frames = pool_of([1000, 900, *[100] * 40])
    longest = val_of(frames, rule(0.1, 0))
    assert {frames[key] for key in longest} == {1000}
    assert any(val_of(frames, rule(0.1, 0, val_rule="random", seed=seed)) != longest for seed in range(3))


def test_held_out_and_frozen_episodes_are_as_with_any_rule() -> None:
    frames = pool_of([10] * 6) | pool_of([20] * 3, "campaign8-p")
    chosen = make_splits(frames, rule(0.5, 0, val_rule="random", seed=5))
    assert [split.name for split in chosen] == ["train", "val", "eval_p"]
    assert {key.campaign for split in chosen[:2] for key in split.episodes} == {"a"}
    frozen = rule(0.5, 0, val_runs=("a/episode_000002",), val_rule="random", seed=5)
    assert val_of(frames, frozen) == {EpisodeKey("a", "episode_000002")}


@pytest.mark.parametrize("val_rule", ["longest", "random"])
def test_without_a_floor_a_pool_of_one_goes_to_train_alone(val_rule: ValRule) -> None:
    frames = pool_of([10]) | pool_of([20], "campaign8-p")
    splits = make_splits(frames, rule(0.1, 0, val_rule=val_rule))
    assert [(split.name, [str(key) for key in split.episodes]) for split in splits] == [
        ("train", ["a/episode_000001"]), ("eval_p", ["campaign8-p/episode_000001"])
    ]  # fmt: skip
    assert len(val_of(pool_of([10, 10]), rule(0.1, 0, val_rule=val_rule))) == 1
    with pytest.raises(Refused, match=r"found 1 \(a/episode_000001\), expected at least 2, one for train, one for val"):
        make_splits(frames, rule(0.1, 1, val_rule=val_rule))
    with pytest.raises(Refused, match=r"pooled runs: found 0 \(none\), expected at least 1, for train"):
        make_splits(pool_of([20], "campaign8-p"), rule(0.1, 0, val_rule=val_rule))


def test_the_only_episode_of_a_pool_cannot_be_frozen_to_val() -> None:
    with pytest.raises(Refused, match="val_runs: found every pooled run"):
        make_splits(pool_of([10]), rule(0.1, 0, val_runs=("a/episode_000001",)))


PIECES = st.lists(st.lists(st.integers(1, 500), min_size=1, max_size=4), min_size=2, max_size=12)


def pieces_of(lengths: Sequence[Sequence[int]]) -> dict[EpisodeKey, int]:
    """An episode of task a for each list: its pieces, or the whole of it where it is one."""
    found = {}
    for number, pieces in enumerate(lengths, 1):
        for piece, rows in enumerate(pieces, 1):
            name = f"episode_{number:06d}" + (f".{piece:02d}" if len(pieces) > 1 else "")
            found[EpisodeKey("a", name)] = rows
    return found


def number_of(key: EpisodeKey) -> int:
    return int(key.run.removeprefix("episode_").split(".")[0])


@given(
    lengths=PIECES,
    hundredths=st.integers(1, 99),
    floor=st.integers(0, 6),
    val_rule=st.sampled_from(["longest", "random"]),
    seed=st.integers(0, 2**32),
)
def test_pieces_stay_together_and_split_as_the_whole_of_them_would(
    lengths: list[list[int]], hundredths: int, floor: int, val_rule: ValRule, seed: int
) -> None:
    given_rule = rule(hundredths / 100, floor, val_rule=val_rule, seed=seed)
    apart, whole = (make_splits(pool, given_rule) for pool in (pieces_of(lengths), pool_of([*map(sum, lengths)])))
    assert sorted(key for split in apart for key in split.episodes) == sorted(pieces_of(lengths))
    for pieces, episodes in zip(apart, whole, strict=True):
        assert {number_of(key) for key in pieces.episodes} == {number_of(key) for key in episodes.episodes}


@given(lengths=PIECES, data=st.data())
def test_a_frozen_name_of_an_episode_or_of_a_piece_of_it_stands_for_all_of_them(
    lengths: list[list[int]], data: st.DataObject
) -> None:
    frames, held = pieces_of(lengths), defaultdict(list)
    for key in frames:
        held[number_of(key)].append(key)
    numbers = data.draw(st.sets(st.sampled_from(sorted(held)), min_size=1, max_size=len(held) - 1))
    names = [data.draw(st.sampled_from([*map(str, held[n]), f"a/episode_{n:06d}"])) for n in sorted(numbers)]
    assert val_of(frames, rule(val_runs=tuple(names))) == {key for n in numbers for key in held[n]}
    every = tuple(f"a/episode_{n:06d}" for n in held)
    with pytest.raises(Refused, match="found every pooled run"):
        make_splits(frames, rule(val_runs=every))


def test_the_pieces_of_one_episode_are_a_pool_of_one() -> None:
    frames = pieces_of([[10, 20, 30]])
    (train,) = make_splits(frames, rule(0.5, 0))
    assert train.episodes == tuple(sorted(frames))
    with pytest.raises(Refused, match=r"pooled runs: found 1 \(a/episode_000001\), expected at least 2"):
        make_splits(frames, rule(0.5, 1))


@pytest.mark.parametrize(
    ("glob", "left_out"),
    [
        ("a/episode_000012", {"a/episode_000012": "a/episode_000012", "a/episode_000012.01": "a/episode_000012"}),
        ("a/episode_000012.01", {"a/episode_000012.01": "a/episode_000012.01"}),
        (
            "*/episode_*.??",
            {"a/episode_000012.01": "a/episode_000012.01", "a/episode_000013.02": "a/episode_000013.02"},
        ),
        ("a/recording_2", {}),
        ("a", {}),
    ],
)
def test_an_excluded_name_stands_for_all_pieces_and_that_of_a_piece_for_one(
    glob: str, left_out: dict[str, str]
) -> None:
    names = ["a/episode_000012", "a/episode_000012.01", "a/episode_000013.02", "a/recording_2.01", "a/run_0001_x.02"]
    told = {str(key): rule(exclude_globs=(glob,)).left_out_as(key) for key in keys(*names)}
    assert {name: as_ for name, as_ in told.items() if as_ is not None} == left_out


@pytest.mark.parametrize("run", ["recording_2026.01", "run_0001_a.02", "episode_000001", "episode_1.x", "episode_.01"])
def test_what_is_no_piece_is_a_recording_of_its_own(run: str) -> None:
    assert EpisodeKey("a", run).recording == EpisodeKey("a", run)
    assert EpisodeKey("a", "episode_000001.12").recording == EpisodeKey("a", "episode_000001")
