"""How far the models were off on points that were simulated: a table by regime, and its reader.

The table is made by `validation.trial.policy_errors.write_errors` from a recorded campaign.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import Final

#: Load of the capacity that parts the regimes, and the largest of the campaign.
BUSY, MOST_BUSY = 0.7, 0.92
#: Percentiles that were compared, besides the mean.
SHARES: Final = (0.5, 0.95, 0.99)


def regime(model: str, *, turns: bool, scv: float, load: float) -> str:
    """Name of the regime that a prediction belongs to.

    Parameters
    ----------
    model : str
        As in `Prediction.model`.
    turns : bool
        Whether several jobs take turns at the same processors.
    scv : float
        Squared coefficient of variation of a job's demand.
    load : float
        Arrival rate over the capacity.

    Examples
    --------
    >>> regime("time-sharing", turns=True, scv=4.0, load=0.8)
    'time-sharing, turns, scv > 1, busy'
    """
    parts = [model]
    if model == "time-sharing":
        parts.append("turns" if turns else "shared")
        if turns:
            parts.append("scv > 1" if scv > 1.02 else "scv <= 1")
    parts.append("busy" if load >= BUSY else "moderate")
    return ", ".join(parts)


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


def recorded_error(name: str, share: float | None = None) -> float | None:
    """Relative error that nine in ten fresh points of a regime keep to; None for none recorded.

    Parameters
    ----------
    name : str
        See `regime`; where too few of its points have that load, those of all loads count.
    share : float, optional
        Of a percentile of the response; by default its mean is meant.

    Notes
    -----
    Of n simulated points in order of their errors it is number ceil(.9 (n + 1)), which a further
    point drawn in the same way exceeds with probability .1 at most; none is stated of fewer than
    nine points.
    """
    column = "mean"
    if share is not None:
        column = f"p{100 * min(SHARES, key=lambda known: abs(known - share)):g}"
    known = _table()
    return known.get(name, known.get(name.rsplit(", ", 1)[0], {})).get(column)


def worst_recorded_error(models: Iterable[str], share: float | None = None) -> float | None:
    """The largest error recorded of some models, in whatever regime; None for none recorded.

    Parameters
    ----------
    models : iterable of str
        Names, as in `Prediction.model`.
    share : float, optional
        As for `recorded_error`.
    """
    wanted = set(models)
    errors = [recorded_error(name, share) for name in _table() if name.split(", ")[0] in wanted]
    return max((error for error in errors if error is not None), default=None)
