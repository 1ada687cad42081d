"""Laws of the waiting and the response time of a policy, and their percentiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import block_array, csr_array

from phasefit import PhaseType, convolve, mixture
from phasefit.checks import probabilities, shaped
from phasefit.records import Law
from qmodels.errors import MemoryBudgetError, ModelError, NoLawError
from qmodels.memory import MOST_SECONDS
from qmodels.networks.many_server import ManyServerQueue, ManyServerSolution
from qmodels.networks.response import response_law
from qmodels.networks.sojourn import SojournLaw
from qmodels.networks.waiting import waiting_rates
from qmodels.policies.methods import APPROXIMATE, method_of
from qmodels.policies.models.base import SolvedQueue
from qmodels.policies.models.crowd_response import crowd_response, waits_are_whole
from qmodels.policies.models.described import DrawnTimes, described_times
from qmodels.policies.models.disk_crowding import within_floats
from qmodels.policies.models.fitted import own_demand, whole_time
from qmodels.policies.models.played_turns import played_response
from qmodels.policies.models.response_bounds import fastest, nearly, slowest
from qmodels.policies.models.response_in_order import response_in_order
from qmodels.policies.models.staged_response import staged_response
from qmodels.programs.model import parts

#: What cutting off the queue may change in a probability, by default.
TRUNCATION: Final = 1e-10
#: Seconds that a percentile may take where the model is approximate anyway; states of a followed job's
#: chain from which on it may take as long, and multiplications beyond which it does.
_QUICK, _LARGE, _LONG = 3.0, 2000, 2e9
#: Part of a percentile that rounding may take from it.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, eq=False)
class TimeLaw(Law):
    """Law of a time that a job spends: until it starts, or until it departs.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> law = predict(SpaceSharing(1, 1), System(16, 16), work, load=0.5).response
    >>> law.method, round(law.mean, 4), round(law.percentile(0.95), 3)
    ('exact', 132.0635, 395.627)
    """

    law: PhaseType | SojournLaw | DrawnTimes  #: the law itself, in seconds
    method: str  #: that of the prediction
    #: what cutting off the queue, or how few jobs were played, may have changed in any probability
    truncation: float

    def record(self) -> dict[str, Any]:
        """Moments and percentiles in seconds; the chain of the law is in `law`."""
        shares = (0.5, 0.9, 0.95, 0.99)
        return {
            "unit": "s",
            **self._by_name("mean", "std", "scv"),
            "percentiles": {f"{q:g}": self.percentile(q) for q in shares},
            "method": self.method,
            "truncation": self.truncation,
        }

    @property
    def mean(self) -> float:
        """Mean in seconds."""
        return self.law.mean

    @property
    def std(self) -> float:
        """Standard deviation in seconds."""
        return self.law.std

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.law.scv

    def moment(self, k: int) -> float:
        """Raw moment E[X^k] in seconds^k."""
        return self.law.moment(k)

    def cdf(self, x: ArrayLike) -> Any:
        """P(X <= x) at `x` (seconds)."""
        return self.law.cdf(x)

    def sf(self, x: ArrayLike) -> Any:
        """P(X > x) at `x` (seconds); below `truncation` its digits mean nothing."""
        return self.law.sf(x)

    def ppf(self, q: ArrayLike) -> Any:
        """Seconds not exceeded with probability `q`; the same as `percentile`."""
        return self.percentile(q)

    def percentile(self, q: ArrayLike) -> Any:
        """Seconds that a share `q` of the jobs do not exceed; 0.95 for the 95th percentile.

        Raises
        ------
        ModelError
            If `q` is not in [0, 1), or so near one that the cut of the queue would show.
        """
        try:
            share = probabilities("q", q)
        except ModelError as error:
            raise ModelError(f"{error}; the 95th percentile is q = 0.95") from None
        if share.size and 1.0 - share.max() <= 100.0 * self.truncation:
            raise ModelError(
                f"q must be below {1.0 - 100.0 * self.truncation:.12g}, got {share.max():.12g}: "
                f"beyond, the time has no bound, the cut of the queue shows or too few jobs were played"
            )
        return shaped(np.asarray(self.law.ppf(share)))


def wait_of(solved: SolvedQueue) -> TimeLaw:
    """Law of the time from arrival to the start, by any model of a policy.

    Parameters
    ----------
    solved : SolvedQueue
        Such as ``predict(...).solved``.

    Returns
    -------
    TimeLaw
        Phase-type, of as many phases as there are states with all partitions taken; its atom
        at zero is the probability of starting at once.

    Notes
    -----
    While a job waits all partitions are taken and nothing that comes later matters to it, so the
    law is that of the model without further approximation, see `waiting_rates`. Of jobs drawn from a
    log it is the law of the times that they had.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> law = wait_of(predict(SpaceSharing(1, 1), System(16, 16), work, load=0.5).solved)
    >>> round(law.sf(0.0), 6), round(law.percentile(0.95), 3)
    (0.507812, 306.135)
    """
    drawn = described_times(_checked(solved))
    if drawn is not None:
        return TimeLaw(drawn.wait, _method_of_drawn(solved), 0.0)
    return TimeLaw(_wait(solved), solved.method, 0.0)


def _wait(solved: SolvedQueue) -> PhaseType:
    queue = _checked(solved).queue
    start, jumps, exits = waiting_rates(solved.chain, queue.busy, queue.process)
    (start,) = within_floats([start])  # a law has to say something of jobs that all but never wait
    # the last rate below a capacity leaves less than rounding to those that start at once
    return PhaseType.from_rates(start, jumps, exits, atom=max(1.0 - float(start.sum()), 0.0))


def response_of(
    solved: SolvedQueue, *, truncation: float = TRUNCATION, memory: float | None = None
) -> TimeLaw:
    """Law of the time from arrival to departure, by the speed-scaled model.

    Parameters
    ----------
    solved : SolvedQueue
        Such as ``predict(...).solved``.
    truncation : float
        What cutting off the queue behind a job may change in any probability at most.
    memory : float, optional
        Bytes that the chain may take. By default half of the machine's memory, and then no more
        than a percentile takes about half a minute for.

    Returns
    -------
    TimeLaw
        `method` is "exact" where that of the prediction is.

    Raises
    ------
    MemoryBudgetError
        If the chain would not fit.
    ModelError
        If the queue is that of another model, in whose states no job can be told from the
        others, or repartitioning takes time; `validation.simulate` measures these.

    Notes
    -----
    Where the speed of a job does not depend on how many run, the response is the wait and then
    the service. Elsewhere one job is followed while others come and go, in a chain cut off where
    that can no longer matter, see `qmodels.networks.response`. Of a demand that was fitted to data
    the job itself has a law with their percentiles (`phasefit.tail_law`), the others that of the
    chain, which has their moments; models that count jobs by stage keep that for all. Under time
    sharing with M > 1 the followed job gets on at the mean speed of all that run: who shares a
    partition with whom is only in a simulation. Where jobs take turns they are played on one
    partition, see `played_response`.

    Examples
    --------
    The slowest job in twenty on a machine whose four partitions share one disk:

    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=64.0)]))
    >>> law = response_of(predict(SpaceSharing(4, 1), System(16, 16), work, load=0.5).solved)
    >>> law.method, round(law.mean, 3), round(law.percentile(0.95), 2), law.truncation < 1e-10
    ('approximate', 19.087, 54.92, True)
    """
    drawn = described_times(_checked(solved))
    if drawn is not None:
        return TimeLaw(drawn.response, _method_of_drawn(solved), 0.0)
    return _response(solved, truncation, memory, None)


def percentile_of(solved: SolvedQueue, q: ArrayLike, *, memory: float | None = None) -> Any:
    """Seconds from arrival to departure that a share `q` of the jobs do not exceed.

    Parameters
    ----------
    solved : SolvedQueue
        Such as ``predict(...).solved``.
    q : array_like
        Shares, such as 0.95.
    memory : float, optional
        As for `response_of`.

    Returns
    -------
    float or ndarray
        Of the shape of `q`: the percentiles of `response_of`, to within its `truncation`.

    Raises
    ------
    MemoryBudgetError, ModelError
        As for `response_of` and `TimeLaw.percentile`.

    Notes
    -----
    A percentile asks nothing of times beyond itself. It is no more than that of a job which always
    runs at the slowest speed, and those that arrive behind the job by then are few: next to a
    capacity the chain is many times smaller than that of the whole law.

    Where it would still take longer than some seconds, and the model is approximate anyway, the job
    meets as many others as there are in the mean of such states: see `crowd_response`, within 1 to 2 %
    of the chain in most systems.

    In the states of a model of who is on which partition no job can be told from the others; the
    percentiles of a model where one can are taken, as much larger as the mean is, or, where a few jobs
    behind a long transfer make the mean larger, with as many of them held up for as long.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=64.0)]))
    >>> solved = predict(SpaceSharing(4, 1), System(16, 16), work, load=0.5).solved
    >>> round(percentile_of(solved, 0.95), 2)
    54.92
    """
    _checked(solved)
    if solved.built.turns or described_times(solved) is not None:
        return response_of(solved).percentile(q)
    if solved.built.model.followed_by or _cut_in_two(solved):
        other = _stand_in(solved)
        held_up, factor = _longer(solved, other)
        if held_up is None:
            return percentile_of(other, q, memory=memory) * factor
        return _percentile(other, q, memory, held_up) * factor
    return _percentile(solved, q, memory)


def _longer(solved: SolvedQueue, other: SolvedQueue) -> tuple[tuple[float, float] | None, float]:
    """How the followed jobs of another model come to the mean of this one.

    The part of them that is held up, and for how many seconds, where the mean is longer and the model says
    by what; and how many times as long all of them take then.
    """
    mean, followed, seconds = _mean(solved), _mean(other), solved.built.held_up
    if seconds <= 0.0 or mean <= followed:
        return None, mean / followed
    part = min((mean - followed) / seconds, 1.0)
    return (part, seconds), mean / (followed + part * seconds)


def has_exact_percentiles(solved: SolvedQueue) -> bool:
    """Return whether percentiles are as exact as the mean.

    Parameters
    ----------
    solved : SolvedQueue
    """
    queue = solved.queue
    return not (solved.built.turns or solved.built.model.followed_by) and (
        queue.running.on_partitions is None or waits_are_whole(queue)
    )


def _percentile(
    solved: SolvedQueue, q: ArrayLike, memory: float | None, held_up: tuple[float, float] | None = None
) -> Any:
    """The same of jobs that are followed, a part of whom are `held_up` for so many seconds more."""
    try:
        share = probabilities("q", q)
    except ModelError:
        share = np.zeros(0)  # is refused below, in the words for a percentile
    asked = float(share.max(initial=0.0))
    most = asked if share.size and asked < 1.0 - 100.0 * TRUNCATION else None
    if most is None or memory is not None or solved.built.exact:
        return _held_up(_response(solved, TRUNCATION, memory, most), held_up).percentile(q)

    def in_a_crowd() -> TimeLaw:
        return _held_up(_in_a_crowd(solved, own_demand(solved)), held_up)

    try:
        time = _held_up(_response(solved, TRUNCATION, memory, most, _QUICK), held_up)
    except MemoryBudgetError:
        return in_a_crowd().percentile(q)
    law = time.law
    if isinstance(law, SojournLaw) and law.order > _LARGE:
        among = in_a_crowd()
        if law.work_until(float(among.percentile(most))) > _LONG:
            return among.percentile(q)
    return time.percentile(q)


def _held_up(time: TimeLaw, held_up: tuple[float, float] | None) -> TimeLaw:
    """The law where this part of the jobs stands still for an exponential time of this mean as well."""
    if held_up is None:
        return time
    (chance, mean), law = held_up, time.law
    if isinstance(law, PhaseType):
        longer = convolve(PhaseType.exponential(mean=mean), law)
        return replace(time, law=mixture([1.0 - chance, chance], [law, longer]))
    assert isinstance(law, SojournLaw)
    start = np.append((1.0 - chance) * law.start, chance)
    rates = block_array([[law.rates, None], [csr_array(law.start[None, :] / mean), csr_array((1, 1))]])
    return replace(time, law=SojournLaw(start, csr_array(rates), np.append(law.ends, 0.0)))


def _horizon(solved: SolvedQueue, own: PhaseType | None, share: float | None) -> float:
    """Seconds that so many of the jobs do not exceed, or more, if theirs is this law; None: all."""
    if share is None:
        return inf
    slow = slowest(_wait(solved), solved.queue.running, own)
    return inf if slow is None else (1.0 + _ROUNDING) * nearly(slow, share, above=True)


def _cut_in_two(solved: SolvedQueue) -> bool:
    """Return whether the jobs of a mix are counted by branches that say little of its programs."""
    running, workload = solved.queue.running, solved.workload
    if running.at_one_speed is not None or running.staged is None or workload.mix == "mean":
        return False
    programs = len(parts(workload.program))
    by_branch = solved.built.name == "time-sharing" and programs > 1
    return by_branch and running.staged.order < programs * workload.demand.order


def _slower(law: PhaseType | SojournLaw | DrawnTimes, factor: float) -> PhaseType | SojournLaw | DrawnTimes:
    """Return the law of a time that is so many times as long."""
    if isinstance(law, PhaseType):
        return law.scale(factor)
    if isinstance(law, SojournLaw):
        return SojournLaw(law.start, law.rates / factor, law.ends / factor)
    return DrawnTimes(law.times * factor)


def _stand_in(solved: SolvedQueue) -> SolvedQueue:
    """Return the queue of the model whose jobs are followed in place of those of this one."""
    # that module needs this package's models, and they this one
    from qmodels.policies.models.build import built_model, solved_queue

    given = solved.policy, solved.system, solved.workload
    if solved.built.model.followed_by:
        for name in (*solved.built.model.followed_by, "crowded-speeds"):
            try:
                return solved_queue(built_model(*given, name), *given, solved.queue.arrival_rate)
            except ModelError:  # it has too many jobs, or it does not know the policy
                continue
    return solved_queue(built_model(*given, "speed-scaled"), *given, solved.queue.arrival_rate)


def _mean(solved: SolvedQueue) -> float:
    """Return the mean response, by Little's law."""
    return float(solved.chain.mean_level()) / solved.queue.arrival_rate


