"""Arrival processes fitted to logs: canonical ones of two phases, and modulated ones.

What a log asks and what a process of the family can do are two things: every fit says which of its
targets are met and which were moved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array
from phasefit.arrival_process import MAP
from phasefit.canonical_arrivals import lag1_range, match_map
from phasefit.checks import positive_vector, share, whole_number
from phasefit.count_moments import checked_gaps, count_moments, counted_dispersion, counted_third
from phasefit.empirical import lag1
from phasefit.errors import ModelError
from phasefit.moments import match_moments
from phasefit.moments3 import lower_bound, upper_bound
from phasefit.records import Drawing, Result

if TYPE_CHECKING:
    import pandas as pd

#: Fewest gaps that a fit is made of, and windows of a length that its dispersion is known from.
FEWEST, WINDOWS = 50, 30
#: Time scales that a fit may have beside the gaps themselves.
MOST_SCALES: Final = 3
#: Relative difference up to which a dispersion or an scv counts as met; of a correlation .02.
MET: Final = 0.15
#: Weights of the asymmetry of counts, and of the gaps themselves, beside that of dispersions.
_HEED_OF_THIRDS, _HEED_OF_GAPS = 0.5, 0.5
#: A fit with more time scales is taken where it misses by so much less.
_BETTER: Final = 0.85
#: Times the dispersion of the log that two phases may have in a window, where they are asked for.
_MOST_TOO_MUCH: Final = 2.0
#: The same in the window that matters at a load, up or down.
_MOST_AT_LOAD: Final = 1.5


class Target(NamedTuple):
    """A figure of the data that a fitted process should have, and the one that it has."""

    name: str  #: quantity, with its unit
    wanted: float  #: what the data say
    found: float  #: what the process has
    met: bool  #: whether the two agree as far as the log can tell


@dataclass(frozen=True, eq=False)
class MapFit(Result):
    """An arrival process fitted to a sequence of gaps, with each target and how near it came.

    Examples
    --------
    >>> import numpy as np
    >>> tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[1.8, 0.2])
    >>> found = fit_map(tides.rvs(2000, random_state=1))
    >>> found.size, found.process.autocorrelation(1) > 0.0
    (2000, True)
    """

    drawing = Drawing("target", ("wanted", "found"))

    process: MAP  #: in the unit of the data
    family: str  #: in words
    size: int  #: gaps that it was fitted to
    targets: tuple[Target, ...]  #: quantities of the data, and how near the process comes

    def record(self) -> dict[str, Any]:
        """Return the process with its targets."""
        return {
            "family": self.family,
            "n": self.size,
            "D0": self.process.D0,
            "D1": self.process.D1,
            "targets": self.targets,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each target."""
        import pandas as pd

        return pd.DataFrame(list(self.targets), columns=["target", "wanted", "found", "met"])

    @property
    def moved(self) -> tuple[Target, ...]:
        """Targets that were not met."""
        return tuple(target for target in self.targets if not target.met)

    def table(self) -> str:
        """Return the targets as text, one to a line, the moved ones marked."""
        lines = [f"{self.family}, order {self.process.order}, from {self.size:,} gaps"]
        lines.append(f"{'':<34} {'data':>12} {'process':>12}")
        for name, wanted, reached, met in self.targets:
            mark = "" if met else "  moved"
            lines.append(f"{name:<34} {wanted:>12.5g} {reached:>12.5g}{mark}")
        return "\n".join(lines)


