"""Every row of built pooled tasks, as lerobot returns it, against what their files hold by plain pyarrow and ffmpeg."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import av
import numpy as np
import pyarrow.parquet as pq

KEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index", "task", "depth_keys")
IMAGES = "observation.images."
ROUNDED = {"slam_pose": 1e-6, "observation.state": 1e-6, "action": 1e-6, "observation.imu": 2e-7}


def of_episode(rows: dict[str, Any], number: int) -> dict[str, Any]:
    chosen = rows["episode_index"] == number
    return {name: values[chosen] for name, values in rows.items() if name != "depth_keys"}


def test_every_episode_is_built_once_or_refused_for_its_reason(build: Any) -> None:
    built = sorted((told["campaign"], told["run"]) for told in build.provenance["episodes"])
    assert built == sorted((take.task, take.run) for take in build.takes)
    assert len(built) == len(set(built)) > 0
    refused = build.provenance["refused_runs"]
    assert {name.split("/")[1] for name in refused} == set(build.recipe.refused)
    for name, why in refused.items():
        assert build.recipe.refused[name.split("/")[1]][1] in " ".join(why), why


def test_every_value_of_every_row_is_its_files(build: Any) -> None:
    for split in build.splits:
        rows = build.rows(split)
        features = {name for name in rows if not name.startswith(IMAGES)} - set(KEEPING)
        for at, told, _, expected in build.episodes():
            if at != split:
                continue
            found = of_episode(rows, told["episode_index"])
            assert features == set(expected), features ^ set(expected)
            for name, values in expected.items():
                ours = found[name].reshape(len(found[name]), -1)  # a feature of one number comes without a dimension
                assert ours.dtype == values.dtype, name
                assert ours.shape == values.shape, name
                near = max((t for part, t in ROUNDED.items() if part in name), default=0.0)
                np.testing.assert_allclose(ours, values, rtol=near, atol=near, err_msg=f"{told['run']} {name}")


def test_only_what_scipy_and_a_mean_round_is_not_bit_for_bit(build: Any) -> None:
    """Places of a pose, IMU samples of a window and everything else are the files' bits; -0 is not 0 here."""
    for split in build.splits:
        rows = build.rows(split)
        for at, told, _, expected in build.episodes():
            for name, values in expected.items() if at == split else ():
                ours = of_episode(rows, told["episode_index"])[name].reshape(values.shape)
                if "slam_pose" in name and "valid" not in name:
                    ours, values = ours[:, :3], values[:, :3]
                if name in ("observation.state", "action") or (build.asked.imu == "mean" and name == "observation.imu"):
                    continue
                assert ours.tobytes() == values.tobytes(), (told["run"], name)


def test_rows_are_numbered_anew_and_their_time_is_row_over_rate(build: Any) -> None:
    for split in build.splits:
        rows = build.rows(split)
        assert rows["index"].tolist() == list(range(len(rows["index"])))
        for at, told, take, _ in build.episodes():
            if at == split:
                found = of_episode(rows, told["episode_index"])
                count = np.arange(len(take.rows))
                assert found["frame_index"].tolist() == count.tolist()
                assert np.array_equal(found["timestamp"], (count / build.asked.fps).astype(np.float32))
                assert set(found["task"].tolist()) == {take.text}


def test_cameras_are_the_slots_or_the_names_they_are_united_under(build: Any) -> None:
    for split in build.splits:
        rows = build.rows(split)
        for at, told, take, _ in build.episodes():
            if at == split:
                assert {name for name in rows if name.startswith(IMAGES)} == {IMAGES + name for name in take.cameras}
                assert told["slots"] == {name: film.slot for name, film in take.cameras.items()}
                depth = {IMAGES + name for name, film in take.cameras.items() if film.depth}
                assert set(rows["depth_keys"].tolist()) == depth


