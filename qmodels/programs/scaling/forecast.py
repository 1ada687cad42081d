"""Predicted times and speedups with their intervals, and how far they lie from the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, read_only
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.programs.scaling.discrepancy import Margin, doublings_outside
from qmodels.programs.scaling.identifiability import Design
from qmodels.programs.scaling.measured import SHORTEST, Measured
from qmodels.programs.scaling.posterior import Posterior
from qmodels.words import allotment_in_words

if TYPE_CHECKING:
    import pandas as pd


Meant = Literal["run", "mean"]

MEANT = ("run", "mean")

MEASURED = "measured"
INTERPOLATED = "interpolated"
EXTRAPOLATED = "extrapolated"
UNKNOWN = "not identifiable"
CONTRADICTED = "contradicts the law"

_BLOCK = 4_000_000  # numbers held at a time


@dataclass(frozen=True, eq=False)
class Forecast(Result):
    """Time of a program on other allotments, with intervals.

    All arrays have the shape of the allotments asked for. Where `mark` is ``"not
    identifiable"`` the runs do not decide: `time_low` and `time_high` enclose what they allow
    and the single values are masked.

    Parameters
    ----------
    processors, disks : ndarray
        The allotments.
    time, speedup : numpy.ma.MaskedArray
        The mean time in seconds and T_11 / T_pd (or what `base` has, in the place of T_11) by the law in
        the middle of all that the runs allow, that of `FittedProgram.program`; masked where the runs do
        not decide.
    time_low, time_high, speedup_low, speedup_high : ndarray
        The shortest interval of the logarithm with probability `level`, of the laws that the runs allow
        and of what programs part from every law by, see `qmodels.programs.scaling.discrepancy`: the
        more, the more doublings outside the runs, and upwards where they collapse. Times are
        those of one run or of the mean, see `of`; speedup is a ratio of means, each of which parts from
        the law by itself. Where a value is masked, the envelope of all that the runs allow.
    by_formula : numpy.ma.MaskedArray
        Seconds by the most probable law of every burst.
    measured_time, measured_speedup : numpy.ma.MaskedArray
        Mean seconds of the runs on this allotment, and what they give with those on `base`; masked where
        there are none.
    contradicts : ndarray of bool
        Whether what was measured there is hardly possible by the law and the noise of runs.
    mark : ndarray of str
        ``"measured"``, ``"interpolated"`` (within the measured box), ``"extrapolated"`` or
        ``"not identifiable"``.
    doublings : ndarray
        How far outside the measured box, doublings of processors and of disks together.
    level : float
        Probability of the intervals.
    name : str
        The program's.
    of : {"run", "mean"}
        Whether intervals of time are for one run, with its noise, or for the mean of many.
    warnings : tuple of str
        Reasons to trust the intervals less, a sentence each.
    base : (float, float)
        Processors and disks over whose time speedup stands: one of each, or where no run had one
        processor the smallest allotment that was run.
    """

    drawing = Drawing("processors", ("time", "time_low", "time_high"), by="disks", log="xy")

    processors: Array
    disks: Array
    time: np.ma.MaskedArray[Any, Any]
    time_low: Array
    time_high: Array
    speedup: np.ma.MaskedArray[Any, Any]
    speedup_low: Array
    speedup_high: Array
    by_formula: np.ma.MaskedArray[Any, Any]
    measured_time: np.ma.MaskedArray[Any, Any]
    measured_speedup: np.ma.MaskedArray[Any, Any]
    contradicts: NDArray[np.bool_]
    mark: NDArray[np.str_]
    doublings: Array
    level: float
    name: str = ""
    of: Meant = "run"
    warnings: tuple[str, ...] = ()
    method: str = "approximate"  #: how good the answer is
    base: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        for name in (
            "processors",
            "disks",
            "time",
            "time_low",
            "time_high",
            "speedup",
            "speedup_low",
            "speedup_high",
            "by_formula",
            "measured_time",
            "measured_speedup",
            "contradicts",
            "mark",
            "doublings",
        ):
            array = getattr(self, name)
            if array.shape != self.processors.shape:
                raise ModelError(f"{name} has shape {array.shape}, the allotments {self.processors.shape}")
            read_only(array)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per allotment; cells are empty where the runs do not decide."""
        import pandas as pd

        def cells(values: np.ma.MaskedArray[Any, Any]) -> pd.Series[Any]:
            return pd.Series(values.ravel().tolist(), dtype="Float64")

        return pd.DataFrame(
            {
                "processors": self.processors.ravel(),
                "disks": self.disks.ravel(),
                "time": cells(self.time),
                "time_low": self.time_low.ravel(),
                "time_high": self.time_high.ravel(),
                "speedup": cells(self.speedup),
                "speedup_low": self.speedup_low.ravel(),
                "speedup_high": self.speedup_high.ravel(),
                "by_formula": cells(self.by_formula),
                "measured_time": self.measured_time.filled(np.nan).ravel(),
                "measured_speedup": self.measured_speedup.filled(np.nan).ravel(),
                "contradicts": self.contradicts.ravel(),
                "mark": self.mark.ravel(),
                "doublings": self.doublings.ravel(),
            }
        )

    def table(self) -> str:
        """Return a line per allotment as text; a dash where the runs do not decide."""
        head = (
            "p",
            "d",
            "seconds",
            "from",
            "to",
            "speedup",
            "from",
            "to",
            "by formula",
            "measured",
        )
        lines = ["".join(f"{text:>11}" for text in head) + "  where"]
        for i in range(self.processors.size):
            where = str(self.mark.flat[i])
            if self.doublings.flat[i] > 0:
                where += f", doublings outside the runs: {self.doublings.flat[i]:.3g}"
            if self.contradicts.flat[i]:
                where += f", {CONTRADICTED}"
            numbers = [
                f"{self.processors.flat[i]:g}",
                f"{self.disks.flat[i]:g}",
                _shown(self.time, i),
                *_ends(self.time_low, self.time_high, i),
                _shown(self.speedup, i),
                *_ends(self.speedup_low, self.speedup_high, i),
                _shown(self.by_formula, i),
                _shown(self.measured_time, i),
            ]
            lines.append("".join(f"{text:>11}" for text in numbers) + f"  {where}")
        if self.base != (1.0, 1.0):
            lines.append(
                f"No run had one processor: speedups are over {allotment_in_words(self.base)}, the smallest."
            )
        return "\n".join([*lines, *self.warnings])


