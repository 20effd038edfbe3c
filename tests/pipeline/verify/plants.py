"""The faults that are planted, each a function of a dataset folder. Loaded from its path (tests are no package).

Files are replaced, never written into: they are further names of the sample's.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from quickdraw.video.encoding import Encoding

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
ENCODING = Encoding(144, 192, 30, crf=15, preset="veryfast", gop=5)


def video(dataset: Path, camera: str, split: str = "val") -> Path:
    return dataset / split / f"videos/observation.images.{camera}/chunk-000/file-000.mp4"


def put(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def refilm(path: Path, order: Callable[[int], Sequence[int]]) -> None:
    """Encode a file's pictures anew in another order."""
    with av.open(str(path)) as container:
        shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    path.unlink()
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        stream = ENCODING.open_stream(container)
        for number, at in enumerate(order(len(shown))):
            frame = av.VideoFrame.from_ndarray(shown[at], format="rgb24").reformat(format="yuv420p")
            ENCODING.stamp(frame, number)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def retable(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the columns of a table, as lists; row groups, types and metadata stay."""
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        table = file.read()
    columns = table.to_pydict()
    change(columns)
    schema = pa.schema([table.schema.field(name) for name in columns], metadata=table.schema.metadata)
    changed = pa.table(columns, schema=schema)
    path.unlink()
    with pq.ParquetWriter(path, schema) as writer:
        for first, rows in zip(np.cumsum([0, *groups]), groups, strict=False):
            writer.write_table(changed.slice(first, rows), row_group_size=rows)


def redocument(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    put(path, json.dumps(document).encode())


def frame_dropped(dataset: Path) -> None:
    refilm(video(dataset, "scene_left"), lambda n: [i for i in range(n) if i != 400])


def shifted(dataset: Path) -> None:
    refilm(video(dataset, "gripper_right_top"), lambda n: [0, *range(n - 1)])


def swapped(dataset: Path) -> None:
    left, right, aside = video(dataset, "scene_left"), video(dataset, "scene_right"), dataset / "aside"
    left.rename(aside)
    right.rename(left)
    aside.rename(right)


def frozen(dataset: Path) -> None:
    refilm(video(dataset, "scene_right"), lambda n: [100 if 100 <= i <= 130 else i for i in range(n)])


def wrist_frozen(dataset: Path) -> None:
    order = [*range(200), *[200] * 30]
    refilm(video(dataset, "gripper_right_bottom"), lambda n: [*order, *range(len(order), n)])


def truncated(dataset: Path) -> None:
    path = video(dataset, "scene_left")
    put(path, path.read_bytes()[: path.stat().st_size * 6 // 10])


def random_bytes(dataset: Path) -> None:
    path = video(dataset, "gripper_right_bottom")
    content, at = bytearray(path.read_bytes()), path.stat().st_size * 2 // 5
    content[at : at + 400] = np.random.default_rng(7).bytes(400)
    put(path, bytes(content))


def late_first_time(dataset: Path) -> None:
    """Every picture two pictures late, by stream copy."""
    path = video(dataset, "scene_left")
    late = path.with_suffix(".late")
    with av.open(str(path)) as source, av.open(str(late), "w", format="mp4") as target:
        stream = target.add_stream_from_template(source.streams.video[0], opaque=True)
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.pts, packet.dts = packet.pts + 2 * packet.duration, packet.dts + 2 * packet.duration
                packet.stream = stream
                target.mux(packet)
    late.replace(path)


def z_scored_rotation(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        state = np.array(columns["observation.state"], np.float32)
        state[:, 3:9] = (state[:, 3:9] - state[:, 3:9].mean(0)) / (state[:, 3:9].std(0) + 1e-3)
        columns["observation.state"] = state.tolist()

    retable(dataset / "val" / DATA, change)


def rows_reordered(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        for column in columns.values():
            column[10], column[11] = column[11], column[10]

    retable(dataset / "val" / DATA, change)


def states_reordered(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        state = columns["observation.state"]
        state[10], state[11] = state[11], state[10]

    retable(dataset / "val" / DATA, change)


def cube_held_too_long(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["observation.objects.cube"][10][0] += 0.25

    retable(dataset / "val" / DATA, change)


def fingerprints_removed(dataset: Path) -> None:
    shutil.rmtree(dataset / "fingerprints")


def nan_in_the_state(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["observation.state"][370][10] = float("nan")

    retable(dataset / "val" / DATA, change)


def stats_of_another_split(dataset: Path) -> None:
    put(dataset / "val/meta/stats.json", (dataset / "train/meta/stats.json").read_bytes())


def task_changed(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["tasks"][1] = columns["tasks"][2]

    retable(dataset / "train" / EPISODES, change)


def tasks_in_another_order(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        for column in columns.values():
            column.reverse()

    retable(dataset / "train/meta/tasks.parquet", change)


def task_texts_exchanged(dataset: Path) -> None:
    retable(dataset / "train/meta/tasks.parquet", lambda columns: columns["task"].reverse())


def from_timestamp_late(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["videos/observation.images.scene_right/from_timestamp"][1] += 1 / 30

    retable(dataset / "val" / EPISODES, change)


def picture_statistics_in_255(dataset: Path) -> None:
    def change(stats: dict[str, Any]) -> None:
        camera = stats["observation.images.scene_left"]
        for name in camera.keys() - {"count"}:
            camera[name] = (np.array(camera[name]) * 255).tolist()

    redocument(dataset / "val/meta/stats.json", change)


def quantiles_missing(dataset: Path) -> None:
    def change(stats: dict[str, Any]) -> None:
        for statistics in stats.values():
            for name in ("q01", "q10", "q50", "q90", "q99"):
                del statistics[name]

    redocument(dataset / "val/meta/stats.json", change)


def episode_quantiles_missing(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        for name in [name for name in columns if name.startswith("stats/") and "/q" in name]:
            del columns[name]

    retable(dataset / "val" / EPISODES, change)


def height_and_width_exchanged(dataset: Path) -> None:
    def change(info: dict[str, Any]) -> None:
        for feature in info["features"].values():
            if feature["dtype"] == "video":
                feature["shape"] = [192, 144, 3]

    redocument(dataset / "val/meta/info.json", change)


def another_codec_told(dataset: Path) -> None:
    def change(info: dict[str, Any]) -> None:
        info["features"]["observation.images.scene_left"]["info"]["video.codec"] = "av1"

    redocument(dataset / "val/meta/info.json", change)


def orphan_parquet(dataset: Path) -> None:
    shutil.copy2(dataset / "val" / DATA, dataset / "val/data/chunk-000/file-001.parquet")


def orphan_episodes(dataset: Path) -> None:
    shutil.copy2(dataset / "val" / EPISODES, dataset / "val/meta/episodes/chunk-000/file-001.parquet")


def gap_in_episodes(dataset: Path) -> None:
    def change(columns: dict[str, Any]) -> None:
        columns["episode_index"] = [2 if index == 1 else index for index in columns["episode_index"]]

    retable(dataset / "val" / EPISODES, change)
    retable(dataset / "val" / DATA, change)


def clip_of_another_episode(dataset: Path) -> None:
    folder = dataset / "media/scene_left/train"
    put(folder / "ep_0000.mp4", (folder / "ep_0001.mp4").read_bytes())


def another_rule(dataset: Path) -> None:
    """provenance.json says that three episodes should have gone to val."""

    def change(document: dict[str, Any]) -> None:
        document["config"]["val_floor"] = 3

    redocument(dataset / "provenance.json", change)


def constants_scaled(dataset: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["action"]["std"][2] *= 1.01

    redocument(dataset / "normalization_stats.json", change)


def count_changed(dataset: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["counts"]["val"]["frames"] += 1

    redocument(dataset / "summary.json", change)
