"""A grid as one page with sliders: what is usual to vary, and how the numbers are packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import nan
from typing import Any, Final

import numpy as np

from qmodels.errors import ModelError
from qmodels.io.scenario import Scenario
from qmodels.networks.sizes import occupancy_counts, queue_seconds
from qmodels.pages.what_if import MOST_CHARACTERS, GridAxis, GridPolicy, PageGrid
from qmodels.pages.what_if import what_if_page as page_of
from qmodels.policies import AbstractPolicy, System
from qmodels.policies.choice.ranking import TIE
from qmodels.policies.methods import method_of
from qmodels.words import counted, first_names, in_words
from validation.study.what_if.axes import LOAD, POLICY, SHORT, axes_of, loads_of
from validation.study.what_if.cells import Cell
from validation.study.what_if.grid import ENDS, WhatIf

#: What a page shows where nothing else is asked for, with the log's own load in place of those next
#: to it. Half a minute to two of computing.
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3)
_SIZES: Final = (0.5, 1.0, 2.0)
_SCVS: Final = (1.0, 4.0)
_BESIDE: Final = 0.04
#: Seconds of solving, by `queue_seconds`, that the policies of a page may take together unless they
#: are named; building the models takes as much again, or twice.
SECONDS: Final = 60.0
#: Phases of a demand law, to which larger ones are reduced where many jobs run at a time.
_PHASES: Final = 2
#: Policies left out that are named.
_MOST_NAMES: Final = 8
#: Two values this near, relatively, are not both worth a place on a slider.
_NEAR: Final = 0.2


def page_axes(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """What is asked for, and usual values of what is not.

    These are half and twice the processors and disks, demands of scv 1 and 4, ten loads from .1 to
    1.3 and the log's own, and the scenario's policies, without the most costly ones where all of
    them would take minutes.
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
    found.setdefault(LOAD, _usual_loads(scenario.log_load))
    if POLICY not in found:
        found[POLICY] = _affordable(scenario, found)
    return found


def _usual_loads(own: float | None) -> tuple[float, ...]:
    """`LOADS` with the log's own among them."""
    if own is None:
        return LOADS
    return tuple(sorted([own, *(load for load in LOADS if abs(load - own) > _BESIDE)]))


