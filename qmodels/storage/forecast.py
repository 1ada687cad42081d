"""Programs that start together on one storage: makespan and stages, with intervals, learnt from runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from phasefit.arrays import Array, Indices
from phasefit.checks import share, whole_number
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import ModelError
from qmodels.storage.curves import MOST_PROGRAMS, StageCurve
from qmodels.storage.learning import ALIKE, LearntStage, learn_stage
from qmodels.storage.runs import SharedRuns

if TYPE_CHECKING:
    import pandas as pd

#: Numbers among which the one is sought at which the time has doubled.
_DOUBLING: Final = np.unique(np.geomspace(1, 256, 24).round().astype(int))
#: Percentiles of one run that are given.
PERCENTILES: Final = (0.5, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class ShareForecast(Result):
    """Times of 1, 2, ... programs that start together, stage by stage, with intervals."""

    drawing = Drawing("programs", "seconds", log="x")

    numbers: Indices  #: of programs, ascending, (k,)
    stages: tuple[str, ...]  #: their names
    stage_seconds: Array  #: mean of each stage, (s, k)
    seconds: Array  #: mean of the whole run, their sum, (k,)
    low: Array  #: of the interval of that mean, (k,)
    high: Array  #: its upper ends, (k,)
    stage_low: Array  #: of the intervals of the stages, (s, k)
    stage_high: Array  #: their upper ends, (s, k)
    percentiles: Array  #: of single runs at `PERCENTILES`, (3, k)
    level: float  #: probability of the intervals
    doubles_at: float  #: number of programs at which the mean has doubled; infinite beyond 256
    doubles_between: tuple[float, float]  #: its interval
    measured: tuple[int, ...]  #: numbers that were timed
    learnt: tuple[LearntStage, ...]  #: by stage

    @property
    def known_alone_only(self) -> bool:
        """True if no run together was among the runs: then capacity is not identified."""
        return len(self.measured) < 2

    def at(self, programs: int) -> int:
        """Return the place of a number of programs among `numbers`.

        Parameters
        ----------
        programs : int
            Which one.

        Raises
        ------
        ModelError
            If it was not asked for.
        """
        places = np.flatnonzero(self.numbers == programs)
        if not places.size:
            raise ModelError(f"{programs} programs were not asked for, only {self.numbers.tolist()}")
        return int(places[0])

    def centre(self) -> tuple[StageCurve, ...]:
        """Return one curve for each stage that stands for its draws."""
        return tuple(stage.centre() for stage in self.learnt)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number: the mean, its interval, percentiles of a run, and each stage."""
        columns = {"programs": self.numbers, "seconds": self.seconds, "low": self.low, "high": self.high}
        columns |= {f"p{100 * q:.0f}": row for q, row in zip(PERCENTILES, self.percentiles, strict=True)}
        for k, name in enumerate(self.stages):
            columns[name] = self.stage_seconds[k]
            columns[f"{name} low"], columns[f"{name} high"] = self.stage_low[k], self.stage_high[k]
        return data_frame(columns)

    def record(self) -> dict[str, object]:
        """Return what JSON and tables show: rows by number, doubling, and families by stage."""
        return {
            "level": self.level,
            "measured": self.measured,
            "capacity_identified": not self.known_alone_only,
            "doubles_at": self.doubles_at,
            "doubles_between": self.doubles_between,
            "forecast": self.to_frame().to_dict("records"),
            "stages": [
                {
                    "stage": stage.name,
                    "alone": stage.alone,
                    "scatter": stage.scatter,
                    "families": dict(stage.families),
                    "full_at": _quantiles(stage),
                }
                for stage in self.learnt
            ],
        }


