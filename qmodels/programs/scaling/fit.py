"""Learn how a program scales from a few measured runs, burst by burst, and say how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.checks import one_of, real_array
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs.laws import checked_allotment
from qmodels.programs.model import Program
from qmodels.programs.phases import Burst, Component, Phase
from qmodels.programs.quantities import positive
from qmodels.programs.scaling.averaged import averaged_burst
from qmodels.programs.scaling.evidence import weigh
from qmodels.programs.scaling.forecast import Forecast, forecast
from qmodels.programs.scaling.identifiability import Design
from qmodels.programs.scaling.next_run import RANKINGS, NextRun, Ranking, rank_runs
from qmodels.programs.scaling.pooling import pooled
from qmodels.programs.scaling.posterior import Posterior, settled
from qmodels.programs.speedup import SpeedupSurface, speedup_surface

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

MOST_DRAWS = 100_000
MOST_ALLOTMENTS = 4_000_000
MOST_CANDIDATES = 1_000
#: Bursts of a table that are fitted, each in some tenths of a second.
MOST_BURSTS = 200

_ALIASES_SHOWN = 6


class MeasuredRuns(Protocol):
    """What a fit needs of `qmodels.io.runs.RunTable`."""

    @property
    def frame(self) -> pd.DataFrame:
        """Columns program, phase, kind, p, d, seconds."""


@dataclass(frozen=True, eq=False)
class FittedComponent:
    """What the runs say about one burst."""

    phase: int
    kind: Component
    formula: str  #: the most probable law, seconds
    probability: float  #: of that law, given the runs
    sigma: float  #: relative noise of a run, posterior median
    runs: int
    allotments: int  #: distinct (p, d) among the runs
    relative_rms: float  #: root mean square of log(measured / posterior mean)
    alias_classes: tuple[tuple[str, ...], ...]  #: terms that the runs cannot tell apart
    invisible: tuple[str, ...]  #: terms that are zero in every run
    posterior: Posterior = field(repr=False)
    design: Design = field(repr=False)

    @property
    def coefficients(self) -> dict[str, float]:
        """Coefficients of the most probable law by term, seconds."""
        top, terms = self.posterior.laws[0], self.posterior.library.terms
        names = [terms[j].text for j in top.terms]
        return dict(zip(names, top.coefficients.tolist(), strict=True))

    def burst(self) -> Burst:
        """Return the burst that takes the posterior mean, averaged over all laws."""
        return averaged_burst(self.posterior)


@dataclass(frozen=True, eq=False)
class FittedProgram:
    """A program learnt from runs, and how far the runs can be trusted to tell.

    Parameters
    ----------
    name : str
    components : tuple of FittedComponent
        By phase, I/O first; a component that was never timed takes no time.
    unidentified : tuple of str
        What this choice of runs cannot tell, a sentence each.
    discrepancy : float
        Standard deviation of log T that each doubling outside the measured box adds.
    seed : int
        Of the draws.
    """

    name: str
    components: tuple[FittedComponent, ...]
    unidentified: tuple[str, ...]
    discrepancy: float
    seed: int
    method: str = "approximate"

    @property
    def allotments(self) -> Array:
        """The distinct (p, d) of the runs, shape (k, 2)."""
        points = [np.stack([one.design.p, one.design.d], axis=1) for one in self.components]
        return np.unique(np.concatenate(points), axis=0)

    @cached_property
    def program(self) -> Program:
        """The program whose bursts take their posterior means, for policies and studies.

        Raises
        ------
        ModelError
            If the runs leave open what a factor does: no single program follows from them.
        """
        for one in self.components:
            if not one.design.determined:
                doubt = next(one.design.doubts(one.posterior))
                raise ModelError(
                    f"{self.name}, phase {one.phase} {one.kind}: {doubt} (`predict` gives what "
                    f"these runs allow)"
                )
        bursts = {(one.phase, one.kind): one.burst() for one in self.components}
        numbers = sorted({one.phase for one in self.components})
        return Program(
            [
                Phase(io=bursts.get((n, "io"), 0.0), cpu=bursts.get((n, "cpu"), 0.0))
                for n in numbers
            ],
            self.name,
        )

    def predict(self, p: ArrayLike, d: ArrayLike, level: float = 0.9) -> Forecast:
        """Predict time and speedup on other allotments, with intervals.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, at least 1, that broadcast; single numbers give arrays of
            one element.
        level : float
            Probability of the intervals, .5 to .999.

        Returns
        -------
        Forecast
            With masked values where the runs do not decide.

        Raises
        ------
        ModelError
            If an argument is out of range.
        MemoryBudgetError
            If more than 4,000,000 allotments are asked for.

        Notes
        -----
        Where a factor had one level in all runs the prior must not decide: between no gain at
        all and a gain in proportion everything is possible, and that envelope is returned
        without a single value.
        """
        p, d = np.broadcast_arrays(*(np.atleast_1d(x) for x in checked_allotment(p, d)))
        if p.size > MOST_ALLOTMENTS:
            raise MemoryBudgetError(
                f"{p.size} allotments are more than {MOST_ALLOTMENTS}; ask for fewer"
            )
        if p.size == 0:
            raise ModelError("p and d are empty; ask for at least one allotment")
        if min(p.min(), d.min()) < 1:
            raise ModelError(f"p and d must be at least 1, got {min(p.min(), d.min()):.6g}")
        level = positive("level", level, least=0.5, most=0.999)
        return forecast(
            [one.posterior for one in self.components],
            [one.design for one in self.components],
            p, d, level=level, discrepancy=self.discrepancy, seed=self.seed, name=self.name,
        )  # fmt: skip

    def surface(self, processors: ArrayLike, disks: ArrayLike) -> SpeedupSurface:
        """Speedup surface of the posterior mean times; see `speedup_surface`.

        Raises
        ------
        ModelError
            If the runs leave open what a factor does, or an axis is out of range.
        """
        return speedup_surface(self.program, processors, disks)

    def surface_interval(
        self, processors: ArrayLike, disks: ArrayLike, level: float = 0.9
    ) -> Forecast:
        """Predict every combination of `processors` (n,) and `disks` (m,): arrays (n, m).

        Raises
        ------
        ModelError, MemoryBudgetError
            As for `predict`.
        """
        p = np.atleast_1d(real_array("processors", processors))
        d = np.atleast_1d(real_array("disks", disks))
        if p.ndim != 1 or d.ndim != 1:
            raise ModelError(f"axes must be rows of numbers, got shapes {p.shape} and {d.shape}")
        if p.size * d.size > MOST_ALLOTMENTS:
            raise MemoryBudgetError(
                f"{p.size} times {d.size} allotments are more than {MOST_ALLOTMENTS}; use a "
                f"coarser grid"
            )
        return self.predict(p[:, None], d[None, :], level)

    def next_run(
        self,
        candidates: Sequence[tuple[float, float]] | None = None,
        *,
        targets: Sequence[tuple[float, float]] | tuple[float, float],
        budget: float | None = None,
        by: Ranking = "reduction",
    ) -> NextRun:
        """Rank runs by what they are expected to tell about the targets.

        Parameters
        ----------
        candidates : sequence of (p, d), optional
            Runs that could be done, one repeat each, at most 1000; by default the corners of
            the measured box and allotments up to two doublings beyond it.
        targets : (p, d) or sequence of them
            Where the prediction matters.
        budget : float, optional
            Most core-seconds (processors times seconds) that the run may cost, as predicted.
        by : {"reduction", "per core-second"}
            What to rank by: variance of log T taken away, or that per core-second.

        Returns
        -------
        NextRun

        Raises
        ------
        ModelError
            If an argument is out of range or no candidate can be paid.

        Notes
        -----
        Programs are drawn from the posterior; each in turn is taken for the true one, a run of
        it is simulated with the noise seen so far, and the others are weighed by its outcome:
        what variance of log T is left, on average, is what the run leaves [1]_. Where the
        present runs do not decide the targets, those runs come first that make them decide.

        References
        ----------
        .. [1] K. Chaloner, I. Verdinelli, "Bayesian experimental design: a review",
           *Statist. Sci.* 10 (1995) 273-304.
        """
        goals = _points("targets", targets)
        if candidates is None:
            runs = self._candidates(goals)
        else:
            runs = np.unique(_points("candidates", candidates), axis=0)
        if len(runs) > MOST_CANDIDATES or len(goals) > MOST_CANDIDATES:
            raise ModelError(
                f"{max(len(runs), len(goals))} candidates or targets are more than "
                f"{MOST_CANDIDATES}; give fewer"
            )
        if budget is not None:
            budget = positive("budget", budget, least=1e-18, most=1e30)
        one_of("by", by, RANKINGS)
        return rank_runs(
            [one.posterior for one in self.components],
            [one.design for one in self.components],
            runs, goals, budget=budget, by=by, discrepancy=self.discrepancy, seed=self.seed,
        )  # fmt: skip

    def _candidates(self, targets: Array) -> Array:
        axes = []
        for runs, goals in zip(self.allotments.T, targets.T, strict=True):
            most = runs.max()
            beyond = [most * 2.0, most * 4.0]
            axes.append(np.unique([runs.min(), most, *beyond, *np.minimum(goals, beyond[-1])]))
        p, d = np.meshgrid(*axes, indexing="ij")
        return np.stack([p.ravel(), d.ravel()], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per component: formula, its probability, noise, runs, allotments."""
        import pandas as pd

        return pd.DataFrame(
            [
                (c.phase, c.kind, c.formula, c.probability, c.sigma, c.runs, c.allotments,
                 c.relative_rms)
                for c in self.components
            ],
            columns=["phase", "kind", "formula", "probability", "sigma", "runs", "allotments",
                     "relative_rms"],
        )  # fmt: skip

    def table(self) -> str:
        """Return the components as text, and below them what the runs cannot tell."""
        lines = [
            f"phase {c.phase} {c.kind}: {c.formula} s (probability {c.probability:.2g}); noise "
            f"{100 * c.sigma:.2g} % over {c.runs} runs on {c.allotments} allotments"
            for c in self.components
        ]
        return "\n".join([*lines, *self.unidentified])


