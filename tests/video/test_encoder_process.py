"""Recording a video: every picture in the file, or an error; no hang, no half file taken for a whole one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest

from quickdraw.errors import VideoError
from quickdraw.video import encoder_process, self_test
from quickdraw.video.container import read_header
from quickdraw.video.encoder_process import EncoderProcess
from quickdraw.video.encoders import FFV1, FFV1_WITH_PREVIEW, LOG12, RGB
from quickdraw.video.probing import streams

HEIGHT, WIDTH = 96, 160
FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()


def rgb(path: Path, **changes: Any) -> EncoderProcess:
    return EncoderProcess(path, RGB, **{"height_px": HEIGHT, "width_px": WIDTH, "fps": 30.0, **changes})


def picture(number: int = 0) -> np.ndarray[Any, Any]:
    return np.full((HEIGHT, WIDTH, 3), number % 256, np.uint8)


def write_all(encoder: EncoderProcess, pictures: Iterable[np.ndarray[Any, Any]]) -> None:
    for each in pictures:
        encoder.write(each)


def ended(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process that is no child of ours is gone in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`in_its_place(script)`: the shell runs this instead of ffmpeg, which is `$FFMPEG` in it."""

    def put(script: str) -> None:
        path = tmp_path / "ffmpeg"
        path.write_text(f"#!/bin/sh\nFFMPEG={FFMPEG}\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(encoder_process, "ffmpeg", lambda: str(path))
        monkeypatch.setattr(self_test, "ffmpeg", lambda: str(path))

    return put


def test_every_picture_is_in_the_file_in_order_at_its_time(tools: Any, tmp_path: Path) -> None:
    given = tools.numbered(70)
    path = tmp_path / ".episode-000.mp4.tmp"  # a name that tells no format
    with rgb(path) as encoder:
        write_all(encoder, given)
    assert encoder.written == 70
    read = tools.decode(path, HEIGHT, WIDTH)
    assert tools.read_numbers(read) == list(range(70))
    assert np.abs(read.astype(int) - given).mean() < 2.5
    times = tools.ffmpeg("-i", str(path), "-c", "copy", "-f", "framecrc", "-").decode()
    stamps = [tuple(map(int, line.split(",")[1:4])) for line in times.splitlines() if not line.startswith("#")]
    assert stamps == [(number * 512, number * 512, 512) for number in range(70)]  # decoded in order, of 15360 a second


def test_colour_is_what_was_recorded_and_the_file_says_how(tools: Any, tmp_path: Path) -> None:
    patches = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128), (255, 255, 255), (0, 0, 0)]
    with rgb(tmp_path / "a.mp4") as encoder:
        for colour in patches:
            encoder.write(np.broadcast_to(np.array(colour, np.uint8), (HEIGHT, WIDTH, 3)).copy())
    read = tools.decode(tmp_path / "a.mp4", HEIGHT, WIDTH)[:, HEIGHT // 2, WIDTH // 2].astype(int)
    assert np.abs(read - patches).max() <= 4
    told = subprocess.run([FFMPEG, "-i", str(tmp_path / "a.mp4")], capture_output=True, text=True, check=False).stderr
    assert re.search(r"h264 .*yuv420p\(tv, smpte170m", told)


def test_a_keyframe_comes_every_thirty_pictures_and_the_index_first(tools: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with rgb(path) as encoder:
        write_all(encoder, tools.numbered(61))
    shown = tools.ffmpeg("-skip_frame", "nokey", "-i", str(path), "-fps_mode", "passthrough", "-f", "framecrc", "-")
    stamps = [int(line.split(",")[2]) for line in shown.decode().splitlines() if not line.startswith("#")]
    assert stamps[0] == 0
    assert len(stamps) == 3
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    header = read_header(path)
    assert (header.samples.count, header.edits[0].media_s, header.is_upright) == (61, 0.0, True)


@pytest.mark.parametrize(("encoder", "keyframes"), [(FFV1, 61), (LOG12, 3)], ids=["ffv1", "log12"])
def test_depth_has_keyframes_as_dense(encoder: Any, keyframes: int, tools: Any, tmp_path: Path) -> None:
    with EncoderProcess(tmp_path / "a", encoder, height_px=48, width_px=64, fps=30.0) as process:
        write_all(process, [np.full((48, 64), 20 * number, np.uint16) for number in range(61)])
    passed = ("-fps_mode", "passthrough", "-f", "framecrc", "-")
    shown = tools.ffmpeg("-skip_frame", "nokey", "-i", str(tmp_path / "a"), *passed)
    assert sum(not line.startswith(b"#") for line in shown.splitlines()) == keyframes


def test_a_rate_that_is_no_whole_number_is_kept(tmp_path: Path) -> None:
    with rgb(tmp_path / "a.mp4", fps=30000 / 1001) as encoder:
        for number in range(4):
            encoder.write(picture(number))
    assert streams(tmp_path / "a.mp4")[0].fps == pytest.approx(30000 / 1001, abs=1e-9)


def test_the_callers_array_is_free_as_soon_as_it_is_written(tools: Any, tmp_path: Path) -> None:
    given, buffer = tools.numbered(20), np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    with rgb(tmp_path / "a.mp4") as encoder:
        for each in given:
            buffer[:] = each
            encoder.write(buffer)
            buffer[:] = 255
    assert tools.read_numbers(tools.decode(tmp_path / "a.mp4", HEIGHT, WIDTH)) == list(range(20))


def test_the_same_pictures_make_the_same_bytes_of_lossless_depth(tmp_path: Path) -> None:
    rng, contents = np.random.default_rng(1), []
    plane = rng.integers(0, 5000, (HEIGHT, WIDTH), np.uint16)
    for name in "ab":
        with EncoderProcess(tmp_path / name, FFV1, height_px=HEIGHT, width_px=WIDTH, fps=30.0) as encoder:
            for number in range(3):
                encoder.write(plane + np.uint16(number))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((HEIGHT, WIDTH), np.uint8),
        np.zeros((WIDTH, HEIGHT, 3), np.uint8),
        np.zeros((HEIGHT, WIDTH, 3), np.int8),
        np.zeros((HEIGHT, WIDTH, 3), np.float32),
    ],
)
def test_an_array_of_another_form_is_never_written(wrong: np.ndarray[Any, Any], tmp_path: Path) -> None:
    with rgb(tmp_path / "a.mp4") as encoder:
        encoder.write(picture())
        with pytest.raises(ValueError, match="not of"):
            encoder.write(wrong)
    assert encoder.written == 1


