"""`saturate`: the chain of rigid jobs in service while others always wait, solved exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from phasefit.arrays import Array, Ints
from phasefit.checks import whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ConvergenceError, MemoryBudgetError
from qmodels.markov import stationary
from qmodels.rigid import _kernels
from qmodels.rigid.mix import RigidMix

if TYPE_CHECKING:
    import pandas as pd

#: States up to which the chain is solved by elimination.
_FEW = 400
#: Sweeps at a time, at most so many times; the change of a sweep at which they stop.
_SWEEPS, _ROUNDS, _STOP = 20, 500, 1e-13


@dataclass(frozen=True, eq=False)
class Saturation(Result):
    """Throughput and dispersion of servers that are never out of rigid jobs, in order of arrival.

    Parameters
    ----------
    mix : RigidMix
        The jobs and the servers.
    throughput : float
        Jobs per second, the rate of arrivals that cannot be exceeded.
    burstiness : float
        How completions clump: their index of dispersion over long times is one and twice this.
    blocked : (C,) ndarray
        Mean time that a job of each class spends first in the queue and known not to fit, seconds.
    in_service : float
        Mean number of jobs in service.
    states : int
        Of the chain, those that are left at once not counted.
    """

    drawing = Drawing("servers", "mean blocked [s]")

    mix: RigidMix
    throughput: float
    burstiness: float
    blocked: Array
    in_service: float
    states: int = field(default=0)

    @property
    def utilisation(self) -> float:
        """Share of the servers that work."""
        return self.throughput * self.mix.work / self.mix.servers

    def record(self) -> dict[str, Any]:
        """Return the figures, without the mix."""
        return self._by_name("throughput", "utilisation", "burstiness", "in_service", "states", "blocked")

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each class."""
        mix = self.mix
        columns = {"servers": mix.needs, "share": mix.shares, "mean run [s]": mix.means}
        return data_frame({**columns, "mean blocked [s]": self.blocked})


def saturate(mix: RigidMix, *, max_states: int = 400_000) -> Saturation:
    """Return throughput and dispersion of servers in front of which jobs of a mix always wait.

    Parameters
    ----------
    mix : RigidMix
        The jobs and the servers.
    max_states : int
        States of the chain, those left at once counted; for more simulate
        (`validation.rigid.simulate_saturated`).

    Returns
    -------
    Saturation
        Exact but for rounding.

    Raises
    ------
    MemoryBudgetError
        If the chain has more states.
    ConvergenceError
        If the sweeps do not settle.

    Notes
    -----
    A state is who is in service, by class and phase, and the class of the job that waits first,
    known once a server is free. What is decided at once, which jobs follow when servers become
    free, stays in the chain as states without duration: a transition or two each, where all ways
    through them would be hundreds. Up to a few hundred states by elimination, else by Gauss-Seidel;
    neither subtracts for the probabilities.

    References
    ----------
    .. [1] I. Grosof, M. Harchol-Balter, A. Scheller-Wolf, "New stability results for multiserver-job
       models via product-form saturated systems", arXiv:2010.00631.
    .. [2] Grosof et al. 2023.

    Examples
    --------
    >>> saturated = saturate(RigidMix.of(8, (1, 8), (2 / 3, 1 / 3), (1.0, 1.0)))
    >>> round(saturated.throughput, 10), round(saturated.burstiness, 10)
    (1.4278918798, 0.4441212177)
    """
    most = whole_number("max_states", max_states, least=2)
    chain = _Chain.of(mix, most)
    pi, bias = _solved(chain)
    in_time = pi[chain.lasting]
    throughput = float(pi @ chain.ending)
    # Where the chain is just after an end, each in proportion to how often.
    after = np.bincount(chain.end_to, pi[chain.end_from] * chain.end_rate, pi.size) / throughput
    heads = np.bincount(chain.head[chain.lasting] + 1, in_time, len(mix.classes) + 1)[1:]
    return Saturation(
        mix=mix,
        throughput=throughput,
        burstiness=float(after @ bias),
        blocked=heads / (throughput * mix.shares),
        in_service=float(in_time @ chain.jobs[chain.lasting]),
        states=int(chain.lasting.sum()),
    )


