"""Which tasks a tree holds, which episodes a task, and what pieces those have."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quickdraw.core.episode import EpisodeKey, EpisodePlan, Rejected
from quickdraw.data.pooled_episodes.listing import number_and_piece, run_name
from quickdraw.data.pooled_episodes.source import PooledEpisodes, rate_of
from quickdraw.data.recognising import processor_of
from quickdraw.errors import Refused

type Make = Callable[..., PooledEpisodes]


def runs(source: PooledEpisodes, task: str) -> list[str]:
    return [key.run for key in source.campaign(task).runs]


def test_a_recordings_root_is_every_task_in_it(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated)
    assert source.campaigns() == ["deep", "pair", "plain"]
    assert runs(source, "plain") == ["episode_000001", "episode_000002"]
    campaign = source.campaign("plain")
    assert (campaign.name, campaign.faults, campaign.ignored, campaign.rejected) == ("plain", (), (), ())


def test_a_task_folder_is_that_task(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated / "plain")
    assert source.campaigns() == ["plain"]
    assert runs(source, "plain") == ["episode_000001", "episode_000002"]
    whole = pooled(simulated).plan(EpisodeKey("plain", "episode_000001"))
    assert source.plan(EpisodeKey("plain", "episode_000001")) == whole
    assert source.path(EpisodeKey("plain", "episode_000001"), "a/b") == simulated / "plain/a/b"
    assert pooled(simulated).path(EpisodeKey("plain", "episode_000001"), "a/b") == simulated / "plain/a/b"


def test_hidden_folders_and_those_that_are_no_tasks_are_passed_over(
    spoiled: Callable[[str], Path], pooled: Make
) -> None:
    task = spoiled("plain")
    for name in (".hidden", "_trash"):
        shutil.copytree(task, task.parent / name)
    (task.parent / "notes").mkdir()
    (task.parent / "file.txt").touch()
    assert pooled(task.parent).campaigns() == ["plain"]


@pytest.mark.parametrize(("make", "found"), [(lambda path: None, "nothing there"), (Path.touch, "a file")])
def test_a_tree_that_is_none_is_refused(tmp_path: Path, pooled: Make, make: Callable[[Path], None], found: str) -> None:
    make(tmp_path / "x")
    with pytest.raises(Refused) as refusal:
        pooled(tmp_path / "x").campaigns()
    expected = "a task folder, or a folder of such; override: +source.dir=<dir>"
    assert str(refusal.value) == f"source: {tmp_path / 'x'}: dir: found {found}, expected {expected}"


def test_a_folder_without_a_task_is_refused_by_what_it_lacks(tmp_path: Path, pooled: Make) -> None:
    with pytest.raises(Refused, match=r"info\.json: found nothing, expected a task's info\.json of format pooled_epi"):
        pooled(tmp_path).campaigns()


def test_a_task_of_another_format_is_a_fault_of_the_task(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    info = json.loads((task / "meta/info.json").read_text())
    (task / "meta/info.json").write_text(json.dumps(info | {"format": "lerobot_v2.1"}))
    campaign = pooled(task.parent).campaign("plain")
    assert campaign.runs == ()
    path = task / "meta/info.json"
    told = f"plain: {path}: format: found format 'lerobot_v2.1', expected 'pooled_episodes_v1'"
    assert [str(fault) for fault in campaign.faults] == [told]
    (rejected,) = [pooled(task.parent).plan(EpisodeKey("plain", "episode_000001"))]
    assert isinstance(rejected, Rejected)
    assert [str(fault) for fault in rejected.faults] == [told.replace("plain:", "plain/episode_000001:", 1)]
    assert pooled(task.parent).looks(EpisodeKey("plain", "episode_000001")) == ""


def test_a_link_that_leads_nowhere_is_a_fault_and_no_silence(tmp_path: Path, pooled: Make) -> None:
    (tmp_path / "away").symlink_to(tmp_path / "disk")
    source = pooled(tmp_path)
    assert source.campaigns() == ["away"]
    expected = "a folder (is a disk not mounted?)"
    found = f"a link to {tmp_path / 'disk'}, which is not there"
    (fault,) = source.campaign("away").faults
    assert str(fault) == f"away: {tmp_path / 'away'}: name: found {found}, expected {expected}"


def test_a_name_that_is_no_text_is_a_fault(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("plain")
    task.rename(task.parent / "pl\udce4in")
    source = pooled(task.parent)
    assert source.campaigns() == ["pl\udce4in"]
    (fault,) = source.campaign("pl\udce4in").faults
    assert (fault.where, fault.field, fault.expected) == ("pl\\udce4in", "name", "a name in UTF-8")


def test_episodes_with_a_gap_are_listed_by_their_pieces_where_they_are_to_be_split(
    simulated: Path, pooled: Make
) -> None:
    whole = [f"episode_{number:06d}" for number in (1, 2, 3, 4, 5)]
    assert runs(pooled(simulated), "pair") == whole
    split = runs(pooled(simulated, on_gap="split"), "pair")
    assert split == [*whole[:3], *(f"{run}.{piece}" for run in whole[3:] for piece in ("01", "02"))]
    assert runs(pooled(simulated, on_gap="split", max_gap_s=5), "pair") == whole


def test_what_cannot_be_read_is_listed_whole(spoiled: Callable[[str], Path], pooled: Make) -> None:
    task = spoiled("pair")
    (task / "data/chunk-000/episode-003.parquet").write_bytes(b"no parquet")
    assert "episode_000004" in runs(pooled(task.parent, on_gap="split"), "pair")


def test_pieces_are_planned_each_for_itself(simulated: Path, pooled: Make) -> None:
    source = pooled(simulated, on_gap="split")
    for number in ("4", "5"):
        plans = [source.plan(EpisodeKey("pair", f"episode_00000{number}.0{piece}")) for piece in (1, 2)]
        first, second = (plan for plan in plans if isinstance(plan, EpisodePlan))
        assert [first.provenance["piece"], second.provenance["piece"]] == ["1 of 2", "2 of 2"]
        assert [first.frames, second.frames] == [10, 10]
        assert [first.reading["rows"]["first"], second.reading["rows"]["first"]] == [0, 10]
        assert first.grid.t0_ns == 0
        assert second.grid.t0_s == pytest.approx(4 + 10 / 30 + 10 * 0.0005, abs=1e-5)  # by the wall, which is later
        assert first.content_digest != second.content_digest
        assert source.frame_plan(second, "left").frame_index.tolist() == list(range(10, 20))


@pytest.mark.parametrize(
    ("options", "run", "count"),
    [
        ({"on_gap": "split"}, "episode_000004", "2 pieces"),
        ({"on_gap": "split"}, "episode_000004.03", "2 pieces"),
        ({"on_gap": "split"}, "episode_000001.01", "1 piece"),
        ({"max_gap_s": 9}, "episode_000004.01", "1 piece"),
    ],
)
def test_a_piece_that_is_not_there_any_more_is_rejected(
    simulated: Path, pooled: Make, options: dict[str, object], run: str, count: str
) -> None:
    rejected = pooled(simulated, **options).plan(EpisodeKey("pair", run))
    assert isinstance(rejected, Rejected)
    path = simulated / f"pair/data/chunk-000/episode-{int(run[8:14]) - 1:03d}.parquet"
    expected = "as many as were listed: a source left alone while it is built"
    assert [str(fault) for fault in rejected.faults] == [
        f"pair/{run}: {path}: pieces: found {count} now, expected {expected}"
    ]


@pytest.mark.parametrize("name", ["episode_000001", "episode_001000", "episode_1234567", "episode_000012.07"])
def test_names_of_episodes_and_pieces_are_read_back(name: str) -> None:
    assert run_name(*number_and_piece(name)) == name


def test_pieces_are_in_their_order_as_plain_text_however_many_there_are() -> None:
    names = [run_name(12, piece, 130) for piece in range(1, 131)]
    assert names == sorted(names)
    assert [number_and_piece(name) for name in names] == [(12, piece) for piece in range(1, 131)]


@pytest.mark.parametrize(
    "name", ["episode_12", "episode_0000012", "episode_000012.7", "run_000001", "episode_000001.x"]
)
def test_other_names_are_none(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of an episode"):
        number_and_piece(name)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_task_that_cannot_be_looked_at_is_told_and_not_passed_over(
    spoiled: Callable[[str], Path], pooled: Make, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    task = spoiled("plain")
    shutil.copytree(task, task.parent / "locked")
    real = Path.stat

    def refusing(path: Path, **more: Any) -> Any:
        if task.parent / "locked" in path.parents:
            raise OSError(number, os.strerror(number), str(path))
        return real(path, **more)

    monkeypatch.setattr(Path, "stat", refusing)
    source = pooled(task.parent)
    assert source.campaigns() == ["locked", "plain"]
    assert processor_of(task.parent) == processor_of(task.parent / "locked") == "pooled_episodes"
    assert len(runs(source, "plain")) == 2


def test_the_rate_is_that_of_the_first_task_not_left_out(spoiled: Callable[[str], Path]) -> None:
    task = spoiled("plain")
    shutil.copytree(task, task.parent / "another")
    path = task.parent / "another/meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fps": 15}))
    assert rate_of(task.parent, ()) == 15
    assert rate_of(task.parent, ("ano*",)) == 30
    path.write_text("{}")
    assert rate_of(task.parent, ()) == 30
    with pytest.raises(
        Refused, match=r"dir: found none, expected a task that \+source.exclude_globs does not leave out"
    ):
        rate_of(task.parent, ("*",))


def test_a_rate_that_is_no_whole_number_is_refused(spoiled: Callable[[str], Path]) -> None:
    task = spoiled("plain")
    path = task / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fps": 29.97}))
    with pytest.raises(Refused) as refusal:
        rate_of(task, ())
    assert str(refusal.value) == (
        f"plain: {path}: fps: found 29.97, expected a whole number of frames a second;"
        " override: +source.exclude_globs=[...,plain]"
    )
