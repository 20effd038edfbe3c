"""A feature put into a built split, against the split packed with it from the start and the split as it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.core.features import FeatureSpec
from quickdraw.core.statistics import of_rows
from quickdraw.formats.lerobot.columns import NewFeature, put_feature
from quickdraw.formats.lerobot.reader import SplitReader

Float32 = npt.NDArray[np.float32]

NAME = "observation.objects.cube"
SPEC = FeatureSpec(NAME, ("red_cx", "red_cy", "red_size", "red_vis"), ("",) * 4)
LENGTHS = (6, 9, 4, 7, 12, 5, 8, 4, 10, 6, 5, 7, 9, 4, 6, 8, 5, 11, 4, 7, 6, 5, 9, 4)
INFO, STATS, DATA, EPISODES = "meta/info.json", "meta/stats.json", "data", "meta/episodes"
STATISTICS = ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99")


def rows_of(lengths: tuple[int, ...], seed: int = 3) -> Float32:
    return np.random.default_rng(seed).uniform(0, 1, (sum(lengths), SPEC.width)).astype(np.float32)


def feature(lengths: tuple[int, ...], seed: int = 3) -> NewFeature:
    rows = rows_of(lengths, seed)
    return NewFeature(SPEC, rows, of_rows(rows))


def digests(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def put(root: Path, target: Path, new: NewFeature) -> Path:
    """A whole split again: what changes anew, the rest as further names of the same bytes."""
    put_feature(SplitReader(root), target, new)
    for path in (p for p in root.rglob("*") if p.is_file()):
        place = target / path.relative_to(root)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, place)
    return target


def packed(
    synthetic: ModuleType, folder: Path, lengths: tuple[int, ...], specs: list[FeatureSpec], arrays: Float32
) -> Path:
    """A split that has `specs` from the start, `arrays` among their rows."""
    episodes, first = [], 0
    for number, length in enumerate(lengths):
        episode = synthetic.fake_episode(number, length, folder / "clips")
        episode.arrays = {**episode.arrays, NAME: arrays[first : first + length]}
        episodes.append(episode)
        first += length
    root: Path = synthetic.pack(folder / "split", synthetic.dataset_spec(features=tuple(specs)), episodes)
    return root


@dataclass(frozen=True)
class Rolled:
    """A split of several files of every kind, before and after; `digests` are those of its files before."""

    root: Path
    after: Path
    digests: dict[str, str]

    def files(self, kind: str) -> list[tuple[Path, Path]]:
        before = sorted((self.root / kind).glob("*/*.parquet"))
        return [(path, self.after / path.relative_to(self.root)) for path in before]


@pytest.fixture(scope="session")
def rolled(synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Rolled:
    from quickdraw.formats.lerobot import blocks, files
    from quickdraw.formats.lerobot.schema import Limits

    def make(folder: Path) -> None:
        limits = Limits(files_per_chunk=2, data_mb=95, video_mb=1000, video_s=1000)
        episodes = [synthetic.fake_episode(n, length, folder / "clips") for n, length in enumerate(LENGTHS)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "MB", 1024)
            patch.setattr(blocks, "MB", 1024)
            synthetic.pack(folder / "split", synthetic.dataset_spec(limits), episodes)
        (folder / "before.json").write_text(json.dumps(digests(folder / "split")))
        put(folder / "split", folder / "after", feature(LENGTHS))

    folder = once("columns-rolled", make)
    return Rolled(folder / "split", folder / "after", json.loads((folder / "before.json").read_text()))


def document(root: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / name).read_bytes())
    return found


def described(path: Path) -> dict[str, Any]:
    """What a data file's `huggingface` metadata says of its columns."""
    found: dict[str, Any] = json.loads(pq.read_schema(path).metadata[b"huggingface"])["info"]["features"]
    return found


def vectors(path: Path) -> Float32:
    return np.array(pq.read_table(path)[NAME].to_pylist(), np.float32)


