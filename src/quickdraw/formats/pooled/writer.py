"""Recording a task, episode by episode (contract 2 to 8).

`Recorder` shows how. Nothing of an episode has its name before `end`, which publishes all of it at once. A kill at any
moment leaves the task as it was before, or as it is after; the next recorder removes what lies hidden.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NoReturn, Self

from quickdraw.errors import Fault, Refused
from quickdraw.formats.pooled import exclusive, info_merge, journal, numbers, shards
from quickdraw.formats.pooled.depth import Mode
from quickdraw.formats.pooled.force_matrix import DEFAULT
from quickdraw.formats.pooled.info import Info, recognise
from quickdraw.formats.pooled.layout import Layout
from quickdraw.formats.pooled.recording import finishing, options
from quickdraw.formats.pooled.recording.cameras import Cameras, Picture, Slot
from quickdraw.formats.pooled.recording.depth_writer import encoder_of
from quickdraw.formats.pooled.recording.matrix_columns import MatrixColumns
from quickdraw.formats.pooled.recording.sensors import Sensors
from quickdraw.formats.pooled.recording.take import Take
from quickdraw.formats.pooled.recording.task_document import Described
from quickdraw.formats.pooled.row_tables import is_shard, read_table
from quickdraw.formats.pooled.rows import EpisodeRow
from quickdraw.video.encoders import RGB
from quickdraw.video.self_test import self_test

__all__ = ["Recorder", "Slot"]


class Recorder(Sensors):
    """The one recorder of a task, as a context that holds it (`exclusive.changing`); readers need no leave.

    `begin`, `add_frame`, `end` and `abort` are called by one thread, what adds samples by any; samples between episodes
    are dropped. A sample belongs to the row that comes next, the latest of a sensor winning; an inertial one to the row
    whose `hardware_ns` it precedes. All arrays are copied. `notes` is what the last `end` had to tell: samples left out
    or cut off, and what differs from earlier episodes.

        import time

        import numpy as np

        from quickdraw.formats.pooled.writer import Recorder, Slot

        slots = [Slot("head_rgb", 480, 640), Slot("head_depth", 480, 640, depth=True)]  # height, width
        with Recorder("recordings", "pick a cube", slots=slots, app_version="1.0", force_spec="int16x10") as recorder:
            recorder.begin()
            for _ in range(3):
                now_ns = time.monotonic_ns()
                recorder.add_imu([now_ns - 2_000_000, now_ns], np.zeros((2, 6)))  # gx gy gz ax ay az
                recorder.add_glove("right_glove", np.zeros((16, 16)))
                recorder.add_force("left", [0.0, 0.0, 1500.0], now_ns)  # mN
                recorder.add_force_matrix("left", np.zeros((250, 250, 3), np.float32), now_ns)  # mN
                recorder.add_trajectory([[0, 0, 0, 0, 0, 0, 0, 1]], [now_ns])  # t x y z qx qy qz qw
                pictures = {
                    "head_rgb": np.zeros((480, 640, 3), np.uint8),
                    "head_depth": np.full((480, 640), 800, np.uint16),  # mm
                }
                recorder.add_frame(pictures, hardware_ns=now_ns, wall_time=time.time())
            row = recorder.end()
        print(row.number, row.length, row.drop_stats, *recorder.notes)

    All stamps are whole nanoseconds, int64, of ONE clock, as `time.monotonic_ns()`: those of samples, and `hardware_ns`
    of frames too. Where they are of several, finding the nearest in time means nothing. `wall_time` is of the same
    instant as `hardware_ns`, in Unix seconds.

    `force_spec` is how force matrices are stored, and cuts off what is beyond its range (counted, and in `notes`):

    - int16: +-32767 mN in steps of 1 mN
    - int16x10: +-3276.7 mN in steps of 0.1 mN
    - int16x100, the default: +-327.67 mN in steps of 0.01 mN
    - int16x1000: +-32.767 mN in steps of 0.001 mN
    - float32: every value as it is

    `depth` is how depth is:

    - ffv1, the default: every millimetre kept, in mkv; `preview` puts a heat map that players show before it
    - log12: 113 to 4998 mm to about 0.3 %, in mp4. It does not reach 30 frames a second of a noisy scene at 848x480 on
      two cores: 19 were measured, where ffv1 reached 98 (`scripts/bench pooled`).

    Nothing is dropped where an encoder or the compressor of the data is behind: `add_frame` waits for it, and the
    caller's own queue grows.
    """

    def __init__(
        self, recordings_root: Path | str, task_name: str, *, slots: Sequence[Slot], app_version: str,
        fps: float = 30.0, force_spec: str = DEFAULT, depth: Mode = "ffv1", preview: bool = False,
        devices: Sequence[Mapping[str, Any]] = (), calibration: Mapping[str, Any] | None = None, watermark: int = 0,
    ) -> None:  # fmt: skip
        """Check everything, touch nothing. Raises Refused with all that is wrong.

        The task's folder is made in `recordings_root`. No `slots` is an episode of rows without any video. `watermark`
        is the caller's progress, episodes completed + 1: numbers never fall behind it.
        """
        folder = options.checked(
            task_name, slots=slots, fps=fps, force_spec=force_spec, depth=depth, preview=preview, devices=devices,
            documents={"app_version": app_version, "calibration": calibration},
        )  # fmt: skip
        super().__init__(force_spec, fps)
        self._root, self._slots, self._watermark = Path(recordings_root) / folder, tuple(slots), watermark
        self._told = Described(task_name, app_version, fps, tuple(devices), calibration, depth)
        self._preview, self._force_spec = preview, force_spec
        self._held = contextlib.ExitStack()
        self._entered = False
        self._take: Take | None = None
        self._replaces = False
        self._layout = Layout(self._root)
        self._finished: finishing.Finished | None = None
        self.notes: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        """The task's folder."""
        return self._root

    def __enter__(self) -> Self:
        """Take the task. Raises Refused where it is none of ours or is held, VideoError where ffmpeg fails its test."""
        self._info()
        for encoder in self._encoders():
            self_test(encoder)
        self._held.enter_context(exclusive.changing(Layout(self._root)))
        self._entered = True
        return self

    def __exit__(self, *_: object) -> None:
        """Let go. An episode that was not ended is aborted."""
        with self._held:
            try:
                if self._take is not None and not journal.pending(self._layout):
                    self.abort()
            finally:  # what is being published is for the next one who enters
                self._entered, self._take = False, None

    def begin(self, number: int | None = None, *, again: bool = False) -> int:
        """Begin an episode and return its N: `number`, or the next one.

        `again` records a finished `number` anew; what there is of it stays until `end` replaces it. Its statistics
        cannot be taken out of stats.json, so that `end` makes that anew from the data there is: what deleted episodes
        had added goes, against the contract's rule (4), and `notes` tells how much. Raises Refused for a finished
        number otherwise, and where the task on disk is no pooled one; RuntimeError outside of the `with` block.
        """
        self._refuse_outside()
        if self._take is not None:
            raise RuntimeError(f"episode {self._take.number} is being recorded")
        info = self._info()
        if info:
            info_merge.document_bytes(info.document)  # what cannot be written back is refused now, not at the end
        self._layout = info.layout if info else Layout(self._root)
        known = numbers.known_numbers(self._layout)
        if number is None:
            if again:
                raise ValueError("`again` needs the number of the episode to record again")
            number = numbers.next_number(self._layout, info, watermark=self._watermark, known=known)
        else:
            self._refuse_taken(number, "" if again else _taken(number, known, info))
        self._replaces, self._finished = bool(_taken(number, known, info)), None
        cameras = Cameras(
            self._layout, number, self._slots, fps=self._told.fps, mode=self._told.depth_mode, preview=self._preview
        )
        self._matrices = MatrixColumns(self._force_spec)
        self._take = Take(
            number, self._layout.data(number), fps=self._told.fps, cameras=cameras, samples=self._samples,
            imu=self._imu, matrices=self._matrices,
        )  # fmt: skip
        return number

    def add_frame(self, pictures: Mapping[str, Picture], *, hardware_ns: Any, wall_time: float) -> None:
        """A row: RGB `(H, W, 3)` uint8 of every colour slot, depth `(H, W)` uint16 [mm] of those that have one.

        `hardware_ns` is when the frame was taken, on the clock of the IMU, 0 where it has no stamp; `wall_time` is Unix
        seconds. A slot of depth that is missing gets its latest picture again, counted as `<slot>_repeated_count` in
        `drop_stats`, and nothing before its first. Waits where an encoder or the compressor is behind.

        Raises ValueError or TypeError, with nothing recorded, where one is not so; VideoError or OSError where
        an encoder or the disk fails: then the episode can only be aborted.
        """
        self._taking().add_frame(pictures, hardware_ns=hardware_ns, wall_time=wall_time)

    def add_dropped(self, stream: str, frames: int) -> None:
        """Frames that `stream` lost before they came here, for the row's `drop_stats`.

        Raises ValueError for a name that would make them no frames: one that ends in `_ms`, `_ns` or `_count`.
        """
        self._taking().add_dropped(stream, frames)

    def end(self) -> EpisodeRow:
        """Publish the episode, and return its row. It is on the disk when this returns.

        Raises Refused where it has no frame. Where the disk fails in preparing (OSError), `end` may be called again;
        where an encoder did (VideoError), only `abort`.
        """
        take = self._taking()
        if not take.rows:
            self._refuse(take.number, "no frame", "one at least, or abort()")
        if self._finished is not None and journal.pending(self._layout):
            journal.recover(self._layout)
        else:
            take.close()
            info = self._info()
            self._finished = finishing.prepare(take, self._layout, self._told, before=info.document if info else None)
            with shards.parting(self._layout, take.number) as (renames, removals):
                journal.commit(self._layout, [*self._finished.renames, *renames], [*self._finished.removals, *removals])
        self._take, self.notes = None, self._finished.notes
        return self._finished.row

    def abort(self) -> None:
        """Throw the episode away. Its number is free again, but where it was recorded before.

        Raises RuntimeError where `end` got so far that only it can go on.
        """
        take = self._taking()
        if journal.pending(self._layout):
            raise RuntimeError(f"episode {take.number} is being published; call end() again")
        self._take = None
        try:
            if not self._replaces:
                numbers.write_marker(self._layout, take.number)
        finally:
            finishing.undo(take, self._layout)

    def _refuse_outside(self) -> None:
        """Without the lock another recording in this task would be written over."""
        if not self._entered:
            raise RuntimeError("enter the recorder first: with Recorder(...) as recorder")

    def _taking(self) -> Take:
        self._refuse_outside()
        if self._take is None:
            raise RuntimeError("no episode is being recorded; begin() one")
        return self._take

    def _encoders(self) -> list[Any]:
        depth = encoder_of(self._told.depth_mode, preview=self._preview)
        kinds = {slot.depth: depth if slot.depth else RGB for slot in self._slots}
        return list(kinds.values())

    def _info(self) -> Info | None:
        """The task on disk, None where it is new. Raises Refused where it is another task or none of this format."""
        try:
            info = recognise(self._root)
        except Refused as error:
            if (self._root / "meta" / "info.json").exists() or any(each.field == "format" for each in error.faults):
                raise
            return None
        if info.task_name.strip() != self._told.task_name.strip():
            found = f"task {self._told.task_name!r} in the folder of task {info.task_name!r}"
            raise Refused([Fault(self._root.name, "task_name", found, "another name", path=str(self._root))])
        return info

    def _refuse_taken(self, number: int, taken: str) -> None:
        if not 1 <= number <= numbers.MOST:
            self._refuse(number, "no number of an episode", "one from 1 on")
        if taken:
            self._refuse(number, taken, "a new number, or again=True to record it all the same")
        table = read_table(self._layout.row(number))
        if table is not None and is_shard(table):
            self._refuse(number, "its row in a file of many", "a file of its own; `split-episodes` parts them")

    def _refuse(self, number: int, found: str, expected: str) -> NoReturn:
        raise Refused([Fault(self._root.name, f"episode {number}", found, expected, path=str(self._root))])


def _taken(number: int, known: Set[int], info: Info | None) -> str:
    """Why a number can be given to no new episode; nothing where it can."""
    last = info.last_number if info else 0
    if number in known:
        return "finished before"
    return f"not above the last finished number {last}" if number <= last else ""
