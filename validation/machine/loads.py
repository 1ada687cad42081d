"""How fast jobs may come: the mean time between arrivals that gives a wanted utilisation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext

import numpy as np

from phasefit.checks import real_number, share, whole_number
from qmodels.errors import ConvergenceError, ModelError
from qmodels.progress import Progress
from validation.analysis.seeding import stream as random_stream
from validation.analysis.seeding import word
from validation.jobs import AbstractStreams
from validation.machine.machine import Machine
from validation.machine.play import play
from validation.sweeps.engines import processes
from validation.sweeps.executors import parallel_map

#: What the streams of the pilot runs are for, below the seed of a study: beside the two keys of its
#: own runs.
_PILOT = 2
_MAX_TRIALS = 60
#: Around a first guess from one run, all tried at once.
_GRID = (0.6, 0.75, 0.9, 1.1, 1.35, 1.7)


def interarrival_for(
    machine: Machine,
    streams: AbstractStreams,
    utilisation: float,
    *,
    seed: int = 0,
    replications: int = 6,
    tolerance: float = 0.02,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> float:
    """Mean time between arrivals at which the machine is as busy as wanted.

    Parameters
    ----------
    machine : Machine
    streams : AbstractStreams
        Jobs with a `mean_interarrival`; its value plays no part.
    utilisation : float
        Share of the nodes that jobs hold over time, between 0 and 1.
    seed : int
        Of the pilot runs, which have random numbers of their own.
    replications : int
        Pilot runs at each trial.
    tolerance : float
        How far from `utilisation` their mean may be.
    workers : int, optional
        Processes; 1 works in this one, None takes one for each core.
    executor : concurrent.futures.Executor, optional
        Who makes the pilot runs instead of processes of our own; it is left open.
    progress : callable
        Called as ``progress("pilot runs", done, runs)``, and so for each trial after them.

    Returns
    -------
    float
        In the unit of the jobs, rounded to three digits.

    Raises
    ------
    ModelError
        If the streams have no `mean_interarrival`, an argument is out of range, or no mean time
        between arrivals makes the machine so busy.
    ConvergenceError
        If the search for it does not end.

    Notes
    -----
    One run with the same jobs coming faster or slower gives a first guess, all pilot runs on a
    grid around it the rest, by interpolation. A run of few jobs includes its filling and its
    emptying, so the most that can be reached is less than one. Where jobs slow each other down,
    the busy time of single runs may lie far from the mean of many.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> from validation.jobs import PoissonStreams
    >>> machine = Machine(mesh=Mesh(8, 8, io_side="west"), strategy="PLAS")
    >>> jobs = PoissonStreams(jobs=60, mean_interarrival=1.0, mean_size=6.0, largest=64)
    >>> mean = interarrival_for(machine, jobs, 0.5, replications=3)
    >>> 30 < mean < 300
    True
    """
    target = share("utilisation", utilisation, zero=False, one=False)
    whole_number("replications", replications, least=1)
    near = real_number("tolerance", tolerance, above=0.0)
    if not hasattr(streams, "mean_interarrival"):
        raise ModelError(f"{type(streams).__name__} have no mean_interarrival that could be set")

    own = 1 if replications == 1 else workers
    with processes(own) if executor is None else nullcontext(executor) as pool:

        def utilisations(means: list[float], runs: int, what: str) -> list[float]:
            tasks = [(machine, streams, mean, seed, run) for mean in means for run in range(runs)]
            seen = parallel_map(
                _pilot,
                tasks,
                workers=1,
                executor=None if executor is None and runs == 1 else pool,
                progress=progress,
                what=what,
            )
            return [float(values.mean()) for values in np.reshape(seen, (len(means), runs))]

        return _searched(utilisations, target, replications, near)


def _searched(
    utilisations: Callable[[list[float], int, str], list[float]],
    target: float,
    replications: int,
    near: float,
) -> float:
    """The mean time between arrivals, of a function that plays runs of several means."""
    guess = _first_guess(lambda mean: utilisations([mean], 1, "a first guess")[0], target)
    grid = [guess * factor for factor in _GRID]
    known = dict(zip(grid, utilisations(grid, replications, "pilot runs"), strict=True))
    for _ in range(_MAX_TRIALS):
        means = sorted(known)
        if known[means[0]] < target:
            trial = means[0] / 1.5
        elif known[means[-1]] > target:
            trial = means[-1] * 1.5
        else:
            after = next(k for k, mean in enumerate(means) if known[mean] <= target)
            low, high = means[max(after - 1, 0)], means[after]
            gap = known[low] - known[high]
            part = (known[low] - target) / gap if gap > 0 else 0.5
            trial = low * (high / low) ** min(max(part, 0.05), 0.95)
        trial = float(f"{trial:.3g}")
        if trial not in known:
            known[trial] = utilisations([trial], replications, f"pilot runs at {trial:g}")[0]
        if abs(known[trial] - target) <= near:
            return trial
        if len(known) == len(means):
            return trial  # three digits tell no finer
    raise ConvergenceError(f"utilisation {target:.3g}", _MAX_TRIALS, known[trial], np.array([trial]))


def _first_guess(utilisation: Callable[[float], float], target: float) -> float:
    """A mean time between arrivals about right, from single runs."""
    low = high = 100.0
    while utilisation(high) > target:
        low, high = high, high * 4.0
        if high > 1e15:
            raise ConvergenceError("the search for a light load", _MAX_TRIALS, target, np.array([high]))
    while (seen := utilisation(low)) < target:
        high, low = low, low / 4.0
        if low < 1e-9:
            raise ModelError(
                f"utilisation {target:.3g} is not reached: from first arrival to last departure these jobs "
                f"hold {seen:.2g} of the processors, however fast they come; use more jobs, or a smaller mesh"
            )
    while high > 1.15 * low:
        mean = float(np.sqrt(low * high))
        low, high = (mean, high) if utilisation(mean) > target else (low, mean)
    return float(np.sqrt(low * high))


def _pilot(task: tuple[Machine, AbstractStreams, float, int, int]) -> float:
    """Utilisation of one run with a mean time between arrivals."""
    machine, streams, mean, seed, run = task
    jobs = streams.spaced(mean).draw(rng=random_stream(seed, _PILOT, run))
    return play(machine, jobs, seed=word(seed, "messages of a pilot run", run)).summary["utilisation"]
