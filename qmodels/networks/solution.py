"""The solution of a closed network: throughput, numbers of jobs, and the sojourn at the disk."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.special import gammaln

from phasefit import PhaseType, absorption
from phasefit.arrays import Array, read_only
from phasefit.checks import whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.memory import FEWER_STATES, check_memory, memory_limit
from qmodels.networks import tagged
from qmodels.networks.centres import TwoCentres
from qmodels.networks.occupancy import Occupancies
from qmodels.networks.product_form import machine_repair
from qmodels.networks.sojourn import SojournLaw
from qmodels.words import named_values

if TYPE_CHECKING:
    import pandas as pd


class Throughputs(NamedTuple):
    """The same number three ways, jobs per second; their spread is a check."""

    delay: float  #: jobs in the delay over the mean delay
    disk: float  #: busy servers over the mean service
    flow: float  #: rate of arrivals at the disk, state by state or from the arrival theorem

    @property
    def spread(self) -> float:
        """Largest relative difference; what is too small for a float does not count."""
        seen = [way for way in self if way > 0.0]
        return (max(seen) - min(seen)) / max(seen)


class Network(Protocol):
    """Network that was solved, as `ClosedNetwork` is one."""

    @property
    def population(self) -> int:
        """Jobs in the network."""

    @property
    def delay(self) -> PhaseType:
        """Law of a computation burst, in seconds."""

    @property
    def disk(self) -> PhaseType:
        """Law of a disk service, in seconds."""

    @property
    def discipline(self) -> str:
        """Order of service at the disk."""

    @property
    def servers(self) -> int:
        """Disks behind the queue."""


@dataclass(frozen=True, eq=False)
class ClosedSolution(Result):
    """Steady state of a `ClosedNetwork`."""

    drawing = Drawing("jobs", "probability", labels=("jobs at the disk", ""))

    network: Network  #: the `ClosedNetwork` that was solved
    throughput: float  #: jobs through the disk per second
    mean_at_disk: float  #: jobs at the disk
    mean_at_delay: float  #: jobs in the delay
    mean_sojourn: float  #: seconds from arrival at the disk to departure
    utilisation: float  #: fraction of the servers busy
    disk_pmf: Array  #: probability of 0, 1, ..., population jobs at the disk
    throughputs: Throughputs  #: three ways to the throughput
    method: str  #: "exact (...)", with the way it was solved
    residual: float  #: largest imbalance of a state over the largest flow; 0 for a formula
    error_bound: float  #: relative error to expect of the throughput and the means
    states: int  #: states of what was solved
    seconds: float  #: time the solution took
    _centres: TwoCentres = field(repr=False)
    _arrivals: tuple[Array, ...] | None = field(repr=False, default=None)

    @classmethod
    def of(
        cls,
        network: Network,
        centres: TwoCentres,
        pmf: Array,
        flow: float,
        method: str,
        residual: float,
        error: float,
        states: int,
        started: float,
        *,
        sojourn: float | None = None,
        arrivals: tuple[Array, ...] | None = None,
    ) -> ClosedSolution:
        """Return the averages of the law of the number at the disk.

        Parameters
        ----------
        network : Network
            The network that was solved.
        centres : TwoCentres
            Its centres.
        pmf : (n + 1,) ndarray
            Probability of 0, 1, ..., n jobs at the disk.
        flow : float
            Throughput, bursts per second.
        method : str
            Name of the solver.
        residual, error : float
            Residual, and relative error to expect.
        states : int
            States of the chain.
        started : float
            `time.perf_counter` at the beginning.
        sojourn : float, optional
            Mean sojourn at the disk in seconds, where it is not pmf's mean over the flow.
        arrivals : tuple of ndarray, optional
            Rate of arrivals by what they find.
        """
        at_disk = np.arange(pmf.size)
        busy = float(pmf @ np.minimum(at_disk, min(network.servers, pmf.size)))
        disk, delay = float(pmf @ at_disk), float(pmf @ at_disk[::-1])
        ways = Throughputs(delay / network.delay.mean, busy / network.disk.mean, flow)
        return cls(
            network=network,
            throughput=flow,
            mean_at_disk=disk,
            mean_at_delay=delay,
            mean_sojourn=disk / flow if sojourn is None else sojourn,
            utilisation=busy / network.servers,
            disk_pmf=read_only(pmf),
            throughputs=ways,
            method=method,
            residual=residual,
            error_bound=max(error, ways.spread),
            states=states,
            seconds=time.perf_counter() - started,
            _centres=centres,
            _arrivals=arrivals,
        )

    def disk_moment(self, k: int) -> float:
        """Return E[U^k] of the number U of jobs at the disk.

        Parameters
        ----------
        k : int
            Order of the moment, 0 to 100.

        Raises
        ------
        ModelError
            If `k` is out of its range.
        """
        return _moment(self.disk_pmf, k)

    def delay_moment(self, k: int) -> float:
        """Return E[U^k] of the number U of jobs in the delay.

        Parameters
        ----------
        k : int
            Order of the moment, 0 to 100.

        Raises
        ------
        ModelError
            If `k` is out of its range.
        """
        return _moment(self.disk_pmf[::-1], k)

    @cached_property
    def sojourn(self) -> SojournLaw:
        """Law of the time a job spends at the disk, followed job by job; see `sojourn_law`."""
        return self.sojourn_law()

    def sojourn_law(self, *, memory: float | None = None) -> SojournLaw:
        """Return the law of the time from arrival at the disk to departure.

        Parameters
        ----------
        memory : float, optional
            Bytes that its chain may take; by default a share of the machine's memory.

        Returns
        -------
        SojournLaw
            In seconds.

        Raises
        ------
        MemoryBudgetError
            If the chain of the tagged job would not fit; nothing has been allocated then.

        Notes
        -----
        What an arriving job finds comes from the rates of arrival in the stationary chain, and
        from the arrival theorem where there is a product form [1]_.

        References
        ----------
        .. [1] S. S. Lavenberg, M. Reiser, "Stationary state probabilities at arrival instants for
           closed queueing networks with multiple types of customers", *J. Appl. Probab.* 17 (1980)
           1048-1061.
        """
        model = self._centres
        disk, servers = model.disk, model.servers
        states, needed = model.tagged_size()
        check_memory(
            f"the chain of a tagged job, {states:.6g} states,",
            needed,
            memory_limit(memory),
            FEWER_STATES,
        )
        delay = model.delay_centre() if model.discipline != "fcfs" else None
        on_arrival = self._arrivals or self._arrivals_in_product_form()
        if delay is None:
            stay = tagged.in_order_of_arrival(on_arrival, disk, servers)
        elif model.discipline == "ps":
            stay = tagged.shared(on_arrival, disk, delay, model.speeds())
        elif model.discipline == "siro":
            stay = tagged.in_random_order(on_arrival, disk, delay, servers)
        else:
            stay = tagged.interrupted(on_arrival, disk, delay)
        return SojournLaw(stay.start / stay.start.sum(), stay.rates, stay.ends)

    def _arrivals_in_product_form(self) -> tuple[Array, ...]:
        """Return the state that an arrival finds: the steady state of a network with one job less."""
        model = self._centres
        others = model.population - 1
        seen = machine_repair(model.delay.mean, model.disk.mean, others, model.servers)
        if model.discipline == "fcfs":
            return tuple(p[None, None] for p in seen)
        delays = _laws_of_stages(model.delay, others)
        disks = (
            [np.ones(1)] * (others + 1) if model.discipline != "ps" else _laws_of_stages(model.disk, others)
        )
        return tuple(p * np.outer(disks[i], delays[others - i]) for i, p in enumerate(seen.tolist()))

    def table(self) -> str:
        """Return name, value and unit as text, one to a line."""
        units = {"throughput": "jobs/s", "mean_sojourn": "s", "seconds": "s"}
        return named_values(self._quantities(), units, width=14, digits=9)

    def to_frame(self) -> pd.DataFrame:
        """Return one row with a column per quantity."""
        return data_frame([self._quantities()])

    def record(self) -> dict[str, Any]:
        """Return means, the law of the jobs at the disk, and accuracy."""
        return self._quantities() | {"disk_pmf": self.disk_pmf, "throughputs": self.throughputs}

    def drawn(self) -> pd.DataFrame:
        """Return the probability of each number of jobs at the disk."""
        return data_frame({"jobs": range(self.disk_pmf.size), "probability": self.disk_pmf})

    def _quantities(self) -> dict[str, object]:
        model = self.network
        return {
            "population": model.population,
            "discipline": model.discipline,
            "servers": model.servers,
            **self._by_name("throughput", "mean_at_disk", "mean_at_delay", "mean_sojourn", "utilisation"),
            **self._by_name("method", "residual", "error_bound", "states", "seconds"),
        }


def _moment(pmf: Array, k: int) -> float:
    k = whole_number("k", k, least=0, most=100)
    with np.errstate(over="ignore"):
        value = float(pmf @ np.arange(pmf.size, dtype=float) ** k)
    if not np.isfinite(value):
        raise ModelError(f"moment {k} of the number of jobs leaves the range of floats")
    return value


def _laws_of_stages(law: PhaseType, jobs: int) -> list[Array]:
    """Law of the stages of 0, 1, ..., `jobs` independent jobs in progress, for each number."""
    ways = Occupancies.of(jobs, law.order)
    factors = absorption.eliminate(law.jumps, law.exit)
    spent = absorption.solve_left(factors, law.alpha)
    logs = ways.counts @ np.log(spent / spent.sum()) - gammaln(ways.counts + 1.0).sum(axis=1)
    parts = np.split(logs, ways.starts[1:-1])
    weights = [np.exp(part - part.max()) for part in parts]
    return [w / w.sum() for w in weights]
