"""Dataset cards, judged as the Hub judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quickdraw.pipeline.verify.report import Report
from quickdraw.report.cards.card import Kept, card, split_card
from quickdraw.report.subject import subject_of

UNCHECKED = Report.unchecked()


@pytest.fixture
def validated(hub: Any) -> Iterator[Callable[[str], Any]]:
    """`validated(text)`: the card, as huggingface_hub parses it, validated by what stands in for the Hub."""
    import httpx
    from huggingface_hub import DatasetCard, close_session, set_client_factory
    from huggingface_hub.utils._http import default_client_factory

    def redirected(request: httpx.Request) -> None:
        request.url = httpx.URL(hub.endpoint + request.url.path)

    set_client_factory(lambda: httpx.Client(event_hooks={"request": [redirected]}))

    def validate(text: str) -> Any:
        parsed = DatasetCard(text)
        parsed.validate()
        return parsed

    yield validate
    close_session()
    set_client_factory(default_client_factory)


def test_a_card_is_one_the_hub_takes(validated: Callable[[str], Any], sample_dataset: Path, hub: Any) -> None:
    told = validated(card(subject_of(sample_dataset, UNCHECKED), None, stamp="a" * 64 + " 1")).data.to_dict()
    assert hub.seen == [("POST", "/api/validate-yaml")]
    assert told["license"] == "unknown"
    assert told["task_categories"] == ["robotics"]
    assert told["tags"] == ["LeRobot", "robotics", "xarm7"]
    assert told["size_categories"] == ["1K<n<10K"]
    assert told["pretty_name"] == "block_stack"
    assert [config["config_name"] for config in told["configs"]] == ["train", "val", "eval_purple_play",
                                                                      "eval_purple_stack"]  # fmt: skip
    assert told["configs"][0] == {"config_name": "train", "data_files": "train/data/*/*.parquet", "default": True}


def test_so_are_a_splits_and_one_with_depth(
    validated: Callable[[str], Any], sample_dataset: Path, pooled_dataset: Path
) -> None:
    told = validated(split_card(subject_of(sample_dataset, UNCHECKED), "val", "me/stack-val", None)).data.to_dict()
    assert told["configs"] == [{"config_name": "default", "data_files": "data/*/*.parquet", "default": True}]
    assert told["size_categories"] == ["n<1K"]
    told = validated(card(subject_of(pooled_dataset, UNCHECKED), Kept(front={"license": "mit"}))).data.to_dict()
    assert told["license"] == "mit"
    assert "depth" in told["tags"]


@pytest.mark.parametrize(
    ("there", "instead", "words"),
    [("license: unknown", "license: do-what-you-like", '"license" must be one of'),
     ("- robotics\ntags", "- teleoperating\ntags", '"task_categories" must be one of'),
     ("- 1K<n<10K", "- about 1K", '"size_categories" must be one of'),
     ("- LeRobot\n", "- 7\n", '"tags" must be an array of strings'),
     ("- config_name: val\n", "- config_name: 3\n", '.config_name" must be a string'),
     ("- config_name: val\n", "- config_name: train\n", "distinct names"),
     ("data_files: val/data/*/*.parquet", "data_files: {a: b}", '.data_files" must be'),
     ("pretty_name: block_stack", "pretty_name: 'block_stack", "YAML")],
)  # fmt: skip
def test_the_judge_can_say_no(
    there: str, instead: str, words: str, judge: Callable[[str], list[str]], sample_dataset: Path
) -> None:
    text = card(subject_of(sample_dataset, UNCHECKED), None)
    assert judge(text) == []
    assert text.count(there) == 1
    assert words in "; ".join(judge(text.replace(there, instead)))


def test_a_card_the_hub_does_not_take_fails_its_validation(
    validated: Callable[[str], Any], sample_dataset: Path
) -> None:
    text = card(subject_of(sample_dataset, UNCHECKED), Kept(front={"license": "mine"}))
    with pytest.raises(ValueError, match="license"):
        validated(text)
