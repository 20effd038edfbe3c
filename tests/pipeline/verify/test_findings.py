"""What is a finding and what is not: a dataset's faults are, a bug of ours and a full disk are none."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from quickdraw.pipeline.verify.ledger import Ledger


@pytest.mark.parametrize("bug", [AttributeError("None.foo"), TypeError("3 + None"), RecursionError(), NameError("x")])
def test_a_bug_of_ours_is_no_finding(bug: Exception) -> None:
    ledger = Ledger(Path("/d"))
    with pytest.raises(type(bug)), ledger.checking("check", "val"):
        raise bug
    assert not ledger.faults


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_neither_is_what_fails_in_the_machine(number: int) -> None:
    with pytest.raises(OSError, match="x"), Ledger(Path("/d")).checking("check", "val"):
        raise OSError(number, "x")


def test_a_file_that_cannot_be_read_is_one_with_its_place() -> None:
    ledger = Ledger(Path("/d"))
    with ledger.checking("check", "val"):
        raise PermissionError(errno.EACCES, "Permission denied", "/d/val/meta/info.json")
    assert [str(fault) for fault in ledger.faults] == [
        "val: val/meta/info.json: check: found unreadable (Permission denied), expected a readable file"
    ]
