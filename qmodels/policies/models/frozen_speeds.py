"""Arrangements of the running jobs that stay as they are for as long as jobs wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.sparse import block_diag, csr_array, hstack, vstack

from phasefit.arrays import Array
from qmodels.networks.occupancy import Centre
from qmodels.policies.models.policy_queue import RunningChain

#: Share of the starts on a full machine that draw the arrangement anew, for the solver's sake.
_ANEW: Final = 1e-9


def frozen_chain(running: RunningChain, factors: Array) -> RunningChain:
    """The running jobs, with one of several speeds while all partitions are taken.

    Parameters
    ----------
    running : RunningChain
    factors : (E,) ndarray
        How many times faster than in `running` all that happens with c jobs running is in each
        arrangement. One of them is drawn, each as likely, whenever the c-th job starts, and stays
        until fewer than c run.

    Returns
    -------
    RunningChain

    Notes
    -----
    The queue has a steady state only below the capacity of the slowest arrangement: once it is
    drawn, nothing changes it while jobs wait. A chain that never changed it would have several
    recurrent classes, which the solver of queues refuses, so one start in 10^9 draws anew.
    Arrangements of one speed are one, drawn as often as all of them.
    """
    factors, alike = np.unique(factors, return_counts=True)
    drawn = alike / alike.sum()
    centre, c, many = running.centre, running.max_running, factors.size
    first, n = int(centre.starts[c]), int(centre.starts[c + 1] - centre.starts[c])
    below, full = slice(0, first), slice(first, first + n)

    def parts(matrix: csr_array) -> list[list[csr_array]]:
        rows = csr_array(matrix)
        return [[csr_array(rows[i, j]) for j in (below, full)] for i in (below, full)]

    (local, _), (_, within) = parts(centre.local)
    (leave, _), (ends, _) = parts(centre.leave)
    (enter, starts), _ = parts(centre.enter)
    copies = [csr_array((n, n))] * many
    again = running.busy[1]
    made = Centre(
        np.append(centre.starts[: c + 1], first + n * many),
        csr_array(block_diag([local, *(f * within for f in factors)])),
        _bordered(leave, None, vstack([f * ends for f in factors]), copies),
        _bordered(enter, hstack([p * starts for p in drawn]), None, copies),
    )
    kept = (1.0 - _ANEW) * np.eye(many) + _ANEW * drawn
    busy = [
        np.concatenate([each[:first], np.outer(factors, each[first:]).ravel()])
        for each in (running.processors_busy, running.disks_busy)
    ]
    return replace(
        running,
        centre=made,
        processors_busy=busy[0],
        disks_busy=busy[1],
        at_one_speed=None,
        staged=None,
        replacements=csr_array(np.kron(factors[:, None] * kept, again)),
    )


def _bordered(
    corner: csr_array, right: csr_array | None, under: csr_array | None, copies: list[csr_array]
) -> csr_array:
    """A matrix of what it is below the last level, and beside and under that."""
    n, m = corner.shape[0], sum(each.shape[0] for each in copies)
    right = csr_array((n, m)) if right is None else right
    under = csr_array((m, n)) if under is None else under
    return csr_array(vstack([hstack([corner, right]), hstack([under, csr_array((m, m))])]))
