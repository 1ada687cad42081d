"""I/O time of a job beside production: a law conditional on the file system's load, learnt from history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, Indices
from phasefit.checks import named, probabilities, real_array
from phasefit.records import Record
from qmodels.errors import ModelError

#: Weights of ridges: what all groups have in common, and how far one of them may be from it.
_COMMON, _OWN = 10.0, 100.0
#: Width of the neighbourhood in loads, in scatters of a group; and the weight that the farthest keep.
_NEAR, _FARTHEST = 0.3, 0.2
#: Loads and times count up to so many scatters.
_MOST: Final = 3.0
LEAST_RUNS: Final = 20


@dataclass(frozen=True, eq=False)
class GroupHistory(Record):
    """Past runs of one group of like jobs, and what load did to them."""

    name: str  #: of the group
    runs: int  #: that were learnt from
    logs: Array  #: log seconds of the runs without what load did, (n,)
    scores: Array  #: what load did to each, in scatters, (n,)
    scatter: float  #: half the distance of the 16th and 84th percentile of log seconds
    centre: Array  #: of the loads, (k,)
    width: Array  #: scatter of the loads, (k,)
    slopes: Array  #: of the scores over the loads, (k,)
    covered: float  #: of its last quarter by the 10 to 90 % of the first three; NaN with too few runs


@dataclass(frozen=True, eq=False)
class ProductionLaw(Record):
    """Laws of the I/O times of groups of like jobs, given the load at the time or not."""

    loads: tuple[str, ...]  #: names of the loads, which may be none
    groups: Mapping[str, GroupHistory]  #: by their names

    def quantiles(
        self, group: str, q: ArrayLike = (0.1, 0.5, 0.9), *, at: Mapping[str, float] | None = None
    ) -> Array:
        """Return quantiles of the seconds of a job, at a load or by history alone.

        Parameters
        ----------
        group : str
            Which jobs.
        q : array_like
            Probabilities.
        at : mapping of str to float, optional
            The loads; one that is not given is taken as usual. Without any, the history alone counts.

        Returns
        -------
        ndarray
            Seconds, one for each probability.

        Raises
        ------
        ModelError
            If the group or a load is not known.
        """
        history = self.groups[named("group", group, list(self.groups))]
        levels = probabilities("q", q)
        if at is None:
            return np.exp(_weighted_quantile(history.logs + history.scatter * history.scores, None, levels))
        values = history.centre.copy()
        for name, value in at.items():
            values[self.loads.index(named("at", name, list(self.loads)))] = value
        logs, weights = _conditional(history, values)
        return np.exp(_weighted_quantile(logs, weights, levels))


def learn_production(
    seconds: ArrayLike, groups: Sequence[str], loads: Mapping[str, ArrayLike] | None = None
) -> ProductionLaw:
    """Return the laws of I/O times by group of like jobs, given the load of the file system.

    Parameters
    ----------
    seconds : (n,) array_like
        I/O times of past jobs in order of time, above zero.
    groups : sequence of str
        Which of the groups each belongs to: the same program and size on the same file system.
    loads : mapping of str to (n,) array_like, optional
        What is known of the file system at the time, such as the logarithm of others' traffic over the
        job's own, or how busy its servers are; NaN where it is not known.

    Returns
    -------
    ProductionLaw
        Groups with fewer than 20 runs are left out.

    Raises
    ------
    ModelError
        If lengths differ, a time is not above zero, or no group has enough runs.

    Notes
    -----
    Within a group, a score (a weighted sum of the loads, in scatters of the group) says what load does to
    the logarithm of the time; its slopes are shrunk to those that all groups have in common. The law at a
    load is the empirical one of what is left of past runs, those at a like score counting up to six times
    as much as those far from it, moved by the score.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> load = rng.exponential(size=300)
    >>> seconds = 10.0 * np.exp(0.5 * load + 0.1 * rng.normal(size=300))
    >>> law = learn_production(seconds, ["w"] * 300, {"x": load})
    >>> calm, busy = law.quantiles("w", [0.5], at={"x": 0.0}), law.quantiles("w", [0.5], at={"x": 2.0})
    >>> bool(calm[0] < 12.0), bool(busy[0] > 22.0)
    (True, True)
    """
    logs, known, names = _checked(seconds, groups, loads)
    places = {name: np.flatnonzero(known == name) for name in dict.fromkeys(known.tolist())}
    places = {name: some for name, some in places.items() if some.size >= LEAST_RUNS}
    if not places:
        raise ModelError(f"no group has {LEAST_RUNS} runs or more to learn from")
    values = (
        np.stack([np.asarray(x, dtype=float) for x in (loads or {}).values()], axis=1)
        if names
        else (np.zeros((logs.size, 0)))
    )
    learnt = _learn(logs, values, places)
    early = {name: some[: -(some.size // 4)] for name, some in places.items()}
    early = {name: some for name, some in early.items() if some.size >= LEAST_RUNS}
    before = _learn(logs, values, early) if early else {}
    found = {}
    for name, some in places.items():
        fields = learnt[name]
        late = some[-(some.size // 4) :]
        covered = np.nan
        if name in before:
            ends = [
                _weighted_quantile(*_conditional(before[name], values[i]), np.array([0.1, 0.9]))
                for i in late.tolist()
            ]
            covered = float(
                np.mean([low <= logs[i] <= high for i, (low, high) in zip(late, ends, strict=True)])
            )
        found[name] = GroupHistory(**{**vars(fields), "name": name, "covered": covered})
    return ProductionLaw(names, found)


def _checked(
    seconds: ArrayLike, groups: Sequence[str], loads: Mapping[str, ArrayLike] | None
) -> tuple[Array, np.ndarray, tuple[str, ...]]:
    """Log seconds, groups and names of loads, all of one length."""
    times = real_array("seconds", seconds)
    known = np.asarray(groups, dtype=object)
    if times.ndim != 1 or known.shape != times.shape or not (times > 0.0).all():
        raise ModelError("seconds must be (n,) and above zero, with a group for each")
    for name, value in (loads or {}).items():
        if np.shape(value) != times.shape:
            raise ModelError(
                f"loads[{name!r:.40}] must have {times.size} values, got shape {np.shape(value)}"
            )
    return np.log(times), known, tuple(loads or ())


def _learn(logs: Array, values: Array, places: Mapping[str, Indices]) -> dict[str, GroupHistory]:
    """Histories of groups; slopes of each are shrunk to what all have in common."""
    scaled, targets = {}, {}
    for name, some in places.items():
        own = values[some]
        centre = np.array([np.nanmedian(x) if np.isfinite(x).any() else 0.0 for x in own.T])
        width = np.array([_width(x) for x in own.T])
        middle, scatter = float(np.median(logs[some])), max(_width(logs[some]), 0.01)
        target = np.clip((logs[some] - middle) / scatter, -_MOST, _MOST)
        scaled[name] = (_standard(own, centre, width), centre, width)
        targets[name] = (target, scatter)
    count = values.shape[1]
    every = np.concatenate([x for x, _, _ in scaled.values()])
    common = _ridge(every, np.concatenate([target for target, _ in targets.values()]), _COMMON)
    found = {}
    for name, some in places.items():
        own, centre, width = scaled[name]
        target, scatter = targets[name]
        slopes = common + _ridge(own, target - own @ common, _OWN) if count else common
        scores = own @ slopes
        rest = logs[some] - scatter * scores
        found[name] = GroupHistory(name, some.size, rest, scores, scatter, centre, width, slopes, np.nan)
    return found


def _width(values: Array) -> float:
    """Half the distance of the 16th and 84th percentile; 1 where nothing varies."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 1.0
    low, high = np.quantile(known, (0.16, 0.84))
    return float(high - low) / 2.0 if high > low else 1.0


def _standard(values: Array, centre: Array, width: Array) -> Array:
    """Loads in scatters about their middle; unknown ones are in the middle."""
    scaled = (values - centre) / width
    return np.asarray(np.clip(np.where(np.isfinite(scaled), scaled, 0.0), -_MOST, _MOST))


def _ridge(x: Array, y: Array, weight: float) -> Array:
    """Slopes of a regression drawn to zero."""
    return np.asarray(np.linalg.solve(x.T @ x + weight * np.eye(x.shape[1]), x.T @ y))


def _conditional(history: GroupHistory, values: Array) -> tuple[Array, Array]:
    """Log seconds of past runs as they would have been at these loads, and their weights."""
    score = float(_standard(values, history.centre, history.width) @ history.slopes)
    weights = _FARTHEST + np.exp(-0.5 * ((score - history.scores) / _NEAR) ** 2)
    return history.logs + history.scatter * score, weights


def _weighted_quantile(values: Array, weights: Array | None, levels: Array) -> Array:
    """Quantiles of weighted values, between them in proportion."""
    order = np.argsort(values)
    held = np.ones(values.size) if weights is None else weights[order]
    places = (np.cumsum(held) - 0.5 * held) / held.sum()
    return np.asarray(np.interp(levels, places, values[order]))
