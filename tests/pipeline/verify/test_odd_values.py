"""Values of kinds nobody expected, one at a time, in every document and table: findings, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.verify.dataset_view import DatasetView
from quickdraw.pipeline.verify.demuxing import demux, demux_task
from quickdraw.pipeline.verify.documents import check_summary
from quickdraw.pipeline.verify.fingerprints import check_fingerprints, check_pictures, check_vectors
from quickdraw.pipeline.verify.ledger import Ledger
from quickdraw.pipeline.verify.report import Report
from quickdraw.pipeline.verify.vector_statistics import check_constants, check_episode_statistics, check_statistics
from quickdraw.pipeline.verify.verify import verify_structure

Verified = Callable[..., Report]

STATE, CAMERA = "observation.state", "observation.images.scene_left"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
DATA = "data/chunk-000/file-000.parquet"
ENDLESS = "ENDLESS"  # stands for 1e999, which JSON allows and Python reads as infinity
HUGE = 10**400


def put(path: Path, document: Any) -> None:
    path.unlink()
    path.write_text(json.dumps(document).replace(f'"{ENDLESS}"', "1e999"))


def replaced(document: Any, keys: tuple[Any, ...], value: Any) -> Any:
    """The document with another value in one place; `...` removes it."""
    if not keys:
        return value
    copy = document.copy()
    if keys[1:] or value is not ...:
        copy[keys[0]] = replaced(copy[keys[0]] if keys[1:] else None, keys[1:], value)
    else:
        del copy[keys[0]]
    return copy


@pytest.fixture
def val(sample_dataset: Path, tmp_path: Path) -> Path:
    """The sample's val split alone, as further names of its files."""
    return Path(shutil.copytree(sample_dataset / "val", tmp_path / "val", copy_function=os.link))


def told(faults: Iterable[Fault]) -> str:
    return "\n".join(map(str, faults))


def cases(*of: tuple[tuple[Any, ...], list[Any]]) -> list[Any]:
    """A case for each place and each value there."""
    return [
        pytest.param(keys, value, id=f"{'.'.join(map(str, keys))}={str(value)[:20]}") for keys, vs in of for value in vs
    ]


@pytest.mark.parametrize(
    ("keys", "value"),
    cases(
        ((STATE,), [None, "x", 3, [1]]),
        ((STATE, "mean"), [None, "x", {}, [[1], [2, 3]], ["1"] * 17, [ENDLESS] * 17, [HUGE] * 17, ...]),
        ((STATE, "count"), [None, [], ["x"], [[1]]]),
        ((CAMERA,), [None, [1]]),
        ((CAMERA, "std"), [None, "x", [1, 2, 3], [[["x"]]] * 3]),
    ),
)
def test_in_stats_json(keys: tuple[Any, ...], value: Any, val: Path, whole: Path) -> None:
    for path in (val / "meta/stats.json", whole / "val/meta/stats.json"):
        put(path, replaced(json.loads(path.read_text()), keys, value))
    assert "meta/stats.json: statistics: " in told(verify_structure(val))
    view, ledger = DatasetView(whole), Ledger(whole)
    assert view.ours is not None
    if keys[0] == STATE:
        check_statistics(view, view.splits["val"], view.ours, ledger)
        assert {(fault.where, fault.path) for fault in ledger.faults} == {("val", "val/meta/stats.json")}


INFO = cases(
    (("fps",), [0, -1, 30.5, HUGE, True, "30", ...]),
    (("features",), [[], {}, {"a": 3}]),
    (("features", STATE, "shape"), [None, [], [0], [-1], [17.0], ["17"], [10**12], [[17]]]),
    (("features", STATE, "dtype"), [None, 3, "no such type"]),
    (("features", STATE, "names"), [3, "x", ["a"], {"motors": 3}]),
    (("features", CAMERA, "shape"), [[3], [144, 192, 3, 1]]),
    (("features", CAMERA, "info"), [3, "x", {"video.height": "x"}, {"is_depth_map": True}]),
    (("features", CAMERA, "shape", 2), [1, 4]),
    (("data_path",), ["{", "{0}", "{a.b}", "{chunk_index.b}", "/etc/{chunk_index}", "../{file_index}", "a\0b", 3]),
    (("video_path",), ["{", "{video_key[a]}", "/{video_key}", "..", "a\0b"]),
    (("total_frames",), [ENDLESS, None, "1"]),
    (("splits",), [{}, {"train": 3}, {"train": "x"}, {"train": "0:²"}, {"train": "0:-1"}]),
)


@pytest.mark.parametrize(("keys", "value"), INFO)
def test_in_info_json(keys: tuple[Any, ...], value: Any, val: Path) -> None:
    path = val / "meta/info.json"
    put(path, replaced(json.loads(path.read_text()), keys, value))
    faults = verify_structure(val)
    assert faults
    assert {fault.where for fault in faults} == {"val"}


