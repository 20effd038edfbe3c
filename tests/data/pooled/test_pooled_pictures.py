"""Pictures against frames, in closed form: a tail short of one, a picture too many, late depth, and lost pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.data.pooled_episodes.pictures import match, match_faults, match_warnings
from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.video.times import Times


def shown(camera: str, pictures: int, kind: Any = "rgb", *, times: Times | None = None) -> Shown:
    return Shown(
        camera=camera,
        slot=f"{camera}_slot",
        kind=kind,
        path=Path(f"/t/{camera}.mp4"),
        stream=0,
        height_px=4,
        width_px=4,
        rate_hz=30.0,
        times=times or Times(np.arange(pictures) / 30),
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
    assert not [*match_faults("t/e", 10, cameras, 30)]


@pytest.mark.parametrize(
    ("colour", "depth", "starts", "unused"),
    [(10, 10, 0, 0), (10, 7, 3, 0), (10, 2, 8, 0), (10, 11, 0, 1), (9, 9, 0, 0), (9, 10, 0, 1)],
)
def test_depth_begins_as_many_frames_late_as_it_is_shorter(colour: int, depth: int, starts: int, unused: int) -> None:
    """Both streams may lack the frame a recorder was ended in."""
    cameras = [shown("a", colour), shown("d", depth, "depth")]
    found = match(10, cameras)
    assert found.depth_starts == {"d": starts}
    assert found.unused == ({"d": unused} if unused else {})
    assert not [*match_faults("t/e", 10, cameras, 30)]


@pytest.mark.parametrize("pictures", [0, 1, 8, 12, 100])
def test_more_than_one_picture_off_is_refused(pictures: int) -> None:
    (fault,) = match_faults("t/e", 10, [shown("a", 10), shown("b", pictures)], 30)
    told = f"{pictures} picture{'s' if pictures != 1 else ''}"
    expected = "10, one a frame, or one more or less"
    assert str(fault) == f"t/e: /t/b.mp4: b_slot: found {told}, expected {expected}"


@pytest.mark.parametrize("pictures", [0, 1, 12, 30])
def test_depth_of_one_picture_or_two_too_many_is_refused(pictures: int) -> None:
    (fault,) = match_faults("t/e", 10, [shown("a", 10), shown("d", pictures, "depth")], 30)
    told = f"{pictures} picture{'s' if pictures != 1 else ''}"
    expected = "10, one a frame, one more, or fewer where depth begins late, but at least two"
    assert str(fault) == f"t/e: /t/d.mp4: d_slot: found {told}, expected {expected}"


def test_every_camera_that_is_off_is_told() -> None:
    cameras = [shown("a", 5), shown("b", 20), shown("d", 1, "depth")]
    assert [fault.field for fault in match_faults("t/e", 10, cameras, 30)] == ["a_slot", "b_slot", "d_slot"]


def warnings(cameras: list[Shown], *, is_first: bool = True, is_last: bool = True) -> list[str]:
    return [*match_warnings(10, cameras, 30, is_first=is_first, is_last=is_last)]


def test_what_is_left_out_is_said_of_the_piece_it_is_of() -> None:
    cameras = [shown("a", 9), shown("b", 11), shown("d", 10, "depth")]
    tail = ["the last row is left out: a has 9 pictures for 10 frames",
            "no row shows the end of b: 11 pictures for 9 frames",
            "no row shows the end of d: 10 pictures for 9 frames"]  # fmt: skip
    assert warnings(cameras, is_first=True, is_last=True) == warnings(cameras, is_first=False, is_last=True) == tail
    assert warnings(cameras, is_first=True, is_last=False) == []
    late = [shown("a", 10), shown("d", 7, "depth")]
    head = ["d begins at frame 3: all depth before is 0, not known"]
    assert warnings(late, is_first=True, is_last=True) == warnings(late, is_first=True, is_last=False) == head
    assert warnings(late, is_first=False, is_last=True) == []


@pytest.mark.parametrize("pictures", [2, 7, 8, 11])
def test_depth_that_is_short_beside_short_colour_is_refused(pictures: int) -> None:
    """Whether its head is missing or its tail cannot be told."""
    (fault,) = match_faults("t/e", 10, [shown("a", 9), shown("b", 10), shown("d", pictures, "depth")], 30)
    assert fault.found == f"{pictures} pictures"
    assert fault.expected == "10, or 9: which frames depth lacks is not known, for a lacks its last one too"


def without(lost: list[int], count: int = 10) -> Times:
    """Times of pictures, of which those are lost, in whole ms as an mkv has them."""
    return Times(np.round(np.delete(np.arange(count), lost) / 30, 3), round(count / 30, 3))


def told(*cameras: Shown) -> list[tuple[str, str]]:
    return [(fault.found, fault.expected) for fault in match_faults("t/e", 10, cameras, 30)]


def test_a_picture_that_was_lost_in_the_middle_is_no_missing_tail() -> None:
    expected = [("9 pictures for 10 frames, and picture 4 at 0.167 s",
                 "it at 0.133 s, so that no picture is missing in the middle")]  # fmt: skip
    assert told(shown("a", 9, times=without([4]))) == expected
    assert told(shown("a", 10), shown("d", 9, "depth", times=without([4]))) == expected
    assert told(shown("a", 9), shown("d", 9, "depth", times=without([4]))) == expected
    assert told(shown("a", 9, times=without([9]))) == []


def test_pictures_too_many_in_the_middle_are_none_at_the_end() -> None:
    twice = Times(np.insert(np.arange(10), 4, 4) / 30)
    expected = ("11 pictures for 10 frames, and picture 5 at 0.133 s",
                "it at 0.167 s, so that no picture is missing in the middle")  # fmt: skip
    assert told(shown("a", 11, times=twice)) == [expected]


def test_depth_whose_head_is_missing_may_say_so_or_begin_at_0() -> None:
    for lost, at_s in (([0, 1, 2], 0.1), ([0], 0.033)):
        assert told(shown("a", 10), shown("d", 0, "depth", times=without(lost))) == []
        begun = Times(without(lost).at_s - at_s)
        assert told(shown("a", 10), shown("d", 0, "depth", times=begun)) == []


@pytest.mark.parametrize("late", [1, 2, 4, 5])
def test_depth_that_begins_at_another_time_than_its_missing_head_ends_is_refused(late: int) -> None:
    times = Times((np.arange(7) + late) / 30)
    found = f"7 pictures for 10 frames, the first at {late / 30:.3f} s"
    expected = "the first at 0 s or 0.100 s, as many frames later as are missing"
    assert told(shown("a", 10), shown("d", 7, "depth", times=times)) == [(found, expected)]


def test_colour_without_its_first_picture_is_refused() -> None:
    found = ("9 pictures for 10 frames, the first at 0.033 s", "the first at 0 s")
    assert told(shown("a", 9, times=without([0]))) == [found]


def test_depth_without_its_end_is_refused_where_the_file_tells_how_long_it_was() -> None:
    found = ("8 pictures for 10 frames, the last at 0.233 s in a stream of 0.333 s",
             "pictures up to its end, so that those at its head are missing")  # fmt: skip
    assert told(shown("a", 10), shown("d", 8, "depth", times=without([8, 9]))) == [found]


def test_times_that_are_not_told_show_nothing_where_a_picture_is_missing() -> None:
    ((found, _),) = told(shown("a", 9, times=Times(np.full(9, np.nan))))
    assert found == "9 pictures for 10 frames, and picture 1 at nan s"


def test_uneven_times_are_said_where_no_picture_is_missing() -> None:
    times = Times(np.array([0, 1, 2, 3, 5, 6, 7, 8, 9, 10]) / 30)
    said = "the times of a are uneven (picture 4 at 0.167 s, after 0.100 s), but it has a picture for every frame"
    assert told(shown("a", 10, times=times)) == []
    assert warnings([shown("a", 10, times=times)]) == [said]
    assert warnings([shown("a", 10, times=times)], is_first=False) == []


@pytest.mark.parametrize("needed", [1, 2])
def test_a_camera_without_pictures_has_no_times(needed: int) -> None:
    assert len([*match_faults("t/e", needed, [shown("a", 0)], 30)]) == needed - 1


@given(st.integers(2, 300), st.integers(0, 1), st.integers(0, 1), st.integers(0, 298))
def test_every_frame_left_has_a_picture_in_every_camera(needed: int, first: int, second: int, late: int) -> None:
    cameras = [shown("a", needed + first), shown("b", needed + second), shown("d", max(2, needed - late), "depth")]
    found = match(needed, cameras)
    assert found.frames == needed
    for each in cameras[:2]:
        assert each.pictures - found.unused.get(each.camera, 0) == found.frames
    depth = cameras[2].pictures - found.unused.get("d", 0)
    assert found.depth_starts["d"] + depth == found.frames


@given(st.integers(3, 60), st.data())
def test_no_loss_in_the_middle_of_depth_is_taken_for_its_head(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, count - 2))
    lost = list(range(first, data.draw(st.integers(first + 1, count - 1))))
    cameras = [shown("a", count), shown("d", 0, "depth", times=without(lost, count))]
    assert [*match_faults("t/e", count, cameras, 30)]
