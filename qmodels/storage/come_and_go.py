"""Programs that come and go on a storage learnt from runs: means and percentiles with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.networks.sizes import most_that
from qmodels.storage.curves import Curves, StageCurve
from qmodels.storage.forecast import PERCENTILES, ShareForecast
from qmodels.storage.steady import SteadySharing, closed_sharing, open_sharing

#: Draws of the curves that are solved.
_DRAWS = 60
#: Transfers of a program that percentiles take.
_BURSTS = 20
#: Programs beyond which doubling is not sought.
_MOST = 1024


@dataclass(frozen=True, eq=False)
class ComeAndGo(Record):
    """Steady state of programs on a storage learnt from runs."""

    programs: int | None  #: so many for ever; None for an open stream
    rate: float | None  #: programs per second that begin; None for a closed number
    response: float  #: mean seconds of a program
    low: float  #: of the interval of that mean; infinite where the stream may be too much
    high: float  #: its upper end
    percentiles: tuple[float, ...]  #: of one program, at `PERCENTILES`
    throughput: float  #: programs per second
    utilisation: float  #: of the storage
    overloads: float  #: probability that the storage cannot carry the stream
    doubles_at: float  #: programs (closed), or programs per second, at which the mean is twice that alone
    method: str  #: of `SteadySharing`, of most draws


def come_and_go(
    forecast: ShareForecast, *, programs: int | None = None, think: float = 0.0, rate: float | None = None
) -> ComeAndGo:
    """Return the steady state of programs that come and go: a closed number of them, or an open stream.

    Parameters
    ----------
    forecast : ShareForecast
        Of the storage, from its runs.
    programs : int, optional
        So many, each begun again when it has ended; or
    think : float
        seconds later;
    rate : float, optional
        or programs that begin per second, at random.

    Returns
    -------
    ComeAndGo
        Geometric mean over the draws of the curves, with the interval of the forecast's level.

    Raises
    ------
    ModelError
        Unless one of `programs` and `rate` is given, or if it is out of its range.
    UnstableError
        If in half of the draws or more the storage cannot carry that rate.

    Examples
    --------
    >>> from qmodels.storage import SharedRuns, forecast_sharing
    >>> times = {1: [10.0, 10.1, 9.9], 8: [13.0, 13.1, 12.9], 16: [22.4, 22.0, 22.2]}
    >>> found = come_and_go(forecast_sharing(SharedRuns({"write": times}), [16]), programs=16)
    >>> found.low < found.response < found.high
    True
    """
    if (programs is None) == (rate is None):
        raise ModelError("give either programs (closed) or rate (an open stream)")
    each = [_steady(stages, programs, think, rate) for stages in drawn_stages(forecast)]
    solved = [one for one in each if one is not None]
    overloads = 1.0 - len(solved) / len(each)
    if overloads >= 0.5:
        # Say by one curve what the capacity is.
        _steady(forecast.centre(), programs, think, rate, raises=True)
        raise UnstableError("the storage", float(rate or 0.0), 0.0)
    responses = np.array([one.response for one in solved] + [math.inf] * (len(each) - len(solved)))
    middle = float(np.exp(np.mean(np.log(responses[: len(solved)]))))
    # Percentiles are those of the draw whose mean is nearest, scaled to the mean.
    stands = min(solved, key=lambda one: abs(math.log(one.response / middle)))
    tail = 0.5 - forecast.level / 2.0
    ends = [float(np.quantile(responses, q, method="nearest")) for q in (tail, 1.0 - tail)]
    return ComeAndGo(
        programs=programs,
        rate=rate,
        response=middle,
        low=min(ends[0], middle),
        high=max(ends[1], middle),
        percentiles=tuple(
            middle / stands.response * stands.percentile(q, bursts=_BURSTS) for q in PERCENTILES
        ),
        throughput=float(np.mean([one.throughput for one in solved])),
        utilisation=float(np.mean([one.utilisation for one in solved])),
        overloads=overloads,
        doubles_at=_doubling(forecast.centre(), think, closed=rate is None),
        method=max((one.method for one in solved), key=[one.method for one in solved].count),
    )


def drawn_stages(forecast: ShareForecast) -> list[tuple[StageCurve, ...]]:
    """Return the stages of the program for some sixty draws, evenly over all of them.

    Parameters
    ----------
    forecast : ShareForecast
        From runs.

    Returns
    -------
    list of tuple of StageCurve
        The stages, by draw.
    """
    size = forecast.learnt[0].places.size
    found = []
    for k in range(0, size, max(1, size // _DRAWS)):
        stages = []
        for stage in forecast.learnt:
            fields = {name: float(getattr(stage.draws, name)[stage.places[k]]) for name in Curves._fields}
            stages.append(StageCurve(stage.name, stage.alone, **fields))
        found.append(tuple(stages))
    return found


def _steady(
    stages: tuple[StageCurve, ...],
    programs: int | None,
    think: float,
    rate: float | None,
    *,
    raises: bool = False,
) -> SteadySharing | None:
    """Steady state of one draw; None where it cannot carry the stream."""
    try:
        if rate is not None:
            return open_sharing(stages, rate)
        return closed_sharing(stages, programs or 0, think=think)
    except UnstableError:
        if raises:
            raise
        return None


def _doubling(stages: tuple[StageCurve, ...], think: float, *, closed: bool) -> float:
    """Least number of programs, or the rate, at which the response is twice that alone."""
    alone = sum(stage.seconds for stage in stages)
    if closed:
        fewer = most_that(lambda n: closed_sharing(stages, n, think=think).response < 2.0 * alone, _MOST)
        return float(fewer + 1) if fewer < _MOST else math.inf
    demand = sum(stage.demand for stage in stages)
    if demand == 0.0:
        return math.inf
    below, above = 0.0, 1.0 / demand
    for _ in range(40):
        at = 0.5 * (below + above)
        one = _steady(stages, None, think, at)
        below, above = (at, above) if one is not None and one.response < 2.0 * alone else (below, at)
    return above