EPISODE: tuple[Any, ...] = ("episodes", 2)
MALFORMED = cases(
    (("processor",), [None, 3, ...]),
    (("config", "target_hz"), [None, "30", 0, 30.5, HUGE, ENDLESS, ...]),
    (("config", "val_frac"), [None, ENDLESS, -1, "x"]),
    (("config", "eval_globs"), [None, "x", [3], {}]),
    (("features", STATE), [None, 3, {}, {"names": 3}]),
    (("features", STATE, "identity_dims"), ["x", [0.5]]),
    (("palette",), [None, 3, {"val": 3}, {"val": [3]}]),
    (EPISODE, [None, 3, {}]),
    ((*EPISODE, "split"), [None, 3, ""]),
    ((*EPISODE, "episode_index"), [None, "2", 2.5]),
    ((*EPISODE, "campaign"), [None, 3, "", "a/b", "a\0b"]),
    ((*EPISODE, "t_lo_s"), [None, "x", ENDLESS, 1e300]),
    ((*EPISODE, "frames"), [None, "x"]),
    ((*EPISODE, "task"), [3, ["x"]]),
    (("config", "val_rule"), [None, "shortest", 3]),
    (("config", "seed"), [None, "x", 0.5]),
    (("features", STATE, "grid"), [None, "x", [0.5]]),
    ((*EPISODE, "sources"), [None, 3, {"a": 3}, {"a": {"bytes": "x"}}, {"\0": {"bytes": 1, "sha256": ""}}]),
    ((*EPISODE, "fragments"), [None, 3, {"tracks": [1]}]),
)


@pytest.mark.parametrize(("keys", "value"), MALFORMED)
def test_in_provenance_json(keys: tuple[Any, ...], value: Any, whole: Path) -> None:
    path = whole / "provenance.json"
    put(path, replaced(json.loads(path.read_text()), keys, value))
    with pytest.raises(Refused, match=r"provenance\.json: documents: found malformed \(.*\), expected what quickdraw"):
        _ = DatasetView(whole).provenance, DatasetView(whole).sources()


ODDLY_BUILT = cases(
    (("processor",), ["another"]),
    (("config", "cameras"), [None, "x", ["no such camera"], []]),
    (("config", "min_coverage"), ["x"]),
    (("features", STATE, "identity_dims"), [[99, -1]]),
    (("palette",), [{}]),
    ((*EPISODE, "split"), ["no such split"]),
    ((*EPISODE, "episode_index"), [-1, 99, HUGE]),
    ((*EPISODE, "campaign"), [".."]),
    ((*EPISODE, "frames"), [HUGE]),
    ((*EPISODE, "fragments"), [{"tracks": {"scene_left": ""}}, {"tracks": {"a": "", "b": ""}}]),
)


@pytest.mark.parametrize(("keys", "value"), ODDLY_BUILT)
def test_of_a_build_that_cannot_have_been(
    keys: tuple[Any, ...], value: Any, whole: Path, verified: Verified, sample_tree: Path
) -> None:
    path = whole / "provenance.json"
    put(path, replaced(json.loads(path.read_text()), keys, value))
    assert [fault for fault in verified(whole, sample_tree).findings if fault.field != "digests"]


@pytest.mark.parametrize(
    ("keys", "value"),
    cases(
        (("counts",), [None, "x", 3, [], ["val"], {"val": 3}, ...]),
        (("splits",), [None, "x", {"val": None}, ...]),
        (("counts", "val", "frames"), [None, "641", [641], {}, HUGE]),
        (("cameras",), [None, "x", [[]], [3] * 5]),
        (("normalization_stats",), [None, "x", [], {}, {"action": 3}, ...]),
        (("normalization_stats", "action", "mean"), [None, "x", [[1], []], {}]),
    ),
)
def test_in_summary_json(keys: tuple[Any, ...], value: Any, whole: Path) -> None:
    path = whole / "summary.json"
    put(path, replaced(json.loads(path.read_text()), keys, value))
    view, ledger = DatasetView(whole), Ledger(whole)
    assert view.ours is not None
    check_summary(view, ledger)
    check_constants(view, view.ours, ledger)
    assert {fault.path for fault in ledger.faults} == {"summary.json"}


def test_in_the_inventory(whole: Path, verified: Verified) -> None:
    names = ["../outside", "/etc/passwd", "a\0b", "a" * 5000, "val", ""]
    stamps = [None, 3, [], {}, {"bytes": "x"}, {"bytes": HUGE, "sha256": {}}]
    path = whole / "fingerprints/files.json"
    listed = json.loads(path.read_text())
    put(path, {**listed, **dict(zip(names, stamps, strict=True)), **dict(zip(listed, stamps, strict=False))})
    faults = verified(whole).findings
    assert {fault.field for fault in faults} == {"digests"}
    assert len(faults) == len(names) + len(stamps)


def retyped(path: Path, column: str, values: Callable[[int], pa.Array] | None) -> None:
    """A column of other values, of whatever type; without it where there are none."""
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        table = file.read()
    at = table.column_names.index(column)
    table = table.remove_column(at) if values is None else table.set_column(at, column, values(len(table)))
    path.unlink()
    with pq.ParquetWriter(path, table.schema) as writer:
        begun = 0
        for rows in groups:
            writer.write_table(table.slice(begun, rows), row_group_size=rows)
            begun += rows


