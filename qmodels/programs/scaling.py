"""Learn how a program scales from a few measured runs, burst by burst."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import ModelError
from qmodels.programs.laws import OverDisks, OverFedDisks, OverProcessors, ScalingLaw
from qmodels.programs.model import Program
from qmodels.programs.phases import Burst, Component, Phase

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

#: R of ``min(d, p/R)`` tried in a fit: half powers of two from 1/4 to 64 processors per disk.
PROCESSORS_PER_DISK = tuple(2.0 ** (k / 2) for k in range(-4, 13))

_EXACT = 1e-9  # relative residuals below this are rounding: they do not rank models
_NEGLIGIBLE = 1e-9  # largest share of a term in any run, below which it is dropped
_ROUNDS = 8  # of reweighting; each gains about a digit at 10 % noise


class MeasuredRuns(Protocol):
    """What a fit needs of `qmodels.io.runs.RunTable`."""

    @property
    def frame(self) -> pd.DataFrame:
        """Columns program, phase, kind, p, d, seconds."""


@dataclass(frozen=True, eq=False)
class FittedComponent:
    """The form found for one burst: constant + scaling / h(p, d) + growth (p - 1), in seconds."""

    phase: int
    kind: Component
    law: ScalingLaw  #: h(p, d)
    coefficients: Mapping[str, float]  #: constant, scaling, growth; those not used are absent
    standard_errors: Mapping[str, float]  #: given the form; inf when no run is left to tell
    runs: int
    allotments: int  #: distinct (p, d) among the runs
    relative_rms: float  #: root mean square of (measured - fitted) / fitted

    @property
    def formula(self) -> str:
        """The form as text, seconds."""
        shapes = {
            "constant": "{:.4g}",
            "scaling": "{:.4g}/" + str(self.law),
            "growth": "{:.4g}*(p-1)",
        }
        return " + ".join(shapes[name].format(x) for name, x in self.coefficients.items())

    def burst(self) -> Burst:
        """Return the burst that takes these times."""
        fixed, scaling, growth = (
            self.coefficients.get(name, 0.0) for name in ("constant", "scaling", "growth")
        )
        one = np.asarray(1.0)
        return Burst(
            fixed + scaling / float(self.law(one, one)),
            sequential=fixed,
            law=self.law,
            per_processor=growth,
        )


@dataclass(frozen=True, eq=False)
class FittedProgram:
    """A program learnt from runs, and how far the runs can be trusted to tell.

    Parameters
    ----------
    program : Program
        One burst per fitted component; a component that was never timed takes no time.
    components : tuple of FittedComponent
        By phase, I/O first.
    unidentified : tuple of str
        What this choice of runs cannot tell, a sentence each.
    """

    program: Program
    components: tuple[FittedComponent, ...]
    unidentified: tuple[str, ...]
    method: str = "approximate"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per component: formula, runs, allotments, relative rms residual."""
        import pandas as pd

        return pd.DataFrame(
            [
                (c.phase, c.kind, c.formula, c.runs, c.allotments, c.relative_rms)
                for c in self.components
            ],
            columns=["phase", "kind", "formula", "runs", "allotments", "relative_rms"],
        )

    def table(self) -> str:
        """Return the components as text, and below them what the runs cannot tell."""
        lines = [
            f"phase {c.phase} {c.kind}: {c.formula} s; residual {100 * c.relative_rms:.2g} % "
            f"over {c.runs} runs on {c.allotments} allotments"
            for c in self.components
        ]
        return "\n".join([*lines, *self.unidentified])


