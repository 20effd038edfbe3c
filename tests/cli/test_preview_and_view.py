"""`quickdraw preview` and `quickdraw view` as they are typed: what they print, write and refuse."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from quickdraw.cli.preview import preview
from quickdraw.cli.view import view

# imageio leaves the pipes of its ffmpeg to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file <_io:ResourceWarning")

app = typer.Typer()
app.command()(preview)
app.command()(view)


class Answer:
    """How a command ended, what files it printed, and what else it said."""

    def __init__(self, *arguments: str | Path) -> None:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        self.code, self.files, self.said = result.exit_code, result.stdout.splitlines(), result.stderr


@pytest.fixture(scope="module")
def dataset(synthetic: ModuleType, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """Two small splits: train of two episodes, val of one."""

    def make(folder: Path) -> None:
        for split, lengths in (("train", (4, 3)), ("val", (2,))):
            (folder / "clips" / split).mkdir(parents=True)
            episodes = [synthetic.fake_episode(i, rows, folder / "clips" / split) for i, rows in enumerate(lengths)]
            synthetic.pack(folder / "small" / split, synthetic.dataset_spec(), episodes)

    return once("small-for-viewing", make) / "small"


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def test_preview_writes_the_first_val_episode_here_and_prints_only_where(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = Answer("preview", dataset)
    assert (answer.code, answer.files) == (0, ["small_val_0.mp4", "small_val_0_sheet.png"])
    assert sorted(path.name for path in tmp_path.iterdir()) == answer.files
    assert "preview: 2/2 rows" in answer.said


def test_preview_makes_the_folder_and_replaces_what_it_wrote_before(dataset: Path, tmp_path: Path) -> None:
    arguments = ("preview", dataset, "--split", "train", "--episode", "1", "--out", tmp_path / "a" / "b")
    first, second = Answer(*arguments), Answer(*arguments)
    assert (first.code, second.code) == (0, 0)
    assert [Path(file).name for file in second.files] == ["small_train_1.mp4", "small_train_1_sheet.png"]
    assert len(list((tmp_path / "a" / "b").iterdir())) == 2


def test_one_split_by_itself_is_a_dataset(dataset: Path, tmp_path: Path) -> None:
    answer = Answer("preview", dataset / "train", "--out", tmp_path)
    assert [Path(file).name for file in answer.files] == ["train_0.mp4", "train_0_sheet.png"]


def test_everything_wrong_with_a_command_is_said_at_once(dataset: Path, tmp_path: Path) -> None:
    answer = Answer("preview", dataset, "--split", "vall", "--out", dataset / "train" / "new")
    assert (answer.code, answer.files) == (2, [])
    assert "--split: found vall, expected one of train, val" in answer.said
    assert f"expected a place outside the dataset {dataset}" in answer.said
    (tmp_path / "taken").write_text("")
    answer = Answer("preview", dataset, "--split", "train", "--episode", "2", "--out", tmp_path / "taken")
    assert answer.code == 2
    assert "--episode: found 2, expected 0 to 1, the episodes of train" in answer.said
    assert "--out: found a file, expected a folder" in answer.said
    assert not (dataset / "train" / "new").exists()


def test_the_current_folder_may_not_be_the_dataset_either(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(dataset / "val")
    answer = Answer("preview", dataset)
    assert answer.code == 2
    assert "--out: found a place inside the dataset" in answer.said


@pytest.mark.parametrize("command", ["preview", "view"])
def test_what_is_no_dataset_is_refused(command: str, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out") if command == "preview" else ("--save", tmp_path / "a.rrd")
    (tmp_path / "empty").mkdir()
    answer = Answer(command, tmp_path / "empty", *out)
    assert answer.code == 2
    assert "expected a dataset folder" in answer.said


def test_view_saves_one_episode_as_the_file_and_more_as_a_file_each(dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")
    answer = Answer("view", dataset, "--save", tmp_path / "new" / "a.rrd")
    assert (answer.code, answer.files) == (0, [str(tmp_path / "new" / "a.rrd")])
    answer = Answer("view", dataset, "--split", "train", "--episode", "1", "--episode", "0", "--episode", "1",
                    "--save", tmp_path / "b.rrd")  # fmt: skip
    assert (answer.code, answer.files) == (0, [str(tmp_path / "b_1.rrd"), str(tmp_path / "b_0.rrd")])
    assert "view: 10/10 parts" in answer.said
    assert all(Path(file).stat().st_size > 1000 for file in answer.files)


def test_without_rerun_it_says_how_to_get_it_and_all_else_that_is_wrong(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)  # which is how Python is told that there is no such module
    answer = Answer("view", dataset, "--episode", "7", "--save", dataset / "a.mp4")
    assert answer.code == 2
    assert "pip install 'quickdraw[viz]'" in answer.said
    assert "expected a file name that ends in .rrd" in answer.said
    assert "--save: found a place inside the dataset" in answer.said
    assert "--episode: found 7, expected 0 to 0, the episodes of val" in answer.said


def test_without_a_display_it_points_to_save(dataset: Path, no_display: None) -> None:
    answer = Answer("view", dataset)
    assert answer.code == 2
    assert "display: found none, expected one; or --save FILE.rrd" in answer.said


def test_with_a_display_each_episode_goes_to_the_viewer(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_display: None
) -> None:
    rr = pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setenv("PATH", str(tmp_path))
    opened = []

    def spawn(stream: object, *, default_blueprint: object) -> None:
        opened.append(default_blueprint)
        rr.RecordingStream.save(stream, tmp_path / f"{len(opened)}.rrd")

    monkeypatch.setattr(rr.RecordingStream, "spawn", spawn)
    answer = Answer("view", dataset, "--split", "train", "--episode", "0", "--episode", "1")
    assert (answer.code, answer.files, len(opened)) == (0, [], 2)
    assert (tmp_path / "2.rrd").stat().st_size > 1000
    assert "ffmpeg" in answer.said  # the viewer will find none, and show no H.264


def test_a_viewer_that_cannot_start_is_said(dataset: Path, monkeypatch: pytest.MonkeyPatch, no_display: None) -> None:
    rr = pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")
    monkeypatch.setenv("DISPLAY", ":7")

    def spawn(stream: object, *, default_blueprint: object) -> None:
        raise RuntimeError("no such program")

    monkeypatch.setattr(rr.RecordingStream, "spawn", spawn)
    answer = Answer("view", dataset)
    assert answer.code == 1
    assert "Rerun's viewer cannot be started: no such program" in answer.said


def test_both_commands_are_cheap_to_name() -> None:
    """`quickdraw --help` imports every command."""
    heavy = "{'cv2', 'rerun', 'imageio', 'pyarrow', 'matplotlib', 'av', 'numpy'}"
    code = f"import sys, quickdraw.cli.preview, quickdraw.cli.view; print({heavy} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"


def change_table(split: Path, kind: str, name: str, values: list[Any]) -> None:
    (path,) = split.glob(f"{kind}/*/*.parquet")
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(name), name, pa.array(values)), path)


def damage_data(split: Path) -> None:
    (path,) = split.glob("data/*/*.parquet")
    path.write_bytes(path.read_bytes()[:300])


def damage_films(split: Path) -> None:
    for path in split.glob("videos/*/*/*.mp4"):
        path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda split: change_table(split, "meta/episodes", "length", [1]), "rows: found 2, expected 1, its length"),
        (lambda split: change_table(split, "meta/episodes", "length", [None]), "found length None of episode 0"),
        (lambda split: change_table(split, "data", "timestamp", [0.0, None]), "timestamp: found no number"),
        (damage_data, "data files: found unreadable"),
        (lambda split: shutil.rmtree(split / "data"), "there are none"),
        (damage_films, "a playable video file"),
    ],
)
@pytest.mark.parametrize("command", ["preview", "view"])
def test_what_is_damaged_is_refused_in_words(
    command: str, damage: Callable[[Path], object], words: str, dataset: Path, tmp_path: Path
) -> None:
    if command == "view":
        pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")
    shutil.copytree(dataset / "val", tmp_path / "copy" / "val")
    damage(tmp_path / "copy" / "val")
    out = tmp_path / "out"
    answer = Answer(
        command, tmp_path / "copy", *(("--out", out) if command == "preview" else ("--save", out / "a.rrd"))
    )
    assert (answer.code, answer.files) == (2, [])
    assert words in answer.said
    assert not out.exists() or list(out.iterdir()) == []


def test_a_dataset_whose_folder_is_no_text_is_shown(dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")
    folder = tmp_path / os.fsdecode(b"b\xff")
    shutil.copytree(dataset / "val", folder / "val")
    assert Answer("view", folder, "--save", tmp_path / "a.rrd").code == 0
    assert (tmp_path / "a.rrd").stat().st_size > 1000


def test_a_disk_that_is_full_is_said_and_holds_no_half_of_a_recording(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rerun", reason="an extra: pip install 'quickdraw[viz]'")
    from quickdraw.report.viewer import recording

    def fail(*_: object) -> None:
        raise RuntimeError("Failed to encode LogMsg")

    monkeypatch.setattr(recording, "record_episode", fail)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    answer = Answer("view", dataset, "--save", tmp_path / "a.rrd")
    assert answer.code == 1
    assert os.strerror(errno.ENOSPC) in answer.said
    assert list(tmp_path.iterdir()) == []
