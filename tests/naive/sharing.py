"""Job-level simulation of SP, DP and TS, written to be read: one object per job, no arrays.

Arbiter for `validation.sharing._kernels`: same rules, no shared code, any speed.
"""

from dataclasses import dataclass


@dataclass(eq=False)
class Running:
    number: int
    bursts: list  # [(kind, factor, phase)], the one in progress first
    left: float  # share of the burst in progress still to do
    partition: int = 0
    disk: int = 0
    queued: int = 0  # when its computation burst joined the processor queue


def simulate(kind, limit, arrivals, factors, io_time, cpu_time, disk_of, disks, cpu_sharing=False):
    """Response time of every job.

    kind: "static", "dynamic" or "timed"; factors[j]: list of (io, cpu) multipliers per phase;
    io_time[allotment][phase] in seconds.
    """
    running, waiting, response = [], [], {}
    todo = list(enumerate(arrivals))
    clock, tickets = 0.0, 0

    def seconds(job):
        what, factor, phase = job.bursts[0]
        row = len(running) - 1 if kind == "dynamic" else job.partition
        table = io_time if what == "io" else cpu_time
        return factor * table[row][phase % len(table[row])]

    def speed(job):
        """Share of the burst done per second; infinite for one of no length."""
        whole = seconds(job)
        if whole == 0:
            return float("inf")
        if job.bursts[0][0] == "io":
            sharers = sum(r.disk == job.disk and r.bursts[0][0] == "io" for r in running)
            return 1 / (whole * sharers)
        peers = [r for r in running if r.partition == job.partition and r.bursts[0][0] == "cpu"]
        if kind == "timed" and cpu_sharing:
            return 1 / (whole * len(peers))
        if kind == "timed" and min(peers, key=lambda r: r.queued) is not job:
            return 0.0
        return 1 / whole

    def place():
        on_disk = [sum(r.disk == k for r in running) for k in range(disks)]
        if kind == "dynamic":
            return 0, on_disk.index(min(on_disk)) if len(running) < limit else None
        choices = []
        for c, k in enumerate(disk_of):
            here = [r for r in running if r.partition == c]
            if len(here) >= limit:
                continue
            if kind == "static":
                choices.append((on_disk[k], c, k))
            else:
                computing = any(r.bursts[0][0] == "cpu" for r in here)
                moving = any(r.disk == k and r.bursts[0][0] == "io" for r in running)
                choices.append((computing + moving, len(here), c, k))
        return min(choices)[-2:] if choices else (0, None)

    while todo or running:
        ends = [(r.left / speed(r) if speed(r) > 0 else float("inf"), r) for r in running]
        soonest = min((e for e, _ in ends), default=float("inf"))
        arrives = todo[0][0:2][1] - clock if todo else float("inf")
        step = min(soonest, arrives)
        done = [r for e, r in ends if e == soonest][:1] if soonest < arrives else []
        rates = [(r, speed(r)) for r in running]
        for r, rate in rates:
            if step > 0:
                r.left -= rate * step
        if not done:
            number, clock = todo.pop(0)
            waiting.append(number)
        else:
            clock += step
            (job,) = done
            job.bursts.pop(0)
            job.left = 1.0
            if not job.bursts:
                running.remove(job)
                response[job.number] = clock - arrivals[job.number]
            elif job.bursts[0][0] == "cpu":
                job.queued = tickets
                tickets += 1
        while waiting:
            partition, disk = place()
            if disk is None:
                break
            number = waiting.pop(0)
            bursts = []
            for n, (io, cpu) in enumerate(factors[number]):
                bursts += [("io", io, n), ("cpu", cpu, n)]
            running.append(Running(number, bursts, 1.0, partition, disk))
    return [response[j] for j in range(len(arrivals))]