def least_percentile(solved: SolvedQueue, q: float) -> float:
    """Seconds that a percentile of the response is no less than, found with little work.

    Parameters
    ----------
    solved : SolvedQueue
    q : float
        A share, such as 0.95.

    Returns
    -------
    float
        The percentile of a job that always runs at the greatest speed, after the wait of the
        model, or a little less; zero where the model does not say how fast a job may be.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=64.0)]))
    >>> solved = predict(SpaceSharing(4, 1), System(16, 16), work, load=0.5).solved
    >>> round(least_percentile(solved, 0.95), 2), round(percentile_of(solved, 0.95), 2)
    (54.54, 54.92)
    """
    if solved.built.turns or described_times(solved) is not None:
        return 0.0
    share = max(q - 2.0 * TRUNCATION, 0.0)
    fast = fastest(_wait(solved), solved.queue.running, own_demand(solved))
    # the chain that is followed is cut off, which makes its times a little shorter
    return 0.0 if fast is None else (1.0 - _ROUNDING) * nearly(fast, share, above=False)


def _response(
    solved: SolvedQueue,
    truncation: float,
    memory: float | None,
    share: float | None,
    seconds: float = MOST_SECONDS,
) -> TimeLaw:
    """Law of the response, of use up to what this share of the jobs does not exceed; None: all of it.

    In `seconds` less than are begun unasked the nearest law of the job itself, or none.
    """
    queue = _checked(solved).queue
    if solved.built.turns:
        return _played(solved)
    if solved.built.model.followed_by or _cut_in_two(solved):
        other = _stand_in(solved)
        time = replace(_response(other, truncation, memory, share), method=APPROXIMATE)
        held_up, factor = _longer(solved, other)
        time = _held_up(time, held_up)
        return replace(time, law=_slower(time.law, factor))
    if queue.running.behind is not None:
        return TimeLaw(response_in_order(queue, solved.chain), solved.method, 0.0)
    if queue.running.staged is not None:
        asked = partial(
            staged_response,
            queue,
            solved.chain,
            truncation=truncation,
            memory=memory,
            horizon=_horizon(solved, None, share),
            seconds=seconds,
        )
        nearer = queue.running.staged.nearer
        if nearer is not None:
            try:
                law, bound = asked(own=nearer)
                return TimeLaw(law, solved.method, bound)
            except MemoryBudgetError:  # nothing was done yet; the stages that all have may fit
                if seconds < MOST_SECONDS:
                    raise
        law, bound = asked()
        return TimeLaw(law, solved.method, bound)
    if queue.running.on_partitions is not None:
        return _in_a_crowd(solved, whole_time(solved))
    if queue.running.at_one_speed is None:
        raise NoLawError(
            f'the model "{solved.built.name}" of this policy does not follow single jobs, so it '
            f'has no law of the response; use model="speed-scaled" without overhead, its '
            f"mean_response and law of the wait, or measure percentiles with validation.simulate"
        )
    demand, speeds = queue.running.at_one_speed
    found = ManyServerSolution(ManyServerQueue(queue.arrivals, demand, speeds=speeds), solved.chain, 0.0)

    def followed(own: PhaseType | None) -> TimeLaw:
        horizon = _horizon(solved, own, share)
        law, bound = response_law(
            found, truncation=truncation, memory=memory, horizon=horizon, service=own, seconds=seconds
        )
        return TimeLaw(law, solved.method, bound)

    return followed(own_demand(solved))


@lru_cache(maxsize=16)  # half a megabyte each
def _played(solved: SolvedQueue) -> TimeLaw:
    """The law of jobs that take turns."""
    times, beyond = played_response(solved, _wait(solved))
    # percentiles are refused at a hundred times the truncation
    return TimeLaw(times, method_of(exact=False, fitted=solved.workload.fitted), beyond / 100.0)


def _in_a_crowd(solved: SolvedQueue, own: PhaseType | None) -> TimeLaw:
    """The law of a job that meets as many others as there are, see `crowd_response`."""
    law, whole = crowd_response(solved.queue, solved.chain, own)
    return TimeLaw(law, solved.method if whole else APPROXIMATE, 0.0)


def _method_of_drawn(solved: SolvedQueue) -> str:
    return method_of(exact=solved.built.exact, fitted=True, drawn=True)


def _checked(solved: SolvedQueue) -> SolvedQueue:
    if not isinstance(solved, SolvedQueue):
        raise ModelError(f"give the solved queue of a prediction, got {solved!r:.60}")
    return solved
