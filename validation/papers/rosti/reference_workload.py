"""W*: the machine of Rosti et al., section 4, and the synthetic workload that stands for theirs.

Their measured parameters are lost. W* computes for .1 + 512/p seconds, 2.2 times as long on 8
processors or fewer (the discontinuity of one of their programs), and transfers for
32/min(d, p/4) seconds, in eight equal phases; its demand has scv 2 and its arrivals are Poisson.
"""

from __future__ import annotations

from qmodels.policies import System, Workload
from qmodels.programs import Burst, Phase, Program, WorkingSet

PROCESSOR_PARTITIONS = (1, 2, 4, 8, 16)
DISK_PARTITIONS = (1, 2, 4, 8, 16, 32)
SHOWN = (1, 4, 8, 16)  #: numbers of disk partitions that have a panel in figures 6 and 7

_PHASES = 8


def reference_machine() -> System:
    """128 processors and 32 disks, at least 8 processors and 1 disk for each job."""
    return System(processors=128, disks=32, min_processors=8, min_disks=1)


def reference_workload() -> Workload:
    """W*."""
    cpu = Burst(2.2 * 512.1 / _PHASES, sequential=2.2 * 0.1 / _PHASES, slowdown=(8, 2.2), law="p")
    io = Burst(128.0 / _PHASES, law="min(d, p/4)")
    program = Program([WorkingSet(_PHASES, [Phase(io=io, cpu=cpu)])], name="W*")
    return Workload.from_scv(program, demand_scv=2.0)
