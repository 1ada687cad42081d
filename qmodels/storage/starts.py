"""Programs with random bursts that start together: the exact chain until the last of them has ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from phasefit.arrays import Array, Indices
from phasefit.checks import whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.markov.absorption import solve_absorption
from qmodels.networks.sizes import compositions
from qmodels.storage.curves import StageCurve, stretch

#: States beyond which the chain is not worth its time.
MOST_STATES = 20_000


@dataclass(frozen=True)
class Start(Record):
    """Programs that start together, as a chain."""

    programs: int  #: that start
    makespan: float  #: mean seconds until the last has ended
    std: float  #: standard deviation of that time
    states: int  #: of the chain
    method: str = "exact (chain)"  #: in words


def count_states(stages: int, programs: int) -> int:
    """Return the states of the chain: ways to put programs into two phases for each stage, and the end.

    Parameters
    ----------
    stages, programs : int
        How many there are.

    Examples
    --------
    >>> count_states(1, 2)
    6
    """
    return math.comb(programs + 2 * stages, 2 * stages)


def exact_start(stages: Sequence[StageCurve], programs: int, *, bursts: float = 1.0) -> Start:
    """Return the mean makespan of programs that start together, with exponential bursts.

    Each stage is a geometric number of rounds, `bursts` on average, of work of its own and then a transfer,
    all exponential; the storage gives each of i streams ``speed(i) / i`` of its full speed.

    Parameters
    ----------
    stages : sequence of StageCurve
        Of the program, in order. A stretch (`creep`) by others counts those in the same stage.
    programs : int
        That start together.
    bursts : float
        Mean rounds of a stage, at least 1.

    Returns
    -------
    Start
        Exact means.

    Raises
    ------
    ModelError
        If the chain has more than 20,000 states, or an argument is out of its range.

    Examples
    --------
    Storage alone, which one stream fills, is busy until the end:

    >>> found = exact_start([StageCurve("io", 2.0, io_share=1.0, streams=1.0)], 3)
    >>> round(found.makespan, 9)
    6.0
    """
    n = whole_number("programs", programs, least=1)
    if not bursts >= 1.0:
        raise ModelError(f"bursts must be >= 1, got {bursts!r}")
    states_needed = count_states(len(stages), n)
    if states_needed > MOST_STATES:
        raise ModelError(
            f"{n} programs of {len(stages)} stages have {states_needed} states, more than {MOST_STATES}; "
            f"simulate them"
        )
    states = compositions(n, 2 * len(stages) + 1)
    place = (n + 1) ** np.arange(states.shape[1], dtype=np.int64)
    keys = states @ place
    order = np.argsort(keys)
    rows: list[Indices] = []
    columns: list[Indices] = []
    rates: list[Array] = []
    crowd = sum(
        states[:, 2 * k + 1] / stage.streams for k, stage in enumerate(stages)
    )  # of the storage's capacity that streams at full speed would use
    for k, stage in enumerate(stages):
        for phase in _phases(stage):
            some = np.flatnonzero(states[:, 2 * k + phase])
            rate = _rates(stage, states[some], k, phase, bursts, np.asarray(crowd)[some])
            for target, share in _targets(stages, k, phase, bursts):
                moved = keys[some] - place[2 * k + phase] + place[target]
                rows.append(some)
                columns.append(order[np.searchsorted(keys, moved, sorter=order)])
                rates.append(rate * share)
    size = len(states)
    end = int(np.flatnonzero(states[:, -1] == n)[0])
    first = int(np.flatnonzero(states[:, _phases(stages[0])[0]] == n)[0])
    chain = csr_array(
        (np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns))), shape=(size, size)
    )
    kept = _reachable(chain, first)
    names = np.cumsum(kept) - 1
    chain = chain[kept][:, kept]
    found = solve_absorption(chain, int(names[end]), moments=2)
    start = int(names[first])
    mean, square = (float(m[start]) for m in found.moments)
    return Start(n, mean, math.sqrt(max(square - mean**2, 0.0)), size)


def _phases(stage: StageCurve) -> tuple[int, ...]:
    """Phases of a stage that take time: 0 its own work, 1 the storage."""
    return {0.0: (0,), 1.0: (1,)}.get(stage.io_share, (0, 1))


def _rates(
    stage: StageCurve, states: NDArray[np.int64], k: int, phase: int, bursts: float, crowd: Array
) -> Array:
    """Rate at which programs leave a phase of a stage, by state."""
    here = states[:, 2 * k + phase]
    if phase == 0:
        others = states[:, 2 * k] + states[:, 2 * k + 1] - 1.0
        alone = stage.seconds * (1.0 - stage.io_share)
        return np.asarray(here * bursts / alone / stretch(stage, others))
    full = np.maximum(crowd, 1.0)
    slow = full / (1.0 - stage.loss * (1.0 - 1.0 / full))
    return np.asarray(here * bursts / (stage.seconds * stage.io_share) / slow)


def _targets(stages: Sequence[StageCurve], k: int, phase: int, bursts: float) -> list[tuple[int, float]]:
    """Places where a program goes from a phase of a stage, and with which probability."""
    stage, onward = stages[k], 2 * (k + 1)
    if k + 1 < len(stages):
        onward += _phases(stages[k + 1])[0]
    if phase == 0 and stage.io_share > 0.0:
        return [(2 * k + 1, 1.0)]
    again = 2 * k + _phases(stage)[0]
    if bursts == 1.0 or again == 2 * k + phase:  # a round of one phase alone is as long as all of them
        return [(onward, 1.0 / bursts)]
    return [(onward, 1.0 / bursts), (again, 1.0 - 1.0 / bursts)]


def _reachable(chain: csr_array, first: int) -> NDArray[np.bool_]:
    """States that the chain can come to from its first."""
    from scipy.sparse.csgraph import breadth_first_order

    kept = np.zeros(chain.shape[0], dtype=bool)
    kept[breadth_first_order(chain, first, return_predecessors=False)] = True
    return kept
