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
from phasefit.checks import positive_vector, real_number, real_vector, whole_number
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
#: Times the dispersion of the log that two phases may have in a window, where they are asked for.
_MOST_TOO_MUCH: Final = 2.0


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


def counted_dispersion(gaps: ArrayLike, window: float, work: ArrayLike | None = None) -> float:
    """Return the variance over the mean of the number of events in adjacent windows of a length.

    Parameters
    ----------
    gaps : (n,) array_like
        Successive times between events, seconds, not negative.
    window : float
        Seconds, above zero. At least two windows must fit.
    work : (n,) array_like, optional
        What each event brings, not negative: that is added up instead of counted, in units of its
        mean. Where it is independent of all else the result is larger by its scv.

    Raises
    ------
    ModelError
        If fewer than two windows fit, there are more than 50 million, or the lengths of `gaps` and `work`
        differ.

    Examples
    --------
    >>> counted_dispersion([1.0] * 100, 10.0)
    0.0
    """
    times = np.cumsum(_checked_vector(gaps))
    window = real_number("window", window, above=0.0)
    count = int(times[-1] / window * (1.0 + 1e-12))
    if count < 2:
        raise ModelError(
            f"window must fit twice into {times[-1]:.6g} s, got {window:.6g}; take a shorter one"
        )
    if count > 50_000_000:
        raise ModelError(f"{count:,} windows of {window:.6g} s are too many; take a longer one")
    # an event at an edge belongs to the window that it ends
    edges = window * np.arange(count + 1)
    before = np.searchsorted(times, edges * (1.0 + 1e-15), side="right")
    if work is None:
        sums = np.diff(before).astype(float)
    else:
        brought = _checked_vector(work, "work")
        if brought.size != times.size:
            raise ModelError(f"{brought.size} values of work for {times.size} gaps; give one each")
        sums = np.diff(np.concatenate([[0.0], np.cumsum(brought / brought.mean())])[before])
    return float(sums.var(ddof=1) / sums.mean())


