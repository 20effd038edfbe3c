"""`scripts/bench codecs` on a second of moving grain: its figures agree with each other."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import av
import numpy as np
import pytest
import typer

from benchmarks.codec_trials import Fetching, Footage, Trial, try_encoding
from benchmarks.codecs import COLUMNS, GRID, cells, encodings, markdown_lines, show
from quickdraw.video.codecs import CODECS
from quickdraw.video.encoding import Encoding

ROWS = 30


def source(path: Path) -> Path:
    """Thirty pictures of 192x256: soft grain that moves, with noise upon it, nearly without loss."""
    rng = np.random.default_rng(0)
    soft = rng.integers(40, 200, (1, 24, 32, 3), np.uint8).repeat(8, 1).repeat(8, 2)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": "4", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 256, 192, "yuv420p"
        for k in range(ROWS):
            rgb = np.roll(soft[0], 2 * k, axis=1) + rng.normal(0, 4, soft[0].shape)
            frame = av.VideoFrame.from_ndarray(rgb.clip(0, 255).astype(np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def fetch(path: Path, at_s: float) -> object:
    """The picture shown at a time, as lerobot's reader finds it (importing that one costs longer than this file)."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        container.seek(round(at_s / stream.time_base) - 1, stream=stream)
        return next(f.to_ndarray() for f in container.decode(stream) if abs(f.time - at_s) < 1e-4)


def encoding(codec: str, **changed: int | str) -> Encoding:
    own = CODECS[codec]
    chosen = {"crf": own.crf, "preset": own.preset, "gop": 5} | changed
    return Encoding(48, 64, 30, codec=codec, **chosen)


@pytest.fixture(scope="module")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Footage:
    folder = tmp_path_factory.mktemp("footage")
    return Footage.of("grain", [source(folder / "source.mp4")], encoding("h264"), folder)


def tried(footage: Footage, chosen: Encoding, folder: Path) -> Trial:
    return try_encoding(footage, chosen, folder, Fetching(fetch, rows=12, joined_s=3.0))


@pytest.mark.parametrize("codec", CODECS)
def test_a_lower_crf_has_more_bytes_and_a_lower_residual(codec: str, footage: Footage, tmp_path: Path) -> None:
    trials = [tried(footage, encoding(codec, crf=crf), tmp_path) for crf in (CODECS[codec].best_crf, 10, 20, 40)]
    assert [t.picture_bytes for t in trials] == sorted((t.picture_bytes for t in trials), reverse=True)
    assert [t.residual for t in trials] == sorted(t.residual for t in trials)
    assert [t.psnr_db for t in trials] == sorted((t.psnr_db for t in trials), reverse=True)
    assert trials[0].residual < trials[-1].residual
    for trial in trials:
        assert trial.liveliest_residual == pytest.approx(trial.residual)  # a second has fewer rows than the liveliest
        assert trial.encoder_ms > 0
        assert trial.random_row_ms > 0


def test_without_loss_the_residual_is_the_least_and_a_keyframe_each_costs_bytes_not_pictures(
    footage: Footage, tmp_path: Path
) -> None:
    lossless, every, default = (
        tried(footage, encoding("h264", **changed), tmp_path)
        for changed in ({"crf": 0, "preset": "ultrafast"}, {"crf": 0, "preset": "ultrafast", "gop": 1}, {})
    )
    assert 0 < lossless.residual < default.residual  # 4:2:0 costs something
    assert every.residual == lossless.residual
    assert every.psnr_db == lossless.psnr_db
    assert every.picture_bytes > lossless.picture_bytes > default.picture_bytes


def test_the_scaled_clips_are_what_an_encoder_gets(footage: Footage, tmp_path: Path) -> None:
    """So that the encoder alone makes of them what the whole pass makes of the source."""
    from benchmarks.codec_trials import encoder_s
    from quickdraw.video.decoding import pictures
    from quickdraw.video.transcode import transcode

    chosen = encoding("h264")
    encoder_s(list(pictures(footage.scaled[0])), tmp_path / "alone.mp4", chosen)
    transcode(footage.films[0].plan, tmp_path / "whole.mp4", chosen)
    alone, whole = ([p.to_ndarray() for p in pictures(tmp_path / name)] for name in ("alone.mp4", "whole.mp4"))
    assert len(alone) == ROWS
    assert all((a == b).all() for a, b in zip(alone, whole, strict=True))


def test_the_grid_holds_each_codecs_default_first_and_nothing_twice() -> None:
    assert len(set(GRID)) == len(GRID)
    quick = encodings(None, quick=True)
    assert [(e.codec, e.preset, e.crf) for e in quick] == [(c.name, c.preset, c.crf) for c in CODECS.values()]
    assert {e.gop for e in quick} == {5}
    assert {e.codec for e in encodings(["av1"], quick=False)} == {"av1"}
    assert len(encodings(None, quick=False)) == len(GRID)
    for e in encodings(None, quick=False):
        own = CODECS[e.codec]
        assert e.preset in own.presets
        assert own.best_crf <= e.crf <= own.worst_crf
    with pytest.raises(typer.BadParameter, match="found vp9, expected any of h264, hevc, av1"):
        encodings(["vp9"], quick=False)


def test_both_tables_show_every_trial(capsys: pytest.CaptureFixture[str]) -> None:
    trial = Trial("sample", encoding("av1"), pass_ms=1.234, encoder_ms=0.5, picture_bytes=1234.5, residual=0.456,
                  liveliest_residual=0.789, psnr_db=45.67, random_row_ms=3.21)  # fmt: skip
    own = CODECS["av1"]
    row = (f"av1 {own.preset} {own.crf} 5", "1.23", "0.50", "1,234", "0.46", "0.79", "45.7", "3.2")
    assert cells(trial) == row
    assert len(row) == len(COLUMNS)
    lines = list(markdown_lines([row]))
    assert lines[-1] == f"| {' | '.join(row)} |"
    assert {line.count("|") for line in lines} == {len(COLUMNS) + 1}
    for markdown in (True, False):
        show([trial], markdown=markdown)
        printed = capsys.readouterr().out
        assert all(cell in printed for cell in ("sample", *COLUMNS, *row))
    assert asdict(trial)["encoding"]["codec"] == "av1"
    assert cells(replace(trial, encoding=None)) == ("lerobot's default", "", *row[2:])
