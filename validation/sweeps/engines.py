"""Places where a campaign's work is done: this process, processes of this machine, a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from phasefit.checks import instance_of
from qmodels.errors import ModelError
from validation.sweeps.executors import worker_count
from validation.sweeps.pools import MendedPool, dask_pool


@dataclass(frozen=True)
class Engine:
    """An executor, and how much it does at a time."""

    executor: Executor | None  #: None: this process, one task after the other
    workers: Callable[[], int]  #: tasks that it does at a time, now


@contextmanager
def engine(
    *, workers: int | None = None, cluster: Any = None, executor: Executor | None = None
) -> Iterator[Engine]:
    """Open an engine, and close it at the end, at once where the work is broken off.

    Parameters
    ----------
    workers : int, optional
        Processes of this machine; 1 works in this one, None takes one for each core. With another
        executor, how many tasks it does at a time.
    cluster : str or distributed.Client, optional
        Scheduler of a Dask cluster, or a client of the caller's own, left open.
    executor : concurrent.futures.Executor, optional
        Any other, such as that of mpi4py.futures, left open.

    Raises
    ------
    ModelError
        If two of them are given, one is of the wrong kind, or the cluster does not answer.

    Examples
    --------
    >>> with engine(workers=1) as here:
    ...     here.executor is None, here.workers()
    (True, 1)
    """
    if cluster is not None and executor is not None:
        raise ModelError("give either a cluster or an executor, not both")
    if executor is not None:
        instance_of("executor", executor, Executor, "concurrent.futures.Executor")
        count_of_executor = getattr(executor, "_max_workers", None)  # what the executors of Python call it
        count = worker_count(
            workers if workers is not None or count_of_executor is None else count_of_executor
        )
        yield Engine(executor, lambda: count)
    elif cluster is not None:
        pool, threads, close = dask_pool(cluster)
        try:
            yield Engine(pool, threads)
        finally:
            close()
    else:
        with processes(workers) as mended:
            yield Engine(mended, lambda: 1 if mended is None else mended.workers)


@contextmanager
def processes(workers: int | None = None) -> Iterator[MendedPool | None]:
    """Yield processes of this machine, let go at once where the work is broken off.

    Parameters
    ----------
    workers : int, optional
        By default one for each core.

    Yields
    ------
    MendedPool or None
        None for one worker, which is this process.

    Raises
    ------
    ModelError
        See `worker_count`.
    """
    if worker_count(workers) == 1:
        yield None
        return
    pool = MendedPool(workers)
    try:
        yield pool
    except BaseException:
        pool.let_go()
        raise
    pool.shutdown()
