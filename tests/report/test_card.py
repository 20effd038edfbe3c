"""What a dataset card says, of datasets of every kind, and what it keeps."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from markdown_it import MarkdownIt

from quickdraw.errors import Refused
from quickdraw.pipeline.verify.report import Report
from quickdraw.report.cards.card import BEGIN, END, Kept, addressed, card, kept, split_card
from quickdraw.report.subject import Subject, Trace, TracedFeature, subject_of

UNCHECKED = Report.unchecked()


@pytest.fixture(scope="module")
def sample(sample_dataset: Path) -> Subject:
    return subject_of(sample_dataset, UNCHECKED)


@pytest.fixture(scope="module")
def text(sample: Subject) -> str:
    return card(sample, None)


def rows_of(text: str, first: str) -> list[list[str]]:
    """The cells of the table whose head begins with a column."""
    body = text.split(f"| {first} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in body]


def test_every_dim_is_there_with_its_number_name_unit_and_treatment(text: str, sample_dataset: Path) -> None:
    rows = {(row[0], row[1]): row[2:] for row in rows_of(text, "feature")}
    told = json.loads((sample_dataset / "provenance.json").read_text())["features"]
    stats = json.loads((sample_dataset / "normalization_stats.json").read_text())
    assert len(rows) == sum(len(feature["names"]) for feature in told.values())
    for name, feature in told.items():
        for number, (dim, unit) in enumerate(zip(feature["names"], feature["unit"], strict=True)):
            shown, shown_unit, treatment = rows[f"`{name}`", str(number)]
            assert (shown, shown_unit) == (f"`{dim}`", unit)
            pinned = number in feature.get("identity_dims", ())
            assert treatment.startswith("unchanged" if pinned else "z-scored" if stats[name]["std"][number] != 1
                                        else "constant")  # fmt: skip


def test_the_rotation_is_warned_of_and_only_where_there_is_one(text: str, sample: Subject) -> None:
    assert "- `observation.state`: dims 3–8" in text
    assert "Leave the rotations as they are" in text
    assert sample.trace is not None
    plain = Trace(quickdraw="1", processor="p", name="n", config={}, episodes=(), features={})
    assert "rotation" not in card(Subject(sample.root, sample.splits, plain, UNCHECKED), None).lower()


def test_splits_are_told_with_their_episodes_rows_and_rule(text: str, sample_dataset: Path) -> None:
    for name, episodes, rows, _, rule in rows_of(text, "split"):
        info = json.loads((sample_dataset / name.strip("`") / "meta/info.json").read_text())
        assert (int(episodes), int(rows.replace(",", ""))) == (info["total_episodes"], info["total_frames"])
        assert ("longest recordings" in rule) == (name == "`val`")
        assert ("held out" in rule) == ("eval" in name)


def test_a_card_is_the_same_bytes_anywhere_and_names_no_place(text: str, sample_dataset: Path, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("videos", "media", "measured")
    shutil.copytree(sample_dataset, tmp_path / "elsewhere", ignore=ignored)
    assert card(subject_of(tmp_path / "elsewhere", UNCHECKED), None) == text
    assert str(sample_dataset.parent) not in text
    assert text.endswith(f"{END}\n")
    assert not re.search(r"\n\n\n|[ \t]\n", text)


def test_the_stamp_stands_right_behind_the_front_matter(sample: Subject, text: str) -> None:
    front, _, rest = card(sample, None, stamp="abc 1").removeprefix("---\n").partition("\n---\n")
    assert rest.startswith("<!-- quickdraw: abc 1 -->\n")
    assert text == f"---\n{front}\n---{rest.removeprefix('<!-- quickdraw: abc 1 -->')}"


def test_what_a_person_wrote_is_kept_and_nothing_else(sample: Subject, text: str) -> None:
    assert not kept(text)
    theirs = "\nCite **us** ---\n\n```bibtex\n@misc{手}\n```\n{{ braces }} {% if %}\n"
    edited = text[: text.index(BEGIN)] + BEGIN + theirs + END + "\nand this is lost\n"
    edited = edited.replace("license: unknown", "license: cc-by-4.0\nlicense_link: x\nextra_gated_prompt: 'no: yes'")
    edited = edited.replace("- LeRobot\n", "- mine\n").replace("\n", "\r\n")
    again = card(sample, kept(edited))
    assert theirs.strip("\n") in again
    assert "license: cc-by-4.0\nlicense_link: x\nextra_gated_prompt: 'no: yes'\n" in again
    assert "this is lost" not in again
    assert "- mine" not in again
    assert card(sample, kept(again)) == again
    assert card(sample, Kept()) == text


FRONTS = ("", "- a list", "1: 2", "license: unknown")


@pytest.mark.parametrize("words", ["", "# Mine\n", f"{END}{BEGIN}", *(f"---\n{front}\n---\n" for front in FRONTS)])
def test_any_text_can_be_asked_what_to_keep(words: str) -> None:
    assert kept(words).front == {}
    assert not kept(words).yours


@pytest.mark.parametrize("front", [": : :", "a: 2020-13-45", "[" * 4000, "a: *b", "license: [mit", "a: !!python/x 1"])
def test_front_matter_that_cannot_be_read_is_refused_and_no_licence_lost(front: str) -> None:
    with pytest.raises(Refused, match=r"README\.md: front matter: found unreadable"):
        kept(f"---\nlicense: mit\n{front}\n---\n# Mine\n")


def test_a_byte_order_mark_costs_no_licence() -> None:
    assert kept("\ufeff---\nlicense: mit\n---\n").front == {"license": "mit"}


def test_words_behind_a_lost_closing_mark_are_kept(text: str, sample: Subject) -> None:
    torn = text[: text.index(BEGIN)] + BEGIN + "\nmine\n"
    assert kept(torn).yours == "mine"
    assert f"{BEGIN}\nmine\n{END}" in card(sample, kept(torn))


def test_a_split_has_a_card_of_its_own(sample: Subject) -> None:
    one = split_card(sample, "val", "me/stack-val", None)
    assert 'LeRobotDataset("me/stack-val", video_backend="pyav")' in one
    assert [row[0] for row in rows_of(one, "split")] == ["`val`"]
    assert "quickdraw verify" not in one  # it needs all splits
    assert "user/name" not in one


def test_a_card_can_be_told_where_it_is(text: str) -> None:
    assert 'snapshot_download("user/name"' in text
    assert 'snapshot_download("me/stack"' in addressed(text, "me/stack")
    assert len(addressed(text, "user/name")) == len(text)


@dataclass
class Forged:
    """A split that is nowhere."""

    features: dict[str, dict[str, Any]]
    statistics: dict[str, dict[str, Any]] = field(default_factory=dict)
    robot_type: object = None
    rows: int = 1
    rate_hz: int = 30
    episodes: tuple[Any, ...] = ({},)

    @property
    def info(self) -> dict[str, Any]:
        return {"features": self.features, "robot_type": self.robot_type}

    @property
    def cameras(self) -> list[str]:
        names = [name for name, told in self.features.items() if told["dtype"] == "video"]
        return [name.removeprefix("observation.images.") for name in names]

    def key(self, camera: str) -> str:
        return next(name for name in self.features if name in (camera, f"observation.images.{camera}"))


def forged(splits: dict[str, Forged], trace: Trace | None = None) -> str:
    return card(Subject(Path("/nowhere/its_name"), cast(Any, splits), trace, UNCHECKED), None)


def traced(features: dict[str, TracedFeature], **told: Any) -> Trace:
    return Trace(quickdraw="1", processor="p", name="n", config={}, episodes=(), features=features, **told)


def test_hundreds_of_dims_share_rows_and_none_is_lost() -> None:
    names = tuple(f"cell{row}_{column}" for row in range(25) for column in range(25))
    feature = {"dtype": "float32", "shape": [625], "names": list(names)}
    told = {"force": TracedFeature(names, ("mN",) * 625)}
    [row] = rows_of(forged({"train": Forged({"force": feature})}, traced(told)), "feature")
    assert row == ["`force`", "0–624", "`cell0_0` … `cell24_24`", "mN", "z-scored"]
    extremes = [float(number % 2) for number in range(625)]
    statistics = {
        "force": {name: extremes if name == "max" else [0.0] * 625 for name in ("min", "max", "std", "q10", "q90")}
    }
    [row] = rows_of(forged({"train": Forged({"force": feature}, statistics)}, traced(told)), "feature")
    assert row[-1] == "constant in train: shifted to 0, not scaled (313); z-scored (312)"
    many = {f"feature{number}": {"dtype": "float32", "shape": [1], "names": ["x"]} for number in range(400)}
    assert len(rows_of(forged({"train": Forged(many)}), "feature")) == 400


def test_quaternions_that_statistics_leave_alone_are_no_6d_rotations() -> None:
    names = tuple(f"s{sensor:02d}_q{axis}" for sensor in range(16) for axis in "xyzw")
    feature = {"dtype": "float32", "shape": [64], "names": list(names)}
    told = {"observation.glove_imu_quat": TracedFeature(names, ("",) * 64, identity_dims=tuple(range(64)))}
    text = forged({"train": Forged({"observation.glove_imu_quat": feature})}, traced(told))
    assert {row[-1] for row in rows_of(text, "feature")} == {"unchanged"}
    assert "rotation" not in text.lower()
    assert "matrix" not in text


def test_a_rotation_is_told_by_its_names_beside_other_dims_that_are_left_alone() -> None:
    turned = ["tip.rot6_0", "tip.rot6_1", "tip.rot6_2", "tip.rot6_3", "tip.rot6_4", "tip.rot6_5"]
    names = ("glove.qx", "glove.qw", "tip.x_m", *turned)
    alone = (0, 1, 3, 4, 5, 6, 7, 8)
    feature = {"dtype": "float32", "shape": [9], "names": list(names)}
    told = {"observation.state": TracedFeature(names, ("",) * 9, identity_dims=alone)}
    text = forged({"train": Forged({"observation.state": feature})}, traced(told))
    assert "- `observation.state`: dims 3–8\n" in text
    assert [row[-1] for row in rows_of(text, "feature")] == [
        "unchanged", "unchanged", "z-scored", *["unchanged: part of a rotation"] * 6
    ]  # fmt: skip
    assert "c0, c1 = raw[:, 3:6], raw[:, 6:9]" in text


def test_a_rotation_whose_dims_are_apart_is_taken_as_they_are() -> None:
    names = ("rot6_5", *(f"rot6_{number}" for number in range(5)))
    feature = {"dtype": "float32", "shape": [6], "names": list(names)}
    told = {"observation.state": TracedFeature(names, ("",) * 6, identity_dims=tuple(range(6)))}
    text = forged({"train": Forged({"observation.state": feature})}, traced(told))
    assert "- `observation.state`: dims (1, 2, 3, 4, 5, 0)\n" in text
    assert "c0, c1 = raw[:, 1:4], raw[:, [4, 5, 0]]" in text
    scaled = {"observation.state": TracedFeature(names, ("",) * 6)}
    assert "Leave the rotations" not in forged({"train": Forged({"observation.state": feature})}, traced(scaled))


@pytest.mark.parametrize(
    ("config", "words"),
    [({"val_frac": 0.1, "val_floor": 2, "val_runs": []}, "the longest recordings of train and val together, as many as "
      "bring their rows nearest to 10 %, but at least 2: for long rollouts, not a random sample"),
     ({"val_frac": 0.125, "val_floor": 0, "val_rule": "random", "seed": 7}, "recordings of train and val together, "
      "drawn with seed 7, as many as bring their rows nearest to 12.5 %"),
     ({"val_frac": 0.1, "val_floor": 3, "val_runs": ["a/b"]}, "recordings chosen by name")],
)  # fmt: skip
def test_val_is_told_by_its_rule_and_the_least_that_it_holds(config: dict[str, Any], words: str) -> None:
    trace = Trace(quickdraw="1", processor="p", name="n", config=config, episodes=(), features={})
    splits = {"train": Forged({}), "val": Forged({}), "eval_x": Forged({})}
    assert [row[-1] for row in rows_of(forged(splits, trace), "split")] == [
        "what the others leave", words, "campaigns held out whole, never mixed into train"
    ]  # fmt: skip


def test_a_dataset_that_tells_its_rule_in_no_way_of_ours_is_refused(sample_dataset: Path, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("videos", "media", "measured")
    shutil.copytree(sample_dataset, tmp_path / "other", ignore=ignored)
    document = json.loads((sample_dataset / "provenance.json").read_text())
    document["config"]["val_frac"] = "a tenth"
    (tmp_path / "other/provenance.json").write_text(json.dumps(document))
    with pytest.raises(Refused, match="val_frac"):
        subject_of(tmp_path / "other", UNCHECKED)


HOSTILE = ("a|b", "`tick`", "<img src=x onerror=alert(1)>", "手套_抓取", "two\nlines", "[l](http://x)", "**b**", "",
           "\ud800", '"; import os #', "-->", "```")  # fmt: skip
SHOWN = tuple(name.replace("\n", " ").replace("\ud800", "").strip() for name in HOSTILE)


def test_names_of_others_are_shown_as_they_are_and_are_no_markup() -> None:
    features: dict[str, dict[str, Any]] = {
        "x": {"dtype": "float32", "shape": [len(HOSTILE)], "names": list(HOSTILE)},
        'observation.images.c"\\a`m': {"dtype": "video", "shape": [2, 2, 3], "names": None, "info": {}},
    }
    trace = traced({"x": TracedFeature(HOSTILE, ("<b>|",) * len(HOSTILE))}, packages={"<i>": "|"})
    text = forged({"<u>a|b": Forged(features, robot_type="a: b # c")}, trace)
    text.encode()
    tokens = MarkdownIt("commonmark").enable("table").parse(text.split("---\n", 2)[2])
    inside = [token for block in tokens for token in block.children or ()]
    assert {token.content.strip() for token in tokens if token.type == "html_block"} == {BEGIN, END}
    assert not {"html_inline", "image", "strong_open"} & {token.type for token in inside}
    assert [token.attrs["href"] for token in inside if token.type == "link_open"] == [
        "https://github.com/huggingface/lerobot", "https://github.com/isaac-ward/quickdraw"
    ]  # fmt: skip
    spans = [token.content.strip() for token in inside if token.type == "code_inline"]
    begun = spans.index("x") + 1
    assert tuple(spans[begun : begun + 2 * len(HOSTILE) : 2]) == SHOWN
    assert {"<u>a|b", 'observation.images.c"\\a`m'} <= set(spans)
    for block in [token.content for token in tokens if token.type == "fence" and token.info == "python"]:
        compile(block, "card", "exec")


def test_a_dataset_of_others_is_told_of_as_far_as_it_tells() -> None:
    features: dict[str, dict[str, Any]] = {
        "observation.state": {"dtype": "float32", "shape": [2], "names": {"motors": ["a", "b"]}},
        "note": {"dtype": "string", "shape": [1], "names": None},
    }
    text = forged({"train": Forged(features, {"observation.state": {"min": [0, 1], "max": [1, 1], "std": [1, 0],
                                                                     "q10": [0, 1], "q90": [1, 1]}})})  # fmt: skip
    assert [row[1:] for row in rows_of(text, "feature")] == [["0", "`a`", "", ""], ["1", "`b`", "", "constant"]]
    assert "# its\\_name" in text
    assert "Where it comes from" not in text
    assert "imageio" not in text


def test_depth_is_told_and_read_as_depth(pooled_dataset: Path) -> None:
    text = card(subject_of(pooled_dataset, UNCHECKED), None)
    kinds = {row[0]: row[1] for row in rows_of(text, "camera")}
    assert set(kinds.values()) == {"colour", "depth, in mm"}
    assert "reader.depth(0, " in text
