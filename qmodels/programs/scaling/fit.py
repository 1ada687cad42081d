"""Learn how a program scales from a few measured runs, burst by burst, and say how sure that is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs.phase_names import burst_names
from qmodels.programs.phases import Component
from qmodels.programs.quantities import positive
from qmodels.programs.scaling.cliffs import steps
from qmodels.programs.scaling.discrepancy import STEADY_NODES, Margin, margin_of
from qmodels.programs.scaling.evidence import weigh
from qmodels.programs.scaling.fitted import FittedComponent, FittedProgram
from qmodels.programs.scaling.identifiability import Design
from qmodels.programs.scaling.measured import measured_runs
from qmodels.programs.scaling.pooling import Pooled, pooled, whole_runs
from qmodels.programs.scaling.posterior import Posterior, settled
from qmodels.programs.scaling.sized import Sized, weigh_sizes, widened
from qmodels.programs.scaling.sizes import WORK, Timed, fit_of_sizes, size_asked
from qmodels.programs.scaling.terms import Scale, library

if TYPE_CHECKING:
    import pandas as pd


MOST_DRAWS = 100_000
#: Bursts of a table that are fitted, each in some tenths of a second.
MOST_BURSTS = 200


class MeasuredRuns(Protocol):
    """Table of runs as a fit needs it: a `qmodels.io.runs.RunTable`."""

    @property
    def frame(self) -> pd.DataFrame:
        """Columns program, phase, kind, p, d, seconds."""


def fit_runs(
    runs: MeasuredRuns,
    *,
    discrepancy: float | None = None,
    cores_per_node: float | None = None,
    work: float | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, FittedProgram]:
    """Fit the scaling of every measured program.

    Parameters
    ----------
    runs : RunTable
        Measured bursts, from `qmodels.io.read_runs`.
    discrepancy : float, optional
        How far the true law may part from every law of the library outside the measured box:
        standard deviation of log T for one doubling, 0 to 1; independent from doubling to
        doubling, so that n of them give sqrt(n) times as much. By default it is learnt from the
        misfit of the runs, see `qmodels.programs.scaling.discrepancy`: about .07 where they are
        too few to tell, less where many runs with repeats bear a law out; it then grows faster than
        sqrt(n), and programs may collapse.
    cores_per_node : float, optional
        Processors of one node, at least 1, where the table does not say on how many nodes a run was:
        beyond it a program has terms of its own, for the network.
    work : float, optional
        Size of the problem that is asked for, where the table has a column of sizes; by default that of
        the runs on most processors. See `qmodels.programs.scaling.sizes`.
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
    p^-a, log2 p, sqrt p - 1, p - 1, log2(p)/p (collective steps), beyond one node [p > node],
    [p > node]/p and log2(p/node)/p, where parts of a node were run min(1, node/p) (what bends within a
    node is the node's own, and more nodes bring more of it), and for I/O on several numbers of disks also
    1/d, d^-a, 1/(pd), p/d, d - 1, 1/min(d, p/R) and its powers. Growth counts from the fewest processors
    of the runs, so that a table in nodes and one in cores have the same forecasts. USL and p/(1 + c(p - 1))
    are among them: A/p + B + C(p - 1).
    Every law is fitted by Gauss-Newton steps on the logarithm; no law is picked, they are
    averaged with their evidence [1]_, which is Gaussian in the coefficients given the noise
    sigma, with a prior 1/(share + .02) on the share of the measured times that a term takes
    (root mean square over the allotments), and restricted to positive coefficients by
    conditional sampling [2]_. Sigma is summed over a grid down to 1e-6, with one hierarchy for
    all bursts of a program; repeats tell it apart from misfit.

    What shows only outside the measured box is for the prior to say. It has odds of one to ten for each
    term that grows, which outweigh all else far outside and which few programs have unseen, and of three
    to one for a constant and for log2(p)/p, ten to one for what is a node's own and for the step beyond
    it where several parts of a node were run; all other families are as likely as each other. Runs count
    in proportion to their processors: what happens on few says less about many. On more processors than
    were run two simple laws have a say beside the average (`qmodels.programs.scaling.votes`) where all I/O
    was timed on one number of disks, whose laws are of processors alone as those of computation are,
    and intervals lie about what the three agree on. They add what programs part from every law by. The
    odds, the weights and the discrepancy were learnt from one half of the published tables that
    `tests/campaigns/measured_series.py` names; the other half checks them.

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
    if discrepancy is not None and (type(discrepancy) not in (int, float) or discrepancy != 0):
        discrepancy = positive("discrepancy", discrepancy, least=1e-12, most=1.0, why=" or 0")
    if cores_per_node is not None:
        cores_per_node = positive("cores_per_node", cores_per_node, least=1.0, most=1e9)
    if work is not None:
        work = positive("work", work, least=1e-18, most=1e18)
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
        str(name): _fit_program(str(name), part, discrepancy, cores_per_node, work, draws, seed)
        for name, part in frame.groupby("program", sort=False)
    }


