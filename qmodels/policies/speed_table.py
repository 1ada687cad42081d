"""Speeds of running jobs that a policy's own model does not know: measured or modelled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, read_only
from phasefit.checks import positive_vector, real_array, real_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class SpeedTable(Result):
    """X(k), the jobs per second that k = 1..c running jobs complete together, and how well known.

    Parameters
    ----------
    throughput : (c,) array_like
        X(1) to X(c), jobs of mean demand per second, > 0. They need not rise with k.
    covariance : (c, c) array_like, optional
        Of these as estimates; None if they are taken as known.
    degrees_of_freedom : float or (c,) array_like
        Of the covariance, such as one less than the number of independent runs; infinite if it is
        known. One for each throughput where some are known from fewer runs than others.
    source : str
        Where the speeds come from, in a few words; shown with every prediction made of them.
    frozen : (E,) array_like, optional
        X(c) of several arrangements of the c running jobs, of which one is drawn, each as likely,
        when the c-th starts, and stays while jobs wait: who leaves is replaced in its place. Only
        their proportions count, their harmonic mean is taken as `throughput[-1]`. Where there is
        a covariance they are a sample, and what others of it would say goes into intervals, too.

    Raises
    ------
    ModelError
        If a throughput is not positive, or the covariance is none.

    Notes
    -----
    A flow-equivalent server [1]_: a subsystem is replaced by one station whose rate depends on how
    many jobs are there. The subsystem may be a closed network, as in `qmodels.networks`, a
    simulator that was run with k jobs, or a machine that was watched while k jobs ran.

    References
    ----------
    .. [1] Chandy et al. 1975.

    Examples
    --------
    >>> measured = SpeedTable([0.10, 0.18, 0.21], np.diag([1e-6, 4e-6, 9e-6]), 9, "own machine")
    >>> measured.max_running, measured.half_widths(0.95).round(5).tolist()
    (3, [0.00226, 0.00452, 0.00679])
    """

    drawing = Drawing("running", ("throughput", "low", "high"), labels=("running jobs", "jobs/s"))

    throughput: Array
    covariance: Array | None = None
    degrees_of_freedom: float | Array = float("inf")
    source: str = ""
    frozen: Array | None = None

    def __post_init__(self) -> None:
        speeds = read_only(positive_vector("throughput", self.throughput))
        object.__setattr__(self, "throughput", speeds)
        if not isinstance(self.source, str):
            raise ModelError(f"source must be a text, got {self.source!r:.60}")
        object.__setattr__(self, "degrees_of_freedom", _freedom(self.degrees_of_freedom, speeds))
        if self.frozen is not None:
            object.__setattr__(self, "frozen", read_only(positive_vector("frozen", self.frozen)))
        if self.covariance is None:
            return
        spread = real_array("covariance", self.covariance).copy()
        if spread.shape != (speeds.size, speeds.size):
            raise ModelError(
                f"{speeds.size} throughputs need a covariance of {speeds.size} x {speeds.size}, "
                f"got shape {spread.shape}"
            )
        scale = float(np.abs(spread).max())
        if np.abs(spread - spread.T).max() > 1e-9 * scale:
            raise ModelError("covariance must be symmetric")
        if scale > 0.0 and np.linalg.eigvalsh(spread).min() < -1e-9 * scale:
            raise ModelError("covariance must have no negative eigenvalue")
        object.__setattr__(self, "covariance", read_only(spread))

    @classmethod
    def of_runs(cls, runs: ArrayLike, source: str = "") -> SpeedTable:
        """The mean of independent measurements, (runs, c), with the covariance of that mean.

        Raises
        ------
        ModelError
            If there are fewer than two runs.
        """
        rows = real_array("runs", runs)
        if rows.ndim != 2 or len(rows) < 2:
            raise ModelError(f"runs must be two or more rows of throughputs, got {rows.shape}")
        spread = np.atleast_2d(np.cov(rows, rowvar=False)) / len(rows)
        return cls(rows.mean(axis=0), spread, len(rows) - 1.0, source)

    def less_sure(self, share: float) -> SpeedTable:
        """The same speeds, off by one more factor for all of them that is known only so well.

        Parameters
        ----------
        share : float
            Standard deviation of that factor, such as 0.01 where a machine at work was seen to
            differ so much from the condition in which its speeds were measured; at least 0.

        Returns
        -------
        SpeedTable
            With as many degrees of freedom as make the sum of both variances right to second order
            (Welch and Satterthwaite), the factor's taken as known: of each throughput, or of X(c)
            where there is one number for all.
        """
        variance = real_number("share", share, least=0.0) ** 2
        more = variance * np.outer(self.throughput, self.throughput)
        known = np.zeros_like(more) if self.covariance is None else self.covariance
        spread = known + more
        own, both = np.diag(known), np.diag(spread)
        if np.ndim(self.degrees_of_freedom) == 0:
            own, both = own[-1], both[-1]
        times = np.divide(both, own, out=np.ones_like(both), where=own > 0.0)
        free = self.degrees_of_freedom * times**2
        return replace(self, covariance=spread, degrees_of_freedom=free)

    @property
    def factors(self) -> Array:
        """How much faster than X(c) each arrangement is, (E,); [1] where none are told apart."""
        if self.frozen is None:
            return np.ones(1)
        return np.asarray(self.frozen * np.mean(1.0 / self.frozen))

    @property
    def capacity(self) -> float:
        """Jobs per second that the slowest arrangement completes; beyond it no queue is stable."""
        return float(self.throughput[-1] * self.factors.min())

    @property
    def max_running(self) -> int:
        """c, the most jobs that run."""
        return int(self.throughput.size)

    def quantile(self, confidence: float, shares: ArrayLike | None = None) -> float:
        """Standard errors on either side of an estimate that cover so much.

        Parameters
        ----------
        confidence : float
        shares : (c,) array_like, optional
            Of a variance that is made of those of the throughputs, how much each brings, >= 0: it
            has the mean of their degrees of freedom, weighted so and harmonic. By default that of
            X(c).

        Returns
        -------
        float
        """
        free = np.broadcast_to(self.degrees_of_freedom, self.throughput.shape)
        if shares is None or not np.any(shares):
            return float(_student(free[-1], confidence))
        parts = np.asarray(shares, dtype=float)
        scarce = float(((parts / parts.max()) / free).sum() / (parts / parts.max()).sum())
        return float(_student(1.0 / scarce if scarce > 0.0 else np.inf, confidence))

    def half_widths(self, confidence: float = 0.95) -> Array:
        """Half-widths of the intervals of the throughputs, (c,); zero if they are known."""
        if self.covariance is None:
            return np.zeros(self.max_running)
        errors: Array = np.sqrt(np.diag(self.covariance).clip(0.0))
        return _student(self.degrees_of_freedom, confidence) * errors

    def to_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """One row for each number of running jobs: its throughput and interval."""
        half = self.half_widths(confidence)
        columns = {
            "running": np.arange(1, self.max_running + 1),
            "throughput": self.throughput,
            "low": self.throughput - half,
            "high": self.throughput + half,
        }
        return data_frame(columns)


def _freedom(given: ArrayLike, speeds: Array) -> float | Array:
    """Degrees of freedom, one number for all speeds or one for each, at least 1."""
    if not np.ndim(given):
        whole = float(np.asarray(given, dtype=float))
        return whole if whole == np.inf else real_number("degrees_of_freedom", whole, least=1.0)
    free = np.array(given, dtype=float)
    if free.shape != speeds.shape or not (free >= 1.0).all():
        raise ModelError(
            f"degrees_of_freedom must be a number >= 1, or one for each of {speeds.size} "
            f"throughputs; got {given!r:.60}"
        )
    return read_only(free)


def _student(free: ArrayLike, confidence: float) -> Array:
    """Quantiles of Student's law that hold so much; the normal law's for infinity."""
    from scipy.special import ndtri, stdtrit

    tail, free = (1.0 + confidence) / 2.0, np.asarray(free, dtype=float)
    finite = np.where(np.isfinite(free), free, 1.0)
    found: Array = np.where(np.isfinite(free), stdtrit(finite, tail), ndtri(tail))
    return found
