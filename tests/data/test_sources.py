"""The source a processor's name stands for, from the options a dataset was built with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quickdraw.data.block_stack import BlockStack
from quickdraw.data.processor import source_of
from quickdraw.errors import Refused
from quickdraw.formats.campaign.acceptance import Acceptance

OPTIONS: dict[str, Any] = {"target_hz": 15, "cameras": ["scene_left"], "allow_faults": ["a/b"], "max_gap_s": 1, "hw": 3}


def test_a_block_stack_is_as_it_was_configured() -> None:
    expected = BlockStack(Path("/t"), 15, ("scene_left",), Acceptance(allow_faults=("a/b",), max_gap_s=1.0))
    assert source_of("block_stack", OPTIONS, Path("/t")) == expected


def test_another_processor_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="source: processor: found 'stacks', expected one of block_stack"):
        source_of("stacks", OPTIONS, Path("/t"))


@pytest.mark.parametrize(
    "wrong", [{"target_hz": "30"}, {"target_hz": 0}, {"cameras": []}, {"cameras": ["x"]}, {"require_green": 3}]
)
def test_options_of_other_kinds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"source: options: found malformed \(.+\), expected those of block_stack"):
        source_of("block_stack", OPTIONS | wrong, Path("/t"))
