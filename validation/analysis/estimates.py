"""Output analysis: independent replications and the intervals that may be claimed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import real_number, share, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from validation.analysis.seeding import stream

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate(Result):
    """A sample mean with its confidence interval, mean +/- half_width.

    Examples
    --------
    >>> found = Estimate(mean=10.0, half_width=2.0, confidence=0.95, replications=11)
    >>> found.low, found.high, found.contains(12.5)
    (8.0, 12.0, False)
    """

    drawing = Drawing("quantity", "mean", half_width="half_width", labels=("", "estimate"))

    mean: float
    half_width: float  #: infinite when one replication tells nothing of the spread
    confidence: float  #: two-sided coverage of the interval, such as 0.95
    replications: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width

    def to_frame(self) -> pd.DataFrame:
        """One row: the mean, the interval and what it comes from."""
        import pandas as pd

        return pd.DataFrame([self.record()])

    def record(self) -> dict[str, Any]:
        """The mean, the interval and what it comes from."""
        names = ("mean", "half_width", "low", "high", "confidence", "replications")
        return {name: getattr(self, name) for name in names}

    def drawn(self) -> pd.DataFrame:
        """The row, with a name for the only bar."""
        return self.to_frame().assign(quantity="mean")

    def contains(self, value: float) -> bool:
        """Whether `value` lies in the interval."""
        return abs(value - self.mean) <= self.half_width

    @property
    def standard_error(self) -> float:
        """Estimated standard deviation of `mean`; infinite with one replication."""
        if self.replications < 2:
            return float("inf")
        return self.half_width / _student(self.confidence, self.replications)

    def z_score(self, value: float) -> float:
        """How far `value` lies above the mean, as a standard normal variate if it is the truth.

        The distance in standard errors follows Student's law; it is given as the normal quantile
        of the same probability, so that scores of few replications may be pooled with others.

        Examples
        --------
        >>> round(Estimate(10.0, 2.0, 0.95, 11).z_score(12.0), 6)
        1.959964
        """
        from scipy.special import ndtri, stdtr

        gap, error = value - self.mean, self.standard_error
        if error == 0.0:
            return 0.0 if gap == 0.0 else float(np.copysign(np.inf, gap))
        if np.isinf(error):
            return 0.0
        # From the lower tail, where probabilities keep their relative accuracy.
        below = float(ndtri(stdtr(self.replications - 1, -abs(gap) / error)))
        return float(np.copysign(below, gap))

    def __str__(self) -> str:
        interval = f"{self.mean:.4g}{plus_minus(self.half_width)}"
        return f"{interval} ({self.confidence:.0%}, n={self.replications})"


def plus_minus(half_width: float, form: str = ".2g", unit: str = "") -> str:
    """What follows a mean: its half-width, or in words that one run has none.

    Examples
    --------
    >>> f"9.31{plus_minus(0.12)}", f"9.31{plus_minus(float('inf'))}"
    ('9.31 ± 0.12', '9.31 (one run, no interval)')
    >>> f"+4.0{plus_minus(1.5, '.1f', ' %')}", f"+4.0{plus_minus(float('inf'), unit=' %')}"
    ('+4.0 ± 1.5 %', '+4.0 % (one run, no interval)')
    """
    if half_width == float("inf"):
        return f"{unit} (one run, no interval)"
    return f" ± {half_width:{form}}{unit}"


def estimate(values: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Student t interval for the mean of independent observations.

    Parameters
    ----------
    values : (n,) array_like
        One observation per independent replication, at least one.
    confidence : float
        Two-sided coverage, between 0 and 1.

    Returns
    -------
    Estimate
        With one observation the half-width is infinite.

    Raises
    ------
    ModelError
        If there is no observation, one is not finite, or `confidence` is out of range.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, ch. 9.

    Examples
    --------
    >>> print(estimate([9.0, 10.0, 11.0]))
    10 ± 2.5 (95%, n=3)
    """
    confidence = share("confidence", confidence, zero=False, one=False)
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or x.size == 0 or not np.isfinite(x).all():
        raise ModelError(f"an estimate needs one or more finite observations, got {values!r}")
    n = x.size
    if n == 1:
        return Estimate(float(x[0]), float("inf"), confidence, 1)
    if x.min() == x.max():  # rounding would spread them
        return Estimate(float(x[0]), 0.0, confidence, n)
    half_width = _student(confidence, n) * float(x.std(ddof=1)) / n**0.5
    return Estimate(float(x.mean()), half_width, confidence, n)


def jackknife(statistic: Callable[[Array], float], n: int, *, confidence: float = 0.95) -> Estimate:
    """Student t interval for a smooth function of the means over independent replications.

    Parameters
    ----------
    statistic : callable
        ``statistic(weights)`` is its value where replication i counts ``weights[i]`` times, each
        0 or 1; weights have shape (n,).
    n : int
        Number of replications, at least one.
    confidence : float
        Two-sided coverage, between 0 and 1.

    Returns
    -------
    Estimate
        Its value with all replications, not corrected for bias, and the half-width from the
        values with one left out; infinite with one replication.

    Raises
    ------
    ModelError
        If there is no replication, a value is not finite, or `confidence` is out of range.

    Notes
    -----
    Where the statistic is not smooth the interval is too short: of the size of an error that is
    itself about zero, such as a root mean square, it may even have no width.

    References
    ----------
    .. [1] R. G. Miller, "The jackknife: a review", Biometrika 61 (1), 1974.

    Examples
    --------
    Of a mean it is `estimate`:

    >>> x = np.array([9.0, 10.0, 11.0])
    >>> print(jackknife(lambda weights: float(weights @ x / weights.sum()), 3))
    10 ± 2.5 (95%, n=3)
    """
    confidence = share("confidence", confidence, zero=False, one=False)
    n = whole_number("n", n, least=1)
    everything = statistic(np.ones(n))
    without = [statistic(1.0 - np.eye(n)[i]) for i in range(n)] if n > 1 else []
    if not np.isfinite([everything, *without]).all():
        raise ModelError(f"a jackknife needs finite values, got {[everything, *without]!r:.200}")
    if n == 1:
        return Estimate(everything, float("inf"), confidence, 1)
    error = ((n - 1) * float(np.var(without))) ** 0.5
    return Estimate(everything, _student(confidence, n) * error, confidence, n)