def fit_map(
    gaps: ArrayLike,
    *,
    work: ArrayLike | None = None,
    scales: int | None = None,
    windows: ArrayLike | None = None,
    load: float | None = None,
) -> MapFit:
    """Fit an arrival process to the successive gaps of a log.

    Parameters
    ----------
    gaps : (n,) array_like
        Times between events in their order, seconds, not negative; at least 50.
    work : (n,) array_like, optional
        Size of the job that ends each gap, in any unit. The dispersions that are met are then
        those of the work that arrives, as far as one can tell from how many jobs come: less their
        scv, what counts would have if sizes were independent. For queues whose jobs are drawn
        independently although in the log, say, many small ones come together.
    scales : int, optional
        Time scales on which the rate changes, each of two values: 0 for a process of two phases
        with three moments and the lag-1 autocorrelation (`match_map`), as far as it takes no
        correlation that lasts longer than a log of this length can tell; 1 to 3 for gaps of a law
        of two phases under a clock whose speed changes so, of order 4 to 16. By default the
        fewest up to 2 after which more miss the counts hardly less.
    windows : array_like, optional
        Lengths of time, seconds, in which counts are compared; by default the mean gap times
        1, 2, 4, ... as long as 30 of them fit into the log.
    load : float, optional
        Part of its capacity, between 0 and 1, at which a queue is to be fed: a process whose counts
        are not those of the log in the time that matters there is refused. That is where a line of
        slope (1 - load) / load is farthest below the spread of the work that comes, that of jobs with
        an scv of one (robust queueing [2]_).

    Returns
    -------
    MapFit
        The process in the unit of the data, and its targets.

    Raises
    ------
    ModelError
        If there are too few gaps, or they do not vary, or `scales` or `load` is out of its range; or
        if counts of the process would vary more than twice as much as those of the log in some window,
        or with `load`, by half as much again or less in that which matters.

    Notes
    -----
    The clock has speed prod(1 + e_i) for independent chains of two states with time constants
    t_i, relative variances v_i of the rate and slow speeds 1 - s_i. With many events to a change,
    it adds 2 v t (1 - (1 - exp(-w/t)) t/w) events to the dispersion of a window w. Time constants,
    variances, slow speeds and the scv of the law are found by least squares of the logarithms of
    the exact dispersions and scv, of the lag-1 autocorrelation, and of the third central moment of
    counts, which tells rare crowds from rare lulls; a window counts by how many of
    them the log has, and with `work` the gaps themselves count for little, and third moments for
    nothing. The idea of one two-state process for each time scale is from [1]_.

    A log whose rate drifts or follows the day is not stationary; such a process takes what is
    regular for random, of the same strength on each scale.

    References
    ----------
    .. [1] A. T. Andersen, B. F. Nielsen, "A Markovian approach for modeling packet traffic with
       long-range dependence", *IEEE J. Sel. Areas Commun.* 16 (1998) 719-732.
    .. [2] W. Whitt, W. You, "Using robust queueing to expose the impact of dependence in
       single-server queues", *Oper. Res.* 66 (2018) 184-199.

    Examples
    --------
    >>> tides = MAP.modulated([[0.0, 0.01], [0.01, 0.0]], rates=[1.8, 0.2])
    >>> found = fit_map(tides.rvs(100_000, 1))
    >>> found.process.order, bool(0.5 < found.process.dispersion(1e5) / 65.0 < 2.0)
    (4, True)
    """
    sample = checked_gaps(gaps)
    if sample.size < FEWEST:
        raise ModelError(f"an arrival process needs at least {FEWEST} gaps, got {sample.size}")
    if not sample.max() > sample.min():
        raise ModelError("all gaps are the same; there is nothing random to fit")
    if scales is not None and whole_number("scales", scales, least=0) > MOST_SCALES:
        raise ModelError(f"scales must be 0 to {MOST_SCALES}, got {scales}")
    if load is not None:
        load = share("load", load, zero=False, one=False)
    data = _Data.of(sample, windows, work, load)
    tried = (0, 1, 2) if scales is None else (scales,)
    best: MapFit | None = None
    least = np.inf
    for count in tried:
        fitted = _fit_two_phases(data) if count == 0 else _fit_modulated(data, count)
        unit = fitted.process.scale(1.0 / data.mean)
        off = float(np.sqrt(np.mean(_missed(data, unit) ** 2)))
        if best is None or off < _BETTER * least:
            best, least = fitted, off
        # with third moments, one scale may still be too few where dispersions are met
        if (count == 0 or data.asymmetries is None) and _is_met(data, best):
            break
    assert best is not None
    _check_counts(best, data.matters)
    return replace(best, process=best.process.with_data(sample, how=best.family))


class _Data(NamedTuple):
    """Figures of a log that a process is fitted to, with gaps in units of their mean."""

    mean: float
    size: int
    scv: float
    third: float  #: m3 / (m1 m2)
    lag1: float
    windows: Array  #: in units of the mean gap
    dispersions: Array  #: of counts; or of work
    weights: Array
    spread: float  #: of the size of single jobs, their scv, in the dispersion of work; else 0
    asymmetries: Array | None  #: of counts, see `_asymmetry`; None of work
    matters: int | None  #: the window that matters at a load; None where none is asked for

    @classmethod
    def of(
        cls, sample: Array, windows: ArrayLike | None, work: ArrayLike | None, load: float | None
    ) -> _Data:
        mean = float(sample.mean())
        x = sample / mean
        if windows is None:
            most = max(int(np.log2(x.size / WINDOWS)), 0)
            lengths: Array = np.ldexp(1.0, np.arange(most + 1))
        else:
            lengths = np.array(
                [_without_unit(w / mean) for w in np.unique(positive_vector("windows", windows))]
            )
        counted = np.array([_without_unit(counted_dispersion(x, w, work)) for w in lengths])
        brought = np.ones(1) if work is None else checked_gaps(work, "work")
        if counted.min() <= 0.0:
            raise ModelError("counts in some windows do not vary; take others")
        # the logarithm of a variance of k counts has a standard error of about sqrt(2 / k)
        weights = 1.0 / np.sqrt(0.05**2 + 2.0 * lengths / x.size)
        matters = None
        if load is not None:
            # what counts is how far work gets ahead of the server, in the time that it takes to
            drift = (1.0 - load) / load
            matters = int((np.sqrt(2.0 * lengths * (counted + 1.0)) - drift * lengths).argmax())
        thirds = None if work is not None else np.array([counted_third(x, w) for w in lengths])
        second = float((x * x).mean())
        return cls(
            mean,
            x.size,
            _without_unit(second - 1.0),
            _without_unit(float((x**3).mean()) / second),
            _without_unit(lag1(x)),
            lengths,
            counted,
            weights / weights.max(),
            _without_unit(float(brought.var() / brought.mean() ** 2)),
            None if thirds is None else _asymmetry(counted, thirds),
            matters,
        )