def _affordable(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> list[str]:
    """Labels of the scenario's policies, the cheapest of them where all would take too long."""
    seconds = {policy: _seconds(policy, scenario, over) for policy in scenario.policies}
    kept: set[AbstractPolicy] = set()
    spent = 0.0
    for policy in sorted(seconds, key=seconds.__getitem__):
        spent += seconds[policy]
        if kept and spent > SECONDS:
            break
        kept.add(policy)
    return [policy.label for policy in scenario.policies if policy in kept]


def _seconds(policy: AbstractPolicy, scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> float:
    """What solving the models of a policy takes on all machines at all loads, roughly."""
    sizes = {axis.name: axis.values for axis in axes_of(scenario, over)}
    own = scenario.system
    points = len(loads_of(scenario, over)) + len(ENDS)
    for name, values in sizes.items():
        points *= 1 if name in ("processors", "disks") else len(values)
    phases = min(scenario.workload.demand.order, _PHASES)
    total = 0.0
    for processors, disks in product(
        sizes.get("processors", [own.processors]), sizes.get("disks", [own.disks])
    ):
        try:
            system = replace(own, processors=processors, disks=disks)
            policy.check(system)
        except ModelError:
            continue  # no such machine, or the policy does not fit it
        jobs = policy.arrangement(system).max_running
        states = scenario.arrivals.order * occupancy_counts(jobs, phases)
        total += points * queue_seconds(states)
    return total


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
    values, errors, least = (np.full(shape, nan) for _ in range(3))
    doubtful = np.zeros(shape, dtype=bool)
    capacity, misfits = np.full(shape[:2], nan), np.zeros(shape[:2], dtype=bool)
    for m, machine in enumerate(found.machines):
        for label in machine.misfits:
            if label in place:
                misfits[m, place[label]] = True
        for curve in machine.curves:
            p = place[curve.policy.label]
            rows = (*curve.rows, *curve.ends)
            values[m, p] = [row.value for row in rows]
            errors[m, p] = [row.error for row in rows]
            least[m, p] = [row.least for row in rows]
            doubtful[m, p] = [row.doubtful for row in rows]
            capacity[m, p] = curve.capacity / found.bound
    axes = [_axis(found, place) for place in range(len(found.axes))]
    counted = [i for i, axis in enumerate(axes) if axis.counted]
    others = [i for i, axis in enumerate(axes) if not axis.counted]
    shown = (counted + others)[:2] if len(axes) > 1 else []
    left = [each.label for each in found.scenario.policies if each.label not in place]
    return page_of(
        PageGrid(
            title=found.scenario.title,
            objective=found.objective.label,
            unit=found.objective.unit,
            axes=axes,
            loads=np.array(found.loads),
            start=_start(found),
            own=found.scenario.log_load,
            ends=ENDS,
            policies=[GridPolicy(p.label, p.name, _words(p, found.scenario.system)) for p in policies],
            left=left,
            values=values,
            errors=errors,
            least=least,
            doubtful=doubtful,
            capacity=capacity,
            misfits=misfits,
            refused={m: x.refused for m, x in enumerate(found.machines) if x.refused},
            machine_axes=shown,
            other_axis=others[0] if others else counted[0] if counted else None,
            notes=_notes(found, left),
            table=_table(found),
            exact=method_of(exact=True, fitted=found.scenario.workload.fitted),
        )
    )


def _words(policy: AbstractPolicy, system: System) -> str:
    try:
        policy.check(system)
    except ModelError:
        return "not on today's machine: it has too few processors or disks for it"
    return policy.in_words(system)


def _axis(found: WhatIf, place: int) -> GridAxis:
    axis = found.axes[place]
    words = {"scv": "variability of the demand (scv)"}.get(axis.name, axis.name)
    whole = axis.name in ("processors", "disks") or axis.name in found.prices
    return GridAxis(axis.name, words, axis.values, axis.today or 0, whole, found.prices.get(axis.name))


def _start(found: WhatIf) -> float:
    """The load shown first: the one nearest to the log's own.

    Without a log it is the middle one of those that today's machine answers.
    """
    own = found.scenario.log_load
    if own is not None:
        return min(found.loads, key=lambda load: abs(load - own))
    able = [cell.load for cell in _today(found) if cell.best is not None]
    return able[len(able) // 2] if able else found.loads[0]


def _today(found: WhatIf) -> list[Cell]:
    whole = {axis.name: axis.values[axis.today or 0] for axis in found.axes}
    return [found.cell(load, **whole) for load in found.loads]


def _notes(found: WhatIf, left: Sequence[str]) -> list[str]:
    scenario, system = found.scenario, found.scenario.system
    own = "" if scenario.log_load is None else f" The log's own load is {scenario.log_load:.3g}."
    notes = [*found.remarks]
    notes.append(
        f"{found.predictions:,} predictions, none simulated. Load 1 is {found.bound:.4g} jobs/s, "
        f"the ceiling of today's machine ({counted(system.processors, 'processor')}, "
        f"{counted(system.disks, 'disk')}).{own} All machines meet the same jobs. Between two "
        f"predicted loads values are interpolated, and it is said how far they may be off."
    )
    if left:
        notes.append(
            f"Not on this page, though one of them may be the best: {first_names(left, _MOST_NAMES)}. "
            "By default the policies are left out that would take minutes; --over policy=... names those "
            "wanted."
        )
    return notes


def _table(found: WhatIf) -> list[list[str]]:
    timed = found.objective.unit == "s"
    unit = f" [{found.objective.unit}]" if found.objective.unit and not timed else ""
    rows = [["load", "best policy", f"{found.objective.label}{unit}", "error", "as good"]]
    for cell in _today(found):
        best = cell.best
        if best is None:
            rows.append([f"{cell.load:.4g}", "none", "", "", cell.why_none])
            continue
        ties = [row.label for row in cell.rows if row.status == TIE]
        value = in_words(best.value) if timed else f"{best.value:.4g}"
        rows.append([f"{cell.load:.4g}", best.label, value, best.error_in_words, ", ".join(ties) or "none"])
    return rows
