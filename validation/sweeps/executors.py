"""Executors of independent pieces of work: the one place that chooses threads or processes.

Work in compiled kernels that release the interpreter lock, such as a replication of
`validation.simulate`, goes to threads, which share their data. Work in Python, such as a run of a
mesh machine, goes to processes. Either way results come in the order of the tasks, so they do not
depend on the number of workers.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final, TypeVar

from phasefit.checks import instance_of, whole_number
from qmodels.errors import ModelError
from qmodels.process import collect_seldom
from qmodels.progress import Progress, no_progress

#: More of them help on no machine, and what they share does not count so far.
MOST_WORKERS: Final = 1000

Task = TypeVar("Task")
Result = TypeVar("Result")


def worker_count(workers: int | None) -> int:
    """Return the number of workers that is meant.

    Parameters
    ----------
    workers : int or None
        None for one for each core that this process may use.

    Raises
    ------
    ModelError
        If `workers` is neither None nor a whole number from 1 to 1,000.

    Examples
    --------
    >>> worker_count(3), worker_count(None) >= 1
    (3, True)
    """
    if workers is not None:
        if whole_number("workers", workers, least=1) > MOST_WORKERS:
            raise ModelError(f"workers must be at most {MOST_WORKERS:,}, got {workers:,}")
        return int(workers)
    allowed = getattr(os, "sched_getaffinity", None)  # a batch job may have fewer than there are
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def thread_pool(workers: int | None = None) -> ThreadPoolExecutor:
    """Return threads of this process, for compiled work that releases the interpreter lock.

    Parameters
    ----------
    workers : int, optional
        By default one for each core.
    """
    return ThreadPoolExecutor(worker_count(workers))


class LeashedPool(ProcessPoolExecutor):
    """Processes that end when they are let go, and with this process however that ends.

    Every worker holds the reading end of a pipe whose writing end is here alone: it closes when
    this process ends, by whatever signal, or when `let_go` closes it.

    Parameters
    ----------
    workers : int
        Number of processes.
    """

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        _track_in_silence()
        leash, self._held = context.Pipe(duplex=False)
        super().__init__(workers, mp_context=context, initializer=_end_with_the_leash, initargs=(leash,))

    def let_go(self) -> None:
        """End the workers at once, whatever they are doing; what they did not finish is lost."""
        self._held.close()


def _track_in_silence() -> None:
    """Start the process that clears up after this one, so that it says nothing of it.

    A command that is stopped or killed ends at once and leaves the semaphores of its queues to that
    process, which clears them up; its warning of them would come after the command's last word.
    """
    if os.name != "posix":  # elsewhere there is none
        return
    from multiprocessing import resource_tracker

    warnings_before = os.environ.get("PYTHONWARNINGS")
    silent = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{warnings_before},{silent}" if warnings_before else silent
    try:
        resource_tracker.ensure_running()
    finally:
        if warnings_before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = warnings_before


def process_pool(workers: int | None = None) -> LeashedPool:
    """Return processes that begin afresh, for work in Python: a fork would copy the locks of threads.

    Parameters
    ----------
    workers : int, optional
        By default one for each core.
    """
    return LeashedPool(worker_count(workers))


def _end_with_the_leash(leash: Connection) -> None:
    """Let this worker process end when the other end of the pipe closes, and not before."""
    # Ctrl-C reaches the whole group; the parent decides what becomes of its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        leash.poll(None)  # nothing is ever sent: it becomes readable when it closes
        os._exit(1)

    threading.Thread(target=wait, name="leash", daemon=True).start()
    collect_seldom()  # a worker begins with imports too


@contextmanager
def given_or(
    executor: Executor | None, pool: Callable[[int | None], Executor], workers: int | None
) -> Iterator[Executor]:
    """Yield the executor handed in, left open at the end, or else a new pool, shut down then.

    Parameters
    ----------
    executor : concurrent.futures.Executor or None
        Who works; None for a pool.
    pool : callable
        Makes a pool of so many workers.
    workers : int or None
        For the pool; None for one for each core.

    Yields
    ------
    concurrent.futures.Executor
        Who works.

    Raises
    ------
    ModelError
        If `executor` is no `concurrent.futures.Executor`, or see `worker_count`.
    """
    count = worker_count(workers)
    if executor is None:
        with pool(count) as made:
            yield made
    else:
        yield instance_of("executor", executor, Executor, "concurrent.futures.Executor")


def replicated(
    one: Callable[[int], Result],
    replications: int,
    *,
    workers: int | None,
    executor: Executor | None,
    progress: Progress | None,
) -> list[Result]:
    """Call what plays one replication, in compiled code, for each of them.

    Parameters
    ----------
    one : callable
        Of the number of the replication.
    replications : int
        Their number, at least one.
    workers : int or None
        Threads; None for one for each core.
    executor : concurrent.futures.Executor or None
        Who plays them instead.
    progress : callable or None
        Called as ``progress("replications", done, replications)``.

    Returns
    -------
    list
        One result for each replication, in their order.
    """
    report = no_progress if progress is None else progress
    found: list[Result] = []
    with given_or(executor, thread_pool, min(worker_count(workers), replications)) as pool:
        for result in pool.map(one, range(replications)):
            found.append(result)
            report("replications", len(found), replications)
    return found


def parallel_map(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
    what: str = "tasks",
) -> list[Result]:
    """Call `function`, which is Python-bound, on every task.

    Parameters
    ----------
    function : callable
        Defined at the top of an importable module where processes are used; so are the tasks'
        classes.
    tasks : sequence
        Arguments of the calls.
    workers : int, optional
        Processes; 1 works in this one, None takes one for each core. With an `executor` it plays
        no part.
    executor : concurrent.futures.Executor, optional
        Who does the work instead of processes of our own; it is left open.
    progress : callable
        Called as ``progress(what, done, len(tasks))`` when a task is done.
    what : str
        What progress is reported under.

    Returns
    -------
    list
        One result for each task, in their order. It does not depend on the number of workers.

    Raises
    ------
    ModelError
        If `workers` is no number of processes or `executor` no executor, or if worker processes
        were lost twice (killed, as for lack of memory). Errors of `function` are passed on, and
        what has not begun by then is left.

    Notes
    -----
    Where a worker process is lost, what is not done by then is done by one process alone: at a
    loss for lack of memory, two at a time would only be lost again. A second loss is an error.

    Examples
    --------
    >>> parallel_map(abs, [-1, -2])
    [1, 2]
    """
    report = no_progress if progress is None else progress
    useful_workers = min(worker_count(workers), max(len(tasks), 1))
    if executor is None and useful_workers == 1:
        results: list[Result] = []
        for task in tasks:
            results.append(function(task))
            report(what, len(results), len(tasks))
        return results
    by_place: dict[int, Result] = {}

    def work(pool: Executor) -> None:
        futures: dict[Future[Result], int] = {}
        try:
            for place, task in enumerate(tasks):
                if place not in by_place:
                    futures[pool.submit(_with_portable_errors, function, task)] = place
            for future in as_completed(futures):
                by_place[futures[future]] = future.result()
                report(what, len(by_place), len(tasks))
        except BaseException:
            for future in futures:
                future.cancel()
            if executor is None and isinstance(pool, LeashedPool):
                pool.let_go()  # an executor that was handed in is its owner's to end
            raise

    for attempt in (1, 2):
        try:
            with given_or(executor, process_pool, useful_workers) as pool:
                work(pool)
            break
        except BrokenProcessPool:
            if executor is not None or attempt == 2:
                raise ModelError(
                    f"a worker process was lost: killed, perhaps for lack of memory, or never "
                    f'begun, as where a script has no `if __name__ == "__main__":`; {len(by_place)} '
                    f"of {len(tasks)} {what} were done; try with one worker (workers=1, -j 1)"
                ) from None
            useful_workers = 1  # whatever killed it, two at a time may have been too much
    return [by_place[place] for place in range(len(tasks))]


def _with_portable_errors(function: Callable[[Task], Result], task: Task) -> Result:
    """Call, and let no error out that could not be read again in another process."""
    try:
        return function(task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise ModelError(f"{type(error).__name__}: {error}") from None
        raise
