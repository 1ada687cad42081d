"""Jobs that are never slower, or never faster, than those of a model: laws on either side of it.

What a job does once it runs, its stages and how long each would last at speed one, has nothing to
do with its wait and with the others; these only set the speeds. So a job that always ran at the
greatest speed, after the same wait, would depart no later, and one at the least speed no sooner.
"""

from __future__ import annotations

from math import inf, log
from typing import Final

import numpy as np

from phasefit import PhaseType, convolve
from qmodels.markov.walk import Walk, entries_by_target, quantile
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.stage_counts import StagedJobs

#: Largest order of a law that is asked for a percentile: beyond, it takes longer than it saves.
_MOST: Final = 600
#: Part of a percentile by which a time to its side is away from it: many times its rounding.
_BESIDE: Final = 1e-9
#: Multiplications that a percentile may take by the steps of the chain.
_PRODUCTS: Final = 1e7
#: How far to the side of a percentile is looked without them, in parts of the logarithm of its
#: tail, and how often at most.
_ROUGHLY, _STEPS = 0.005, 25
#: Probabilities that agree to this are the same.
_SAME: Final = 1e-12


def fastest(wait: PhaseType, running: RunningChain, demand: PhaseType | None = None) -> PhaseType | None:
    """Law of the wait and of a service at the greatest speed; None where none is known.

    Of a wait too large to be asked for percentiles it leaves out the wait. `demand` is that of the
    job itself where it is of another law than that of the others.
    """
    own = _service(running, demand, greatest=True)
    if own is None or wait.order + own.order > _MOST:
        return own
    return convolve(wait, own)


def slowest(wait: PhaseType, running: RunningChain, demand: PhaseType | None = None) -> PhaseType | None:
    """Law of the wait and of a service at the least speed; None where none is known."""
    own = _service(running, demand, greatest=False)
    if own is None or wait.order + own.order > _MOST:
        return None
    return convolve(wait, own)


def _service(running: RunningChain, demand: PhaseType | None, *, greatest: bool) -> PhaseType | None:
    """Law of a service each of whose stages is at its greatest, or least, speed."""
    if running.at_one_speed is not None:
        common, speeds = running.at_one_speed
        return (demand or common).scale(1.0 / float(speeds.max() if greatest else speeds.min()))
    return None if running.staged is None else _staged_service(running.staged, greatest=greatest)


def _staged_service(staged: StagedJobs, *, greatest: bool) -> PhaseType | None:
    """The same of jobs by stage; None where the way of a job depends on how many run."""
    jumps, exits = staged.jumps[1:].copy(), staged.exits[1:]
    jumps[:, range(staged.order), range(staged.order)] = 0.0
    total = jumps.sum(axis=2) + exits
    if total.min() <= 0.0:
        return None
    ways = np.concatenate([jumps / total[:, :, None], (exits / total)[:, :, None]], axis=2)
    if np.ptp(ways, axis=0).max() > _SAME or np.ptp(staged.alpha[1:], axis=0).max() > _SAME:
        return None
    rates = staged.speeds * total[np.maximum(staged.running, 1) - 1]
    there = staged.ways.counts > 0
    pace = np.where(there, rates, 0.0).max(axis=0) if greatest else np.where(there, rates, np.inf).min(axis=0)
    if pace.min() <= 0.0 or not np.isfinite(pace).all():
        return None
    return PhaseType.from_rates(staged.alpha[1], ways[0, :, :-1] * pace[:, None], ways[0, :, -1] * pace)


def nearly(law: PhaseType, q: float, *, above: bool) -> float:
    """Seconds no more than the percentile `q` of a law, or no less if `above`, with little work.

    Nearer than `_BESIDE` by the steps of its chain; where these are too many a few per cent off.
    Zero, or infinite, where none is found.
    """
    if q <= 0.0:
        return 0.0
    walk = Walk(law.alpha, entries_by_target(law.jumps), law.exit, law.atom)
    count = walk.until(1.0 - q, int(_PRODUCTS / walk.cost))
    if count is None:
        return _roughly(law, q, above=above)
    if count == 0:  # some of the times are zero, and the percentile is
        return 0.0
    found = quantile(
        q,
        1.0 - q,
        walk.distribution_and_density,
        walk.survival_and_density,
        count / walk.speed,
    )
    return found * (1.0 + (_BESIDE if above else -_BESIDE))


def _roughly(law: PhaseType, q: float, *, above: bool) -> float:
    """The same from a few probabilities, by secants that look a little to the wanted side.

    On the logarithm of the tail, which is nearly straight where percentiles are asked for.
    """
    aim, beside = log(1.0 - q), _ROUGHLY if above else -_ROUGHLY
    wanted = aim * (1.0 + beside)
    low, high, t = (0.0, 0.0), (inf, -inf), -law.mean * aim
    turns = 0  # in a row to the same side, above zero if to that of `high`
    for _ in range(_STEPS):
        height = log(max(float(law.sf(t)), 1e-300))
        if (height <= aim) == above and abs(height - aim) <= 4.0 * _ROUGHLY * max(-aim, _ROUGHLY):
            return t
        if height > aim:
            low, turns = (t, height), min(turns, 0) - 1
        else:
            high, turns = (t, height), max(turns, 0) + 1
        if high[0] == inf:
            t = 2.0 * t if height > 0.5 * aim else t * wanted / height
        elif abs(turns) > 1:  # a secant of a tail that bends creeps from one side
            t = 0.5 * (low[0] + high[0])
        else:
            part = (wanted - low[1]) / (high[1] - low[1])
            t = low[0] + min(max(part, 0.02), 0.98) * (high[0] - low[0])
    return high[0] if above else low[0]
