"""Turns counted beside those of a closed network whose demands come from one process alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Record
from qmodels.networks.station_network import QueueingNetwork
from qmodels.networks.stations import CustomerClass, Station
from validation.analysis.estimates import estimate
from validation.kernel.processes import Mix, Turns, run_turns

#: Turns of 20 ms, and what part of them a process alone spends at the disk, about.
TURN: Final = 0.02
IO_SHARES: Final = (0.3, 0.6)
PROCESSES: Final = (1, 2, 4, 8)
#: Numbers of processes with which the disk's speed is measured; between them it is interpolated.
AT_THE_DISK: Final = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class KernelRow(Record):
    """One number of processes on some processors: measured and predicted."""

    cores: int  #: processors
    io_share: float  #: part of its time that a process alone spent at the disk
    processes: int  #: side by side
    measured: float  #: turns in a second
    half_width: float  #: of its interval, from ten parts of the time
    predicted: float  #: by the closed network
    without_overlap: float  #: turns in a second if nothing overlapped: one process at a time and processor
    others: float  #: share of the processors that others took meanwhile

    @property
    def error(self) -> float:
        """Predicted over measured, minus one."""
        return self.predicted / self.measured - 1.0


def predicted_turns(alone: Turns, speeds: Array, processes: int, cores: int) -> float:
    """Return the turns in a second of a closed network of processors and disk.

    Parameters
    ----------
    alone : Turns
        Of one process: its processor time is its demand there, the rest of its time that at the disk.
    speeds : (m,) ndarray
        Of the disk with 1, 2, ... processes: a flow-equivalent station.
    processes, cores : int
        Customers, and servers of the processors.

    Returns
    -------
    float
        Turns in a second, exact for the product form.
    """
    io = max(1.0 / alone.throughput - alone.cpu, 1e-9)
    stations = [Station("processors", servers=cores), Station("disk", speeds=speeds)]
    turn = CustomerClass({"processors": alone.cpu, "disk": io}, population=processes)
    return float(QueueingNetwork(stations, [turn]).solve().throughput[0])


def compare_turns(
    path: Path,
    cores: int,
    *,
    io_shares: Sequence[float] = IO_SHARES,
    processes: Sequence[int] = PROCESSES,
    seconds: float = 5.0,
    rounds: int = 3,
    seed: int = 0,
) -> Iterator[KernelRow]:
    """Yield what was measured and predicted, a row for each share of I/O and number of processes.

    Nothing is fitted to a row: demands are of one process alone, speeds of the disk of processes that do
    nothing but I/O. All are measured by turns, round by round, so that a disk that others make slower
    for a while is slower in all of them.

    Parameters
    ----------
    path : path_like
        File that is read and written.
    cores : int
        Processors.
    io_shares : sequence of float
        What part of a turn of one process alone is to be at the disk, about.
    processes : sequence of int
        Numbers of processes.
    seconds : float
        Of each count.
    rounds : int
        How often each is counted.
    seed : int
        Of the bursts.

    Yields
    ------
    KernelRow
        All of a share as soon as they are measured.
    """
    at_disk = [m for m in AT_THE_DISK if m <= max(max(processes), 2)]
    only_io = Mix(computing=0.0, blocks=8.0)
    blocks = 8.0 * run_turns(path, only_io, 1, 1, seconds, seed).throughput
    for share in io_shares:
        mix = Mix(computing=TURN * (1.0 - share), blocks=TURN * share * blocks)
        asked = [(only_io, m, seconds / 2) for m in at_disk] + [(mix, m, seconds) for m in (1, *processes)]
        counts: list[list[Turns]] = [[] for _ in asked]
        for number in range(rounds):
            for kept, (kind, m, long) in zip(counts, asked, strict=True):
                kept.append(run_turns(path, kind, m, cores, long, 100 * seed + 10 * number + m))
        alone, *ran = [joined(kept) for kept in counts[len(at_disk) :]]
        rates = np.array([joined(kept).throughput for kept in counts[: len(at_disk)]])
        speeds = np.interp(np.arange(1, at_disk[-1] + 1), at_disk, rates / rates[0])
        for m, turns in zip(processes, ran, strict=True):
            yield KernelRow(
                cores=cores,
                io_share=1.0 - alone.cpu * alone.throughput,
                processes=m,
                measured=turns.throughput,
                half_width=estimate(turns.in_parts()).half_width,
                predicted=predicted_turns(alone, speeds, m, cores),
                without_overlap=min(m, cores) * alone.throughput,
                others=turns.others,
            )


def joined(counts: Sequence[Turns]) -> Turns:
    """Return counts of the same thing as one that lasts as long as all of them.

    Parameters
    ----------
    counts : sequence of Turns
        At least one.
    """
    before = np.cumsum([0.0, *(each.seconds for each in counts)])
    weights = np.array([each.ends.size for each in counts], dtype=float)
    return Turns(
        np.concatenate([each.ends + start for each, start in zip(counts, before[:-1], strict=True)]),
        float(before[-1]),
        float(np.average([each.cpu for each in counts], weights=np.maximum(weights, 1.0))),
        float(np.mean([each.others for each in counts])),
    )