def _fit_program(
    name: str,
    frame: pd.DataFrame,
    discrepancy: float | None,
    cores_per_node: float | None,
    work: float | None,
    draws: int,
    seed: int,
) -> FittedProgram:
    size = size_asked(name, frame, work)
    scale = _scale(frame, cores_per_node, sized=size is not None)
    parts: list[tuple[int, Component, Timed]] = []
    names = burst_names(frame)
    doubts = []
    for number in sorted(set(frame["phase"].tolist())):
        for kind in ("io", "cpu"):
            timed = frame[(frame["phase"] == number) & (frame["kind"] == kind)]
            if timed.empty and names:
                continue  # a phase by name may be a burst of one kind
            if timed.empty:
                doubts.append(f"phase {number} {kind}: never timed, taken as 0 s")
                continue
            p, d, y = (timed[column].to_numpy(float) for column in ("p", "d", "seconds"))
            of_work = None if size is None else timed[WORK].to_numpy(float)
            parts.append((number, kind, Timed(p, d, y, of_work)))
    one_level = frame.loc[frame["kind"] == "io", "d"].nunique() <= 1
    shown = {kind: library(kind, scale, one_level=one_level) for _, kind, _ in parts}
    cliffs = []
    timings = [one.pooled().by_processors() for _, _, one in parts]
    sized: list[Sized] = []
    if size is None:
        weighed = [weigh(shown[kind], runs) for (_, kind, _), runs in zip(parts, timings, strict=True)]
    else:
        sized = [
            weigh_sizes(shown[kind], runs, one.works(), size.work)
            for (_, kind, one), runs in zip(parts, timings, strict=True)
        ]
        weighed = [one.weighed for one in sized]
        # What is read from the runs beside the weighed laws is read as if all had been of the size asked for.
        timings = [
            replace(runs, log_time=runs.log_time + one.moved)
            for runs, one in zip(timings, sized, strict=True)
        ]
    # Phases by name are numbered in the order of the rows, which must not decide what is drawn.
    by_name = sorted(range(len(parts)), key=lambda i: names.get(parts[i][:2], ""))
    streams = [by_name.index(place) for place in range(len(parts))]
    settled_bursts = settled(weighed, timings, draws=draws, seed=seed, streams=streams)
    components = []
    for place, ((number, kind, one), posterior) in enumerate(zip(parts, settled_bursts, strict=True)):
        fitted = sized[place].fitted[one.place()] if sized else posterior.seconds(one.p, one.d)
        component = _component(number, kind, one, posterior, fitted, names.get((number, kind), ""))
        components.append(component)
        for doubt in component.design.doubts(posterior):
            doubts.append(f"{component.label}: {doubt}")
        p, d, y = one.at(None if size is None else size.work)
        if p.size:
            cliffs += [f"{component.label}: {text}." for text in steps(posterior, p, d, y)]
    totals = whole_runs(frame)
    if sized:
        fit_of_totals = fit_of_sizes(totals, [one for _, _, one in parts], sized)
    else:
        fit_of_totals = _fit_of(totals, components)
    margin = _margin(components, fit_of_totals, discrepancy, seed, _steady(frame, scale))
    here = frame
    if size is not None:
        here = frame[frame[WORK] == size.work]
        posteriors = widened([one.posterior for one in components], margin, size.doublings, seed)
        components = [replace(one, posterior=own) for one, own in zip(components, posteriors, strict=True)]
        size = size.learnt(sized)
    measured = measured_runs(here, [one.posterior for one in components], margin.misfit)
    return FittedProgram(
        name, tuple(components), tuple(doubts), margin, measured, seed, tuple(cliffs), scale.node, size
    )


