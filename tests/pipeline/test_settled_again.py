"""Episodes that turn out bad only when they are decoded: what is built is what would be built without them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from quickdraw.data.pooled_episodes.source import PooledEpisodes
from quickdraw.data.processors import main

type Once = Callable[[str, Callable[[Path], None]], Path]
TASK, GLOVE = "legacy_v110", "observation.left_glove"
BAD = f"{TASK}/episode_000003"
TOLD = ("fingerprint", "excluded_runs", "refused_runs")  # of what is left out
DOCUMENTS, INVENTORY = ("provenance.json", "summary.json"), "fingerprints/files.json"


def damage(video: Path) -> None:
    """Blot out what lies past the header, and nothing that is looked at before pictures are decoded."""
    content = bytearray(video.read_bytes())
    begun = content.index(b"mdat") + 4
    end = content.find(b"moov", begun) - 4
    end = end if end > begun else len(content)
    third = (end - begun) // 3
    content[begun + third : end - third] = bytes(end - begun - 2 * third)
    video.write_bytes(content)


@pytest.fixture(scope="module")
def tree(once: Once, sample_pooled: Path) -> Path:
    """Four episodes, of which the third alone has a glove, and a video that is damaged past its header."""

    def make(root: Path) -> None:
        root.mkdir()
        task = Path(shutil.copytree(sample_pooled / "recordings" / TASK, root / TASK))
        for path in sorted(task.glob("data/*/*.parquet")):
            table = pq.read_table(path)
            if table["episode_index"][0].as_py() != 3:
                pq.write_table(table.drop_columns([name for name in table.column_names if GLOVE in name]), path)
        (video,) = [path for path in task.glob("videos/*/*/*.mp4") if "2" in path.stem]
        damage(video)

    return once("settled-again", make)


def built(tree: Path, output: Path, *options: str) -> tuple[int, dict[str, bytes]]:
    """The exit code, and the dataset's files but the log, documents without what they say of what was left out."""
    code = main(["+processor=pooled_episodes", f"+source.dir={tree}", "+source.name=gloves", f"+output.dir={output}",
                 "+executor=inline", "+source.clocks=true", "+report=false", *options])  # fmt: skip
    files = {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()}
    files.pop("progress.log", None)
    for name in (*DOCUMENTS, INVENTORY) if files else ():
        told: dict[str, Any] = json.loads(files[name])
        if name == "provenance.json":
            told["config"].pop("exclude_globs")
        left = DOCUMENTS if name == INVENTORY else TOLD
        files[name] = json.dumps({key: value for key, value in told.items() if key not in left}).encode()
    return code, files


def test_a_build_that_skips_equals_one_without_the_episode(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, skipped = built(tree, tmp_path / "skipped", "+source.on_bad_run=skip")
    said = capsys.readouterr().out
    assert code == 0, said
    assert "not built" in said
    assert f"left out: {GLOVE}" not in said  # no episode that is left has such a column, filled or not
    code, excluded = built(tree, tmp_path / "excluded", f"+source.exclude_globs=[{BAD}]")
    assert code == 0
    assert list(skipped) == list(excluded)
    assert [name for name in skipped if skipped[name] != excluded[name]] == []
    features = json.loads(skipped["train/meta/info.json"])["features"]
    assert not [name for name in features if "glove" in name]
    provenance = json.loads((tmp_path / "skipped" / "provenance.json").read_bytes())
    assert list(provenance["refused_runs"]) == [BAD]
    assert not [name for name in provenance["features"] if "glove" in name]


def test_the_same_command_finds_it_up_to_date_and_a_mended_episode_builds_all(
    tree: Path, sample_pooled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mended = Path(shutil.copytree(tree, tmp_path / "tree"))
    options = ("+source.on_bad_run=skip",)
    assert built(mended, tmp_path / "out", *options)[0] == 0
    before = capsys.readouterr().out
    assert "dataset: " in before
    assert built(mended, tmp_path / "out", *options)[0] == 0
    assert "up to date" in capsys.readouterr().out
    for good in (sample_pooled / "recordings" / TASK).glob("videos/*/*/*.mp4"):
        shutil.copyfile(good, mended / TASK / good.relative_to(sample_pooled / "recordings" / TASK))
    code, whole = built(mended, tmp_path / "out", *options)
    features = json.loads(whole["train/meta/info.json"])["features"]
    assert (code, [name for name in features if "glove" in name]) == (0, [GLOVE, f"{GLOVE}_valid"])


def test_rows_are_made_anew_and_clips_are_not(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[tuple[str, int]]()
    rows = PooledEpisodes.rows

    def counted(source: PooledEpisodes, plan: Any) -> Any:
        read.append((plan.key.run, len(source.features)))
        return rows(source, plan)

    monkeypatch.setattr(PooledEpisodes, "rows", counted)
    assert built(tree, tmp_path / "out", "+source.on_bad_run=skip")[0] == 0
    widths = {run: [count for name, count in read if name == run] for run, _ in read}
    assert {run: len(counts) for run, counts in widths.items()} == {
        "episode_000001": 2, "episode_000002": 2, "episode_000003": 1, "episode_000004": 2
    }  # fmt: skip
    assert all(first == second + 2 for first, second in (c for c in widths.values() if len(c) == 2))
    told = [line for line in capsys.readouterr().out.splitlines() if " parts made, " in line]
    assert len(told) == 2
    assert told[1].startswith("3 parts made, 3 there already")


def test_what_is_asked_for_and_only_a_bad_episode_has_is_refused_as_without_it(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = "+source.state=[left_glove]"
    code, files = built(tree, tmp_path / "skipped", "+source.on_bad_run=skip", wanted)
    assert (code, files) == (2, {})
    said = capsys.readouterr().err
    assert "source.state" in said
    assert built(tree, tmp_path / "excluded", f"+source.exclude_globs=[{BAD}]", wanted)[0] == 2
    (fault,) = [line for line in capsys.readouterr().err.splitlines() if "source.state" in line]
    assert fault in said.splitlines()
