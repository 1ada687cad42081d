"""Runs that could be made next: the usual ones, or those that a user can make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.programs.laws import checked_allotment

Range = tuple[float, float]

MOST_CANDIDATES = 1_000

_MOST_ON_AN_AXIS = 30  # so that every pair of both axes is within `MOST_CANDIDATES`


def points(name: str, pairs: Any) -> Array:
    """Return allotments as (n, 2), at least 1 each.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    pairs : array_like
        One pair (p, d) or a sequence of them.

    Raises
    ------
    ModelError
        If it is no such thing, or one is below 1.
    """
    allotments = np.atleast_2d(real_array(name, pairs))
    if allotments.ndim != 2 or allotments.shape[1] != 2 or not len(allotments):
        raise ModelError(f"{name} must be (p, d) or a sequence of them, got shape {allotments.shape}")
    p, d = checked_allotment(allotments[:, 0], allotments[:, 1])
    if min(p.min(), d.min()) < 1:
        raise ModelError(f"{name} must be at least 1, got {min(p.min(), d.min()):.6g}")
    return allotments


def usual_runs(runs: Array, targets: Array) -> Array:
    """Return the corners of the box of runs and allotments up to two doublings beyond it, (n, 2).

    Parameters
    ----------
    runs : (k, 2) ndarray
        Allotments that were run.
    targets : (m, 2) ndarray
        Allotments that matter.
    """
    axes = []
    for levels, goals in zip(runs.T, targets.T, strict=True):
        most = levels.max()
        beyond = [
            more for more in (most * 2.0, most * 4.0) if more <= goals.max()
        ]  # no larger than asked for
        axes.append(np.unique([levels.min(), most, *beyond, *np.minimum(goals, most * 4.0)]))
    return _every_pair(axes)


def runs_within(ranges: Sequence[Range], runs: Array, targets: Array) -> Array:
    """Return allotments (n, 2) within (least, most) processors and (least, most) disks.

    On each axis both ends, the powers of two between them, and, as far as they lie between, what
    was run and what is aimed at; thinned evenly where that is too much.

    Parameters
    ----------
    ranges : two pairs of float
        Least and most processors, least and most disks.
    runs : (k, 2) ndarray
        Allotments that were run.
    targets : (m, 2) ndarray
        Allotments that matter.

    Raises
    ------
    ModelError
        If a range is empty or goes below 1.
    """
    axes = []
    pairs = points("within", ranges)
    if pairs.shape != (2, 2):
        raise ModelError(f"within must be two ranges, of processors and disks; got {len(pairs)}")
    for (low, high), levels, goals in zip(pairs, runs.T, targets.T, strict=True):
        if high < low:
            raise ModelError(f"a range must not end below its start, got {low:g} to {high:g}")
        powers = 2.0 ** np.arange(np.ceil(np.log2(low)), np.floor(np.log2(high)) + 1)
        levels_on_axis = np.unique([low, high, *powers, *levels, *goals])
        levels_on_axis = levels_on_axis[(levels_on_axis >= low) & (levels_on_axis <= high)]
        if levels_on_axis.size > _MOST_ON_AN_AXIS:
            levels_on_axis = levels_on_axis[
                np.rint(np.linspace(0, levels_on_axis.size - 1, _MOST_ON_AN_AXIS)).astype(int)
            ]
        axes.append(levels_on_axis)
    return _every_pair(axes)


def checked_candidates(candidates: Array, goals: Array) -> Array:
    """Return the candidates, unless they or the targets are more than can be ranked in a moment.

    Parameters
    ----------
    candidates : (n, 2) ndarray
        Allotments.
    goals : (m, 2) ndarray
        Targets.

    Raises
    ------
    ModelError
        If there are too many.
    """
    if len(candidates) > MOST_CANDIDATES or len(goals) > MOST_CANDIDATES:
        raise ModelError(
            f"{max(len(candidates), len(goals))} candidates or targets are more than "
            f"{MOST_CANDIDATES}; give fewer"
        )
    return candidates


def _every_pair(axes: Sequence[Array]) -> Array:
    p, d = np.meshgrid(*axes, indexing="ij")
    return np.stack([p.ravel(), d.ravel()], axis=1)
