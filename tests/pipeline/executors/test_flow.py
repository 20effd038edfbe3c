"""How failures of tasks come together."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from quickdraw.pipeline.executors.inline import Inline
from quickdraw.pipeline.refusals import failure


def test_a_failure_is_told_in_a_line_with_how_many_others_there_were() -> None:
    with pytest.raises(FileNotFoundError) as raised:
        list(Inline().run(Path.stat, [Path("/gone/a"), Path(), Path("/gone/b"), Path("/gone/c")]))
    raised.value.add_note("what takes more\nthan a line")
    assert failure(raised.value) == (
        "/gone/a: No such file or directory; "
        "2 further tasks failed, the last by FileNotFoundError(2, 'No such file or directory')"
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_where_nothing_can_be_written_others_are_not_tried(number: int) -> None:
    tried = list[int]()

    def write(task: int) -> None:
        tried.append(task)
        raise OSError(number, os.strerror(number), "/full")

    with pytest.raises(OSError, match="/full"):
        list(Inline().run(write, range(100)))
    assert tried == [0]
