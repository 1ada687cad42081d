"""Data to fit a law to: exact, censored, weighted or counted in bins; large samples condensed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, read_only
from phasefit.checks import in_range, real_array, real_vector, whole_number
from phasefit.errors import ModelError
from phasefit.records import Drawing, Result

if TYPE_CHECKING:
    import pandas as pd

#: Samples up to which every value is kept as it is.
_EXACT: Final = 1000
#: Width of a bin in log time beyond that, and of the bins for a first look.
_FINE, _MIDDLE, _COARSE = 0.01, 0.02, 0.08
#: Bins of intervals are so much wider: there are as many as for two numbers.
_BROAD: Final = 5.0
#: Bins, or times, up to which a first look spares nothing.
_FEW: Final = 200
_NONE: Final = np.zeros(0)
_CODES: Final = ("exact", "right", "left")


@dataclass(frozen=True, eq=False)
class Sample:
    """Positive times in units of their centre, perhaps condensed: what an EM step loops over."""

    times: Array  #: mean of the exact times in each bin, (b,)
    logs: Array  #: mean of their logarithms, (b,)
    weights: Array  #: total weight in each bin, (b,)
    lower: Array  #: ends of the intervals of the censored times, (c,)
    upper: Array  #: their upper ends, infinite where there is none
    interval_weights: Array  #: how often each interval counts
    spread: float  #: mean over the exact times of the variance of log time inside their bin

    @property
    def size(self) -> float:
        """Total weight."""
        return float(self.weights.sum() + self.interval_weights.sum())

    def condensed(self, width: float, *, beyond: int) -> Sample:
        """Return the sample in bins of `width` in log time, where there are more than `beyond` times.

        Intervals with two ends are put together where both ends agree to five times that.

        Parameters
        ----------
        width : float
            Width of a bin, natural logarithm of time.
        beyond : int
            Number of times up to which nothing is condensed.
        """
        times, logs, weights, spread = self.times, self.logs, self.weights, self.spread
        lower, upper, interval_weights = self.lower, self.upper, self.interval_weights
        if times.size > beyond:
            first = float(logs.min())
            index = ((logs - first) * (1.0 / width)).astype(np.int64)
            total, share = _weights_by_bin(index, weights)
            means = _weights_by_bin(index, weights * logs)[0] / share
            inside = logs - means[index]
            spread += float(weights @ (inside * inside)) / float(total.sum())
            kept = total > 0.0
            times = (_weights_by_bin(index, weights * times)[0] / share)[kept]
            logs, weights = means[kept], total[kept]
        if lower.size > beyond:
            two_sided = (lower > 0.0) & (upper < inf)
            widths = np.where(two_sided, _BROAD * width, width)
            marks = [
                np.floor(np.log(np.where((end > 0.0) & (end < inf), end, 1.0)) / widths)
                + np.where(end > 0.0, np.where(end < inf, 0.0, 1e9), -1e9)
                for end in (lower, upper)
            ]
            _, index = np.unique(np.stack(marks), axis=1, return_inverse=True)
            index = index.reshape(-1)
            total, share = _weights_by_bin(index, interval_weights)
            lower = _weights_by_bin(index, interval_weights * lower)[0] / share
            upper = _weights_by_bin(index, interval_weights * upper)[0] / share
            interval_weights = total
        return Sample(times, logs, weights, lower, upper, interval_weights, spread)


def _weights_by_bin(index: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Sum of `weights` in each bin, and the same with ones in the place of zeros."""
    total = np.asarray(np.bincount(index, weights), dtype=float)
    return total, np.where(total > 0.0, total, 1.0)


