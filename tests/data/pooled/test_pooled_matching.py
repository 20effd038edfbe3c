"""Pictures against frames, in closed form: a tail short of one, a picture too many, depth that begins late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.data.pooled_episodes.matching import count_faults, match, match_warnings
from quickdraw.data.pooled_episodes.slots import Shown


def shown(camera: str, pictures: int, kind: Any = "rgb") -> Shown:
    return Shown(
        camera=camera,
        slot=f"{camera}_slot",
        kind=kind,
        path=Path(f"/t/{camera}.mp4"),
        stream=0,
        height_px=4,
        width_px=4,
        rate_hz=30.0,
        pictures=pictures,
    )


@pytest.mark.parametrize(
    ("pictures", "frames", "short", "unused"),
    [
        ({"a": 10}, 10, (), {}),
        ({"a": 9}, 9, ("a",), {}),
        ({"a": 11}, 10, (), {"a": 1}),
        ({"a": 9, "b": 10}, 9, ("a",), {"b": 1}),
        ({"a": 9, "b": 11}, 9, ("a",), {"b": 2}),
        ({"a": 9, "b": 9}, 9, ("a", "b"), {}),
    ],
)
def test_a_tail_of_one_frame_is_left_out_either_way(
    pictures: dict[str, int], frames: int, short: tuple[str, ...], unused: dict[str, int]
) -> None:
    cameras = [shown(camera, count) for camera, count in pictures.items()]
    found = match(10, cameras)
    assert (found.frames, found.short, found.unused, found.depth_starts) == (frames, short, unused, {})
    assert not [*count_faults("t/e", 10, cameras)]


@pytest.mark.parametrize(
    ("colour", "depth", "starts", "unused"),
    [(10, 10, 0, 0), (10, 7, 3, 0), (10, 2, 8, 0), (10, 11, 0, 1), (9, 9, 0, 0), (9, 7, 2, 0), (9, 10, 0, 1)],
)
def test_depth_begins_as_many_frames_late_as_it_is_shorter(colour: int, depth: int, starts: int, unused: int) -> None:
    """Counted from the end of what colour shows: both streams may lack the frame a recorder was ended in."""
    cameras = [shown("a", colour), shown("d", depth, "depth")]
    found = match(10, cameras)
    assert found.depth_starts == {"d": starts}
    assert found.unused == ({"d": unused} if unused else {})
    assert not [*count_faults("t/e", 10, cameras)]


@pytest.mark.parametrize("pictures", [0, 1, 8, 12, 100])
def test_more_than_one_picture_off_is_refused(pictures: int) -> None:
    (fault,) = count_faults("t/e", 10, [shown("a", 10), shown("b", pictures)])
    told = f"{pictures} picture{'s' if pictures != 1 else ''}"
    expected = "10, one a frame, or one more or less"
    assert str(fault) == f"t/e: /t/b.mp4: b_slot: found {told}, expected {expected}"


@pytest.mark.parametrize("pictures", [0, 1, 12, 30])
def test_depth_of_one_picture_or_two_too_many_is_refused(pictures: int) -> None:
    (fault,) = count_faults("t/e", 10, [shown("a", 10), shown("d", pictures, "depth")])
    told = f"{pictures} picture{'s' if pictures != 1 else ''}"
    expected = "10, one a frame, one more, or fewer where depth begins late, but two"
    assert str(fault) == f"t/e: /t/d.mp4: d_slot: found {told}, expected {expected}"


def test_every_camera_that_is_off_is_told() -> None:
    cameras = [shown("a", 5), shown("b", 20), shown("d", 1, "depth")]
    assert [fault.field for fault in count_faults("t/e", 10, cameras)] == ["a_slot", "b_slot", "d_slot"]


def test_what_is_left_out_is_said_of_the_piece_it_is_of() -> None:
    cameras = [shown("a", 9), shown("b", 11), shown("d", 6, "depth")]
    found = match(10, cameras)
    tail = ["the last row is left out: a has 9 pictures for 10 frames",
            "no row shows the end of b: 11 pictures for 9 frames"]  # fmt: skip
    head = ["d begins at frame 3: all depth before is 0, not known"]
    assert [*match_warnings(found, cameras, is_first=True, is_last=True)] == [*tail, *head]
    assert [*match_warnings(found, cameras, is_first=False, is_last=True)] == tail
    assert [*match_warnings(found, cameras, is_first=True, is_last=False)] == head
    assert [*match_warnings(found, cameras, is_first=False, is_last=False)] == []


@given(st.integers(2, 300), st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 298))
def test_every_frame_left_has_a_picture_in_every_camera(needed: int, first: int, second: int, late: int) -> None:
    cameras = [shown("a", needed + first), shown("b", needed + second), shown("d", max(2, needed - late), "depth")]
    found = match(needed, cameras)
    assert needed - 1 <= found.frames <= needed
    for each in cameras[:2]:
        assert each.pictures - found.unused.get(each.camera, 0) == found.frames
    depth = cameras[2].pictures - found.unused.get("d", 0)
    assert found.depth_starts["d"] + depth == found.frames
