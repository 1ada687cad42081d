"""Laws of a scenario: given as numbers, or the first two moments of its log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from phasefit import PhaseType, match_moments
from phasefit.arrays import Array
from qmodels.errors import InfeasibleMomentsError
from qmodels.io._scenario_file import BurstLawsTable, LawTable, ScenarioFile
from qmodels.io._swf_log import JobLog
from qmodels.io.policy_tables import TimeLawTable
from qmodels.io.toml_tables import at_key, fail

#: Squared coefficients of variation that a law can be fitted to, the range of every key `scv`.
SCVS: Final = (0.01, 1e4)
#: Atom at zero that rounding may make of a law without one.
_ROUNDING: Final = 1e-12


def _given_law(
    source: Path, key: str, spec: LawTable | TimeLawTable, mean: float = 1.0
) -> tuple[PhaseType, str] | None:
    """The law that a table holds, and where it comes from; None where it holds none."""
    given = [name for name in ("scv", "alpha", "T") if getattr(spec, name) is not None]
    if given not in ([], ["scv"], ["alpha", "T"]):
        fail(source, key, f"give scv, or alpha and T, or neither; got {', '.join(given)}")
    if given == ["alpha", "T"]:
        law = at_key(source, key, PhaseType, spec.alpha, spec.T)
        if isinstance(spec, LawTable) and law.atom > _ROUNDING:
            some = f"sums to {1.0 - law.atom:.4g}, which leaves times of zero"
            fail(source, f"{key}.alpha", f"{some}; use the law of the positive values")
        return law, f"phase-type law of order {law.order} given in the scenario"
    if given == ["scv"]:
        scv = float(spec.scv or 0.0)
        law = at_key(source, f"{key}.scv", match_moments, mean, mean**2 * (1.0 + scv))
        return law, f"squared coefficient of variation {spec.scv:g} given in the scenario"
    return None


def burst_laws_of(source: Path, spec: ScenarioFile) -> tuple[PhaseType, PhaseType] | None:
    """Laws of the bursts of I/O and computation; exponential where only the other is given."""
    tables: BurstLawsTable | None = spec.bursts
    if tables is None:
        return None
    if tables.io is None and tables.cpu is None:
        fail(source, "bursts", "give io, cpu or both, such as io = { scv = 1.0 }")
    given = [name for name in ("scv", "alpha", "T") if getattr(spec.demand, name) is not None]
    given += ["mix"] * (spec.demand.mix == "mean")
    if given:
        fail(
            source,
            f"demand.{given[0]}",
            "with [bursts] every burst has its own law and the demand follows from these; drop "
            "this key, or drop [bursts]",
        )
    laws = []
    for name, table in (("io", tables.io), ("cpu", tables.cpu)):
        found = None if table is None else _given_law(source, f"bursts.{name}", table)
        laws.append(PhaseType.exponential(mean=1.0) if found is None else found[0])
    return laws[0], laws[1]


def time_law(source: Path, key: str, table: TimeLawTable) -> PhaseType:
    """A law of a time in seconds; exponential where only its mean is given."""
    if table.alpha is not None or table.T is not None:
        if table.mean is not None:
            fail(source, f"{key}.mean", "alpha and T say the mean already; drop one of them")
    elif table.mean is None:
        fail(source, f"{key}.mean", "this key is missing; add it (seconds), or give alpha and T")
    found = _given_law(source, key, table, table.mean or 1.0)
    return PhaseType.exponential(mean=table.mean or 1.0) if found is None else found[0]


def check_fitted(source: Path, key: str, sample: Array) -> None:
    """ScenarioError unless there is something to fit a law of `key` to."""
    if sample.size < 2:
        fail(source, "log", f"too few jobs are selected to fit {key}: {sample.size}; select more")
    if sample.max() <= 0:
        fail(source, "log", "all jobs that are selected arrive at one time: there is no rate; select more")


def law_of(source: Path, key: str, spec: LawTable, log: JobLog | None) -> tuple[PhaseType, str]:
    """A law of times between arrivals or of work, and where it comes from in words."""
    given = _given_law(source, key, spec)
    if given is not None:
        return given
    if log is None:
        return PhaseType.exponential(mean=1.0), "exponential, since nothing else was given"
    # Jobs without work are thinned out: a fit of all arrivals and of the work of some would give
    # each of them the mean work of the others.
    busy = at_key(source, "log", lambda: log.with_work)
    sample = busy.interarrivals if key == "arrivals" else busy.work
    check_fitted(source, key, sample)
    mean = float(sample.mean())
    squares = sample / mean
    squares *= squares
    second = float(squares.mean()) * mean**2
    how = "first two moments"
    # of the same jobs: the first one's gap is not in the log
    data = sample if key == "arrivals" else busy.work_by_job[1:]
    users = busy.jobs["user"].to_numpy(np.int64)[1:]
    try:
        law = match_moments(mean, second)
    except InfeasibleMomentsError:
        what = "times between arrivals" if key == "arrivals" else "work of the jobs"
        scv, [least, most] = second / mean**2 - 1.0, SCVS
        nearest = least if scv < least else most
        fail(
            source,
            key,
            f"the scv of the {what} in {log.path.name} is {scv:.3g}, and laws are fitted from {least:g} to "
            f"{most:,.0f}; give one in a scenario, such as [{key}] scv = {nearest:g}",
        )
    law = law.with_data(
        data,
        how=how,
        source=str(log.path),
        labels=users if users.size and users.max() > users.min() else None,
    )
    thinned = len(log.jobs) - len(busy.jobs)
    without = f", without {thinned:,} jobs of no known work" if thinned else ""
    return law, f"{how} of {sample.size:,} values in {log.path.name}{without}"
