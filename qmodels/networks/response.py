"""The response of a job in a queue with many servers: wait and service as one law."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, fsum, inf, log

import numpy as np

from phasefit import MAP, PhaseType, convolve
from phasefit.arrays import Array
from phasefit.checks import real_number
from qmodels.errors import ModelError
from qmodels.markov import QBDSolution
from qmodels.memory import MOST_SECONDS, check_memory, check_seconds, memory_limit
from qmodels.networks.many_server import ManyServerSolution
from qmodels.networks.moves import Moves, rates_of
from qmodels.networks.occupancy import Centre, waiting_centre
from qmodels.networks.sojourn import SojournLaw
from qmodels.networks.waiting import Wait, kinds_of_arrivals, waits_by_kind

#: Bytes held for each rate of the chain while it is put together and asked.
_BYTES = 60.0
#: Seconds of computing for each rate of the chain of a followed job: a percentile takes some
#: thousand products with it. Measured from fifty thousand rates to two million.
SECONDS_A_RATE = 3e-6
#: Speeds that agree to this are one speed, and the service does not depend on who comes.
_SAME = 1e-12


def response_law(
    solution: ManyServerSolution,
    *,
    truncation: float = 1e-12,
    memory: float | None = None,
    horizon: float = inf,
    service: PhaseType | None = None,
    seconds: float = MOST_SECONDS,
) -> tuple[PhaseType | SojournLaw, float]:
    """Return the law of the time from arrival to departure, first come first served.

    Parameters
    ----------
    solution : ManyServerSolution
        The queue.
    truncation : float
        What cutting off the queue behind the job may change in any probability at most.
    memory : float, optional
        Bytes that the chain may take. By default half of the machine's memory, and then no more
        than a percentile takes about half a minute for.
    horizon : float
        Seconds up to which the law is asked for. Beyond, times are too short, and so is the mean;
        next to a capacity the chain is many times smaller.
    service : PhaseType, optional
        Law of the service of the job itself, in seconds at speed one, where it is another than that of
        all others; of the same mean.
    seconds : float
        Computing that a percentile may take, about, where `memory` is not given.

    Returns
    -------
    law : PhaseType or SojournLaw
        In seconds.
    bound : float
        Largest possible difference of any probability from the law of the endless queue, of times up to
        the horizon: zero where all speeds are the same, at most `truncation` elsewhere.

    Raises
    ------
    MemoryBudgetError
        If the chain would not fit; nothing has been allocated then.
    ModelError
        If `truncation` is not above 0 and below 0.1.

    Notes
    -----
    With one speed the service does not depend on who comes later, and the response is the sum of
    the wait and the service. With speeds that depend on how many run it does, and a job is
    followed together with those behind it. While it waits, what is ahead needs no count: with
    the vectors and matrices of the wait, ``y exp(T t) C`` is the density of starting after t
    seconds beside given others [1]_, and arrivals behind it are independent of that. Once it is
    in service, the chain holds its stage, the stages of the others and how many wait.

    Arrivals that would make the queue behind longer than the cut are lost. A job can notice only
    if there is one while it is there. There are, per job, as many of them as arrivals that find
    a queue beyond the cut, and c times those that find it right at the cut, which is the bound.
    Up to a horizon it can notice only if more arrive by then than there is room for, which bounds
    the cut as well: see `most_arrivals`.

    References
    ----------
    .. [1] Asmussen and O'Cinneide 1998.

    Examples
    --------
    Two jobs that slow each other down; without, the 95 % response would be 3.82 s:

    >>> from qmodels.networks.many_server import ManyServerQueue
    >>> one = PhaseType.exponential(mean=1.0)
    >>> law, bound = response_law(ManyServerQueue(one, one, speeds=[1.0, 0.8]).solve())
    >>> round(law.mean, 6), round(law.ppf(0.95), 4), bound < 1e-12
    (1.939394, 5.6524, True)
    """
    truncation = real_number("truncation", truncation, above=0.0)
    if truncation >= 0.1:
        raise ModelError(f"truncation must be below 0.1, got {truncation:.6g}")
    speeds = solution.queue._speeds
    service = solution.queue.service if service is None else service
    if np.allclose(speeds, speeds[0], rtol=_SAME, atol=0.0):
        return convolve(solution.wait, service.scale(1.0 / speeds[0])), 0.0
    places, bound = places_behind(
        solution.chain,
        solution.queue.process,
        speeds.size,
        truncation,
        lambda places: _check_memory(solution, service.order, places, memory, seconds),
        horizon,
    )
    return _law_of_followed(solution, service, places), bound


def places_behind(
    chain: QBDSolution,
    arrivals: MAP,
    servers: int,
    truncation: float,
    check: Callable[[int], None],
    horizon: float = inf,
) -> tuple[int, float]:
    """Return the jobs to be counted behind one that is followed, and what leaving out more may change.

    Parameters
    ----------
    chain : QBDSolution
        The queue; its last level has all servers busy and nobody waiting.
    arrivals : MAP
        Arrivals, in seconds.
    servers : int
        Servers of the queue.
    truncation : float
        See `response_law`.
    check : callable
        Called with numbers of jobs that it will be at least; may raise.
    horizon : float
        See `response_law`.
    """
    enough = most_arrivals(arrivals, horizon, truncation)
    levels = chain.levels
    decay = chain.decay_rate()
    # two orders of magnitude short of the mark, so that nothing is refused needlessly
    slope = -log(decay) if 0.0 < decay < 1.0 else inf if decay == 0.0 else 0.0
    wanted = -log(100.0 * truncation)
    check(ceil(min(wanted / max(slope, 1e-15), enough, 1e15)) if wanted > 0.0 else 0)
    once = np.ones(len(levels.ratio))
    total = levels.summed(once)
    jumps = levels.up_from(chain.boundary[-1]) / arrivals.rate
    places = 0
    while True:
        beyond = levels.ahead(jumps, 1)
        bound = float(beyond @ total) + servers * float(jumps @ once)
        if bound <= truncation or places >= enough:
            check(places)
            return places, min(bound, truncation)
        jumps, places = beyond, places + 1
        if places & (places - 1) == 0:  # at every power of two
            check(places)


def most_arrivals(arrivals: MAP, horizon: float, chance: float) -> float:
    """Return a number of jobs that is exceeded within the horizon with a small probability at most.

    Parameters
    ----------
    arrivals : MAP
        Arrivals, in seconds, whatever its phase is to begin with.
    horizon : float
        Seconds; infinite for no limit.
    chance : float
        The probability, above zero.

    Returns
    -------
    float
        A whole number; infinite where none is known.

    Notes
    -----
    Of N arrivals within t, P(N > n) is at most E[z^N] / z^(n + 1) for every z > 1, and E[z^N] is
    exp((D0 + z D1) t) 1. With positive v and r the largest of ((D0 + z D1) v) / v that is at
    most exp(r t) max(v) / min(v); the Perron vector makes r least. The best of some z is taken.

    References
    ----------
    .. [1] H. Chernoff, "A measure of asymptotic efficiency for tests of a hypothesis based on the
       sum of observations", *Ann. Math. Statist.* 23 (1952) 493-507.

    Examples
    --------
    Of Poisson arrivals at rate one more than 156 come within 100 s with probability 1e-7:

    >>> most_arrivals(MAP.poisson(rate=1.0), 100.0, 1e-7)
    162.0
    """
    if horizon == inf:
        return inf
    jumps, z = arrivals.jumps, 1.0 + np.geomspace(1e-3, 30.0, 40)
    local = jumps - np.diag(jumps.sum(axis=1) + arrivals.D1.sum(axis=1))
    rates = local + z[:, None, None] * arrivals.D1
    values, vectors = np.linalg.eig(rates)
    largest = values.real.argmax(axis=1)
    v = np.abs(np.take_along_axis(vectors, largest[:, None, None], axis=2)[:, :, 0].real)
    low, high = v.min(axis=1), v.max(axis=1)
    # phases that hardly matter to each other: no bound that is of use
    usable = np.flatnonzero(low > 1e-12 * high)
    if usable.size == 0:
        return inf
    growth = horizon * ((rates @ v[:, :, None])[:, :, 0][usable] / v[usable]).max(axis=1)
    growth += np.log(high[usable] / low[usable])
    least = float(((growth - log(chance)) / np.log(z[usable])).min()) - 1.0
    return max(0.0, float(np.ceil(least)))


def _check_memory(
    solution: ManyServerSolution, service_stages: int, places: int, memory: float | None, most: float
) -> None:
    """MemoryBudgetError for a chain that is too large; `own` are the stages of the job itself."""
    queue = solution.queue
    m, c, stages = queue.service.order, queue._speeds.size, queue.arrivals.order
    full = len(queue._busy[0])
    fewer = full * c // (c + m - 1)  # occupancies of one server less
    # waiting jobs are followed for each kind of their arrival, in phases of all kinds
    several = len(kinds_of_arrivals(queue.process)[1]) ** 2
    states = stages * (places + 1) * (several * full + service_stages * fewer)
    rates = states * (m + service_stages + m * m + stages)
    rates += stages * (places + 1) * several * full * (several**0.5 * full + service_stages)
    what = (
        f"a job followed with {places} behind it beside {c} in service of order {m}, a chain of "
        f"{states:,} states,"
    )
    fix = "allow a larger truncation, use a demand law of lower order, or simulate"
    check_memory(what, _BYTES * rates, memory_limit(memory), fix)
    check_seconds(what, SECONDS_A_RATE * rates, memory, fix, most)


def _law_of_followed(solution: ManyServerSolution, service: PhaseType, places: int) -> SojournLaw:
    """The chain of a job, the others in service, and at most so many that wait behind it."""
    queue = solution.queue
    arrivals, speeds = queue.process, queue._speeds
    c, stages, m = speeds.size, arrivals.order, service.order

    others = waiting_centre(queue.service, c - 1 + places, c - 1, speeds)
    busy = np.minimum(np.repeat(np.arange(c + places), np.diff(others.starts)), c - 1)
    speed = speeds[busy]
    size, last = others.enter.shape[0], others.slice(c - 1 + places)
    every = Moves.none(stages)
    joins = [Moves.of(others.enter), marked(size, last)]
    served = [
        *(Moves.none(stages * m).beside(Moves.of(x)) for x in (others.local, others.leave)),
        every.beside(Moves.of(service.jumps)).beside(Moves.diagonal(speed)),
        Moves.of(arrivals.jumps).beside(Moves.none(m * size)),
        *(Moves.of(arrivals.D1).beside(Moves.none(m)).beside(each) for each in joins),
    ]
    ends = np.tile(np.kron(service.exit, speed), stages)

    centre = queue._centre
    leave = centre.leave[centre.slice(c), centre.slice(c - 1)].toarray()
    shift = int(others.starts[c - 1])
    waits = waits_by_kind(solution.chain, queue._busy, arrivals)
    begin, waiting, begins = [], [], []
    for wait in waits:
        begin.append(begin_of(wait, places))
        waiting.append(waiting_of(wait, arrivals, places))
        joined = Moves.none(places + 1).beside(Moves.of(wait.ends_by(leave))).placed(0, shift)
        joined = joined._replace(shape=(joined.shape[0], size))
        begins.append([every.beside(Moves.of(service.alpha[None, :])).beside(joined)])
    begin.append(np.einsum("ij,k->ikj", _chance_of_free_server(solution, others), service.alpha).ravel())
    return followed_law(begin, waiting, begins, served, ends)


def begin_of(wait: Wait, places: int) -> Array:
    """Return where a job begins to wait: arrival stage, nobody behind it, phase of the wait.

    Parameters
    ----------
    wait : Wait
        Phases of the wait.
    places : int
        Jobs to be counted behind it.
    """
    first = np.zeros((wait.after.size, places + 1, wait.start.size))
    first[:, 0, :] = np.outer(wait.after, wait.start)
    return first.ravel()


def waiting_of(wait: Wait, arrivals: MAP, places: int) -> list[Moves]:
    """Return the rates while a job waits: of the arrival stage, of those behind, of the wait's phase.

    Parameters
    ----------
    wait : Wait
        Phases of the wait.
    arrivals : MAP
        In seconds.
    places : int
        Jobs to be counted behind it.
    """
    room, width, stages = places + 1, wait.start.size, arrivals.order
    behind = np.arange(room)
    longer = Moves(behind, np.minimum(behind + 1, places), np.ones(room), (room, room))
    return [
        Moves.none(stages * room).beside(Moves.of(wait.jumps)),
        Moves.of(arrivals.jumps).beside(Moves.none(room * width)),
        Moves.of(arrivals.D1).beside(longer).beside(Moves.none(width)),
    ]


def followed_law(
    begin: list[Array],
    waiting: list[list[Moves]],
    begins: list[list[Moves]],
    served: list[Moves],
    ends: Array,
) -> SojournLaw:
    """Return the law of a job that waits in one of several chains, then is served in another one.

    Parameters
    ----------
    begin : list of ndarray
        Probability of the states of each chain at the start, the last one that of service.
    waiting : list of list of Moves
        Moves within each chain of waiting.
    begins : list of list of Moves
        Moves from each of them into service.
    served : list of Moves
        Moves within service.
    ends : (n,) ndarray
        Rates of the end from the states of service.
    """
    start = np.concatenate(begin)
    first, moves = start.size - ends.size, []
    moves += [each.placed(first, first) for each in served]
    place = 0
    for at_start, rates, out in zip(begin, waiting, begins, strict=False):
        moves += [each.placed(place, place) for each in rates]
        moves += [each.placed(place, first) for each in out]
        place += at_start.size
    none = np.zeros(first)
    return SojournLaw(start / fsum(start), rates_of(moves, start.size), np.concatenate([none, ends]))


def _chance_of_free_server(solution: ManyServerSolution, others: Centre) -> Array:
    """Probability that an arrival starts at once, by the arrival stage after it and the others."""
    arrivals, c = solution.queue.process, solution.queue._speeds.size
    result = np.zeros((arrivals.order, others.enter.shape[0]))
    for n in range(c):
        level = solution.chain.boundary[n].reshape(arrivals.order, -1)
        result[:, others.slice(n)] = arrivals.D1.T @ level / solution.queue.arrival_rate
    return result


def marked(size: int, part: slice) -> Moves:
    """Return the identity on a part of so many states, zero elsewhere.

    Parameters
    ----------
    size : int
        Number of states.
    part : slice
        The part.
    """
    here = np.arange(part.start, part.stop)
    return Moves(here, here, np.ones(here.size), (size, size))
