"""Two releases of a program by their measured runs: what became slower, by how much, how sure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import share, suggestion
from phasefit.records import Record, Result, data_frame
from qmodels.errors import ModelError
from qmodels.programs.releases import MeasuredRuns, matched_programs, with_common_phases
from qmodels.programs.scaling import fit_runs
from qmodels.programs.scaling.pooling import whole_runs

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["broken", "kept", "undecided"]

WHOLE = "whole program"

#: Chance with which a slowdown is noticed that is called noticeable.
POWER = 0.8

_LEAST_FREEDOM = 2  # degrees of freedom of the noise, below which nothing is said
_LIMIT = re.compile(
    r"(?:(any phase|phase ([1-9][0-9]{0,5}) (io|cpu)) )?slowdown > ([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%"
    r" with ([0-9]{1,2}(?:\.[0-9]{1,6})?) ?%",
    re.ASCII,
)


@dataclass(frozen=True)
class Change(Record):
    """Ratio of the new release's time to the old one's.

    Parameters
    ----------
    program, part : str
        Whose time: ``"whole program"``, or a burst such as ``"phase 1 io"``.
    processors, disks : float or None
        Where; None for the mean over all allotments that both tables have.
    log_ratio, error : float
        Estimate of log(new / old), and its standard error.
    freedom : float
        Degrees of freedom of the error; inf where it comes from forecasts.
    level : float
        Probability of `interval`.
    """

    program: str
    part: str
    processors: float | None
    disks: float | None
    log_ratio: float
    error: float
    freedom: float
    level: float

    @property
    def ratio(self) -> float:
        """New over old."""
        return math.exp(self.log_ratio)

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the ratio new / old."""
        from scipy import stats

        half = float(stats.t.ppf(0.5 + self.level / 2.0, self.freedom)) * self.error
        return math.exp(self.log_ratio - half), math.exp(self.log_ratio + half)

    def beyond(self, slowdown: float = 0.0) -> float:
        """Return the probability that the new release is slower by more than a share.

        Parameters
        ----------
        slowdown : float
            The share, 0.05 for five per cent.
        """
        from scipy import stats

        away = self.log_ratio - math.log1p(slowdown)
        if self.error == 0.0:  # runs without any noise
            return float(away > 0)
        return float(stats.t.cdf(away / self.error, self.freedom))

    def noticeable(self, slowdown: float, confidence: float) -> float:
        """Return the slowdown, as a share, that such runs would show beyond `slowdown` in 4 of 5 cases.

        Parameters
        ----------
        slowdown : float
            Share that is tolerated.
        confidence : float
            Probability that a limit asks for.
        """
        from scipy import stats

        needed = stats.t.ppf(confidence, self.freedom) + stats.t.ppf(POWER, self.freedom)
        return math.expm1(math.log1p(slowdown) + float(needed) * self.error)

    def sentence(self) -> str:
        """Return the change in words."""
        low, high = (100.0 * (end - 1.0) for end in self.interval)
        if low > 0:
            how = f"slower by {low:.3g} to {high:.3g} %"
        elif high < 0:
            how = f"faster by {-high:.3g} to {-low:.3g} %"
        else:
            how = f"between {-low:.3g} % faster and {high:.3g} % slower"
        return f"{how}, probability of slower {_probability_text(self.beyond())}"

    def record(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        low, high = self.interval
        return {
            **self._by_name("program", "part", "processors", "disks", "ratio"),
            "low": low,
            "high": high,
            "level": self.level,
            "probability_slower": self.beyond(),
        }


@dataclass(frozen=True)
class Limit(Record):
    """A slowdown that must not be exceeded, and how sure it has to be that it is."""

    text: str  #: as it was written
    part: str  #: ``"whole program"``, a burst, or ``"any phase"``
    slowdown: float  #: share
    confidence: float  #: probability of the slowdown that breaks the limit

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read ``slowdown > 5% with 95%``, also of ``any phase`` or ``phase 2 io``.

        Parameters
        ----------
        text : str
            The limit, as in the first line.

        Raises
        ------
        ModelError
            If the text is not of that form.

        Examples
        --------
        >>> Limit.parse("phase 2 io slowdown > 5% with 95%").part
        'phase 2 io'
        """
        match = _LIMIT.fullmatch(" ".join(text.split())) if len(text) <= 200 else None
        if not match or float(match[5]) < 50.0:
            raise ModelError(
                f"limit {text[:60]!r}: write 'slowdown > 5% with 95%', the second number from 50 "
                f"to 99.99; 'any phase' or 'phase 2 io' may stand before it"
            )
        part = WHOLE if match[1] is None else " ".join(match[1].split())
        return cls(text, part, float(match[4]) / 100.0, float(match[5]) / 100.0)


@dataclass(frozen=True)
class Judged(Record):
    """A limit held against one change."""

    limit: Limit  #: that was held against it
    change: Change  #: that was judged
    verdict: Verdict  #: on the change
    probability: float  #: that the slowdown is larger than the limit
    confidence: float  #: asked for, shared by all changes that the limit is held against
    noticeable: float  #: slowdown, as a share, that would have been noticed in 4 of 5 cases


@dataclass(frozen=True)
class Comparison(Result):
    """Two tables of runs, program by program and phase by phase.

    Parameters
    ----------
    changes : tuple of Change
        Of each program first the whole, then its bursts, both as means over the allotments that
        both tables have (or at the target), then the whole on each of them.
    remarks : tuple of str
        What of the tables could not be compared.
    """

    changes: tuple[Change, ...]
    remarks: tuple[str, ...]

    @property
    def main(self) -> tuple[Change, ...]:
        """The first change of each program: limits are held against it."""
        first: dict[str, Change] = {}
        for change in self.changes:
            first.setdefault(change.program, change)
        return tuple(first.values())

    def judge(self, limit: Limit) -> tuple[Judged, ...]:
        """Hold a limit against the programs, or against bursts where it speaks of them.

        Where there are several, each has to be as sure as makes a false alarm of any of them no
        more likely than asked for (Bonferroni).

        Parameters
        ----------
        limit : Limit
            The limit.

        Returns
        -------
        tuple of Judged
            A verdict for each program or burst.

        Raises
        ------
        ModelError
            If no program has the burst that the limit speaks of.
        """
        places = {(one.processors, one.disks) for one in self.main}
        changes = [
            one
            for one in self.changes
            if (one.processors, one.disks) in places
            and (one.part == limit.part or (limit.part == "any phase" and one.part != WHOLE))
        ]
        if not changes:
            names = sorted({one.part for one in self.changes} - {WHOLE})
            raise ModelError(f"{limit.text!r}: no such burst; {suggestion(limit.part, names)}")
        sure = 1.0 - (1.0 - limit.confidence) / len(changes)
        judged = []
        for one in changes:
            chance = one.beyond(limit.slowdown)
            verdict: Verdict = "broken" if chance >= sure else "undecided"
            if 1.0 - chance >= limit.confidence:
                verdict = "kept"
            judged.append(Judged(limit, one, verdict, chance, sure, one.noticeable(limit.slowdown, sure)))
        return tuple(judged)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each change."""
        return data_frame([one.record() for one in self.changes])

    def plot(self, ax: Any = None) -> Any:
        """Draw the ratios with their intervals; see `qmodels.plotting.changes`."""
        from qmodels.plotting import changes

        return changes(self, ax=ax)


def compare_runs(
    old: MeasuredRuns,
    new: MeasuredRuns,
    *,
    program: str | None = None,
    target: tuple[float, float] | None = None,
    level: float = 0.9,
) -> Comparison:
    """Compare the runs of two releases.

    Parameters
    ----------
    old, new : RunTable
        Measured bursts; programs are matched by name. One in each, called like its file or
        folder, is matched whatever the files are called.
    program : str, optional
        Only this one; ``"OLD=NEW"`` where the releases have different names.
    target : (p, d), optional
        Where the answer counts; by default the mean over all allotments that both tables have.
        Where not both were run there, two forecasts are compared, which say much less.
    level : float
        Probability of the intervals.

    Returns
    -------
    Comparison
        The changes of each program and its bursts.

    Raises
    ------
    ModelError
        If there is nothing in common, or the runs do not show their noise: neither repeats nor
        three common allotments.

    Notes
    -----
    The difference of the mean logarithms on each common allotment is taken; nothing is assumed of
    how the program scales. Noise comes from the repeats and from how much these differences
    vary, so a change that is not the same everywhere widens the interval. Intervals and
    probabilities are those of Student's law [1]_ under a flat prior; they hold for noise of a run
    in all its bursts as well as of each burst alone, but not for a machine that was in another
    state in one of the two campaigns: mix the runs of both releases.

    References
    ----------
    .. [1] G. E. P. Box, G. C. Tiao, *Bayesian Inference in Statistical Analysis*, Addison-Wesley
       1973, section 2.5.

    Examples
    --------
    >>> import pandas as pd
    >>> from qmodels.io.runs import COLUMNS, RunTable
    >>> def release(factor, noise):
    ...     rows = [("solver", 1, "cpu", p, 1, factor * 96.0 / p * (1 + e))
    ...             for p, e in zip((1, 2, 4, 8), noise)]
    ...     return RunTable(pd.DataFrame(rows, columns=list(COLUMNS)))
    >>> before, after = release(1.0, (0, .01, 0, -.01)), release(1.1, (.01, 0, -.01, 0))
    >>> compare_runs(before, after).main[0].sentence()
    'slower by 8.52 to 11.5 %, probability of slower above 0.999'
    """
    share("level", level, zero=False, one=False)
    changes: list[Change] = []
    remarks: list[str] = []
    for name, old_runs, new_runs in matched_programs(old, new, program):
        before, after, names = with_common_phases(name, old_runs, new_runs)
        whole = _differences(whole_runs(before), whole_runs(after))
        if target is not None and target not in whole.cells:
            changes.append(_change_of_forecasts(name, before, after, target, level))
            remarks.append(
                f"{name}: {target[0]:g} x {target[1]:g} was not run with both releases, so two "
                f"forecasts are compared, which say little; run both there"
            )
            continue
        changes.append(whole.change(name, WHOLE, target, level))
        bursts = [dict(iter(frame.groupby(["phase", "kind"]))) for frame in (before, after)]
        for phase, kind in sorted({*bursts[0], *bursts[1]}, key=lambda x: (x[0], x[1] != "io")):
            label = names.get((phase, kind), f"phase {phase} {kind}")
            was, now = (each.get((phase, kind)) for each in bursts)
            if was is None or now is None:
                where = "old" if now is None else "new"
                remarks.append(f"{name}, {label}: only in the {where} table, not compared")
                continue
            part = _differences(was, now)
            if target is None or target in part.cells:
                changes.append(part.change(name, label, target, level))
        changes += [whole.change(name, WHOLE, cell, level) for cell in whole.cells if cell != target]
    return Comparison(tuple(changes), tuple(remarks))


@dataclass(frozen=True, eq=False)
class _Differences:
    """Differences of mean logarithms, new less old, on the allotments that both have."""

    cells: dict[tuple[float, float], int]  # place of each
    means: Array
    spread: Array  # (k,) variance of a difference over that of a run: 1/n_old + 1/n_new
    variance: float  # of the logarithm of one run
    freedom: int

    def change(self, program: str, part: str, at: tuple[float, float] | None, level: float) -> Change:
        """Return the change at one allotment, or the mean over all."""
        chosen = np.arange(len(self.cells)) if at is None else np.array([self.cells[at]])
        error = math.sqrt(self.variance * float(np.sum(self.spread[chosen]))) / chosen.size
        p, d = (None, None) if at is None else at
        mean = float(np.mean(self.means[chosen]))
        return Change(program, part, p, d, mean, error, float(self.freedom), level)


def _probability_text(chance: float) -> str:
    """A probability in words: it is never quite 0 or 1."""
    if 0.001 <= chance <= 0.999:
        return f"{chance:.3g}"
    return "above 0.999" if chance > 0.5 else "below 0.001"


def _differences(before: pd.DataFrame, after: pd.DataFrame) -> _Differences:
    old, new = _logs_by_allotment(before), _logs_by_allotment(after)
    common = [cell for cell in old if cell in new]
    if not common:
        raise ModelError("no allotment (p, d) was run with both releases; run both on the same allotments")
    means = np.array([np.mean(new[cell]) - np.mean(old[cell]) for cell in common])
    spread = np.array([1.0 / len(old[cell]) + 1.0 / len(new[cell]) for cell in common])
    # Of repeats, and of how far the differences lie from one common to all allotments.
    within = [runs[cell] - np.mean(runs[cell]) for runs in (old, new) for cell in common]
    middle = np.sum(means / spread) / np.sum(1.0 / spread)
    squares = sum(float(np.sum(each**2)) for each in within)
    squares += float(np.sum((means - middle) ** 2 / spread))
    freedom = sum(each.size for each in within) - 2 * len(common) + len(common) - 1
    if freedom < _LEAST_FREEDOM:
        raise ModelError(
            f"{len(common)} allotments were run with both releases and {freedom} runs more than "
            f"that say how much runs differ; repeat runs, or run both on three allotments"
        )
    places = {cell: place for place, cell in enumerate(common)}
    return _Differences(places, means, spread, squares / freedom, freedom)


def _logs_by_allotment(frame: pd.DataFrame) -> dict[tuple[float, float], Array]:
    """Logarithms of the seconds of every run, by allotment."""
    cells = frame[["p", "d"]].to_numpy(float)
    logs = np.log(frame["seconds"].to_numpy(float))
    return {(float(p), float(d)): logs[np.all(cells == (p, d), axis=1)] for p, d in np.unique(cells, axis=0)}


def _change_of_forecasts(
    name: str,
    before: pd.DataFrame,
    after: pd.DataFrame,
    target: tuple[float, float],
    level: float,
) -> Change:
    """Compare two forecasts as if they were independent log-normal numbers."""
    from scipy import stats

    middles, errors = [], []
    for frame in (before, after):
        (fitted,) = fit_runs(_RunFrame(frame)).values()
        predicted = fitted.predict(*target, level=level, of="mean")
        if np.ma.getmaskarray(predicted.time)[0]:
            at = np.array([target[0]]), np.array([target[1]])
            left_open = next(one for one in fitted.components if not one.design.known(*at)[0])
            doubt = next(left_open.design.doubts(left_open.posterior))
            raise ModelError(f"{name}, {left_open.label}: {doubt}; or run both releases at the target")
        middles.append(math.log(predicted.time.data[0]))
        width = math.log(predicted.time_high[0] / predicted.time_low[0])
        errors.append(width / (2.0 * float(stats.norm.ppf(0.5 + level / 2.0))))
    return Change(name, WHOLE, *target, middles[1] - middles[0], math.hypot(*errors), math.inf, level)


@dataclass(frozen=True, eq=False)
class _RunFrame:
    frame: pd.DataFrame
