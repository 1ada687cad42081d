"""Classes of jobs of unlike sizes and programs, the nearest of them taken as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from qmodels.policies.models.sized_jobs import SizedClass
from qmodels.policies.system import Workload
from qmodels.programs.model import parts

#: Classes of jobs, those that are taken as one together.
Classes = tuple[tuple[SizedClass, ...], ...]


@dataclass(frozen=True)
class MeanClass:
    """A mean job of the classes that are taken as one."""

    weight: float  #: probability that a job is of them
    io: float  #: seconds of transfer of a job alone
    cpu: float  #: seconds of computation
    phases: float  #: bursts of each kind

    @classmethod
    def of(cls, each: tuple[SizedClass, ...], workload: Workload, p: float, d: float) -> MeanClass:
        """The mean on p processors and d disks."""
        programs = [program for _, program in parts(workload.program)]
        rows = [
            (
                x.size * float(programs[x.program].mean_io(p, d)),
                x.size * float(programs[x.program].mean_cpu(p, d)),
                x.phases,
            )
            for x in each
        ]
        weights = [x.weight for x in each]
        io, cpu, phases = np.average(rows, axis=0, weights=weights).tolist()
        return cls(sum(weights), io, cpu, phases)


def merged(classes: tuple[SizedClass, ...], workload: Workload, p: float, d: float) -> Iterator[Classes]:
    """Yield the classes, then ever fewer: the two whose jobs differ least in what they compute as one."""
    work = {x: MeanClass.of((x,), workload, p, d).cpu for x in classes}
    found: list[tuple[SizedClass, ...]] = [(x,) for x in sorted(classes, key=lambda x: work[x])]
    yield tuple(found)
    while len(found) > 2:
        means = [MeanClass.of(each, workload, p, d) for each in found]
        lost = [
            a.weight * b.weight / (a.weight + b.weight) * (b.cpu - a.cpu) ** 2 for a, b in pairwise(means)
        ]
        at = int(np.argmin(lost))
        found[at : at + 2] = [found[at] + found[at + 1]]
        yield tuple(found)
