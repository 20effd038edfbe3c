"""`scripts/bench codecs`: what the default encodings were chosen by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from benchmarks.tables import table

if TYPE_CHECKING:
    from benchmarks.codec_trials import Footage, Trial
    from quickdraw.video.encoding import Encoding

SAMPLE = Path(os.environ.get("QUICKDRAW_SAMPLE", Path(__file__).resolve().parents[3] / "shared" / "sample_campaigns"))
HEIGHT_PX, WIDTH_PX, RATE_HZ = 144, 192, 30
COLUMNS = ("codec preset crf gop", "ms", "encoder ms", "bytes", "residual", "liveliest", "PSNR dB", "random row ms")
WIDE = 110  # characters, so that no name is wrapped

# (codec, preset, crf, gop). The first of each codec is its default; --quick measures those alone.
GRID: tuple[tuple[str, str, int, int], ...] = (
    ("h264", "veryfast", 15, 5),
    *(("h264", preset, 15, 5) for preset in ("ultrafast", "superfast", "faster", "medium")),
    *(("h264", "veryfast", crf, 5) for crf in (10, 12, 14, 16, 18)),
    *(("h264", "veryfast", 15, gop) for gop in (2, 10, 30)),
    ("h264", "veryfast", 12, 10),
    ("h264", "ultrafast", 0, 5),  # lossless: what is left is what 4:2:0 loses
    ("hevc", "ultrafast", 14, 5),
    *(("hevc", preset, 14, 5) for preset in ("superfast", "veryfast", "medium")),
    *(("hevc", "ultrafast", crf, 5) for crf in (10, 12, 18)),
    *(("hevc", "ultrafast", 14, gop) for gop in (2, 10, 30)),
    ("av1", "10", 13, 5),
    *(("av1", preset, 13, 5) for preset in ("7", "8", "9")),  # without B-frames 0 to 7 are one, and 10 to 13
    *(("av1", "10", crf, 5) for crf in (8, 10, 18)),
    *(("av1", "10", 13, gop) for gop in (2, 10, 30)),
)


def codecs(
    *,
    codec: Annotated[list[str] | None, typer.Option(help="Only this codec; may be given more than once.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only each codec's default, on less footage.")] = False,
    sample: Annotated[Path, typer.Option(help="Raw campaign tree; the first run of it is taken.")] = SAMPLE,
    seconds: Annotated[float, typer.Option(min=1.0, help="Length of the simulated run, in seconds.")] = 8.0,
    noise_levels: Annotated[float, typer.Option(min=0.0, help="Its sensor noise, in levels of 255.")] = 2.0,
    fetches: Annotated[int, typer.Option(min=1, help="Random rows to read of each.")] = 200,
    folder: Annotated[Path | None, typer.Option(help="Folder to work in, kept. Default: temporary.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="File to write every number to.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of tables.")] = False,
) -> None:
    """Codec, preset, crf and keyframe interval against CPU, bytes, what is kept of the source, and random access."""
    from benchmarks.codec_trials import Fetching, lerobot_fetch, try_encoding, try_lerobot
    from benchmarks.machine import machine
    from benchmarks.work import work_folder

    found_on, tell = machine(), Console(stderr=True)
    chosen, fetching = encodings(codec, quick=quick), Fetching(lerobot_fetch(), fetches, 60.0 if quick else 600.0)
    with work_folder(folder, {"command": "codecs", "seconds": seconds, "noise_levels": noise_levels}) as work:
        trials = []
        for footage in _footage(sample, 2.0 if quick else seconds, noise_levels, work, cameras=1 if quick else 4):
            trials.append(try_lerobot(footage, work, fetching))
            for encoding in chosen:
                tell.print(f"bench: {footage.name}: {name_of(encoding)}", style="dim", highlight=False)
                trials.append(try_encoding(footage, encoding, work, fetching))
    show(trials, markdown=markdown)
    if json_file is not None:
        document = {"trials": [asdict(trial) for trial in trials], "machine": found_on}
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps(document, indent=1), encoding="utf-8")


def encodings(only: Sequence[str] | None, *, quick: bool) -> list[Encoding]:
    """The grid, or a part of it. Raises typer.BadParameter where a codec is none."""
    from quickdraw.video.codecs import CODECS
    from quickdraw.video.encoding import Encoding

    if unknown := set(only or ()) - set(CODECS):
        raise typer.BadParameter(f"found {', '.join(sorted(unknown))}, expected any of {', '.join(CODECS)}")
    firsts = {entry[0]: entry for entry in reversed(GRID)}
    wanted = [entry for entry in GRID if entry[0] in (only or CODECS) and (not quick or entry == firsts[entry[0]])]
    return [
        Encoding(HEIGHT_PX, WIDTH_PX, RATE_HZ, crf=crf, preset=preset, gop=gop, codec=name)
        for name, preset, crf, gop in wanted
    ]


def _footage(sample: Path, seconds: float, noise_levels: float, work: Path, *, cameras: int) -> Iterable[Footage]:
    """The cameras of the sample's first run, and of a simulated one."""
    from benchmarks.codec_trials import Footage
    from benchmarks.work import once
    from quickdraw.sim.run import write_run
    from quickdraw.sim.spec import Look, RunSpec

    encoding = encodings(None, quick=True)[0]
    runs = sorted(path.parent for path in sample.glob("*/recording_*/run.json"))
    if not runs:
        raise typer.BadParameter(f"no run in {sample}; --sample names a raw campaign tree")
    yield Footage.of("sample", sorted(runs[0].glob("video/*.mp4"))[:cameras], encoding, work)
    with once(work, f"simulated_{seconds:g}") as target:
        if target is not None:
            write_run(target, RunSpec(seconds=seconds, seed=1, look=Look(noise_levels=noise_levels)))
    films = sorted((work / f"simulated_{seconds:g}").glob("video/*.mp4"))[:cameras]
    yield Footage.of("simulated", films, encoding, work)


def show(trials: Sequence[Trial], *, markdown: bool) -> None:
    """A table for each kind of footage."""
    console = Console(width=max(WIDE, Console().width))
    for footage in dict.fromkeys(trial.footage for trial in trials):
        rows = [cells(trial) for trial in trials if trial.footage == footage]
        if markdown:
            print(f"{footage}:\n")
            print("\n".join(markdown_lines(rows)), end="\n\n")
        else:
            console.print(table(footage, COLUMNS, rows))


def cells(trial: Trial) -> tuple[str, ...]:
    """A row of the table."""
    return (
        name_of(trial.encoding) if trial.encoding else "lerobot's default",
        f"{trial.pass_ms:.2f}" if trial.encoding else "",
        f"{trial.encoder_ms:.2f}",
        f"{trial.picture_bytes:,.0f}",
        f"{trial.residual:.2f}",
        f"{trial.liveliest_residual:.2f}",
        f"{trial.psnr_db:.1f}",
        f"{trial.random_row_ms:.1f}",
    )


def markdown_lines(rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """The table in Markdown."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|---|{'---:|' * (len(COLUMNS) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def name_of(encoding: Encoding) -> str:
    """Codec, preset, crf and gop, as the tables have them."""
    return f"{encoding.codec} {encoding.preset} {encoding.crf} {encoding.gop}"
