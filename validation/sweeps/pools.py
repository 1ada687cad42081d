"""Pools that a campaign works with: processes that are replaced when they are lost, and Dask."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from importlib import import_module
from typing import Any, Final

from qmodels.errors import ModelError
from validation.sweeps.executors import LeashedPool, worker_count

#: How often a task is tried whose worker is lost: among others, and the last time alone.
TRIES: Final = 3


class WorkerLostError(ModelError):
    """A task whose worker was lost each time that it was tried."""


def called_off(future: Future[Any]) -> None:
    """Cancel a future that this module made, and wake who waits for it.

    `Future.cancel` alone leaves `concurrent.futures.as_completed` waiting for ever.

    Parameters
    ----------
    future : concurrent.futures.Future
        The future.
    """
    if future.cancel():
        future.set_running_or_notify_cancel()


class MendedPool(Executor):
    """Processes of this machine; what ran in one that is lost runs again in another.

    A task is tried three times, the third time by a process with nothing else to do, so that no
    task is blamed for what another did to the workers. After that its future raises
    `WorkerLostError`.

    Parameters
    ----------
    workers : int, optional
        Processes; by default one for each core that may be used.

    Examples
    --------
    >>> with MendedPool(1) as pool:
    ...     pool.submit(abs, -3).result()
    3
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = worker_count(workers)
        self._guard = threading.RLock()
        self._pool: LeashedPool | None = None
        self._alone: list[LeashedPool] = []
        self._closed = False

    def begin(self, workers: int, module: str) -> None:
        """Start workers, and have them import a module before work comes.

        Parameters
        ----------
        workers : int
            How many; at most all are started.
        module : str
            Name of the module.
        """
        for _ in range(min(workers, self.workers)):
            self.submit(_import, module)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a worker; see `concurrent.futures.Executor.submit`."""
        with self._guard:
            if self._closed:
                raise RuntimeError("this pool is shut down")
        outer: Future[Any] = Future()
        self._try(outer, lambda pool: pool.submit(function, *args, **kwargs), 1)
        return outer

    def _try(self, outer: Future[Any], start: Callable[[Executor], Future[Any]], attempt: int) -> None:
        with self._guard:
            if self._closed:
                called_off(outer)
                return
            if attempt < TRIES:
                self._pool = pool = self._pool or LeashedPool(self.workers)
            else:
                pool = LeashedPool(1)
                self._alone.append(pool)
            try:
                inner = start(pool)
            except BrokenExecutor:  # broken, and not heard of yet
                self._pool = pool = LeashedPool(self.workers)
                inner = start(pool)

        def done(inner: Future[Any]) -> None:
            if attempt == TRIES:
                with self._guard:
                    self._alone.remove(pool)
                pool.shutdown(wait=False)
            if inner.cancelled():
                called_off(outer)
                return
            error = inner.exception()
            if not isinstance(error, BrokenExecutor):
                if error is not None:
                    outer.set_exception(error)
                else:
                    outer.set_result(inner.result())
                return
            with self._guard:
                if self._pool is pool:
                    self._pool = None
            if attempt < TRIES:
                self._try(outer, start, attempt + 1)
                return
            outer.set_exception(
                WorkerLostError(
                    f"its worker process was lost {TRIES} times: killed, perhaps for lack of "
                    f'memory, or never begun, as where a script has no `if __name__ == "__main__":`'
                )
            )

        inner.add_done_callback(done)

    def let_go(self) -> None:
        """End the workers at once, whatever they are doing."""
        with self._guard:
            self._closed = True
            for pool in (*([self._pool] if self._pool else []), *self._alone):
                pool.let_go()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; see `concurrent.futures.Executor.shutdown`."""
        with self._guard:
            self._closed = True
            pools = [*([self._pool] if self._pool else []), *self._alone]
        for pool in pools:
            pool.shutdown(wait, cancel_futures=cancel_futures)


def _import(module: str) -> None:
    import_module(module)


def dask_pool(address: Any) -> tuple[Executor, Callable[[], int], Callable[[], None]]:
    """Return the workers of a Dask cluster as an executor.

    Parameters
    ----------
    address : str or distributed.Client
        A scheduler, such as "tcp://node17:8786", or the name of its scheduler file (``.json``); or
        a client of the caller's own, which is left open.

    Returns
    -------
    executor : concurrent.futures.Executor
        Who works.
    workers : callable
        Returns how many tasks run at a time, now.
    close : callable
        Closes what was opened here.

    Raises
    ------
    ModelError
        If dask.distributed is not installed, or nobody answers at the address.
    """
    try:
        import distributed
    except ImportError:
        raise ModelError(
            "a cluster needs dask.distributed; install the extra: pip install '.[distributed]'"
        ) from None
    opened_here = isinstance(address, str)
    client = address
    if opened_here:
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        try:
            client = distributed.Client(**where, timeout=20, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ModelError(f"no Dask scheduler answers at {address}: {error}") from None
    # A worker that dies takes its running tasks with it; the scheduler gives them to others.
    executor: Executor = client.get_executor(pure=False)

    def threads() -> int:
        try:
            return max(int(sum(client.nthreads().values())), 1)
        except Exception:  # a scheduler that has gone is noticed where results are waited for
            return 1

    def close() -> None:
        if opened_here:
            client.close(timeout=2)

    return executor, threads, close
