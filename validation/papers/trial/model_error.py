"""What the interval of measured speeds leaves out, estimated from rows of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.checks import real_array
from qmodels.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd

_ROWS: Final = ("errors", "noise", "slopes")


def errors_of_rows(rows: pd.DataFrame) -> dict[str, float]:
    """The errors by kind, "SPACE", "DIVIDED" and "TURNS", from rows of a comparison.

    Of the rows that are not kept out, and of strategies that place all jobs alike only the first.
    """
    kind = rows["policy"].str.slice(0, 2)
    usable = ~rows["kept_out"] & np.isfinite(rows["noise"])
    usable &= ~rows.duplicated(["cell", "load", "simulated", "corrected"])
    found = {}
    for policy, name in (("SP", "SPACE"), ("DP", "DIVIDED"), ("TS", "TURNS")):
        some = rows[usable & (kind == policy)]
        found[name] = excess_error(some["error"], some["noise"], some["slope"])
    return found


def excess_error(errors: ArrayLike, noise: ArrayLike, slopes: ArrayLike) -> float:
    """Standard deviation of a factor on the speeds that explains errors beyond their noise.

    Parameters
    ----------
    errors : (n,) array_like
        Relative errors of predicted response times.
    noise : (n,) array_like
        Standard errors of these, of the measured speeds and of the simulation together, > 0.
    slopes : (n,) array_like
        By how much a share of the speeds changes a share of the response time; a row with 0 tells
        nothing.

    Returns
    -------
    float
        0 where the noise explains them all.

    Raises
    ------
    ModelError
        If these are not three rows of one length, or a noise is not positive.

    Notes
    -----
    The sum of squares over their variances is made what its mean is, the number of rows [1]_; so
    rows that are little known count little.

    References
    ----------
    .. [1] R. C. Paule, J. Mandel, "Consensus values and weighting factors", *J. Res. Nat. Bur.
       Stand.* 87 (5), 1982.

    Examples
    --------
    >>> excess_error([0.02, -0.02], [0.02, 0.02], [4.0, 4.0])
    0.0
    >>> round(excess_error([0.05, -0.05], [0.03, 0.03], [4.0, 4.0]), 4)
    0.01
    """
    e, v, s = (real_array(name, x) for name, x in zip(_ROWS, (errors, noise, slopes), strict=True))
    if e.ndim != 1 or not e.shape == v.shape == s.shape or not (v > 0.0).all():
        raise ModelError(
            f"errors, noise and slopes must be three rows of one length with noise above 0; got "
            f"shapes {e.shape}, {v.shape}, {s.shape}"
        )

    def surplus(variance: float) -> float:
        return float((e**2 / (v**2 + s**2 * variance)).sum()) - e.size

    tells = s != 0.0
    e, v, s = e[tells], v[tells], s[tells]
    if surplus(0.0) <= 0.0:
        return 0.0
    from scipy.optimize import brentq

    most = 1.0
    while surplus(most) > 0.0:
        most *= 4.0
    return float(np.sqrt(brentq(surplus, 0.0, most, xtol=1e-12)))
