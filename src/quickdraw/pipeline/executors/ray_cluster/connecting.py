"""The connection to a cluster: quiet, without Ray's hands on our signals, and refused in words where there is none."""

from __future__ import annotations

import logging
import math
import os
import secrets
import signal
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from quickdraw.errors import COMMAND_LINE, Fault, Refused
from quickdraw.pipeline.executors.ray_cluster.nodes import Need

ADDRESS = "executor.address"
EXPECTED = "auto, host:port or ray://host:port of a Ray cluster that runs, or local"
CONNECT_S = 10.0
CLIENT_ATTEMPTS = 3
ENVIRONMENT = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of what it will do one day
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "5",  # seconds tasks go on without the process that gave them
}
PATIENCE = {"RAY_NUM_REDIS_GET_RETRIES": "3"}  # not 13 minutes for a cluster that was there once
OBJECTS = 100 << 20  # bytes of memory for results, which are small


@contextmanager
def connected(address: str, need: Need, workers: int | None) -> Iterator[None]:
    """Until the block is left, tasks can be given to the cluster at `address`. Raises Refused where there is none."""
    address = os.environ.get("RAY_ADDRESS") or address if address == "auto" else address
    if address not in ("auto", "local"):
        _refuse_silent(address)
    for name, value in (ENVIRONMENT if address == "local" else ENVIRONMENT | PATIENCE).items():
        os.environ.setdefault(name, value)  # Ray reads it as it is imported
    from ray.exceptions import RayError

    with ExitStack() as stack:
        options = _own_cluster(stack, need, workers) if address == "local" else {}
        try:
            with _own_signals(), warnings.catch_warnings(action="ignore"):
                _connect(address, options)
        except (RayError, OSError, RuntimeError, ValueError) as error:
            raise Refused([_fault(address, _words(error))]) from error
        stack.callback(_leave)
        stack.enter_context(_hushed())
        yield


def _connect(address: str, options: dict[str, Any]) -> None:
    """The server of clients sometimes fails to begin, by a process that ended while it looked at all there are."""
    import ray

    for attempt in range(1, CLIENT_ATTEMPTS + 1):
        try:
            ray.init(address, logging_level=logging.CRITICAL, log_to_driver=False, **options)
            return
        except ConnectionAbortedError:
            if attempt == CLIENT_ATTEMPTS:
                raise


def _own_cluster(stack: ExitStack, need: Need, workers: int | None) -> dict[str, Any]:
    """Options of one that is started here, in a folder of its own, which goes with it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else Ray leaves one at home, for all clusters
    folder = stack.enter_context(
        tempfile.TemporaryDirectory(prefix="quickdraw-", dir="/tmp", ignore_cleanup_errors=True)
    )
    cpus = math.ceil(workers * need.cpus) if workers else len(os.sched_getaffinity(0))
    return {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": OBJECTS, "_temp_dir": folder}


def _refuse_silent(address: str) -> None:
    """Raise Refused where nobody listens at an address: Ray itself would go on knocking for ever, and tell of it."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise Refused([_fault(address, repr(address))])
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:  # the latter two: of a name or a port that is none
        words = getattr(error, "strerror", None) or error
        raise Refused([_fault(address, f"{address}: {words}")]) from error


def _leave() -> None:
    """Ray's complaints of a connection that is lost must not stand in for the error that we leave by."""
    import ray

    with suppress(Exception):
        ray.shutdown()


@contextmanager
def _hushed() -> Iterator[None]:
    """Ray prints on stdout that a worker or a node died, whatever it is told to log: this is its debugger's switch.

    A client is warned on stderr that many tasks are many bytes.
    """
    from ray._private import worker

    worker._worker_logs_enabled = False
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"ray\.")
        yield


@contextmanager
def _own_signals() -> Iterator[None]:
    """What Ctrl-C and SIGTERM do is the same after the block as before it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def _words(error: Exception) -> str:
    """What Ray says, without its advice; of an exception that it had elsewhere, that one's words."""
    lines = [line for line in str(error).strip().splitlines() if line] or [type(error).__name__]
    return lines[-1] if any(line.startswith("Traceback") for line in lines) else lines[0]


def _fault(address: str, found: str) -> Fault:
    return Fault(COMMAND_LINE, ADDRESS, found, EXPECTED)
