"""How a process is made fit to do many things, one after another, beside others that do the same."""

from __future__ import annotations

import ctypes
import os
import platform

import cv2

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
LARGE = 1 << 20  # bytes; a picture as it is decoded is smaller


def make_ready() -> None:
    """In a worker, first: it runs one thread, for workers are what runs in parallel, and gives back what it freed.

    OpenCV's own threads would mostly wait for each other on pictures of this size, and burn CPU while they do.
    """
    cv2.setNumThreads(1)
    give_back_freed_memory()


def give_back_freed_memory() -> None:
    """What is freed goes back to the system, in this process.

    Of Arrow's memory only where that is not imported yet, which it is not in processes started later.

    glibc raises what it takes for large, up to 32 MB, with the first such block that is freed, and from then on keeps
    those in its heap, between smaller ones that stay; Arrow has a pool of its own that does as much. Checking 10,000
    episodes in one process took 441 MB so, and takes 317 MB. Other C libraries are left as they are.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)
