"""How the running jobs share what all of them do: by a power of their demand, seen in runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import check_fields, real_array, real_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.trial.history import Played, part_of

#: Powers at which the scores of runs are kept; one found is between the first and the last.
POWERS: Final = np.linspace(-0.5, 1.5, 21)


@dataclass(frozen=True, eq=False)
class SizeShares(Record):
    """Of k running jobs one of demand x gets the share x ** powers[k - 1] / (their sum).

    Parameters
    ----------
    powers : (c,) array_like
        0: equal shares, whatever the demand, as in processor sharing. 1: in proportion to demand,
        so that all get on alike in relation to what they have to do. The first says nothing, for
        one job has everything.
    error : float
        Relative standard error of all powers together, at least 0.

    Raises
    ------
    ModelError
        If these are no numbers.

    Examples
    --------
    >>> SizeShares([0.0, 0.5], 0.1).powers.tolist()
    [0.0, 0.5]
    """

    powers: Array
    error: float = 0.0

    def __post_init__(self) -> None:
        found = real_array("powers", self.powers).copy()
        if found.ndim != 1 or not found.size:
            raise ModelError(f"powers must be a row of one or more numbers, got {found.shape}")
        object.__setattr__(self, "powers", read_only(found))
        check_fields(self, real_number, "error", least=0.0)


def share_scores(played: Played, credits: Array, demands: Array, most: int) -> Array:
    """By how much larger jobs got more than each of `POWERS` says, for k = 1..`most` running.

    Parameters
    ----------
    played : Played
    credits : (pieces,) ndarray
        What each piece of a burst is worth, see `validation.trial.loss_run.credits_of`.
    demands : (jobs,) ndarray
    most : int

    Returns
    -------
    (most, len(POWERS)) ndarray
        Sums over all stretches of time with one set of running jobs of
        ``(work - whole * share) * log(demand)``. Those of several runs may be added.

    Notes
    -----
    It is the score of a multinomial logit model of the shares: its mean is 0 at the power by which
    work is shared, and it falls as the power grows.
    """
    whole: Array = scores_in_parts(played, credits, demands, most, 1)[0]
    return whole


def scores_in_parts(played: Played, credits: Array, demands: Array, most: int, parts: int) -> Array:
    """The same of so many equal parts of the run's time, (parts, most, len(POWERS))."""
    stretch, job, work = work_by_stretch(played, credits)
    found = np.zeros((parts, most, POWERS.size))
    if not work.size:
        return found
    begins = np.unique(np.append(played.changes[:, 0], played.end))
    part = part_of(begins[stretch], np.linspace(0.0, played.end, parts + 1)[:-1])
    stretches = int(stretch.max()) + 1
    running = np.bincount(stretch, minlength=stretches)
    whole = np.bincount(stretch, work, stretches)
    size = np.log(np.maximum(demands[job], 1e-300))
    # about the mean of the stretch: a power of the demand would overflow for tiny ones
    centred = size - (np.bincount(stretch, size, stretches) / np.maximum(running, 1))[stretch]
    for column, power in enumerate(POWERS):
        weight = np.exp(np.clip(power * centred, -600.0, 600.0))
        share = weight / np.bincount(stretch, weight, stretches)[stretch]
        terms = (work - whole[stretch] * share) * centred
        place = part * (most + 1) + running[stretch]
        by_level = np.bincount(place, terms, parts * (most + 1)).reshape(parts, most + 1)
        found[:, :, column] = by_level[:, 1:]
    return found


def work_by_stretch(played: Played, credits: Array) -> tuple[Ints, Ints, Array]:
    """What each running job did in each stretch between two changes: stretch, job, work."""
    times = np.unique(np.append(played.changes[:, 0], played.end))
    owner = played.pieces[:, 0].astype(np.int64)
    order = np.lexsort((played.pieces[:, 3], owner))
    bounds = np.searchsorted(owner[order], np.arange(played.start.size + 1))
    stretches, jobs, works = [], [], []
    for number in np.flatnonzero(np.isfinite(played.start)).tolist():
        last = played.finish[number] if np.isfinite(played.finish[number]) else played.end
        first = int(np.searchsorted(times, played.start[number]))
        until = int(np.searchsorted(times, last))
        mine = order[bounds[number] : bounds[number + 1]]
        if until <= first or not mine.size:
            continue
        # the work done until a time is a line through the ends of the pieces
        at = np.maximum.accumulate(played.pieces[mine, 3:5].ravel())
        done = np.concatenate([[0.0], np.cumsum(credits[mine])]).repeat(2)[1:-1]
        works.append(np.diff(np.interp(times[first : until + 1], at, done)))
        stretches.append(np.arange(first, until))
        jobs.append(np.full(until - first, number))
    if not works:
        none = np.zeros(0, np.int64)
        return none, none, np.zeros(0)
    return np.concatenate(stretches), np.concatenate(jobs), np.concatenate(works)


def shares_of_scores(scores: ArrayLike) -> SizeShares:
    """The powers at which the scores of all runs together are 0.

    Parameters
    ----------
    scores : (runs, c, len(POWERS)) array_like
        Of `share_scores`, two or more runs, or parts of runs that are as good as independent.

    Returns
    -------
    SizeShares
        With the error of a common factor of the powers, from the spread of the runs; 0 where all
        demands are alike, so that shares say nothing.

    Raises
    ------
    ModelError
        If there are fewer than two runs, or not the scores of all powers.
    """
    rows = real_array("scores", scores)
    if rows.ndim != 3 or len(rows) < 2 or rows.shape[2] != POWERS.size:
        raise ModelError(f"scores must be (runs, c, {POWERS.size}) of two or more runs, got {rows.shape}")
    total = rows.sum(axis=0)
    powers = np.array([_root(row) for row in total])
    if not powers.any():
        return SizeShares(powers)
    # along the line of all powers times one factor: its score in each run, and how it falls
    apart = np.array(
        [sum(p * np.interp(p, POWERS, row) for p, row in zip(powers, run, strict=True)) for run in rows]
    )
    falls = sum(
        p**2 * np.interp(p, POWERS, np.gradient(row, POWERS)) for p, row in zip(powers, total, strict=True)
    )
    n = len(rows)
    spread = float(((apart - apart.mean()) ** 2).sum()) * n / (n - 1)
    return SizeShares(powers, spread**0.5 / abs(falls) if falls else 0.0)


def shares_of_parts(scores: ArrayLike) -> SizeShares:
    """The same of the scores of all parts of all runs, (runs, parts, c, len(POWERS))."""
    rows = real_array("scores", scores)
    return shares_of_scores(rows.reshape(-1, *rows.shape[2:]))


def _root(score: Array) -> float:
    """The power at which a falling score is 0, within the ends of `POWERS`."""
    # that of equal demands is 0 everywhere but for rounding
    if np.ptp(score) <= 1e-12:
        return 0.0
    return float(np.interp(0.0, score[::-1], POWERS[::-1]))
