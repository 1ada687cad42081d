"""Laws, machines and workloads that many tests use."""

from __future__ import annotations

from phasefit import PhaseType, match_moments
from qmodels.policies import System, Workload
from qmodels.programs import Burst, Phase, Program

EXPONENTIAL = PhaseType.exponential(mean=1.0)
#: Of squared coefficient of variation four.
HYPER = match_moments(1.0, 5.0)

#: The machine of Rosti et al. 1998, section 4: at least eight processors and one disk for a job.
REFERENCE_MACHINE = System(processors=128, disks=32, min_processors=8, min_disks=1)


def reference_workload(slowdown: float = 2.2, *, phases: int = 1) -> Workload:
    """W* of the specification, demand of scv 2, in so many equal phases.

    On eight processors or fewer a computation takes `slowdown` times as long.
    """
    cpu = Burst(
        slowdown * 512.1 / phases,
        sequential=slowdown * 0.1 / phases,
        slowdown=(8, slowdown),
        law="p",
    )
    io = Burst(128.0 / phases, law="min(d, p/4)")
    return Workload.from_scv(Program([Phase(io=io, cpu=cpu)] * phases), demand_scv=2.0)
