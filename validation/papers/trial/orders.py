"""The order of strategies: which pairs are told apart, which are in order, which stay open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from validation.analysis.estimates import estimate

if TYPE_CHECKING:
    import pandas as pd

#: Share of a response by which strategies must differ to be told apart (specification of the
#: trial, section 5).
SEPARABLE: Final = 0.03


def mean_tau(frame: pd.DataFrame) -> float:
    """Rank correlation of simulated and corrected strategies, mean over cells and loads.

    Strategies that are equal on either side, such as two that place all jobs alike, count neither
    for nor against; NaN where nowhere two can be compared.
    """
    return mean_sign(frame.assign(values=None), lambda pair: pair.sign)


class Pair(NamedTuple):
    """Two strategies of one cell at one load that are not equal on either side."""

    sign: int  #: 1 if they are predicted in the order in which they are simulated, else -1
    known: bool  #: their simulated difference is beyond its paired interval
    apart: bool  #: and it is beyond 3 % of the faster


def groups(frame: pd.DataFrame) -> list[list[dict[Any, Any]]]:
    """Rows of each cell and load."""
    groups = frame.groupby(["cell", "load"], sort=False)
    return [group.to_dict("records") for _, group in groups]


def pairs_of(rows: Sequence[Mapping[Any, Any]]) -> list[Pair]:
    """All pairs of strategies of a cell and load that can be compared."""
    found = []
    for one, other in combinations(rows, 2):
        measured = one["simulated"] - other["simulated"]
        sign = int(np.sign(one["corrected"] - other["corrected"]) * np.sign(measured))
        if not sign:
            continue
        known = one["values"] is None or abs(measured) > _paired_half_width(one, other)
        found.append(Pair(sign, known, abs(measured) > _least(one, other)))
    return found


def _paired_half_width(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> float:
    """Half-width of their simulated difference, by the replications that both have."""
    both = zip(one["values"], other["values"], strict=False)
    return float(estimate([x - y for x, y in both]).half_width)


def _least(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> float:
    """By how much two simulated responses must differ to be told apart."""
    return SEPARABLE * float(min(one["simulated"], other["simulated"]))


class Undecided(NamedTuple):
    """What more runs are wanted for."""

    simulated: tuple[int, ...]  #: rows of the comparison
    predicted: tuple[str, ...]  #: strategies whose loss runs are too noisy


def undecided(frame: pd.DataFrame) -> Undecided:
    """Which runs leave it open whether strategies of one cell are told apart, and in what order.

    Parameters
    ----------
    frame : DataFrame
        Rows of one cell, see `validation.papers.trial.compare_predictions`.

    Returns
    -------
    Undecided

    Notes
    -----
    Two strategies are open while the share by which they must differ lies within the interval of
    their simulated difference: more replications of both. Those not surely closer than that are
    open on the predicted side while their predictions differ by less than the noise of both loss
    runs: more starts of both. No error of a prediction plays a part, and neither does the order.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"cell": "a", "load": 0.6, "strategy": ["x", "y"],
    ...     "simulated": [100.0, 104.0], "corrected": [100.0, 101.0],
    ...     "measured_half_width": 0.01, "values": [[98.0, 101.0, 101.0], [102.0, 104.0, 106.0]]})
    >>> undecided(rows)
    Undecided(simulated=(0, 1), predicted=('x', 'y'))
    """
    simulated: set[int] = set()
    predicted: set[str] = set()
    numbered = frame.assign(row=range(len(frame)))
    for group in groups(numbered):
        for one, other in combinations(group, 2):
            gap = abs(one["simulated"] - other["simulated"])
            if gap == 0.0:  # they place all jobs alike
                continue
            half, least = _paired_half_width(one, other), _least(one, other)
            if abs(gap - least) <= half:
                simulated |= {one["row"], other["row"]}
            noise = np.hypot(*(each["measured_half_width"] * each["simulated"] for each in (one, other)))
            if gap + half > least and abs(one["corrected"] - other["corrected"]) <= noise:
                predicted |= {one["strategy"], other["strategy"]}
    return Undecided(tuple(sorted(simulated)), tuple(sorted(predicted)))


def mean_sign(frame: pd.DataFrame, sign: Callable[[Pair], int]) -> float:
    """Mean over cells and loads of the mean sign of their pairs, of those that have one."""
    told = [[sign(pair) for pair in pairs_of(group)] for group in groups(frame)]
    means = [np.mean([each for each in signs if each]) for signs in told if any(signs)]
    return float(np.mean(means)) if means else float("nan")