def fit_runs(runs: MeasuredRuns) -> dict[str, FittedProgram]:
    """Fit the scaling of every measured program.

    Parameters
    ----------
    runs : RunTable
        Measured bursts, from `qmodels.io.read_runs`.

    Returns
    -------
    fitted : dict of str to FittedProgram
        By name, in the order of the table.

    Raises
    ------
    ModelError
        If `runs` is no table of runs.

    Notes
    -----
    Computation a + b/p + c (p - 1) and I/O a + b/d or a + b/min(d, p/R), with coefficients
    >= 0, R on `PROCESSORS_PER_DISK`, and any term left out that does not pay. Residuals are
    relative to the fitted time, so a seconds-long run counts as much as an hour-long one: the
    weights 1/fitted are iterated, each step a non-negative least squares problem [1]_. The
    form is chosen by Schwarz's criterion, n log(mean squared residual) + k log n [2]_, where R
    counts as one of the k parameters. Repeated runs enter each by itself, which is the same
    as their average with the weight of their number.

    Of forms that the runs cannot tell apart the first in this order is taken: constant, then
    a + b/p or a + b/d, then R from small to large; so what was never varied is taken not to
    help. `unidentified` says where that happened. The standard errors know nothing of the
    choice of form.

    References
    ----------
    .. [1] C. L. Lawson, R. J. Hanson, *Solving Least Squares Problems*, Prentice-Hall 1974,
       ch. 23.
    .. [2] G. Schwarz, "Estimating the dimension of a model", *Ann. Statist.* 6 (1978) 461-464.

    Examples
    --------
    >>> import pandas as pd
    >>> from qmodels.io.runs import RunTable
    >>> grid = [(p, d) for p in (1, 2, 4, 8) for d in (1, 2)]
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
    return {
        str(name): _fit_program(str(name), part)
        for name, part in frame.groupby("program", sort=False)
    }


def _fit_program(name: str, frame: pd.DataFrame) -> FittedProgram:
    components, doubts, phases = [], [], []
    for number in sorted(set(frame["phase"].tolist())):
        part = frame[frame["phase"] == number]
        bursts: dict[Component, Burst | float] = {"io": 0.0, "cpu": 0.0}
        for kind in ("io", "cpu"):
            timed = part[part["kind"] == kind]
            if timed.empty:
                doubts.append(f"phase {number} {kind}: never timed, taken as 0 s")
                continue
            p, d, y = (timed[column].to_numpy(float) for column in ("p", "d", "seconds"))
            component = _fit_component(number, kind, p, d, y)
            components.append(component)
            bursts[kind] = component.burst()
            doubts += [f"phase {number} {kind}: {text}" for text in _doubts(component, p, d)]
        phases.append(Phase(io=bursts["io"], cpu=bursts["cpu"]))
    return FittedProgram(Program(phases, name), tuple(components), tuple(doubts))


@dataclass(frozen=True, eq=False)
class _Fit:
    names: tuple[str, ...]
    law: ScalingLaw
    coefficients: Array
    relative_columns: Array  # columns over fitted times
    residual: float  # mean squared relative residual
    parameters: int


def _fit_component(phase: int, kind: Component, p: Array, d: Array, y: Array) -> FittedComponent:
    """Return the form of least criterion; among equals the first, as `_forms` orders them."""
    allotments = len(np.unique(np.stack([p, d]), axis=1).T)
    best, least = None, math.inf
    for law, names in _forms(kind):
        columns = _columns(law, names, p, d)
        if len(names) > 1 and not _independent(columns):
            continue
        fit = _fit_form(law, names, columns, y)
        if best is not None and fit.parameters >= allotments:
            continue
        criterion = y.size * math.log(max(fit.residual, _EXACT**2))
        criterion += fit.parameters * math.log(y.size)
        if criterion < least - 1e-6:
            best, least = fit, criterion
    assert best is not None
    used = best.coefficients > 0
    kept = [name for name, one in zip(best.names, used, strict=True) if one]
    errors = _standard_errors(best.relative_columns[:, used], best.residual)
    return FittedComponent(
        phase,
        kind,
        best.law,
        MappingProxyType(dict(zip(kept, best.coefficients[used].tolist(), strict=True))),
        MappingProxyType(dict(zip(kept, errors, strict=True))),
        runs=int(y.size),
        allotments=allotments,
        relative_rms=math.sqrt(best.residual),
    )


def _forms(kind: Component) -> Iterator[tuple[ScalingLaw, tuple[str, ...]]]:
    """Forms to try, in order: the first of those that the runs cannot tell apart is taken."""
    law: ScalingLaw = OverProcessors() if kind == "cpu" else OverDisks()
    yield law, ("constant",)
    yield law, ("scaling",)
    yield law, ("constant", "scaling")
    if kind == "cpu":
        yield law, ("constant", "growth")
        yield law, ("scaling", "growth")
        yield law, ("constant", "scaling", "growth")
        return
    for r in PROCESSORS_PER_DISK:
        yield OverFedDisks(r), ("scaling",)
        yield OverFedDisks(r), ("constant", "scaling")


def _columns(law: ScalingLaw, names: Sequence[str], p: Array, d: Array) -> Array:
    made = {"constant": np.ones(p.size), "scaling": 1.0 / law(p, d), "growth": p - 1.0}
    return np.stack([made[name] for name in names], axis=1)


def _independent(columns: Array) -> bool:
    norms = np.linalg.norm(columns, axis=0)
    if np.any(norms == 0):
        return False
    return bool(np.linalg.cond(columns / norms) < 1e8)


def _fit_form(law: ScalingLaw, names: tuple[str, ...], columns: Array, y: Array) -> _Fit:
    from scipy.optimize import nnls

    fitted = y
    for _ in range(_ROUNDS):
        # A form may predict 0 s on one processor before it is given up; it must not divide.
        weights = 1.0 / np.maximum(fitted, 1e-3 * y)
        relative = columns * weights[:, None]
        sizes = np.linalg.norm(relative, axis=0)
        coefficients = nnls(relative / sizes, y * weights)[0] / sizes
        shares = (coefficients * relative).max(axis=0)
        coefficients = np.where(shares > _NEGLIGIBLE, coefficients, 0.0)
        fitted = columns @ coefficients
    weights = 1.0 / np.maximum(fitted, 1e-3 * y)
    residual = float(np.mean(((y - fitted) * weights) ** 2))
    parameters = int(np.count_nonzero(coefficients)) + isinstance(law, OverFedDisks)
    return _Fit(names, law, coefficients, columns * weights[:, None], residual, parameters)


def _standard_errors(relative: Array, residual: float) -> list[float]:
    n, k = relative.shape
    if n <= k:
        return [math.inf] * k
    sizes = np.linalg.norm(relative, axis=0)
    covariance = np.linalg.inv((relative / sizes).T @ (relative / sizes))
    errors = np.sqrt(np.diag(covariance) * residual * n / (n - k)) / sizes
    return [float(x) for x in errors]


def _doubts(found: FittedComponent, p: Array, d: Array) -> Iterator[str]:
    """Say what the runs of one component leave open."""
    used: dict[str, Any] = {"p": np.unique(p), "d": np.unique(d)}
    units = {"p": "processors", "d": "disks"}
    watched = ("p",) if found.kind == "cpu" else ("d", "p")
    for factor in watched:
        levels = used[factor]
        if levels.size == 1:
            yield (
                f"every run has {factor} = {levels[0]:g}, so what more {units[factor]} do cannot "
                f"be told; add runs with another {factor}"
            )
        elif levels.size == 2:
            yield (
                f"only {factor} = {levels[0]:g} and {levels[1]:g} were run, so the shape over "
                f"{units[factor]} is assumed, not seen; add a third {factor}"
            )
    if found.kind == "cpu" or min(used["p"].size, used["d"].size) == 1:
        return
    ratios = p / d
    if ratios.max() <= ratios.min() * (1 + 1e-12):
        yield (
            f"p/d = {ratios[0]:g} in every run, so processors and disks cannot be told apart; "
            f"vary one of them alone"
        )
    elif isinstance(found.law, OverFedDisks):
        if np.all(p <= found.law.processors_per_disk * d):
            yield (
                f"the disks never were the limit, so R = {found.law.processors_per_disk:g} is "
                f"the least that fits; add runs with p/d above {ratios.max():g}"
            )
    elif "scaling" in found.coefficients:
        yield (
            f"the processors never were the limit down to p/d = {ratios.min():g}; with fewer "
            f"processors per disk the time may be longer"
        )