def fit_runs(
    runs: MeasuredRuns, *, discrepancy: float = 0.02, draws: int = 1000, seed: int = 0
) -> dict[str, FittedProgram]:
    """Fit the scaling of every measured program.

    Parameters
    ----------
    runs : RunTable
        Measured bursts, from `qmodels.io.read_runs`.
    discrepancy : float
        How far the true law may part from every law of the library outside the measured box:
        standard deviation of log T for one doubling, 0 to 1; independent from doubling to
        doubling, so that n of them give sqrt(n) times as much.
    draws : int
        Programs drawn from the posterior for the intervals, 100 to 100,000.
    seed : int
        Of the draws, 0 to 2^32 - 1: the same runs and seed give the same answers bit for bit.

    Returns
    -------
    fitted : dict of str to FittedProgram
        By name, in the order of the table.

    Raises
    ------
    ModelError
        If `runs` is no table of runs or an option is out of range.
    MemoryBudgetError
        If the table times more than 200 bursts (a phase has one of each kind).

    Notes
    -----
    A burst takes f(p, d) times log-normal noise, f a sum of at most three terms with positive
    coefficients, each from another family of `qmodels.programs.scaling.terms`: constant, 1/p,
    p^-a, log2 p, sqrt p - 1, p - 1 and for I/O also 1/d, d^-a, 1/(pd), p/d, d - 1,
    1/min(d, p/R) and its powers. USL and p/(1 + c(p - 1)) are among them: A/p + B + C(p - 1).
    Every law is fitted by Gauss-Newton steps on the logarithm; no law is picked, they are
    averaged with their evidence [1]_, which is Gaussian in the coefficients given the noise
    sigma, with a prior 1/(share + .02) on the share of the measured times that a term takes
    (root mean square over the allotments), and restricted to positive coefficients by
    conditional sampling [2]_. Sigma is summed over a grid down to 1e-6, with one hierarchy for
    all bursts of a program; repeats tell it apart from misfit.

    What shows only outside the measured box is for the prior to say, so the intervals of
    `FittedProgram.predict` join those of two priors: even odds for every term, as for all
    single values, and four to one for growth in proportion to p or d, which is the costliest
    to overlook.

    References
    ----------
    .. [1] J. A. Hoeting, D. Madigan, A. E. Raftery, C. T. Volinsky, "Bayesian model averaging:
       a tutorial", *Statist. Sci.* 14 (1999) 382-417.
    .. [2] J. Geweke, "Efficient simulation from the multivariate normal and Student-t
       distributions subject to linear constraints", *Computing Science and Statistics: Proc.
       23rd Symp. Interface* (1991) 571-578.

    Examples
    --------
    >>> import pandas as pd
    >>> from qmodels.io.runs import RunTable
    >>> grid = [(p, d) for p in (1, 2, 4, 8) for d in (1, 2, 4)]
    >>> rows = [("solver", 1, "cpu", p, d, 5 + 90 / p) for p, d in grid]
    >>> rows += [("solver", 1, "io", p, d, 8 / min(d, p / 2)) for p, d in grid]
    >>> columns = ["program", "phase", "kind", "p", "d", "seconds"]
    >>> fitted = fit_runs(RunTable(pd.DataFrame(rows, columns=columns)))["solver"]
    >>> [component.formula for component in fitted.components]
    ['8/min(d, p/2)', '5 + 90/p']
    """
    frame = getattr(runs, "frame", None)
    if frame is None or not hasattr(frame, "groupby"):
        raise ModelError(f"runs must be a RunTable (see read_runs), got {type(runs).__name__}")
    if type(discrepancy) not in (int, float) or discrepancy != 0:
        discrepancy = positive("discrepancy", discrepancy, least=1e-12, most=1.0, why=" or 0")
    draws = _whole("draws", draws, 100, MOST_DRAWS)
    seed = _whole("seed", seed, 0, 2**32 - 1)
    bursts = len(frame[["program", "phase", "kind"]].drop_duplicates())
    if bursts > MOST_BURSTS:
        raise MemoryBudgetError(
            f"{bursts:,} timed bursts are more than the {MOST_BURSTS} whose scaling can be fitted; "
            f"add up the times of phases that scale alike, to at most {MOST_BURSTS // 2} phases "
            f"of I/O and computation"
        )
    return {
        str(name): _fit_program(str(name), part, float(discrepancy), draws, seed)
        for name, part in frame.groupby("program", sort=False)
    }