def fit_map(
    gaps: ArrayLike,
    *,
    work: ArrayLike | None = None,
    scales: int | None = None,
    windows: ArrayLike | None = None,
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
        fewest up to 2 that meet the dispersion at all windows.
    windows : array_like, optional
        Lengths of time, seconds, in which counts are compared; by default the mean gap times
        1, 2, 4, ... as long as 30 of them fit into the log.

    Returns
    -------
    MapFit
        The process in the unit of the data, and its targets.

    Raises
    ------
    ModelError
        If there are too few gaps, or they do not vary, or `scales` is out of its range; or if it
        is 0 and counts of two phases would vary more than twice as much as those of the log.

    Notes
    -----
    The clock has speed prod(1 + e_i) for independent chains of two states with time constants
    t_i, relative variances v_i of the rate and slow speeds 1 - s_i. With many events to a change,
    it adds 2 v t (1 - (1 - exp(-w/t)) t/w) events to the dispersion of a window w. Time constants,
    variances, slow speeds and the scv of the law are found by least squares of the logarithms of
    the exact dispersions and scv and of the lag-1 autocorrelation; a window counts by how many of
    them the log has, and with `work` the gaps themselves count for little. The idea of one
    two-state process for each time scale is from [1]_.

    A log whose rate drifts or follows the day is not stationary; such a process takes what is
    regular for random, of the same strength on each scale.

    References
    ----------
    .. [1] A. T. Andersen, B. F. Nielsen, "A Markovian approach for modeling packet traffic with
       long-range dependence", *IEEE J. Sel. Areas Commun.* 16 (1998) 719-732.

    Examples
    --------
    >>> tides = MAP.modulated([[0.0, 0.01], [0.01, 0.0]], rates=[1.8, 0.2])
    >>> found = fit_map(tides.rvs(100_000, 1))
    >>> found.process.order, bool(0.5 < found.process.dispersion(1e5) / 65.0 < 2.0)
    (4, True)
    """
    sample = _checked_vector(gaps)
    if sample.size < FEWEST:
        raise ModelError(f"an arrival process needs at least {FEWEST} gaps, got {sample.size}")
    if not sample.max() > sample.min():
        raise ModelError("all gaps are the same; there is nothing random to fit")
    if scales is not None and whole_number("scales", scales, least=0) > MOST_SCALES:
        raise ModelError(f"scales must be 0 to {MOST_SCALES}, got {scales}")
    data = _Data.of(sample, windows, work)
    tried = (0, 1, 2) if scales is None else (scales,)
    best: MapFit | None = None
    for count in tried:
        fitted = _fit_two_phases(data) if count == 0 else _fit_modulated(data, count)
        if best is None or _miss_of_dispersions(fitted) < 0.8 * _miss_of_dispersions(best):
            best = fitted
        if all(t.met for t in best.targets if t.name.startswith("dispersion")):
            break
    assert best is not None
    if scales == 0:
        _check_counts(best)
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

    @classmethod
    def of(cls, sample: Array, windows: ArrayLike | None, work: ArrayLike | None) -> _Data:
        mean = float(sample.mean())
        x = sample / mean
        if windows is None:
            most = max(int(np.log2(x.size / WINDOWS)), 0)
            lengths: Array = np.ldexp(1.0, np.arange(most + 1))
        else:
            lengths = np.unique(positive_vector("windows", windows)) / mean
        counted = np.array([counted_dispersion(x, w, work) for w in lengths])
        brought = np.ones(1) if work is None else _checked_vector(work, "work")
        if counted.min() <= 0.0:
            raise ModelError("counts in some windows do not vary; take others")
        # the logarithm of a variance of k counts has a standard error of about sqrt(2 / k)
        weights = 1.0 / np.sqrt(0.05**2 + 2.0 * lengths / x.size)
        second = float((x * x).mean())
        return cls(
            mean,
            x.size,
            second - 1.0,
            float((x**3).mean()) / second,
            lag1(sample),
            lengths,
            counted,
            weights / weights.max(),
            float(brought.var() / brought.mean() ** 2),
        )


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


def _check_counts(fit: MapFit) -> None:
    """ModelError where the counts of a process vary far more than those of its log."""
    of_counts = [t for t in fit.targets if t.name.startswith("dispersion")]
    # the mean wait for one server, of work with an scv of one, grows with dispersion + 1
    worst = max(of_counts, key=lambda target: (target.found + 1.0) / (target.wanted + 1.0))
    if worst.found + 1.0 > _MOST_TOO_MUCH * (worst.wanted + 1.0):
        raise ModelError(
            f"with three moments and one correlation of this log, counts of two phases would vary "
            f"{worst.found / worst.wanted:.3g} times as much as those of the log ({worst.name}), "
            f"and waits be far too long; leave scales out, or take scales=1"
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

    # the gaps alone say little of work that does not go with them
    heed = 2.0 if data.spread == 0.0 else 0.1

    def miss(x: Array) -> Array:
        scv, first, dispersions = _scv_lag1_dispersions(made(x), data.windows)
        return np.concatenate(
            [
                data.weights * np.log((dispersions + data.spread) / data.dispersions),
                heed * np.array([np.log(scv / max(data.scv, 1e-3)), 2.0 * (first - data.lag1)]),
            ]
        )

    begin = np.clip(begin, low + 1e-6, high - 1e-6)
    process = made(least_squares(miss, begin, bounds=(low, high), max_nfev=80).x)
    words = "one time scale" if count == 1 else f"{count} time scales"
    return _fit_with_targets(data, process, f"gaps of two phases with a rate that changes on {words}")


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


def _scv_lag1_dispersions(process: MAP, windows: Array) -> tuple[float, float, Array]:
    """The scv, the lag-1 autocorrelation and the dispersions of a process of unit rate.

    As the methods of `MAP` say, by dense inverses: quicker, and exact enough to fit by.
    """
    from scipy.linalg import expm

    n, D1 = process.order, process.D1
    Q, seen, phases = process.D0 + D1, D1.sum(axis=1), process.phases
    inverse = np.linalg.inv(np.outer(np.ones(n), phases) * np.abs(process.D0).max() - Q)
    flow = phases @ D1
    once = inverse @ (seen - 1.0)
    twice = inverse @ once
    dispersions = np.empty(windows.size)
    power, at = np.eye(n), 0.0
    for i, w in enumerate(windows.tolist()):
        power = power @ power if w == 2.0 * at else expm(w * Q)
        at = w
        dispersions[i] = 1.0 + 2.0 * float(flow @ (once - (twice - power @ twice) / w))
    ahead = np.linalg.solve(-process.D0, np.ones(n))
    second = 2.0 * float(flow @ np.linalg.solve(-process.D0, ahead))
    weight = np.linalg.solve(-process.D0.T, flow)
    product = float((weight @ np.linalg.solve(-process.D0, D1)) @ ahead)
    return second - 1.0, (product - 1.0) / (second - 1.0), np.maximum(dispersions, 1e-6)


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


def _target(name: str, wanted: float, reached: float, reach: float) -> Target:
    return Target(name, wanted, float(reached), bool(abs(np.log(reached / wanted)) <= reach))


def _miss_of_dispersions(fit: MapFit) -> float:
    """Root mean square of the logarithms by which dispersions are missed."""
    of_counts = [t for t in fit.targets if t.name.startswith("dispersion")]
    return float(np.sqrt(np.mean([np.log(t.found / t.wanted) ** 2 for t in of_counts])))


def _checked_vector(values: ArrayLike, name: str = "gaps") -> Array:
    sample = real_vector(name, values)
    if sample.min() < 0.0:
        worst = int(sample.argmin())
        raise ModelError(f"{name}[{worst}] must be >= 0, got {sample[worst]:.6g}")
    if not sample.sum() > 0.0:
        raise ModelError(f"all {name} are 0; there is no rate")
    return sample
