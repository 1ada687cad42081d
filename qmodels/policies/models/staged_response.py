"""The response of one job among others that are counted by stage: wait and stay as one law."""

from __future__ import annotations

from math import comb, inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.markov import QBDSolution
from qmodels.memory import MOST_SECONDS, check_memory, check_seconds, memory_limit
from qmodels.networks.moves import Moves
from qmodels.networks.occupancy import Entries
from qmodels.networks.response import (
    SECONDS_A_RATE,
    begin_of,
    followed_law,
    places_behind,
    waiting_of,
)
from qmodels.networks.sojourn import SojournLaw
from qmodels.networks.waiting import kinds_of_arrivals, waits_by_kind
from qmodels.policies.models.policy_queue import PolicyQueue
from qmodels.policies.models.stage_counts import FollowedStages, StagedJobs

#: Bytes held for each rate of the chain while it is put together and asked.
_BYTES: Final = 60.0


def staged_response(
    queue: PolicyQueue,
    chain: QBDSolution,
    *,
    own: FollowedStages | None = None,
    truncation: float,
    memory: float | None,
    horizon: float = inf,
    seconds: float = MOST_SECONDS,
) -> tuple[SojournLaw, float]:
    """Law of the time from arrival to departure, by following one job beside the others.

    Parameters
    ----------
    queue : PolicyQueue
        Whose running jobs are counted by stage.
    chain : QBDSolution
        Its steady state.
    own : FollowedStages, optional
        Stages of the one job, by default those of all.
    truncation : float
        What cutting off the queue behind the job may change in any probability at most.
    memory : float, optional
        Bytes that the chain may take; half of the machine's memory by default.
    horizon : float
        Seconds up to which the law is asked for, see `response_law`.
    seconds : float
        See `response_law`.

    Returns
    -------
    law : SojournLaw
    bound : float
        What the cut may have changed in any probability, of times up to the horizon.

    Raises
    ------
    MemoryBudgetError
        If the chain would not fit; nothing has been allocated then.

    Notes
    -----
    As `qmodels.networks.response.response_law`, whose references say why a waiting job needs no
    count of those ahead of it; but the speed of every job depends on the stages of all.
    """
    staged = queue.running.staged
    assert staged is not None
    arrivals = queue.process
    c, m, stages = staged.max_running, staged.order, arrivals.order
    own = own or staged.like_all
    order = own.like.size
    limit = memory_limit(memory)
    # waiting jobs are followed for each kind of their arrival, in phases of all kinds
    several = len(kinds_of_arrivals(arrivals)[1]) ** 2

    def check(places: int) -> None:
        full, fewer = comb(c + m - 1, m - 1), comb(c + m - 2, m - 1)
        served = order * (comb(c + m - 1, m) + places * fewer)
        states = stages * (served + several * (places + 1) * full)
        rates = states * (m + order + stages + m)
        what = (
            f"a job followed with {places} behind it beside {c} of {m} stages, a chain of {states:,} states,"
        )
        fix = "allow a larger truncation, use laws of lower order, or simulate"
        check_memory(what, _BYTES * rates, limit, fix)
        check_seconds(what, SECONDS_A_RATE * rates, memory, fix, seconds)

    places, bound = places_behind(chain, arrivals, c, truncation, check, horizon)
    beside = _Beside(staged, own, places)
    n = beside.size * order
    every = Moves.none(stages)
    served = [
        every.beside(beside.moves),
        Moves.of(arrivals.jumps).beside(Moves.none(n)),
        Moves.of(arrivals.D1).beside(beside.joined),
    ]
    centre = queue.running.centre
    leave = centre.leave[centre.slice(c), centre.slice(c - 1)].toarray()
    waits = waits_by_kind(chain, queue.busy, arrivals)
    begin = [begin_of(wait, places) for wait in waits]
    waiting = [waiting_of(wait, arrivals, places) for wait in waits]
    begins = [[every.beside(beside.begun(wait.ends_by(leave), places + 1))] for wait in waits]
    begin.append(beside.found_free(queue, chain).ravel())
    law = followed_law(begin, waiting, begins, served, np.tile(beside.ends, stages))
    return law, bound


