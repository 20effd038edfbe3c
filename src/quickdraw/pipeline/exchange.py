"""Two folders change places in one step: Linux's renameat2, which Python's library does not offer."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD = -100
RENAME_EXCHANGE = 2
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # by the file system, the kernel, or the kind of mount


def exchanged(one: Path, other: Path) -> bool:
    """Whether `one` and `other`, both there, have changed places; False where the file system knows no such step.

    Raises OSError where it does and could not.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # a C library older than 2018
        return False
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))