def forecast(
    posteriors: Sequence[Posterior],
    designs: Sequence[Design],
    p: Array,
    d: Array,
    *,
    level: float,
    margin: Margin,
    measured: Measured,
    seed: int,
    name: str,
    of: Meant = "run",
    warnings: tuple[str, ...] = (),
    base: tuple[float, float] = (1.0, 1.0),
    sized: bool = False,
) -> Forecast:
    """Return the forecast of the sum of bursts; see `FittedProgram.predict`.

    Parameters
    ----------
    posteriors : sequence of Posterior
        Laws of each burst.
    designs : sequence of Design
        Allotments on which each burst was timed.
    p, d : ndarray
        Allotments asked for, of one shape.
    level : float
        Probability of the intervals.
    margin : Margin
        Added to the laws.
    measured : Measured
        Times that were measured.
    seed : int
        Of the draws.
    name : str
        Of the program.
    of : {"run", "mean"}
        As for `FittedProgram.predict`.
    warnings : tuple of str
        Doubts to hand on.
    base : (float, float)
        Allotment over whose time speedup stands.
    sized : bool
        Whether runs were of several sizes: only those of the size asked for are measured ones.
    """
    shape, p, d = p.shape, p.ravel(), d.ravel()
    cells = (zip(one.p.tolist(), one.d.tolist(), strict=True) for one in designs)
    run = {cell for each in cells for cell in each}
    box = np.array(sorted(run)).T
    if sized:
        run = set(zip(measured.processors.tolist(), measured.disks.tolist(), strict=True))
    out = doublings_outside(box, (p, d))
    are_decided = np.asarray(np.all([design.known(p, d) for design in designs], axis=0))
    at_base = np.array([base[0]]), np.array([base[1]])
    sure = are_decided & all(design.known(*at_base)[0] for design in designs)
    draws = len(posteriors[0].sigmas)
    shocks = np.random.default_rng([seed, len(posteriors)]).standard_normal((7, draws))
    # The misfit of an allotment is its own: it does not cancel in a ratio, as a law's would.
    of_numerator, of_denominator = margin.misfit.seen * shocks[5:]
    noise = margin.noise * shocks[4]
    shocks = shocks[:4]
    seconds, contradicts = measured.at(p, d)
    seconds_on_base = measured.at(*at_base)[0]
    sizes, size_at_base = (
        np.where(np.isnan(of_times), margin.misfit.unseen, 1.0) for of_times in (seconds, seconds_on_base)
    )
    is_base = (p == base[0]) & (d == base[1])
    base_least, base_most = (
        np.log(np.maximum(times.T, SHORTEST)) + margin.parted(doublings_outside(box, at_base), shocks)
        for times in _time_bounds(posteriors, designs, *at_base)
    )
    time = np.sum([each.seconds(p, d) for each in posteriors], axis=0)
    beyond = are_decided & (out[1] > 0)
    columns: list[Array] = []
    for at in range(0, p.size, max(1, _BLOCK // draws)):
        here = slice(at, at + max(1, _BLOCK // draws))
        error = margin.parted(out[:, here], shocks)  # (n, draws)
        misfit = sizes[here, None] * of_denominator
        added = noise if of == "run" else misfit  # the noise of a run holds the misfit
        apart = np.where(is_base[here, None], 0.0, size_at_base * of_numerator - misfit)
        laws = [
            np.log(np.maximum(times.T, SHORTEST))
            for times in _time_bounds(posteriors, designs, p[here], d[here])
        ]
        # Drawn about the law in the middle, in which simple laws have a say as well.
        off = np.where(beyond[here], np.log(time[here]) - laws[0].mean(axis=1), 0.0)[:, None]
        least, most = (each + error + off for each in laws)
        times_low, times_high = _ends_of(least + added, most + added, are_decided[here], level)
        gains = _ends_of(base_least - most + apart, base_most - least + apart, sure[here], level)
        columns.append(np.exp([times_low, times_high, *gains]))
    low, high, speedup_low, speedup_high = np.concatenate(columns, axis=1).reshape(4, *shape)
    on_base = float(np.sum([each.seconds(*at_base) for each in posteriors]))
    gain = seconds_on_base / seconds
    likeliest = np.sum([each.likeliest @ each.library.values(p, d) for each in posteriors], axis=0)
    marks = [
        _mark_of(bool(decided), cell in run, distance)
        for decided, cell, distance in zip(
            are_decided, zip(p.tolist(), d.tolist(), strict=True), out.sum(axis=0), strict=True
        )
    ]
    return Forecast(
        processors=p.reshape(shape),
        disks=d.reshape(shape),
        time=_masked(time.reshape(shape), ~are_decided.reshape(shape)),
        time_low=low,
        time_high=high,
        speedup=_masked((on_base / time).reshape(shape), ~sure.reshape(shape)),
        speedup_low=speedup_low,
        speedup_high=speedup_high,
        by_formula=_masked(likeliest.reshape(shape), ~are_decided.reshape(shape)),
        measured_time=_masked(seconds.reshape(shape), np.isnan(seconds).reshape(shape)),
        measured_speedup=_masked(gain.reshape(shape), np.isnan(gain).reshape(shape)),
        contradicts=contradicts.reshape(shape),
        mark=np.array(marks, dtype=f"<U{len(UNKNOWN)}").reshape(shape),
        doublings=out.sum(axis=0).reshape(shape),
        level=level,
        name=name,
        of=of,
        warnings=warnings,
        base=base,
    )


def _time_bounds(
    posteriors: Sequence[Posterior],
    designs: Sequence[Design],
    p: Array,
    d: Array,
) -> tuple[Array, Array]:
    """Least and largest times (draws, n) that each draw allows; equal where the runs decide."""
    determined: dict[str, Array] = {}
    for posterior, design in zip(posteriors, designs, strict=True):
        if design.determined:
            kind = posterior.kind
            determined[kind] = determined.get(kind, 0.0) + posterior.draws
    total: Any = 0.0
    for posterior in posteriors:
        # All bursts of one kind share their terms: their sum costs no more than one of them.
        if posterior.kind in determined:
            total = total + determined.pop(posterior.kind) @ posterior.library.values(p, d)
    low = high = total
    for posterior, design in zip(posteriors, designs, strict=True):
        if design.determined:
            continue
        ends = [
            (times * least, times * most)
            for at_p, at_d, least, most in design.stand_ins(p, d)
            for times in [posterior.draws @ posterior.library.values(at_p, at_d)]
        ]
        low = low + np.minimum.reduce([least for least, _ in ends])
        high = high + np.maximum.reduce([most for _, most in ends])
    return low, high


def _ends_of(least: Array, most: Array, decided: NDArray[np.bool_], level: float) -> tuple[Array, Array]:
    """Low and high of each row: the shortest interval, or the envelope."""
    low, high = np.zeros((2, len(decided)))
    low[decided], high[decided] = _shortest_interval(least[decided], level)
    for rows, ends, tail, pick in (
        (least, low, (1.0 - level) / 2.0, np.minimum),
        (most, high, (1.0 + level) / 2.0, np.maximum),
    ):
        # Of two ways to cut the tails of the bound the wider, as it is not to be left again.
        narrow = _shortest_interval(rows[~decided], level)
        ends[~decided] = pick(np.quantile(rows[~decided], tail, axis=1), pick(*narrow))
    return low, high


def _shortest_interval(values: Array, level: float) -> tuple[Array, Array]:
    """The ends of the shortest interval of each row with a share `level`."""
    ordered = np.sort(values, axis=1)
    count = ordered.shape[1]
    inside = max(1, math.ceil(level * count))
    start = np.argmin(ordered[:, inside - 1 :] - ordered[:, : count - inside + 1], axis=1)
    rows = np.arange(len(start))
    return ordered[rows, start], ordered[rows, start + inside - 1]


def _mark_of(decided: bool, measured: bool, doublings: float) -> str:
    if not decided:
        return UNKNOWN
    if measured:
        return MEASURED
    return EXTRAPOLATED if doublings > 0 else INTERPOLATED


def _masked(values: Array, hidden: NDArray[np.bool_]) -> np.ma.MaskedArray[Any, Any]:
    # What the mask hides is no number either, for whoever strips the mask.
    return np.ma.MaskedArray(np.where(hidden, np.nan, values), mask=hidden)


def _shown(values: np.ma.MaskedArray[Any, Any], i: int) -> str:
    return "-" if np.ma.getmaskarray(values).flat[i] else f"{values.data.flat[i]:.4g}"


def _ends(low: Array, high: Array, i: int) -> tuple[str, str]:
    return f"{low.flat[i]:.4g}", f"{high.flat[i]:.4g}"
