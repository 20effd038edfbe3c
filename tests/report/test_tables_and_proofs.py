"""The sections with tables and proofs: every number against one computed another way, whatever a dataset is called."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickdraw.errors import Fault
from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.verify.ledger import Skipped
from quickdraw.pipeline.verify.report import Curve, Report
from quickdraw.pipeline.verify.verify import structure_report
from quickdraw.report.parts import Drawing, Section, Table, Words
from quickdraw.report.sections.built import built_section
from quickdraw.report.sections.cells import MOST_ROWS, percent
from quickdraw.report.sections.displacements import displacements_section, mixture, streams_of
from quickdraw.report.sections.driving import driving_section
from quickdraw.report.sections.episodes import episodes_section
from quickdraw.report.sections.lengths import lengths_section, windows
from quickdraw.report.sections.made import made_section
from quickdraw.report.sections.proof import proof_section
from quickdraw.report.sections.refused import refused_section
from quickdraw.report.subject import Driven, Moved, Seen, Subject, Trace, TracedEpisode, subject_of

SECTIONS: dict[str, Callable[[Subject], Section | None]] = {
    "built": built_section,
    "refused": refused_section,
    "episodes": episodes_section,
    "displacements": displacements_section,
    "lengths": lengths_section,
    "driving": driving_section,
    "proof": proof_section,
    "made": made_section,
}
ODD = "<img src=x onerror=alert(1)> \"q\" & 'a' $x_1$ 拿起杯子/b"


def opened(dataset: Path) -> Subject:
    return subject_of(dataset, structure_report(dataset, Inline()))


@pytest.fixture(scope="module")
def ours(sample_dataset: Path) -> Subject:
    return opened(sample_dataset)


@pytest.fixture(scope="module")
def document(sample_dataset: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sample_dataset / "provenance.json").read_text())
    return found


@pytest.fixture(scope="module")
def foreign(sample_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Two splits as others hand them on: nothing beside them."""
    root = tmp_path_factory.mktemp("foreign") / "theirs"
    for split in ("train", "eval_purple_stack"):
        shutil.copytree(sample_dataset / split, root / split, copy_function=os.link)
    return opened(root)


def section(make: Callable[[Subject], Section | None], subject: Subject) -> Section:
    found = make(subject)
    assert found is not None
    return found


def table(of: Section, name: str) -> Table:
    return next(part for part in of.parts if isinstance(part, Table) and part.name == name)


def texts(of: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in of.rows]


def column(of: Table, name: str, unit: str = "") -> list[Any]:
    at = next(n for n, each in enumerate(of.columns) if each.name == name and (not unit or each.unit == unit))
    return [row[at].key if of.columns[at].numeric else row[at].text for row in of.rows]


def rows_of(dataset: Path, split: str) -> pd.Series[int]:
    """Rows of each episode, counted in the data files."""
    files = sorted((dataset / split / "data").glob("*/*.parquet"))
    frames = pd.concat([pd.read_parquet(file, columns=["episode_index"]) for file in files])
    return frames.groupby("episode_index").size()


# --- of the sample --------------------------------------------------------------------------------------------------


def test_what_was_built_counts_as_pandas_counts(ours: Subject, sample_dataset: Path) -> None:
    found = table(section(built_section, ours), "splits")
    assert column(found, "split") == ["train", "val", "eval_purple_play", "eval_purple_stack"]
    counted = [rows_of(sample_dataset, split) for split in column(found, "split")]
    assert column(found, "episodes") == [len(rows) for rows in counted]
    assert column(found, "rows") == [rows.sum() for rows in counted]
    assert column(found, "duration") == pytest.approx([rows.sum() / 30 for rows in counted])
    assert sum(column(found, "share of rows")) == pytest.approx(100)


def test_the_disk_it_takes_is_that_of_its_files_without_views(ours: Subject, sample_dataset: Path) -> None:
    found = table(section(made_section, ours), "disk")
    out = {"progress.log", "report.html", "README.md", "fingerprints/files.json"}
    sizes = {str(p.relative_to(sample_dataset)): p.stat().st_size for p in sample_dataset.rglob("*") if p.is_file()}
    kept = {name: size for name, size in sizes.items() if name not in out}
    told = dict(zip(column(found, "what"), column(found, "size"), strict=True))
    assert told["all"] == pytest.approx(sum(kept.values()) / 1e6)
    assert told["videos"] == pytest.approx(sum(size for name, size in kept.items() if "/videos/" in name) / 1e6)
    media = sum(size for name, size in kept.items() if name.startswith("media/"))
    assert told["plain clips, in media/"] == pytest.approx(media / 1e6)


