"""Ways to spoil a sound task of `tasks`: each does one thing to its folder, mostly to episode 2."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.sim.pooled import documents
from quickdraw.sim.pooled.files import data_path, row_path, video_path
from quickdraw.sim.pooled.spec import SlotSpec
from quickdraw.sim.pooled.table import write_table

_SECOND: Final = 2
_CAMERA: Final = SlotSpec("cam")
_GLOVE: Final = "observation.left_glove"
_WITH_MATRIX: Final = 3
_MATRIX: Final = "observation.gripper_left_force_matrix"


def nothing(_: Path) -> None:
    """Leave a task as it is: its defect is in the recording."""


def remove_data(task: Path) -> None:
    """Only the video is left of episode 2."""
    data_path(task, _SECOND).unlink()


def remove_row(task: Path) -> None:
    """Episode 2 has its files and no row in meta/episodes."""
    row_path(task, _SECOND).unlink()


def remove_files(task: Path) -> None:
    """Of episode 2 only the row is left, as after a deletion."""
    data_path(task, _SECOND).unlink()
    video_path(task, _SECOND, _CAMERA).unlink()


def second_extension(task: Path) -> None:
    """The camera of episode 2 has an mp4 and an mkv."""
    film = video_path(task, _SECOND, _CAMERA)
    shutil.copyfile(film, film.with_suffix(".mkv"))


def cut_video(task: Path) -> None:
    """The camera film of episode 2 stops in the middle of the file."""
    film = video_path(task, _SECOND, _CAMERA)
    film.write_bytes(film.read_bytes()[: film.stat().st_size // 2])


def forget_scales(task: Path) -> None:
    """No row and no feature tells the scale of a matrix."""
    for path in sorted((task / "meta" / "episodes").rglob("*.parquet")):
        rows = pq.read_table(path).to_pylist()
        documents.write_rows(path, [{**row, "force_matrix_specs": "{}"} for row in rows])

    def without_scales(info: dict[str, Any]) -> None:
        for entry in info["features"].values():
            entry.pop("scale", None)

    _change_json(task / "meta" / "info.json", without_scales)


def cut_matrix(task: Path) -> None:
    """The first matrix of episode 3 has one row of points instead of 250."""

    def cut(cells: list[Any]) -> list[Any]:
        return [cells[0][:750], *cells[1:]]

    _change_column(task, _WITH_MATRIX, _MATRIX, cut)


def prettify_tasks(task: Path) -> None:
    """tasks.jsonl indented, so that its first line is a brace."""
    path = task / "meta" / "tasks.jsonl"
    documents.write_json(path, json.loads(path.read_text(encoding="utf-8")))


def make_legacy(task: Path) -> None:
    """The layout of v1.1.0: all rows in one shard without the eleventh column, and stats without counts."""
    folder = row_path(task, _SECOND).parent
    paths = sorted(folder.glob("episode-*.parquet"))
    rows = [row for path in paths for row in pq.read_table(path).drop_columns(["force_matrix_specs"]).to_pylist()]
    old = pa.schema([field for field in documents.ROW_SCHEMA if field.name != "force_matrix_specs"])
    documents.write_rows(folder / f"file-{folder.name.removeprefix('chunk-')}.parquet", rows, old)
    for path in paths:
        path.unlink()
    template = "meta/episodes/chunk-{c:03d}/file-{c:03d}.parquet"
    _change_json(task / "meta" / "info.json", lambda info: info.update(episodes_path=template, app_version="1.1.0"))
    forget_counts(task)


def forget_counts(task: Path) -> None:
    """stats.json as v1.1.0 wrote it."""

    def without_counts(stats: dict[str, Any]) -> None:
        for block in stats.values():
            block.pop("count")

    _change_json(task / "meta" / "stats.json", without_counts)


def lower_total(task: Path) -> None:
    """info.json counts one episode where there are two."""
    _change_json(task / "meta" / "info.json", lambda info: info.update(total_episodes=1))


def leave_old_files(task: Path) -> None:
    """What v1.0 left in a task's folder."""
    (task / "calibration").mkdir()
    (task / f"{task.name}_000001").mkdir()
    (task / "metadata.json").write_text("{}\n", encoding="utf-8")


def renumber_rows(task: Path) -> None:
    """The rows of episode 2 say they are of episode 7."""
    _change_column(task, _SECOND, "episode_index", lambda cells: [7] * len(cells))


def skip_frame(task: Path) -> None:
    """frame_index of episode 2 leaves out 10."""
    _change_column(task, _SECOND, "frame_index", lambda cells: [cell + (cell >= 10) for cell in cells])


def null_glove(task: Path) -> None:
    """One glove cell of episode 2 is null, where zeros belong."""
    _change_column(task, _SECOND, _GLOVE, lambda cells: [*cells[:3], None, *cells[4:]])


def drop_stamp(task: Path) -> None:
    """A row of episode 2 has one IMU stamp fewer than samples."""
    _change_column(task, _SECOND, "imu_ts_ns", lambda cells: [*cells[:3], cells[3][:-1], *cells[4:]])


def _change_column(task: Path, number: int, name: str, change: Callable[[list[Any]], list[Any]]) -> None:
    path = data_path(task, number)
    table = pq.read_table(path)
    place = table.column_names.index(name)
    kind = table.schema.field(name).type
    cells = change(table[name].to_pylist())
    write_table(path, table.set_column(place, name, pa.array(cells, kind)))


def _change_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    documents.write_json(path, document)
