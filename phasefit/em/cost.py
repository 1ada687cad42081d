"""Time of a search for the law of greatest likelihood, estimated before it is begun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from phasefit.em.erlang import FEW_PHASES, count_settings
from phasefit.observations import Observations

# Measured on one core of a shared machine in November 2026, on 300 and 20,000 lognormal and Weibull
# times: the estimates were .8 to 2 times what a search took.

#: Seconds for a branch of a setting of a hyper-Erlang law, a start and a coarse bin; for a branch
#: of one that is climbed to the end, and a step and bin; and for a setting with two moments held.
_LOOK: Final = 0.8e-6
_PASS: Final = 2e-8
_HELD_SETTING: Final = 0.075
#: Seconds for a pair of phases of a Coxian or general law, a step and bin; more with moments held.
_PAIR: Final = 1.8e-7
_HELD_PAIR: Final = 1.7
#: Steps of the looks at each start, by family, and of the climbs to the end.
_LOOKS: Final = {"coxian": 4 * 500, "general": 3 * 500}
_CLIMBS: Final = 1100


def estimated_seconds(
    observations: Observations, family: str, orders: Sequence[int], hold_moments: int = 0
) -> float:
    """Return how long `maximise` will take for these orders, to within a factor of two.

    Parameters
    ----------
    observations : Observations
        The data that would be fitted.
    family : {"hyper-erlang", "coxian", "general"}
        As for `maximise`.
    orders : sequence of int
        Numbers of phases that would be tried.
    hold_moments : {0, 1, 2}
        As for `maximise`.

    Returns
    -------
    float
        Seconds of computing.

    Examples
    --------
    >>> data = Observations.of([1.0, 2.0, 4.0])
    >>> times = [estimated_seconds(data, "hyper-erlang", [n]) for n in (8, 30)]
    >>> times[0] < 0.1 < times[1]
    True
    """
    coarse = observations.coarse.times.size + observations.lower.size
    if family == "hyper-erlang":
        fine = observations.fine.times.size + observations.lower.size
        return sum(_hyper_erlang(order, coarse, fine, hold_moments) for order in orders)
    if family == "general":  # the families that it contains are climbed first
        few = [order for order in orders if order <= FEW_PHASES]
        narrower = estimated_seconds(observations, "coxian", orders, hold_moments)
        narrower += estimated_seconds(observations, "hyper-erlang", few, hold_moments)
    else:
        narrower = 0.0
    middle = observations.middle.times.size + observations.lower.size
    points = _LOOKS[family] * coarse + _CLIMBS * middle
    held = _HELD_PAIR if hold_moments == 2 else 1.0
    return narrower + held * _PAIR * points * sum(float(order) ** 2 for order in orders)


def _hyper_erlang(order: int, coarse: int, fine: int, hold_moments: int) -> float:
    settings, branches = count_settings(order)
    if hold_moments == 2:
        return _HELD_SETTING * settings
    # a third of the phases are branches of their own in a setting that wins
    climbs = _PASS * (order / 3.0 + 1.0) * (9600.0 * coarse + 1400.0 * fine)
    return _LOOK * 2.0 * branches * coarse + climbs


def orders_within(
    seconds: float, observations: Observations, family: str, most: int, hold_moments: int = 0
) -> int:
    """Return the largest number, up to `most`, of orders from one on that fit into a time.

    Parameters
    ----------
    seconds : float
        Time that may be spent.
    observations : Observations
        The data that would be fitted.
    family : {"hyper-erlang", "coxian", "general"}
        As for `maximise`.
    most : int
        Largest order to consider.
    hold_moments : {0, 1, 2}
        As for `maximise`.
    """
    total = 0.0
    for order in range(1, most + 1):
        total += estimated_seconds(observations, family, [order], hold_moments)
        if total > seconds:
            return order - 1
    return most


def largest_within(
    seconds: float, observations: Observations, family: str, most: int, hold_moments: int = 0
) -> int:
    """Return the largest order, up to `most`, that alone fits into a time; 0 if none does.

    Parameters
    ----------
    seconds : float
        Time that may be spent.
    observations : Observations
        The data that would be fitted.
    family : {"hyper-erlang", "coxian", "general"}
        As for `maximise`.
    most : int
        Largest order to consider.
    hold_moments : {0, 1, 2}
        As for `maximise`.
    """
    fits = [
        order
        for order in range(1, most + 1)
        if estimated_seconds(observations, family, [order], hold_moments) <= seconds
    ]
    return max(fits, default=0)
