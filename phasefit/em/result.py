"""Results of EM fits, and the laws made of their pieces in the unit of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import finite_rates
from phasefit.observations import Observations
from phasefit.phase_type import PhaseType
from phasefit.records import Drawing, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EMResult(Result):
    """A law of greatest likelihood, as far as EM could climb from one start.

    Times are in seconds, so are likelihoods: a sum of logarithms of densities per second.
    """

    drawing = Drawing("step", "log_likelihood")

    distribution: PhaseType  #: in seconds
    log_likelihood: float  #: of all the data under `distribution`, not of the bins
    trace: tuple[float, ...]  #: log-likelihood of the data as condensed, step by step
    steps: int  #: EM steps taken, extrapolated ones included
    converged: bool  #: False where the steps ran out
    parameters: int  #: free numbers of the law, the atom included
    label: str  #: family and form, such as "hyper-Erlang (1, 3)"
    #: distance per sample from the last likelihood in bins to the exact one
    binning_error: float

    def to_frame(self) -> pd.DataFrame:
        """Return the log-likelihood after each step."""
        import pandas as pd

        steps = range(1, len(self.trace) + 1)
        return pd.DataFrame({"step": list(steps), "log_likelihood": list(self.trace)})


def result(
    observations: Observations,
    rates: tuple[Array, Array, Array],
    exact: float,
    in_bins: float,
    trace: Array,
    converged: bool,
    parameters: int,
    label: str,
) -> EMResult:
    """Return the result in seconds of a fit in the unit of the data.

    Parameters
    ----------
    observations : Observations
        The data.
    rates : tuple of ndarray
        alpha (n,), jumps (n, n) and exits (n,), in the unit of the data.
    exact, in_bins : float
        Log-likelihood of the positive times, and of their binned form.
    trace : (steps,) ndarray
        Log-likelihood of the binned times after each step.
    converged : bool
        Whether the climb stopped by itself.
    parameters : int
        Number of free parameters, without an atom at zero.
    label : str
        Family and structure.
    """
    alpha, jumps, exits = rates
    atom, unit = observations.atom, observations.unit
    with np.errstate(over="ignore"):
        moves, ends = finite_rates(jumps / unit), finite_rates(exits / unit)
    law = PhaseType.from_rates(alpha * (1.0 - atom), moves, ends, atom=atom)
    steps: Any = (observations.total(float(value)) for value in trace)
    return EMResult(
        law,
        observations.total(exact),
        tuple(steps),
        trace.size,
        converged,
        parameters + (atom > 0.0),
        label,
        abs(exact - in_bins) / observations.positive,
    )
