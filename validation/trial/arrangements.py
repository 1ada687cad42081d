"""Arrangements of a full machine that stay while jobs wait: which there are, and their speeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import whole_number
from qmodels.policies import SpeedTable
from validation.analysis.seeding import stream, word
from validation.trial.loss_run import JOBS_EACH, LEAST_JOBS, work_and_time
from validation.trial.machine import play_cell
from validation.trial.scenario import Cell

#: Arrangements that are drawn, and speeds of them that are told apart.
ARRANGEMENTS: Final = 24
MOST_GROUPS: Final = 8
#: Confidence at which arrangements of one group are of more than one speed.
_APART: Final = 0.95


class FrozenSpeeds(NamedTuple):
    """Speeds of a machine that is always full, by arrangement."""

    speeds: Array  #: (E,) X(c), jobs of mean demand per cycle; alike where they cannot be told apart
    error: float  #: relative standard error that all of them share


def arrangement_lasts(cell: Cell) -> bool:
    """Whether a pairing of places and disks is drawn with a full machine and stays while it is.

    Under dynamic partitioning every change of the number of jobs divides all anew, so that each
    busy period has a pairing of its own. Under space sharing places outlast busy periods, and
    under time sharing the disks of a place are always the same.
    """
    return cell.repartitioned and cell.policy_disks > 1


def frozen_speeds(
    cell: Cell, *, arrangements: int = ARRANGEMENTS, jobs: int | None = None, seed: int = 0
) -> FrozenSpeeds:
    """Speed of a machine that is always full, for several arrangements of the jobs.

    Parameters
    ----------
    cell : Cell
    arrangements : int
        E, at least 2: places of jobs, and disk partitions that they work on, drawn at random.
    jobs : int, optional
        Of each run; two runs for each arrangement. By default a quarter of a start of `loss_run`.
    seed : int

    Returns
    -------
    FrozenSpeeds
        As `with_arrangements` takes them.

    Notes
    -----
    While jobs wait, one that leaves is replaced in its place and at its disks, so that an
    arrangement lasts until the queue is empty. Each run meets jobs of its own; of the spread of
    the arrangements only the part is kept that both runs of each have in common (their
    covariance), the rest being chance. What both runs differ by says how much chance that is, and
    speeds that differ by no more are taken as one (`grouped`): on 8x8 the 24 draws of MC under
    DP(2) are of four speeds.
    """
    many = whole_number("arrangements", arrangements, least=2)
    if jobs is None:
        jobs = max(LEAST_JOBS, JOBS_EACH * cell.most_running) // 4
    jobs = whole_number("jobs", jobs, least=1) + cell.most_running
    found = np.empty((2, many))
    for half in range(2):
        for number in range(many):
            demands = cell.demand.rvs(jobs, random_state=stream(seed, "frozen", half, number))
            played = play_cell(
                cell,
                np.zeros(jobs),
                demands,
                seed=word(seed, "frozen", number),
                completions=jobs - cell.most_running,
            )
            work, spans = work_and_time(cell, played, demands)
            found[half, number] = work[-1] / spans[-1]
    level = float(found.mean())
    relative = found / level
    chance = float((relative[0] - relative[1]).var(ddof=1)) / 2.0  # of one run
    means = relative.mean(axis=0)
    both = float(means.var(ddof=1))
    kept = (max(float(np.cov(relative)[0, 1]), 0.0) / both) ** 0.5 if both > 0.0 else 0.0
    kept = min(kept, 1.0)
    spread = 1.0 + kept * (means - 1.0)
    speeds = level * grouped(spread, kept**2 * chance / 2.0)
    return FrozenSpeeds(speeds, float(np.sqrt(chance / (2.0 * many))))


def grouped(values: Array, chance: float, *, most: int = MOST_GROUPS) -> Array:
    """The values, those of a group by their harmonic mean, in as few groups as chance explains.

    Parameters
    ----------
    values : (n,) ndarray
        Positive.
    chance : float
        Variance of each that is chance.
    most : int
        Groups, at most.

    Returns
    -------
    (n,) ndarray

    Notes
    -----
    The groups of each number are those of least sum of squares within [1]_. There is one more
    until these are no larger than chance makes them, at a confidence of 95 %.

    References
    ----------
    .. [1] W. D. Fisher, "On grouping for maximum homogeneity", *J. Am. Stat. Assoc.* 53 (284),
       1958.

    Examples
    --------
    >>> grouped(np.array([1.0, 1.5, 1.001, 1.499]), 1e-6).round(4).tolist()
    [1.0005, 1.4995, 1.0005, 1.4995]
    """
    from scipy.special import chdtri

    order = np.argsort(values, kind="stable")
    ranked = values[order]
    n = ranked.size
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (ranked, ranked**2))

    def within(first: int, last: int) -> float:
        total = sums[last] - sums[first]
        return float(max(squares[last] - squares[first] - total**2 / (last - first), 0.0))

    # best[i]: least sum of squares of the first i values in so many groups, and where these begin
    best: list[tuple[float, tuple[int, ...]]]
    best = [(within(0, last), (0,)) for last in range(1, n + 1)]
    groups = 1
    while groups < min(most, n):
        if best[-1][0] <= chance * chdtri(n - groups, 1.0 - _APART):
            break
        groups += 1
        best = [
            min(
                (best[cut - 1][0] + within(cut, last), (*best[cut - 1][1], cut))
                for cut in range(groups - 1, last)
            )
            if last >= groups
            else (np.inf, ())
            for last in range(1, n + 1)
        ]
    found = np.empty(n)
    for part in np.split(order, best[-1][1][1:]):
        found[part] = 1.0 / np.mean(1.0 / values[part])
    return found


def with_arrangements(table: SpeedTable, frozen: FrozenSpeeds) -> SpeedTable:
    """The speeds of a loss run, those of a full machine by arrangement as measured.

    Parameters
    ----------
    table : SpeedTable
        Of which X(c) and what is known of it are replaced: which arrangements a loss run happened
        to draw is no error of the speed of each.
    frozen : FrozenSpeeds

    Returns
    -------
    SpeedTable
    """
    last = 1.0 / float(np.mean(1.0 / np.asarray(frozen.speeds)))
    speeds, spread = table.throughput.copy(), np.zeros((table.max_running,) * 2)
    if table.covariance is not None:
        spread[:-1, :-1] = table.covariance[:-1, :-1]
    speeds[-1], spread[-1, -1] = last, (last * frozen.error) ** 2
    return replace(table, throughput=speeds, covariance=spread, frozen=frozen.speeds)
