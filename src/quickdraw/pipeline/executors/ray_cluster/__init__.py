"""Tasks on a cluster that Ray runs.

Ray starts the workers and says when one died; what a death means is decided here, and so is how many tasks Ray has at
a time. Tasks and answers travel as bytes that are made and read here, so that an exception arrives as it was raised,
whatever it is, and a node that cannot so much as import this package can still say so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from quickdraw.errors import Refused, WorkerDied
from quickdraw.pipeline.amounts import counted
from quickdraw.pipeline.executors.flow import Failed, flow
from quickdraw.pipeline.executors.ray_cluster.answers import Answer, dumped, faults_of, read, remote_answer
from quickdraw.pipeline.executors.ray_cluster.connecting import connected
from quickdraw.pipeline.executors.ray_cluster.nodes import Need, alive, no_room
from quickdraw.pipeline.executors.surroundings import Sworn, surroundings
from quickdraw.pipeline.executors.telling import named
from quickdraw.pipeline.interrupts import interrupts_deferred

AHEAD = 2  # tasks under way for each that can run, so that no worker waits for the next and none piles up
LOOK_S = 3.0  # nodes join and die: they are counted again after so long
PROBE_S = 120.0  # a node that starts no worker within it is told
STOP_S = 30.0
PAUSE_S, GROWTH, LONGEST_S = 1.0, 5, 60.0  # after each death of a task's worker: memory is short for a while
DESERTED_S = 600.0  # without a node for tasks, time in which one may join


@contextmanager
def ray_cluster(
    *, address: str, task_cpus: float, task_memory_mb: int | None, retries: int, workers: int | None
) -> Iterator[RayCluster]:
    """The cluster at `address`, until the block is left; by an exception, what runs there of ours is stopped at once.

    `address` is `auto`, `host:port`, `ray://host:port`, or `local` for one of this machine that lives as long as the
    block. `workers` limits how many tasks are under way. A task is given up when its worker died 1 + `retries` times.
    Raises Refused where there is no such cluster, or no node in it for such a task. That nodes are as this process is
    asked with the first place they must see, and by each worker before its first task.
    """
    need = Need(task_cpus, (task_memory_mb or 0) << 20)
    with connected(address, need, workers):
        if not any(map(need.fits, alive())):
            raise Refused([no_room(need)])
        executor = RayCluster(need, retries, workers)
        try:
            yield executor
        except BaseException:
            executor.stop()
            raise


@dataclass(slots=True)
class RayCluster:
    """An executor on the cluster this process is connected to."""

    need: Need
    retries: int
    limit: int | None
    remote: Any = field(default_factory=remote_answer)
    places: list[str] = field(default_factory=list)
    running: dict[Future[Any], Any] = field(default_factory=dict)

    @property
    def workers(self) -> int:
        """How many tasks run at once, with the nodes there are now."""
        slots = sum(map(self.need.fits, alive()))
        return min(slots, self.limit or slots)

    def run[T, R](
        self, function: Callable[[T], R], tasks: Iterable[T], then: Callable[[R], Iterable[T]] | None = None
    ) -> Iterator[R]:
        """As `Executor.run` promises. Raises Refused where a node that joined later is unfit."""
        return flow(_Lane[T, R](self, function), tasks, then)

    def refuse_unseen(self, place: Path) -> None:
        """Ask all nodes at once whether they are as this process, and see a file or folder as it does.

        Raises Refused with all that differs. A node that joins later checks itself.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.places.append(str(place.absolute()))
        question, answers = self.sworn(_nothing), {}
        for node in filter(self.need.fits, alive()):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            remote = self.remote.options(num_cpus=0, scheduling_strategy=there)
            answers[self.start(remote, question, dumped(None))] = node
        wait(answers, timeout=PROBE_S)
        faults = [fault for answer, node in answers.items() for fault in faults_of(answer, node)]
        for answer in answers:
            self.running.pop(answer, None)
        if faults:
            raise Refused(faults)

    def sworn[T, R](self, function: Callable[[T], R]) -> Any:
        """A function as it is sent, once, with all that its workers must have in common with this process."""
        import ray

        return ray.put(dumped(Sworn(function, surroundings(self.places))))

    def start(self, remote: Any, sworn: Any, task: bytes) -> Future[Answer]:
        """Hand Ray a task for `remote`, the function that answers with options."""
        with interrupts_deferred():  # none may run that `stop` does not know of
            reference = remote.remote(sworn, task)
            future: Future[Answer] = reference.future()
            self.running[future] = reference
        return future

    def stop(self) -> None:
        """End what is running, wherever it does."""
        import ray

        for reference in self.running.values():
            with suppress(Exception):  # of a connection that is lost: Ray ends what it has of a driver that is gone
                ray.cancel(reference, force=True)
        wait(self.running, timeout=STOP_S)
        self.running.clear()


