"""Programs of a mix that take turns on one partition: what their unlike bursts leave of its throughput.

Each job of a partition has one burst a round, whatever its program. While one of long bursts is there,
all rounds are long, so that jobs of many short bursts, who need many rounds, stay and get no further:
what the partition completes is less than mean jobs would.
"""

from __future__ import annotations

import numpy as np

from qmodels.policies.models.bursts_in_service import served
from qmodels.policies.models.merged_classes import MeanClass, merged
from qmodels.policies.models.sized_jobs import SizedClass
from qmodels.policies.models.turns import law_of_replaced, private_computing
from qmodels.policies.system import Workload
from qmodels.programs.model import parts

#: Part of a mean job's time that stands for bursts that a program does not have.
_NONE = 1e-9
#: Ends per second that are as good as none.
_TINY = 1e-200


def two_programs(workload: Workload, p: float, d: float) -> tuple[MeanClass, ...]:
    """The programs of a mix, those nearest in what they compute as one until there are two; () of one.

    Parameters
    ----------
    workload : Workload
    p, d : float
        Processors and disks of a job.
    """
    programs = parts(workload.program)
    if workload.mix != "each" or len(programs) < 2:
        return ()
    each = tuple(
        SizedClass(weight, at, 1.0, 1, max(1.0, float(program.mean_phases)))
        for at, (weight, program) in enumerate(programs)
    )
    *_, last = merged(each, workload, p, d)
    return tuple(MeanClass.of(group, workload, p, d) for group in last)


def part_left(programs: tuple[MeanClass, ...], jobs: int, ratio: float) -> float:
    """Throughput of a private partition of so many jobs of a mix over that of mean jobs, at most one.

    Parameters
    ----------
    programs : tuple of MeanClass
        Two.
    jobs : int
        On the partition, each of which is replaced by a fresh one as it ends.
    ratio : float
        Transfer over computation of a mean job, as slow as the disk is.

    Notes
    -----
    Bursts are exponential and the next one is picked at random, see `bursts_in_service`; who is there
    is a chain of the number of jobs of the first program.

    Examples
    --------
    Two bursts of 3 s and 32 of .02 s, with .5 s and .07 s of transfer before each:

    >>> long = MeanClass(weight=0.36, io=1.0, cpu=6.3, phases=2.0)
    >>> many = MeanClass(weight=0.64, io=2.26, cpu=0.69, phases=32.0)
    >>> round(part_left((long, many), 3, 1.8 / 2.7), 3)
    0.787
    >>> part_left((long, long), 3, 1.0 / 6.3)
    1.0
    """
    first = programs[0].weight / sum(x.weight for x in programs)
    shares = np.array([first, 1.0 - first])
    io, cpu = (float(shares @ [getattr(x, name) for x in programs]) for name in ("io", "cpu"))
    least = _NONE * (io + cpu)
    work = np.maximum([x.cpu for x in programs], least)
    bursts = tuple(max(x.cpu, least) / x.phases for x in programs)
    away = tuple(max(x.io * ratio * cpu / io, least) / x.phases for x in programs)
    ends = np.array([served((a, jobs - a), bursts, away, False).always / work for a in range(jobs + 1)])
    law = law_of_replaced(np.maximum(ends, _TINY)[None], first)[0]
    completed = float(law @ ends.sum(axis=1))
    return min(completed * cpu / float(private_computing(jobs, ratio)), 1.0)
