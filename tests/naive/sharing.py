"""Job-level simulation of SP, DP and TS, written to be read: one object per job, no arrays.

Arbiter for `validation.sharing`: same rules, no shared code, any speed. Who may run where, and how
many, is worked out here from the policy's own parameters, by the rules of Rosti et al. 1998:

- SP(K_P, K_D), sec. 3.3: one job on each of K_P processor partitions; partition c works on disk
  partition c mod K_D. Whole processors and disks, larger partitions first, unless sizes are given.
- DP(K_D), sec. 3.4: at most floor(P / M_P) jobs; k of them have P / k processors each, and a job
  keeps the disk partition of the fewest jobs that it found when it started; whole disks as above.
- TS(K_P, K_D) of level M, sec. 3.5: as SP, but M jobs on each processor partition; M K_P of them,
  or M min(K_P, K_D) where the cap is "min".
"""

from dataclasses import dataclass
from itertools import count


@dataclass
class Limits:
    """A policy on a machine, in numbers."""

    kind: str  # "static", "dynamic" or "timed"
    each: int  # jobs of a processor partition, or running at most
    most: int  # jobs running at most
    sizes: list  # processors of each processor partition; of k running jobs, under "dynamic"
    disk_of: list  # disk partition of each processor partition
    disks: list  # disks of each disk partition
    cpu: str  # discipline at the processors


def _whole(units, parts):
    """So many whole units in parts as equal as can be, larger parts first."""
    sizes = [0] * parts
    for unit in range(units):
        sizes[unit % parts] += 1
    return sizes


def limits(policy, system):
    """What a policy allows on a machine; told by its name and its parameters alone."""
    kind = {"SP": "static", "DP": "dynamic", "TS": "timed"}[policy.label[:2]]
    k_d = policy.disk_partitions
    if kind == "dynamic":
        most = 0
        while (most + 1) * system.min_processors <= system.processors:
            most += 1
        sizes = [system.processors / k for k in range(1, most + 1)]
        return Limits(kind, most, most, sizes, [], _whole(system.disks, k_d), "fcfs")
    k_p = policy.processor_partitions
    sizes = list(getattr(policy, "sizes", None) or _whole(system.processors, k_p))
    # Where there are more disk partitions than processor partitions, some are never used.
    used = min(k_d, k_p)
    disk_of = [c % used for c in range(k_p)]
    disks = _whole(system.disks, k_d)[:used]
    if kind == "static":
        return Limits(kind, 1, k_p, sizes, disk_of, disks, "fcfs")
    m = policy.multiprogramming
    most = m * (used if policy.ts_cap == "min" else k_p)
    return Limits(kind, m, most, sizes, disk_of, disks, policy.cpu_discipline)


def played(policy, system, times, arrivals, factors, picks=(), pauses=None):
    """Response time of every job under a policy; times(p, d): mean bursts (io, cpu) by phase."""
    found = limits(policy, system)
    if found.kind == "dynamic":  # every number of jobs on every disk partition
        rows = [times(p, d) for p in found.sizes for d in found.disks]
    else:
        rows = [times(p, found.disks[k]) for p, k in zip(found.sizes, found.disk_of, strict=True)]
    return simulate(
        found.kind,
        found.each,
        arrivals,
        factors,
        [list(io) for io, _ in rows],
        [list(cpu) for _, cpu in rows],
        found.disk_of,
        len(found.disks),
        found.cpu,
        system.disk_discipline,
        most=found.most,
        pauses=pauses,
        picks=picks,
    )


@dataclass(eq=False)
class Running:
    number: int
    bursts: list  # [(kind, factor, phase)], the one in progress first
    left: float  # share of the burst in progress still to do
    partition: int = 0
    disk: int = 0
    queued: int = 0  # when its burst joined its queue


