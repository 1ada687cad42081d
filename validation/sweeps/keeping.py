"""An executor that remembers: what it has done once, in this run or an earlier one, is not redone.

Whoever hands work to a `concurrent.futures.Executor` can so go on where an earlier run was broken
off, and need not know of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from qmodels.process import kept
from validation.sweeps.engines import processes
from validation.sweeps.executors import worker_count
from validation.sweeps.journal import ALONE, Campaign, Journal, Kept
from validation.sweeps.plain import PlainDataError, digest, from_text, to_text
from validation.sweeps.pools import MendedPool, called_off
from validation.sweeps.version import code_version


class KeepingExecutor(Executor):
    """Gives work to another executor, unless a journal holds the result of the very same call.

    Two calls are the same if their functions have one name and their arguments one canonical text
    (see `validation.sweeps.plain`). A call whose arguments or result have no text is done, and not
    kept.

    Parameters
    ----------
    inner : callable
        Makes the executor that works, when there is the first thing to do.
    journal : Journal
        Where results are kept.
    """

    def __init__(self, inner: Callable[[], Executor], journal: Journal) -> None:
        self._make, self._journal = inner, journal
        self._guard = threading.Lock()
        self._inner: Executor | None = None
        self._same: tuple[Any, Any] = (None, None)
        self.cpu_seconds = 0.0  #: of all results given, those remembered included
        self.new_seconds = 0.0  #: of those that were not

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function, or remember; see `concurrent.futures.Executor.submit`."""
        key: str | None
        try:
            key = digest([self._journal.key_version, self._function_in_key(function), args, kwargs])
        except PlainDataError:
            key = None  # done and timed like all else, and done again by the next run
        outer: Future[Any] = Future()
        remembered = None if key is None else self._journal.remembered(key)
        if remembered is not None:
            self.cpu_seconds += remembered.seconds
            outer.set_result(from_text(remembered.value))
            return outer
        inner = self._worker().submit(_call_and_write, function, args, kwargs)
        outer.add_done_callback(lambda done: done.cancelled() and inner.cancel())
        inner.add_done_callback(partial(self._receive, key, outer))
        return outer

    def _function_in_key(self, function: Any) -> Any:
        """The function as it goes into the key; a partial call's, made once for many calls."""
        if isinstance(function, partial):
            last, text = self._same
            if last is not function:
                text = digest(function)
                self._same = (function, text)
            return text
        return function

    def _worker(self) -> Executor:
        with self._guard:
            if self._inner is None:
                self._inner = self._make()
            return self._inner

    def _receive(self, key: str | None, outer: Future[Any], inner: Future[_Result]) -> None:
        with suppress(InvalidStateError):  # cancelled meanwhile
            if inner.cancelled():
                called_off(outer)
                return
            error = inner.exception()
            if error is None:
                result = inner.result()
                try:
                    with self._guard:
                        self.cpu_seconds += result.seconds
                        self.new_seconds += result.seconds
                    if result.text is not None:
                        if key is not None:
                            self._journal.add([Kept(key, result.text, result.seconds)])
                        outer.set_result(from_text(result.text))
                    else:
                        outer.set_result(result.value)
                    return
                except InvalidStateError:
                    return
                except Exception as fault:  # such as a full disk; told to who waits
                    error = fault
            outer.set_exception(error)

    @property
    def in_process(self) -> bool:
        """True if threads of this process do the work."""
        return isinstance(self._inner, ThreadPoolExecutor)

    def let_go(self) -> None:
        """Stop what is being done."""
        if self._inner is not None:
            _let_go(self._inner)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; see `concurrent.futures.Executor.shutdown`."""
        if self._inner is not None:
            self._inner.shutdown(wait, cancel_futures=cancel_futures)


def _let_go(executor: Executor) -> None:
    """Break off what an executor is doing."""
    if isinstance(executor, MendedPool):
        executor.let_go()
    else:
        executor.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Result:
    text: str | None
    value: Any  #: where it has no text
    seconds: float


def _call_and_write(function: Callable[..., Any], args: Any, kwargs: Any) -> _Result:
    """Call, in a worker, and write the result down there."""
    began = time.thread_time()
    value = function(*args, **kwargs)
    seconds = time.thread_time() - began
    try:
        return _Result(to_text(value), None, seconds)
    except PlainDataError:
        return _Result(None, value, seconds)


@dataclass(frozen=True)
class Keepers:
    """Executors over one journal; where nothing is kept, processes that begin once, or None."""

    threads: Executor | None = None  #: for compiled work
    processes: Executor | None = None  #: for work in Python
    before: int = 0  #: finished runs of this campaign in the journal when it was opened
    others: tuple[tuple[int, str], ...] = ()  #: those of others, and how these are gone on with

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all that was done by them, in earlier runs too, less that of this process."""
        both = (self.threads, self.processes)
        keeping = [each for each in both if isinstance(each, KeepingExecutor)]
        total = sum(each.cpu_seconds for each in keeping)
        return total - sum(each.new_seconds for each in keeping if each.in_process)


@contextmanager
def keepers(
    file: Path | None,
    *modules: str,
    campaign: Campaign = ALONE,
    workers: int | None = None,
    reuse: bool = False,
    keep: bool = False,
    command: str = "",
    begin: str | None = None,
) -> Iterator[Keepers]:
    """Keep what is done within the block in a journal, until the block ends well.

    Parameters
    ----------
    file : Path, optional
        Of the journal; None keeps nothing.
    *modules : str
        Those whose source the results hang on.
    campaign : Campaign
        What is worked on; the journal holds others beside it, and keeps what is theirs.
    workers : int, optional
        Threads and processes; by default one for each core.
    reuse : bool
        Accept results of another version of the code.
    keep : bool
        Leave the journal at the end.
    command : str
        How to go on; kept in the journal.
    begin : str, optional
        A module that one process is to import at once, while this one still prepares its work.

    Raises
    ------
    ModelError
        If the journal belongs to another process or version or cannot be written.
    """
    if file is None:
        with processes(workers) as pool:
            yield Keepers(processes=pool)
        return
    count = worker_count(workers)
    # One process is this one: starting another would only cost its imports.
    # Neither has a worker before there is work.
    doers = MendedPool(count) if count > 1 else ThreadPoolExecutor(1)
    if begin is not None and isinstance(doers, MendedPool):
        doers.begin(1, begin)
    try:
        journal = Journal(
            file, version=code_version(*modules), campaign=campaign, reuse=reuse, command=command
        )
        before, others = journal.count(), tuple(journal.others())
    except BaseException:
        _let_go(doers)
        raise
    both = (
        KeepingExecutor(lambda: ThreadPoolExecutor(count), journal),
        KeepingExecutor(lambda: doers, journal),
    )
    try:
        with kept(journal.finished):
            yield Keepers(*both, before, others)
    except BaseException:
        for each in both:
            each.let_go()
        _let_go(doers)  # begun, perhaps, and not asked for anything
        journal.close(unless_empty=not keep)
        raise
    for each in both:
        each.shutdown()
    doers.shutdown()
    journal.close(ended=not keep)


def journal_beside(output: Path) -> Path:
    """Return where the journal of a folder of results lies until they are there.

    Parameters
    ----------
    output : Path
        The folder.
    """
    target = output.resolve()
    return target.with_name(f"{target.name}.journal")
