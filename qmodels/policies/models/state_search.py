"""States of the running jobs found by trying all that may happen, from none running on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np

from qmodels.networks.occupancy import Centre, Entries
from qmodels.policies.models.policy_queue import Behind, OnPartitions, RunningChain

S = TypeVar("S", bound=Hashable)


def explored(
    empty: S,
    max_running: int,
    moves: Callable[[S, int], Iterable[tuple[int, S, float]]],
    busy: Callable[[S, int], tuple[float, float]],
    partitions: Callable[[list[S]], OnPartitions] | None = None,
    behind: Callable[[list[S]], Behind] | None = None,
) -> RunningChain:
    """Chain of the running jobs.

    ``moves(state, k)`` lists what may happen while k jobs run: how many run afterwards, the state
    then, and the rate; for a start (k + 1, where k < max_running) its probability instead.
    ``busy`` gives the processors that compute and the disks that transfer, ``partitions`` who runs
    where in each of the states, ``behind`` whom a job waits for that starts in it.
    """
    found: list[dict[S, int]] = [{} for _ in range(max_running + 1)]
    found[0][empty] = 0
    todo = deque([(0, empty)])
    seen: list[tuple[int, int, int, int, float]] = []
    while todo:
        k, state = todo.popleft()
        here = found[k][state]
        for to, following, rate in moves(state, k):
            level = found[to]
            there = level.get(following)
            if there is None:
                there = level[following] = len(level)
                todo.append((to, following))
            seen.append((k, here, to, there, rate))
    starts = np.concatenate([[0], np.cumsum([len(level) for level in found])]).astype(np.int64)
    low, row, high, column, rates = (np.array(part) for part in zip(*seen, strict=True))
    rows, columns = starts[low] + row, starts[high] + column
    made = []
    for step in (0, -1, 1):
        entries, here_too = Entries(), high - low == step
        entries.add(rows[here_too], columns[here_too], rates[here_too].astype(float))
        made.append(entries.matrix(int(starts[-1])))
    work = [busy(state, k) for k, level in enumerate(found) for state in level]
    processors, disks = np.array(work, dtype=float).T
    states = [state for level in found for state in level]
    where, whom = partitions and partitions(states), behind and behind(states)
    return RunningChain(Centre(starts, *made), processors, disks, on_partitions=where, behind=whom)