def test_every_option_is_shown_and_every_camera(ours: Subject, document: dict[str, Any]) -> None:
    found = section(made_section, ours)
    told = dict(texts(table(found, "configuration")))
    assert told["val_frac"] == "0.1"
    assert told["video.crf"] == "15"
    assert told["cameras"] == json.dumps(document["config"]["cameras"])
    assert len(told) == sum(len(v) if isinstance(v, dict) else 1 for v in document["config"].values())
    cameras = texts(table(section(built_section, ours), "cameras"))
    assert cameras[0][:5] == ["scene_left", "colour", "192 x 144", "h264", "yuv420p"]
    assert [row[0] for row in cameras] == document["config"]["cameras"]
    assert {row[-1] for row in cameras} == {"all"}
    assert ["fingerprint", document["fingerprint"]] in texts(table(found, "made-with"))


def test_episodes_are_those_of_provenance(ours: Subject, document: dict[str, Any]) -> None:
    found = section(episodes_section, ours)
    for split in ours.splits:
        shown, told = table(found, f"episodes-{split}"), [e for e in document["episodes"] if e["split"] == split]
        assert column(shown, "run") == [e["run"] for e in told]
        assert column(shown, "rows") == [e["frames"] for e in told]
        worst = [max(e["displacement"].items(), key=lambda stream: stream[1]["max_s"]) for e in told]
        assert column(shown, "moved") == pytest.approx([1000 * moved["max_s"] for _, moved in worst])
        assert column(shown, "stream") == [name for name, _ in worst]
        past = [100 * max(moved["past_bound"] for moved in e["displacement"].values()) for e in told]
        assert column(shown, "past bound") == pytest.approx(past)
    assert all("red" in cubes for cubes in column(table(found, "episodes-train"), "cubes"))
    assert "purple" in column(table(found, "episodes-eval_purple_play"), "cubes")[0]


def test_displacements_are_weighed_by_rows(ours: Subject, document: dict[str, Any]) -> None:
    found = table(section(displacements_section, ours), "displacement")
    episodes = document["episodes"]
    frames = np.array([e["frames"] for e in episodes])
    for row, name in enumerate(column(found, "stream")):
        moved = [e["displacement"][name] for e in episodes]
        assert column(found, "max")[row] == pytest.approx(1000 * max(each["max_s"] for each in moved))
        past = sum(each["past_bound"] * n for each, n in zip(moved, frames, strict=True)) / frames.sum()
        assert column(found, "past bound")[row] == pytest.approx(100 * past)
        assert column(found, "hiccups")[row] == sum(each["gaps"] for each in moved)
    assert column(found, "stream") == list(episodes[0]["displacement"])


def test_the_distribution_drawn_is_that_of_the_rows_at_what_is_known_of_them(ours: Subject) -> None:
    for stream in streams_of(ours.episodes("eval_purple_stack")):  # one episode: its own deciles
        (moved,) = stream.moved()
        assert mixture(stream, np.array([moved.max_s, moved.max_s + 1, -1e-9])).tolist() == [1, 1, 0]
        # As many rows share a displacement, more of them may lie at a decile than it says.
        assert (mixture(stream, np.array(moved.deciles_s) + 1e-9) >= np.arange(11) / 10 - 1e-3).all()


def test_how_the_operator_drove_is_what_provenance_says(ours: Subject, document: dict[str, Any]) -> None:
    found = table(section(driving_section, ours), "driving-campaigns")
    told = [e["commanded"] for e in document["episodes"]]
    ticks = sum(each["ticks"] for each in told)
    assert column(found, "ticks")[-1] == ticks
    assert column(found, "idle")[-1] == pytest.approx(100 * sum(e["ticks"] * e["idle_share"] for e in told) / ticks)
    assert column(found, "clamped", "ticks")[-1] == sum(each["clamped"] for each in told)
    assert sum(column(found, "episodes")[:-1]) == len(told)
    worst = table(section(driving_section, ours), "driving-worst")
    assert column(worst, "clamped", "% of ticks")[0] == max(column(worst, "clamped", "% of ticks"))


