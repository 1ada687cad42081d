"""The wait for one of many servers as a phase-type law, seen by arrivals of any kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit import MAP
from phasefit.arrays import Array
from qmodels.markov import QBDSolution
from qmodels.markov.doubling import TRAPPED
from qmodels.markov.elimination import factor
from qmodels.markov.fluid import first_return
from qmodels.markov.kinds import kinds
from qmodels.networks.occupancy import dense_kron


@dataclass(frozen=True, eq=False)
class Wait:
    """Phases of the wait of arrivals after which the arrival process goes on in one way.

    A phase is an occupancy of the servers or, where arrivals are of several kinds, a kind and for
    each of these an occupancy.
    """

    after: Array  #: (m,) phase of the arrival process just after such an arrival
    start: Array  #: (w,) share of all arrivals that begin to wait in each phase
    jumps: Array  #: (w, w) rates between the phases
    exits: Array  #: (w,) rates of the end of the wait

    def ends_by(self, leave: Array) -> Array:
        """Return the rates of the end, (w, o), by what a completion leaves.

        Parameters
        ----------
        leave : (n, o) ndarray
            Rates of completions, by the occupancy that they leave.
        """
        return ends_by(self.exits, leave)


def ends_by(exits: Array, leave: Array) -> Array:
    """Return rates of the end of a wait, (w, o), by what a completion leads to.

    Parameters
    ----------
    exits : (w,) ndarray
        Rates of the end of the wait.
    leave : (n, o) ndarray
        Rates of completions, by the occupancy that they leave and what they lead to.
    """
    done = np.tile(leave, (exits.size // len(leave), 1))
    return np.asarray(done * (exits / done.sum(axis=1).clip(min=1e-300))[:, None])


def kinds_of_arrivals(process: MAP) -> tuple[Array, Array]:
    """Return the kinds of arrivals: how the process may go on after one.

    Parameters
    ----------
    process : MAP
        Arrivals.

    Returns
    -------
    spread : (m, K) ndarray
        Rate of arrivals of each kind in each phase.
    after : (K, m) ndarray
        Phase just after an arrival of each kind. A renewal process has one kind.
    """
    spread, after = kinds(process.D1)
    return np.asarray(spread if isinstance(spread, np.ndarray) else spread.toarray()), after


def waiting_rates(chain: QBDSolution, busy: tuple[Array, Array], process: MAP) -> tuple[Array, Array, Array]:
    """Return where the wait starts, the rates between its phases and the rates of its end.

    Parameters
    ----------
    chain : QBDSolution
        The queue; a phase is one of the arrival process, and for each an occupancy of the servers.
    busy : pair of (n, n) ndarray
        Rates among the occupancies of the servers while all are busy, without a completion and
        with one.
    process : MAP
        Arrivals.

    Notes
    -----
    Renewal arrivals: one that finds j of the jobs waiting waits for j + 1 completions with all
    servers busy. With S the factor by which one jump up follows another, by the occupancies of
    the servers, and D and C their rates without and with a completion, the wait exceeds t with
    probability ``y (I - S)^-1 exp(T t) 1`` and ``T = D + S C``: S is the mean of exp(T u) over
    the time u between arrivals [1]_ [2]_, hence commutes with T. So T sends
    v = (I - S)^-1 1 to -C 1, and dividing T by v makes it a sub-generator.

    Other arrivals: S no longer commutes with T. Instead the age of the first job that waits is
    followed [3]_: it rises with time, and at a completion falls by the time to the next arrival.
    Its state is how the arrival process went on after that job came, and the occupancy. With E
    the rates of arrivals of each kind, B where they lead, and Psi the state in which a fluid with
    these rises and falls returns, ``T = I x D + Psi (E x I)``. The job in question is the one
    whose wait is over, so the kind of its own arrival is that in which the phases end.

    References
    ----------
    .. [1] Sengupta 1989.
    .. [2] Asmussen and O'Cinneide 1998.
    .. [3] B. Sengupta, "The semi-Markovian queue: theory and applications", *Stochastic Models*
       6 (1990) 383-413.
    """
    spread, after = kinds_of_arrivals(process)
    inner, completed = busy
    occupancies, levels = len(inner), chain.levels
    # kinds of jumps up are kinds of arrivals with occupancies; rounding may have found one twice
    phase, occupancy = np.divmod(levels.example, occupancies)
    kind = spread.argmax(axis=1)[phase] * occupancies + occupancy
    _, leader = np.unique(kind, return_index=True)
    merge = np.eye(len(after) * occupancies)[kind]
    more = levels.summed(np.ones(kind.size))[leader]
    finds = levels.up_from(chain.boundary[-1]) @ merge / process.rate
    if len(after) == 1:
        moves = inner + (levels.ratio[leader] @ merge) @ completed
    else:
        same, within = np.eye(occupancies), dense_kron(np.eye(len(after)), inner)
        again = dense_kron(spread, same)
        back = first_return(
            within,
            dense_kron(after, completed),
            dense_kron(process.jumps, same),
            again,
        )
        moves = within + back @ again
    jumps = moves * more / more[:, None]
    np.fill_diagonal(jumps, 0.0)
    ends = np.tile(completed.sum(axis=1), len(after))
    return finds * more, jumps, ends / more


def waits_by_kind(chain: QBDSolution, busy: tuple[Array, Array], process: MAP) -> tuple[Wait, ...]:
    """Return the wait of arrivals of each kind, for models that follow what comes behind a job.

    The phases of the wait end in the kind of the job's own arrival; those of one kind are the
    phases given that they end in it.

    Parameters
    ----------
    chain : QBDSolution
        The queue, as in `waiting_rates`.
    busy : pair of (n, n) ndarray
        As in `waiting_rates`.
    process : MAP
        Arrivals.
    """
    _, after = kinds_of_arrivals(process)
    start, jumps, exits = waiting_rates(chain, busy, process)
    if len(after) == 1:
        return (Wait(after[0], start, jumps, exits),)
    factors, kind = factor(jumps, exits, trapped=TRAPPED), np.arange(exits.size) // len(busy[0])
    waits = []
    for k, leads in enumerate(after):
        exits_of_kind = np.where(kind == k, exits, 0.0)
        chance = factors.solve(exits_of_kind)
        # phases that never end in this kind are never met; they may be left at any rate
        here = chance > 0.0
        odds = np.where(here, chance, 1.0)
        rates = np.where(here[:, None] & here, jumps * odds / odds[:, None], 0.0)
        waits.append(Wait(leads, start * chance, rates, np.where(here, exits_of_kind / odds, 1.0)))
    return tuple(waits)
