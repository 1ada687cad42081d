"""Mean wait of backfilled rigid jobs over the load: simulated at some loads, a curve through them between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.progress import Progress, no_progress
from qmodels.rigid import RigidMix
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream
from validation.jobs.disciplines import AbstractDiscipline, find_discipline
from validation.rigid.mixes import draw_jobs, simulate_saturated
from validation.rigid.model import RigidJobs
from validation.rigid.simulator import simulate_rigid

if TYPE_CHECKING:
    import pandas as pd

#: Loads at which the waits are simulated: the closer, the steeper the waits rise.
PILOTS = (0.5, 0.62, 0.72, 0.8, 0.87, 0.93)
#: A wait below this part of a run time counts as none.
_NONE = 1e-6
#: One of so many jobs at the beginning is not counted.
_WARM = 10


@dataclass(frozen=True, eq=False)
class WaitCurve(Result):
    """Mean wait over the load, known at some loads.

    Parameters
    ----------
    throughput : float
        Jobs per second when saturated; a load of 1.
    loads : (n,) ndarray
        Loads that were simulated, ascending.
    waits : tuple of Estimate
        Mean wait at each, seconds, with its interval.
    run : float
        Mean run time, seconds.
    """

    drawing = Drawing("load", "mean wait [s]")

    throughput: float
    loads: Array
    waits: tuple[Estimate, ...]
    run: float

    @cached_property
    def _curve(self) -> PchipInterpolator:
        means = np.array([each.mean for each in self.waits])
        # Waits rise as a power of the load, by one over what is left of the machine.
        heights = np.log(means * (1.0 - self.loads) + _NONE * self.run)
        return PchipInterpolator(np.log(self.loads), heights)

    def at(self, loads: ArrayLike) -> Array:
        """Return the mean wait at loads between those that were simulated.

        Parameters
        ----------
        loads : float or array_like
            Arrival rates by the throughput of the saturated machine.

        Returns
        -------
        ndarray
            Seconds, of the shape of `loads`.

        Raises
        ------
        ModelError
            If a load is outside of those that were simulated.
        """
        x = np.asarray(loads, dtype=float)
        first, last = float(self.loads[0]), float(self.loads[-1])
        if not ((x >= first) & (x <= last)).all():
            raise ModelError(f"the curve is known from load {first:g} to {last:g}; simulate others")
        wait: Array = np.maximum(np.exp(self._curve(np.log(x))) - _NONE * self.run, 0.0) / (1.0 - x)
        return wait

    def record(self) -> dict[str, Any]:
        """Return what was simulated."""
        waits = [{"load": x, **each.to_dict()} for x, each in zip(self.loads, self.waits, strict=True)]
        return {"throughput": self.throughput, "mean_run": self.run, "waits": waits}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each load that was simulated."""
        import pandas as pd

        means, widths = zip(*((each.mean, each.half_width) for each in self.waits), strict=True)
        return pd.DataFrame({"load": self.loads, "mean wait [s]": means, "half width [s]": widths})


def wait_curve(
    mix: RigidMix,
    discipline: AbstractDiscipline | str = "EASY",
    *,
    limits: float = 1.0,
    loads: Sequence[float] = PILOTS,
    jobs: int = 100_000,
    replications: int = 4,
    seed: int = 0,
    progress: Progress = no_progress,
) -> WaitCurve:
    """Return the mean wait of a mix over the load, simulated at some loads.

    Parameters
    ----------
    mix : RigidMix
        The jobs and the servers; arrivals are Poisson.
    discipline : AbstractDiscipline or str
        As for `simulate_rigid`.
    limits : float
        Time limits by run times, >= 1.
    loads : sequence of float
        Between 0 and 1, ascending, at least two: arrival rates by the throughput when 400 jobs always
        wait.
    jobs, replications : int
        Jobs of a replication, and independent ones, at least two. All loads have the same jobs.
    seed : int
        Root of all randomness.
    progress : Progress
        Hears of replications that are done.

    Returns
    -------
    WaitCurve
        With 95 % intervals where it was simulated.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    Notes
    -----
    No formula for backfilling is known that is as good as a short simulation: interpolation in
    ``log(W (1 - x))`` over ``log x`` joins the simulated points. How far it is off between them
    stands in docs/claims.md (RJ-10).

    Examples
    --------
    >>> mix = RigidMix.of(8, (1, 8), (2 / 3, 1 / 3), (1.0, 1.0))
    >>> curve = wait_curve(mix, jobs=20_000, replications=2)
    >>> waits = curve.at([0.6, 0.7, 0.9])
    >>> bool((waits[1:] > waits[:-1]).all())
    True
    """
    rule = find_discipline(discipline)
    x = np.asarray(loads, dtype=float)
    if x.ndim != 1 or x.size < 2 or not (np.diff(x) > 0).all() or not (x[0] > 0.0 and x[-1] < 1.0):
        raise ModelError(f"loads must be two or more between 0 and 1, ascending, got {list(loads)!r}")
    limits = real_number("limits", limits, least=1.0)
    whole_number("replications", replications, least=2)
    throughput = simulate_saturated(mix, rule, backlog=400, seed=seed).throughput.mean
    means = np.empty((x.size, replications))
    for k in range(replications):
        drawn = draw_jobs(mix, jobs, arrival_rate=throughput, rng=stream(seed, "curve", k))
        for i, load in enumerate(x):
            progress("loads", k * x.size + i, replications * x.size)
            slower = RigidJobs(drawn.submit / load, drawn.need, drawn.run, limit=limits * drawn.run)
            means[i, k] = simulate_rigid(slower, mix.servers, rule).wait[jobs // _WARM :].mean()
    run = math.fsum(share * each.law.mean for share, each in zip(mix.shares, mix.classes, strict=True))
    return WaitCurve(throughput, x, tuple(estimate(row) for row in means), run)
