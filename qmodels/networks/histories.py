"""Descriptions of the jobs of a log: how they come and what they bring, without their own order.

Two laws say nothing of what jobs of a log have in common: users submit several in a row, some weeks
bring more work than others. A description keeps part of that and leaves the rest to chance, so that
an answer for it is one for jobs like those of the log. Which one is near is told by weeks that it
was not made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import MAP, PhaseType, match_moments
from phasefit.arrays import Array
from phasefit.count_moments import counted_dispersion
from phasefit.records import Record
from qmodels.errors import MemoryBudgetError
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.replay import replayed

#: Descriptions by name, with what jobs like those of the log are, in words.
DESCRIPTIONS: Final = {
    "independent": "independent gaps and sizes",
    "dispersion": "independent sizes, gaps as variable as the work that the log brings in a busy period",
    "sessions": "sessions of its users, begun at random times",
    "days": "days of it in random order",
}
#: Seconds without a submission after which a user begins another session.
_PAUSE: Final = 3600.0
_DAY, _DAYS_OF_A_BLOCK, _FEWEST_BLOCKS = 86_400.0, (7, 3, 1), 8
#: Fewest jobs of a log that a description is chosen for, and jobs that are drawn for an answer.
_FEWEST: Final = 400
_DRAWN: Final = 60_000
_SEED: Final = 36_004_001
#: Part of the error of "days", which keeps the most of a log, that another description's is below
#: where it is taken instead: halves tell no smaller difference. Chosen on logs for tuning.
_NEARER: Final = 1.0 / 3.0
#: Queues by which descriptions are judged: numbers of servers, and loads.
_SERVERS, _LOADS = (1, 4), (0.5, 0.7, 0.85)
#: Range of the scv of gaps that a law of two phases is made for.
_LEAST_SCV, _MOST_SCV = 0.5, 2000.0
#: Windows of a length that its dispersion is known from.
_WINDOWS: Final = 30


@dataclass(frozen=True, eq=False)
class History(Record):
    """Jobs in order of arrival, as a log holds them.

    Parameters
    ----------
    gaps, work : (n,) ndarray
        Time before each job, seconds, and what it brings, in any unit.
    users : (n,) ndarray or None
        Number of who submitted each; None where it is not known.
    part_of : int, optional
        Days of a block of the history that it was made of.

    Examples
    --------
    >>> History(np.full(900, 86_400.0), np.ones(900), None).block_days
    7
    """

    gaps: Array
    work: Array
    users: NDArray[np.int64] | None
    part_of: int | None = None

    @cached_property
    def times(self) -> Array:
        """Times of arrival (n,), seconds."""
        return np.cumsum(self.gaps)

    @cached_property
    def block_days(self) -> int:
        """Days that are kept together: a week, or fewer of a short log; 0 of one that is shorter still."""
        if self.part_of is not None:
            return self.part_of
        fits = [days for days in _DAYS_OF_A_BLOCK if self.times[-1] >= _FEWEST_BLOCKS * days * _DAY]
        return fits[0] if fits else 0

    @cached_property
    def sessions(self) -> NDArray[np.int64]:
        """Number of the session of each job (n,): of one user, with no pause of an hour."""
        users = np.zeros(self.gaps.size, np.int64) if self.users is None else self.users
        order = np.argsort(users, kind="stable")
        who, when = users[order], self.times[order]
        begins = np.concatenate([[True], (np.diff(who) != 0) | (np.diff(when) > _PAUSE)])
        found = np.empty(order.size, np.int64)
        found[order] = np.cumsum(begins) - 1
        return found

    @cached_property
    def scvs(self) -> tuple[float, float]:
        """Squared coefficients of variation of gaps and work."""
        gaps, work = (float(x.var() / x.mean() ** 2) for x in (self.gaps, self.work))
        return gaps, work

    @cached_property
    def dispersions(self) -> tuple[Array, Array]:
        """Windows in mean gaps, and the index of dispersion of work in each."""
        gaps = self.gaps / self.gaps.mean()
        windows = 2.0 ** np.arange(0.0, max(np.log2(gaps.size / _WINDOWS), 0.0) + 1e-9, 0.5)
        return windows, np.array([counted_dispersion(gaps, w, self.work) for w in windows])

    def arrival_scv(self, load: float) -> float:
        """Return the squared coefficient of variation that independent gaps would need at a load.

        Parameters
        ----------
        load : float
            Part of the capacity that is asked for, between 0 and 1.

        Notes
        -----
        The index of dispersion of work at the time that matters at the load, less the scv of sizes.
        That time is where a line of slope (1 - load) / load is farthest below the square root of
        twice the variance of the work (robust queueing [1]_).

        References
        ----------
        .. [1] W. Whitt, W. You, "Using robust queueing to expose the impact of dependence in
           single-server queues", *Oper. Res.* 66 (2018) 184-199.
        """
        windows, dispersions = self.dispersions
        above = np.sqrt(2.0 * windows * dispersions) - (1.0 - load) / load * windows
        scv = float(dispersions[above.argmax()]) - self.scvs[1]
        return min(max(scv, _LEAST_SCV), _MOST_SCV)

    def halves(self) -> tuple[History, History]:
        """Return every second block of days, and the others, each drawn together in time."""
        length = self.block_days * _DAY
        block = np.floor(self.times / length).astype(np.int64)
        whole = block < block[-1] - (block[-1] + 1) % 2  # as many of both, the last one not full
        parts = []
        for first in (0, 1):
            mine = np.flatnonzero(whole & (block % 2 == first))
            times = self.times[mine] - (block[mine] - block[mine] // 2) * length
            parts.append(self._of_times(times, mine))
        return parts[0], parts[1]

    def drawn(self, name: str) -> Iterator[tuple[Array, Array]]:
        """Yield gaps and work of histories like this one by a description, always the same ones.

        Parameters
        ----------
        name : str
            "sessions" or "days".
        """
        for place in range(max(1, _DRAWN // self.gaps.size)):
            rng = np.random.default_rng([_SEED, place])
            part = self._with_sessions_anew(rng) if name == "sessions" else self._with_days_anew(rng)
            yield (
                part.gaps * (self.gaps.mean() / part.gaps.mean()),
                part.work * (self.work.mean() / part.work.mean()),
            )

    def _with_days_anew(self, rng: np.random.Generator) -> History:
        """The same blocks of days in random order, the last one, which is not full, at the end."""
        length = self.block_days * _DAY
        block = np.floor(self.times / length).astype(np.int64)
        place = np.append(rng.permutation(block[-1]), block[-1])
        times = self.times + (place[block] - block) * length
        order = np.argsort(times, kind="stable")
        return self._of_times(times[order], order)

    def _with_sessions_anew(self, rng: np.random.Generator) -> History:
        """As many jobs, of sessions drawn with replacement that begin at random."""
        order = np.argsort(self.sessions, kind="stable")
        counts = np.bincount(self.sessions)
        first = np.cumsum(counts) - counts
        begun = self.times[order][first]
        picked = rng.integers(counts.size, size=counts.size)
        number = counts[picked]
        jobs = order[np.repeat(first[picked] - np.cumsum(number) + number, number) + np.arange(number.sum())]
        since = self.times[jobs] - np.repeat(begun[picked], number)
        times = np.repeat(np.sort(rng.uniform(0.0, self.times[-1], counts.size)), number) + since
        ordered = np.argsort(times, kind="stable")
        return self._of_times(times[ordered], jobs[ordered])

    def _of_times(self, times: Array, jobs: NDArray[np.int64]) -> History:
        """Jobs of these numbers at other times."""
        gaps = np.diff(times, prepend=0.0)
        users = None if self.users is None else self.users[jobs]
        return History(np.maximum(gaps, 0.0), self.work[jobs], users, self.block_days)


@dataclass(frozen=True)
class Choice(Record):
    """Description of a log that was taken, and how far each is off weeks that it was not made of.

    Examples
    --------
    >>> print(Choice("days", {"days": 0.07, "independent": 0.4}))
    days of it in random order (off by 7 % on held-out halves; independent 49 %)
    """

    name: str  #: one of `DESCRIPTIONS`
    errors: dict[str, float]  #: mean distance of logarithms of the mean response on held-out halves

    def __str__(self) -> str:
        words = DESCRIPTIONS[self.name]
        if not self.errors:
            return words
        told = {name: f"{np.expm1(error):.0%}".replace("%", " %") for name, error in self.errors.items()}
        others = ", ".join(f"{name} {error}" for name, error in told.items() if name != self.name)
        return f"{words} (off by {told[self.name]} on held-out halves; {others})"


def history_of(arrivals: PhaseType | MAP, service: PhaseType) -> History | None:
    """Return the jobs that two laws were fitted to; None where those are not the same jobs.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        Law of the gaps; a process that follows the log's dependence is its own description.
    service : PhaseType
        Law of the work.
    """
    came, brought = arrivals.fitted_to, service.fitted_to
    if isinstance(arrivals, MAP) or came is None or brought is None:
        return None
    if not came.size == brought.size >= _FEWEST or not came.source == brought.source != "":
        return None
    known: History | None = came.kept.get("history")
    if known is None or known.work is not brought.values:
        assert came.values is not None
        assert brought.values is not None
        known = came.kept["history"] = History(came.values, brought.values, came.labels)
        came.kept.pop("choice", None)
    return known


def chosen_description(arrivals: PhaseType | MAP, service: PhaseType) -> Choice:
    """Return the description of the jobs that two laws were fitted to, by held-out halves.

    Parameters
    ----------
    arrivals, service : PhaseType or MAP
        As for `history_of`.

    Notes
    -----
    Every second week makes one half, or every second block of three days or of one of a shorter log. Each
    description of one half says the mean response at queues of one and four servers and loads of
    .5, .7 and .85, and is held against the jobs of the other half in their own order. What is in
    both halves, such as a year in which the load grows, is not told apart. Days in random order keep
    the most of a log, so another description is taken only where its error is a third of theirs.
    """
    history = history_of(arrivals, service)
    if history is None or not history.block_days or history.times[-1] <= 0.0:
        return Choice("independent", {})
    assert arrivals.fitted_to is not None
    kept = arrivals.fitted_to.kept
    if "choice" not in kept:
        kept["choice"] = _chosen(history)
    choice: Choice = kept["choice"]
    return choice


def _chosen(history: History) -> Choice:
    """The description whose answers for one half are nearest to the jobs of the other."""
    halves = history.halves()
    if min(half.gaps.size for half in halves) < _FEWEST // 4 or any(
        half.work.max() <= 0.0 or half.gaps.max() <= 0.0 for half in halves
    ):
        return Choice("independent", {})
    true = [_responses(half, [(half.gaps, half.work)]) for half in halves]
    errors = {}
    for name in DESCRIPTIONS:
        said = [_described_responses(half, name) for half in halves]
        distances = [np.abs(np.log(said[k] / true[1 - k])) for k in (0, 1)]
        errors[name] = float(np.mean(distances))
    nearest = min(errors, key=lambda name: errors[name])
    return Choice(nearest if errors[nearest] < _NEARER * errors["days"] else "days", errors)


def _described_responses(history: History, name: str) -> Array:
    """Mean responses by a description at each queue of the comparison, in units of the mean work."""
    if name in ("sessions", "days"):
        return _responses(history, list(history.drawn(name)))
    of_gaps, of_work = (max(scv, 0.01) for scv in history.scvs)
    found = []
    for servers in _SERVERS:
        for load in _LOADS:
            scv = of_gaps if name == "independent" else history.arrival_scv(load)
            try:
                found.append(_response_of_moments(servers, load, scv, of_work))
            except MemoryBudgetError:
                # very regular laws are of many phases; then by the formula of Allen and Cunneen
                wait = _response_of_moments(servers, load, 1.0, 1.0) - 1.0
                found.append(1.0 + 0.5 * (scv + of_work) * wait)
    return np.array(found)


def _response_of_moments(servers: int, load: float, of_gaps: float, of_work: float) -> float:
    """Mean response of a queue by the scv of gaps and of work, in units of the mean work."""
    mean = 1.0 / (load * servers)
    arrivals, demand = match_moments(mean, (1.0 + of_gaps) * mean**2), match_moments(1.0, 1.0 + of_work)
    return ManyServerQueue(arrivals, demand, servers=servers).solve().mean_response


def _responses(history: History, played: list[tuple[Array, Array]]) -> Array:
    """Mean responses of jobs in these orders at each queue of the comparison."""
    found = []
    for servers in _SERVERS:
        for load in _LOADS:
            stays = [
                replayed(
                    gaps / (history.gaps.mean() * load * servers),
                    work / history.work.mean(),
                    np.ones(servers),
                )[1]
                for gaps, work in played
            ]
            found.append(float(np.concatenate(stays).mean()))
    return np.array(found)