def test_every_picture_is_the_rows_own_to_within_encoding_loss(build: Any) -> None:
    for split in build.splits:
        rows = build.rows(split)
        for at, told, take, _ in build.episodes():
            for name, film in take.cameras.items() if at == split else ():
                if film.depth:
                    continue
                found = of_episode(rows, told["episode_index"])[IMAGES + name]
                source = build.oracle.rows_of(film, build.oracle.rgb)
                if found.shape != source.shape:  # by area
                    n, height, width, _ = found.shape
                    parts = source.shape[1] // height, source.shape[2] // width
                    source = source.reshape(n, height, parts[0], width, parts[1], 3).mean(axis=(2, 4))
                assert found.shape == source.shape
                apart = np.abs(found[:, None].astype(np.float32) - source[None]).mean(axis=(2, 3, 4))
                assert (apart.argmin(axis=1) == np.arange(len(apart))).all() or len(np.unique(source, axis=0)) < len(
                    source
                )
                assert np.diag(apart).max() <= (0.02 if build.recipe.copied else 4.0), (told["run"], name)
                if build.recipe.copied:
                    assert np.abs(found.astype(int) - source).max() <= 1


def test_every_depth_picture_reads_back_to_a_millimetre_or_two_and_nothing_as_nothing(build: Any) -> None:
    for split in build.splits:
        rows = build.rows(split)
        for at, told, take, _ in build.episodes():
            for name, film in take.cameras.items() if at == split else ():
                if not film.depth:
                    continue
                found = of_episode(rows, told["episode_index"])[IMAGES + name]
                assert found.dtype == np.float32
                if build.recipe.logs:  # codes as they are, in which nothing reads 100 mm
                    source = build.oracle.rows_of(film, build.oracle.log_mm).astype(np.float64)
                    assert source.min() == found.min() == 100
                    assert np.abs(found - source).max() <= 1
                    continue
                source = build.oracle.rows_of(film, build.oracle.depth_mm).astype(np.float64)
                assert found.shape == source.shape
                assert (found[source == 0] == 0).all()
                error = np.abs(found - np.minimum(source, 10_000))
                assert error[source < 1_000].max(initial=0) <= 1
                assert error.max() <= 2
                beyond = int((source > 10_000).sum())
                assert told.get("depth_beyond_px", {}).get(name, 0) == beyond


def test_what_was_trimmed_split_or_late_stands_in_provenance(build: Any) -> None:
    for _, told, take, _ in build.episodes():
        assert (told["number"], told["trimmed_rows"]) == (take.number, take.trimmed_rows)
        late = {n: int((f.pictures < 0).sum()) for n, f in take.cameras.items() if f.depth and (f.pictures < 0).any()}
        assert told.get("depth_starts_at_row", {}) == late
        assert (told.get("piece") == f"{take.piece} of {take.pieces}") == (take.pieces > 1)
        assert told["frames"] == len(take.rows)


def test_features_are_flat_named_with_units_and_of_no_kind_lerobot_stumbles_over(build: Any) -> None:
    for split in build.splits:
        info = json.loads((build.dataset / split / "meta/info.json").read_text())
        for name, feature in info["features"].items():
            if name.startswith(IMAGES):
                assert (feature["dtype"], len(feature["shape"])) == ("video", 3)
                depth = feature["info"]["is_depth_map"]
                assert feature["shape"][2] == (1 if depth else 3)
                if depth:
                    assert feature["info"]["video.pix_fmt"] == "gray12le"
                    assert feature["info"]["depth_unit"] == "mm"
                    limits = [feature["info"][f"video.{key}"] for key in ("depth_min", "depth_max", "shift", "use_log")]
                    assert limits == ([0.1, 5.0, 0.0, True] if build.recipe.logs else [0.0, 10.0, 3.5, True])
                continue
            assert len(feature["shape"]) == 1
            assert feature["dtype"] in ("float32", "int64")
            assert "image" not in name
            assert not name.endswith("_is_pad")
            if name not in KEEPING:
                names = feature["names"]
                assert len(names) == len(set(names)) == feature["shape"][0]
                told = build.provenance["features"][name]
                assert told["names"] == names
                assert len(told["unit"]) == len(names)
                if "grid" in told:
                    assert int(np.prod(told["grid"])) == len(names)


