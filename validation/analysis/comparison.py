"""Paired comparisons: how two alternatives with the same random numbers differ, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import real_vector
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from validation.analysis.estimates import Estimate, estimate, plus_minus

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True)
class Comparison(Result):
    """The paired difference of a first alternative to a second, with its interval.

    Attributes
    ----------
    difference : Estimate
        Mean of the first less the second over the replications; of a relative comparison, as a
        fraction of the second's mean.
    smaller_is_better : bool
        Whether the quantity is one, such as a response time, of which less is better.
    relative : bool
        Whether `difference` is a fraction of the second's mean.

    Examples
    --------
    >>> found = compare([9.0, 10.1, 11.0], [10.0, 11.0, 12.0])
    >>> print(found)
    -0.967 ± 0.14: better
    >>> compare([9.0], [10.0]).verdict
    'undecided'
    """

    drawing = Drawing("quantity", "mean", half_width="half_width", labels=("", "difference"))

    difference: Estimate
    smaller_is_better: bool = True
    relative: bool = False

    def to_frame(self) -> pd.DataFrame:
        """One row: the difference, its interval and the verdict."""
        return self.difference.to_frame().assign(verdict=self.verdict)

    def record(self) -> dict[str, Any]:
        """The difference, its interval and the verdict."""
        return self.difference.record() | {
            "verdict": self.verdict,
            "smaller_is_better": self.smaller_is_better,
            "relative": self.relative,
        }

    def drawn(self) -> pd.DataFrame:
        """The row, with a name for the only bar."""
        return self.to_frame().assign(quantity=self.verdict)

    @property
    def verdict(self) -> Verdict:
        """Whether the first is "better" or "worse" than the second, or that is "undecided".

        It is undecided where the interval contains zero, as it always does with one replication.
        """
        if self.difference.high < 0.0:
            return "better" if self.smaller_is_better else "worse"
        if self.difference.low > 0.0:
            return "worse" if self.smaller_is_better else "better"
        return "undecided"

    @property
    def mean(self) -> float:
        """The estimated difference."""
        return self.difference.mean

    @property
    def half_width(self) -> float:
        """Half the width of its interval; infinite with one replication."""
        return self.difference.half_width

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.difference.low

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.difference.high

    @property
    def interval(self) -> str:
        """The difference with its interval in words; in per cent where it is relative."""
        if self.relative:
            return f"{100 * self.mean:+.1f}{plus_minus(100 * self.half_width, '.1f', ' %')}"
        return f"{self.mean:+.3g}{plus_minus(self.half_width)}"

    def columns(self, name: str) -> dict[str, Any]:
        """Return a relative difference as columns of a table, in per cent.

        Parameters
        ----------
        name : str
            What the columns begin with.
        """
        return {
            f"{name}_percent": 100 * self.mean,
            f"{name}_half_width_percent": 100 * self.half_width,
            f"{name}_verdict": self.verdict,
        }

    def __str__(self) -> str:
        return f"{self.interval}: {self.verdict}"


def compare(
    first: ArrayLike,
    second: ArrayLike,
    *,
    confidence: float = 0.95,
    smaller_is_better: bool = True,
    relative: bool = False,
) -> Comparison:
    """Compare two alternatives by the differences of their paired replications.

    Parameters
    ----------
    first, second : (n,) array_like
        The same quantity of each replication; replication i of both met the same random numbers.
    confidence : float
        Two-sided coverage of the interval, between 0 and 1.
    smaller_is_better : bool
        What makes a difference "better".
    relative : bool
        Give the difference as a fraction of the second's mean; see `relative_differences`.

    Returns
    -------
    Comparison

    Raises
    ------
    ModelError
        If the replications are not as many on both sides, a value is not finite, `confidence` is
        out of range, or a relative difference is asked for and the second's mean is not positive.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, sec. 10.2.1
       (paired-t confidence interval).

    Examples
    --------
    >>> print(compare([90.0, 101.0, 109.0], [100.0, 110.0, 120.0], relative=True))
    -9.1 ± 2.2 %: better
    """
    ours, theirs = paired(first, second)
    gaps = relative_differences(ours, theirs) if relative else ours - theirs
    return Comparison(
        estimate(gaps.tolist(), confidence=confidence),
        smaller_is_better=smaller_is_better,
        relative=relative,
    )


def relative_differences(first: ArrayLike, second: ArrayLike) -> Array:
    """Replications of the relative difference of two means, mean(first) / mean(second) - 1.

    Parameters
    ----------
    first, second : (n,) array_like
        Paired replications; the mean of the second is positive.

    Returns
    -------
    (n,) ndarray
        Values whose mean is the relative difference and whose Student interval is that of the
        delta method. Such values of several ratios over the same replications may be averaged,
        replication by replication.

    Raises
    ------
    ModelError
        See `compare`.

    See Also
    --------
    ratios : the same for any ratio of means.
    """
    ours, theirs = paired(first, second)
    return ratios(ours - theirs, theirs)


def ratios(numerator: ArrayLike, denominator: ArrayLike) -> Array:
    """Replications of a ratio of two means, linearised.

    Parameters
    ----------
    numerator, denominator : (n,) array_like
        Paired replications N and D; the mean of D is positive.

    Returns
    -------
    (n,) ndarray
        R + (N - R D) / mean(D) with R = mean(N) / mean(D).

    Raises
    ------
    ModelError
        If the replications are not as many on both sides, a value is not finite, or the mean of
        the denominator is not positive.

    Notes
    -----
    The mean of these values is R, and their variance over n is the variance that the delta method
    gives R [1]_. To divide every N by the mean of D, as if that were known, leaves the noise of the
    denominator out, and the interval is too wide or too narrow the more R differs from zero. For a
    relative difference, where N is a difference, both agree at a difference of zero, so that the
    verdict on "faster or slower" is that of the paired differences but for rare near ties.

    References
    ----------
    .. [1] W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, sec. 6.4.

    Examples
    --------
    >>> ratios([2.0, 4.0], [1.0, 2.0]).tolist()
    [2.0, 2.0]
    """
    above, below = paired(numerator, denominator)
    mean = float(below.mean())
    if mean <= 0.0:
        raise ModelError(f"a ratio needs a denominator of positive mean, got {mean:.6g}")
    ratio = float(above.mean()) / mean
    return ratio + (above - ratio * below) / mean


def paired(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    """Both as arrays, if they are finite and as long as each other; ModelError otherwise."""
    ours, theirs = real_vector("first", first), real_vector("second", second)
    if ours.size != theirs.size:
        raise ModelError(f"{ours.size} replications cannot be paired with {theirs.size}")
    return ours, theirs