@dataclass(frozen=True, eq=False)
class _Chain:
    """Rates of the chain; `lasting` are the states that take time."""

    rates: csr_array
    lasting: Any
    ending: Array  #: rate of completions in each state
    end_from: Ints
    end_to: Ints
    end_rate: Array
    head: Ints
    jobs: Ints

    @classmethod
    def of(cls, mix: RigidMix, most: int) -> _Chain:
        """Return the chain from all servers free on, breadth first, whole fronts at a time."""
        rules = _Rules(mix)
        states = rules.empty
        keys = rules.keys(states)
        known, order = keys, np.zeros(1, np.int64)
        front, found = states, [states]
        moves: list[tuple[Ints, Ints, Array, Any]] = []
        first = 0
        while len(front):
            sources, after, rates, ends = rules.moves(front)
            keys = rules.keys(after)
            fresh, where = np.unique(keys, return_index=True)
            at = np.minimum(np.searchsorted(known, fresh), known.size - 1)
            new = known[at] != fresh
            fresh, where = fresh[new], where[new]
            numbers = known.size + np.arange(fresh.size)
            place = np.searchsorted(known, fresh)
            known, order = np.insert(known, place, fresh), np.insert(order, place, numbers)
            if known.size > most:
                raise MemoryBudgetError(
                    f"the chain of this mix has more than {most:,} states; simulate it "
                    f"(validation.rigid.simulate_saturated), take fewer phases, or raise max_states"
                )
            moves.append((sources + first, order[np.searchsorted(known, keys)], rates, ends))
            first += len(front)
            front = after[where]
            found.append(front)
        states = np.concatenate(found)
        source, to, rate, ends = (np.concatenate(column) for column in zip(*moves, strict=True))
        size = len(states)
        rates = coo_array((rate, (source, to)), shape=(size, size)).tocsr()
        return cls(
            rates=rates,
            lasting=states[:, -1] < rules.pending,
            ending=np.bincount(source[ends], rate[ends], size).astype(float),
            end_from=source[ends],
            end_to=to[ends],
            end_rate=rate[ends],
            head=states[:, -1],
            jobs=states[:, :-1].sum(axis=1),
        )