class _Beside:
    """The stage of one job, those of at most c - 1 others, and how many wait behind it.

    States are numbered by the job's stage first, then by the others with nobody behind, then by
    the others, c - 1 of them, for each number behind.
    """

    def __init__(self, staged: StagedJobs, own: FollowedStages, places: int) -> None:
        self.staged, self.places, self.own = staged, places, own
        ways, c = staged.ways, staged.max_running
        self.below = int(ways.starts[c])  # states of at most c - 1 others
        self.full = int(ways.starts[c - 1])  # the first one with all of them
        self.width = self.below - self.full
        self.size = self.below + places * self.width
        self.order = self.own.like.size  # stages of the job
        self.ends = np.concatenate([self._spread(self._own(a)[0]) for a in range(self.order)])
        self.moves, self.joined = self._rates()

    def _own(self, a: int) -> tuple[Array, NDArray[np.int64]]:
        """Rate of ending of the job in stage a, and the state of all, by the others' state."""
        staged, others, like = self.staged, np.arange(self.below), self.own.like[a]
        together = staged.ways.more[others, like]
        k = staged.running[together]
        return staged.speeds[together, like] * self.own.exits[k, a], together

    def _spread(self, values: Array) -> Array:
        """What holds for the others, for any number behind."""
        return np.concatenate([values, np.tile(values[self.full :], self.places)])

    def _rates(self) -> tuple[Moves, Moves]:
        staged, ways, own = self.staged, self.staged.ways, self.own
        m, c = staged.order, staged.max_running
        moves, joined = Entries(), Entries()
        others = np.arange(self.below)
        for a in range(self.order):
            at = a * self.size
            _, together = self._own(a)
            k = staged.running[together]
            # the job itself goes on to another stage
            for b in np.flatnonzero(own.jumps[:, a].max(axis=0)).tolist():
                if b != a:
                    rate = staged.speeds[together, own.like[a]] * own.jumps[k, a, b]
                    every = np.arange(self.size)
                    moves.add(at + every, b * self.size + every, self._spread(rate))
            for s in range(m):
                here = others[ways.counts[others, s] > 0]
                served = ways.counts[here, s] * staged.speeds[together[here], s]
                without, number = ways.fewer[here, s], k[here]
                all_there = here >= self.full
                for b in np.flatnonzero(staged.jumps[:, s].max(axis=0)).tolist():
                    if b == s:
                        continue
                    rate, to = served * staged.jumps[number, s, b], ways.more[without, b]
                    moves.add(at + here, at + to, rate)
                    self._behind(moves, at, here, to, rate, all_there, 0)
                done = served * staged.exits[number, s]
                if done.any():
                    moves.add(at + here, at + without, done)
                    for b in np.flatnonzero(staged.alpha[c]).tolist():
                        rate, to = done * staged.alpha[c, b], ways.more[without, b]
                        self._behind(moves, at, here, to, rate, all_there, -1)
            # an arrival starts beside the others, or waits behind them; the last place is full
            room = others[: self.full]
            for b in np.flatnonzero(staged.alpha.max(axis=0)).tolist():
                chance = staged.alpha[np.minimum(k[room] + 1, c), b]
                joined.add(at + room, at + ways.more[room, b], chance)
            last = np.arange(self.full, self.size)
            to = np.where(last + self.width < self.size, last + self.width, last)
            joined.add(at + last, at + to, np.ones(last.size))
        n = self.order * self.size
        return Moves.collected(moves, n), Moves.collected(joined, n)

    def _behind(
        self,
        into: Entries,
        at: int,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        rates: Array,
        among: NDArray[np.bool_],
        more: int,
    ) -> None:
        """Add the moves of c - 1 others for each number behind, which they change by `more`."""
        rows, columns, rates = rows[among], columns[among], rates[among]
        behind = self.width * np.arange(1, self.places + 1)[:, None]
        to = behind + more * self.width
        every = np.broadcast_to(rates, (self.places, rates.size))
        into.add((at + rows + behind).ravel(), (at + columns + to).ravel(), every.ravel())

    def begun(self, out: Array, room: int) -> Moves:
        """Rates from waiting with so many behind to the start beside the others."""
        beside = Moves.none(room).beside(Moves.of(out))
        # behind all others there are as many states for each number behind
        alpha = self.own.alpha[-1]
        starts = self.full + self.size * np.flatnonzero(alpha)
        chances = alpha[alpha > 0.0]
        return Moves(
            np.tile(beside.rows, starts.size),
            (starts[:, None] + beside.columns).ravel(),
            (chances[:, None] * beside.values).ravel(),
            (beside.shape[0], self.order * self.size),
        )

    def found_free(self, queue: PolicyQueue, chain: QBDSolution) -> Array:
        """Probability that an arrival starts at once, by the arrival stage, its own, the others."""
        arrivals, staged = queue.process, self.staged
        found = np.zeros((arrivals.order, self.order, self.size))
        for k in range(staged.max_running):
            level = chain.boundary[k].reshape(arrivals.order, -1)
            seen = arrivals.D1.T @ level / queue.arrival_rate
            part = slice(int(staged.ways.starts[k]), int(staged.ways.starts[k + 1]))
            found[:, :, part] = np.einsum("ij,s->isj", seen, self.own.alpha[k + 1])
        return found
