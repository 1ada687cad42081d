"""Closed networks of several classes of jobs, each with laws of its own, that share the disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from phasefit import PhaseType, mixture
from phasefit.arrays import Array
from phasefit.checks import check_fields, one_of, whole_number
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import ModelError
from qmodels.memory import (
    FEWER_STATES,
    MOST_SECONDS,
    check_memory,
    check_seconds,
    memory_limit,
)
from qmodels.networks._kernels import mean_values
from qmodels.networks.arguments import count, positive_law, trusted
from qmodels.networks.class_chain import class_chain
from qmodels.networks.occupancy import essential
from qmodels.networks.product_form import log_convolve, log_factorials
from qmodels.networks.two_centre import DISCIPLINES, ClosedNetwork

if TYPE_CHECKING:
    import pandas as pd


#: Seconds for a product of two coefficients, and for a vector of mean value analysis, as measured.
_PRODUCT, _VECTOR = 1.6e-8, 1e-7

METHODS: Final = ("auto", "product-form", "convolution", "mva", "chain")
_EPS: Final = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class JobClass(Record):
    """Jobs of one kind.

    Parameters
    ----------
    population : int
        Jobs of this class, at least one.
    delay, disk : PhaseType
        Time of a computation burst and time of a disk service without contention, in seconds;
        without an atom at zero.
    name : str
        What to call it in tables.

    Raises
    ------
    ModelError
        If an argument is out of its range.
    """

    population: int
    delay: PhaseType
    disk: PhaseType
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self, count, "population")
        for law in ("delay", "disk"):
            object.__setattr__(self, law, essential(positive_law(law, getattr(self, law))))
        if not isinstance(self.name, str):
            raise ModelError(f"name must be a string, got {self.name!r:.60}")


@dataclass(frozen=True, eq=False)
class MultiClassNetwork(Record):
    """Several classes of jobs, each with its own computation and disk laws, and one disk.

    Parameters
    ----------
    classes : sequence of JobClass
        At least one.
    discipline : {"ps", "fcfs", "siro", "lcfs-pr"}
        Order of service at the disk, blind to the classes.
    servers : int
        Disks behind the queue; see `ClosedNetwork`.

    Raises
    ------
    ModelError
        If an argument is out of its range.

    References
    ----------
    .. [1] Baskett et al. 1975.

    Examples
    --------
    Two jobs that read much beside four that compute much:

    >>> one = PhaseType.exponential(mean=1.0)
    >>> readers, computers = JobClass(2, one, one.scale(2.0)), JobClass(4, one.scale(8.0), one)
    >>> found = MultiClassNetwork([readers, computers]).solve()
    >>> found.throughput.round(6), found.mean_sojourn.round(6)
    (array([0.315212, 0.347982]), array([5.344929, 3.494849]))
    """

    classes: Sequence[JobClass]
    discipline: str = "ps"
    servers: int = 1

    def __post_init__(self) -> None:
        classes = tuple(self.classes) if isinstance(self.classes, (list, tuple)) else ()
        if not classes or not all(isinstance(c, JobClass) for c in classes):
            raise ModelError(f"classes must be a list of JobClass, got {self.classes!r:.60}")
        object.__setattr__(self, "classes", classes)
        one_of("discipline", self.discipline, DISCIPLINES)
        check_fields(self, count, "servers")
        if self.discipline == "lcfs-pr" and self.servers > 1:
            raise ModelError(f'servers must be 1 under "lcfs-pr", got {self.servers}; use "ps"')

    @property
    def population(self) -> int:
        """Jobs of all classes."""
        return sum(c.population for c in self.classes)

    @property
    def has_product_form(self) -> bool:
        """True if the numbers at the disk depend on the laws through their means only."""
        alike = all(
            c.disk.order == 1 and c.disk.exit[0] == self.classes[0].disk.exit[0] for c in self.classes
        )
        return self.discipline in ("ps", "lcfs-pr") or alike or self.servers >= self.population

    def solve(
        self, method: str = "auto", *, memory: float | None = None, max_states: int = 20_000
    ) -> MultiClassSolution:
        """Solve for the steady state.

        Parameters
        ----------
        method : {"auto", "product-form", "convolution", "mva", "chain"}
            "auto" takes the product form, by convolution, where it holds and the exact chain
            elsewhere; "mva" is exact mean value analysis, for one server.
        memory : float, optional
            Bytes that the solution may take; by default a share of the machine's memory.
        max_states : int
            States of the chain beyond which it is given up.

        Returns
        -------
        MultiClassSolution
            The steady state, class by class.

        Raises
        ------
        MemoryBudgetError
            If the states would not fit.
        ModelError
            If the method does not apply.

        Notes
        -----
        Under processor sharing the numbers at the disk have a product form whatever the laws
        [1]_: ``n! prod_c I_c^n_c / n_c! C_c^(N_c - n_c) / (N_c - n_c)!`` for one server. Summed by
        convolution over the classes [2]_ it takes time in the square of the population, whatever
        the number of classes; mean value analysis [3]_ visits every vector of populations.

        References
        ----------
        .. [1] Baskett et al. 1975.
        .. [2] Buzen 1973.
        .. [3] Reiser and Lavenberg 1980.
        """
        one_of("method", method, METHODS)
        limit, started = memory_limit(memory), time.perf_counter()
        if method == "chain" or (method == "auto" and not self.has_product_form):
            least = whole_number("max_states", max_states, least=1)
            law = class_chain(
                [(c.population, c.delay, c.disk) for c in self.classes],
                self.discipline,
                self.servers,
                least,
                limit,
            )
            flow, at_disk, pmf = law.flow, law.at_disk, law.pmf
            how, error, states = (
                f"{trusted(law.error)} (chain, {law.method})",
                law.error,
                law.states,
            )
        else:
            if not self.has_product_form:
                raise ModelError(
                    f'no product form under "{self.discipline}" unless all disk laws are the same '
                    f'exponential one; use method="chain", or "auto"'
                )
            if method == "mva":
                flow, at_disk, states = self._mean_value_analysis(memory)
                pmf, how = self._solution_by_convolution(memory)[2], "exact (mean value analysis)"
            else:
                flow, at_disk, pmf = self._solution_by_convolution(memory)
                how, states = "exact (product form, convolution)", self.population + 1
            error = 64.0 * (self.population + 4.0) * _EPS
        jobs = np.array([c.population for c in self.classes], dtype=float)
        busy = float(pmf @ np.minimum(np.arange(pmf.size), min(self.servers, pmf.size)))
        work = float(flow @ [c.disk.mean for c in self.classes])
        return MultiClassSolution(
            network=self,
            throughput=flow,
            mean_at_disk=at_disk,
            mean_at_delay=jobs - at_disk,
            mean_sojourn=at_disk / flow,
            utilisation=busy / self.servers,
            disk_pmf=pmf,
            method=how,
            error_bound=max(error, abs(work / busy - 1.0)),
            states=states,
            seconds=time.perf_counter() - started,
        )

    def _product_count(self) -> float:
        """Products of coefficients that `_solution_by_convolution` adds up."""
        sizes = np.array([c.population + 1.0 for c in self.classes])
        before, after = np.cumsum(sizes) - sizes, np.cumsum(sizes[::-1])[::-1] - sizes
        both = (before + after) * sizes  # the products of all classes, from either end
        rest = np.maximum(before, 1.0) * np.maximum(after, 1.0)  # and those without each class
        return float((both + rest + 2.0 * (before + after) * sizes).sum())

    def _solution_by_convolution(self, memory: float | None) -> tuple[Array, Array, Array]:
        """Throughput and mean at the disk of each class, law of the number at the disk."""
        total, count = self.population, len(self.classes)
        what = f"{total:,} jobs of {count:,} classes"
        check_memory(what, 64.0 * (total + 1.0) * count, memory_limit(memory), FEWER_STATES)
        seconds = _PRODUCT * self._product_count()
        if memory is None and seconds > MOST_SECONDS:
            fewer = int(total * (MOST_SECONDS / seconds) ** 0.5)
            check_seconds(what, seconds, memory, f"take some {fewer:,} jobs of as many classes")
        log_factorial = log_factorials(total)
        unit = max(max(c.delay.mean, c.disk.mean) for c in self.classes)
        parts = []
        for c in self.classes:
            j = np.arange(c.population + 1)
            parts.append(
                (c.population - j) * np.log(c.delay.mean / unit)
                + j * np.log(c.disk.mean / unit)
                - log_factorial[j]
                - log_factorial[c.population - j]
            )
        served = np.minimum(np.arange(1, total + 1), min(self.servers, total))
        order = log_factorial - np.concatenate([[0.0], np.cumsum(np.log(served))])
        # products of the classes before and after each one, so that none is ever divided out
        before, after = [np.zeros(1)], [np.zeros(1)]
        for part, mirrored in zip(parts, reversed(parts), strict=True):
            before.append(log_convolve(before[-1], part))
            after.append(log_convolve(after[-1], mirrored))
        logs = before[-1] + order
        highest = logs.max()
        weights = np.exp(logs - highest)
        mass = float(weights.sum())
        flow, at_disk = np.empty(count), np.empty(count)
        for k, (c, part) in enumerate(zip(self.classes, parts, strict=True)):
            rest = log_convolve(before[k], after[count - 1 - k])
            j = np.arange(c.population + 1)
            for target, mean in ((at_disk, j), (flow, c.population - j)):
                with np.errstate(divide="ignore"):
                    shares = log_convolve(rest, part + np.log(mean)) + order
                target[k] = float(np.exp(shares - highest).sum()) / mass
            flow[k] /= c.delay.mean
        return flow, at_disk, weights / mass

    def _mean_value_analysis(self, memory: float | None) -> tuple[Array, Array, int]:
        """Exact mean value analysis over all vectors of populations."""
        if self.servers > 1:
            raise ModelError(f"mva is for one server, got {self.servers}; use convolution")
        shape = tuple(c.population + 1 for c in self.classes)
        vectors = prod(shape)
        what = f"mva over {vectors:,} vectors of populations"
        check_memory(what, 16.0 * vectors / max(shape), memory_limit(memory), FEWER_STATES)
        check_seconds(what, _VECTOR * vectors, memory, "use convolution")
        think = np.array([c.delay.mean for c in self.classes])
        service = np.array([c.disk.mean for c in self.classes])
        flow, at_disk = np.zeros(think.size), np.zeros((think.size, 1))
        mean_values(np.array(shape) - 1, think, service[:, None], flow, at_disk)
        return flow, at_disk[:, 0], vectors


@dataclass(frozen=True, eq=False)
class MultiClassSolution(Result):
    """Steady state of a `MultiClassNetwork`; arrays have an entry for each class."""

    drawing = Drawing("class", "mean_sojourn", labels=("class", "mean sojourn [s]"))

    network: MultiClassNetwork  #: that was solved
    throughput: Array  #: jobs through the disk per second, (classes,)
    mean_at_disk: Array  #: (classes,)
    mean_at_delay: Array  #: (classes,)
    mean_sojourn: Array  #: seconds from arrival at the disk to departure, (classes,)
    utilisation: float  #: fraction of the servers busy
    disk_pmf: Array  #: probability of 0, 1, ... jobs at the disk, of all classes together
    method: str  #: "exact (...)", with the way it was solved
    error_bound: float  #: relative error to expect
    states: int  #: states of what was solved
    seconds: float  #: time the solution took

    def table(self) -> str:
        """Return a line of text for each class and one for the disk."""
        lines = [f"{'class':<16}{'jobs':>6}{'throughput [1/s]':>18}{'sojourn [s]':>14}"]
        for k, c in enumerate(self.network.classes):
            name = c.name or str(k)
            lines.append(
                f"{name:<16.16}{c.population:>6}{self.throughput[k]:>18.6g}{self.mean_sojourn[k]:>14.6g}"
            )
        return "\n".join([*lines, f"utilisation {self.utilisation:.6g}, {self.method}"])

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each class."""
        return data_frame(
            {
                "class": [c.name or str(k) for k, c in enumerate(self.network.classes)],
                "population": [c.population for c in self.network.classes],
                **self._by_name("throughput", "mean_at_disk", "mean_at_delay", "mean_sojourn"),
            }
        )


def single_class(classes: Sequence[JobClass], *, discipline: str = "ps", servers: int = 1) -> ClosedNetwork:
    """Return the network of one class in which each burst is of one of the classes, by chance.

    Parameters
    ----------
    classes : sequence of JobClass
        Their populations are added up; their shares are the probabilities of a burst.
    discipline : str
        As in `ClosedNetwork`.
    servers : int
        As in `ClosedNetwork`.

    Returns
    -------
    ClosedNetwork
        An approximation: a job changes its class from burst to burst, computation and disk
        independently.

    Raises
    ------
    ModelError
        If an argument is out of its range.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> merged = single_class([JobClass(2, one, one.scale(2.0)), JobClass(4, one.scale(8.0), one)])
    >>> merged.population, round(merged.disk.mean, 6)
    (6, 1.333333)
    """
    checked = MultiClassNetwork(classes, discipline, servers).classes
    jobs = sum(c.population for c in checked)
    shares = [c.population / jobs for c in checked]
    return ClosedNetwork(
        jobs,
        delay=mixture(shares, [c.delay for c in checked]),
        disk=mixture(shares, [c.disk for c in checked]),
        discipline=discipline,
        servers=servers,
    )
