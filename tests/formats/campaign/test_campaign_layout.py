"""Which folders of a tree are campaigns and runs, which are ignored and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quickdraw.errors import Refused
from quickdraw.formats.campaign.layout import campaign_names, read_campaign


def folders(tree: Path, *names: str, run_json: bool = True) -> Path:
    for name in names:
        (tree / name).mkdir(parents=True)
        if run_json:
            (tree / name / "run.json").write_text("{}")
    return tree


def test_both_namings_of_runs_are_found_and_sort_as_plain_text(tmp_path: Path) -> None:
    names = ["run_0002_20260909_120000", "recording_2026_09_10_06_43_58_b", "recording_2026_09_10_06_43_58",
             "recording_2026_09_09_23_00_00", "run_0010_20260909_000000"]  # fmt: skip
    folders(tmp_path, *(f"c/{name}" for name in names))
    campaign = read_campaign(tmp_path, "c")
    assert [key.run for key in campaign.runs] == sorted(names)
    assert campaign.runs[-1].run == "run_0010_20260909_000000"  # 'r','u' after 'r','e'
    assert (campaign.ignored, campaign.rejected, campaign.faults) == ((), (), ())


@pytest.mark.parametrize("name", ["recording_2026_09_10_06_43_58", "run_0001_20260909_000000"])
def test_a_run_folder_without_run_json_is_refused_by_name(name: str, tmp_path: Path) -> None:
    folders(tmp_path, "c/recording_1")
    folders(tmp_path, f"c/{name}", run_json=False)
    campaign = read_campaign(tmp_path, "c")
    (rejected,) = campaign.rejected
    assert str(rejected.key) == f"c/{name}"
    (fault,) = rejected.faults
    assert (fault.where, fault.field, fault.found) == (f"c/{name}", "run.json", "missing")
    assert fault.path == str(tmp_path / "c" / name)
    assert [key.run for key in campaign.runs] == ["recording_1"]


@pytest.mark.parametrize("name", ["recordings", "recording_", "run_1_x", "run_0001", "copy of recording_1", "lerobot",
                                  "run_00001_x", "Recording_1"])  # fmt: skip
def test_a_run_json_under_a_name_no_run_has_is_ignored_and_listed(name: str, tmp_path: Path) -> None:
    folders(tmp_path, "c/recording_1", f"c/{name}")
    campaign = read_campaign(tmp_path, "c")
    assert campaign.ignored == (f"c/{name}",)
    assert [key.run for key in campaign.runs] == ["recording_1"]
    assert campaign.rejected == ()


def test_folders_and_files_that_are_no_runs_are_passed_over_in_silence(tmp_path: Path) -> None:
    folders(tmp_path, "c/recording_1")
    folders(tmp_path, "c/lerobot/meta", "c/.preview", "c/raw", run_json=False)
    (tmp_path / "c" / "campaign.json").write_text("{}")
    (tmp_path / "c" / "recording_9.zip").write_text("a file, not a folder")
    campaign = read_campaign(tmp_path, "c")
    assert (len(campaign.runs), campaign.ignored, campaign.rejected, campaign.faults) == (1, (), (), ())


def test_campaigns_are_the_folders_of_the_tree_sorted_as_plain_text_without_hidden_ones_and_files(
    tmp_path: Path,
) -> None:
    folders(tmp_path, "campaign2", "campaign10-x", "B", "_rt", "手套", ".cache", ".Trash-1000", run_json=False)
    (tmp_path / ".measurements.json").write_text("{}")
    (tmp_path / "index.html").write_text("")
    assert campaign_names(tmp_path) == ["B", "_rt", "campaign10-x", "campaign2", "手套"]


@pytest.mark.parametrize("run", ["recording_2026_09_10_06_43_58", "run_0001_20260909_000000"])
def test_a_tree_that_is_a_campaign_is_refused_with_the_folder_above_it(run: str, tmp_path: Path) -> None:
    folders(tmp_path, f"tree/campaign3/{run}")
    with pytest.raises(
        Refused, match=r"dir: found run folders \(this is one campaign\), expected the folder above it, "
    ):
        campaign_names(tmp_path / "tree" / "campaign3")
    with pytest.raises(Refused) as refusal:
        campaign_names(tmp_path / "tree" / "campaign3")
    assert refusal.value.faults[0].expected == f"the folder above it, {tmp_path / 'tree'}"
    assert refusal.value.faults[0].path == str(tmp_path / "tree" / "campaign3")


def test_a_tree_that_is_missing_a_file_or_empty_is_refused_each_in_its_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty" / ".hidden").mkdir(parents=True)
    for name, found in (("gone", "nothing there"), ("file", "a file"), ("empty", "no campaign folder")):
        with pytest.raises(
            Refused, match=f"source: .*{name}: dir: found {found}, expected a folder of campaign folders"
        ):
            campaign_names(tmp_path / name)


def test_a_linked_campaign_and_a_linked_run_are_read_like_any_other(tmp_path: Path) -> None:
    folders(tmp_path / "elsewhere", "c/recording_1")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "linked").symlink_to(tmp_path / "elsewhere" / "c")
    assert campaign_names(tmp_path / "tree") == ["linked"]
    assert [str(key) for key in read_campaign(tmp_path / "tree", "linked").runs] == ["linked/recording_1"]


def test_the_sample_tree_is_seven_runs_of_five_campaigns(sample_tree: Path) -> None:
    runs = {name: len(read_campaign(sample_tree, name).runs) for name in campaign_names(sample_tree)}
    assert runs == {"campaign3-play": 2, "campaign5-play-long": 2, "campaign6-combos": 1, "campaign8-purple-play": 1,
                    "campaign9-purple-stack": 1}  # fmt: skip


def test_a_campaign_that_leads_nowhere_and_one_whose_name_is_no_text_are_faults_of_their_own(tmp_path: Path) -> None:
    odd = os.fsdecode(b"campaign4-\xff")
    folders(tmp_path, "campaign3/recording_1", f"{odd}/recording_2")
    (tmp_path / "campaign5").symlink_to("/not/mounted")
    assert campaign_names(tmp_path) == ["campaign3", odd, "campaign5"]
    told = [fault for name in campaign_names(tmp_path) for fault in read_campaign(tmp_path, name).faults]
    assert [(fault.where, fault.found, fault.expected) for fault in told] == [
        (r"campaign4-\udcff", r"'campaign4-\udcff'", "a name in UTF-8"),
        ("campaign5", "a link to /not/mounted, which is not there", "a folder (is a disk not mounted?)"),
    ]
    assert [read_campaign(tmp_path, name).runs for name in (odd, "campaign5")] == [(), ()]
