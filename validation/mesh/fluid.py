"""Fidelity 1: messages as fluids that share the channels of their routes max-min fairly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.mesh._kernels import fluids, routes
from validation.mesh.link_load import Job, channel_pace, expanded_jobs, wires
from validation.mesh.topology import Mesh


@dataclass(frozen=True, eq=False, kw_only=True)
class FluidRun(Record):
    """Times at which the fluids of each job had all arrived, all jobs having started at 0."""

    finish: Mapping[Hashable, float]  #: cycles
    mean_latency: float  #: cycles from the start of a message to its end
    messages: int  #: that arrived


def fluid(
    mesh: Mesh,
    jobs: Mapping[Hashable, Job],
    *,
    disk_pace: float = 1.0,
    seed: int = 0,
) -> FluidRun:
    """Run jobs whose messages flow at max-min fair rates.

    Parameters
    ----------
    mesh : Mesh
        Where the jobs run.
    jobs : mapping
        For each job its nodes and its `Traffic`.
    disk_pace : float
        Cycles that an I/O node needs for each flit.
    seed : int
        Of the patterns that draw.

    Returns
    -------
    FluidRun
        Finish of each job, and the mean latency.

    Raises
    ------
    ModelError
        If the traffic does not fit the mesh, or makes messages at times of its own (`interval`).

    Notes
    -----
    A node sends one message after the other; each flows along its whole route at once. Whenever
    a message begins or ends, all rates are filled anew [1]_: all grow alike until a channel is
    full, those through it stay, the others grow on. Headers, buffers and the order of messages
    play no part, so it is for messages that are long against their routes.

    References
    ----------
    .. [1] D. Bertsekas, R. Gallager, *Data Networks*, 2nd ed., Prentice Hall 1992, sec. 6.5.2.

    Examples
    --------
    >>> from validation.mesh.traffic import TrafficPhase, Traffic
    >>> mesh = Mesh(1, 4)
    >>> ring = Traffic.of(TrafficPhase(pattern="ring", flits=100))
    >>> fluid(mesh, {"a": ([0, 1, 2], ring)}).finish["a"]
    100.0
    """
    listed = expanded_jobs(mesh, jobs, seed=seed)
    plans = [job[1] for job in jobs.values()]
    for plan in plans:
        for phase in plan.phases:
            if phase.interval:
                raise ModelError("fidelity 'fluid' has no messages with an interval; use 'worm'")
    capacity = 1.0 / channel_pace(mesh, disk_pace)
    # Turns: the messages of one source within a step, which flow one after the other.
    queues: list[list[list[Ints]]] = []  # job, step: the queue of each source
    pauses: list[list[int]] = []
    begin = 0
    for plan, part in zip(plans, listed, strict=True):
        steps: list[list[Ints]] = []
        waits: list[int] = []
        edges = np.searchsorted(part.run, np.arange(plan.runs + 1))
        for run in range(plan.runs):
            phase = plan.phases[run % len(plan.phases)]
            inside = np.arange(edges[run], edges[run + 1])
            keys = part.step[inside] if phase.lockstep else np.zeros(inside.size, np.int64)
            parts = [inside[keys == key] for key in np.unique(keys)] or [inside]
            for k, members in enumerate(parts):
                by_source = np.argsort(part.source[members], kind="stable")
                cuts = np.flatnonzero(np.diff(part.source[members][by_source])) + 1
                steps.append(np.split(members[by_source] + begin, cuts))
                waits.append(phase.pause if k == 0 else 0)
        queues.append(steps)
        pauses.append(waits)
        begin += part.source.size
    ends = [np.concatenate([getattr(part, end) for part in listed]) for end in ("source", "target")]
    flits = np.concatenate([part.flits for part in listed]).astype(float)
    first, channels = _all_routes(mesh, *ends)
    finish, spent = _simulate(queues, pauses, first, channels, flits, capacity)
    return FluidRun(
        finish=dict(zip(jobs, finish, strict=True)),
        mean_latency=spent / max(begin, 1),
        messages=begin,
    )


def _all_routes(mesh: Mesh, sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
    """Wires of all messages, one after the other, and where those of each begin."""
    room = np.empty(2 + mesh.rows + mesh.columns + mesh.depth, np.int64)
    parts, wire_of = [], wires(mesh)
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        length = routes.route(mesh.grid, source, target, room)
        parts.append(wire_of[room[:length]])
    first = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)])
    return first, np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _simulate(
    queues: list[list[list[Ints]]],
    pauses: list[list[int]],
    first: Ints,
    channels: Ints,
    flits: Array,
    capacity: Array,
) -> tuple[list[float], float]:
    """Finish of each job, and the sum of the messages' times."""
    now, spent = 0.0, 0.0
    finish = [0.0] * len(queues)
    step = [0] * len(queues)
    resume = {job: float(waits[0]) for job, waits in enumerate(pauses)}  # when a step begins
    flows: list[int] = []  # messages under way
    owner: dict[int, tuple[int, int, int]] = {}  # job, source, place in its queue
    left = flits.copy()
    began = np.zeros(flits.size)
    room = np.zeros(capacity.size), np.zeros(capacity.size, np.int64), np.zeros_like(channels)
    while resume or flows:
        for job in [job for job, time in resume.items() if time <= now]:
            del resume[job]
            for source, queue in enumerate(queues[job][step[job]]):
                if queue.size:
                    flows.append(int(queue[0]))
                    owner[int(queue[0])] = job, source, 0
                    began[queue[0]] = now
            if not any(who[0] == job for who in owner.values()):
                _step_to_next_change(job, now, step, queues, pauses, resume, finish)
        if not flows:
            now = max(now, min(resume.values(), default=now))
            continue
        active = np.array(flows)
        rates = np.empty(active.size)
        fluids.fair_rates(first, channels, active, capacity, *room, rates)
        until = left[active] / rates
        dt = float(until.min())
        pause = min(resume.values(), default=np.inf) - now
        done = active[until <= dt * (1 + 1e-12)] if dt <= pause else active[:0]
        now += min(dt, pause)
        left[active] -= rates * min(dt, pause)
        for message in done.tolist():
            spent += now - began[message]
            flows.remove(message)
            job, source, place = owner.pop(message)
            queue = queues[job][step[job]][source]
            if place + 1 < queue.size:
                following = int(queue[place + 1])
                flows.append(following)
                owner[following] = job, source, place + 1
                began[following] = now
            elif not any(who[0] == job for who in owner.values()):
                _step_to_next_change(job, now, step, queues, pauses, resume, finish)
    return finish, spent


def _step_to_next_change(
    job: int,
    now: float,
    step: list[int],
    queues: list[list[list[Ints]]],
    pauses: list[list[int]],
    resume: dict[int, float],
    finish: list[float],
) -> None:
    step[job] += 1
    if step[job] == len(queues[job]):
        finish[job] = now
    else:
        resume[job] = now + pauses[job][step[job]]
