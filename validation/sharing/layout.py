"""Policies as the event loop wants them: who may run where, and how long bursts take there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array, Ints
from qmodels.policies import AbstractPolicy, Arrangement, System
from validation.sharing import _kernels

#: Mean I/O and computation bursts of the phases on p processors and d disks.
PhaseTimes = Callable[[float, float], tuple[Array, Array]]

DISCIPLINES = {"ps": _kernels.PS, "fcfs": _kernels.FCFS, "siro": _kernels.SIRO}


@dataclass(frozen=True, eq=False)
class Layout:
    """A policy on a machine; an allotment is a processor partition, or a number of running jobs."""

    kind: int  #: one of the kernel's STATIC, DYNAMIC, TIMED
    slots: int  #: jobs that run at most
    limit: int  #: of them on a processor partition
    disciplines: Ints  #: (2,) the kernel's code at processors and at disks
    #: (allotments, phases) mean I/O bursts, seconds; where numbers of running jobs meet disk partitions of
    #: unlike size, (allotments x disk partitions, phases)
    io_time: Array
    cpu_time: Array  #: the same of computation bursts
    disk_of: Ints  #: (allotments,) disk partition that it works on
    processors_of: Array  #: (allotments,) processors of a job there
    disks_of: Array  #: (disk partitions,) disks
    pauses: tuple[PhaseType, ...] = ()  #: laws of the time that a change of the number costs
    pause_of: Ints | None = None  #: (allotments,) which of them


def layout(policy: AbstractPolicy, system: System, times: PhaseTimes) -> Layout:
    """Lay a policy out on a machine that it fits, by what its arrangement says."""
    arrangement = policy.arrangement(system)
    return (_dynamic if arrangement.repartitioned else _static)(arrangement, times)


def _static(arrangement: Arrangement, times: PhaseTimes) -> Layout:
    """Partitions that stay as they are; an allotment is one of them."""
    processors_of = np.array(arrangement.partition_sizes)
    disks_of, disk_of = np.array(arrangement.disk_sizes), np.array(arrangement.disk_of)
    io, cpu = _tables(times, processors_of, disks_of[disk_of])
    idle_first = arrangement.placement == "idle-first"
    return Layout(
        kind=_kernels.TIMED if idle_first else _kernels.STATIC,
        slots=arrangement.max_running,
        limit=arrangement.multiprogramming,
        disciplines=_codes(arrangement),
        io_time=io,
        cpu_time=cpu,
        disk_of=disk_of,
        processors_of=processors_of,
        disks_of=disks_of,
    )


def _dynamic(arrangement: Arrangement, times: PhaseTimes) -> Layout:
    """Equal shares of all processors; an allotment is the number of jobs that share them."""
    c, disks = arrangement.max_running, np.array(arrangement.disk_sizes)
    shares = arrangement.system.processors / np.arange(1, c + 1)
    different = disks[:1] if arrangement.whole_disks else disks
    io, cpu = _tables(times, np.repeat(shares, different.size), np.tile(different, c))
    laws = arrangement.overheads
    # The same law given several times is drawn from once.
    distinct = tuple(dict.fromkeys(laws))
    pause_of = [distinct.index(law) for law in laws] or [0] * c
    return Layout(
        kind=_kernels.DYNAMIC,
        slots=c,
        limit=c,
        disciplines=_codes(arrangement),
        io_time=io,
        cpu_time=cpu,
        disk_of=np.zeros(c, np.int64),
        processors_of=shares,
        disks_of=disks,
        pauses=distinct,
        pause_of=np.array(pause_of, dtype=np.int64),
    )


def layout_at_speeds(throughput: Array) -> Layout:
    """No policy: up to c jobs that compute once, of which k do throughput[k - 1] in all."""
    c = throughput.size
    return Layout(
        kind=_kernels.DYNAMIC,
        slots=c,
        limit=c,
        disciplines=np.array([_kernels.PS, _kernels.PS]),
        io_time=np.zeros((c, 1)),
        cpu_time=(np.arange(1, c + 1) / throughput).reshape(c, 1),
        disk_of=np.zeros(c, np.int64),
        processors_of=np.ones(c),
        disks_of=np.ones(1),
        pause_of=np.zeros(c, np.int64),
    )


def _codes(arrangement: Arrangement) -> Ints:
    at_disks = arrangement.system.disk_discipline
    return np.array([DISCIPLINES[arrangement.cpu_discipline], DISCIPLINES[at_disks]])


def _tables(times: PhaseTimes, p: Array, d: Array) -> tuple[Array, Array]:
    once = {at: times(*at) for at in zip(p.tolist(), d.tolist(), strict=True)}
    rows = [once[at] for at in zip(p.tolist(), d.tolist(), strict=True)]
    io, cpu = (np.array([row[i] for row in rows], dtype=float) for i in (0, 1))
    return io, cpu