def _without_unit(figure: float) -> float:
    """The figure without its last digits: a unit of time changes them, and a search ends elsewhere then."""
    return float(f"{figure:.12g}")


def _fit_two_phases(data: _Data) -> MapFit:
    """The canonical process of order 2, its targets moved into what it can have."""
    n2 = max(1.0 + data.scv, 1.5)
    low, high = lower_bound(2, n2), upper_bound(2, n2)
    # above an scv of one the least third moment is only approached
    n3 = min(max(data.third, low * (1.0 + 1e-9 * (n2 >= 2.0))), high)
    moments = 1.0, n2, n3 * n2
    least, most = lag1_range(*moments)
    if n2 > 2.0:
        # correlations that fall by a factor of 1 - 1/k last for k gaps; longer than a log that has
        # fewer than WINDOWS times as many can tell
        lasting = 1.0 - WINDOWS / data.size
        most = min(most, max(lasting, 0.0) * (1.0 - 1.0 / (n2 - 1.0)) / 2.0)
    process = match_map(*moments, min(max(data.lag1, least), most))
    return _fit_with_targets(data, process, "acyclic process of two phases")


def _check_counts(fit: MapFit, matters: int | None) -> None:
    """ModelError where the counts of a process vary far more than those of its log.

    In the window that matters at a load, where one is asked for: by half as much again, or less.
    """
    of_counts = [t for t in fit.targets if t.name.startswith("dispersion")]
    if matters is not None:
        target = of_counts[matters]
        off = (target.found + 1.0) / (target.wanted + 1.0)
        if max(off, 1.0 / off) > _MOST_AT_LOAD:
            raise ModelError(
                f"no process of this family has the counts of this log in the time that matters at the "
                f"load: {target.name} is {target.wanted:.4g}, and would be {target.found:.4g}; play the "
                f"log in its own order instead"
            )
    # the mean wait for one server, of work with an scv of one, grows with dispersion + 1
    worst = max(of_counts, key=lambda target: (target.found + 1.0) / (target.wanted + 1.0))
    if worst.found + 1.0 > _MOST_TOO_MUCH * (worst.wanted + 1.0):
        raise ModelError(
            f"counts of the {fit.family} would vary {worst.found / worst.wanted:.3g} times as much as "
            f"those of this log ({worst.name}), and waits be far too long; "
            + (
                "leave scales out, or take scales=1"
                if fit.process.order <= 2
                else "play the log in its own order instead"
            )
        )


def _fit_modulated(data: _Data, count: int) -> MapFit:
    """Gaps of a law of two phases under a clock with so many time scales."""
    from scipy.optimize import least_squares

    longest, once = float(data.windows[-1]), np.ones(count)
    # logarithms of the scv, the time constants and the variances, and how much the slow speed
    # lies below the mean one
    low = np.array([np.log(0.5), *np.log(0.3) * once, *np.log(1e-4) * once, *0.05 * once])
    high = np.array([np.log(500.0), *np.log(4.0 * longest) * once, *np.log(50.0) * once, *0.98 * once])
    apart = np.log(max(longest, 4.0)) / (count + 1)
    begin = np.array(
        [np.log(max(data.scv, 0.6)), *apart * np.arange(1, count + 1), *np.log(0.3) * once, *0.5 * once]
    )

    def made(x: Array) -> MAP:
        times, variances, slow = np.split(x[1:], 3)
        return _process_under_clock(float(np.exp(x[0])), np.exp(times), np.exp(variances), slow)

    begin = np.clip(begin, low + 1e-6, high - 1e-6)
    solved = least_squares(
        lambda x: _missed(data, made(x)), begin, bounds=(low, high), max_nfev=40, ftol=1e-4, xtol=1e-4
    )
    words = "one time scale" if count == 1 else f"{count} time scales"
    family = f"gaps of two phases with a rate that changes on {words}"
    return _fit_with_targets(data, made(solved.x), family)


