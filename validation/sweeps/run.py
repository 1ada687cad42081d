"""A sweep carried out: tasks to workers in pieces of a second, results into the journal."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Final, Protocol

from qmodels.errors import ConvergenceError, ModelError
from qmodels.progress import Progress, no_progress
from validation.sweeps.journal import Journal, Kept
from validation.sweeps.plain import to_text
from validation.sweeps.pools import WorkerLostError

#: Seconds of work that a worker is given at a time, and those after which it hands back what it
#: has not begun.
CHUNK, LONGEST_CHUNK = 1.0, 2.0
#: Tasks of the first pieces, of which nothing is measured yet; who is too slow hands back.
_FIRST_PIECE: Final = 32
#: Seconds between two looks at the journal and the progress, when one process does all.
_LOOK: Final = 0.25


@dataclass(frozen=True)
class Task:
    """One call of ``function(point, replication)``, whose result is kept under a key."""

    key: str  #: under which the result is kept
    function: Callable[[Any, int], Any]  #: at the top of a module
    point: Any  #: first argument
    replication: int  #: second argument
    priority: float = float("inf")  #: the largest is done first, of equals the one named first


#: A task in line: what it is ordered by, and the task.
_Entry = tuple[float, int, Task]


class Source(Protocol):
    """Source of tasks that is handed their results: a table of points."""

    def first(self) -> Iterator[Task]:
        """Tasks to begin with."""

    def after(self, task: Task, value: str) -> Sequence[Task]:
        """Tasks that a result asks for."""

    def total(self) -> int:
        """How many tasks there are, as far as is known."""


@dataclass(frozen=True)
class _Done:
    key: str
    value: str | None  #: None where it failed
    error: str
    seconds: float  #: CPU time
    wall: float


def work_on(tasks: Sequence[Task], most: float = LONGEST_CHUNK) -> list[_Done]:
    """Work on tasks one after the other, in a worker; those not begun in time are left.

    Parameters
    ----------
    tasks : sequence of Task
        To be done, in this order.
    most : float
        Seconds after which no task is begun.

    Returns
    -------
    list
        One entry for each task that was begun, at least one.
    """
    end = time.monotonic() + most
    done = []
    for task in tasks:
        began, started, value, error = time.process_time(), time.monotonic(), None, ""
        try:
            value = to_text(task.function(task.point, task.replication))
        except MemoryError:
            raise
        except (ModelError, ConvergenceError) as fault:
            error = str(fault)
        except Exception as fault:  # told with its name: it is a fault of ours or of a user's class
            error = f"{type(fault).__name__}: {fault}"
        now = time.monotonic()
        done.append(_Done(task.key, value, error, time.process_time() - began, now - started))
        if now > end:
            break
    return done


def run_tasks(
    source: Source,
    journal: Journal,
    *,
    executor: Executor | None = None,
    workers: Callable[[], int] = lambda: 1,
    progress: Progress | None = None,
    what: str = "runs",
    budget: float | None = None,
) -> bool:
    """Work on what is not in the journal yet.

    Parameters
    ----------
    source : Source
        Has the tasks, and takes the results.
    journal : Journal
        Every result is committed to it before it is counted as done.
    executor : concurrent.futures.Executor, optional
        Who works; by default this process alone. It is left open.
    workers : callable
        How many tasks the executor does at a time, now.
    progress : callable
        Called as ``progress(what, done, total)``.
    what : str
        Name that progress is reported under.
    budget : float, optional
        Seconds after which nothing new is begun.

    Returns
    -------
    bool
        Whether all was done; False if the budget was spent or tasks failed. Those are in the
        journal, and are tried again next time.

    Raises
    ------
    ModelError
        If the journal cannot be written, or the executor is lost as a whole.
    """
    return _Coordinator(source, journal, progress or no_progress, what, budget).run(executor, workers)


class _Coordinator:
    """Hands out the tasks of one run and collects their results."""

    def __init__(
        self, source: Source, journal: Journal, progress: Progress, what: str, budget: float | None
    ) -> None:
        self.source, self.journal, self.progress, self.what = source, journal, progress, what
        self.end = None if budget is None else time.monotonic() + budget
        self.known = journal.known_keys()
        self.coming: Iterator[Task] = iter(())  # tasks to begin with that are not lined up yet
        self.waiting: list[_Entry] = []  # a heap
        self.halves: list[Sequence[_Entry]] = []  # of pieces that cost a worker its life
        self.running: dict[Future[list[_Done]], Sequence[_Entry]] = {}
        self.entered = self.done = self.failed = 0
        self.mean = 0.0  # seconds of a task, by the wall, as last measured
        self.told = 0.0

    def run(self, executor: Executor | None, workers: Callable[[], int]) -> bool:
        self.coming = self.source.first()
        if self.known:  # what is done counts from the first; else nothing can be, and work begins
            self._line_up(None)
        self._report_progress(always=True)
        try:
            if executor is None:
                self._run_here()
            else:
                self._run_elsewhere(executor, workers)
        finally:
            for future in self.running:
                future.cancel()
            self.journal.commit()
        self._report_progress(always=True)
        return not self._has_more() and not self.failed

    def _line_up(self, count: int | None) -> None:
        """Line up so many more of the tasks to begin with, or all.

        Workers compute meanwhile: to lay out the keys of 20,000 points takes a third of a second.
        """
        for task in itertools.islice(self.coming, count):
            self._enter(task)

    def _has_more(self) -> bool:
        """Return whether there is a task to hand out."""
        if not self.waiting:
            self._line_up(1)
        return bool(self.halves or self.waiting)

    def _enter(self, first: Task) -> None:
        """Line a task up, or where its result is known, what that asks for."""
        todo = [first]
        while todo:
            task = todo.pop()
            if task.key not in self.known:
                self.entered += 1
                heapq.heappush(self.waiting, (-task.priority, self.entered, task))
                continue
            self.done += 1
            value = self.journal.known(task.key)
            assert value is not None
            todo += self.source.after(task, value)

    def _is_late(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end

    def _run_here(self) -> None:
        while self._has_more() and not self._is_late():
            piece = self._next_piece(1)
            self._take(piece, work_on([task for *_, task in piece], _LOOK))

    def _run_elsewhere(self, executor: Executor, workers: Callable[[], int]) -> None:
        while (self._has_more() and not self._is_late()) or self.running:
            count = workers()
            # Two pieces for each worker: one that it works on, one that it finds when it is done.
            while self._has_more() and len(self.running) < 2 * count and not self._is_late():
                piece = self._next_piece(count)
                self.running[executor.submit(work_on, [task for *_, task in piece])] = piece
            ended, _ = wait(self.running, timeout=5.0, return_when=FIRST_COMPLETED)
            for future in ended:
                self._receive(future, self.running.pop(future))
            self._report_progress()

    def _next_piece(self, count: int) -> Sequence[_Entry]:
        """The next tasks that make a piece: a second's worth, fewer towards the end."""
        if self.halves:
            return self.halves.pop()
        under_way = self.done + self.failed + sum(map(len, self.running.values()))
        fair = max(self.source.total() - under_way, len(self.waiting)) // (2 * count)
        wanted = int(CHUNK / self.mean) if self.mean > 0.0 else _FIRST_PIECE
        size = max(1, min(wanted, fair, 10_000))
        # As many as are taken: so no task that a result asked for goes before one to begin with.
        self._line_up(size)
        return [heapq.heappop(self.waiting) for _ in range(min(size, len(self.waiting)))]

    def _put_back(self, entries: Sequence[_Entry]) -> None:
        for entry in entries:
            heapq.heappush(self.waiting, entry)

    def _receive(self, future: Future[list[_Done]], piece: Sequence[_Entry]) -> None:
        try:
            done = future.result()
        except (CancelledError, Exception) as error:
            # KilledWorker is Dask's, after tries of its own
            if isinstance(error, (WorkerLostError, MemoryError)) or type(error).__name__ == "KilledWorker":
                self._handle_lost_piece(piece, error)
            else:
                self._give_up(error)
        else:
            self._take(piece, done)

    def _handle_lost_piece(self, piece: Sequence[_Entry], error: BaseException) -> None:
        """A piece of work cost its worker its life: one of its tasks does, the others may not."""
        if len(piece) > 1:
            middle = len(piece) // 2
            self.halves += [piece[:middle], piece[middle:]]
            return
        key = piece[0][2].key
        self.journal.fail(key, str(error) or "out of memory")
        self.failed += 1

    def _give_up(self, error: BaseException) -> None:
        raise ModelError(
            f"the workers were lost as a whole ({type(error).__name__}: {str(error)[:200]}); "
            f"{self.journal.count():,} results are kept in {self.journal.file}. Give the same "
            f"command again to go on"
        ) from None

    def _take(self, piece: Sequence[_Entry], done: Sequence[_Done]) -> None:
        """Keep what was done and line up what it asks for, and what was not begun."""
        self._put_back(piece[len(done) :])
        self.journal.add(Kept(each.key, each.value, each.seconds) for each in done if each.value is not None)
        spent = sum(each.wall for each in done) / len(done)
        # The first tasks of a worker load what they need and tell little of the next ones.
        trusted = 0.3 if spent > self.mean / 2 and self.mean else 1.0
        self.mean = max((1.0 - trusted) * self.mean + trusted * spent, 1e-6)
        for (*_, task), each in zip(piece, done, strict=False):
            if each.value is None:
                self.journal.fail(each.key, each.error)
                self.failed += 1
                continue
            self.done += 1
            for asked in self.source.after(task, each.value):
                self._enter(asked)
        self._report_progress()

    def _report_progress(self, *, always: bool = False) -> None:
        now = time.monotonic()
        if always or now - self.told >= 0.1:
            self.told = now
            self.progress(self.what, self.done, max(self.source.total(), self.done))
