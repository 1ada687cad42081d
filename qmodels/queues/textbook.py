"""Plain queues by Kendall's notation: the formulas of the textbooks, and what each is worth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import one_of, real_number
from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.networks.product_form import birth_death_weights

#: Approximations for queues of which two moments are known.
APPROXIMATIONS: Final = ("allen-cunneen", "qna", "sakasegawa")
_SOURCES: Final = {
    "allen-cunneen": "Allen and Cunneen",
    "qna": "Whitt's queueing network analyzer",
    "sakasegawa": "Sakasegawa",
}
_NOTATION: Final = re.compile(r"(M|D|G|GI)/(M|D|G)/(\d+|inf)(?:/(\d+))?")
#: Squared coefficients of variation that a letter fixes.
_SCV: Final = {"M": 1.0, "D": 0.0}
_MOST: Final = 1_000_000


@dataclass(frozen=True)
class Queue(Record):
    """A plain queue by its name in Kendall's notation, in order of arrival.

    Parameters
    ----------
    kind : str
        Arrivals/service/servers, and the places for jobs if they are limited: "M/M/1", "M/G/1", "M/M/3/10",
        "G/G/4", "M/G/inf". M is exponential, D constant, G (or GI) anything of known mean and scv.
    arrival_rate : float
        Jobs per second that arrive.
    service_mean : float
        Seconds of a service.
    arrival_scv, service_scv : float, optional
        Squared coefficients of variation; for the letter G only, where they must be given.
    approximation : {"allen-cunneen", "qna", "sakasegawa"}
        Formula for the wait where no exact one is known.

    Raises
    ------
    ModelError
        If the notation is not known, a number is out of range, or a scv is missing or not asked for.
    UnstableError
        If jobs arrive faster than they can be served, and nothing limits them.

    Notes
    -----
    Exact: M/M/c, M/M/c/K, M/G/1 (and M/D/1), M/G/inf, and M/G/c/c, which loses jobs as M/M/c/c does. All
    others know two moments only and are approximate; `method` says which. For the wait's law and for
    queues of phase-type laws, exact with many servers, see `qmodels.networks.ManyServerQueue`.

    References
    ----------
    .. [1] L. Kleinrock, *Queueing Systems*, vol. 1, Wiley 1975.
    .. [2] A. O. Allen, *Probability, Statistics, and Queueing Theory*, 2nd ed., Academic Press 1990.
    .. [3] W. Whitt, "The queueing network analyzer", *Bell System Tech. J.* 62 (1983) 2779-2815.
    .. [4] Sakasegawa 1977.

    Examples
    --------
    >>> queue = Queue("M/M/3", arrival_rate=2.0, service_mean=1.0)
    >>> round(queue.mean_response, 6), round(queue.wait_probability, 6), queue.method
    (1.444444, 0.444444, 'exact: Erlang C')
    >>> Queue("G/G/4", 3.0, 1.0, arrival_scv=1.5, service_scv=2.0).method
    'approximation: Allen and Cunneen'
    """

    kind: str
    arrival_rate: float
    service_mean: float
    arrival_scv: float | None = None
    service_scv: float | None = None
    approximation: str = "allen-cunneen"

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not (found := _NOTATION.fullmatch(self.kind.replace(" ", ""))):
            raise ModelError(f'kind must be like "M/M/1", "M/G/2" or "M/M/3/10", got {self.kind!r:.60}')
        first, second, servers, places = found.groups()
        real_number("arrival_rate", self.arrival_rate, above=0.0)
        real_number("service_mean", self.service_mean, above=0.0)
        one_of("approximation", self.approximation, APPROXIMATIONS)
        for name, letter in (("arrival_scv", first), ("service_scv", second)):
            given = getattr(self, name)
            if letter in _SCV:
                if given is not None and given != _SCV[letter]:
                    raise ModelError(f"{name} of {letter} is {_SCV[letter]:g}; write G to give another")
                object.__setattr__(self, name, _SCV[letter])
            elif given is None:
                raise ModelError(
                    f"{self.kind} needs {name}: the variance of the times over their mean squared"
                )
            else:
                real_number(name, given, least=0.0)
        count = inf if servers == "inf" else int(servers)
        if not count or (places and int(places) < count) or (places and count == inf):
            raise ModelError(f"{self.kind}: one server at least, and a place for each of them")
        if max(0 if count == inf else count, int(places or 0)) > _MOST:
            raise ModelError(f"{self.kind}: more than {_MOST:,} servers or places")
        if places and not (first == "M" and (second == "M" or int(places) == count)):
            raise ModelError(f"{self.kind}: limited places are known for M/M/c/K and M/G/c/c")
        if not places and self.load >= self.servers:
            raise UnstableError(self.kind, self.arrival_rate, self.servers / self.service_mean)

    @property
    def servers(self) -> float:
        """Servers; infinity where nobody waits."""
        word = self.kind.replace(" ", "").split("/")[2]
        return inf if word == "inf" else int(word)

    @property
    def places(self) -> float:
        """Jobs that can be there at once."""
        words = self.kind.replace(" ", "").split("/")
        return int(words[3]) if len(words) == 4 else inf

    @property
    def load(self) -> float:
        """Servers that would be busy on average if no job were lost (Erlangs)."""
        return self.arrival_rate * self.service_mean

    @property
    def utilisation(self) -> float:
        """Share of its time that a server is busy; zero with infinitely many."""
        return self.load * (1.0 - self.blocking) / self.servers

    @property
    def method(self) -> str:
        """Name of the formula, and whether it is exact."""
        first, second = self.kind.replace(" ", "").split("/")[:2]
        if self.places < inf:
            return "exact: Erlang B" if self.places == self.servers else "exact: births and deaths"
        if self.servers == inf and first == "M":
            return "exact: Poisson"
        if self.servers == inf:
            return "exact: nobody waits"
        if first == "M" and second == "M":
            return "exact: Erlang C"
        if first == "M" and self.servers == 1:
            return "exact: Pollaczek and Khinchine"
        return f"approximation: {_SOURCES[self.approximation]}"

    @cached_property
    def _chances(self) -> Array:
        """Probability of 0, 1, ... jobs of M/M/c/K, or of M/M/c up to c jobs and the rest in the last."""
        top = int(self.places if self.places < inf else self.servers)
        steps = np.arange(1, top + 1)
        weights = birth_death_weights(np.log(self.load / np.minimum(steps, self.servers)))
        if self.places == inf:
            weights[-1] /= 1.0 - self.load / self.servers
        return np.asarray(weights / weights.sum())

    @property
    def blocking(self) -> float:
        """Probability that an arriving job finds no place and is lost."""
        return float(self._chances[-1]) if self.places < inf else 0.0

    @property
    def wait_probability(self) -> float:
        """Probability that a job that is not lost waits; of M/M/c where there are two moments only."""
        if self.servers == inf:
            return 0.0
        if self.places == inf:
            return float(self._chances[-1])
        busy = float(self._chances[int(self.servers) : -1].sum())
        return busy / (1.0 - self.blocking)

    @property
    def mean_wait(self) -> float:
        """Seconds until service begins."""
        if self.servers == inf:
            return 0.0
        if self.places < inf:
            behind = np.maximum(np.arange(self._chances.size) - self.servers, 0.0)
            return float(self._chances @ behind) / (self.arrival_rate * (1.0 - self.blocking))
        poisson = self.wait_probability * self.service_mean / (self.servers - self.load)
        ca, cs = float(self.arrival_scv or 0.0), float(self.service_scv or 0.0)
        if self.method.startswith("exact"):
            return poisson * (1.0 + cs) / 2.0
        rho, spread = self.load / self.servers, (ca + cs) / 2.0
        if self.approximation == "sakasegawa":
            poisson = rho ** (sqrt(2.0 * (self.servers + 1.0)) - 1.0) / (self.servers * (1.0 - rho))
            poisson *= self.service_mean
        if self.approximation == "qna" and self.servers == 1 and ca < 1.0 and spread > 0.0:
            # Kraemer and Langenbach-Belz's correction for arrivals that are more regular than Poisson.
            spread *= exp(-2.0 * (1.0 - rho) * (1.0 - ca) ** 2 / (3.0 * rho * (ca + cs)))
        return poisson * spread

    @property
    def mean_response(self) -> float:
        """Seconds from arrival to departure of a job that is not lost."""
        return self.mean_wait + self.service_mean

    @property
    def throughput(self) -> float:
        """Jobs per second that are served."""
        return self.arrival_rate * (1.0 - self.blocking)

    @property
    def mean_jobs(self) -> float:
        """Jobs there on average, by Little's law."""
        return self.throughput * self.mean_response

    @property
    def mean_waiting(self) -> float:
        """Jobs that wait on average."""
        return self.throughput * self.mean_wait

    def pmf(self, jobs: ArrayLike) -> Any:
        """Return the probability of so many jobs, where it is known.

        Parameters
        ----------
        jobs : array_like of int
            Numbers of jobs, any shape.

        Raises
        ------
        ModelError
            If two moments do not tell it.
        """
        n = np.asarray(jobs)
        if n.size and (not np.issubdtype(n.dtype, np.integer) or n.min() < 0):
            raise ModelError("jobs must be whole numbers, at least 0")
        if self.method == "exact: Poisson":
            from scipy.stats import poisson

            found = poisson.pmf(n, self.load)
        elif self.method in ("exact: Erlang B", "exact: Erlang C", "exact: births and deaths"):
            known, rho = self._chances, self.load / self.servers
            found = known[np.minimum(n, known.size - 1)]
            if self.places < inf:
                found = np.where(n > self.places, 0.0, found)
            else:
                beyond = n - self.servers
                found = np.where(beyond < 0, found, known[-1] * (1.0 - rho) * rho ** np.maximum(beyond, 0))
        else:
            raise ModelError(
                f"{self.kind}: its moments do not tell how many jobs are there; give laws to ManyServerQueue"
            )
        return float(found) if np.ndim(found) == 0 else found