@dataclass(frozen=True, slots=True, eq=False)
class Attempt[T]:
    """A task under way, or that rests until a time since its worker died, and how often one did before."""

    task: T
    deaths: int = 0
    due_s: float = 0

    def again(self) -> Attempt[T]:
        """The next, after a pause."""
        pause_s = min(PAUSE_S * GROWTH**self.deaths, LONGEST_S)
        return Attempt(self.task, self.deaths + 1, time.monotonic() + pause_s)


class _Lane[T, R]:
    """A stage's tasks on the cluster."""

    def __init__(self, cluster: RayCluster, function: Callable[[T], R]) -> None:
        self.cluster = cluster
        self.sworn = cluster.sworn(function)
        self.remote = cluster.remote.options(num_cpus=cluster.need.cpus, memory=cluster.need.memory or None)
        self.done: SimpleQueue[Future[Answer]] = SimpleQueue()
        self.attempts: dict[Future[Answer], Attempt[T]] = {}
        self.resting: list[Attempt[T]] = []
        self.slots, self.looked, self.peopled = 1, -LOOK_S, time.monotonic()

    def has_room(self, running: int) -> bool:
        ahead = max(1, AHEAD * self._slots())  # one also waits for a node to join
        return running - len(self.resting) < min(self.cluster.limit or ahead, ahead)

    def begin(self, task: T) -> None:
        self._begin(Attempt(task))

    def ended(self) -> list[R | Failed]:
        outcomes = [outcome for future in self._arrived() for outcome in self._outcome(future)]
        for attempt in [attempt for attempt in self.resting if attempt.due_s <= time.monotonic()]:
            if self.has_room(len(self.attempts) + len(self.resting)):
                self.resting.remove(attempt)
                self._begin(attempt)
        return outcomes

    def _begin(self, attempt: Attempt[T]) -> None:
        future = self.cluster.start(self.remote, self.sworn, dumped(attempt.task))
        self.attempts[future] = attempt
        future.add_done_callback(self.done.put)

    def _arrived(self) -> Iterator[Future[Answer]]:
        """All that is done; waits a while until something is, or has rested."""
        now_s = time.monotonic()
        rests_s = [attempt.due_s - now_s for attempt in self.resting if attempt.due_s > now_s]
        with suppress(Empty):
            yield self.done.get(timeout=min([LOOK_S, *rests_s]))
            while True:
                yield self.done.get_nowait()

    def _outcome(self, future: Future[Answer]) -> Iterator[R | Failed]:
        """What came of a task; nothing where its worker died and it is begun again later."""
        from ray.exceptions import RayError, RayTaskError

        del self.cluster.running[future]
        attempt = self.attempts.pop(future)
        try:
            node, reply = future.result()
        except RayTaskError as error:
            yield Failed(error.cause)
        except RayError as error:
            if attempt.deaths < self.cluster.retries:
                self.resting.append(attempt.again())
            else:
                yield Failed(_died(attempt, error))
        else:
            yield read(node, reply)

    def _slots(self) -> int:
        """How many tasks the nodes there are run at once. Raises WorkerDied where there was none for long."""
        if time.monotonic() - self.looked >= LOOK_S:
            self.slots, self.looked = sum(map(self.cluster.need.fits, alive())), time.monotonic()
            if self.slots:
                self.peopled = self.looked
            elif self.looked - self.peopled > DESERTED_S:
                raise WorkerDied(f"no node for a task of {self.cluster.need} was there for {DESERTED_S:.0f} s")
        return self.slots


def _died(last: Attempt[Any], error: Exception) -> WorkerDied:
    told, deaths = str(error).strip().partition("\n")[0], counted(last.deaths + 1, "time")
    return WorkerDied(f"{named(last.task)}: its worker died {deaths}; was it killed, or out of memory? Ray: {told}")


def _nothing(_: None) -> None:
    """The task of a worker that is only asked what it is."""
