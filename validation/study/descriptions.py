"""What the figures of a report show, in words and numbers, for those who do not see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from phasefit import PhaseType
from qmodels.io.scenario import Scenario
from qmodels.io.scenario_reference import running_job
from qmodels.policies.models.base import MODELS
from qmodels.programs import SpeedupSurface
from qmodels.programs.model import parts
from qmodels.words import counted, in_words, plain_number
from validation.study.checks import Check
from validation.study.run import Study
from validation.study.trial import MeshTrial

#: How jobs get their turn at a disk, by its discipline.
_TURNS = {"ps": "by processor sharing", "fcfs": "in order of arrival", "siro": "in random order"}
_FAR = 1.5  #: ratio of two tails from which a reader is told of it

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def assumptions(study: Study) -> list[str]:
    """What the predictions and simulations of a study take for granted, a sentence each."""
    scenario = study.scenario
    arrangements = [policy.arrangement(scenario.system) for policy in scenario.policies]
    models = dict.fromkeys(p.prediction.model for p in study.points if p.prediction)
    said = [
        "Jobs wait in order of arrival. "
        + (
            "Times between arrivals depend on those before as the arrival process says, rescaled to each "
            "load; sizes are independent of them."
            if scenario.dependent
            else "Times between arrivals are independent, with the fitted law rescaled to each load."
        ),
        _jobs(scenario),
        f"Jobs that share a disk partition get their turn there {_TURNS[scenario.system.disk_discipline]}.",
        "What a running job is in the models that made these predictions: "
        + "; ".join(
            f"{running_job(name) if name in MODELS else 'a model of your own'} ({name})" for name in models
        )
        + ". Predictions that are not exact are marked approximate.",
        '"Exact" means exact for this model: no disk partition is shared, all programs of a mix gain alike '
        "from processors and disks and, under dynamic partitioning, so does every burst.",
    ]
    if any(each.multiprogramming > 1 for each in arrangements):
        said.append(
            "Under time sharing the computation bursts on the same processors take turns, and share them "
            "where a label says cpu=ps."
        )
    said.append(
        "Where the processors do not divide evenly, partitions are whole in the simulator and in the models "
        "places and crowded-speeds, and of their mean size in the others."
    )
    if any(each.repartitioned and not each.overheads for each in arrangements):
        said.append("Dividing the processors anew takes no time where no overhead is given.")
    if study.checks:
        said.append(
            f"A 95 % interval misses the true value one time in twenty, so a few of "
            f"{counted(len(study.checks), 'check')} may disagree by chance."
        )
    return said


def _jobs(scenario: Scenario) -> str:
    """What a job asks for, by its programs and the laws of its demand."""
    if scenario.burst_laws is not None:
        return (
            "Each burst of a job is its mean in the program times a factor of its own, by the laws of bursts."
        )
    factor = "Every burst of a job is multiplied by the demand of that job."
    if len(parts(scenario.program)) == 1:
        return factor
    if scenario.mix == "each":
        return f"A job is one of the programs, drawn by their weights. {factor}"
    return (
        "All programs enter through their weighted mean computation and I/O on each allotment. How jobs "
        f"differ is described by the demand law alone. {factor}"
    )


def lowest_curves(curves: Curves, what: str) -> str:
    """Which of some response curves lies lowest at a light, a medium and a heavy load.

    Examples
    --------
    >>> lowest_curves({"A": ([0.1, 0.5], [2.0, 9.0]), "B": ([0.1, 0.5], [3.0, 4.0])}, "Two.")
    'Two. Lowest is at load 0.1 A with 2 s, at load 0.5 B with 4 s. Curves end at: A 0.5, B 0.5.'
    """
    drawn = {label: dict(zip(*curve, strict=True)) for label, curve in curves.items()}
    shared: dict[float, dict[str, float]] = {}
    for label, curve in drawn.items():
        for load, time in curve.items():
            shared.setdefault(load, {})[label] = time
    # a load at which all are drawn that still have a steady state
    loads = sorted(
        load
        for load, times in shared.items()
        if len(times) == sum(max(curve, default=0.0) >= load for curve in drawn.values())
    )
    if not loads:
        return f"{what} No curve can be drawn: every policy is saturated."
    chosen = dict.fromkeys((loads[0], loads[len(loads) // 2], loads[-1]))
    said = []
    for load in chosen:
        label = min(shared[load], key=shared[load].__getitem__)
        said.append(f"at load {load:.2g} {label} with {in_words(shared[load][label])}")
    ends = [f"{label} {max(curve):.2g}" for label, curve in drawn.items() if curve]
    return f"{what} Lowest is {', '.join(said)}. Curves end at: {', '.join(ends)}."


def surface_words(surface: SpeedupSurface) -> str:
    """Corners and top of a speedup surface."""
    p, d, speedup = surface.processors, surface.disks, surface.speedup
    best = surface.best()
    corners = [(0, 0), (-1, 0), (0, -1), (-1, -1)]
    said = dict.fromkeys(
        f"{speedup[i, j]:.3g} on {counted(p[i], 'processor')} and {counted(d[j], 'disk')}" for i, j in corners
    )
    least = plain_number(float(speedup.min()), 3)
    return (
        f"Speedup of {least} to {best.value:.3g}: {'; '.join(said)}. Largest on "
        f"{counted(best.processors, 'processor')} and {counted(best.disks, 'disk')}."
    )


def tail_words(name: str, sample: np.ndarray, law: PhaseType) -> str:
    """Where the tails of a log and of the law fitted to it lie."""
    if not sample.size:
        return f"Nothing to draw of the {name}: the log has no positive value."
    law = law.scale(float(sample.mean()) / law.mean)
    said = [
        f"half are above {plain_number(float(np.quantile(sample, 0.5)), 3)} in the log and "
        f"{plain_number(float(law.ppf(0.5)), 3)} by the law",
        f"one in a hundred above {plain_number(float(np.quantile(sample, 0.99)), 3)} and "
        f"{plain_number(float(law.ppf(0.99)), 3)}",
    ]
    return f"Tails of the {name}, the log's and the fitted law's: {', '.join(said)}."


def tail_doubt(name: str, sample: np.ndarray, law: PhaseType) -> str:
    """A sentence where one in a hundred is half as long again, or as short, by the fitted law."""
    if not sample.size:
        return ""
    there = float(np.quantile(sample, 0.99))
    fitted = float(law.scale(float(sample.mean()) / law.mean).ppf(0.99))
    if not there > 0 or 1.0 / _FAR < fitted / there < _FAR:
        return ""
    wrong = "long" if fitted > there else "short"
    return (
        f"Of the {name}, one in a hundred is above {plain_number(there, 3)} in the log and above "
        f"{plain_number(fitted, 3)} by the fitted law, so that the longest are too {wrong} in the "
        f"model, and high percentiles of the response may be, too."
    )


def agreement_words(checks: Sequence[Check]) -> str:
    """The smallest and the largest gap between simulation and prediction, and what is covered."""
    ratios = [
        c.agreement.simulation.mean_response.mean / c.agreement.prediction.mean_response for c in checks
    ]
    low, high = (int(f(ratios)) for f in (np.argmin, np.argmax))
    covered = sum(c.agreement.covered for c in checks)
    return (
        f"Simulated over predicted mean response time of {len(checks)} checks, with 95 % "
        f"intervals: from {_ratio(ratios, checks, low)} to {_ratio(ratios, checks, high)}. "
        f"{covered} of {len(checks)} intervals hold 1, perfect agreement."
    )


def trial_words(trial: MeshTrial) -> str:
    """The bars and lines of the way from the model to the mesh."""
    bars = [
        f"{row['stage']} {in_words(row['mean_response_s'])}"
        for row in trial.to_frame().to_dict("records")
        if np.isfinite(row["mean_response_s"])
    ]
    return (
        f"Mean response time of {trial.policy.label} from the model's assumptions to the mesh: "
        f"{', '.join(bars)}."
    )


def answer_words(study: Study, curves: Curves) -> str:
    """Which of the policies that the findings name answers soonest, and who ties."""
    said = lowest_curves(curves, "Mean response time against load, with bands of stated errors.")
    ties = [
        f"{load:.2g}"
        for load in study.loads
        if any(row.status == "tie" for row in study.recommendation(load).rows)
    ]
    return f"{said} Within the errors policies tie at loads {', '.join(ties)}." if ties else said


def _ratio(ratios: Sequence[float], checks: Sequence[Check], place: int) -> str:
    check = checks[place]
    return f"{ratios[place]:.3g} ({check.policy.label} at {check.fraction:.0%} of its capacity)"
