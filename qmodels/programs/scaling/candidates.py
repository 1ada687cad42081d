"""Which runs could be made next: the usual ones, or those that a user can make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.programs.laws import checked_allotment

Array = NDArray[np.float64]
Range = tuple[float, float]

MOST_CANDIDATES = 1_000

_MOST_ON_AN_AXIS = 30  # so that every pair of both axes is within `MOST_CANDIDATES`


def points(name: str, given: Any) -> Array:
    """Return allotments as (n, 2), at least 1 each."""
    found = np.atleast_2d(real_array(name, given))
    if found.ndim != 2 or found.shape[1] != 2 or not len(found):
        raise ModelError(f"{name} must be (p, d) or a sequence of them, got shape {found.shape}")
    p, d = checked_allotment(found[:, 0], found[:, 1])
    if min(p.min(), d.min()) < 1:
        raise ModelError(f"{name} must be at least 1, got {min(p.min(), d.min()):.6g}")
    return found


def usual_runs(runs: Array, targets: Array) -> Array:
    """Corners of the box of runs (k, 2) and allotments up to two doublings beyond it, (n, 2)."""
    axes = []
    for levels, goals in zip(runs.T, targets.T, strict=True):
        most = levels.max()
        beyond = [most * 2.0, most * 4.0]
        axes.append(np.unique([levels.min(), most, *beyond, *np.minimum(goals, beyond[-1])]))
    return _every_pair(axes)


def runs_within(ranges: Sequence[Range], runs: Array, targets: Array) -> Array:
    """Allotments (n, 2) within (least, most) processors and (least, most) disks.

    On each axis both ends, the powers of two between them, and, as far as they lie between, what
    was run and what is aimed at; thinned evenly where that is too much.

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
        found = np.unique([low, high, *powers, *levels, *goals])
        found = found[(found >= low) & (found <= high)]
        if found.size > _MOST_ON_AN_AXIS:
            found = found[np.rint(np.linspace(0, found.size - 1, _MOST_ON_AN_AXIS)).astype(int)]
        axes.append(found)
    return _every_pair(axes)


def checked_candidates(found: Array, goals: Array) -> Array:
    """Refuse more candidates or targets than can be ranked in a moment."""
    if len(found) > MOST_CANDIDATES or len(goals) > MOST_CANDIDATES:
        raise ModelError(
            f"{max(len(found), len(goals))} candidates or targets are more than {MOST_CANDIDATES}; give fewer"
        )
    return found


def _every_pair(axes: Sequence[Array]) -> Array:
    p, d = np.meshgrid(*axes, indexing="ij")
    return np.stack([p.ravel(), d.ravel()], axis=1)