def test_lengths_say_which_windows_there_are(ours: Subject, sample_dataset: Path) -> None:
    found = section(lengths_section, ours)
    assert "all left of the cut is val" in found.lead
    shown = table(found, "length-table")
    for row, split in enumerate(ours.splits):
        rows = rows_of(sample_dataset, split)
        assert column(shown, "windows of 72 rows")[row] == sum(max(0, n - 71) for n in rows)
        assert column(shown, "shortest")[row] == pytest.approx(rows.min() / 30)
    svg = next(part.svg for part in found.parts if isinstance(part, Drawing) and part.name == "lengths")
    assert f"cut: {rows_of(sample_dataset, 'val').min() / 30:.1f} s" in svg


def test_the_proof_shows_every_check_and_every_curve(ours: Subject) -> None:
    found = section(proof_section, ours)
    assert found.lead.endswith("nothing is wrong.")
    checks = table(found, "checks")
    assert dict(zip(column(checks, "check"), column(checks, "looked at"), strict=True)) == ours.checked.checks
    curves = table(found, "shift-curves")
    assert len(curves.rows) == 16
    assert set(column(curves, "verdict")) == {"aligned"}
    assert set(column(curves, "least at")) == {0}
    assert not any(part.warning for part in found.parts if isinstance(part, Words))
    assert any("--source <raw tree>" in part.text for part in found.parts if isinstance(part, Words))


# --- of any dataset -------------------------------------------------------------------------------------------------


def test_datasets_of_others_show_what_can_be_told_of_them(foreign: Subject) -> None:
    there = {name: make(foreign) for name, make in SECTIONS.items()}
    assert {name for name, found in there.items() if found is None} == {"refused", "displacements", "driving"}
    shown = table(section(episodes_section, foreign), "episodes-train")
    assert [each.name for each in shown.columns] == ["episode", "rows", "duration", "task"]
    assert all(column(shown, "task"))
    assert not any("--source" in p.text for p in section(proof_section, foreign).parts if isinstance(p, Words))


def test_pooled_datasets_are_shown_with_their_tasks_and_depth(pooled_dataset: Path) -> None:
    subject = opened(pooled_dataset)
    there = {name: make(subject) for name, make in SECTIONS.items()}
    assert {name for name, found in there.items() if found is None} == {"driving"}
    cameras = texts(table(section(built_section, subject), "cameras"))
    assert {row[1] for row in cameras} == {"colour", "depth"}
    curves = table(section(proof_section, subject), "shift-curves")
    assert set(column(curves, "verdict")) <= {"aligned", "flat"}
    assert set(column(curves, "camera")) == {row[0] for row in cameras if row[1] == "colour"}


def test_sections_are_the_same_bytes_each_time(ours: Subject, sample_dataset: Path) -> None:
    again = opened(sample_dataset)
    for make in (lengths_section, proof_section):
        assert make(ours) == make(again)


def moved(**changed: Any) -> Moved:
    plain: dict[str, Any] = {"max_s": 0.01, "p99_s": 0.0099, "bound_s": 0.01, "past_bound": 0.0, "gaps": 0}
    return Moved(**plain | {"deciles_s": tuple(np.linspace(0, 0.01, 11))} | changed)


def traced(number: int, rows: int, **changed: Any) -> TracedEpisode:
    plain: dict[str, Any] = {"split": "train", "campaign": "c", "run": f"r{number}", "t_lo_s": 0.0, "t_hi_s": 1.0}
    return TracedEpisode(**plain | {"episode_index": number, "frames": rows} | changed)