def test_the_longest_recordings_go_to_val_with_all_their_pieces(build: Any) -> None:
    lengths: dict[tuple[str, int], int] = {}
    splits: dict[tuple[str, int], set[str]] = {}
    for split, _, take, _ in build.episodes():
        recording = (take.task, take.number)
        lengths[recording] = lengths.get(recording, 0) + len(take.rows)
        splits.setdefault(recording, set()).add(split)
    assert {len(found) for found in splits.values()} == {1}
    of = {split: [n for key, n in lengths.items() if splits[key] == {split}] for split in build.splits}
    assert all(of.values())
    if "+source.val_rule=random" not in build.recipe.options and "val" in of:
        assert min(of["val"]) >= max(of["train"])
    assert ("val" in of) == (len(lengths) > 1)


def test_copied_videos_hold_the_sources_packets(build: Any) -> None:
    if not build.recipe.copied:
        return
    for split in build.splits:
        for path in (build.dataset / split / "videos").rglob("*.mp4"):
            shown = build.oracle.rgb(path)
            expected = [build.oracle.rows_of(film, build.oracle.rgb) for s, _, take, _ in build.episodes()
                        for film in take.cameras.values() if s == split]  # fmt: skip
            assert np.array_equal(shown, np.concatenate(expected))


def test_verify_finds_nothing(build: Any, pooled_verified: dict[str, Any]) -> None:
    told = pooled_verified[build.name]
    assert told["code"] == 0, told
    document = json.loads(told["said"])
    assert document["findings"] == []
    assert {skip["check"] for skip in document["skipped"]} <= {"shift sweep", "frozen"}  # of takes too short for them
    frames = sum(len(take.rows) for take in build.takes)
    assert document["checks"]["decoding"]["looked_at"] == frames * len(build.takes[0].cameras)


def test_rotations_are_pinned_in_all_statistics(build: Any) -> None:
    pin = {
        "mean": 0.0,
        "std": 1.0,
        "min": -1.0,
        "max": 1.0,
        "q01": -1.0,
        "q10": -1.0,
        "q50": 0.0,
        "q90": 1.0,
        "q99": 1.0,
    }
    for split in build.splits:
        stats = json.loads((build.dataset / split / "meta/stats.json").read_text())
        files = sorted((build.dataset / split / "meta/episodes").rglob("*.parquet"))
        episodes = [row for file in files for row in pq.read_table(file).to_pylist()]
        for name, feature in build.provenance["features"].items():
            dims = feature.get("identity_dims", [])
            if "slam_pose" in name and not name.endswith("_valid"):
                assert dims == list(range(3, 9))
            for statistic, value in pin.items():
                assert [stats[name][statistic][d] for d in dims] == [value] * len(dims), (name, statistic)
                for row in episodes:
                    assert [row[f"stats/{name}/{statistic}"][d] for d in dims] == [value] * len(dims), name


def test_depth_statistics_are_millimetres_of_what_lerobot_decodes(build: Any) -> None:
    train = build.rows("train")
    stats = json.loads((build.dataset / "train" / "meta/stats.json").read_text())
    for key in train["depth_keys"].tolist():
        found = stats[key]
        plain = train[key].astype(np.float64)  # every episode here is short: lerobot's sample is all of it
        expected = {"min": plain.min(), "max": plain.max(), "mean": plain.mean(), "std": plain.std()}
        expected |= {f"q{q:02d}": np.quantile(plain, q / 100) for q in (1, 10, 50, 90, 99)}
        for name, value in expected.items():
            assert np.shape(found[name]) == (1, 1, 1)
            np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)
        assert found["count"] == [len(plain)]


def test_keyframes_come_often_enough_to_read_rows_at_random(build: Any) -> None:
    for path in build.dataset.rglob("*.mp4"):
        with av.open(str(path)) as container:
            packets = [packet for packet in container.demux(video=0) if packet.dts is not None]
            keys = [at for at, packet in enumerate(packets) if packet.is_keyframe]
            assert keys[0] == 0
            assert max(b - a for a, b in pairwise([*keys, len(packets)])) <= 5
            assert [packet.pts for packet in packets] == [packet.dts for packet in packets]