def _missed(data: _Data, process: MAP) -> Array:
    """By how much a process of unit rate misses what the data say, each weighted."""
    # the gaps alone say little of work that does not go with them
    heed = _HEED_OF_GAPS if data.spread == 0.0 else 0.1
    scv, first = process.scv, process.autocorrelation(1)
    dispersions, thirds = count_moments(process, data.windows)
    dispersions = np.maximum(dispersions, 1e-6)
    missed = [
        data.weights * np.log((dispersions + data.spread) / data.dispersions),
        heed * np.array([np.log(scv / max(data.scv, 1e-3)), 2.0 * (first - data.lag1)]),
    ]
    if data.asymmetries is not None:
        weights = _HEED_OF_THIRDS * data.weights / _of_skewness(data)
        missed.append(weights * (_asymmetry(dispersions, thirds) - data.asymmetries))
    return np.concatenate(missed)


def _of_skewness(data: _Data) -> Array:
    """Standard error of `_asymmetry` of counts over that of their skewness, one at least."""
    return np.sqrt(1.0 + data.windows / data.dispersions)


def _asymmetry(dispersions: Array, thirds: Array) -> Array:
    """Third central moment of counts over that of a gamma law of their variance, times two; its asinh."""
    return np.arcsinh(thirds / dispersions**2)


def _process_under_clock(scv: float, times: Array, variances: Array, slow: Array) -> MAP:
    """Renewal gaps of mean one under a clock; every chain of it has two speeds of mean one.

    `slow` is by how much the lower one is below the mean.
    """
    law = match_moments(1.0, 1.0 + scv)
    chain: NDArray[Any] = np.zeros((1, 1))
    speeds: NDArray[Any] = np.ones(1)
    for time, variance, below in zip(times, variances, slow, strict=True):
        fast = below * below / (below * below + variance)  # the share of the fast state
        two_states = np.array([[0.0, (1.0 - fast) / time], [fast / time, 0.0]])
        chain = np.kron(chain, np.eye(2)) + np.kron(np.eye(len(chain)), two_states)
        speeds = np.kron(speeds, [1.0 + variance / below, 1.0 - below])
    process = MAP.from_rates(
        np.kron(np.diag(speeds), law.jumps) + np.kron(chain, np.eye(law.order)),
        np.kron(np.diag(speeds), np.outer(law.exit, law.alpha)),
    )
    return process.at_rate(1.0)


def _fit_with_targets(data: _Data, process: MAP, family: str) -> MapFit:
    """The process in the unit of the data, beside what these say."""
    third = process.moment(3) / (process.moment(1) * process.moment(2))
    targets = [
        _target("mean gap [s]", data.mean, process.mean * data.mean, 1e-9),
        _target("scv of gaps", data.scv, process.scv, 1e-6 if process.order <= 2 else MET),
    ]
    if process.order <= 2:
        targets.append(_target("third moment / (mean x second)", data.third, third, 1e-6))
    first = process.autocorrelation(1)
    close = abs(first - data.lag1) <= (1e-9 if process.order <= 2 else 0.02)
    targets.append(Target("lag-1 autocorrelation", data.lag1, first, bool(close)))
    for w, counted in zip(data.windows.tolist(), data.dispersions.tolist(), strict=True):
        # no nearer than the log itself tells it
        reach = max(MET, 2.0 * sqrt(2.0 * w / data.size))
        name = f"dispersion{' of work' * (data.spread > 0)} in {w * data.mean:,.4g} s"
        targets.append(_target(name, counted, process.dispersion(w) + data.spread, reach))
    return MapFit(process.scale(data.mean), family, data.size, tuple(targets))


def _is_met(data: _Data, fit: MapFit) -> bool:
    """Return whether dispersions are met, and third moments of counts as far as the log can tell them."""
    if not all(t.met for t in fit.targets if t.name.startswith("dispersion")):
        return False
    if data.asymmetries is None:
        return True
    reached = _asymmetry(*count_moments(fit.process.scale(1.0 / data.mean), data.windows))
    # the skewness of k normal counts has a variance of 6 / k; of others more
    known = np.sqrt(6.0 * data.windows / data.size) * _of_skewness(data)
    reach = np.maximum(2.0 * MET, 3.0 * known)
    return bool((np.abs(reached - data.asymmetries) <= reach).all())


def _target(name: str, wanted: float, reached: float, reach: float) -> Target:
    return Target(name, wanted, float(reached), bool(abs(np.log(reached / wanted)) <= reach))