def _student(confidence: float, n: int) -> float:
    """Two-sided quantile of Student's law with n - 1 degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2))


def until_precise(
    observe: Callable[[int], Sequence[float]],
    *,
    precision: float,
    confidence: float = 0.95,
    at_least: int = 10,
    at_most: int = 1000,
) -> bool:
    """Ask for more replications until their mean is known to a relative precision.

    Parameters
    ----------
    observe : callable
        ``observe(n)`` returns the observations of the first n independent replications; it is
        called with rising n.
    precision : float
        Target of ``half_width / |mean|``.
    confidence : float
        Two-sided coverage of the Student t interval.
    at_least, at_most : int
        Bounds on the number of replications, at least 2.

    Returns
    -------
    bool
        Whether the target was met at two looks in a row; otherwise all `at_most` are done.

    Raises
    ------
    ModelError
        If a bound or the precision is out of range.

    Notes
    -----
    Stopping when the target is first met favours replications that happen to agree. Each look
    comes after at least a fifth more replications, and after as many as the last interval asks
    for, doubled at most.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, sec. 9.4.1.

    Examples
    --------
    >>> drawn = stream(1).normal(5.0, size=1000)
    >>> until_precise(lambda n: drawn[:n].tolist(), precision=0.05)
    True
    """
    rule = Stopping(precision=precision, confidence=confidence, at_least=at_least, at_most=at_most)
    while rule.look(observe(rule.wanted)):
        pass
    return rule.met


class Stopping:
    """When replications of one quantity are enough: the rule of `until_precise`, look by look.

    Parameters
    ----------
    precision, confidence, at_least, at_most
        As for `until_precise`.

    Raises
    ------
    ModelError
        If a bound or the precision is out of range.

    Examples
    --------
    >>> rule = Stopping(precision=0.5, at_least=2, at_most=4)
    >>> rule.wanted, rule.look([9.0, 10.0]), rule.wanted
    (2, True, 4)
    >>> rule.look([9.0, 10.0, 11.0, 10.0]), rule.met
    (False, False)
    """

    def __init__(
        self, *, precision: float, confidence: float = 0.95, at_least: int = 10, at_most: int = 1000
    ) -> None:
        self.precision = real_number("precision", precision, above=0.0)
        self.confidence = confidence
        self.wanted = whole_number("at_least", at_least, least=2)  #: replications for the next look
        self.at_most = whole_number("at_most", at_most, least=self.wanted)
        self.met = False  #: whether the target was met at two looks in a row
        self.width = np.inf  #: half-width over the mean at the last look
        self._hits = 0

    def look(self, values: Sequence[float]) -> bool:
        """Judge the first `wanted` observations; whether more are asked for."""
        n = self.wanted
        known = estimate(values, confidence=self.confidence)
        target = self.precision * abs(known.mean)
        self._hits = self._hits + 1 if known.half_width <= target else 0
        self.width = known.half_width / abs(known.mean) if known.mean else np.inf
        self.met = self._hits == 2
        if self.met or n >= self.at_most:
            return False
        more = n * (known.half_width / target) ** 2 if target > 0 else np.inf
        self.wanted = min(max(int(min(more, 2 * n)), n + max(2, n // 5)), self.at_most)
        return True


def replicate(
    run: Callable[[np.random.Generator], float],
    *,
    seed: int,
    precision: float = 0.05,
    confidence: float = 0.95,
    at_least: int = 10,
    at_most: int = 1000,
) -> Estimate:
    """Repeat an independent experiment until its mean is known well enough.

    Parameters
    ----------
    run : callable
        One replication: takes its own generator, returns one observation.
    seed : int
        Replication i always gets `stream(seed, i)`, so results do not depend on how many were
        run before or on which core.
    precision : float
        Stop once ``half_width <= precision * |mean|`` twice in a row: stopping at the first hit
        favours replications that happen to agree and covers too seldom.
    confidence : float
        Two-sided coverage of the Student t interval.
    at_least, at_most : int
        Bounds on the number of replications, at least 2.

    Returns
    -------
    Estimate
        Check ``replications == at_most`` to see whether precision was given up.

    Raises
    ------
    ModelError
        If a bound or the precision is out of range.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, sec. 9.4.1.

    Examples
    --------
    >>> known = replicate(lambda rng: rng.normal(5.0), seed=1, precision=0.1)
    >>> known.contains(5.0)
    True
    """
    real_number("precision", precision, above=0.0)
    whole_number("at_most", at_most, least=whole_number("at_least", at_least, least=2))
    values: list[float] = []
    hits = 0
    while True:
        values.append(run(stream(seed, len(values))))
        if len(values) < at_least:
            continue
        result = estimate(values, confidence=confidence)
        hits = hits + 1 if result.half_width <= precision * abs(result.mean) else 0
        if hits == 2 or len(values) >= at_most:
            return result
