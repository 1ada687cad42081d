"""A grid as one page with sliders: what is usual to vary, and how the numbers are packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, Final

import numpy as np

from qmodels.errors import ModelError
from qmodels.io.scenario import Scenario
from qmodels.pages.what_if import MOST_CHARACTERS, GridAxis, GridPolicy, PageGrid
from qmodels.pages.what_if import what_if_page as page_of
from qmodels.policies import AbstractPolicy, System
from qmodels.policies.choice.ranking import TIE
from validation.study.what_if.axes import LOAD, POLICY, SHORT, axes_of, loads_of
from validation.study.what_if.cells import Cell, Curve
from validation.study.what_if.grid import ENDS, WhatIf

#: What a page shows where nothing else is asked for. A third of a minute to a minute of computing.
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3)
_SIZES: Final = (0.5, 1.0, 2.0)
_SCVS: Final = (1.0, 4.0)
#: Jobs at a time of a policy on a page, unless policies are named: the time grows with their cube.
MOST_JOBS: Final = 16
#: Two values this near, relatively, are not both worth a place on a slider.
_NEAR: Final = 0.2


def page_axes(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """What is asked for, and usual values of what is not.

    These are half and twice the processors and disks, demands of scv 1 and 4, ten loads from .1 to
    1.3, and those of the scenario's policies that run at most 16 jobs at a time.
    """
    found = dict(over)
    given = {axis.key for axis in axes_of(scenario, over)}
    system = scenario.system
    for name, own, least in (
        ("processors", system.processors, system.min_processors),
        ("disks", system.disks, system.min_disks),
    ):
        if SHORT[name] not in given:
            found[name] = sorted({max(round(own * size), least) for size in _SIZES})
    if "demand.scv" not in given and scenario.burst_laws is None:
        variable = float(scenario.demand.scv)
        found["scv"] = [scv for scv in _SCVS if abs(scv - variable) > _NEAR * scv] or [variable]
    found.setdefault(LOAD, LOADS)
    if POLICY not in found:
        kept = [p.label for p in scenario.policies if _jobs(p, system) <= MOST_JOBS]
        found[POLICY] = kept or [policy.label for policy in scenario.policies]
    return found


def check_size(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> None:
    """Refuse a grid whose page would be too large, before it is computed.

    Raises
    ------
    ModelError
        If its numbers alone would take more characters than a page may have.
    """
    curves = len(over[POLICY])
    for axis in axes_of(scenario, over):
        curves *= len(axis.values)
    points = curves * (len(loads_of(scenario, over)) + len(ENDS))
    # five bytes for each point and four for each curve, four characters for three bytes
    characters = (5 * points + 4 * curves) * 4 / 3
    if characters > MOST_CHARACTERS:
        raise ModelError(
            f"{points:,} points, which would make a page of {characters / 1e6:.1f} million "
            f"characters; at most {MOST_CHARACTERS / 1e6:.0f}: give fewer values or policies"
        )


def _jobs(policy: AbstractPolicy, system: System) -> int:
    return policy.arrangement(system).max_running


def what_if_page(found: WhatIf) -> str:
    """Make one page of a grid, with sliders, that needs no network; see `qmodels.pages.what_if`.

    Parameters
    ----------
    found : WhatIf
        From `what_if`; over at least one axis or load.

    Returns
    -------
    page : str
        HTML. Without scripts it shows the best policies of today's machine.

    Raises
    ------
    ModelError
        If no point has an answer, or the page would be too large.
    """
    policies = sorted(
        {c.policy.label: c.policy for m in found.machines for c in m.curves}.values(),
        key=lambda policy: policy.simplicity,
    )
    if not policies or not found.predictions:
        raise ModelError("no point of the grid has an answer; give lower loads or other policies")
    place = {policy.label: p for p, policy in enumerate(policies)}
    shape = len(found.machines), len(policies), len(found.loads) + len(ENDS)
    values, errors = np.full(shape, nan), np.full(shape, nan)
    capacity, misfits = np.full(shape[:2], nan), np.zeros(shape[:2], dtype=bool)
    for m, machine in enumerate(found.machines):
        for label in machine.misfits:
            if label in place:
                misfits[m, place[label]] = True
        for curve in machine.curves:
            p = place[curve.policy.label]
            values[m, p], errors[m, p] = _numbers(curve)
            capacity[m, p] = curve.capacity / found.bound
    axes = [_axis(found, place) for place in range(len(found.axes))]
    counted = [i for i, axis in enumerate(axes) if axis.counted]
    others = [i for i, axis in enumerate(axes) if not axis.counted]
    shown = (counted + others)[:2] if len(axes) > 1 else []
    return page_of(
        PageGrid(
            title=found.scenario.title,
            objective=found.objective.label,
            unit=found.objective.unit,
            axes=axes,
            loads=np.array(found.loads),
            start=_start(found),
            ends=ENDS,
            policies=[
                GridPolicy(p.label, p.name, _words(p, found.scenario.system)) for p in policies
            ],
            values=values,
            errors=errors,
            capacity=capacity,
            misfits=misfits,
            refused={m: x.refused for m, x in enumerate(found.machines) if x.refused},
            machine_axes=shown,
            other_axis=others[0] if others else counted[0] if counted else None,
            notes=_notes(found, [policy.label for policy in policies]),
            table=_table(found),
        )
    )


def _numbers(curve: Curve) -> tuple[list[float], list[float]]:
    rows = (*curve.rows, *curve.ends)
    return [row.value for row in rows], [row.error for row in rows]


def _words(policy: AbstractPolicy, system: System) -> str:
    try:
        policy.check(system)
    except ModelError:
        return "not on today's machine: it has too few processors or disks for it"
    return policy.in_words(system)


def _axis(found: WhatIf, place: int) -> GridAxis:
    axis = found.axes[place]
    words = {"scv": "variability of the demand (scv)"}.get(axis.name, axis.name)
    counted = axis.name in ("processors", "disks") or axis.name in found.prices
    return GridAxis(
        axis.name, words, axis.values, axis.today or 0, counted, found.prices.get(axis.name, 1.0)
    )


def _start(found: WhatIf) -> float:
    """The load shown first: the middle one of those that today's machine answers."""
    able = [cell.load for cell in _today(found) if cell.best is not None]
    return able[len(able) // 2] if able else found.loads[0]


def _today(found: WhatIf) -> list[Cell]:
    whole = {axis.name: axis.values[axis.today or 0] for axis in found.axes}
    return [found.cell(load, **whole) for load in found.loads]


def _notes(found: WhatIf, labels: Sequence[str]) -> list[str]:
    scenario = found.scenario
    notes = [*found.remarks]
    notes.append(
        f"{found.predictions:,} predictions, none simulated. Load 1 is {found.bound:.4g} jobs/s, "
        f"the ceiling of today's machine ({scenario.system.processors} processors, "
        f"{scenario.system.disks} disks); all machines meet the same jobs. Between two predicted "
        f"loads values are interpolated, and it is said how far they may be off."
    )
    left = [policy.label for policy in scenario.policies if policy.label not in labels]
    if left:
        notes.append(
            f"Not on this page, though one of them may be the best: {', '.join(left)} (by default "
            f"policies of more than {MOST_JOBS} jobs at a time, which take long; --over policy=... "
            f"names those wanted)."
        )
    return notes


def _table(found: WhatIf) -> list[list[str]]:
    unit = f" [{found.objective.unit}]" if found.objective.unit else ""
    rows = [["load", "best policy", f"{found.objective.label}{unit}", "error", "as good"]]
    for cell in _today(found):
        best = cell.best
        if best is None:
            rows.append([f"{cell.load:g}", "none", "", "", cell.why_none])
            continue
        ties = [row.label for row in cell.rows if row.status == TIE]
        error = "exact" if best.method == "exact" else f"{best.error:.0%}"
        rows.append(
            [f"{cell.load:g}", best.label, f"{best.value:.4g}", error, ", ".join(ties) or "none"]
        )
    return rows