ODD: dict[str, Callable[[int], pa.Array] | None] = {
    "gone": None,
    "null": lambda n: pa.nulls(n),
    "null numbers": lambda n: pa.nulls(n, pa.int64()),
    "texts": lambda n: pa.array(["x"] * n),
    "times": lambda n: pa.array([0] * n, pa.timestamp("ns")),
    "halves": lambda n: pa.array([0.5] * n),
    "endless": lambda n: pa.array([float("inf")] * n),
    "huge": lambda n: pa.array([2**62] * n),
    "negative": lambda n: pa.array([-1] * n),
    "lists": lambda n: pa.array([[1]] * n),
    "lists of texts": lambda n: pa.array([["x"]] * n),
    "lists of lists": lambda n: pa.array([[[1.0, 2.0], [3.0]]] * n),
    "ragged lists": lambda n: pa.array([[1.0] * (i % 3) for i in range(n)]),
    "objects": lambda n: pa.array([{"a": 1}] * n),
}


EPISODE_COLUMNS = ("length", "tasks", "data/chunk_index", "dataset_from_index", "meta/episodes/file_index",
                   f"videos/{CAMERA}/from_timestamp", f"videos/{CAMERA}/file_index")  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", EPISODE_COLUMNS)
def test_in_a_column_of_episodes(column: str, odd: str, val: Path) -> None:
    retyped(val / EPISODES, column, ODD[odd])
    faults = verify_structure(val)
    assert faults
    assert {fault.where for fault in faults} == {"val"}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", [f"stats/{STATE}/mean", f"stats/{STATE}/count", f"stats/{CAMERA}/mean"])
def test_in_an_episodes_statistics(column: str, odd: str, val: Path, whole: Path) -> None:
    for split in (val, whole / "val"):
        retyped(split / EPISODES, column, ODD[odd])
    found = verify_structure(val)
    assert {(fault.where, fault.path, fault.field) for fault in found} == {
        ("val", "meta/episodes", "episode statistics")
    }
    view, ledger = DatasetView(whole), Ledger(whole)
    assert view.ours is not None
    check_episode_statistics(view.splits["val"], view.splits["val"].data[0], view.ours, ledger)
    assert bool(ledger.faults) is (STATE in column)


def test_in_the_statistics_of_an_episodes_pictures(whole: Path, bare: Path, verified: Verified) -> None:
    for dataset in (whole, bare):
        for split, odd in (("train", "lists of lists"), ("val", "texts"), ("eval_purple_play", "objects")):
            retyped(dataset / split / EPISODES, f"stats/{CAMERA}/mean", ODD[odd])
        found = [fault for fault in verified(dataset).findings if fault.field == "episode statistics"]
        assert {fault.where for fault in found} == {"train", "val", "eval_purple_play"}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", [STATE, "index", "task_index", "timestamp"])
def test_in_a_column_of_rows(column: str, odd: str, val: Path) -> None:
    retyped(val / DATA, column, ODD[odd])
    faults = verify_structure(val)
    assert DATA in told(faults) or "by its rows' task_index" in told(faults)


@pytest.mark.parametrize("odd", ["gone", "texts", "lists", "endless"])
def test_in_rows_that_are_held_against_their_source(
    odd: str, whole: Path, verified: Verified, sample_tree: Path
) -> None:
    retyped(whole / "val" / DATA, STATE, ODD[odd])
    report = verified(whole, sample_tree)
    assert DATA in told(report.findings)
    assert len(report.curves) == 4 * 7


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", ["index", "scene_left", STATE])
def test_in_fingerprints(column: str, odd: str, whole: Path) -> None:
    retyped(whole / "fingerprints/val.parquet", column, ODD[odd])
    view, ledger = DatasetView(whole), Ledger(whole)
    split = view.splits["val"]
    check_fingerprints(view, split, ledger)
    check_vectors(view, split, split.data[0], ledger)
    for part in split.videos:
        check_pictures(view, split, part, demux(demux_task(view, split, part)), ledger=ledger)
    others_have_fewer = (column, odd) == (STATE, "gone")
    assert {(fault.where, fault.field) for fault in ledger.faults} == (
        set() if others_have_fewer else {("val", "fingerprints")}
    )


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("column", ["task_index", "task"])
def test_in_tasks(column: str, odd: str, val: Path) -> None:
    retyped(val / "meta/tasks.parquet", column, ODD[odd])
    assert {fault.field for fault in verify_structure(val)} & {"tasks", "files"}


@pytest.mark.parametrize("pandas", ["[]", "3", "null", '{"index_columns": 3}', '{"index_columns": [[]]}'])
def test_in_what_pandas_says_of_tasks(pandas: str, val: Path) -> None:
    path = val / "meta/tasks.parquet"
    table = pq.ParquetFile(path).read()
    path.unlink()
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"pandas": pandas.encode()}), path)
    assert "tasks: found pandas index" in told(verify_structure(val))
