"""Policies as the event loop wants them: who may run where, and how long bursts take there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import ModelError
from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
)
from validation.sharing import _kernels

Array = NDArray[np.float64]

#: Mean I/O and computation bursts of the phases on p processors and d disks.
PhaseTimes = Callable[[float, float], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Layout:
    """A policy on a machine; an allotment is a processor partition, or a number of running jobs."""

    kind: int  #: one of the kernel's STATIC, DYNAMIC, TIMED
    limit: int  #: jobs on a processor partition, or running at most (dynamic)
    io_time: Array  #: (allotments, phases) mean I/O bursts, seconds
    cpu_time: Array  #: (allotments, phases) mean computation bursts, seconds
    disk_of: NDArray[np.int64]  #: (allotments,) disk partition that it works on
    processors_of: Array  #: (allotments,) processors of a job there
    disks_of: Array  #: (disk partitions,) disks


@singledispatch
def layout(policy: AbstractPolicy, system: System, times: PhaseTimes) -> Layout:
    """Lay a policy out on a machine; a policy without an entry here cannot be simulated."""
    raise ModelError(f"no simulator for the policy {policy!r}; use SP, DP or TS")


@layout.register
def _(policy: SpaceSharing, system: System, times: PhaseTimes) -> Layout:
    return _partitions(policy, system, times, _kernels.STATIC, 1)


@layout.register
def _(policy: TimeSharing, system: System, times: PhaseTimes) -> Layout:
    return _partitions(policy, system, times, _kernels.TIMED, policy.multiprogramming)


@layout.register
def _(policy: DynamicPartitioning, system: System, times: PhaseTimes) -> Layout:
    c, disks = system.max_processor_partitions, policy.disk_partitions
    shares = system.processors / np.arange(1, c + 1)
    sizes = np.full(disks, system.disks / disks)
    io, cpu = _tables(times, shares, np.full(c, sizes[0]))
    return Layout(_kernels.DYNAMIC, c, io, cpu, np.zeros(c, np.int64), shares, sizes)


def _partitions(
    policy: SpaceSharing | TimeSharing,
    system: System,
    times: PhaseTimes,
    kind: int,
    limit: int,
) -> Layout:
    pairs = policy.processor_partitions
    disks = min(policy.disk_partitions, pairs)
    processors_of = _whole_sizes(system.processors, pairs)
    disks_of = _whole_sizes(system.disks, policy.disk_partitions)[:disks]
    disk_of = np.arange(pairs) % disks
    io, cpu = _tables(times, processors_of, disks_of[disk_of])
    return Layout(kind, limit, io, cpu, disk_of, processors_of, disks_of)


def _whole_sizes(units: int, partitions: int) -> Array:
    each, extra = divmod(units, partitions)
    return np.array([each + 1.0] * extra + [float(each)] * (partitions - extra))


def _tables(times: PhaseTimes, p: Array, d: Array) -> tuple[Array, Array]:
    rows = [times(float(a), float(b)) for a, b in zip(p, d, strict=True)]
    io, cpu = (np.array([row[i] for row in rows], dtype=float) for i in (0, 1))
    return io, cpu
