"""A program learnt from measured runs: what it predicts, and which run would tell more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import one_of, real_array
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs.laws import checked_allotment
from qmodels.programs.model import Program
from qmodels.programs.phases import Burst, Component, Phase
from qmodels.programs.quantities import positive
from qmodels.programs.scaling.averaged import averaged_burst
from qmodels.programs.scaling.candidates import (
    Range,
    checked_candidates,
    points,
    runs_within,
    usual_runs,
)
from qmodels.programs.scaling.discrepancy import Margin
from qmodels.programs.scaling.forecast import MEANT, Forecast, Meant, forecast
from qmodels.programs.scaling.identifiability import Design
from qmodels.programs.scaling.measured import Measured
from qmodels.programs.scaling.next_run import RANKINGS, NextRun, Ranking, rank_runs
from qmodels.programs.scaling.posterior import Posterior
from qmodels.programs.scaling.sizes import Size
from qmodels.programs.speedup import SpeedupSurface, speedup_surface
from qmodels.words import plural

if TYPE_CHECKING:
    import pandas as pd


MOST_ALLOTMENTS = 4_000_000

_COLUMNS = ["phase", "kind", "formula", "probability", "sigma", "runs", "allotments", "relative_rms"]

#: Below so many runs, and from so many times beyond them on, a forecast comes with a warning.
FEW_RUNS, FAR = 10, 4.0

#: Slope of log T over log p in the last step, above which more processors often cost time.
FLAT = -0.45


@dataclass(frozen=True, eq=False)
class FittedComponent(Record):
    """Laws of one burst, as far as the runs tell them."""

    phase: int  #: number, from 1
    kind: Component  #: "io" or "cpu"
    formula: str  #: the most probable law, seconds
    probability: float  #: of that law, given the runs
    sigma: float  #: relative noise of a run, posterior median
    runs: int  #: in which it was timed
    allotments: int  #: distinct (p, d) among the runs
    relative_rms: float  #: root mean square of log(measured / fitted)
    alias_classes: tuple[tuple[str, ...], ...]  #: terms that the runs cannot tell apart
    invisible: tuple[str, ...]  #: terms that are zero in every run
    posterior: Posterior = field(repr=False)  #: its laws
    design: Design = field(repr=False)  #: the allotments of these runs
    name: str = ""  #: of its phase, where the table has one

    @property
    def label(self) -> str:
        """Name of the burst: that of its phase, or number and kind."""
        return self.name or f"phase {self.phase} {self.kind}"

    @property
    def coefficients(self) -> dict[str, float]:
        """Coefficients of the most probable law by term, seconds."""
        top, terms = self.posterior.laws[0], self.posterior.library.terms
        names = [terms[j].text for j in top.terms]
        return dict(zip(names, top.coefficients.tolist(), strict=True))

    def burst(self) -> Burst:
        """Return the burst that takes what the law in the middle of all says."""
        return averaged_burst(self.posterior)


@dataclass(frozen=True, eq=False)
class FittedProgram(Result):
    """A program learnt from runs, and how far the runs can be trusted to tell.

    Parameters
    ----------
    name : str
        Of the program.
    components : tuple of FittedComponent
        By phase, I/O first; a component that was never timed takes no time.
    unidentified : tuple of str
        What this choice of runs cannot tell, a sentence each.
    margin : Margin
        What intervals add to the laws: misfit of single allotments, discrepancy outside the
        measured box, and noise of a run.
    measured : Measured
        What was measured on each allotment, and where it contradicts the law.
    seed : int
        Of the draws.
    cliffs : tuple of str
        Where residuals show a step rather than a smooth law, a sentence each.
    node : float
        Most processors of a single node, inf where it is not known.
    size : Size or None
        Size of the problem that it is forecast for, where the runs had several.
    """

    drawing = Drawing("burst", "sigma", labels=("burst", "noise, relative"))

    name: str
    components: tuple[FittedComponent, ...]
    unidentified: tuple[str, ...]
    margin: Margin
    measured: Measured
    seed: int
    cliffs: tuple[str, ...] = ()
    node: float = math.inf
    size: Size | None = None
    method: str = "approximate"  #: how good the answer is

    @property
    def discrepancy(self) -> float:
        """Standard deviation of log T that each doubling outside the runs adds, in the median."""
        return self.margin.typical

    @property
    def runs(self) -> int:
        """Whole runs: those of the burst that was timed most often."""
        return max(one.runs for one in self.components)

    @property
    def allotments(self) -> Array:
        """The distinct (p, d) of the runs, shape (k, 2)."""
        points = [np.stack([one.design.p, one.design.d], axis=1) for one in self.components]
        return np.unique(np.concatenate(points), axis=0)

    @property
    def base(self) -> tuple[float, float]:
        """Processors and disks over whose time speedup stands.

        One of each, or where no run had one processor the smallest allotment that was run.
        """
        first = self.allotments[0]
        return (1.0, 1.0) if first[0] == 1.0 else (float(first[0]), float(first[1]))

    @cached_property
    def program(self) -> Program:
        """The program whose bursts follow the law in the middle of all that the runs allow.

        Every single value that is told of the program is its: by forecasts, surfaces, policies
        and studies alike.

        Raises
        ------
        ModelError
            If the runs leave open what a factor does: no single program follows from them.
        """
        for one in self.components:
            if not one.design.determined:
                doubt = next(one.design.doubts(one.posterior))
                raise ModelError(f"{self.name}, {one.label}: {doubt} (`predict` gives what these runs allow)")
        bursts = {(one.phase, one.kind): one.burst() for one in self.components}
        numbers = sorted({one.phase for one in self.components})
        return Program(
            [Phase(io=bursts.get((n, "io"), 0.0), cpu=bursts.get((n, "cpu"), 0.0)) for n in numbers],
            self.name,
        )

    def predict(self, p: ArrayLike, d: ArrayLike, level: float = 0.9, *, of: Meant = "run") -> Forecast:
        """Return time and speedup on other allotments, with intervals.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, at least 1, that broadcast; single numbers give arrays of
            one element.
        level : float
            Probability of the intervals, .5 to .999.
        of : {"run", "mean"}
            What the intervals of time are for: one run that will be measured there, with its
            noise, or the mean of many. Speedup is a ratio of means either way.

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
            raise MemoryBudgetError(f"{p.size} allotments are more than {MOST_ALLOTMENTS}; ask for fewer")
        if p.size == 0:
            raise ModelError("p and d are empty; ask for at least one allotment")
        if min(p.min(), d.min()) < 1:
            raise ModelError(f"p and d must be at least 1, got {min(p.min(), d.min()):.6g}")
        level = positive("level", level, least=0.5, most=0.999)
        one_of("of", of, MEANT)
        return forecast(
            [one.posterior for one in self.components],
            [one.design for one in self.components],
            p,
            d,
            level=level,
            margin=self.margin,
            measured=self.measured,
            seed=self.seed,
            name=self.name,
            of=of,
            warnings=(
                *self._few_runs_warning(p, d),
                *self._one_node_warning(p),
                *self._flat_step_warning(p, d),
                *self.warnings,
            ),
            base=self.base,
            sized=self.size is not None,
        )

    def _few_runs_warning(self, p: Array, d: Array) -> Iterator[str]:
        """Say that few runs carry a far target."""
        most = self.allotments.max(axis=0)
        beyond = float(max(p.max() / most[0], d.max() / most[1]))
        if self.runs < FEW_RUNS and beyond >= FAR:
            yield (
                f"{self.runs} runs and a target {beyond:.3g} times beyond them: what such runs do "
                f"not show decides there; make a run nearer to the target before you rely on it"
            )

    def _one_node_warning(self, p: Array) -> Iterator[str]:
        """Say that no run left a node, where the target does."""
        most = float(self.allotments[:, 0].max())
        if most <= self.node < float(p.max()):
            yield (
                f"every run was on a single node of up to {self.node:g} processors: no run crossed the edge, "
                f"and what the network between nodes costs is not in these times; make a run on two nodes"
            )

    def _flat_step_warning(self, p: Array, d: Array) -> Iterator[str]:
        """Say that the last step of the runs hardly gained, where the target lies beyond it."""
        most = self.allotments[:, 0].max()
        slope = max(self.measured.last_slope(float(disks)) for disks in (d.min(), d.max()))
        if slope > FLAT and p.max() >= 2.0 * most:
            yield (
                f"the last step's slope of log T over log p was {slope:.2f}, above {FLAT:g}: half of such "
                f"programs were slower at the target than at their largest run (21 of 40 published ones)"
            )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Steps among the runs, and where they contradict the law: reasons to trust it less."""
        of_size = () if self.size is None else self.size.warnings()
        return (*of_size, *self.cliffs, *self.contradictions)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Sentence on the allotments whose measured times contradict the law; () where none do."""
        at = self.measured.processors, self.measured.disks
        return self.measured.contradictions(
            np.sum([one.posterior.seconds(*at) for one in self.components], axis=0)
        )

    def surface(self, processors: ArrayLike, disks: ArrayLike) -> SpeedupSurface:
        """Return the speedup surface of `program`; see `speedup_surface`.

        Parameters
        ----------
        processors : (n,) array_like
            Increasing, at least 1.
        disks : (m,) array_like
            Increasing, at least 1.

        Raises
        ------
        ModelError
            If the runs leave open what a factor does, or an axis is out of range.
        """
        return speedup_surface(self.program, processors, disks, base=self.base)

    def surface_interval(
        self,
        processors: ArrayLike,
        disks: ArrayLike,
        level: float = 0.9,
        *,
        of: Meant = "run",
    ) -> Forecast:
        """Return time and speedup on every combination of processors and disks, with intervals: (n, m).

        Parameters
        ----------
        processors : (n,) array_like
            At least 1.
        disks : (m,) array_like
            At least 1.
        level : float
            Probability of the intervals, .5 to .999.
        of : {"run", "mean"}
            As for `predict`.

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
                f"{p.size} times {d.size} allotments are more than {MOST_ALLOTMENTS}; use a coarser grid"
            )
        return self.predict(p[:, None], d[None, :], level, of=of)

    def next_run(
        self,
        candidates: Sequence[tuple[float, float]] | None = None,
        *,
        targets: Sequence[tuple[float, float]] | tuple[float, float],
        budget: float | None = None,
        by: Ranking = "reduction",
        within: Sequence[Range] | None = None,
    ) -> NextRun:
        """Return the runs that could be done, those first that tell most about the targets.

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
        within : two pairs, optional
            Which runs can be made at all, instead of `candidates`: least and most processors,
            least and most disks, such as ``((1, 32), (1, 4))``.

        Returns
        -------
        NextRun
            The candidates, ranked.

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
        goals = points("targets", targets)
        if candidates is not None and within is not None:
            raise ModelError("give either candidates or within, not both")
        if within is not None:
            allotments = runs_within(within, self.allotments, goals)
        elif candidates is not None:
            allotments = np.unique(points("candidates", candidates), axis=0)
        else:
            allotments = usual_runs(self.allotments, goals)
        checked_candidates(allotments, goals)
        if budget is not None:
            budget = positive("budget", budget, least=1e-18, most=1e30)
        one_of("by", by, RANKINGS)
        return rank_runs(
            [one.posterior for one in self.components],
            [one.design for one in self.components],
            allotments,
            goals,
            budget=budget,
            by=by,
            margin=self.margin,
            seed=self.seed,
            work=None if self.size is None else self.size.work,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per component: formula, its probability, noise, runs, allotments, its name if any."""
        cells = [[getattr(one, name) for name in _COLUMNS] for one in self.components]
        names = [one.name for one in self.components]
        frame = data_frame(cells, columns=_COLUMNS)
        return frame.assign(name=names) if any(names) else frame

    def record(self) -> dict[str, Any]:
        """Return the laws of the bursts, how well they are known, and what the runs cannot tell."""
        known = ("name", "runs", "size", "discrepancy", "components")
        return self._by_name(*known, "unidentified", "cliffs", "contradictions", "seed", "method")

    def drawn(self) -> pd.DataFrame:
        """Return the noise of each burst, named by its phase."""
        frame = self.to_frame()
        return frame.assign(burst=[one.label for one in self.components])

    def table(self) -> str:
        """Return the components as text, and below them what the runs cannot tell."""
        lines = [
            f"{c.label}: {c.formula} s (probability {c.probability:.2g}); noise {100 * c.sigma:.2g} % "
            f"over {c.runs} runs on {c.allotments} {plural('allotment', c.allotments)}"
            for c in self.components
        ]
        if self.size is not None:
            lines += self.size.sentences()
        return "\n".join([*lines, *self.unidentified, *self.warnings])
