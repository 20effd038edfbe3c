"""A few pictures of a long file whose pictures are evenly timed from 0, found by their time: little is read or decoded.

For a look. What is to be proven is read by `decoding`, or by `seeking`, which trust no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from av.error import FFmpegError

from quickdraw.errors import VideoError
from quickdraw.video.decoding import Picture, opened


def pictures_by_time(path: Path, numbers: Iterable[int], rate_hz: float) -> Iterator[Picture]:
    """The pictures of those numbers, in the order asked for; picture k is the one at `k / rate_hz` seconds.

    Raises VideoError where the file has no picture at such a time, or cannot be decoded there.
    """
    with opened(path) as (container, stream):
        for number in numbers:
            # Half a picture early, so that no rounding of the time can miss it.
            least_s = (number - 0.5) / rate_hz
            try:
                container.seek(max(0, int(least_s * 1e6)))
                found = next((each for each in container.decode(stream) if (each.time or 0.0) >= least_s), None)
            except FFmpegError as error:
                raise VideoError(str(path), f"picture {number}: {error.strerror}", "a decodable picture") from error
            if found is None or (found.time or 0.0) > least_s + 1 / rate_hz:
                raise VideoError(str(path), f"no picture at {number / rate_hz:.3f} s", f"picture {number}")
            yield found
