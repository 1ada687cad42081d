"""Laws that have the tail of their data, for percentiles; a mean asks for moments instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from phasefit.arrays import Array
from phasefit.checks import real_vector, whole_number
from phasefit.errors import ModelError
from phasefit.fitted_to import FittedTo
from phasefit.fitting import fit
from phasefit.phase_type import PhaseType

#: Percentiles by which a tail is judged, and how near it must be to be left at that.
JUDGED: Final = (0.9, 0.95, 0.99)
NEAR: Final = 0.15
#: Fewest values that have a tail of their own.
_FEWEST: Final = 20
#: Places between the median and the tail at which the survival function is met, and how many
#: values lie beyond the last of them.
_PLACES, _BEYOND = 40, 10
#: Means of the exponentials that are tried, each over the last; wider ones for few phases.
_APART: Final = (2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
#: Shortest mean of a phase where few are asked for, over that of the values.
_SHORTEST: Final = 0.1
#: What the rows of the total and of the mean weigh against those of the tail, and that of the
#: second moment, which keeps what lies beyond the data from growing.
_HELD, _SECOND = 100.0, 3.0
#: Largest order of the mixtures of Erlang laws.
_MOST: Final = 8


def tail_law(samples: ArrayLike, *, order: int | None = None) -> PhaseType:
    """Fit a law to the tail of values: its percentiles from the median on, and the mean.

    Parameters
    ----------
    samples : (n,) array_like
        Times, seconds, not negative; at least 20.
    order : int, optional
        Most phases, at least 2, none of which is shorter than a tenth of the mean: for chains
        whose time grows with both. By default as many as the tail takes, some ten.

    Returns
    -------
    PhaseType
        It has the mean of the data. `PhaseType.fitted_to` holds these.

    Raises
    ------
    ModelError
        If there are too few values, or one is negative.

    Notes
    -----
    Two moments fix the mean of a wait and leave the percentiles of a single time open: of the jobs
    of public logs a law with both is 29 to 65 % below their 95th percentile. Here a mixture of
    exponentials whose means double from one to the next meets P(X > x), by least squares of its
    relative errors with weights that are not negative [1]_. Where that is off by more than 15 % at
    one of the percentiles .9, .95 and .99, as of times that vary little, mixtures of Erlang laws of
    up to order 8 are fitted by likelihood and the nearest of all is taken.

    References
    ----------
    .. [1] A. Feldmann, W. Whitt, "Fitting mixtures of exponentials to long-tail distributions to
       analyze network performance models", *Perform. Eval.* 31 (1998) 245-279.

    Examples
    --------
    >>> sizes = np.exp(2.0 * np.random.default_rng(1).standard_normal(20_000))
    >>> law = tail_law(sizes)
    >>> bool(abs(law.ppf(0.95) / np.quantile(sizes, 0.95) - 1.0) < 0.1)
    True
    """
    values = real_vector("samples", samples)
    most = None if order is None else whole_number("order", order, least=2)
    if values.min() < 0.0:
        raise ModelError(f"samples must be >= 0, got {values.min():.6g}")
    if values.size < _FEWEST:
        raise ModelError(f"a tail needs at least {_FEWEST} values, got {values.size}")
    if not values.max() > 0.0:
        raise ModelError("all samples are 0; there is no tail")
    nearest, least = None, np.inf
    for law, how in _candidate_laws(values, most):
        missed = tail_misfit(law, values)
        if missed < least:
            nearest, least = law._with_origin(FittedTo(values, how=how)), missed
        if least <= NEAR:
            break
    assert nearest is not None
    return nearest


def tail_misfit(law: PhaseType, samples: ArrayLike) -> float:
    """Return the largest relative error of a law at the 90th, 95th and 99th percentile of values.

    Values of zero are left out; 0 where all are.

    Parameters
    ----------
    law : PhaseType
        The law, in the unit of the values.
    samples : (n,) array_like
        Values, not negative.

    Examples
    --------
    >>> round(tail_misfit(PhaseType.exponential(mean=1.0), [1.0] * 50), 3)
    3.605
    """
    wanted = np.quantile(real_vector("samples", samples), JUDGED)
    fitted = np.asarray(law.ppf(list(JUDGED)))
    some = wanted > 0.0
    return float(np.abs(fitted[some] / wanted[some] - 1.0).max(initial=0.0))


def _candidate_laws(values: Array, most: int | None) -> Iterator[tuple[PhaseType, str]]:
    """Laws of the mean of the values, from those with little work on, of so many phases at most."""
    largest = min(most or _MOST, _MOST)
    if not values.max() > values.min():
        mean = float(values[0])
        yield PhaseType.erlang(phases=largest, mean=mean), f"Erlang of {largest} phases"
        return
    how = "mixture of exponentials by its tail"
    if most is None:
        yield _exponential_mixture(values, _APART[0], 0.0), how
    else:
        for apart in _APART:
            law = _exponential_mixture(values, apart, _SHORTEST)
            if law.order <= most:
                yield law, how
                break
    for phases in range(1, largest + 1):
        report = fit(values, order=phases, rng=0)
        law = report.distribution
        if most is None or float(law.exit.max()) * law.mean <= phases / _SHORTEST:
            yield law, report.label


def _exponential_mixture(values: Array, apart: float, shortest: float) -> PhaseType:
    """Mixture of exponentials with the mean and, as far as it can, the tail of the values.

    Their means grow by the factor `apart` from one to the next, from `shortest` means on.
    """
    positive = np.sort(values[values > 0.0])
    mean, share = float(positive.mean()), positive.size / values.size
    x = positive / mean
    last = min(max(_BEYOND / x.size, 1e-6), 0.2)
    first = 0.25 if shortest > 0.0 else 0.5  # what is shorter than the phases cannot be met
    places = np.unique(np.quantile(x, 1.0 - np.geomspace(first, last, _PLACES)))
    above = 1.0 - np.searchsorted(x, places, side="right") / x.size
    places, above = places[above > 0.0], above[above > 0.0]
    least = min(max(float(np.quantile(x, 0.25)), 1e-6 * float(x[-1]), shortest), 1.0)
    means = least * apart ** np.arange(np.ceil(np.log(x[-1] / least) / np.log(apart)) + 1)
    columns = np.vstack(
        [
            np.exp(-places[:, None] / means) / above[:, None],
            _HELD * np.ones(means.size),
            _HELD * means,
            _SECOND * 2.0 * means * means / float(x @ x / x.size),
        ]
    )
    wanted = np.concatenate([np.ones(above.size), [_HELD, _HELD, _SECOND]])
    mixture, _ = nnls(columns, wanted, maxiter=100 * means.size)
    kept = mixture > 1e-12 * mixture.sum()
    weights = mixture[kept] / mixture[kept].sum()
    law = PhaseType.hyperexponential(weights=weights, means=means[kept])
    law = law.scale(mean / law.mean)  # what the least squares left of it
    if share == 1.0:
        return law
    return PhaseType.from_rates(share * law.alpha, law.jumps, law.exit, atom=1.0 - share)
