"""Who runs independent pieces of work: the one place that chooses threads or processes.

Work in compiled kernels that release the interpreter lock, such as a replication of
`validation.simulate`, goes to threads, which share their data. Work in Python, such as a run of a
mesh machine, goes to processes. Either way results come in the order of the tasks, so they do not
depend on the number of workers.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from qmodels.progress import Progress, no_progress

Task = TypeVar("Task")
Result = TypeVar("Result")


def worker_count(workers: int | None) -> int:
    """How many workers are meant: `workers`, or one for each core if it is None.

    Raises
    ------
    ModelError
        If `workers` is neither None nor a whole number >= 1.

    Examples
    --------
    >>> worker_count(3), worker_count(None) >= 1
    (3, True)
    """
    return os.cpu_count() or 1 if workers is None else whole_number("workers", workers, least=1)


def thread_pool(workers: int | None = None) -> ThreadPoolExecutor:
    """Threads of this process, for compiled work that releases the interpreter lock."""
    return ThreadPoolExecutor(worker_count(workers))


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """Processes that begin afresh, for work in Python: a fork would copy the locks of threads."""
    return ProcessPoolExecutor(
        worker_count(workers), mp_context=multiprocessing.get_context("spawn")
    )


@contextmanager
def given_or(
    executor: Executor | None, pool: Callable[[int | None], Executor], workers: int | None
) -> Iterator[Executor]:
    """The executor handed in, left open at the end, or else a pool of our own, shut down then.

    Raises
    ------
    ModelError
        If `executor` is no `concurrent.futures.Executor`, or see `worker_count`.
    """
    count = worker_count(workers)
    if executor is None:
        with pool(count) as own:
            yield own
    elif isinstance(executor, Executor):
        yield executor
    else:
        raise ModelError(f"executor must be a concurrent.futures.Executor, got {executor!r:.60}")


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
        If `workers` is no number of processes or `executor` no executor. Errors of `function` are
        passed on, and what has not begun by then is left.

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
    with given_or(executor, process_pool, useful_workers) as pool:
        futures = [pool.submit(_with_portable_errors, function, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                report(what, done, len(tasks))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]


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