def simulate(
    kind,
    limit,
    arrivals,
    factors,
    io_time,
    cpu_time,
    disk_of,
    disks,
    cpu="fcfs",
    disk="ps",
    most=None,
    pauses=None,
    picks=(),
):
    """Response time of every job.

    kind: "static", "dynamic" or "timed"; limit: jobs of a processor partition, or running at
    most; factors[j]: list of (io, cpu) multipliers per phase; io_time[allotment][phase] in
    seconds; cpu, disk: "ps", "fcfs" or "siro"; most: jobs running at most; pauses(i, n): seconds
    of the n-th pause, i jobs running; picks: which of the bursts waiting is served next.
    """
    running, waiting, response, in_turn = [], [], {}, {}
    todo = list(enumerate(arrivals))
    clock, tickets, pause, paused_until, drawn = 0.0, count(), count(), 0.0, iter(picks)
    most = most or limit * (1 if kind == "dynamic" else len(disk_of))

    def seconds(job):
        what, factor, phase = job.bursts[0]
        row = job.partition
        if kind == "dynamic":
            kinds = len(io_time) // limit  # of disk partitions, one if all are alike
            row = (len(running) - 1) * kinds + min(job.disk, kinds - 1)
        table = io_time if what == "io" else cpu_time
        return factor * table[row][phase % len(table[row])]

    def station(job):
        """Where its burst is served; under dynamic partitioning a job computes by itself."""
        if job.bursts[0][0] == "io":
            return "disk", job.disk
        return "cpu", job.number if kind == "dynamic" else job.partition

    def peers(job):
        return [r for r in running if station(r) == station(job)]

    def speed(job):
        """Share of the burst done per second; infinite for one of no length."""
        whole = seconds(job)
        if whole == 0:
            return float("inf")
        if clock < paused_until:
            return 0.0
        if (disk if station(job)[0] == "disk" else cpu) == "ps":
            return 1 / (whole * len(peers(job)))
        return 1 / whole if in_turn.get(station(job)) is job else 0.0

    def joins(job):
        job.left, job.queued = 1.0, next(tickets)
        if seconds(job) > 0 and len(peers(job)) == 1:
            in_turn[station(job)] = job

    def leaves(job, place):
        """Hand its station, left by `job`, to the next burst."""
        if in_turn.get(place) is not job:
            return
        del in_turn[place]
        queue = sorted((r for r in running if station(r) == place and r is not job), key=lambda r: r.queued)
        if queue:
            siro = (disk if place[0] == "disk" else cpu) == "siro"
            in_turn[place] = queue[int(next(drawn) * len(queue)) if siro else 0]

    def place():
        on_disk = [sum(r.disk == k for r in running) for k in range(disks)]
        if len(running) == most:
            return 0, None
        if kind == "dynamic":
            return 0, on_disk.index(min(on_disk))
        choices = []
        for c, k in enumerate(disk_of):
            here = [r for r in running if r.partition == c]
            if len(here) >= limit:
                continue
            if kind == "static":
                choices.append((on_disk[k], k, c, k))
            else:
                computing = any(r.bursts[0][0] == "cpu" for r in here)
                moving = any(r.disk == k and r.bursts[0][0] == "io" for r in running)
                choices.append((computing + moving, len(here), c, k))
        return min(choices)[-2:] if choices else (0, None)

    while todo or running:
        ends = [(r.left / speed(r) if speed(r) > 0 else float("inf"), r) for r in running]
        soonest = min((e for e, _ in ends), default=float("inf"))
        arrives = todo[0][1] - clock if todo else float("inf")
        resumes = paused_until - clock if paused_until > clock else float("inf")
        step = min(soonest, arrives, resumes)
        done = [r for e, r in ends if e == soonest][:1] if soonest < min(arrives, resumes) else []
        rates = [(r, speed(r)) for r in running]
        for r, rate in rates:
            if step > 0:
                r.left -= rate * step
        before = len(running)
        if done:
            clock += step
            (job,) = done
            old = station(job)
            leaves(job, old)
            job.bursts.pop(0)
            if job.bursts:
                joins(job)
            else:
                running.remove(job)
                response[job.number] = clock - arrivals[job.number]
        elif arrives <= resumes:
            number, clock = todo.pop(0)
            waiting.append(number)
        else:
            clock = paused_until
        while waiting:
            partition, at = place()
            if at is None:
                break
            number = waiting.pop(0)
            bursts = []
            for n, (io, cpu_factor) in enumerate(factors[number]):
                bursts += [("io", io, n), ("cpu", cpu_factor, n)]
            running.append(Running(number, bursts, 1.0, partition, at))
            joins(running[-1])
        if pauses and running and len(running) != before:
            paused_until = clock + pauses(len(running), next(pause))
    return [response[j] for j in range(len(arrivals))]