def made_of(episodes: list[TracedEpisode], *, checked: Report | None = None, **told: Any) -> Subject:
    """A dataset of which only numbers are there."""
    splits = dict.fromkeys(episode.split for episode in episodes)
    readers = {
        name: SimpleNamespace(
            episodes=[
                {"episode_index": e.episode_index, "length": e.frames, "tasks": [e.task or e.campaign]}
                for e in episodes
                if e.split == name
            ],
            rate_hz=30,
            rows=sum(e.frames for e in episodes if e.split == name),
            tasks=["t"],
            cameras=(),
            info={"features": {}},
        )
        for name in splits
    }
    plain: dict[str, Any] = {"quickdraw": "0", "processor": "p", "name": "n", "config": {}, "features": {}}
    trace = Trace(**plain | {"episodes": tuple(episodes)} | told)
    return Subject(Path("/none"), cast(Any, readers), trace, checked or Report("", {}, (), (), (), 0, 0, 0, 0.0))


def curve(**changed: Any) -> Curve:
    values = tuple(float(abs(shift)) + 0.2 for shift in range(-5, 6))
    plain: dict[str, Any] = {"split": "train", "episode": 0, "camera": "front", "shifts": tuple(range(-5, 6))}
    return Curve(**plain | {"mean_square": values, "others": {}, "rows": 60, "verdict": "aligned"} | changed)


def test_nothing_in_a_name_becomes_markup_or_breaks_a_plot() -> None:
    seen = {ODD: Seen({ODD: 1.0, "red": 0.0})}
    driven = Driven(ticks=10, clamped=1, reanchored=None, idle_share=0.5)
    odd = traced(0, 90, split=ODD, campaign=ODD, run=ODD, displacement={ODD: moved()}, cubes=seen, commanded=driven)
    fault = Fault(ODD, ODD, ODD, ODD, path=ODD)
    shifted = curve(split=ODD, camera=ODD, verdict="shifted", mean_square=(0.0, *range(1, 11)), others={ODD: 3.0})
    checked = Report("", {ODD: 1}, (fault,), (Skipped(ODD, ODD, ODD),), (shifted,), 1, 1, 0, 0.0)
    subject = made_of([odd, traced(0, 90)], checked=checked, refused_runs={ODD: (ODD,)}, ignored=(ODD,),
                      config={ODD: ODD}, palette={ODD: (ODD,)}, excluded_runs=(ODD,))  # fmt: skip
    for make in SECTIONS.values():
        for part in section(make, subject).parts:
            if isinstance(part, Drawing):
                tree = ElementTree.fromstring(part.svg)
                assert not tree.findall(".//{*}img")
                assert not tree.findall(".//{*}script")
    proof = section(proof_section, subject)
    assert [part.warning for part in proof.parts[:2] if isinstance(part, Words)] == [True, True]
    assert table(proof, "findings").rows[0][2].mark
    assert column(table(proof, "shift-curves"), "least at") == [-5]


def test_a_shifted_camera_is_never_said_to_be_right() -> None:
    shifted = curve(verdict="shifted", mean_square=(0.1, *range(1, 11)))
    found = section(
        proof_section, made_of([traced(0, 90)], checked=Report("", {"a": 1}, (), (), (shifted,), 1, 1, 0, 0.0))
    )
    assert found.lead.endswith("nothing is wrong but the shift curves.")
    assert [part.text for part in found.parts if isinstance(part, Words) and part.warning] == [
        "Pictures do not belong to their rows in train: front: see the shift curves."
    ]


@pytest.mark.parametrize("rows", [1, 72])
def test_a_dataset_of_one_episode_is_shown(rows: int) -> None:
    subject = made_of([traced(0, rows, displacement={"arm": moved()})])
    for make in SECTIONS.values():
        make(subject)
    shown = table(section(lengths_section, subject), "length-table")
    assert column(shown, "windows of 72 rows") == [max(0, rows - 71)]
    assert column(shown, "episodes shorter than one") == [int(rows < 72)]


def test_values_that_are_missing_or_no_numbers_leave_a_dash() -> None:
    nan = float("nan")
    still = moved(max_s=0.0, p99_s=0.0, deciles_s=(0.0,) * 11)
    first = traced(0, 10, displacement={"a": still}, commanded=Driven(0, None, None, None))
    subject = made_of([first, traced(1, 10)], checked=Report("", {}, (), (), (), 0, 0, 0, 0.0))
    for make in SECTIONS.values():
        make(subject)
    assert texts(table(section(driving_section, subject), "driving-campaigns"))[-1][2:] == ["0", *["–"] * 5]
    assert texts(table(section(episodes_section, subject), "episodes-train"))[1][-3:] == ["–", "–", "–"]
    assert (percent(nan).text, percent(None).text, percent(1e-9).text) == ("–", "–", "< 0.01")


