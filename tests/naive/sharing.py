"""Job-level simulation of SP, DP and TS, written to be read: one object per job, no arrays.

Arbiter for `validation.sharing._kernels`: same rules, no shared code, any speed.
"""

from dataclasses import dataclass
from itertools import count


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
        row = len(running) - 1 if kind == "dynamic" else job.partition
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
        queue = sorted((r for r in running if station(r) == place and r is not job),
                       key=lambda r: r.queued)  # fmt: skip
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
