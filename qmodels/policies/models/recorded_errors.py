"""How far the models were off on points that were simulated: a table by regime, and its reader.

The table is made by `tests.campaigns.policy_errors.write_errors` from a recorded campaign.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final

#: Load of the capacity that parts the regimes, and the largest that is recorded.
BUSY, MOST_BUSY = 0.7, 0.92
#: Percentiles that were compared, besides the mean.
SHARES: Final = (0.5, 0.95, 0.99)


#: What a model says of itself where a job's law is not the one that was given.
_OTHER_LAWS: Final = ("taken as one law", "taken as Erlang", "taken as exponential", "merged")


def regime(
    family: str,
    *,
    reduction: str = "",
    arrival_scv: float = 1.0,
    load: float,
    scv: float | None = None,
) -> str:
    """Name of the regime that a prediction belongs to, ever finer from left to right.

    Parameters
    ----------
    family : str
        Of a model, see `AbstractModel.family`.
    reduction : str
        As in `Prediction`.
    arrival_scv : float
        Squared coefficient of variation of the time between arrivals.
    load : float
        Arrival rate over the capacity.
    scv : float, optional
        Squared coefficient of variation of a job's demand; not of laws of bursts.

    Examples
    --------
    >>> regime("time-sharing, turns", scv=4.0, load=0.8)
    'time-sharing, turns, as given, regular, busy, scv > 1'
    """
    parts = [family]
    parts.append("simplified" if any(text in reduction for text in _OTHER_LAWS) else "as given")
    parts.append("irregular" if arrival_scv > 1.02 else "regular")
    parts.append("busy" if load >= BUSY else "moderate")
    if scv is not None:
        parts.append("scv > 1" if scv > 1.02 else "scv <= 1")
    return ", ".join(parts)


def regimes(name: str) -> list[str]:
    """Return a regime and the wider ones that it is part of, the narrowest first.

    Examples
    --------
    >>> regimes("crowding, as given, regular, busy")[1:]
    ['crowding, as given, regular', 'crowding, as given']
    """
    parts = name.split(", ")
    least = parts.index("simplified" if "simplified" in parts else "as given") + 1
    return [", ".join(parts[:count]) for count in range(len(parts), least - 1, -1)]


@lru_cache(maxsize=1)  # a dozen rows
def _table() -> dict[str, dict[str, float]]:
    text = files("qmodels.policies.models").joinpath("recorded_errors.csv").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    names = lines[0].split(";")
    found = {}
    for line in lines[1:]:
        cells = dict(zip(names, line.split(";"), strict=True))
        regime_of_row = cells.pop("regime")
        found[regime_of_row] = {name: float(x) for name, x in cells.items() if x}
    return found


def recorded_error(name: str, quantity: str = "mean") -> float | None:
    """Relative error that nine in ten fresh points of a regime keep to; None for none recorded.

    Parameters
    ----------
    name : str
        See `regime`; where too few points are as it says, those of a wider one count.
    quantity : str
        "mean" of the response, "wait" (its mean, as a share of the mean response), such as
        "p95" of the response, or "worst", the largest error of a mean that was recorded.

    Notes
    -----
    Of n simulated points in order of their errors it is one that, with a probability of .9, a
    share of .9 of all such points keeps to: a bound of the quantile, not its estimate. None is
    stated of fewer points than that takes, 22.
    """
    known = _table()
    return next((known[each][quantity] for each in regimes(name) if quantity in known.get(each, {})), None)


def percentile_error(name: str, share: float) -> float | None:
    """`recorded_error` of a percentile, the larger one of those recorded next to it.

    Parameters
    ----------
    name : str
        As for `recorded_error`.
    share : float
        From .5 to .99; beyond none was recorded.
    """
    if not SHARES[0] <= share <= SHARES[-1]:
        return None
    below = max(known for known in SHARES if known <= share)
    above = min(known for known in SHARES if known >= share)
    errors = [recorded_error(name, f"p{100 * known:g}") for known in (below, above)]
    return None if None in errors else max(error for error in errors if error is not None)
