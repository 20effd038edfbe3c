"""What holds for a clip whatever it is encoded by: its pictures, their times, its keyframes, its tags, its bytes."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import imageio_ffmpeg
import numpy as np
import pytest

from quickdraw.core.episode import FramePlan
from quickdraw.errors import InvariantError, VideoError
from quickdraw.video.checksums import packet_crcs
from quickdraw.video.codecs import CODECS
from quickdraw.video.decoding import pictures
from quickdraw.video.encoding import Encoding
from quickdraw.video.join import join
from quickdraw.video.transcode import transcode

type Tools = Any
ROWS = [0, 0, 0, *range(1, 30), 40, 40, *range(60, 100, 3), 99]


def encoding(codec: str, **changed: Any) -> Encoding:
    """Small pictures; a codec's own crf and preset where no other is asked for."""
    chosen = {"height_px": 48, "width_px": 80, "rate_hz": 30, "gop": 5, "crf": CODECS[codec].crf,
              "preset": CODECS[codec].preset} | changed  # fmt: skip
    return Encoding(codec=codec, **chosen)


def clip(source: Path, target: Path, chosen: Encoding, rows: list[int] = ROWS, count: int = 100) -> Path:
    transcode(FramePlan(source, np.array(rows, np.int64), count), target, chosen)
    return target