def test_nothing_is_written_after_the_end_and_a_second_end_is_no_error(tmp_path: Path) -> None:
    with rgb(tmp_path / "a.mp4") as encoder:
        encoder.write(picture())
    encoder.close()
    encoder.kill()
    with pytest.raises(ValueError, match="after it was closed"):
        encoder.write(picture())


def test_a_file_of_no_picture_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VideoError):
        rgb(tmp_path / "a.mp4").close()


def test_what_the_encoder_cannot_do_is_told_in_its_own_words(tmp_path: Path) -> None:
    encoder = rgb(tmp_path / "a.mp4", width_px=WIDTH - 1)
    with pytest.raises(VideoError, match="not divisible by 2"):
        write_all(encoder, [picture()[:, 1:]] * 20)
    encoder.kill()


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    encoder = rgb(tmp_path / "nowhere" / "a.mp4")
    with pytest.raises(VideoError, match="No such file"), encoder:
        encoder.write(picture())


def test_an_encoder_that_is_killed_is_an_error(tmp_path: Path) -> None:
    encoder = rgb(tmp_path / "a.mp4")
    encoder.write(picture())
    os.kill(encoder._process.pid, signal.SIGKILL)
    with pytest.raises(VideoError, match="SIGKILL"):
        write_all(encoder, map(picture, range(50)))
    with pytest.raises(VideoError, match="SIGKILL"):
        encoder.close()


