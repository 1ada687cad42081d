"""The trial as a campaign: which cells of the grid are run, and what the rows say of the models.

The grid of the specification has 75 cells of eight strategies and three loads: "trial-grid-8x8" and
the same of the two larger machines, hours of a processor (on 16x22, where d-DBT is not defined, of
seven strategies). "trial" are all 25 cells of 8x8 at two loads, one of them by all strategies, and
of the larger machines a cell of each kind of policy at one load; `not_run` says what it leaves out,
which was chosen by what it costs. A quarter of the cells, drawn by their names
(`validation.papers.trial.comparison.kept_out`), is reported apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qmodels.policies import DynamicPartitioning, SpaceSharing, TimeSharing
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, Verdict, whether
from validation.papers.trial import plotting
from validation.papers.trial.comparison import (
    COVERAGE,
    MEDIAN,
    NINE_TENTHS,
    TAU,
    WORST,
    acceptance,
    compare_predictions,
    kept_out,
)
from validation.papers.trial.grid import LOADS as GRID_LOADS
from validation.papers.trial.grid import PLACES, STRATEGIES, cells, strategies_on
from validation.trial.scenario import Cell

if TYPE_CHECKING:
    import pandas as pd

#: Strategies that differ most: contiguous, scattered in order, and scattered at random.
THREE: Final = ("MC", "Paging", "Random")
TWO: Final = ("MC", "Random")
LOADS: Final = (0.6, 0.8)
#: What a row of the comparison keeps on record; seconds are no result.
_LEFT_OUT: Final = (
    "values",
    "seconds_simulation",
    "seconds_loss_run",
    "seconds_prediction",
    "seconds_link_loads",
)


@dataclass(frozen=True)
class Effort:
    """How much is simulated for a cell."""

    replications: int = 8
    jobs: int = 120
    warm_up: int = 40
    starts: int = 8
    loss_jobs: int | None = None  #: None: 30 for each number of running jobs, at least 120
    most: int = 1  #: times as much where the order of strategies stays open


@dataclass(frozen=True)
class Part:
    """A cell of the campaign."""

    cell: Cell
    strategies: tuple[str, ...] = THREE
    loads: tuple[float, ...] = LOADS
    effort: Effort = Effort()


_FOUR: Final = SpaceSharing(4, 1)
#: Policies of the larger machines: one of each kind.
_LARGE: Final = ("SP(4,1)", "DP(1)", "TS(2,2;M=2)")
_FEWER: Final = Effort(jobs=80, warm_up=30)
#: Cells of 8x8 of which eight replications left a row known to no better than 12 %, which is the
#: bound on the worst error: four times as many. The rule looks at no error.
_NOISY: Final = (("SP(8,2)", 0.5), ("DP(2)", 2.0), ("DP(2)", 0.5), ("TS(2,2;M=2)", 0.5))
_MORE: Final = Effort(replications=32)
#: The cell that all strategies run, whose order is judged.
_ORDERED: Final = Effort(most=4)
#: Rows of the grid have the 600 jobs of the specification where four run at most, those before and
#: after included, of which the last need not leave; a loss run of 480 for a strategy serves all its
#: loads.
_GRID: Final = Effort(replications=5, jobs=60, warm_up=20, starts=4)


def campaign_parts() -> list[Part]:
    """The cells that are run, in the order in which they are."""
    middle, others = [], []
    for cell in cells([(8, 8)]):
        effort = _MORE if _kind(cell) in _NOISY else Effort()
        if not _is_middle(cell):
            others.append(Part(cell, TWO, effort=effort))
        elif cell.policy == _FOUR:
            middle.append(Part(cell, STRATEGIES, effort=_ORDERED))
        else:
            middle.append(Part(cell, THREE, effort=effort))
    large = [
        Part(cell, TWO, (0.6,), _FEWER)
        for cell in cells(PLACES[1:])
        if _is_middle(cell) and cell.policy.label in _LARGE
    ]
    return [*middle, *large, *others]


def _kind(cell: Cell) -> tuple[str, float]:
    """Policy and ratio of computation to I/O of a cell."""
    return cell.policy.label, round(cell.cpu_to_io, 9)


def _is_middle(cell: Cell) -> bool:
    """True for cells that compute twice as long as they transfer."""
    return _kind(cell)[1] == 2.0


def grid_parts(place: tuple[int, int]) -> list[Part]:
    """Every cell of a machine by all its strategies at every load, one loss run for all loads."""
    return [Part(cell, strategies_on(*place), GRID_LOADS, _GRID) for cell in cells([place])]


def quick_parts() -> list[Part]:
    """A small machine under each policy, for a test."""
    cell = Cell.of(rows=4, columns=4, policy=_FOUR, strategy="MC", cpu_to_io=2.0, io_flits=4096.0)
    few = Effort(replications=4, jobs=12, warm_up=4, starts=3, loss_jobs=40)
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"policy": DynamicPartitioning(1), "min_processors": 4},
        {"policy": TimeSharing(2, 1)},
    )
    return [Part(cell.with_options(**kind), TWO, (0.6,), few) for kind in kinds]


def grid_names() -> list[str]:
    """Names of all cells of the grid, each without its strategies."""
    return [cell.name for cell in cells()]


def not_run() -> list[str]:
    """Cells of the grid that the campaign leaves out."""
    done = {part.cell.name for part in campaign_parts()}
    return [name for name in grid_names() if name not in done]


def run_trial(options: RunOptions, *, place: tuple[int, int] | None = None) -> Outcome:
    """Run the cells, or the grid of a machine, and judge predictions by the specification."""
    import pandas as pd

    parts = campaign_parts() if place is None else grid_parts(place)
    if options.quick:
        parts = quick_parts()
    frames = []
    for done, part in enumerate(parts):
        options.progress("cells", done, len(parts))
        effort, most = part.effort, part.cell.most_running
        frames.append(
            compare_predictions(
                part.cell,
                part.strategies,
                part.loads,
                replications=effort.replications,
                jobs=effort.jobs,
                warm_up=effort.warm_up,
                starts=effort.starts,
                loss_jobs=effort.loss_jobs or max(120, 30 * most),
                most=effort.most,
                seed=options.seed,
                **options.by_processes,
            )
        )
    options.progress("cells", len(parts), len(parts))
    rows = pd.concat(frames, ignore_index=True)
    rows["kept_out"] = kept_out(rows["cell"].tolist())
    table = rows.drop(columns=list(_LEFT_OUT))
    return Outcome(table, tuple(findings(rows)), partial(plotting.error_panels, table))


def findings(rows: pd.DataFrame) -> list[Finding]:
    """What the specification asks of corrected predictions, by policy and on the cells kept out."""
    kind = rows["policy"].str.slice(0, 2)
    found = []
    for claim, name, some in (
        ("T-4", "SP", rows[kind == "SP"]),
        ("T-8", "TS", rows[kind == "TS"]),
        ("T-9", "DP", rows[kind == "DP"]),
        ("T-14", "all policies, cells kept out", rows[rows["kept_out"]]),
    ):
        if len(some):
            found += _errors(claim, name, some)
    found += _orders(rows)
    plain = rows["error_uncorrected"].abs()
    stable = plain[np.isfinite(plain)]
    found.append(
        Finding(
            "T-10",
            "uncorrected predictions are worse than corrected ones",
            whether(float(plain.median()) > float(rows["error"].abs().median())),
            f"medians {plain.median():.1%} and {rows['error'].abs().median():.1%}, worst "
            f"{stable.max():.0%}, no steady state in {len(plain) - len(stable)} of {len(plain)}",
        )
    )
    return found


def _errors(claim: str, name: str, rows: pd.DataFrame) -> list[Finding]:
    """Bounds on the errors of some rows, and how often their intervals cover."""
    judged = acceptance(rows)
    # What of an error is not the simulation's noise decides whether a bound fails.
    sure = (rows["error"].abs() - rows["half_width"]).clip(lower=0.0)
    least = {
        "median": float(sure.median()),
        "nine_tenths": float(sure.quantile(0.9)),
        "worst": float(sure.max()),
    }
    found = []
    for key, words, bound in (
        ("median", "the median error is at most", MEDIAN),
        ("nine_tenths", "nine tenths of the errors are at most", NINE_TENTHS),
        ("worst", "no error is beyond", WORST),
    ):
        found.append(
            Finding(
                claim,
                f"corrected, {name}: {words} {bound:.0%}",
                bounded(judged[key], least[key], bound),
                f"{judged[key]:.1%} of {len(rows)} rows, {least[key]:.1%} beyond the noise of the simulation",
            )
        )
    hits, count = int(rows["covers"].sum()), len(rows)
    # A mean that the simulation knows no better may be covered or not.
    reach = rows["half_width"] + rows["corrected_half_width"]
    missed = int((rows["error"].abs() > reach).sum())
    found.append(
        Finding(
            "T-5" if claim == "T-4" else claim,
            f"corrected, {name}: the interval covers the simulated mean in at least "
            f"{COVERAGE:.0%} of the rows",
            bounded(1.0 - hits / count, missed / count, 1.0 - COVERAGE),
            f"{hits} of {count}, {missed} surely not",
        )
    )
    return found


def bounded(found: float, sure: float, bound: float) -> Verdict:
    """Whether a figure keeps to a bound; undecided where only noise takes it beyond.

    Examples
    --------
    >>> bounded(0.01, 0.0, 0.02), bounded(0.05, 0.0, 0.02), bounded(0.05, 0.03, 0.02)
    ('holds', 'undecided', 'fails')
    """
    if found <= bound:
        return "holds"
    return "fails" if sure > bound else "undecided"


def _orders(rows: pd.DataFrame) -> list[Finding]:
    judged = acceptance(rows)
    ordered, separable = int(judged["ordered"]), int(judged["separable"])
    return [
        Finding(
            "T-6",
            "every pair of strategies that can be told apart is in the right order",
            "undecided" if separable == 0 else whether(ordered == separable),
            f"{ordered} of {separable} pairs",
        ),
        Finding(
            "T-7",
            f"the mean rank correlation (tau) is at least {TAU:g}",
            bounded(-judged["tau"], -judged["tau_most"], -TAU),
            f"{judged['tau']:.2f}; {judged['tau_least']:.2f} to {judged['tau_most']:.2f} by how "
            f"{judged['unknown']:.0f} of {judged['pairs']:.0f} pairs are ordered of which the "
            f"simulation does not say which is the faster",
        ),
        Finding(
            "T-7",
            f"tau of the pairs of which the simulation says it is at least {TAU:g}",
            "undecided" if np.isnan(judged["tau_known"]) else whether(judged["tau_known"] >= TAU),
            f"{judged['tau_known']:.2f} of {judged['pairs'] - judged['unknown']:.0f} pairs",
        ),
    ]


EXPERIMENT: Final = Experiment(
    name="trial",
    source="no paper: the specification of the trial, sections 4 and 5",
    claim="speeds measured on the mesh by a loss run make the models' response times right",
    run=run_trial,
)
GRIDS: Final = tuple(
    Experiment(
        name=f"trial-grid-{rows}x{columns}",
        source="no paper: the specification of the trial, section 4, all of its grid",
        claim=f"the same of 25 cells of {rows}x{columns}, all its strategies and three loads",
        run=partial(run_trial, place=(rows, columns)),
    )
    for rows, columns in PLACES
)