def packets(path: Path) -> list[tuple[Fraction, Fraction, bool, bytes]]:
    """(shown, decoded, keyframe, payload) of every packet, times in seconds."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return [(p.pts * stream.time_base, p.dts * stream.time_base, p.is_keyframe, bytes(p))
                for p in container.demux(stream) if p.pts is not None and p.dts is not None]  # fmt: skip


def configuration(path: Path) -> bytes:
    with av.open(str(path)) as container:
        return bytes(container.streams.video[0].codec_context.extradata or b"")


@pytest.fixture
def noise(tmp_path: Path, tools: Tools) -> Path:
    """Thirty pictures that have nothing in common: a cut of the scene at each."""
    scenes = np.random.default_rng(0).integers(0, 256, (30, 96, 160, 3), np.uint8)
    made: Path = tools.encode(tmp_path / "noise.mp4", scenes, *tools.x264, "-bf", "0")
    return made


@pytest.mark.parametrize("codec", CODECS)
def test_row_i_shows_exactly_the_picture_it_asks_for(
    codec: str, tmp_path: Path, hundred: Callable[[], Path], tools: Tools
) -> None:
    made = clip(hundred(), tmp_path / "clip.mp4", encoding(codec))
    assert tools.read_numbers(tools.decode(made, 48, 80)) == ROWS


@pytest.mark.parametrize("gop", [1, 2, 5, 250])
@pytest.mark.parametrize("codec", CODECS)
def test_pictures_are_coded_in_their_order_evenly_timed_with_a_keyframe_every_gop_even_where_the_scene_cuts(
    codec: str, gop: int, tmp_path: Path, hundred: Callable[[], Path], noise: Path
) -> None:
    for source, rows, count in ((hundred(), ROWS, 100), (noise, list(range(30)), 30)):
        found = packets(clip(source, tmp_path / "clip.mp4", encoding(codec, gop=gop), rows, count))
        times = [Fraction(k, 30) for k in range(len(rows))]
        assert [shown for shown, *_ in found] == [decoded for _, decoded, *_ in found] == times
        assert [k for k, (*_, is_key, _) in enumerate(found) if is_key] == list(range(0, len(rows), gop))


@pytest.mark.parametrize("size", [(16, 16), (18, 22), (144, 192), (480, 640)], ids=str)
@pytest.mark.parametrize("codec", CODECS)
def test_pictures_of_any_even_size_and_clips_of_any_length_are_as_many_as_rows(
    codec: str, size: tuple[int, int], tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    for rows in ([7], [1, 1, 1], [*range(12)]):
        made = clip(hundred(), tmp_path / "clip.mp4", encoding(codec, height_px=size[0], width_px=size[1]), rows)
        shown = list(pictures(made))
        assert [(picture.height, picture.width) for picture in shown] == [size] * len(rows)


@pytest.mark.parametrize(("codec", "rate_hz"), [(codec, rate_hz) for codec in CODECS for rate_hz in (1, 7, 240)])
def test_whole_rates_have_exact_times(codec: str, rate_hz: int, tmp_path: Path, hundred: Callable[[], Path]) -> None:
    found = packets(clip(hundred(), tmp_path / "clip.mp4", encoding(codec, rate_hz=rate_hz), [*range(12)]))
    assert [shown for shown, *_ in found] == [Fraction(k, rate_hz) for k in range(12)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("gop", [1, 5])
def test_a_picture_decoded_after_a_seek_is_the_one_decoded_in_order(
    codec: str, gop: int, tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    made = clip(hundred(), tmp_path / "clip.mp4", encoding(codec, gop=gop))
    in_order = [picture.to_ndarray() for picture in pictures(made)]
    with av.open(str(made)) as container:
        stream = container.streams.video[0]
        for k in random.Random(0).sample(range(len(ROWS)), len(ROWS)):
            container.seek(k * 512, stream=stream)
            decoded = 0
            for picture in container.decode(stream):
                decoded += 1
                if picture.pts == k * 512:
                    break
            assert (picture.to_ndarray() == in_order[k]).all()
            assert decoded == k % gop + 1


@pytest.mark.parametrize(
    ("codec", "named"),
    [("h264", r"h264 \(.*\) \(avc1"), ("hevc", r"hevc \(Main\) \(hvc1"), ("av1", r"av1 \(.*\) \(av01")],
)
def test_ffmpeg_names_the_clip_by_a_tag_browsers_play_and_bt601_limited(
    codec: str, named: str, tmp_path: Path, hundred: Callable[[], Path]
) -> None:
    made = clip(hundred(), tmp_path / "clip.mp4", encoding(codec))
    join([(made, len(ROWS))] * 2, tmp_path / "joined.mp4", 30)
    for path in (made, tmp_path / "joined.mp4"):
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", str(path)]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        assert re.search(rf"Video: {named}.*yuv420p\(tv, smpte170m.*80x48.*30 fps", text), text
        assert text.count("Stream #") == 1
        data = path.read_bytes()
        assert data.index(b"moov") < data.index(b"mdat")  # faststart
        (matrix,) = {(picture.colorspace, picture.color_range) for picture in pictures(path)}
        assert matrix == (6, 1)


@pytest.mark.parametrize("codec", CODECS)
def test_clips_of_one_encoding_are_joined_without_a_change_of_any_picture(
    codec: str, tmp_path: Path, hundred: Callable[[], Path], noise: Path, tools: Tools
) -> None:
    chosen = encoding(codec)
    parts = [(clip(hundred(), tmp_path / "a.mp4", chosen, ROWS), len(ROWS)),
             (clip(noise, tmp_path / "b.mp4", chosen, [*range(30)], 30), 30),
             (clip(hundred(), tmp_path / "c.mp4", chosen, [99]), 1)]  # fmt: skip
    assert len({configuration(path) for path, _ in parts}) == 1  # what the join insists on
    target = tmp_path / "joined.mp4"
    join(parts, target, 30)
    found = packets(target)
    assert [shown for shown, *_ in found] == [Fraction(k, 30) for k in range(len(ROWS) + 31)]
    assert [payload for *_, payload in found] == [payload for path, _ in parts for *_, payload in packets(path)]
    assert (packet_crcs(target) == np.concatenate([packet_crcs(path) for path, _ in parts])).all()
    one_by_one = [tools.decode(path, 48, 80) for path, _ in parts]
    assert (tools.decode(target, 48, 80) == np.concatenate(one_by_one)).all()


@pytest.mark.parametrize("other", ["hevc", "av1"])
def test_clips_of_two_codecs_are_not_joined(other: str, tmp_path: Path, hundred: Callable[[], Path]) -> None:
    parts = [(clip(hundred(), tmp_path / f"{codec}.mp4", encoding(codec)), len(ROWS)) for codec in ("h264", other)]
    with pytest.raises(InvariantError, match=rf"{other}\.mp4: encoded unlike .*h264\.mp4"):
        join(parts, tmp_path / "joined.mp4", 30)


@pytest.mark.parametrize("codec", CODECS)
def test_a_lower_crf_costs_bytes_and_comes_nearer(codec: str, tmp_path: Path, tools: Tools) -> None:
    grain = np.random.default_rng(0).integers(0, 80, (1, 48, 80, 3), np.uint8)
    scene = np.concatenate([np.roll(grain, k, axis=2) for k in range(12)]) + 60
    source = tools.encode(tmp_path / "s.mp4", scene, *tools.x264, "-bf", "0", "-crf", "1")
    wanted = [picture.to_ndarray().astype(int) for picture in pictures(source)]
    sizes, distances = [], []
    for crf in (CODECS[codec].best_crf, 10, 25, CODECS[codec].worst_crf):
        made = clip(source, tmp_path / "clip.mp4", encoding(codec, crf=crf), [*range(12)], 12)
        sizes.append(made.stat().st_size)
        shown = [picture.to_ndarray() for picture in pictures(made)]
        distances.append(np.mean([np.abs(a - b).mean() for a, b in zip(wanted, shown, strict=True)]))
    assert sizes == sorted(sizes, reverse=True)
    assert distances == sorted(distances)
    assert len(set(sizes)) == 4


@pytest.mark.parametrize(("codec", "preset"), [(codec, preset) for codec in CODECS for preset in CODECS[codec].presets])
def test_every_preset_makes_a_clip_of_the_same_form(
    codec: str, preset: str, tmp_path: Path, hundred: Callable[[], Path], tools: Tools
) -> None:
    made = clip(hundred(), tmp_path / "clip.mp4", encoding(codec, preset=preset), [*range(12)])
    assert [shown for shown, *_ in packets(made)] == [Fraction(k, 30) for k in range(12)]
    assert tools.read_numbers(tools.decode(made, 48, 80)) == [*range(12)]


@pytest.mark.parametrize("codec", CODECS)
def test_encoders_and_decoders_say_nothing(
    codec: str, tmp_path: Path, hundred: Callable[[], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    made = clip(hundred(), tmp_path / "clip.mp4", encoding(codec))
    join([(made, len(ROWS))], tmp_path / "joined.mp4", 30)
    assert len(list(pictures(tmp_path / "joined.mp4"))) == len(ROWS)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_zeroed_bytes_within_a_picture_are_an_error(codec: str, tmp_path: Path, noise: Path) -> None:
    made = clip(noise, tmp_path / "clip.mp4", encoding(codec), [*range(30)], 30)
    data = bytearray(made.read_bytes())
    with av.open(str(made)) as container:
        packet = [p for p in container.demux(video=0) if p.size][7]
    at = (packet.pos or 0) + packet.size // 2
    data[at : at + 8] = bytes(8)
    made.write_bytes(data)
    with pytest.raises(VideoError, match=r"clip\.mp4: found picture 7: "):
        list(pictures(made))


@pytest.mark.parametrize("codec", CODECS)
def test_info_says_how_it_was_encoded(codec: str) -> None:
    info = encoding(codec, gop=4, crf=11).info()
    assert (info["video.codec"], info["video.g"], info["video.crf"]) == (codec, 4, 11)
    assert info["video.preset"] == CODECS[codec].preset
    assert info["video.extra_options"] == {**CODECS[codec].fixed, "threads": "1"}
    json.dumps(info)


DIGESTS = """
import hashlib, sys
from pathlib import Path
import numpy as np
from quickdraw.core.episode import FramePlan
from quickdraw.video.codecs import CODECS
from quickdraw.video.decoding import pictures
from quickdraw.video.encoding import Encoding
from quickdraw.video.transcode import transcode
target, *sources = map(Path, sys.argv[1:])
for source in sources:
    count = sum(1 for _ in pictures(source))
    for codec in CODECS.values():
        encoding = Encoding(144, 192, 30, crf=codec.crf, preset=codec.preset, gop=5, codec=codec.name)
        transcode(FramePlan(source, np.arange(count), count), target, encoding)
        print(source.name, codec.name, hashlib.sha256(target.read_bytes()).hexdigest())
