"""Policies as the event loop wants them: who may run where, and how long bursts take there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
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

DISCIPLINES = {"ps": _kernels.PS, "fcfs": _kernels.FCFS, "siro": _kernels.SIRO}


@dataclass(frozen=True, eq=False)
class Layout:
    """A policy on a machine; an allotment is a processor partition, or a number of running jobs."""

    kind: int  #: one of the kernel's STATIC, DYNAMIC, TIMED
    slots: int  #: jobs that run at most
    limit: int  #: of them on a processor partition
    disciplines: NDArray[np.int64]  #: (2,) the kernel's code at processors and at disks
    io_time: Array  #: (allotments, phases) mean I/O bursts, seconds
    cpu_time: Array  #: (allotments, phases) mean computation bursts, seconds
    disk_of: NDArray[np.int64]  #: (allotments,) disk partition that it works on
    processors_of: Array  #: (allotments,) processors of a job there
    disks_of: Array  #: (disk partitions,) disks
    pauses: tuple[PhaseType, ...] = ()  #: laws of the time that a change of the number costs
    pause_of: NDArray[np.int64] | None = None  #: (allotments,) which of them


@singledispatch
def layout(policy: AbstractPolicy, system: System, times: PhaseTimes) -> Layout:
    """Lay a policy out on a machine; a policy without an entry here cannot be simulated."""
    raise ModelError(f"no simulator for the policy {policy!r}; use SP, DP or TS")


@layout.register
def _(policy: SpaceSharing, system: System, times: PhaseTimes) -> Layout:
    pairs = policy.processor_partitions
    return _partitions(policy, system, times, _kernels.STATIC, pairs, 1, "fcfs", policy.sizes)


@layout.register
def _(policy: TimeSharing, system: System, times: PhaseTimes) -> Layout:
    most, pairs = policy.multiprogramming, policy.processor_partitions
    if policy.ts_cap == "min":
        pairs = min(pairs, policy.disk_partitions)
    discipline = policy.cpu_discipline
    return _partitions(policy, system, times, _kernels.TIMED, most * pairs, most, discipline, None)


@layout.register
def _(policy: DynamicPartitioning, system: System, times: PhaseTimes) -> Layout:
    c, disks = system.max_processor_partitions, policy.disk_partitions
    shares = system.processors / np.arange(1, c + 1)
    sizes = np.full(disks, system.disks / disks)
    io, cpu = _tables(times, shares, np.full(c, sizes[0]))
    given = policy.overhead
    laws = () if given is None else given if isinstance(given, tuple) else (given,)
    # The same law given several times is drawn from once.
    distinct = tuple(dict.fromkeys(laws))
    places = [distinct.index(law) for law in laws] if len(laws) > 1 else [0] * c
    return Layout(
        kind=_kernels.DYNAMIC,
        slots=c,
        limit=c,
        disciplines=_codes("fcfs", system),
        io_time=io,
        cpu_time=cpu,
        disk_of=np.zeros(c, np.int64),
        processors_of=shares,
        disks_of=sizes,
        pauses=distinct,
        pause_of=np.array(places, dtype=np.int64),
    )


def _partitions(
    policy: SpaceSharing | TimeSharing,
    system: System,
    times: PhaseTimes,
    kind: int,
    slots: int,
    limit: int,
    cpu_discipline: str,
    sizes: tuple[int, ...] | None,
) -> Layout:
    pairs = policy.processor_partitions
    disks = min(policy.disk_partitions, pairs)
    processors_of = _whole_sizes(system.processors, pairs)
    if sizes is not None:
        processors_of = np.array(sizes, dtype=float)
    disks_of = _whole_sizes(system.disks, policy.disk_partitions)[:disks]
    disk_of = np.arange(pairs) % disks
    io, cpu = _tables(times, processors_of, disks_of[disk_of])
    return Layout(
        kind=kind,
        slots=slots,
        limit=limit,
        disciplines=_codes(cpu_discipline, system),
        io_time=io,
        cpu_time=cpu,
        disk_of=disk_of,
        processors_of=processors_of,
        disks_of=disks_of,
    )


def _codes(cpu_discipline: str, system: System) -> NDArray[np.int64]:
    return np.array([DISCIPLINES[cpu_discipline], DISCIPLINES[system.disk_discipline]])


def _whole_sizes(units: int, partitions: int) -> Array:
    each, extra = divmod(units, partitions)
    return np.array([each + 1.0] * extra + [float(each)] * (partitions - extra))


def _tables(times: PhaseTimes, p: Array, d: Array) -> tuple[Array, Array]:
    once = {at: times(*at) for at in zip(p.tolist(), d.tolist(), strict=True)}
    rows = [once[at] for at in zip(p.tolist(), d.tolist(), strict=True)]
    io, cpu = (np.array([row[i] for row in rows], dtype=float) for i in (0, 1))
    return io, cpu
