"""Programs that share a storage, simulated: that start together, or come and go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import check_fields, one_of, real_number, share, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.storage import StageCurve
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream
from validation.storage._kernels import play

ORDERS: Final = ("ps", "fcfs")
#: Comings and goings of neighbours that are followed: 100 MB.
_MOST_SWITCHES: Final = 5_000_000
#: What a stream uses of a storage that no number of programs fills.
_NOTHING: Final = 1e-12


@dataclass(frozen=True)
class Neighbours(Record):
    """Others on the storage that come and go, at random.

    Parameters
    ----------
    uses : float
        Share of the storage that they use while they are there, above zero.
    on, off : float
        Mean seconds that they are there, and away; exponential. They are away at first.
    """

    uses: float
    on: float
    off: float

    def __post_init__(self) -> None:
        check_fields(self, real_number, "uses", "on", "off", above=0.0)


@dataclass(frozen=True)
class SharingSimulation(Record):
    """Programs that share a storage, simulated."""

    programs: int  #: that share the storage
    seconds: Estimate  #: until the last that started has ended, or of one that comes and goes
    response: Estimate  #: mean over programs of the time of one
    stages: tuple[Estimate, ...]  #: mean time of each stage of those that start together
    method: str = "simulated"  #: in words


def simulate_start(
    stages: Sequence[StageCurve],
    programs: int,
    *,
    bursts: int = 20,
    scv: float = 1.0,
    geometric: bool = False,
    order: str = "ps",
    unequal: float = 0.0,
    correlation: float = 0.0,
    neighbours: Neighbours | None = None,
    replications: int = 20,
    seed: int = 0,
    confidence: float = 0.95,
) -> SharingSimulation:
    """Simulate programs that start together on one storage.

    Parameters
    ----------
    stages : sequence of StageCurve
        Of the program.
    programs : int
        That start together.
    bursts : int
        Rounds of a stage: work of its own, then a transfer; the mean number where `geometric`.
    scv : float
        Squared coefficient of variation of bursts: 1 exponential, 0 constant, else gamma.
    geometric : bool
        Whether the number of rounds of a stage is random, as in `qmodels.storage.exact_start`.
    order : {"ps", "fcfs"}
        Whether the storage is shared by all, or admits no more than it can serve at full speed.
    unequal : float
        Standard deviation of the logarithm of the speed of a stream, by program.
    correlation : float
        0 to 1: how much of the logarithm of a program's size (standard deviation .5) its stages have in
        common; zero for programs of one size.
    neighbours : Neighbours, optional
        Others on the storage.
    replications : int
        Independent ones.
    seed : int
        Of all random numbers.
    confidence : float
        Of the intervals over replications.

    Returns
    -------
    SharingSimulation
        Times with intervals.

    Raises
    ------
    ModelError
        If an argument is out of its range.

    Examples
    --------
    >>> stage = StageCurve("io", 2.0, io_share=1.0, streams=1.0)
    >>> found = simulate_start([stage], 4, bursts=1, scv=0.0, replications=2)
    >>> round(found.seconds.mean, 9)
    8.0
    """
    ends = _replicated(
        stages,
        programs,
        replications,
        seed,
        bursts=bursts,
        scv=scv,
        geometric=geometric,
        order=order,
        unequal=unequal,
        correlation=correlation,
        neighbours=neighbours,
    )
    begun = np.concatenate([np.zeros((*ends.shape[:2], 1)), ends[:, :, :-1]], axis=2)
    parts = (ends - begun).mean(axis=1)
    return SharingSimulation(
        programs=programs,
        seconds=estimate(ends[:, :, -1].max(axis=1).tolist(), confidence=confidence),
        response=estimate(ends[:, :, -1].mean(axis=1).tolist(), confidence=confidence),
        stages=tuple(estimate(parts[:, k].tolist(), confidence=confidence) for k in range(len(stages))),
    )


def simulate_closed(
    stages: Sequence[StageCurve],
    programs: int,
    *,
    think: float = 0.0,
    repeats: int = 200,
    bursts: int = 1,
    scv: float = 1.0,
    order: str = "ps",
    unequal: float = 0.0,
    neighbours: Neighbours | None = None,
    replications: int = 10,
    seed: int = 0,
    confidence: float = 0.95,
) -> SharingSimulation:
    """Simulate so many programs, each begun again when it has ended; the first fifth is not counted.

    Parameters
    ----------
    stages : sequence of StageCurve
        Of the program.
    programs : int
        In the system.
    think : float
        Mean seconds between the end of a program and the next in its place, exponential.
    repeats : int
        Programs one after the other in each place.
    bursts : int
        Rounds of a stage, as in `simulate_start`.
    scv : float
        Of bursts.
    order : {"ps", "fcfs"}
        Of the storage.
    unequal : float
        Of the speeds of streams.
    neighbours : Neighbours, optional
        Others on the storage.
    replications : int
        Independent ones.
    seed : int
        Of all random numbers.
    confidence : float
        Of the intervals over replications.

    Returns
    -------
    SharingSimulation
        `seconds` is the mean time of a program.

    Examples
    --------
    >>> stage = StageCurve("io", 2.0, io_share=0.5, streams=1.0)
    >>> simulate_closed([stage], 2, seed=1, confidence=0.999).seconds.contains(2.5)
    True
    """
    repeats = whole_number("repeats", repeats, least=10)
    think = real_number("think", think, least=0.0)
    ends = _replicated(
        stages,
        programs,
        replications,
        seed,
        bursts=bursts,
        scv=scv,
        order=order,
        unequal=unequal,
        neighbours=neighbours,
        repeats=repeats,
        think=think,
    )
    size = len(stages)
    last = ends[:, :, size - 1 :: size]
    # Throughput between marks gives the mean with the least bias: Little's law.
    low, high = 0.2 * last.max(axis=2).min(axis=1), last.max(axis=2).min(axis=1)
    done = ((last > low[:, None, None]) & (last <= high[:, None, None])).sum(axis=(1, 2))
    response = programs * (high - low) / done - think
    found = estimate(response.tolist(), confidence=confidence)
    return SharingSimulation(programs, found, found, ())


def _replicated(
    stages: Sequence[StageCurve],
    programs: int,
    replications: int,
    seed: int,
    *,
    bursts: int,
    scv: float,
    order: str,
    unequal: float,
    neighbours: Neighbours | None,
    geometric: bool = False,
    correlation: float = 0.0,
    repeats: int = 1,
    think: float = 0.0,
) -> Array:
    """Ends of all stages by replication, program and stage, (replications, programs, stages)."""
    programs = whole_number("programs", programs, least=1)
    bursts = whole_number("bursts", bursts, least=1)
    replications = whole_number("replications", replications, least=2)
    scv = real_number("scv", scv, least=0.0)
    unequal = real_number("unequal", unequal, least=0.0)
    correlation = share("correlation", correlation)
    one_of("order", order, ORDERS)
    if not stages or not all(isinstance(stage, StageCurve) for stage in stages):
        raise ModelError("stages must be one or more StageCurve")
    every = list(stages) * repeats
    creep = np.array([stage.creep for stage in stages])
    level = np.array([min(stage.level, 1e300) for stage in stages])
    loss = np.array([stage.loss for stage in stages])
    alone = sum(stage.seconds for stage in every) + think * repeats
    found = []
    for r in range(replications):
        rng = stream(seed, "storage", r)
        counts = rng.geometric(1.0 / bursts, size=(programs, len(every))) if geometric else None
        most = bursts if counts is None else int(counts.max())
        work, moved, weight, which = _bursts(every, programs, most, bursts, counts, scv, rng)
        away = np.zeros((programs, len(every)))
        if think:
            away[:, len(stages) :: len(stages)] = rng.exponential(think, size=(programs, repeats - 1))
        if unequal:
            slower = np.exp(unequal * rng.standard_normal((programs, 1)))
            moved, weight = moved * slower, weight / slower
        if correlation:
            common = rng.standard_normal((programs, 1)) * math.sqrt(correlation)
            own = rng.standard_normal((programs, len(every))) * math.sqrt(1.0 - correlation)
            size = np.exp(0.5 * (common + own) - 0.125)[:, which]
            work, moved = work * size, moved * size
        ends = np.zeros((programs, len(every)))
        given = (work, moved, weight, which, creep, level, loss, away, order == "fcfs")
        if neighbours is None:
            play(*given, np.zeros(0), 0.0, ends)
            found.append(ends)
            continue
        k = min(60 * (1 + alone * programs / (neighbours.on + neighbours.off)), _MOST_SWITCHES)
        switches = np.zeros(1)
        while ends.max() >= switches[-1]:  # neighbours who slow all down may come more often than foreseen
            if switches.size + 2 * k > _MOST_SWITCHES:
                raise ModelError(
                    f"neighbours come and go too often, {int(switches.size + 2 * k):,} times or more before "
                    f"the programs end; give longer on and off, or less that they use"
                )
            gaps = rng.exponential(size=(int(k), 2)) * [neighbours.off, neighbours.on]
            more = switches[-1] + np.cumsum(gaps.ravel())
            switches = more if switches.size == 1 else np.concatenate([switches, more])
            play(*given, switches, neighbours.uses, ends)
            k = switches.size
        found.append(ends)
    return np.array(found)


def _bursts(
    every: Sequence[StageCurve],
    programs: int,
    most: int,
    bursts: int,
    counts: Ints | None,
    scv: float,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array, Ints]:
    """Own work, transfers and weights of streams, (programs, rounds) each, and stages (rounds,)."""
    which = np.repeat(np.arange(len(every)), most)
    own = np.array([stage.seconds * (1.0 - stage.io_share) for stage in every])[which] / bursts
    io = np.array([stage.seconds * stage.io_share for stage in every])[which] / bursts
    uses = np.array([max(1.0 / stage.streams, _NOTHING) for stage in every])[which]
    shape = (programs, which.size)
    work, moved = (mean * _draw(shape, scv, rng) for mean in (own, io))
    if counts is not None:
        number = np.tile(np.arange(most), len(every))
        there = number < counts[:, which]
        work, moved = work * there, moved * there
    return work, moved, np.broadcast_to(uses, shape).copy(), which


def _draw(shape: tuple[int, int], scv: float, rng: np.random.Generator) -> Array:
    """Numbers of mean 1 with this squared coefficient of variation."""
    if scv == 0.0:
        return np.ones(shape)
    return np.asarray(rng.gamma(1.0 / scv, scv, size=shape))
