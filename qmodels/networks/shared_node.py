"""Tasks that share the processor and the disk of one node: how fast each gets on."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit import PhaseType
from phasefit.arrays import Array
from phasefit.checks import real_number, real_vector
from qmodels.errors import ModelError
from qmodels.markov import stationary
from qmodels.networks.arguments import count, positive_law

#: Tasks of the largest node: the work grows as their cube.
_MOST: Final = 400
#: States of the largest chain under "fcfs": it is solved as a full matrix.
_STATES: Final = 3000


def shared_node_paces(cpu: ArrayLike, disk: ArrayLike) -> Array:
    """Return how fast different tasks get on that share one processor and one disk, exactly.

    Each task goes to and fro between the processor and the disk for ever.

    Parameters
    ----------
    cpu, disk : (n,) array_like
        Seconds of either that each task needs for a unit of its work, >= 0, not both zero.

    Returns
    -------
    (n,) ndarray
        Units of work that each does in a second.

    Raises
    ------
    ModelError
        If the vectors are not of one length of at most 400, or a time is out of its range.

    Notes
    -----
    Where both are shared by processor sharing, the laws of the single visits play no part; where
    the disk serves in turn, visits must be exponential and alike for all tasks, who may differ in
    how many they make. The network then has a product form [1]_: with p_k the coefficient of x^k in
    the product of (cpu_j + disk_j x), its normaliser is ``G(n) = sum_k k! (n - k)! p_k``, and task
    j does ``G(n less j) / G(n)``. All terms are positive. O(n^3).

    References
    ----------
    .. [1] Baskett et al. 1975.

    Examples
    --------
    Alone a task takes what it needs; two alike at a disk alone have half of it each:

    >>> shared_node_paces([1.0], [3.0]), shared_node_paces([0.0, 0.0], [2.0, 2.0])
    (array([0.25]), array([0.25, 0.25]))
    """
    computing, io = real_vector("cpu", cpu), real_vector("disk", disk)
    n = computing.size
    if io.size != n or n > _MOST:
        raise ModelError(f"give as many disk times as cpu times, at most {_MOST}; got {n}, {io.size}")
    if computing.min() < 0.0 or io.min() < 0.0 or (computing + io).min() <= 0.0:
        raise ModelError("times must be >= 0, and those of a task not both zero")
    scale = float((computing + io).max())
    computing, io = computing / scale, io / scale
    whole = _normaliser(computing, io)
    without = np.array([_normaliser(np.delete(computing, j), np.delete(io, j)) for j in range(n)])
    paces: Array = without / (n * whole) / scale
    return paces


def _normaliser(cpu: Array, disk: Array) -> float:
    """G(n) / n!: the mean over k of p_k, each coefficient weighted by 1 / C(n, k).

    The weights are worked in factor by factor, so that neither factorials nor products leave the
    range of a float.
    """
    n = cpu.size
    # After i factors weight[k] = p_k k! (i - k)! / i!.
    weight = np.ones(1)
    for i in range(n):
        k = np.arange(i + 1)
        grown = np.zeros(i + 2)
        grown[:-1] += weight * cpu[i] * (i + 1 - k) / (i + 1)
        grown[1:] += weight * disk[i] * (k + 1) / (i + 1)
        weight = grown
    return float(weight.sum())


def fcfs_node_pace(tasks: int, cpu: float, disk: PhaseType) -> float:
    """Return how fast equal tasks get on that share a processor, and a disk that serves in turn.

    Parameters
    ----------
    tasks : int
        How many share the node.
    cpu : float
        Mean of an exponential burst of computation, in seconds, > 0; the processor is shared.
    disk : PhaseType
        Law of a disk service, in seconds, without an atom at zero.

    Returns
    -------
    float
        Bursts of computation that each task ends in a second.

    Raises
    ------
    ModelError
        If an argument is out of its range, or the chain would have more than 3,000 states.

    Notes
    -----
    The stationary vector of the exact chain: tasks at the disk, and the phase of the one in
    service. Under exponential service it is `shared_node_paces`.

    Examples
    --------
    >>> alike = fcfs_node_pace(2, 1.0, PhaseType.exponential(mean=1.0))
    >>> regular = fcfs_node_pace(2, 1.0, PhaseType.erlang(phases=20, mean=1.0))
    >>> round(alike, 6), round(regular, 4)
    (0.333333, 0.3631)
    """
    n = count("tasks", tasks)
    rate = 1.0 / real_number("cpu", cpu, above=0.0)
    law = positive_law("disk", disk)
    order = law.order
    if n * order + 1 > _STATES:
        raise ModelError(
            f"{n} tasks and a law of order {order} make {n * order + 1} states, at most {_STATES} "
            f"are solved; take fewer phases or tasks"
        )
    rates = np.zeros((n * order + 1, n * order + 1))
    change = law.T - np.diag(np.diag(law.T))

    def at(k: int) -> slice:
        """States with k tasks at the disk, k > 0."""
        return slice(1 + (k - 1) * order, 1 + k * order)

    for k in range(1, n + 1):
        rates[at(k), at(k)] += change
        if k > 1:
            rates[at(k), at(k - 1)] += np.outer(law.exit, law.alpha)
        else:
            rates[at(k), 0] += law.exit
        if k < n:
            rates[at(k), at(k + 1)] += rate * np.eye(order)
    rates[0, at(1)] = rate * law.alpha
    pi = stationary(rates)
    computing = 1.0 - float(pi[at(n)].sum())
    return computing * rate / n
