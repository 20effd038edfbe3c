"""A dataset that came from elsewhere without its clips is whole; one that lost a clip is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from quickdraw.pipeline.verify.report import Report

Verified = Callable[..., Report]


def test_a_dataset_without_media_is_sound_and_says_what_was_not_checked(dataset: Path, verified: Verified) -> None:
    shutil.rmtree(dataset / "media")
    report = verified(dataset)
    assert report.sound
    (skipped,) = [each for each in report.skipped if each.check == "digests"]
    assert skipped.reason == "no media/"


def test_a_dataset_that_lost_a_clip_is_not(dataset: Path, verified: Verified) -> None:
    (dataset / "media/front/train/ep_0000.mp4").unlink()
    assert {"digests", "media"} <= {fault.field for fault in verified(dataset).findings}
