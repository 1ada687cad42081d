"""The time that dividing the processors anew takes: all jobs stand still meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.networks.occupancy import Centre, Entries
from qmodels.policies.models.policy_queue import RunningChain


def sizes_with_overhead(sizes: Sequence[float], laws: Sequence[PhaseType]) -> list[float]:
    """States with 0..c jobs running once the stages of a dividing are told apart."""
    stages = [0, *(law.order for law in laws)]
    return [n * (1 + m) for n, m in zip(sizes, stages, strict=True)]


def with_overhead(running: RunningChain, laws: Sequence[PhaseType]) -> RunningChain:
    """The chain in which k running jobs first stand still for a time of law ``laws[k - 1]``.

    The processors are divided at every change of their number except to none, and begun anew if
    it changes in the meantime; a waiting job that takes the place of another changes nothing.
    The states of a level are those of the running jobs, once for getting on, then once for each
    stage of standing still.
    """
    old, c = running.centre, running.max_running
    stages = [0, *(law.order for law in laws)]
    sizes = sizes_with_overhead(running.sizes, laws)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    local, leave, enter = Entries(), Entries(), Entries()

    def moved(matrix: csr_array, low: int, high: int, into: Entries, frozen: bool) -> None:
        """Moves from level `low` to `high` that begin a dividing there, unless it has no jobs."""
        part = csr_array(matrix[old.slice(low), old.slice(high)]).tocoo()
        rows, columns, values = part.row, part.col, part.data
        at, to, n, m = int(starts[low]), int(starts[high]), old.size(low), old.size(high)
        law = laws[high - 1] if high else None
        begin = [1.0] if law is None else [law.atom, *law.alpha.tolist()]
        for stage in range(1 + (stages[low] if frozen else 0)):
            for z, chance in enumerate(begin):
                if chance > 0.0:
                    into.add(at + stage * n + rows, to + z * m + columns, chance * values)

    for k in range(c + 1):
        n, at = old.size(k), int(starts[k])
        part = csr_array(old.local[old.slice(k), old.slice(k)]).tocoo()
        local.add(at + part.row, at + part.col, part.data)
        if k:
            law, each = laws[k - 1], np.arange(n)
            for a in range(law.order):
                frozen = at + (1 + a) * n + each
                local.add(frozen, at + each, np.full(n, law.exit[a]))
                for b in np.flatnonzero(law.jumps[a]).tolist():
                    local.add(frozen, at + (1 + b) * n + each, np.full(n, law.jumps[a, b]))
            moved(old.leave, k, k - 1, leave, False)
        if k < c:
            moved(old.enter, k, k + 1, enter, True)
    total = int(starts[-1])
    # a job that takes the place of another divides nothing, so that both states are those of
    # getting on, the first of their level
    full = csr_array(running.busy[1]).tocoo()
    width = int(sizes[-1])
    return RunningChain(
        Centre(starts, local.matrix(total), leave.matrix(total), enter.matrix(total)),
        _standing_still(running.by_level(running.processors_busy), stages),
        _standing_still(running.by_level(running.disks_busy), stages),
        replacements=csr_array((full.data, (full.row, full.col)), shape=(width, width)),
    )


def _standing_still(levels: list[Array], stages: list[int]) -> Array:
    """Values of the states, zero where all jobs stand still."""
    parts = [
        np.concatenate([values, np.zeros(values.size * m)]) for values, m in zip(levels, stages, strict=True)
    ]
    return np.concatenate(parts)
