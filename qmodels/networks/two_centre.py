"""The closed network of one disk partition and the processor partitions that share it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum, log
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from phasefit import PhaseType
from phasefit.arrays import Array
from phasefit.checks import check_fields, one_of, real_number
from phasefit.records import Record
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov import (
    BlockTridiagonalSolution,
    ChainSolution,
    solve_block_tridiagonal,
    solve_chain,
)
from qmodels.memory import FEWER_STATES, check_memory, memory_limit
from qmodels.networks.arguments import count, positive_law, trusted
from qmodels.networks.centres import TwoCentres
from qmodels.networks.occupancy import NetworkChain, essential
from qmodels.networks.product_form import machine_repair
from qmodels.networks.solution import ClosedSolution

DISCIPLINES: Final = ("ps", "fcfs", "siro", "lcfs-pr")
METHODS: Final = (
    "auto",
    "product-form",
    "chain",
    "gth",
    "direct",
    "iterative",
    "block-tridiagonal",
)

#: Stacks of interrupted stages that the chain of "lcfs-pr" may hold.
_STACKS: Final = 5000
_EPS: Final = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class ClosedNetwork(Record):
    """Jobs that alternate between a delay and a queue: computation and one disk partition.

    Parameters
    ----------
    population : int
        Jobs in the network, at least one; each holds a processor partition of its own.
    delay : PhaseType
        Time of a computation burst (think time), in seconds, without an atom at zero.
    disk : PhaseType
        Time of a disk service while the job has a server to itself, in seconds, without an atom.
    discipline : {"ps", "fcfs", "siro", "lcfs-pr"}
        Order of service at the disk: processor sharing, first come first served, random order of
        waiting jobs, last come first served with preemption and resumption.
    servers : int
        Disks behind the queue. A job uses one at a time; under "ps", i jobs share
        min(i, servers). One for "lcfs-pr".

    Raises
    ------
    ModelError
        If an argument is out of its range or a law has an atom at zero.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 3.2.

    Examples
    --------
    >>> network = ClosedNetwork(4, delay=PhaseType.erlang(phases=3, mean=2.0),
    ...                         disk=PhaseType.exponential(mean=1.0))
    >>> found = network.solve()
    >>> round(found.throughput, 8), round(found.mean_sojourn, 8), found.method
    (0.9047619, 2.42105263, 'exact (product form)')
    """

    population: int
    delay: PhaseType
    disk: PhaseType
    discipline: str = "ps"
    servers: int = 1
    _centres: TwoCentres = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, count, "population", "servers")
        one_of("discipline", self.discipline, DISCIPLINES)
        delay, disk = (essential(positive_law(name, getattr(self, name))) for name in ("delay", "disk"))
        centres = TwoCentres(self.population, delay, disk, self.discipline, self.servers)
        object.__setattr__(self, "_centres", centres)
        if self.discipline == "lcfs-pr" and self.servers > 1:
            raise ModelError(
                f'servers must be 1 under "lcfs-pr", got {self.servers}: which jobs several '
                f'servers interrupt is not defined here; use "ps"'
            )

    @property
    def has_product_form(self) -> bool:
        """True if the number at the disk depends on the laws through their means only."""
        return (
            self.discipline in ("ps", "lcfs-pr")
            or self._centres.disk.order == 1
            or self.servers >= self.population
        )

    @property
    def states(self) -> int:
        """States of the exact chain, counted without building it."""
        states = self._size()[0]
        if not np.isfinite(states):
            raise MemoryBudgetError(f"the chain of {self.population} jobs has no end of states")
        return int(states)

    def solve(
        self, method: str = "auto", *, memory: float | None = None, tol: float = 1e-12
    ) -> ClosedSolution:
        """Solve for the steady state.

        Parameters
        ----------
        method : {"auto", "product-form", "chain", "gth", "direct", "iterative", "block-tridiagonal"}
            "auto" takes the product form where it holds and the exact chain elsewhere; "chain"
            leaves the solver of the chain to its size, and the last four name one.
        memory : float, optional
            Bytes that the solution may take; by default a share of the machine's memory.
        tol : float
            Relative error that an iteration aims for.

        Returns
        -------
        ClosedSolution
            The steady state.

        Raises
        ------
        MemoryBudgetError
            If the states would not fit; nothing has been allocated then.
        ModelError
            If the method does not apply, or delay and disk are so far apart that the flow of jobs
            is too small for a float.
        ConvergenceError
            If an iteration gave up.
        """
        one_of("method", method, METHODS)
        tol = real_number("tol", tol, above=0.0)
        started = time.perf_counter()
        if method == "auto":
            method = "product-form" if self.has_product_form else "chain"
        limit = memory_limit(memory)
        if method == "product-form":
            return self._solved_in_product_form(limit, started)
        return self._solved_by_chain(method, limit, tol, started)

    def _solved_in_product_form(self, limit: float, started: float) -> ClosedSolution:
        if not self.has_product_form:
            raise ModelError(
                f'no product form under "{self.discipline}" with a disk law that is not '
                f'exponential (scv {self.disk.scv:.6g}); use method="chain", or "auto"'
            )
        jobs, servers = self.population, self.servers
        # Only the population counts: the laws enter through their means.
        fix = "take a smaller population, or raise memory"
        check_memory(f"the law of {jobs} jobs", 100.0 * (jobs + 1.0), limit, fix)
        think, service = self._centres.delay.mean, self._centres.disk.mean
        pmf = machine_repair(think, service, jobs, servers)
        seen = machine_repair(think, service, jobs - 1, servers)
        ahead = np.arange(1, jobs + 1)  # by the arrival theorem, an arrival itself included
        sojourn = service * float(seen @ (ahead / np.minimum(ahead, min(servers, jobs))))
        bound = 16.0 * (jobs + 4.0) * _EPS
        return ClosedSolution.of(
            self,
            self._centres,
            pmf,
            jobs / (think + sojourn),
            "exact (product form)",
            0.0,
            bound,
            jobs + 1,
            started,
            sojourn=sojourn,
        )

    def _solved_by_chain(self, method: str, limit: float, tol: float, started: float) -> ClosedSolution:
        stages = self._centres.disk.order
        stacks = self.population * log(stages)
        if self.discipline == "lcfs-pr" and stacks > log(_STACKS):
            raise MemoryBudgetError(
                f"the chain of {self.population} jobs under lcfs-pr remembers up to "
                f"{stages}^{self.population} stacks of stages, more than {_STACKS}; use "
                f'method="product-form", which is exact'
            )
        states, needed = self._size()
        check_memory(
            f"the chain of {self.population} jobs, {states:.6g} states,",
            needed,
            limit,
            FEWER_STATES,
        )
        chain = self._chain()
        solved: BlockTridiagonalSolution | ChainSolution
        if method == "block-tridiagonal":
            solved = levels = solve_block_tridiagonal(*_blocks_by_level(chain), memory=limit)
            pi, how = np.concatenate(levels.levels), f"block elimination, {levels.method}"
        else:
            solved = stationary = solve_chain(
                chain.rates_by_target(),
                method="auto" if method == "chain" else method,
                levels=chain.levels,
                tol=tol,
                memory=limit,
            )
            pi, how = stationary.probabilities, stationary.method
        pmf = np.add.reduceat(pi, chain.base[:-1])
        arrivals = _arrivals(chain, pi)
        flow = fsum(float(here.sum()) for here in arrivals)
        if not flow > 0.0:  # the states that jobs arrive from are rarer than the least float
            raise ModelError(
                f"a mean delay of {self.delay.mean:.3g} s and a mean disk service of "
                f"{self.disk.mean:.3g} s are too far apart for the chain in floats; check that "
                f"both are in one unit of time"
                + (', or take method="product-form"' if self.has_product_form else "")
            )
        return ClosedSolution.of(
            self,
            self._centres,
            pmf,
            flow,
            f"{trusted(solved.error_estimate)} (chain, {how})",
            float(solved.residual),
            float(solved.error_estimate),
            chain.states,
            started,
            arrivals=tuple(here / flow for here in arrivals),
        )

    def _size(self) -> tuple[float, float]:
        return self._centres.size()

    def _chain(self) -> NetworkChain:
        return self._centres.chain()


def _arrivals(chain: NetworkChain, pi: Array) -> tuple[Array, ...]:
    """Rate of arrivals at the disk by what they find: disk, and delay without themselves."""
    rates = []
    for i in range(chain.jobs):
        away = chain.jobs - i
        leave = chain.delay.leave[chain.delay.slice(away), chain.delay.slice(away - 1)]
        rates.append(np.asarray(chain.level(pi, i) @ leave))
    return tuple(rates)


def _blocks_by_level(chain: NetworkChain) -> tuple[list[csr_array], list[csr_array], list[csr_array]]:
    """Rates up from each level, within it, and down to it from the next."""
    ends = [slice(int(a), int(b)) for a, b in pairwise(chain.base)]
    local = [csr_array(chain.rates[here, here]) for here in ends]
    up = [csr_array(chain.rates[low, high]) for low, high in pairwise(ends)]
    down = [csr_array(chain.rates[high, low]) for low, high in pairwise(ends)]
    return up, local, down