def test_ctrl_c_within_a_picture_spoils_the_file_and_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    encoder = rgb(tmp_path / "a.mp4")
    encoder.write(picture())
    with monkeypatch.context() as patched:
        patched.setattr(encoder_process.os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            encoder.write(picture())
    with pytest.raises(VideoError, match="SIGKILL"):
        encoder.close()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo it is broken >&2; exit 3", "exit code 3 .*it is broken"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("cat > /dev/null", "unreadable"),  # all is well, it says, but there is no file
    ],
)
def test_an_encoder_that_crashes_at_its_start_is_an_error(
    script: str, told: str, in_its_place: Callable[[str], None], tmp_path: Path
) -> None:
    in_its_place(script)
    encoder = rgb(tmp_path / "a.mp4")
    with pytest.raises(VideoError, match=told), encoder:
        encoder.write(picture())


def test_no_ffmpeg_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(encoder_process, "ffmpeg", lambda: str(tmp_path / "none"))
    with pytest.raises(VideoError, match="cannot be started"):
        rgb(tmp_path / "a.mp4")


def test_a_file_that_came_out_short_is_an_error(in_its_place: Callable[[str], None], tmp_path: Path) -> None:
    in_its_place(f'head -c {HEIGHT * WIDTH * 3 * 7} | "$FFMPEG" "$@"; cat > /dev/null')
    encoder = rgb(tmp_path / "a.mp4")
    for number in range(9):
        encoder.write(picture(number))
    with pytest.raises(VideoError, match=r"7 pictures in the finished file, expected 9"):
        encoder.close()


def test_a_slow_encoder_is_waited_for(in_its_place: Callable[[str], None], tools: Any, tmp_path: Path) -> None:
    """Longer than the five seconds after which the recorder of old killed it."""
    in_its_place('"$FFMPEG" "$@"; code=$?; sleep 5.5; exit $code')
    began = time.monotonic()
    with rgb(tmp_path / "a.mp4") as encoder:
        write_all(encoder, tools.numbered(40))
    assert time.monotonic() - began > 5.4
    assert tools.read_numbers(tools.decode(tmp_path / "a.mp4", HEIGHT, WIDTH)) == list(range(40))


