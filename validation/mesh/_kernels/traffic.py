"""Traffic patterns: how many messages a stream sends, and where each of them goes."""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED
from validation.mesh._kernels.records import (
    ALL_TO_ALL,
    ALL_TO_ONE,
    FFT,
    HALO,
    MIXED,
    N_BODY,
    NEIGHBOUR,
    ONE_TO_ALL,
    RANDOM,
    READ,
    RING,
    WRITE,
)


@njit(**UNCOUNTED)
def random(streams, q):
    """Uniform on [0, 1): the stream's own splitmix64 sequence (Steele, Lea, Flood 2014)."""
    z = np.uint64(streams[q].draws) + np.uint64(0x9E3779B97F4A7C15)
    streams[q].draws = np.int64(z)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(**UNCOUNTED)
def halo_step(phase, rank, n, direction):
    """How far, in ranks, the neighbour in one of six directions is; 0 where there is none.

    Ranks fill a grid of ``phase.wide`` by ``phase.deep`` by as many layers as it takes, x first;
    where it is 0 by 0, the sides are those nearest to a cube that hold n ranks.
    """
    wide, deep = phase.wide, phase.deep
    if wide == 0:
        wide = deep = 1
        while wide * wide * wide < n:
            wide += 1
        while wide * deep * deep < n:
            deep += 1
    layer = wide * deep
    if direction == 0:
        return 1 if (rank + 1) % wide != 0 and rank + 1 < n else 0
    if direction == 1:
        return -1 if rank % wide != 0 else 0
    if direction == 2:
        return wide if rank % layer + wide < layer and rank + wide < n else 0
    if direction == 3:
        return -wide if rank % layer >= wide else 0
    if direction == 4:
        return layer if rank + layer < n else 0
    return -layer if rank >= layer else 0


@njit(**UNCOUNTED)
def messages_of(phase, rank, n, m):
    """How many messages the stream of this rank sends in a phase."""
    kind, rounds = phase.kind, phase.rounds
    if kind == READ:
        return rounds * n if rank >= n else 0
    if rank >= n:
        return 0
    if kind == WRITE:
        return rounds * m
    if kind == MIXED:
        return rounds
    if n == 1:
        return rounds if kind == RANDOM and phase.targets > 0 else 0
    if kind == ALL_TO_ALL:
        return rounds * (n - 1)
    if kind == ONE_TO_ALL:
        return rounds * (n - 1) if rank == phase.root else 0
    if kind == ALL_TO_ONE:
        return rounds if rank != phase.root else 0
    if kind == N_BODY:
        return rounds * ((n - 1) // 2 + 1)
    if kind == FFT:
        partners, bit = 0, 1
        while bit < n:
            partners += (rank ^ bit) < n
            bit *= 2
        return rounds * partners
    if kind == NEIGHBOUR:
        width = int(np.ceil(np.sqrt(n)))
        column = rank % width
        beside = (column + 1 < width and rank + 1 < n) + (column > 0)
        return rounds * (beside + (rank + width < n) + (rank >= width))
    if kind == HALO:
        beside = 0
        for direction in range(6):
            beside += halo_step(phase, rank, n, direction) != 0
        return rounds * beside
    return rounds  # random, ring


@njit(**UNCOUNTED)
def length(phase, i, count):
    """Flits of message i of a stream that sends `count`; the last round may have its own."""
    if phase.last_flits > 0 and i >= count - count // phase.rounds:
        return phase.last_flits
    return phase.flits


@njit(**UNCOUNTED)
def destination(streams, phase, q, i, n, m):
    """Rank that message i of stream q goes to; I/O nodes come after the n nodes."""
    kind, rank = phase.kind, streams[q].rank
    if kind == ALL_TO_ALL:
        return (rank + 1 + i % (n - 1)) % n
    if kind == ONE_TO_ALL:
        return (rank + 1 + i % (n - 1)) % n
    if kind == ALL_TO_ONE:
        return phase.root
    if kind == RING:
        return (rank + 1) % n
    if kind == RANDOM:
        if phase.targets > 0:  # among so many of the first, itself not excluded
            return int(random(streams, q) * phase.targets)
        return (rank + 1 + int(random(streams, q) * (n - 1))) % n
    if kind == N_BODY:
        round_of = (n - 1) // 2 + 1
        return (rank + (1 if i % round_of < round_of - 1 else n // 2)) % n
    if kind == FFT:
        partners = streams[q].count // phase.rounds
        skip, bit = i % partners, 1
        while True:
            if rank ^ bit < n:
                if skip == 0:
                    return rank ^ bit
                skip -= 1
            bit *= 2
    if kind == NEIGHBOUR:
        width = int(np.ceil(np.sqrt(n)))
        skip = i % (streams[q].count // phase.rounds)
        column = rank % width
        if column + 1 < width and rank + 1 < n:
            if skip == 0:
                return rank + 1
            skip -= 1
        if column > 0:
            if skip == 0:
                return rank - 1
            skip -= 1
        if rank + width < n and skip == 0:
            return rank + width
        return rank - width
    if kind == HALO:
        skip = i % (streams[q].count // phase.rounds)
        for direction in range(6):
            step = halo_step(phase, rank, n, direction)
            if step != 0:
                if skip == 0:
                    return rank + step
                skip -= 1
    if kind == READ:
        return (streams[q].io_offset + i) % n
    if kind == WRITE:
        return n + (streams[q].io_offset + i) % m
    # Mixed: each slot is I/O with the given probability; both kinds cycle on their own.
    if n == 1 or random(streams, q) < phase.io_share:
        streams[q].io_offset += 1
        return n + (streams[q].io_offset - 1) % m
    streams[q].other_offset += 1
    return (rank + 1 + (streams[q].other_offset - 1) % (n - 1)) % n


@njit(**UNCOUNTED)
def count(phases, counts, n, m):
    """Fill counts (phase runs, n + m streams) with messages; returns their sum."""
    total = 0
    for run in range(counts.shape[0]):
        for rank in range(n + m):
            counts[run, rank] = messages_of(phases[run % phases.shape[0]], rank, n, m)
            total += counts[run, rank]
    return total


@njit(**UNCOUNTED)
def expand(streams, phases, counts, n, m, out):
    """List every message in out (messages,)."""
    at = 0
    for run in range(counts.shape[0]):
        phase = phases[run % phases.shape[0]]
        for rank in range(n + m):
            streams[rank].count = counts[run, rank]
        for rank in range(n + m):
            for i in range(counts[run, rank]):
                where = destination(streams, phase, rank, i, n, m)
                message = out[at]
                message.run, message.step = run, i
                message.flits = length(phase, i, counts[run, rank])
                message.source, message.target = streams[rank].router, streams[where].router
                if phase.interval > 1.0:
                    random(streams, rank)  # the gap that the simulator draws after it
                at += 1