def _fit_program(
    name: str, frame: pd.DataFrame, discrepancy: float, draws: int, seed: int
) -> FittedProgram:
    parts: list[tuple[int, Component, Array, Array, Array]] = []
    doubts = []
    for number in sorted(set(frame["phase"].tolist())):
        for kind in ("io", "cpu"):
            timed = frame[(frame["phase"] == number) & (frame["kind"] == kind)]
            if timed.empty:
                doubts.append(f"phase {number} {kind}: never timed, taken as 0 s")
                continue
            p, d, y = (timed[column].to_numpy(float) for column in ("p", "d", "seconds"))
            parts.append((number, kind, p, d, y))
    weighed = [weigh(kind, pooled(p, d, y)) for _, kind, p, d, y in parts]
    components = []
    for (number, kind, p, d, y), found in zip(
        parts, settled(weighed, draws=draws, seed=seed), strict=True
    ):
        component = _component(number, kind, p, d, y, found)
        components.append(component)
        for doubt in component.design.doubts(found):
            doubts.append(f"phase {number} {kind}: {doubt}")
    return FittedProgram(name, tuple(components), tuple(doubts), discrepancy, seed)


def _component(
    phase: int, kind: Component, p: Array, d: Array, y: Array, found: Posterior
) -> FittedComponent:
    cells = np.unique(np.stack([p, d]), axis=1)
    design = Design(kind, cells[0], cells[1])
    residuals = np.log(y) - np.log(found.mean @ found.library.values(p, d))
    return FittedComponent(
        phase=phase,
        kind=kind,
        formula=found.formula,
        probability=found.laws[0].probability,
        sigma=found.sigma,
        runs=int(y.size),
        allotments=cells.shape[1],
        relative_rms=math.sqrt(float(np.mean(residuals**2))),
        alias_classes=design.alias_classes(),
        invisible=design.invisible(),
        posterior=found,
        design=design,
    )


def _points(name: str, given: Any) -> Array:
    """Return allotments as (n, 2), at least 1 each."""
    points = np.atleast_2d(real_array(name, given))
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ModelError(f"{name} must be (p, d) or a sequence of them, got shape {points.shape}")
    p, d = checked_allotment(points[:, 0], points[:, 1])
    if min(p.min(), d.min()) < 1:
        raise ModelError(f"{name} must be at least 1, got {min(p.min(), d.min()):.6g}")
    return points


def _whole(name: str, value: object, least: int, most: int) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not least <= value <= most
    ):
        raise ModelError(f"{name} must be a whole number from {least} to {most}, got {value!r:.60}")
    return int(value)