def test_an_encoder_that_takes_no_more_but_stays_does_not_hold_us(
    in_its_place: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_its_place("exec 0<&-; exec sleep 300")
    monkeypatch.setattr(encoder_process, "SECONDS_TO_DIE", 0.2)
    encoder = rgb(tmp_path / "a.mp4")
    with pytest.raises(VideoError, match="SIGKILL"):
        write_all(encoder, (picture() for _ in range(200) if time.sleep(0.01) is None))
    encoder.kill()


def test_another_thread_may_kill_an_encoder_that_takes_nothing(
    in_its_place: Callable[[str], None], tmp_path: Path
) -> None:
    in_its_place("exec sleep 300")
    encoder = rgb(tmp_path / "a.mp4", height_px=960, width_px=1600)  # far more than a pipe holds
    timer = threading.Timer(0.3, encoder.kill)
    timer.start()
    with pytest.raises(VideoError, match="SIGKILL"):
        encoder.write(np.zeros((960, 1600, 3), np.uint8))
    timer.join()


def test_a_full_disk_is_an_error_and_no_hang(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(2), tmp_path / "a.mkv"
    path.symlink_to("/dev/full")
    encoder = EncoderProcess(path, FFV1, height_px=240, width_px=320, fps=30.0)
    began = time.monotonic()
    with pytest.raises(VideoError, match="No space left"):
        write_all(encoder, (rng.integers(0, 65536, (240, 320), np.uint16) for _ in range(400)))
    assert time.monotonic() - began < 60
    encoder.kill()


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from quickdraw.errors import VideoError
from quickdraw.video.encoder_process import EncoderProcess
from quickdraw.video.encoders import FFV1, LOG12, RGB
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
rng = np.random.default_rng(0)
for encoder, top, shape in ((RGB, 256, (240, 320, 3)), (FFV1, 65536, (240, 320)), (LOG12, 4096, (240, 320))):
    try:
        process = EncoderProcess(Path(sys.argv[1]) / encoder.codec, encoder, height_px=240, width_px=320, fps=30.0)
        with process:
            for _ in range(40):
                process.write(rng.integers(0, top, shape).astype(encoder.dtype))
    except VideoError as error:
        print(encoder.codec, error.found)
"""


def test_a_file_that_may_not_grow_is_an_error_of_every_encoder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["h264", "ffv1", "hevc"], result
    assert result.stdout.count("SIGXFSZ") + result.stdout.count("File too large") == 3


RECORDING = """
import sys, time
from pathlib import Path
import numpy as np
from quickdraw.video.encoder_process import EncoderProcess
from quickdraw.video.encoders import RGB
with EncoderProcess(Path(sys.argv[1]), RGB, height_px=96, width_px=160, fps=30.0) as encoder:
    for number in range(25):
        encoder.write(np.full((96, 160, 3), 10 * number, np.uint8))
    try:
        print(encoder._process.pid, flush=True)
        time.sleep(300)
    except KeyboardInterrupt:
        encoder.write(np.full((96, 160, 3), 255, np.uint8))
print("closed", flush=True)
"""


@pytest.fixture
def recording(tmp_path: Path) -> Any:
    """A recorder that leads a process group, as a command does in a terminal, and the pid of its encoder."""
    command = [sys.executable, "-c", RECORDING, str(tmp_path / "a.mp4")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


def test_ctrl_c_reaches_the_recorder_and_not_its_encoder(recording: Any, tools: Any, tmp_path: Path) -> None:
    process, _ = recording
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "closed\n"
    assert process.wait(20) == 0
    assert len(tools.decode(tmp_path / "a.mp4", 96, 160)) == 26


def test_the_encoder_of_a_killed_recorder_ends_by_itself(recording: Any, tools: Any, tmp_path: Path) -> None:
    process, encoder = recording
    process.kill()
    process.wait(20)
    assert ended(encoder)
    assert len(tools.decode(tmp_path / "a.mp4", 96, 160)) == 25  # and what it had been given is a whole file


@pytest.mark.parametrize(
    "encoder", [RGB, FFV1, FFV1_WITH_PREVIEW, LOG12], ids=lambda each: f"{each.codec}{each.streams}"
)
def test_this_ffmpeg_passes_its_test(encoder: Any) -> None:
    self_test.self_test(encoder)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("kill -SEGV $$", "SIGSEGV"),
        ("echo Unknown encoder libx265 >&2; exit 8", "Unknown encoder"),
        # x265 without its 12-bit half, and one that says nothing of the range
        ("for a; do shift; [ $a = gray12le ] && [ $n ] && a=gray10le; [ $a = gray12le ] && n=1;"
         ' set -- "$@" "$a"; done; exec "$FFMPEG" "$@"', "gray10le"),
        ('for a; do shift; set -- "$@" "$(echo "$a" | sed s/:range=full/:range=limited/)"; done; exec "$FFMPEG" "$@"',
         "an encoder of hevc gray12le tv"),
        ('for a; do shift; set -- "$@" "$(echo "$a" | sed s/qp=6/qp=40/)"; done; exec "$FFMPEG" "$@"', "differs by"),
    ],
    ids=["crash", "no-encoder", "no-12-bit", "no-range", "coarse"],
)  # fmt: skip
def test_an_ffmpeg_that_writes_other_depth_codes_is_refused(
    script: str, told: str, in_its_place: Callable[[str], None]
) -> None:
    in_its_place(script)
    with pytest.raises(VideoError, match=told):
        self_test.self_test(LOG12)