"""


def test_clips_depend_neither_on_what_lay_in_memory_before_nor_on_processes_beside_them(
    sample_tree: Path, tmp_path: Path
) -> None:
    """glibc fills fresh memory with the byte MALLOC_PERTURB_ asks for; three at once compete for two cores."""
    films = sorted(sample_tree.glob("*/recording_*/video/*.mp4"))[:4:2]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", DIGESTS, str(tmp_path / f"{filling}.mp4"), *map(str, films)],
            stdout=subprocess.PIPE, text=True, env=os.environ | {"MALLOC_PERTURB_": filling},
        )
        for filling in ("0", "1", "85")
    ]  # fmt: skip
    printed = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert printed[0].count("\n") == 2 * len(CODECS)
    assert printed[1:] == printed[:1] * 2


@pytest.mark.parametrize("codec", CODECS)
def test_no_encoder_takes_precedence_over_other_processes(codec: str, tmp_path: Path) -> None:
    """As root SVT-AV1 gives its threads real-time priority: one of them keeps everything else from a core."""
    with av.open(str(tmp_path / "a.mp4"), "w") as container:
        stream = encoding(codec).open_stream(container)
        stream.codec_context.open(strict=False)
        threads = [int(thread.name) for thread in Path("/proc/self/task").iterdir()]
        assert {os.sched_getscheduler(thread) for thread in threads} == {os.SCHED_OTHER}
        stream.encode()  # so that closing has nothing to wait for
