"""Reports of fits: likelihood, distances, moments, tails, doubts, and bands by bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, log, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import probabilities, real_number, real_vector, share, whole_number
from phasefit.empirical import Empirical, ks_distance
from phasefit.errors import ModelError
from phasefit.observations import Observations
from phasefit.phase_type import PhaseType
from phasefit.records import Record, Result, aligned

if TYPE_CHECKING:
    import pandas as pd

#: Quantiles whose errors a report names.
TAIL: Final = (0.9, 0.95, 0.99, 0.999)
#: Replicas below which the outermost ones do not reach the ends of a 95 % band.
FEWEST_REPLICAS: Final = 39
#: Waiting times are proportional to the second moment, so its error is theirs.
_MISSED = 0.05


@dataclass(frozen=True)
class Candidate(Record):
    """One of the laws that a fit tried."""

    label: str  #: family and structure
    order: int  #: number of phases
    parameters: int  #: number of free parameters
    log_likelihood: float  #: total
    aic: float  #: Akaike's criterion
    bic: float  #: Schwarz's criterion
    cv: float | None  #: log-likelihood per observation left out; None unless that was asked for
    steps: int  #: iterations
    converged: bool  #: whether the iteration came to rest


@dataclass(frozen=True, eq=False, repr=False)
class FitReport(Result):
    """A fitted law and what speaks for and against it; made by `phasefit.fit`.

    Parameters
    ----------
    distribution : PhaseType
        The law, in the unit of the data.
    log_likelihood : float
        Total log-likelihood of the data, natural logarithm.
    parameters : int
        Number of free parameters.
    size : float
        Number of observations, weights counted as repetitions.
    label : str
        Family and structure, such as ``"hyper-Erlang (1, 3)"``.
    converged : bool
        Whether the iteration came to rest; if not, a warning says so.
    trace : sequence of float
        Total log-likelihood after each iteration; empty where nothing was iterated.
    data : Empirical or None
        The data's own law; None where it is not identified (left- or interval-censored data),
        and then what is compared with it is NaN.
    candidates : sequence of Candidate
        What was tried, best first by the criterion.
    criterion : str
        What chose among them.
    held : int
        Number of moments that the fit was made to meet.
    remarks : sequence of str
        Doubts about the data; `warnings` adds those about the fit.
    replicas : sequence of PhaseType
        Refits to resampled data, for `bands`.
    ks_pvalue : float, optional
        Share of samples of the fitted law, each refitted, that lie as far off as the data.

    Raises
    ------
    ModelError
        If the fields do not go together.

    Examples
    --------
    >>> from phasefit.fitting import fit
    >>> times = PhaseType.erlang(phases=3, mean=6.0).rvs(2000, random_state=1)
    >>> report = fit(times, max_order=4, rng=1)
    >>> report.label, report.distribution.order, report.converged
    ('hyper-Erlang (3)', 3, True)
    >>> abs(report.moment_errors[0]) < 1e-6, report.ks < 0.03
    (True, True)
    """

    distribution: PhaseType
    log_likelihood: float
    parameters: int
    size: float
    label: str
    converged: bool
    trace: tuple[float, ...]
    data: Empirical | None
    candidates: tuple[Candidate, ...] = ()
    criterion: str = "bic"
    held: int = 0
    remarks: tuple[str, ...] = ()
    replicas: tuple[PhaseType, ...] = ()
    ks_pvalue: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, PhaseType):
            raise ModelError(f"distribution must be a PhaseType, got {self.distribution!r:.80}")
        real_number("log_likelihood", self.log_likelihood)
        real_number("size", self.size, above=0.0)
        if self.data is not None and not isinstance(self.data, Empirical):
            raise ModelError(f"data must be an Empirical or None, got {self.data!r:.80}")
        whole_number("parameters", self.parameters, least=0)
        if self.ks_pvalue is not None:
            probabilities("ks_pvalue", self.ks_pvalue)
        for name in ("trace", "candidates", "remarks", "replicas"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.trace:
            real_vector("trace", self.trace)

    def __repr__(self) -> str:
        return (
            f"FitReport({self.label}, n={self.size:g}, log_likelihood={self.log_likelihood:.8g}, "
            f"bic={self.bic:.8g}, ks={self.ks:.4g})"
        )

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 parameters - 2 log-likelihood."""
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, parameters log(size) - 2 log-likelihood."""
        return self.parameters * log(self.size) - 2.0 * self.log_likelihood

    @cached_property
    def ks(self) -> float:
        """Largest distance between the two cdfs; see `ks_distance`."""
        return nan if self.data is None else ks_distance(self.distribution, self.data)

    @cached_property
    def moment_errors(self) -> tuple[float, float, float]:
        """Fitted over empirical moment - 1, for E[X], E[X^2] and E[X^3]."""
        if self.data is None:
            return nan, nan, nan
        law = self.distribution.scale(1.0 / self.data.mean)
        first, second, third = (law.moment(k) / self.data.relative_moment(k) - 1 for k in (1, 2, 3))
        return first, second, third

    @cached_property
    def tail_errors(self) -> tuple[float, float, float, float]:
        """Fitted over empirical quantile - 1, at 0.9, 0.95, 0.99 and 0.999.

        The quantiles of few data are uncertain themselves: beyond 1 - 10/size they hang on the
        ten longest observations. NaN where censored data do not reach, or a quantile is zero.
        """
        data = [nan if self.data is None else self.data.quantile(q) for q in TAIL]
        fitted = np.asarray(self.distribution.ppf(list(TAIL)))
        a, b, c, d = (float(f / x - 1) if x > 0 else nan for f, x in zip(fitted, data, strict=True))
        return a, b, c, d

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what makes the fit, or its use, doubtful."""
        sentences = list(self.remarks)
        second = self.moment_errors[1]
        if self.data is not None and self.held < 2 and abs(second) > _MISSED:
            spread = self.data.relative_moment(4) / self.data.relative_moment(2) ** 2 - 1.0
            uncertainty = max(spread, 0.0) ** 0.5 / self.size**0.5
            sentences.append(
                f"Maximum likelihood misses the second moment of the data by {second:+.1%} (they "
                f"know it to {uncertainty:.1%}, one standard error), and with it waiting times, which "
                f"grow in proportion; hold_moments=2 keeps the first two moments, a higher order "
                f"may come closer."
            )
        if not self.converged:
            sentences.append(
                f"The likelihood was still rising after {len(self.trace):,} steps; the law is "
                f"valid, but not yet the best of its family: allow more steps, or a lower order."
            )
        if 0 < len(self.replicas) < FEWEST_REPLICAS:
            sentences.append(
                f"{len(self.replicas)} replicas are few: bands of 95 % need at least "
                f"{FEWEST_REPLICAS}, and the p-value comes in steps of "
                f"{1 / (1 + len(self.replicas)):.2g}."
            )
        return tuple(sentences)

    def bands(self, x: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Return confidence bands of the ccdf by bootstrap.

        Parameters
        ----------
        x : array_like
            Times, seconds, of any shape.
        level : float
            Two-sided confidence at each time by itself, in (0, 1).

        Returns
        -------
        low, high : ndarray
            Quantiles of P(X > x) among the laws refitted to resampled data, in the shape of `x`.

        Raises
        ------
        ModelError
            If the fit was made without bootstrap, a time is NaN or `level` is out of its range.

        Notes
        -----
        The percentile method [1]_. The resampling takes the observations as independent, so that
        bands from dependent data are too narrow; the choice of the order is not repeated.

        References
        ----------
        .. [1] B. Efron, R. J. Tibshirani, *An Introduction to the Bootstrap*, Chapman & Hall
           1993, ch. 13.

        Examples
        --------
        >>> from phasefit.fitting import fit
        >>> report = fit([1.0, 2.0, 4.0, 9.0], order=1, bootstrap=50, rng=1)
        >>> low, high = report.bands(4.0)
        >>> bool(low < report.distribution.sf(4.0) < high)
        True
        """
        if not self.replicas:
            raise ModelError("no replicas to take bands from; fit again with bootstrap=200")
        level = share("level", level, zero=False, one=False)
        curves = np.array([replica.sf(x) for replica in self.replicas])
        outside = (1.0 - level) / 2.0
        low, high = np.quantile(curves, [outside, 1.0 - outside], axis=0)
        return low, high

    def record(self) -> dict[str, Any]:
        """Return the law, how well it fits, the candidates and the warnings; not the data."""
        law = self.distribution
        return {
            "n": self.size,
            "label": self.label,
            "order": law.order,
            "alpha": law.alpha,
            "T": law.T,
            "atom": law.atom,
            "mean": law.mean,
            "scv": law.scv,
            "log_likelihood": self.log_likelihood,
            "parameters": self.parameters,
            "aic": self.aic,
            "bic": self.bic,
            "ks": self.ks,
            "ks_pvalue": self.ks_pvalue,
            "moment_errors": self.moment_errors,
            "tail_errors": self.tail_errors,
            "converged": self.converged,
            "criterion": self.criterion,
            "candidates": self.candidates,
            "warnings": self.warnings,
        }

    def to_frame(self) -> pd.DataFrame:
        """Compare data and law: a row for each moment and quantile.

        Returns
        -------
        pandas.DataFrame
            Columns data, fitted (seconds, or seconds^k for E[X^k]) and error (relative).
        """
        import pandas as pd

        law, data = self.distribution, self.data
        rows: dict[str, tuple[float, float]] = {}
        for k, name in ((1, "mean"), (2, "E[X^2]"), (3, "E[X^3]")):
            of_data = nan if data is None else _power(data.mean, k) * data.relative_moment(k)
            relative = law.scale(1.0 / law.mean).moment(k)
            rows[name] = (of_data, _power(law.mean, k) * relative)
        of_data = nan if data is None else data.relative_moment(2) - 1.0
        rows["scv"] = (of_data, law.scv)
        for q in (0.1, 0.5, *TAIL):
            of_data = nan if data is None else data.quantile(q)
            rows[f"quantile {q:g}"] = (of_data, float(law.ppf(q)))
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["data", "fitted"])
        frame.index.name = "quantity"
        positive = (frame["data"] > 0.0) & frame["data"].notna()
        frame["error"] = frame["fitted"].where(positive) / frame["data"].where(positive) - 1.0
        return frame

    def table(self, *, most: int = 8) -> str:
        """Return the report as text: the fit, data beside law, the candidates, the warnings.

        Parameters
        ----------
        most : int
            Candidates to list.

        Raises
        ------
        ModelError
            If `most` is not a whole number above zero.
        """
        most = whole_number("most", most, least=1)
        lines = [
            f"{self.label}: {self.distribution!r}",
            f"n = {self.size:g}, log-likelihood {self.log_likelihood:.8g} "
            f"({self.parameters} parameter{'' if self.parameters == 1 else 's'}), "
            f"AIC {self.aic:.8g}, BIC {self.bic:.8g}",
            self._ks_text(),
            "",
            *aligned(
                [
                    ("", "data", "fitted", "error"),
                    *(
                        (str(name), _six_digits(of_data), _six_digits(fitted), _percent_text(error))
                        for name, of_data, fitted, error in self.to_frame().itertuples()
                    ),
                ]
            ),
        ]
        if len(self.candidates) > 1:
            by_cv = self.criterion == "cv"
            header = ("tried", "order", "parameters", "log-likelihood", "AIC", "BIC")
            shown = self.candidates[:most]
            rows = [
                (
                    c.label,
                    str(c.order),
                    str(c.parameters),
                    f"{c.log_likelihood:.8g}",
                    f"{c.aic:.8g}",
                    f"{c.bic:.8g}",
                    *([_six_digits(c.cv)] if by_cv else []),
                )
                for c in shown
            ]
            lines += ["", *aligned([(*header, "CV") if by_cv else header, *rows])]
            if len(shown) < len(self.candidates):
                lines.append(f"... and {len(self.candidates) - len(shown)} more")
        lines += [f"- {sentence}" for sentence in self.warnings]
        return "\n".join(lines)

    def _ks_text(self) -> str:
        if self.data is None:
            return "KS not known: the data's own law is not identified"
        if self.ks_pvalue is None:
            return f"KS {self.ks:.4g}"
        return f"KS {self.ks:.4g}, p-value {self.ks_pvalue:.3g} from {len(self.replicas)} replicas"

    def plot(self, ax: Any = None) -> Any:
        """Draw P(X > x) of the data and of the law, with bands where there are any.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional

        Returns
        -------
        matplotlib.axes.Axes
        """
        from phasefit.plotting import ccdf

        return ccdf(self, ax=ax)

    def figure(self) -> Any:
        """Draw density, ccdf, quantiles and likelihood, four panels.

        Returns
        -------
        matplotlib.figure.Figure
            Not shown; save it with ``savefig``.
        """
        from phasefit.plotting import fit_figure

        return fit_figure(self)


def log_likelihood(distribution: PhaseType, observations: Observations) -> float:
    """Return the total log-likelihood of observations under a law, natural logarithm.

    Parameters
    ----------
    distribution : PhaseType
        In the unit of the data.
    observations : Observations
        The data, in seconds.

    Raises
    ------
    ModelError
        If the arguments are not a law and observations, or the law excludes one of them.

    Examples
    --------
    >>> law = PhaseType.exponential(mean=1.0)
    >>> round(log_likelihood(law, Observations.of([1.0, 2.0], censored=[False, True])), 12)
    -3.0
    """
    if not isinstance(distribution, PhaseType) or not isinstance(observations, Observations):
        raise ModelError(
            f"a PhaseType and Observations are needed, got {type(distribution).__name__} and "
            f"{type(observations).__name__}"
        )
    total = 0.0
    if observations.values.size:
        distinct, place = np.unique(observations.values, return_inverse=True)
        times = np.bincount(place, weights=observations.weights)
        total += float(times @ distribution.logpdf(distinct))
    if observations.lower.size:
        ends = observations.lower, observations.upper
        (start, stop), (below, reached) = (
            (np.asarray(f(ends[0])), np.asarray(f(ends[1]))) for f in (distribution.sf, distribution.cdf)
        )
        chance = np.where(start < 0.5, start - stop, reached - below)  # the one with more digits
        with np.errstate(divide="ignore"):
            total += float(observations.interval_weights @ np.log(np.maximum(chance, 0.0)))
    if observations.zeros > 0.0:
        total += observations.zeros * (log(distribution.atom) if distribution.atom > 0.0 else -inf)
    if not isfinite(total):
        raise ModelError("the law gives some of the observations no chance at all")
    return total


def _power(value: float, k: int) -> float:
    """``value**k``; NaN where it leaves the range of a float."""
    try:
        result = value**k
    except OverflowError:
        return nan
    return result if result > 0.0 else nan


def _six_digits(value: float | None) -> str:
    return f"{value:.6g}" if value is not None and isfinite(value) else "-"


def _percent_text(value: float) -> str:
    return f"{value:+.2%}".replace("-0.00", "+0.00") if isfinite(value) else "-"