def forecast_sharing(
    runs: SharedRuns, numbers: Sequence[int] | None = None, *, level: float = 0.9, seed: int = 0
) -> ShareForecast:
    """Return how long programs take that start together on one storage, from runs alone and together.

    Parameters
    ----------
    runs : SharedRuns
        Times of the stages with one program, and with several where there are such runs.
    numbers : sequence of int, optional
        Of programs to forecast; by default powers of two to 32 or twice the largest that was timed,
        and those timed.
    level : float
        Probability of the intervals, between 0 and 1.
    seed : int
        Of the draws of curves.

    Returns
    -------
    ShareForecast
        Means with intervals; percentiles of single runs.

    Raises
    ------
    ModelError
        If a number or the level is out of its range.

    Notes
    -----
    Programs that start together and take about the same time stay in step, so that all are in one stage at
    a time; each stage has a curve of its own (see `StageCurve`), learnt by itself (see `learn_stage`).

    Examples
    --------
    >>> runs = SharedRuns({"write": {1: [10.0, 10.1, 9.9], 8: [13.0, 13.1, 12.9], 16: [22.4, 22.0, 22.2]}})
    >>> found = forecast_sharing(runs, [32])
    >>> bool(found.low[0] < found.seconds[0] < found.high[0]), found.measured
    (True, (1, 8, 16))
    """
    level = share("level", level, zero=False, one=False)
    wanted = _numbers(numbers, runs.numbers)
    alike = runs.stages_alike()
    learnt = tuple(
        learn_stage(name, by_number, seed=seed, place=k, alike=alike)
        for k, (name, by_number) in enumerate(runs.seconds.items())
    )
    ends = (0.5 - level / 2.0, 0.5 + level / 2.0)
    logs = np.stack(
        [[stage.log_seconds(n) for n in wanted.tolist()] for stage in learnt]
    )  # stage, number, draw
    middle = np.exp([[stage.log_middle(n) for n in wanted.tolist()] for stage in learnt])
    rng = np.random.default_rng([seed, 36])
    scatter = np.array([stage.scatter for stage in learnt])[:, None, None]
    own, common = (rng.standard_normal((rows, 1, logs.shape[2])) for rows in (len(learnt), 1))
    off = math.sqrt(alike) * common + math.sqrt(1.0 - alike) * own
    single = np.exp(logs + scatter * off).sum(axis=0)
    totals = np.exp(logs).sum(axis=0)
    low, high = np.quantile(totals, ends, axis=1)
    stage_low, stage_high = np.quantile(np.exp(logs), ends, axis=2)
    slow = np.array([sum(math.exp(stage.log_middle(n)) for stage in learnt) for n in _DOUBLING.tolist()])
    by_draw = _totals(learnt, _DOUBLING)
    twice = [_first_twice(row) for row in by_draw.T]
    return ShareForecast(
        numbers=wanted,
        stages=runs.stages,
        stage_seconds=middle,
        seconds=middle.sum(axis=0),
        low=np.minimum(low, middle.sum(axis=0)),
        high=np.maximum(high, middle.sum(axis=0)),
        stage_low=np.minimum(stage_low, middle),
        stage_high=np.maximum(stage_high, middle),
        percentiles=np.quantile(single, PERCENTILES, axis=1),
        level=level,
        doubles_at=_first_twice(slow),
        doubles_between=(
            float(np.quantile(twice, ends[0], method="lower")),
            float(np.quantile(twice, ends[1], method="higher")),
        ),
        measured=runs.numbers,
        learnt=learnt,
    )


def _numbers(asked: Sequence[int] | None, measured: tuple[int, ...]) -> Indices:
    """Numbers of programs to forecast, ascending."""
    if asked is None:
        most = max(32, 2 * measured[-1])
        asked = [2**k for k in range(most.bit_length()) if 2**k <= most] + list(measured)
    wanted = sorted({whole_number("programs", n, least=1) for n in asked})
    if not wanted or wanted[-1] > MOST_PROGRAMS:
        raise ModelError(f"numbers must be one or more, each at most {MOST_PROGRAMS}")
    return np.array(wanted)


def _totals(learnt: Sequence[LearntStage], numbers: Indices) -> Array:
    """Mean times of whole runs by number and draw, (k, draws)."""
    return np.array(
        [np.sum([np.exp(stage.log_seconds(n)) for stage in learnt], axis=0) for n in numbers.tolist()]
    )


def _first_twice(times: Array) -> float:
    """Number of `_DOUBLING`, whole, at which times have doubled; infinite where they never do."""
    over = np.flatnonzero(times >= 2.0 * times[0])
    if not over.size:
        return math.inf
    k = int(over[0])
    n0, n1 = float(_DOUBLING[k - 1]), float(_DOUBLING[k])
    part = (2.0 * times[0] - times[k - 1]) / (times[k] - times[k - 1])
    return float(math.ceil(n0 + part * (n1 - n0)))


def _quantiles(stage: LearntStage) -> dict[str, float]:
    """Quantiles of how many programs of a stage fill the storage."""
    with np.errstate(divide="ignore", invalid="ignore"):
        used, streams = stage.draws.io_share[stage.places], stage.draws.streams[stage.places]
        at = np.where(used > 0.0, streams / used, np.inf)
    low, middle, high = np.quantile(at, (0.05, 0.5, 0.95), method="nearest")
    return {"low": float(low), "median": float(middle), "high": float(high)}


@dataclass(frozen=True)
class NextSharedRun(Record):
    """A run together that would tell most of a forecast, and what it would leave unknown."""

    programs: int  #: to start together
    target: int  #: programs of the forecast that is to become sharper
    before: float  #: half-width of that forecast's interval now, as a share: 0.5 is a factor of 1.5
    after: float  #: as expected with that run, repeated three times

    def __str__(self) -> str:
        """Say it in a sentence."""
        return (
            f"One run of {self.programs} together would cut the uncertainty of {self.target} together from "
            f"± {self.before:.0%} to ± {self.after:.0%}."
        )