class _Rules:
    """Moves between states: numbers in service by class and phase, and last the class that waits first.

    The last is -1 where all servers are busy, and `pending` while the next class is being drawn.
    """

    def __init__(self, mix: RigidMix) -> None:
        self.servers, self.needs = mix.together
        self.shares = mix.shares
        self.pending = len(mix.classes)
        self.laws = [each.law for each in mix.classes]
        orders = [law.order for law in self.laws]
        self.first = np.concatenate([[0], np.cumsum(orders)]).astype(np.int64)
        self.held = np.repeat(self.needs, orders)
        radix = np.append(self.servers // self.held + 1, self.pending + 2)
        if float(np.prod(radix.astype(float))) > 2.0**62:
            raise MemoryBudgetError(
                "this mix has too many classes and phases for its chain; simulate it "
                "(validation.rigid.simulate_saturated) or take fewer"
            )
        self.units = np.concatenate([[1], np.cumprod(radix[:-1])]).astype(np.int64)
        self.empty = np.zeros((1, self.held.size + 1), np.int64)
        self.empty[0, -1] = self.pending

    def keys(self, states: Ints) -> Ints:
        """Return a number for each state, its own."""
        keys: Ints = states @ self.units + self.units[-1]
        return keys

    def moves(self, states: Ints) -> tuple[Ints, Ints, Array, Any]:
        """Return source, state, rate and whether a job ends, of all moves from these states."""
        rows = np.arange(len(states))
        free = self.servers - states[:, :-1] @ self.held
        waits = states[:, -1]
        found: list[tuple[Ints, Ints, Array, bool]] = []
        drawing = rows[waits == self.pending]
        if drawing.size:
            for c, need in enumerate(self.needs):
                late = drawing[free[drawing] < need]
                after = states[late]
                after[:, -1] = c
                found.append((late, after, np.full(late.size, self.shares[c]), False))
                fits = drawing[free[drawing] >= need]
                found += self._begin(
                    fits, states[fits], free[fits], c, np.full(fits.size, self.shares[c]), False
                )
        lasting = waits < self.pending
        for c, law in enumerate(self.laws):
            for i in range(law.order):
                at = self.first[c] + i
                busy = rows[lasting & (states[:, at] > 0)]
                count = states[busy, at].astype(float)
                for j in np.flatnonzero(law.jumps[i]):
                    after = states[busy]
                    after[:, at] -= 1
                    after[:, self.first[c] + j] += 1
                    found.append((busy, after, count * law.jumps[i, j], False))
                if law.exit[i] > 0.0:
                    after = states[busy]
                    after[:, at] -= 1
                    found += self._resume(busy, after, free[busy] + self.needs[c], count * law.exit[i])
        source, after, rate, ends = zip(*found, strict=True)
        flags = [np.full(len(rows), end) for rows, end in zip(source, ends, strict=True)]
        return np.concatenate(source), np.concatenate(after), np.concatenate(rate), np.concatenate(flags)

    def _resume(
        self, source: Ints, after: Ints, free: Ints, rate: Array
    ) -> list[tuple[Ints, Ints, Array, bool]]:
        """Return the moves when a job has ended and so many servers are free."""
        found = []
        for c in range(-1, self.pending):
            mine = after[:, -1] == c
            if c < 0:
                then = after[mine]
                then[:, -1] = self.pending
                found.append((source[mine], then, rate[mine], True))
                continue
            stays = mine & (free < self.needs[c])
            found.append((source[stays], after[stays], rate[stays], True))
            starts = mine & (free >= self.needs[c])
            found += self._begin(source[starts], after[starts], free[starts], c, rate[starts], True)
        return found

    def _begin(
        self, source: Ints, states: Ints, free: Ints, c: int, rate: Array, ends: bool
    ) -> list[tuple[Ints, Ints, Array, bool]]:
        """Return the moves in which a job of class c starts, by its first phase."""
        found = []
        for i in np.flatnonzero(self.laws[c].alpha):
            after = states.copy()
            after[:, self.first[c] + i] += 1
            after[:, -1] = np.where(free > self.needs[c], self.pending, -1)
            found.append((source, after, rate * self.laws[c].alpha[i], ends))
        return found


def _solved(chain: _Chain) -> tuple[Array, Array]:
    """Return probabilities of the lasting states, and from each state on the jobs ended beyond the mean."""
    rates, size = chain.rates, chain.rates.shape[0]
    out = np.asarray(rates.sum(axis=1)).ravel()
    # The empty machine, from which the search began, may never come again.
    if size <= _FEW:
        pi = stationary(rates.toarray())
        pi = _in_time(pi, chain)
        excess = chain.ending - float(pi @ chain.ending) * chain.lasting
        generator = rates.toarray() - np.diag(out)
        bias = np.linalg.lstsq(generator, -excess, rcond=None)[0]
        return pi, bias - pi @ bias
    back = rates.T.tocsr()
    pi = _settled(back, out, np.zeros(size), np.full(size, 1.0 / size))
    pi = _in_time(pi, chain)
    excess = chain.ending - float(pi @ chain.ending) * chain.lasting
    bias = _settled(rates, out, excess, np.zeros(size), center=pi)
    return pi, bias - pi @ bias


def _in_time(pi: Array, chain: _Chain) -> Array:
    """Return the probabilities of what takes time; 0 for what is left at once."""
    lasting: Array = np.where(chain.lasting, pi, 0.0)
    lasting /= lasting.sum()
    return lasting


def _settled(rates: csr_array, out: Array, given: Array, x: Array, center: Array | None = None) -> Array:
    """Return the solution that sweeps settle on."""
    change = np.inf
    for _ in range(_ROUNDS):
        change = _kernels.sweep(rates.indptr, rates.indices, rates.data, out, given, x, _SWEEPS)
        if center is None:
            x /= x.sum()
        else:
            x -= center @ x
        if change < _STOP:
            return x
    raise ConvergenceError("the chain of a rigid mix", _ROUNDS * _SWEEPS, float(change), x)
