"""A ranking held against the data that its laws were fitted to.

All candidates are predicted with the same laws, so what these leave out is common to them, and a
ranking can be sure where no single time is. But it is not common in size: where jobs come in crowds
a policy that makes them wait suffers more than one that lets them share. The data tell: candidates
whose order they turn round tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Final

from qmodels.networks.replay import FitError
from qmodels.policies.base import AbstractPolicy
from qmodels.policies.choice.objectives import Constraint, Quantity
from qmodels.policies.choice.ranking import BEST, SLOWER, TIE, RankedPolicy
from qmodels.policies.models.fitted import error_of_fit
from qmodels.policies.prediction import Prediction

#: Slower candidates, in their order, that are played with the data.
PLAYED: Final = 12
#: What is said of a tie that the data make.
TURNED: Final = "with the jobs of the log in their own order it is not slower"


def against_data(
    rows: Sequence[RankedPolicy],
    predictions: Callable[[AbstractPolicy], Prediction],
    objective: Quantity,
    limits: Sequence[Constraint] = (),
) -> tuple[tuple[RankedPolicy, ...], FitError | None]:
    """Return the rows with ties that the data make, and the error of fit of the best one.

    Parameters
    ----------
    rows : sequence of RankedPolicy
        As `ranked` gives them.
    predictions : callable
        Of a policy in a row with a value.
    objective : Quantity
    limits : sequence of Constraint
        Kept by the best one; a note says which it may break within its error of fit.
    """
    best = rows[0]
    if best.status != BEST:
        return tuple(rows), None
    error = fit_error_of(predictions(best.policy), objective, best.value)
    if error is None:
        return tuple(rows), None
    near = [str(limit) for limit in limits if _may_break(limit, best, predictions)]
    if near and not best.note:
        best = replace(best, note=f"{near[0]} is nearer than the error of the fitted laws")
    slower = [row for row in rows if row.status == SLOWER and isfinite(row.value)][:PLAYED]
    turned = []
    for row in slower if isfinite(error.ratio) else ():
        own = fit_error_of(predictions(row.policy), objective, row.value, interval=False)
        if own is not None and own.on_data <= error.on_data:
            turned.append(row)
    ties = [row for row in rows if row.status == TIE]
    ties += [replace(row, status=TIE, note=row.note or TURNED) for row in turned]
    ties.sort(key=lambda row: row.value)
    rest = [row for row in rows[1:] if row.status != TIE and row not in turned]
    return (best, *ties, *rest), error


def fit_error_of(
    prediction: Prediction, quantity: Quantity, predicted: float, *, interval: bool = True
) -> FitError | None:
    """Return the error of fit of a quantity; None for given laws, and for what is no time.

    Parameters
    ----------
    prediction : Prediction
    quantity : Quantity
    predicted : float
        Its value.
    interval : bool
        See `qmodels.networks.replay.fit_error`.
    """
    if quantity.unit != "s":
        return None
    of = "wait" if quantity.of_wait or quantity.name == "mean_wait" else "response"
    return error_of_fit(
        prediction.solved,
        of,
        quantity.share,
        predicted,
        interval=interval,
        described=prediction.drawn_as,
    )


def _may_break(
    limit: Constraint, best: RankedPolicy, predictions: Callable[[AbstractPolicy], Prediction]
) -> bool:
    """Whether the data allow the best one's quantity to be beyond a limit that it keeps."""
    name = limit.quantity.name
    error = fit_error_of(predictions(best.policy), limit.quantity, best.quantities[name])
    return error is not None and limit.limit < error.high
