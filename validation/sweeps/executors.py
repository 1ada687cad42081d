"""Independent pieces of work spread over processes, their results in order."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from phasefit.checks import whole_number
from qmodels.errors import ModelError

Task = TypeVar("Task")
Result = TypeVar("Result")


def parallel_map(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    workers: int | None = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Call `function` on every task.

    Parameters
    ----------
    function : callable
        Defined at the top of an importable module where `workers` > 1; so are the tasks' classes.
    tasks : sequence
    workers : int, optional
        Processes; 1 works in this one, None takes one for each core.
    progress : callable
        Called as ``progress(done, tasks)`` when a task is done.

    Returns
    -------
    list
        One result for each task, in their order. It does not depend on the number of workers.

    Raises
    ------
    ModelError
        If `workers` is no number of processes. Errors of `function` are passed on, and what has
        not begun by then is left.

    Examples
    --------
    >>> parallel_map(abs, [-1, -2])
    [1, 2]
    """
    limit = os.cpu_count() or 1 if workers is None else whole_number("workers", workers, least=1)
    limit = min(limit, len(tasks))
    results: list[Result] = []
    if limit <= 1:
        for task in tasks:
            results.append(function(task))
            if progress is not None:
                progress(len(results), len(tasks))
        return results
    # Processes that begin afresh: a fork would copy the threads' locks of this one.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(limit, mp_context=context) as pool:
        futures = [pool.submit(_sendable, function, task) for task in tasks]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                if progress is not None:
                    progress(done, len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _sendable(function: Callable[[Task], Result], task: Task) -> Result:
    """Call, and let no error out that could not be read again at the other end."""
    try:
        return function(task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise ModelError(f"{type(error).__name__}: {error}") from None
        raise
