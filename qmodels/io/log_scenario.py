"""A scenario made of a job log, a machine and programs, without a file that describes it."""

from __future__ import annotations

from qmodels.io._scenario_file import LawTable
from qmodels.io._scenario_laws import law_of
from qmodels.io._scenario_programs import scale_to_log
from qmodels.io.scenario import Scenario, _axis
from qmodels.io.swf import JobLog
from qmodels.policies import System, work_bound
from qmodels.programs import Program, WorkloadMix


def scenario_of_log(
    log: JobLog,
    system: System,
    program: Program | WorkloadMix,
    *,
    written_on: System | None = None,
) -> Scenario:
    """The scenario of a file with ``scale_to_log = true``, this log and these programs.

    Parameters
    ----------
    log : JobLog
        Its first two moments of interarrival time and work are fitted.
    system : System
        Its processors are what the log counts.
    program : Program or WorkloadMix
        How a job scales; its times are multiplied so that its mean work on the sizes of the log's
        jobs is that of the log.
    written_on : System, optional
        The machine that wrote the log, whose disks decide what a job of some size takes; by default
        `system`.

    Returns
    -------
    Scenario
        Without policies; its only load is the log's own.

    Raises
    ------
    ModelError
        If the log has no two jobs of known work, or the programs take no time.

    Examples
    --------
    >>> from qmodels.programs.profiles import profile
    >>> log = JobLog("made", {"submit": [0, 60, 180], "run": [30, 20, 40], "processors": [4, 8, 2]})
    >>> plan = scenario_of_log(log, System(processors=16, disks=4), profile("QCRD-2"))
    >>> round(plan.arrivals.mean, 6)
    90.0
    """
    busy = log.with_work
    factor = scale_to_log(log, written_on or system, program)
    scaled = program.scaled(factor)
    arrivals, arrivals_from = law_of(log.path, "arrivals", LawTable(), log)
    demand, demand_from = law_of(log.path, "demand", LawTable(), log)
    return Scenario(
        path=log.path,
        title=f"The jobs of {log.path.name}",
        notes="",
        seed=1,
        system=system,
        program=scaled,
        fits={},
        log=log,
        arrivals=arrivals,
        demand=demand,
        arrivals_from=arrivals_from,
        demand_from=demand_from,
        mix="mean",  # the log's work holds the differences between jobs already
        scaled_to_log=True,
        time_scale=factor,
        policies=(),
        surface_processors=_axis(log.path, "processors", None, system.processors),
        surface_disks=_axis(log.path, "disks", None, system.disks),
        loads=(busy.arrival_rate / work_bound(system, scaled),),
        validation=None,
    )
