"""Pictures against frames, in closed form: a tail short of one, a picture too many, late depth, and lost pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickdraw.core.grid import Float64
from quickdraw.data.pooled_episodes.pictures import Match, match, match_faults, match_warnings
from quickdraw.data.pooled_episodes.slots import Shown
from quickdraw.errors import Fault
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


def matched(cameras: list[Shown], needed: int = 10) -> Match:
    """Of rows that are a frame apart."""
    return match(np.arange(needed), np.full(needed - 1, 1 / 30), cameras, 30)


def faults(cameras: list[Shown], needed: int = 10) -> list[Fault]:
    return [*match_faults("t/e", matched(cameras, needed), cameras, 30)]


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
    found = matched(cameras)
    assert (found.frames, found.short, found.unused, found.depth_starts) == (frames, short, unused, {})
    assert not faults(cameras)


@pytest.mark.parametrize(
    ("colour", "depth", "starts", "unused"),
    [(10, 10, 0, 0), (10, 7, 3, 0), (10, 2, 8, 0), (10, 11, 0, 1), (9, 9, 0, 0), (9, 10, 0, 1)],
)
def test_depth_begins_as_many_frames_late_as_it_is_shorter(colour: int, depth: int, starts: int, unused: int) -> None:
    """Both streams may lack the frame a recorder was ended in."""
    cameras = [shown("a", colour), shown("d", depth, "depth")]
    found = matched(cameras)
    assert found.depth_starts == {"d": starts}
    assert found.unused == ({"d": unused} if unused else {})
    assert not faults(cameras)


@pytest.mark.parametrize("pictures", [0, 1, 8, 12, 100])
def test_more_than_one_picture_off_is_refused(pictures: int) -> None:
    (fault,) = faults([shown("a", 10), shown("b", pictures)])
    told = f"{pictures} picture{'s' if pictures != 1 else ''}"
    expected = "10, one a frame, or one more or less"
    assert str(fault) == f"t/e: /t/b.mp4: b_slot: found {told}, expected {expected}"


@pytest.mark.parametrize("pictures", [0, 1, 12, 30])
def test_depth_of_one_picture_or_two_too_many_is_refused(pictures: int) -> None:
    (fault,) = faults([shown("a", 10), shown("d", pictures, "depth")])
    told = f"{pictures} picture{'s' if pictures != 1 else ''}"
    expected = "10, one a frame, one more, or fewer where depth begins late, but at least two"
    assert str(fault) == f"t/e: /t/d.mp4: d_slot: found {told}, expected {expected}"


def test_every_camera_that_is_off_is_told() -> None:
    cameras = [shown("a", 5), shown("b", 20), shown("d", 1, "depth")]
    assert [fault.field for fault in faults(cameras)] == ["a_slot", "b_slot", "d_slot"]


def warnings(cameras: list[Shown], first: int = 0, end: int = 10) -> list[str]:
    """Of the piece [first, end) of ten frames."""
    return [*match_warnings(matched(cameras), cameras, np.arange(first, end), is_last=end == 10)]


def test_what_is_left_out_at_the_end_is_said_of_the_last_piece() -> None:
    cameras = [shown("a", 9), shown("b", 11), shown("d", 10, "depth")]
    tail = ["the last row is left out: a has 9 pictures for 10 frames",
            "no row shows the end of b: 11 pictures for 9 frames",
            "no row shows the end of d: 10 pictures for 9 frames"]  # fmt: skip
    assert warnings(cameras) == warnings(cameras, first=4) == tail
    assert warnings(cameras, end=4) == []


def test_that_depth_begins_late_is_said_of_every_piece_with_rows_before() -> None:
    cameras = [shown("a", 10), shown("d", 7, "depth")]
    head = ["d begins at frame 3: all depth before is 0, not known"]
    assert warnings(cameras) == warnings(cameras, end=4) == warnings(cameras, first=2) == head
    assert warnings(cameras, end=3) == ["d begins later, at frame 3: all its depth is 0, not known"]
    assert warnings(cameras, first=3) == warnings(cameras, first=5) == []


@pytest.mark.parametrize("pictures", [2, 7, 8, 11])
def test_depth_that_is_short_beside_short_colour_is_refused(pictures: int) -> None:
    """Whether its head is missing or its tail cannot be told."""
    (fault,) = faults([shown("a", 9), shown("b", 10), shown("d", pictures, "depth")])
    assert fault.found == f"{pictures} pictures"
    assert fault.expected == "10, or 9: which frames depth lacks is not known, for a lacks its last one too"


def without(lost: list[int], count: int = 10) -> Times:
    """Times of pictures, of which those are lost, in whole ms as an mkv has them."""
    return Times(np.round(np.delete(np.arange(count), lost) / 30, 3), round(count / 30, 3))


def told(*cameras: Shown) -> list[tuple[str, str]]:
    return [(fault.found, fault.expected) for fault in faults([*cameras])]


EVEN = "s, so that no picture is missing or doubled in the middle"


def test_a_picture_that_was_lost_in_the_middle_is_no_missing_tail() -> None:
    expected = [("9 pictures for 10 frames, and picture 4 at 0.167 s, after 0.100 s", f"it at 0.133 {EVEN}")]
    assert told(shown("a", 9, times=without([4]))) == expected
    assert told(shown("a", 10), shown("d", 9, "depth", times=without([4]))) == expected
    assert told(shown("a", 9), shown("d", 9, "depth", times=without([4]))) == expected
    assert told(shown("a", 9, times=without([9]))) == []


def test_a_picture_too_many_in_the_middle_is_none_at_the_end() -> None:
    twice = Times(np.insert(np.arange(10), 4, 4) / 30)
    expected = ("11 pictures for 10 frames, and picture 5 at 0.133 s, after 0.133 s", f"it at 0.167 {EVEN}")
    assert told(shown("a", 11, times=twice)) == [expected]


def test_a_picture_lost_behind_the_last_row_is_no_matter() -> None:
    times = Times(np.array([*range(10), 17]) / 30)
    assert told(shown("a", 11, times=times)) == []


@pytest.mark.parametrize("kind", ["rgb", "depth"])
def test_a_lost_picture_is_told_though_one_more_at_the_end_makes_up_for_it(kind: str) -> None:
    cameras = [shown("a", 10), shown("b", 10, kind, times=Times(np.delete(np.arange(11), 4) / 30))]
    expected = ("10 pictures for 10 frames, and picture 4 at 0.167 s, after 0.100 s", f"it at 0.133 {EVEN}")
    assert told(*cameras) == [expected]


def test_a_doubled_picture_is_told_though_a_missing_last_one_makes_up_for_it() -> None:
    times = Times(np.insert(np.arange(9), 4, 4) / 30)
    expected = ("10 pictures for 10 frames, and picture 5 at 0.133 s, after 0.133 s", f"it at 0.167 {EVEN}")
    assert told(shown("a", 10, times=times)) == [expected]


class Recording:
    """Rows and one colour camera, each at times given in frames of 30 Hz."""

    def __init__(self, rows: list[float], pictures: list[float], frame: list[int] | None = None) -> None:
        self.steps_s: Float64 = np.diff(rows) / 30
        self.frame = np.array(frame or range(len(rows)))
        self.cameras = [shown("a", 0, times=Times(np.array(pictures) / 30))]

    @property
    def odd(self) -> int | None:
        """The picture it is refused by."""
        found = match(self.frame, self.steps_s, self.cameras, 30)
        told = [fault.found for fault in match_faults("t/e", found, self.cameras, 30)]
        assert len(told) <= 1
        return int(told[0].split("picture ")[1].split()[0]) if told else None


def still(count: int, **after: int) -> list[float]:
    """Times of so many frames that stood still: `still(9, k4=2)` is two frames longer from 3 to 4, and so on."""
    return [float(k + sum(more for name, more in after.items() if k >= int(name[1:]))) for k in range(count)]


@pytest.mark.parametrize("tail", [-1, 0, 1])
@pytest.mark.parametrize(
    ("rows", "pictures", "odd"),
    [
        ({}, {}, None),
        ({"k4": 3}, {"k4": 3}, None),
        ({"k4": 3}, {}, None),  # of a writer that counts pictures
        ({"k4": 3}, {"k4": 1}, None),
        ({}, {"k4": 1}, 4),
        ({"k4": 1}, {"k4": 2}, 4),
        ({"k4": 1}, {"k4": 1, "k7": 1}, 7),  # of two holes, rows have one
        ({"k4": 1, "k7": 1}, {"k4": 1, "k7": 2}, 7),
        ({"k4": 1}, {"k5": 1}, 5),
        ({}, {"k4": -1}, 4),  # doubled
        ({"k2": 5}, {"k2": 5, "k6": -1}, 6),
        ({}, {"k1": 1}, 1),
    ],
)
def test_pictures_step_as_their_rows_do_or_one_a_frame_whatever_their_number(
    rows: dict[str, int], pictures: dict[str, int], odd: int | None, tail: int
) -> None:
    assert Recording(still(10, **rows), still(10 + tail, **pictures)).odd == odd


@pytest.mark.parametrize("tail", [-1, 0, 1])
@pytest.mark.parametrize(
    ("frame", "rows", "pictures", "odd"),
    [
        ([0, 1, 2, 5, 6], [0, 1, 2, 5, 6], {}, None),
        ([0, 1, 2, 5, 6], [0, 1, 2, 3, 4], {}, None),  # only numbers were passed over
        ([0, 1, 2, 5, 6], [0, 1, 2, 5, 6], {"k4": 1}, 5),
        ([0, 1, 2, 5, 6], [0, 1, 2, 5, 6], {"k6": 1}, 6),
        ([0, 1, 2, 5, 6], [0, 1, 2, 6, 7], {"k4": 1}, None),
        ([0, 1, 2, 5, 6], [0, 1, 2, 5, 6], {"k3": 1, "k4": -1}, None),  # which no row shows
        ([3, 4, 5, 6], [0, 1, 2, 3], {}, None),
        ([3, 4, 5, 6], [0, 1, 2, 3], {"k2": 1}, 3),
        ([3, 4, 5, 6], [0, 1, 2, 3], {"k5": 1}, 5),
    ],
)
def test_where_rows_pass_over_pictures_those_between_are_counted(
    frame: list[int], rows: list[float], pictures: dict[str, int], odd: int | None, tail: int
) -> None:
    """One row, the second to last one, is there with whichever number of pictures."""
    rows, frame = [*rows, rows[-1] + 1], [*frame, frame[-1] + 1]
    assert Recording(rows, still(frame[-1] + 1 + tail, **pictures), frame).odd == odd


@given(st.integers(3, 60), st.data())
def test_rows_that_are_late_by_less_than_half_a_frame_hide_nothing(count: int, data: st.DataObject) -> None:
    late = data.draw(st.lists(st.floats(0, 0.49), min_size=count, max_size=count))
    lost = data.draw(st.integers(1, count - 1))
    rows = [k + more for k, more in enumerate(late)]
    assert Recording(rows, still(count)).odd is None
    assert Recording(rows, still(count, **{f"k{lost}": 1})).odd == lost


def test_times_that_jitter_are_said_where_the_count_is_right_and_refused_where_it_is_not() -> None:
    jitter = [0, 1, 2, 3, 4.6, 5, 6, 7, 8, 9]
    camera = shown("a", 10, times=Times(np.array(jitter) / 30))
    said = "the times of a are uneven (picture 4 at 0.153 s, after 0.100 s), but it has a picture for every frame"
    assert told(camera) == []
    assert warnings([camera]) == warnings([camera], first=4) == warnings([camera], end=5) == [said]
    assert warnings([camera], end=4) == warnings([camera], first=5) == []
    for times in ([0, 1, 2, 3, 4.6, 5, 6, 7, 8], [*jitter, 10]):
        assert Recording(still(10), times).odd == 4
    assert Recording([*jitter[:9], 9], jitter[:9]).odd is None  # as rows do


def test_times_that_are_not_told_show_nothing_where_a_picture_is_missing() -> None:
    ((found, _),) = told(shown("a", 9, times=Times(np.full(9, np.nan))))
    assert found == "9 pictures for 10 frames, and picture 1 at nan s, after nan s"
    assert told(shown("a", 10, times=Times(np.full(10, np.nan)))) == []


def test_depth_whose_head_is_missing_may_say_so_or_begin_at_0() -> None:
    for lost, at_s in (([0, 1, 2], 0.1), ([0], 0.033)):
        assert told(shown("a", 10), shown("d", 0, "depth", times=without(lost))) == []
        begun = Times(without(lost).at_s - at_s)
        assert told(shown("a", 10), shown("d", 0, "depth", times=begun)) == []


@pytest.mark.parametrize(("parted", "odd"), [(4, None), (3, 1), (5, 1)])
def test_the_first_picture_of_depth_that_begins_late_is_of_that_frame(parted: int, odd: int | None) -> None:
    """Depth lacks three pictures and stood still for a frame before its second, which is of frame 4."""
    cameras = [shown("a", 10), shown("d", 0, "depth", times=Times(np.array([0, 2, 3, 4, 5, 6, 7]) / 30))]
    steps_s = np.diff(still(10, **{f"k{parted}": 1})) / 30
    found = match(np.arange(10), steps_s, cameras, 30)
    assert found.depth_starts == {"d": 3}
    assert (found.odd["d"].picture if found.odd else None) == odd
    assert len([*match_faults("t/e", found, cameras, 30)]) == (odd is not None)


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


@pytest.mark.parametrize("needed", [1, 2])
def test_a_camera_without_pictures_has_no_times(needed: int) -> None:
    assert len(faults([shown("a", 0)], needed)) == needed - 1


@given(st.integers(2, 300), st.integers(0, 1), st.integers(0, 1), st.integers(0, 298))
def test_every_frame_left_has_a_picture_in_every_camera(needed: int, first: int, second: int, late: int) -> None:
    cameras = [shown("a", needed + first), shown("b", needed + second), shown("d", max(2, needed - late), "depth")]
    found = matched(cameras, needed)
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
    assert faults(cameras, count)