def next_run(forecast: ShareForecast, target: int, most: int | None = None) -> NextSharedRun | None:
    """Return the number of programs to run together next, so that a forecast becomes as sharp as it can.

    Parameters
    ----------
    forecast : ShareForecast
        What is known so far.
    target : int
        Number of programs whose time matters.
    most : int, optional
        Programs that can be run together; half of the target by default.

    Returns
    -------
    NextSharedRun or None
        Among powers of two that were not timed yet the smallest whose expected uncertainty is within a
        twentieth of the least; None where there is none, or none tells anything.

    Examples
    --------
    >>> alone = forecast_sharing(SharedRuns({"write": {1: [10.0, 10.1, 9.9]}}), [32])
    >>> found = next_run(alone, 32)
    >>> found.programs in (4, 8, 16), found.after < found.before
    (True, True)
    """
    most = max(2, target // 2) if most is None else whole_number("most", most, least=2)
    candidates = [2**k for k in range(1, most.bit_length()) if 2**k <= most]
    candidates = [n for n in candidates if n not in forecast.measured and n <= target]
    if not candidates:
        return None
    times = np.array([math.exp(stage.log_middle(target)) for stage in forecast.learnt])
    shares = times / times.sum()
    before = _joined(shares, [float(stage.log_seconds(target).var()) for stage in forecast.learnt])
    after = {
        n: _joined(shares, [_expected_variance(stage, n, target) for stage in forecast.learnt])
        for n in candidates
    }
    least = min(after.values())
    best = next(n for n in candidates if after[n] <= 1.05 * least)
    return NextSharedRun(best, target, before, after[best]) if after[best] < before else None


def _joined(shares: Array, variances: Sequence[float]) -> float:
    """Half-width of the interval of a sum of parts with these shares and variances of logarithms."""
    parts = shares * np.sqrt(variances)
    # Parts of one program are correlated by ALIKE.
    variance = (1.0 - ALIKE) * float(parts @ parts) + ALIKE * float(parts.sum()) ** 2
    return math.exp(1.645 * math.sqrt(variance)) - 1.0


def _expected_variance(stage: LearntStage, seen: int, target: int) -> float:
    """Variance of the logarithm of a stage's time at the target, once three runs of `seen` were made."""
    here, there = stage.log_curves(seen), stage.log_curves(target)
    misfit = stage.misfit_after(seen, target)
    spread = np.sqrt(stage.scatter**2 / 3.0 + 0.003**2 + (0.1 * here) ** 2)
    truths = np.argsort(here)[:: max(1, here.size // 50)]
    left = []
    for truth in truths.tolist():
        weights = np.exp(-0.5 * ((here - here[truth]) / spread) ** 2) / spread
        weights /= weights.sum()
        mean = float(weights @ there)
        left.append(float(weights @ (there - mean) ** 2))
    return float(np.mean(left)) + misfit


@dataclass(frozen=True)
class Batches(Record):
    """So many programs in turns of k at a time."""

    programs: int  #: in all
    at_once: int  #: that start together; the next ones when all of them have ended
    seconds: float  #: until the last has ended
    gain: float  #: share of the time of all at once that is saved; below zero where it takes longer
    probability: float  #: that it saves time


def batches(forecast: ShareForecast, programs: int) -> tuple[Batches, ...]:
    """Return how long a number of programs take in turns of k at a time, for each k, the shortest first.

    Parameters
    ----------
    forecast : ShareForecast
        Of one storage.
    programs : int
        In all, at least 2.

    Returns
    -------
    tuple of Batches
        For each k from 1 to all that divides them or is a power of two; where k does not divide them, the
        last turn has what is left.

    Examples
    --------
    A storage that loses half of its speed in the crowd:

    >>> stage = StageCurve("io", 10.0, io_share=1.0, streams=8.0, loss=0.5)
    >>> times = {n: [stage.time(n)] * 3 for n in (1, 4, 8, 16, 32)}
    >>> found = batches(forecast_sharing(SharedRuns({"io": times})), 32)
    >>> found[0].at_once, found[0].gain > 0.2
    (8, True)
    """
    whole = whole_number("programs", programs, least=2)
    sizes = {2**k for k in range(whole.bit_length()) if 2**k <= whole}
    sizes |= {k for k in range(1, whole + 1) if whole % k == 0}
    needed = sorted(sizes | {whole % k for k in sizes if whole % k})
    totals = dict(zip(needed, _totals(forecast.learnt, np.array(needed)), strict=True))
    middle = {n: sum(math.exp(stage.log_middle(n)) for stage in forecast.learnt) for n in needed}

    found = []
    for k in sizes:
        turns, left = divmod(whole, k)
        draws = turns * totals[k] + (totals[left] if left else 0.0)
        seconds = turns * middle[k] + (middle[left] if left else 0.0)
        sooner = float(np.mean(draws < totals[whole])) if k < whole else 0.0
        found.append(Batches(whole, k, seconds, 1.0 - seconds / middle[whole], sooner))
    return tuple(sorted(found, key=lambda one: (one.seconds, -one.at_once)))