def test_the_split_has_several_files_of_rows_and_of_episodes(rolled: Rolled) -> None:
    assert len(rolled.files(DATA)) > 2
    assert len(rolled.files(EPISODES)) > 1
    assert {path.parent.name for path, _ in rolled.files(DATA)} >= {"chunk-000", "chunk-001"}


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_feature_put_in_gives_the_bytes_of_a_split_packed_with_it(
    at: int, synthetic: ModuleType, tmp_path: Path
) -> None:
    """New at the end of the vectors; where it stood already, it stays, whatever it was before."""
    lengths, (state, action) = (5, 8, 6), (synthetic.STATE, synthetic.ACTION)
    new = feature(lengths)
    specs = [state, action]
    if at < 2:
        specs.insert(at, SPEC)
    before = packed(synthetic, tmp_path / "before", lengths, specs, rows_of(lengths, seed=8))
    wanted = packed(synthetic, tmp_path / "wanted", lengths, specs if at < 2 else [state, action, SPEC], new.rows)
    stats = document(wanted, STATS)
    plain = {name: getattr(new.statistics, name).tolist() for name in STATISTICS if name != "count"}
    assert stats[NAME] == plain | {"count": [sum(lengths)]}
    assert digests(put(before, tmp_path / "after", new)) == digests(wanted)


def test_put_in_twice_is_the_last_one_alone(rolled: Rolled, tmp_path: Path) -> None:
    again = put(put(rolled.root, tmp_path / "first", feature(LENGTHS, seed=1)), tmp_path / "second", feature(LENGTHS))
    assert digests(again) == digests(rolled.after)


@pytest.mark.parametrize("name", [INFO, STATS])
def test_documents_have_it_before_the_cameras_and_are_otherwise_the_same(rolled: Rolled, name: str) -> None:
    before, after = document(rolled.root, name), document(rolled.after, name)
    old, new = (before["features"], after["features"]) if name == INFO else (before, after)
    names = list(old)
    at = names.index("observation.images.scene_left")
    assert list(new) == [*names[:at], NAME, *names[at:]]
    assert {key: value for key, value in new.items() if key != NAME} == old
    if name == INFO:
        assert new[NAME] == {"dtype": "float32", "shape": [4], "names": list(SPEC.names)}
        assert list(after) == list(before)
        assert {**after, "features": 0} == {**before, "features": 0}


def test_rows_have_it_after_the_vectors_and_every_other_column_as_it_was(rolled: Rolled) -> None:
    first = 0
    for before, after in rolled.files(DATA):
        old, new = pq.read_table(before), pq.read_table(after)
        at = old.column_names.index("timestamp")
        assert new.column_names == [*old.column_names[:at], NAME, *old.column_names[at:]]
        assert new.drop_columns([NAME]).equals(old)
        assert new.schema.field(NAME).type == pa.list_(pa.field("element", pa.float32()), 4)
        np.testing.assert_array_equal(vectors(after), rows_of(LENGTHS)[first : first + len(old)])
        first += len(old)
    assert first == sum(LENGTHS)


@pytest.mark.parametrize("kind", [DATA, EPISODES])
def test_row_groups_are_those_there_were(rolled: Rolled, kind: str) -> None:
    for paths in rolled.files(kind):
        groups = [[m.row_group(i).num_rows for i in range(m.num_row_groups)] for m in map(pq.read_metadata, paths)]
        assert groups[0] == groups[1]
        assert pq.read_metadata(paths[1]).row_group(0).column(0).compression == "SNAPPY"


def test_the_huggingface_description_names_it_as_the_other_vectors(rolled: Rolled) -> None:
    for before, after in rolled.files(DATA):
        old, new = described(before), described(after)
        assert list(new) == pq.read_table(after).column_names
        assert {name: value for name, value in new.items() if name != NAME} == old
        assert new[NAME] == old["observation.state"] | {"length": 4}


