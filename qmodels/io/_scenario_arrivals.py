"""Arrivals of a scenario whose times between them are not independent: given, or from its log."""

from __future__ import annotations

from pathlib import Path

from phasefit import MAP, fit_map
from qmodels.io._scenario_file import ArrivalsTable
from qmodels.io._scenario_laws import check_fitted
from qmodels.io._swf_log import JobLog
from qmodels.io.toml_tables import at_key, fail
from qmodels.networks.histories import DESCRIPTIONS


def dependent_arrivals(source: Path, spec: ArrivalsTable, log: JobLog | None) -> tuple[MAP, str] | None:
    """The process of arrivals that a table asks for, and where it comes from in words.

    None where it asks for a law of independent times.
    """
    given = [name for name in ("scv", "alpha", "T", "D0", "D1") if getattr(spec, name) is not None]
    if "D0" in given or "D1" in given:
        if given != ["D0", "D1"] or spec.dependence not in ("auto", "none"):
            fail(source, "arrivals", "D0 and D1 say all of the arrivals; give both, and no more")
        process = at_key(source, "arrivals", MAP, spec.D0, spec.D1)
        return process, f"arrival process of order {process.order} given in the scenario"
    if spec.dependence in ("auto", "none"):
        return None
    if given:
        fail(
            source,
            "arrivals.dependence",
            f"{' and '.join(given)} says a law of independent gaps; drop it, or this key",
        )
    if log is None:
        fail(
            source,
            "arrivals.dependence",
            "there is no [log] to learn it from; add one, or give D0 and D1",
        )
    if spec.dependence in DESCRIPTIONS:
        return None  # kept in the laws of the log's jobs, see `Workload`
    busy = at_key(source, "log", lambda: log.with_work)
    check_fitted(source, "arrivals", busy.interarrivals)
    work = busy.work_by_job[1:] if spec.dependence == "work" else None
    found = at_key(source, "arrivals.dependence", fit_map, busy.interarrivals, work=work)
    what = "their work varies" if spec.dependence == "work" else "their number varies"
    words = f"MAP of order {found.process.order}, so that {what} over time as in {log.path.name}"
    if found.moved:
        words += f"; not met: {', '.join(target.name for target in found.moved)}"
    return found.process.with_data(busy.interarrivals, how=found.family, source=str(log.path)), words
