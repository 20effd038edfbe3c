"""`source.video.codec`: its own crf and preset where none is given, and a dataset of each that holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quickdraw.data.command_line.composing import parse
from quickdraw.data.processor import processor
from quickdraw.data.processors import block_stack
from quickdraw.errors import Refused
from quickdraw.pipeline.build import build
from quickdraw.pipeline.disk import estimated_bytes
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.plan import make_plan
from quickdraw.pipeline.progress import PlainProgress
from quickdraw.pipeline.settings import Settings
from quickdraw.pipeline.verify.verify import verify
from quickdraw.video.checksums import read_packets
from quickdraw.video.codecs import CODECS
from quickdraw.video.decoding import as_rgb, pictures
from quickdraw.video.encoding import Encoding

type Five = dict[str, Any]
type Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
CAMERA = "scene_left"


def settings_of(tree: Path, *arguments: str) -> Settings:
    return block_stack(parse(["processor=block_stack", f"source.dir={tree}", *arguments]).config)


def built(tree: Path, output: Path, *arguments: str) -> Path:
    settings = settings_of(tree, f"output.dir={output}", "source.hw=[32,64]", f"source.cameras=[{CAMERA}]", *arguments)
    assert build(*make_plan(settings, Inline(), PlainProgress()), Inline(), PlainProgress())
    return output


def refused(*arguments: str) -> str:
    with pytest.raises(Refused) as refusal:
        settings_of(Path("/d"), *arguments)
    return str(refusal.value)


def test_the_default_is_h264_with_its_measured_crf_and_preset() -> None:
    encodings = settings_of(Path("/d")).encodings
    assert set(encodings) == {"scene_left", "scene_right", "gripper_right_bottom", "gripper_right_top"}
    encoding = encodings[CAMERA]
    assert all(other == encoding for other in encodings.values())
    assert (encoding.codec, encoding.crf, encoding.preset, encoding.gop) == ("h264", 15, "veryfast", 5)


@pytest.mark.parametrize("codec", CODECS)
def test_a_codec_alone_brings_its_own_crf_and_preset_and_either_may_be_given(codec: str) -> None:
    own, option = CODECS[codec], f"source.video.codec={codec}"
    for given, crf, preset in (
        ([], own.crf, own.preset),
        (["source.video.crf=null", "source.video.preset=null"], own.crf, own.preset),
        (["source.video.crf=33"], 33, own.preset),
        ([f"source.video.preset={own.presets[8]}"], own.crf, own.presets[8]),
    ):
        settings = settings_of(Path("/d"), option, *given)
        encoding = settings.encodings[CAMERA]
        assert isinstance(encoding, Encoding)
        assert (encoding.codec, encoding.crf, encoding.preset) == (codec, crf, preset)
        assert settings.content["video"] == {"codec": codec, "crf": crf, "preset": preset, "gop": 5}
        info = settings.dataset_spec().camera_specs[0].video_info
        assert (info["video.codec"], info["video.crf"], info["video.preset"]) == (codec, crf, preset)


@pytest.mark.parametrize("codec", CODECS)
def test_every_preset_and_both_ends_of_a_codecs_crf_are_in_its_range(codec: str) -> None:
    own, chosen = CODECS[codec], ["processor=block_stack", "source.dir=/d", f"source.video.codec={codec}"]
    ends = [f"crf={crf}" for crf in (own.best_crf, own.worst_crf)]
    for given in (*ends, *(f"preset={preset}" for preset in own.presets)):
        assert processor("block_stack").faults(parse([*chosen, f"source.video.{given}"]).config) == []


@pytest.mark.parametrize(
    ("codec", "option", "found", "expected"),
    [
        ("h264", "source.video.crf", "52", "0 to 51 for h264"),
        ("hevc", "source.video.crf", "63", "0 to 51 for hevc"),
        ("av1", "source.video.crf", "64", "1 to 63 for av1"),
        ("av1", "source.video.crf", "0", "1 to 63 for av1"),
        ("h264", "source.video.preset", "10", "one of ultrafast, superfast, veryfast, faster, fast, medium"),
        ("hevc", "source.video.preset", "placebo", "one of ultrafast, superfast, veryfast, faster, fast, medium"),
        ("av1", "source.video.preset", "veryfast", "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 for av1"),
        ("av1", "source.video.preset", "14", "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 for av1"),
        ("av1", "source.target_hz", "241", "1 to 240 Hz, whole"),
        ("vp9", "source.video.codec", "vp9", "one of h264, hevc, av1"),
        ("vp9", "source.video.crf", "64", "0 to 51 for h264, 0 to 51 for hevc, 1 to 63 for av1"),
        ("vp9", "source.video.preset", "warp", "one of ultrafast, superfast, "),
    ],
)
def test_what_a_codec_does_not_know_is_refused_with_what_it_knows(
    codec: str, option: str, found: str, expected: str
) -> None:
    others = [] if option == "source.video.codec" else [f"{option}={found}"]
    text = refused(f"source.video.codec={codec}", *others)
    assert f"command line: {option}: found {found}, expected {expected}" in text
    assert len(text.splitlines()) == 1 + (codec == "vp9" and option != "source.video.codec")


def test_each_codecs_disk_is_estimated_by_its_own_figures(five: Five) -> None:
    settings = settings_of(next(iter(five.values())).tree)
    plan, _ = make_plan(settings, Inline(), PlainProgress())

    def estimate(codec: str, crf: int) -> int:
        encodings = {name: replace(each, codec=codec, crf=crf) for name, each in settings.encodings.items()
                     if isinstance(each, Encoding)}  # fmt: skip
        return estimated_bytes(plan, replace(settings, encodings=encodings))

    pictures = 4 * sum(episode.frames for episode in plan.episodes.values())
    for codec, own in CODECS.items():
        assert estimate(codec, own.crf) == pytest.approx(2 * own.picture_bytes * pictures, rel=1e-3)
        assert estimate(codec, own.crf) / 3 < estimate(codec, own.crf + 6) < estimate(codec, own.crf) / 1.2


@pytest.fixture
def datasets(five: Five, tmp_path: Path) -> dict[str, Path]:
    tree = next(iter(five.values())).tree
    return {codec: built(tree, tmp_path / codec, f"source.video.codec={codec}") for codec in ("hevc", "av1")}


def test_datasets_of_hevc_and_av1_hold_and_lerobot_reads_what_we_read(
    datasets: dict[str, Path], five: Five, lerobot: Ask
) -> None:
    tree, key = next(iter(five.values())).tree, f"observation.images.{CAMERA}"
    for codec, dataset in datasets.items():
        report = verify(dataset, Inline(), PlainProgress(), tree)
        assert list(report.findings) == []
        assert report.checks["codec"] > 0
        info = json.loads((dataset / "val/meta/info.json").read_text())["features"][key]["info"]
        assert (info["video.codec"], info["video.crf"]) == (codec, CODECS[codec].crf)
        for film in dataset.glob("*/videos/**/*.mp4"):
            assert read_packets(film).codec == codec
    jobs = [{"root": str(dataset / "val"), "rows": None} for dataset in datasets.values()]
    for read in lerobot("read_splits", {"jobs": jobs})["reports"]:
        films = sorted((Path(read["root"]) / "videos" / key).glob("*/*.mp4"))
        ours = [as_rgb(picture) for film in films for picture in pictures(film)]
        assert len(ours) == read["frames"]
        assert [item[key] for item in read["items"]] == [hashlib.sha256(rgb.tobytes()).hexdigest() for rgb in ours]


def test_a_codec_told_wrongly_is_found(datasets: dict[str, Path]) -> None:
    path = datasets["hevc"] / "val/meta/info.json"
    path.write_text(path.read_text().replace('"hevc"', '"h264"'))
    findings = verify(datasets["hevc"], Inline(), PlainProgress()).findings
    assert any("video.codec h264" in str(fault) and "expected hevc" in str(fault) for fault in findings)
