"""GREEDY: processors go where they raise the rate of departures most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phasefit.arrays import Array
from validation.malleable.base import AbstractMalleable, InSystem, register

#: Gains that differ by less are equal, and go to the phase that gains less from more of them.
_EQUAL = 1e-9


@register
@dataclass(frozen=True)
class Greedy(AbstractMalleable):
    """Whole processors, one after the other, to the phase that gains most speed from one more (GREEDY*).

    Notes
    -----
    For concave speed curves, of which it takes the increments as they come; all sizes are of one law,
    so that speed is the rate of departures. Among equal gains those that parallelise less come first,
    which puts off the more parallelisable work: of the greedy policies the best with two curves [1]_.

    References
    ----------
    .. [1] B. Berg, J.-P. Dorsman, M. Harchol-Balter, "Towards optimality in parallel scheduling",
       *Proc. ACM Meas. Anal. Comput. Syst.* 1 (2018) 40, sec. 5.

    Examples
    --------
    >>> Greedy().label, Greedy().needs
    ('GREEDY', 'preemption and how jobs speed up; no sizes')
    """

    name: ClassVar[str] = "GREEDY"
    needs: ClassVar[str] = "preemption and how jobs speed up; no sizes"
    legend: ClassVar[str] = "GREEDY: every processor goes where it raises the rate of departures most."

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        k = int(jobs.processors)
        levels = np.arange(k + 1.0)
        gains = [np.diff(curve(levels)) for curve in jobs.curves]
        # Of each curve the processors of the second kind are worth less than those of the first.
        steps = sorted(
            ((number, level) for number in range(len(gains)) for level in range(k)),
            key=lambda step: (-round(gains[step[0]][step[1]] / _EQUAL), sum(gains[step[0]]), step[1]),
        )
        members = [jobs.here & (jobs.curve == number) for number in range(len(gains))]
        ranks = [jobs.ranks(among=each) for each in members]
        counts = [each.sum(axis=1) for each in members]
        left = np.full(len(jobs.here), k)
        shares = np.zeros(jobs.here.shape)
        for number, level in steps:
            if gains[number][level] <= 0.0:
                continue
            given = np.minimum(counts[number], left)
            shares += members[number] & (ranks[number] < given[:, None])
            left = left - given
            if not left.any():
                break
        return shares