@dataclass(frozen=True, eq=False)
class Observations(Result):
    """Positive times with weights, some of them known only to lie in an interval.

    Build it with `Observations.of` or `Observations.binned`.

    Attributes
    ----------
    values, weights : (m,) ndarray
        Times above zero that are known exactly (seconds), and their weights.
    lower, upper, interval_weights : (k,) ndarray
        Times known to lie above `lower` and at or below `upper`; an `upper` of infinity means
        right-censored.
    zeros : float
        Weight of the values that are exactly zero. A phase-type law has no density there; a
        fit gives its law an atom of this share. Intervals are of positive times.

    Raises
    ------
    ModelError
        If the fields do not belong together, are not positive, or leave no positive time.

    Examples
    --------
    >>> waited = Observations.of([2.0, 5.0, 9.0, 9.0], censored=[False, False, True, True])
    >>> waited.size, waited.exact, waited.values.tolist()
    (4.0, False, [2.0, 5.0])
    """

    drawing = Drawing("value", "weight", log="x")

    values: Array
    weights: Array
    lower: Array
    upper: Array
    interval_weights: Array
    zeros: float = 0.0

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each time, and for each interval that holds one.

        Returns
        -------
        pandas.DataFrame
            Columns value (NaN of an interval), lower, upper (seconds, equal where a time is known)
            and weight.
        """
        import pandas as pd

        unknown = np.full(self.lower.size, np.nan)
        return pd.DataFrame(
            {
                "value": np.concatenate([self.values, unknown]),
                "lower": np.concatenate([self.values, self.lower]),
                "upper": np.concatenate([self.values, self.upper]),
                "weight": np.concatenate([self.weights, self.interval_weights]),
            }
        )

    def __post_init__(self) -> None:
        groups = (("values", "weights"), ("lower", "upper", "interval_weights"))
        for names in groups:
            arrays = [real_array(name, getattr(self, name), infinite=True) for name in names]
            if arrays[0].ndim != 1 or any(array.shape != arrays[0].shape for array in arrays):
                shapes = ", ".join(str(array.shape) for array in arrays)
                raise ModelError(f"{', '.join(names)} must be vectors of one length, got {shapes}")
            for name, array in zip(names, arrays, strict=True):
                finite = np.isfinite(array) | (name == "upper")
                if not (finite & (array >= 0.0) & ((array > 0.0) | (name == "lower"))).all():
                    raise ModelError(f"{name} must be positive and finite, got {array.min():.6g}")
                object.__setattr__(self, name, read_only(array))
        if not (self.lower < self.upper).all():
            i = int((self.lower < self.upper).argmin())
            raise ModelError(
                f"interval {i} is empty: it ends at {self.upper[i]:.6g} and starts at {self.lower[i]:.6g}"
            )
        zeros = float(real_array("zeros", self.zeros))
        if not zeros >= 0.0:
            raise ModelError(f"zeros must be >= 0, got {zeros:.6g}")
        object.__setattr__(self, "zeros", zeros)
        if not self.values.size and not (self.lower > 0.0).any():
            raise ModelError(
                "no time is known to lie above some time: a law cannot be fitted to zeros or "
                "left-censored times alone"
            )
        if not self.values.size and not np.isfinite(self.upper).any():
            raise ModelError(
                "no positive time is known to have ended: a law cannot be fitted to zeros or "
                "right-censored times alone"
            )

    @classmethod
    def of(
        cls, samples: ArrayLike, *, weights: ArrayLike | None = None, censored: Any = None
    ) -> Observations:
        """Return observations of times, one by one.

        Parameters
        ----------
        samples : (n,) or (n, 2) array_like
            Times in seconds, or for each of them an interval ``lower, upper`` it lies in: equal
            ends for an exact time, an upper end of infinity for a right-censored and a lower end
            of zero for a left-censored one.
        weights : (n,) array_like, optional
            How often each is to count; by default once. Zero leaves it out.
        censored : (n,) sequence, optional
            For times, not intervals: for each whether it is right-censored (True or False), or
            "exact", "right" (it is longer) or "left" (it is shorter).

        Raises
        ------
        ModelError
            If a time is negative or not a number, shapes differ, or nothing is left to fit.

        Examples
        --------
        >>> Observations.of([[1.0, 1.0], [2.0, 4.0]]).upper.tolist()
        [4.0]
        """
        array = real_array("samples", samples, infinite=True)
        if array.ndim == 2 and array.shape[1] == 1:  # a table of one column
            array = array[:, 0]
        if array.ndim not in (1, 2) or array.size == 0 or (array.ndim == 2 and array.shape[1] != 2):
            raise ModelError(f"samples must have shape (n,) or (n, 2), got {array.shape}")
        if array.min() < 0.0:
            raise ModelError(f"samples must be >= 0, got {array.min():.6g}; leave out what is not")
        n = len(array)
        if weights is None:
            weight = np.ones(n)
        else:
            weight = real_vector("weights", weights)
            if weight.shape != (n,):
                raise ModelError(f"{n} samples need weights of shape ({n},), got {weight.shape}")
            if weight.min() < 0.0:
                raise ModelError(f"weights must be >= 0, got {weight.min():.6g}")
        if array.ndim == 2:
            if censored is not None:
                raise ModelError("samples given as intervals say themselves what is censored")
            lower, upper = array[:, 0], array[:, 1]
            if (lower > upper).any():
                i = int((lower > upper).argmax())
                raise ModelError(f"samples[{i}] ends at {upper[i]:.6g}, before {lower[i]:.6g}")
        elif censored is None:  # nothing to sort out, and often a million of them
            lower = upper = array
        else:
            kind = _censoring_codes(censored, n)
            lower = np.where(kind == "left", 0.0, array)
            upper = np.where(kind == "right", inf, array)
        exact = lower == upper
        if not np.isfinite(lower).all():
            i = int(np.isfinite(lower).argmin())
            raise ModelError(f"samples[{i}] is infinite; give a finite time and mark it censored")
        counted = weight > 0.0
        zero = exact & (upper == 0.0)
        is_exact, open_ = exact & counted & ~zero, ~exact & counted
        if is_exact.all():
            return cls(lower, weight, _NONE, _NONE, _NONE)
        return cls(
            lower[is_exact],
            weight[is_exact],
            lower[open_],
            upper[open_],
            weight[open_],
            float(weight[zero].sum()),
        )

    @classmethod
    def binned(cls, edges: ArrayLike, counts: ArrayLike) -> Observations:
        """Return observations counted in bins.

        Parameters
        ----------
        edges : (k + 1,) array_like
            Ends of the bins in seconds, increasing; the first may be 0, the last infinity.
        counts : (k,) array_like
            Times, or weight, in each bin.

        Raises
        ------
        ModelError
            If edges do not increase, a count is negative, or nothing was counted.

        Examples
        --------
        >>> Observations.binned([0.0, 1.0, 2.0, float("inf")], [5, 0, 2]).lower.tolist()
        [0.0, 2.0]
        """
        ends, count = real_array("edges", edges, infinite=True), real_vector("counts", counts)
        if ends.shape != (count.size + 1,):
            raise ModelError(f"{count.size} counts need edges of shape ({count.size + 1},), got {ends.shape}")
        if ends[0] < 0.0 or not (ends[:-1] < ends[1:]).all():
            raise ModelError("edges must be >= 0 and increase")
        if count.min() < 0.0:
            raise ModelError(f"counts must be >= 0, got {count.min():.6g}")
        some = count > 0.0
        return cls(_NONE, _NONE, ends[:-1][some], ends[1:][some], count[some])

    # Numbers

    @cached_property
    def positive(self) -> float:
        """Total weight of what is not exactly zero."""
        with np.errstate(over="ignore"):
            total = float(self.weights.sum() + self.interval_weights.sum())
        return in_range("the sum of the weights", total, 0)

    @property
    def size(self) -> float:
        """Total weight: the number of times observed, zeros and censored ones included."""
        return self.positive + self.zeros

    @property
    def atom(self) -> float:
        """Share of exact zeros."""
        return self.zeros / self.size

    @property
    def exact(self) -> bool:
        """True if no time is censored."""
        return self.lower.size == 0

    @property
    def mean(self) -> float:
        """Mean of all times, zeros included, in seconds; ModelError if some are censored."""
        return self.moment(1)

    def moment(self, k: int) -> float:
        """Return the mean of the k-th powers, zeros included, in seconds^k.

        Parameters
        ----------
        k : int
            Order of the moment.

        Raises
        ------
        ModelError
            If some times are censored, `k` is not a whole number >= 1, or the moment overflows.
        """
        k = whole_number("k", k, least=1)
        if not self.exact:
            raise ModelError(
                f"{self.lower.size} of the times are censored: the data have no moments; take "
                f"those of a fitted law"
            )
        with np.errstate(over="ignore"):
            total = float(self.weights @ self.values**k)
        return in_range(f"moment {k} of the data", total, 0) / self.size

    @property
    def second(self) -> float:
        """E[X^2] / E[X]^2 of the times above zero, all of them exact."""
        times = self.values / self.unit
        return float(self.weights @ (times * times)) / self.positive

    @cached_property
    def unit(self) -> float:
        """Centre of the positive times in seconds: their mean, where none is censored.

        Of a censored time the nearer end, or the middle of its interval, is taken.
        """
        middle = np.where(np.isfinite(self.upper), 0.5 * (self.lower + self.upper), self.lower)
        with np.errstate(over="ignore"):
            total = self.weights @ self.values + self.interval_weights @ middle
        return in_range("the mean of the data", float(total) / self.positive, 0)

    # What a fit loops over

    def binning_error(self, order: int) -> float:
        """Return the largest loss of log-likelihood per sample that condensing the data causes.

        Half the variance of log time inside the bins, times `order`: where an acyclic law with
        `order` phases fits, one time tells at most `order` of its scale in Fisher's measure. For
        1000 samples or fewer it is zero. For Coxian and general laws
        it is four times that. A fit reports the difference at its own law.

        Parameters
        ----------
        order : int
            Number of phases of the law.

        Raises
        ------
        ModelError
            If `order` is not a whole number above zero.
        """
        return 0.5 * whole_number("order", order, least=1) * self.fine.spread

    @cached_property
    def every(self) -> Sample:
        """Every time as it is, in the unit of the data."""
        with np.errstate(over="ignore"):
            ends = self.lower / self.unit, self.upper / self.unit
        times = self.values / self.unit
        if (times <= 0.0).any() or (ends[0] >= ends[1]).any():
            raise ModelError(f"the times lie too far apart for floats: their mean is {self.unit:g}")
        return Sample(times, np.log(times), self.weights, *ends, self.interval_weights, 0.0)

    @cached_property
    def fine(self) -> Sample:
        """Exact times, and likewise censored ones, beyond 1000 of them in bins of 1 %."""
        return self.every.condensed(_FINE, beyond=_EXACT)

    @cached_property
    def middle(self) -> Sample:
        """Times in bins of 2 % of their size: for laws whose E-step is dear."""
        return self.every.condensed(_MIDDLE, beyond=_EXACT)

    @cached_property
    def coarse(self) -> Sample:
        """Times in bins of 8 % of their size: for a first look at many laws."""
        return self.fine.condensed(_COARSE, beyond=_FEW)

    def total(self, log_likelihood: float) -> float:
        """Return the log-likelihood in seconds, with the atom.

        Parameters
        ----------
        log_likelihood : float
            That of the positive times in their own unit.
        """
        result = log_likelihood - float(self.weights.sum()) * log(self.unit)
        if self.zeros > 0.0:
            result += self.zeros * log(self.atom) + self.positive * log(self.positive / self.size)
        return result


def _censoring_codes(censored: Any, n: int) -> NDArray[np.str_]:
    """For each sample one of the codes."""
    codes = np.asarray(censored)
    if codes.shape != (n,):
        raise ModelError(f"{n} samples need censored of shape ({n},), got {codes.shape}")
    if codes.dtype.kind == "b":
        return np.where(codes, "right", "exact")
    if codes.dtype.kind != "U" or not np.isin(codes, _CODES).all():
        wrong = next((c for c in codes.tolist() if c not in _CODES), codes.tolist()[0])
        raise ModelError(f"censored must be True, False, {', '.join(_CODES)}; got {wrong!r:.80}")
    return codes
