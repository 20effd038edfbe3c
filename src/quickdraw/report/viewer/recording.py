"""Episodes in Rerun: as .rrd files, or in its viewer."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quickdraw.errors import COMMAND_LINE, Fault
from quickdraw.formats.durable import aside, sync
from quickdraw.report.room import is_full
from quickdraw.report.viewer.layout import layout_of
from quickdraw.report.viewer.rows import Shown, record_episode

if TYPE_CHECKING:
    import rerun as rr

APPLICATION: Final = "quickdraw"


def missing_rerun() -> list[Fault]:
    """The fault of an environment without Rerun."""
    try:
        import rerun  # noqa: F401  (is it there, and does it load?)
    except ImportError:
        return [Fault(COMMAND_LINE, "rerun", "not installed", "Rerun; get it by: pip install 'quickdraw[viz]'")]
    return []


def missing_display() -> list[Fault]:
    """The fault of a machine that has no screen to open the viewer on."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return []
    return [
        Fault(COMMAND_LINE, "display", "none", "one; or --save FILE.rrd, to be opened on another machine by: rerun")
    ]


def save_recording(shown: Shown, path: Path, advance: Callable[[int], None]) -> None:
    """Write an episode to an .rrd file, which is whole or not there; what has its name is replaced.

    Raises Refused or VideoError where the dataset is damaged, OSError where nothing can be written.
    """
    fresh = aside(path)
    stream = _stream(shown)
    try:
        stream.save(fresh, default_blueprint=layout_of(shown))
        record_episode(stream, shown, advance)
        stream.disconnect()  # ends the file
        _refuse_full(path)
        sync(fresh)
        fresh.replace(path)
    except RuntimeError:
        stream.disconnect()
        _refuse_full(path)
        raise
    finally:
        stream.disconnect()
        fresh.unlink(missing_ok=True)


def _refuse_full(path: Path) -> None:
    """Raise OSError where the disk is full: of that Rerun has an error at times, and a line in its log at others."""
    if is_full(path.parent):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def open_viewer(episodes: Sequence[Shown], advance: Callable[[int], None]) -> None:
    """Open Rerun's viewer with these episodes, a recording each; one that is open already is used.

    Raises what `save_recording` raises; OSError where the viewer cannot be started.
    """
    for shown in episodes:
        stream = _stream(shown)
        try:
            stream.spawn(default_blueprint=layout_of(shown))
        except RuntimeError as error:
            raise OSError(f"Rerun's viewer cannot be started: {error}") from error
        record_episode(stream, shown, advance)
        stream.flush()
        stream.disconnect()


def lacks_decoder() -> bool:
    """Whether the viewer, which shows H.264 by the ffmpeg it finds, will find none."""
    return shutil.which("ffmpeg") is None


def _stream(shown: Shown) -> rr.RecordingStream:
    import rerun as rr

    # Told, so that the same episode has the same name each time, and nothing of when or where it was recorded.
    return rr.RecordingStream(APPLICATION, recording_id=shown.title, send_properties=False)