def _scale(frame: pd.DataFrame, cores_per_node: float | None, *, sized: bool) -> Scale:
    """Return what processors of a program are counted in: its fewest, and those of a node if known."""
    node = math.inf if cores_per_node is None else cores_per_node
    if cores_per_node is None and "nodes" in frame:
        node = float((frame["p"] / frame["nodes"]).max())
    told = node < math.inf and not sized
    inside = frame["p"][frame["p"] <= node].nunique() > 1 if told else None
    return Scale(float(frame["p"].min()), node, inside)


def _steady(frame: pd.DataFrame, scale: Scale) -> float:
    """Return the doublings beyond the runs within which a program does not collapse."""
    return max(0.0, math.log2(STEADY_NODES * scale.node / frame["p"].max())) if scale.inside else 0.0


def _fit_of(whole: pd.DataFrame, components: list[FittedComponent]) -> tuple[Pooled, Array, Array] | None:
    """Return whole runs, the logarithm of the fit to each and its derivatives by the coefficients."""
    if whole.empty:
        return None
    totals = pooled(*(whole[name].to_numpy(float) for name in ("p", "d", "seconds")))
    times = np.sum([c.posterior.seconds(totals.p, totals.d) for c in components], axis=0)
    return totals, np.log(times), _tangent(components, totals, times)


def _margin(
    components: list[FittedComponent],
    fit: tuple[Pooled, Array, Array] | None,
    discrepancy: float | None,
    seed: int,
    steady: float,
) -> Margin:
    """Return what intervals add: noise of whole runs, and the discrepancy that their misfit shows."""
    totals, fitted, tangent = (None, np.zeros(1), np.zeros((1, 0))) if fit is None else fit
    shares = np.array([np.mean(c.posterior.seconds(c.design.p, c.design.d)) for c in components])
    noise = np.sum(
        [w * c.posterior.sigmas for w, c in zip(shares / shares.sum(), components, strict=True)],
        axis=0,
    )
    if totals is not None:
        noise = noise * _unweighted(totals, totals.log_time - fitted)
    # A key of its own: the posterior's streams are numbered by burst.
    rng = np.random.default_rng([seed, len(components), 1])
    return margin_of(totals, fitted, tangent, noise=noise, assumed=discrepancy, rng=rng, steady=steady)


def _unweighted(totals: Pooled, residual: Array) -> float:
    """Return how many times as much the runs scatter where all count alike as where the largest do most."""
    alike, weighted = (
        float(np.sum(timed.count * residual**2)) + totals.within for timed in (totals, totals.by_processors())
    )
    return max(1.0, math.sqrt(alike / weighted)) if weighted > 0.0 else 1.0


def _tangent(components: list[FittedComponent], totals: Pooled, times: Array) -> Array:
    """Derivatives of log T (allotments, k) by the coefficients of the most probable laws."""
    columns = [
        of_kind[0].posterior.library.values(totals.p, totals.d)[
            sorted({j for c in of_kind for j in c.posterior.laws[0].terms})
        ]
        / times
        for kind in ("io", "cpu")
        if (of_kind := [c for c in components if c.kind == kind])
    ]
    return np.concatenate(columns).T


def _component(
    phase: int, kind: Component, timed: Timed, posterior: Posterior, fitted: Array, name: str
) -> FittedComponent:
    cells = np.unique(np.stack([timed.p, timed.d]), axis=1)
    # what the runs leave open is said of disks, too, whose terms are not tried on a single number of them
    design = Design(library(kind, posterior.library.scale), cells[0], cells[1])
    residuals = np.log(timed.seconds) - np.log(fitted)
    return FittedComponent(
        phase=phase,
        kind=kind,
        formula=posterior.formula,
        probability=posterior.laws[0].probability,
        sigma=posterior.sigma,
        runs=int(timed.p.size),
        allotments=cells.shape[1],
        relative_rms=math.sqrt(float(np.mean(residuals**2))),
        alias_classes=design.alias_classes(),
        invisible=design.invisible(),
        posterior=posterior,
        design=design,
        name=name,
    )


def _whole(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise ModelError(f"{name} must be a whole number from {least} to {most}, got {value!r:.60}")
    return int(value)