def test_every_episode_has_its_own_statistics_of_it(rolled: Rolled) -> None:
    ends = np.cumsum((0, *LENGTHS))
    number = 0
    for before, after in rolled.files(EPISODES):
        old, new = pq.read_table(before), pq.read_table(after)
        columns = [f"stats/{NAME}/{name}" for name in STATISTICS]
        at = next(i for i, name in enumerate(old.column_names) if name.startswith("stats/observation.images."))
        assert new.column_names == [*old.column_names[:at], *columns, *old.column_names[at:]]
        assert new.drop_columns(columns).equals(old)
        for name in STATISTICS:
            same = old.schema.field(f"stats/action/{name}").type
            assert new.schema.field(f"stats/{NAME}/{name}").type == same
        for row in new.to_pylist():
            x = rows_of(LENGTHS)[ends[number] : ends[number + 1]].astype(np.float64)
            assert row["episode_index"] == number
            assert row[columns[4]] == [LENGTHS[number]]
            for name, expected in (("mean", x.mean(0)), ("std", x.std(0)), ("max", x.max(0)),
                                   ("q90", np.quantile(x, 0.9, axis=0))):  # fmt: skip
                np.testing.assert_allclose(row[f"stats/{NAME}/{name}"], expected, rtol=1e-9)
            number += 1
    assert number == len(LENGTHS)


def test_the_files_there_were_are_not_written_to(rolled: Rolled) -> None:
    """A dataset may be made of links to another one's files: writing through one would change both."""
    assert digests(rolled.root) == rolled.digests
    changed = {
        INFO,
        STATS,
        *(str(p.relative_to(rolled.root)) for kind in (DATA, EPISODES) for p, _ in rolled.files(kind)),
    }
    for name in rolled.digests:
        same = (rolled.root / name).stat().st_ino == (rolled.after / name).stat().st_ino
        assert same == (name not in changed), name


def test_only_the_files_that_change_are_written(rolled: Rolled, tmp_path: Path) -> None:
    put_feature(SplitReader(rolled.root), tmp_path / "target", feature(LENGTHS))
    kinds = {str(path.relative_to(tmp_path / "target").parents[-2]) for path in (tmp_path / "target").rglob("*.*")}
    assert kinds == {"data", "meta"}
    assert not (tmp_path / "target/meta/tasks.parquet").exists()


def test_a_split_whose_files_describe_nothing_to_huggingface_still_takes_it(rolled: Rolled, tmp_path: Path) -> None:
    shutil.copytree(rolled.root, tmp_path / "bare")
    for path in (tmp_path / "bare" / DATA).glob("*/*.parquet"):
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    after = put(tmp_path / "bare", tmp_path / "after", feature(LENGTHS))
    for path in sorted((after / DATA).glob("*/*.parquet")):
        assert b"huggingface" not in (pq.read_schema(path).metadata or {})
    np.testing.assert_array_equal(SplitReader(after).array(NAME), rows_of(LENGTHS))


def test_an_old_description_of_the_episodes_does_not_hide_the_new_columns(rolled: Rolled, tmp_path: Path) -> None:
    """`datasets` believes the description before the columns, and the one there was does not know them."""
    shutil.copytree(rolled.root, tmp_path / "described")
    for path in (tmp_path / "described" / EPISODES).glob("*/*.parquet"):
        told = {b"huggingface": b'{"info": {"features": {}}}', b"kept": b"1"}
        pq.write_table(pq.read_table(path).replace_schema_metadata(told), path)
    after = put(tmp_path / "described", tmp_path / "after", feature(LENGTHS))
    for path in (after / EPISODES).glob("*/*.parquet"):
        assert pq.read_schema(path).metadata == {b"kept": b"1"}


def test_too_few_rows_are_a_failure_not_a_shorter_column(rolled: Rolled, tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid, match="length"):
        put_feature(SplitReader(rolled.root), tmp_path / "after", feature(LENGTHS[:-1]))
