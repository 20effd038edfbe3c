"""What is asked of a worker and what it answers, as bytes that say all: a result, an exception, or why it is unfit."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from typing import Any

import quickdraw
from quickdraw.errors import Fault, Refused
from quickdraw.pipeline.executors.flow import Failed
from quickdraw.pipeline.executors.ray_cluster.nodes import Node, alive, name_of
from quickdraw.pipeline.executors.surroundings import Unfit
from quickdraw.pipeline.executors.telling import Raised, failed, raised

type Answer = tuple[str, bytes | str]  # the node's id, and what came of the task; words where our package is not there


def remote_answer() -> Any:
    """The function Ray runs. It is sent whole, not by name, so that it runs where our package is missing too."""
    import ray

    def answer_or_say_why(sworn: bytes, task: bytes) -> Answer:
        import ray

        node = ray.get_runtime_context().get_node_id()
        try:
            from quickdraw.pipeline.executors.ray_cluster.answers import answer
        except Exception as error:
            return node, f"{type(error).__name__}: {error}"
        return node, answer(sworn, task)

    # Ray would try a task again by itself: without end where memory ran out, and without a word.
    return ray.remote(max_retries=0)(answer_or_say_why)


def answer(sworn: bytes, task: bytes) -> bytes | str:
    """In a worker: what came of a task."""
    try:
        function = _known(sworn)
    except Exception as error:  # what is not as expected so much that the expectation cannot be read
        return f"{type(error).__name__}: {error}"
    try:
        return dumped(function(loaded(task)))
    except Unfit as error:
        return dumped(error)
    except Exception as error:
        return dumped(raised(error))


def read(node: str, reply: bytes | str) -> Any | Failed:
    """The result of a task, or its exception. Raises Unfit where the worker is, which `node` names."""
    found = reply if isinstance(reply, str) else loaded(reply)
    if isinstance(found, Raised):
        found.error.add_note(f"on {_name(node)}")
        return failed(found)
    if isinstance(found, Unfit) or isinstance(reply, str):
        raise Unfit(_told_of(found, _name(node)))
    return found


def faults_of(answer: Future[Answer], node: Node) -> list[Fault]:
    """What is wrong with a node that was asked no more than that; nothing where it died meanwhile."""
    if not answer.done():
        return [_missing(name_of(node), "no answer")]
    try:
        _, reply = answer.result()
    except Exception as error:
        return [_missing(name_of(node), str(error))] if node["NodeID"] in {node["NodeID"] for node in alive()} else []
    found = reply if isinstance(reply, str) else loaded(reply)
    return _told_of(found, name_of(node)) if isinstance(found, str | Unfit) else []


def dumped(what: object) -> bytes:
    """As bytes, whatever it is: also what a script defines, which has no name elsewhere."""
    from ray import cloudpickle

    return bytes(cloudpickle.dumps(what))  # type: ignore[no-untyped-call]  # Ray does not tell its type


def loaded(what: bytes) -> Any:
    """The other way."""
    from ray import cloudpickle

    return cloudpickle.loads(what)


@lru_cache(maxsize=16)
def _known(sworn: bytes) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = loaded(sworn)
    return function


def _told_of(found: Refused | str, where: str) -> list[Fault]:
    if isinstance(found, str):
        return [_missing(where, found)]
    return [replace(fault, where=where) for fault in found.faults]


def _missing(where: str, found: str) -> Fault:
    return Fault(where, "quickdraw", found, f"{quickdraw.__version__}, as where the command was started")


def _name(node_id: str) -> str:
    return next((name_of(node) for node in alive() if node["NodeID"] == node_id), "a node that is gone")
