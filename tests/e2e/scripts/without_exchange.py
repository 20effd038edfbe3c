"""The build command on a kernel that exchanges no two folders, as under a file system without RENAME_EXCHANGE.

Arguments: the command's own. The kernel itself refuses this process the step, by a filter of system calls.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

RENAMEAT2 = {"x86_64": 316, "aarch64": 276}  # its number
FLAGS = 16 + 4 * 8  # where its fifth argument is in struct seccomp_data
RENAME_EXCHANGE = 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of <linux/bpf_common.h>
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EINVAL
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def refuse_exchange() -> None:
    """For this process and its children, for good."""
    steps = [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 3, RENAMEAT2[platform.machine()]),
        (LOAD, 0, 0, FLAGS),
        (EQUAL, 0, 1, RENAME_EXCHANGE),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert prctl(SET_SECCOMP, FILTER, ctypes.byref(program)) == 0, ctypes.get_errno()


if __name__ == "__main__":  # workers are processes of their own
    refuse_exchange()
    from quickdraw.data.processors import main

    sys.exit(main(sys.argv[1:]))
