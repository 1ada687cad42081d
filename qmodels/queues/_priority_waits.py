"""Work before a job of one priority on one server, and how long it lasts: transforms and means.

The work that class k has before it follows the phase of the arrivals; higher classes that come meanwhile
make each second of it longer. Both are laws over the phases, so nothing is truncated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from phasefit import MarkedMAP, PhaseType
from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.markov.inversion import Complex

#: Condition of the eigenvectors of a passage from which on too many digits are lost.
_WORST_CONDITION: Final = 1e9


@dataclass(frozen=True, eq=False)
class PriorityWaits:
    """Waits by class of one server whose arrivals are marked by their class, the most urgent first.

    References
    ----------
    .. [1] Horváth 2015.
    .. [2] D. M. Lucantoni, "New results on the single server queue with a batch Markovian arrival
       process", *Stoch. Models* 7 (1991) 1-46.
    """

    arrivals: MarkedMAP
    services: Sequence[PhaseType]
    preemptive: bool

    @property
    def _phases(self) -> Array:
        return np.asarray(self.arrivals.all_events.phases)

    @cached_property
    def _loads(self) -> Array:
        return np.array(
            [r * s.mean for r, s in zip(self.arrivals.rates, self.services, strict=True)], dtype=float
        )

    def _silent(self, kinds: int) -> Array:
        """Rates of the phases where only the first so many classes count as arrivals."""
        return np.asarray(self.arrivals.D0 + sum(self.arrivals.marks[kinds:], np.zeros((1, 1))))

    def _passages(self, k: int, s: Complex) -> tuple[Complex, Complex, Complex]:
        """Return z, R, L: R exp(-x z) L is E[exp(-s T)] by phase, if work x takes T beside higher classes.

        They are the roots z of det(z I + D0 + sum_h D_h F_h(z) - s I) on the right, h < k, as many as there
        are phases; laws of phases make them eigenvalues of one matrix.
        """
        m, silent = self.arrivals.order, self._silent(k)
        sizes = [m] + [m * law.order for law in self.services[:k]]
        ends = np.cumsum(sizes)
        matrix = np.zeros((ends[-1], ends[-1]))
        matrix[:m, :m] = -silent
        for mark, law, a, b in zip(self.arrivals.marks, self.services[:k], ends[:-1], ends[1:], strict=False):
            matrix[:m, a:b] = -np.kron(law.alpha, mark)
            matrix[a:b, :m] = np.kron(law.exit[:, None], np.eye(m))
            matrix[a:b, a:b] = np.kron(law.T, np.eye(m))
        shifted = np.repeat(matrix[None].astype(complex), s.size, axis=0)
        places = np.arange(m)
        shifted[:, places, places] += s[:, None]
        values, vectors = np.linalg.eig(shifted)
        order = np.argsort(-values.real, axis=1)[:, :m]
        z = np.take_along_axis(values, order, axis=1)
        right = np.take_along_axis(vectors[:, :m, :], order[:, None, :], axis=2)
        right = right / np.linalg.norm(right, axis=1, keepdims=True)
        if np.linalg.cond(right).max() > _WORST_CONDITION:
            raise ModelError("two phases of the arrivals act alike, so that digits are lost; merge them")
        return z, right, np.linalg.inv(right)

    @cached_property
    def _sure(self) -> list[tuple[Complex, Complex, Complex]]:
        """The passages of each class at s = 0, the root at zero first: the work is passed for certain."""
        found = []
        for k in range(len(self.services) + 1):
            z, right, left = (part[0] for part in self._passages(k, np.zeros(1, dtype=complex)))
            z, right, left = z[::-1].copy(), right[:, ::-1].copy(), left[::-1].copy()
            z[0] = 0.0
            left[0] *= right[:, 0].mean()
            right[:, 0] = 1.0
            found.append((z, right, left))
        return found

    def idle(self, k: int) -> Array:
        """Chance of each phase with no work before class k; (n,)."""
        upto = k + 1 if self.preemptive else len(self.services)
        left = self._sure[upto][2][0].real
        return np.asarray((1.0 - self._loads[:upto].sum()) * left / left.sum())

    @cached_property
    def _starts(self) -> list[Array]:
        """Services of each class that begin per second, by phase, where higher classes wait for them."""
        found: list[Array] = [np.zeros(self.arrivals.order) for _ in self.services]
        if not self.preemptive:
            self.__dict__["_starts"] = found  # those of a class ask for those of the lower ones only
            for k in range(len(self.services) - 1, 0, -1):
                z, right, left = self._sure[k]
                flows = self._work(k, z) @ self.arrivals.marks[k]
                found[k] = np.asarray(np.einsum("jn,nj,jm->m", flows, right, left).real)
        return found

    def _lower(self, k: int) -> list[tuple[PhaseType, Array]]:
        return list(zip(self.services[k + 1 :], self._starts[k + 1 :], strict=True))

    def _work(self, k: int, z: Complex) -> Complex:
        """Transform of the work before class k, by phase, at places of any shape; (..., n)."""
        shape, z = z.shape, z.ravel()
        top = z[:, None] * self.idle(k)
        for law, starts in self._lower(k):
            top = top + (1.0 - law_transform(law, z))[:, None] * starts
        below = z[:, None, None] * np.eye(self.arrivals.order) + self._silent(k + 1)
        for mark, law in zip(self.arrivals.marks[: k + 1], self.services, strict=False):
            below = below + law_transform(law, z)[:, None, None] * mark
        certain = z == 0.0
        below[certain] = np.eye(self.arrivals.order)
        top[certain] = self._phases
        found = np.linalg.solve(np.swapaxes(below, 1, 2), top[:, :, None])[:, :, 0]
        return np.asarray(found.reshape(*shape, -1))

    def transform(self, k: int, s: Complex, served: bool) -> Complex:
        """Transform of the wait of class k until service first begins, or with its service; (n,)."""
        z, right, left = self._passages(k, s)
        weights = self._work(k, z)
        own = self.services[k]
        if served and self.preemptive:
            weights = weights * law_transform(own, z.ravel()).reshape(z.shape)[:, :, None]
        flows = weights @ self.arrivals.marks[k]
        found = np.einsum("sjn,snj,sjm->s", flows, right, left) / self.arrivals.rates[k]
        return np.asarray(found * law_transform(own, s) if served and not self.preemptive else found)

    def no_wait(self, k: int) -> float:
        """Chance that a job of class k finds no work before it."""
        return float(self.idle(k) @ self.arrivals.marks[k].sum(axis=1) / self.arrivals.rates[k])

    def mean_response(self, k: int) -> float:
        """Mean seconds of class k from arrival to departure."""
        z, right, left = self._sure[k]
        longer, detour = self._lasting(k)
        mark, own, rate = self.arrivals.marks[k], self.services[k], self.arrivals.rates[k]
        work = self._mean_work(k) @ mark.sum(axis=1) / rate
        weights = self._work(k, z)
        if self.preemptive:
            weights = weights * law_transform(own, z)[:, None]
            work += own.mean
        there = np.einsum("jn,nj,jm->m", weights @ mark, right, left).real - self._phases @ mark
        found = work * longer + float(there @ detour) / rate
        return float(found if self.preemptive else found + own.mean)

    def _lasting(self, k: int) -> tuple[float, Array]:
        """Return c, d: work x lasts c x + (exp(U x) - I) d seconds, by phase, U their rates on its way."""
        m = self.arrivals.order
        z, right, left = self._sure[k]
        ones, first = np.ones(m), left[0].real / left[0].real.sum()
        inverse = ((right[:, 1:] * (-1.0 / z[1:])) @ left[1:]).real if m > 1 else np.zeros((1, 1))
        system = np.eye(m)
        for mark, law in zip(self.arrivals.marks[:k], self.services, strict=False):
            passed = ((right * law_transform(law, z)) @ left).real
            system -= mark @ (law.mean * np.outer(ones, first) + (passed - np.eye(m)) @ inverse)
        each = np.linalg.solve(system, ones)
        return float(first @ each), np.asarray(inverse @ each)

    def _mean_work(self, k: int) -> Array:
        """Mean work before class k times the chance of each phase; (n,)."""
        phases, ones = self._phases, np.ones(self.arrivals.order)
        counted = list(zip(self.arrivals.marks[: k + 1], self.services, strict=False))
        first = np.eye(self.arrivals.order) - sum(mark * law.mean for mark, law in counted)
        second = sum(float(phases @ mark @ ones) * law.moment(2) for mark, law in counted)
        rest = phases @ first - self.idle(k)
        for law, starts in self._lower(k):
            rest = rest - starts * law.mean
            second += float(starts.sum()) * law.moment(2)
        away = np.linalg.solve((self._silent(0) - np.outer(ones, phases)).T, rest)
        along = (second / 2.0 - away @ first @ ones) / (phases @ first @ ones)
        return np.asarray(away + along * phases)


def law_transform(law: PhaseType, s: Complex) -> Complex:
    """Return the Laplace transform of a law at complex places; (n,)."""
    shifted = s[:, None, None] * np.eye(law.order) - np.asarray(law.T)
    solved = np.linalg.solve(shifted, np.broadcast_to(law.exit[:, None], (s.size, law.order, 1)))
    return np.asarray(solved[:, :, 0] @ law.alpha)