def test_datasets_built_before_distributions_were_kept_say_so() -> None:
    found = section(displacements_section, made_of([traced(0, 9, displacement={"a": moved(deciles_s=())})]))
    assert not [part for part in found.parts if isinstance(part, Drawing)]
    assert any("Built before" in part.text for part in found.parts if isinstance(part, Words))


def test_many_episodes_are_cut_and_the_table_says_so() -> None:
    subject = made_of([traced(n, 100 + n % 7) for n in range(MOST_ROWS + 1)])
    shown = table(section(episodes_section, subject), "episodes-train")
    assert len(shown.rows) == MOST_ROWS
    assert shown.caption.endswith("The first 2,000 of 2,001 are shown.")
    assert sum(len(part.svg) for part in section(lengths_section, subject).parts if isinstance(part, Drawing)) < 250_000


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "longest runs of the pool went to val"),
        ({"val_rule": "random", "seed": 7}, "drawn at random from the pool, by seed 7"),
        ({"val_runs": ["a/b"], "val_rule": "longest"}, "Val is frozen"),
    ],
)
def test_how_val_was_chosen_is_said(config: dict[str, Any], said: str) -> None:
    episodes = [traced(n, 100 + n) for n in range(3)] + [traced(0, 150, split="val")]
    found = section(lengths_section, made_of(episodes, config=config))
    assert said in found.lead
    svg = next(part.svg for part in found.parts if isinstance(part, Drawing))
    assert ("cut:" in svg) == (not config)


def test_what_was_left_out_is_told_with_its_reasons() -> None:
    subject = made_of([traced(0, 9)], refused_runs={"b/1": ("b/1: b/1/video: none", "no arm"), "a/2": ("late",)},
                      excluded_campaigns=("shakedown",), ignored=("x", "y"))  # fmt: skip
    found = section(refused_section, subject)
    assert texts(table(found, "refused-runs")) == [["a/2", "late"], ["b/1", "video: none"], ["b/1", "no arm"]]
    assert found.lead == (
        "Not in the dataset: 2 runs refused for what is wrong with them, 1 whole folder excluded by name, "
        "2 folders ignored."
    )
    assert section(refused_section, made_of([traced(0, 9)])).lead == (
        "Nothing of the raw tree was refused, excluded or ignored."
    )
    cut = section(refused_section, made_of([traced(0, 9)], config={"max_runs_per_campaign": 5}))
    assert cut.lead.endswith("Of each folder no more than 5 were taken, by the configuration.")


def test_the_distribution_of_even_streams_is_a_straight_line_and_of_two_their_mean_by_rows() -> None:
    fast = moved(max_s=0.01, p99_s=0.0099)
    slow = moved(max_s=0.04, p99_s=0.0396, deciles_s=tuple(np.linspace(0, 0.04, 11)))
    episodes = [traced(0, 300, displacement={"a": fast}), traced(1, 100, displacement={"a": slow})]
    (stream,) = streams_of(episodes)
    at: Any = np.linspace(0, 0.05, 51)
    right: Any = 0.75 * np.clip(at / 0.01, 0, 1) + 0.25 * np.clip(at / 0.04, 0, 1)
    assert mixture(stream, at) == pytest.approx(right)


def test_rows_that_were_moved_alike_are_a_step() -> None:
    (stream,) = streams_of([traced(0, 5, displacement={"a": moved(max_s=0.004, p99_s=0.004, deciles_s=(0.004,) * 11)})])
    assert mixture(stream, np.array([0.0039, 0.004, 0.0041])).tolist() == [0, 1, 1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 60), max_size=12), st.lists(st.integers(1, 70), min_size=1, max_size=5))
def test_windows_are_those_that_can_be_cut(lengths: list[int], horizons: list[int]) -> None:
    found = windows(np.array(lengths, np.int64), np.array(horizons, np.int64))
    assert found.tolist() == [
        sum(1 for rows in lengths for begun in range(rows) if begun + horizon <= rows) for horizon in horizons
    ]
