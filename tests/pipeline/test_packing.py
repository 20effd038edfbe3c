"""Packing: a split's files are written apart from one another, by tasks that may run twice at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.core.episode import EpisodePlan
from quickdraw.formats.lerobot import blocks
from quickdraw.formats.lerobot.videos import Clip, plan_reel
from quickdraw.pipeline.cubes import Member
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.fragments import Fragment, Measured, write_pictures, write_rows
from quickdraw.pipeline.joining import JoinTask
from quickdraw.pipeline.members import Members
from quickdraw.pipeline.packing import Packing, pack
from quickdraw.pipeline.parts import PartStore
from quickdraw.pipeline.site import Site
from quickdraw.pipeline.verify.verify import verify_structure

LENGTHS = (6, 9, 4, 7, 12, 5, 8, 4, 10, 6, 5, 7, 9)
CAMERA = "scene_left"


@dataclass(frozen=True)
class Few:
    """Members whose fragments are there already."""

    fragments: tuple[Fragment, ...]

    def __len__(self) -> int:
        return len(self.fragments)

    def __iter__(self) -> Iterator[Member]:
        return (Member(fragment, None) for fragment in self.fragments)

    @property
    def plans(self) -> dict[int, EpisodePlan]:
        return {number: fragment.plan for number, fragment in enumerate(self.fragments)}

    def parted(self, stops: Iterable[int]) -> Iterator[Few]:
        return (Few(self.fragments[first:stop]) for first, stop in pairwise([0, *stops]))


class Twice(Inline):
    """An executor that runs every task four times, two at once, the last first, and hands one result on."""

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        waiting = list(tasks)
        with ThreadPoolExecutor(2) as pool:
            while waiting:
                again = chain.from_iterable(repeat(task, 4) for task in reversed(waiting))
                results = list(pool.map(function, again))[::4]
                yield from results
                waiting = [task for result in results for task in (then(result) if then else ())]


@pytest.fixture(scope="module")
def members(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Few:
    folder = tmp_path_factory.mktemp("packing")
    store = PartStore(folder / "parts")
    fragments = list[Fragment]()
    for number, frames in enumerate(LENGTHS):
        episode = synthetic.fake_episode(number, frames, folder / "clips")

        def fill(parts: Path, episode: Any = episode, part: str = f"clip {number}") -> None:
            clip = episode.clip(CAMERA).rename(parts / "clip.mp4")
            counts = np.full((3, 256), episode.number + 1)
            write_pictures(clip, part, Measured(counts, 12, np.arange(256) / 255, 0))

        def fill_rows(parts: Path, episode: Any = episode, part: str = f"rows {number}") -> None:
            write_rows(parts, part, episode.rows())

        store.make(f"clip {number}", fill)
        store.make(f"rows {number}", fill_rows)
        plan = cast("Any", SimpleNamespace(task=episode.task, frames=frames))
        fragments.append(Fragment(store, plan, {}, f"rows {number}", {CAMERA: f"clip {number}"}, {}))
    return Few(tuple(fragments))


def packed(folder: Path, members: Few, synthetic: ModuleType, executor: Inline) -> Path:
    """The dataset of a split, train, of all of them."""
    site, spec = Site.begin(folder), synthetic.dataset_spec(cameras=(CAMERA,))
    clips = [Clip(each.clip(CAMERA), each.frames, each.clip(CAMERA).stat().st_size) for each in members.fragments]
    reel = plan_reel(site.dataset / "train", spec, CAMERA, clips)
    episodes = [synthetic.fake_episode(number, frames, folder) for number, frames in enumerate(LENGTHS)]
    vectors = synthetic.trainer_statistics(synthetic.dataset_spec(cameras=()), episodes)
    statistics = vectors | {spec.video_key(CAMERA): members.fragments[0].picture_statistics(CAMERA)}
    of_split = cast("Members", members)
    packing = Packing(site, "train", spec, of_split, {CAMERA: reel.places}, statistics, pin=True)
    joins = [JoinTask(site, file) for file in reel.files]
    assert sum(pack([packing], joins, executor)) == sum(LENGTHS)
    assert list(site.aside.iterdir()) == []
    return site.dataset


def digests(dataset: Path) -> dict[str, str]:
    files = (path for path in dataset.rglob("*") if path.is_file())
    return {str(path.relative_to(dataset)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def table(dataset: Path, kind: str) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted((dataset / "train" / kind).glob("*/*.parquet"))])


@pytest.fixture
def in_blocks_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_CHUNKS", 3 * 7)


@pytest.mark.usefixtures("in_blocks_of_three")
def test_tasks_that_run_twice_at_once_and_in_another_order_write_the_same_bytes(
    members: Few, synthetic: ModuleType, tmp_path: Path
) -> None:
    once = packed(tmp_path / "once", members, synthetic, Inline())
    twice = packed(tmp_path / "twice", members, synthetic, Twice())
    assert digests(once) == digests(twice)
    assert len(list((twice / "train/data").glob("*/*"))) == len(list((twice / "train/meta/episodes").glob("*/*"))) == 5


def test_a_split_in_several_files_is_row_for_row_what_it_is_in_one(
    members: Few, synthetic: ModuleType, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    whole = packed(tmp_path / "whole", members, synthetic, Inline())
    request.getfixturevalue("in_blocks_of_three")
    parted = packed(tmp_path / "parted", members, synthetic, Inline())

    assert table(whole, "data").equals(table(parted, "data"))
    episodes, same = table(parted, "meta/episodes"), table(whole, "meta/episodes")
    files = [f"{kind}/{name}" for kind in ("data", "meta/episodes") for name in ("chunk_index", "file_index")]
    assert episodes.drop_columns(files).equals(same.drop_columns(files))
    assert [row["data/file_index"] for row in episodes.to_pylist()] == [n // 3 for n in range(len(LENGTHS))]
    apart = {
        name for name in digests(whole).keys() | digests(parted).keys() if "/data/" in name or "/episodes/" in name
    }
    rest = [{name: digest for name, digest in digests(each).items() if name not in apart} for each in (whole, parted)]
    assert rest[0] == rest[1]
    assert "fingerprints/train.parquet" in rest[0]
    assert [str(finding) for finding in verify_structure(parted, Inline())] == []
