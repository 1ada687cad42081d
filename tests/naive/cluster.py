"""The balanced cluster, written to be read: one object per job, everything computed afresh.

Arbiter for `validation.cluster`: same rules, no shared code, any speed. The fluid state is found by
full sweeps over all jobs until nothing moves; loads are summed up anew whenever they are asked for;
the balancers are written from the specification, rule by rule.
"""

from dataclasses import dataclass, field
from statistics import NormalDist

MONITORED = 0.256  # MB of an access by which the bandwidth of a disk is judged
ROUNDING = 1e-9  # CPU-seconds that are none


@dataclass
class Job:
    """A job, its tasks' nodes, and how far it has come."""

    number: int
    arrival: float
    defaults: list
    cpu: float
    memory: float
    rate: float  # accesses per CPU-second
    request: float
    initial: float
    writes: float
    reaccess: float
    faults: float  # per CPU-second
    nodes: list = field(default_factory=list)
    left: float = 0.0
    pace: float = 0.0
    thaw: float = 0.0
    cool: float = 0.0
    finish: float = 0.0
    frozen: float = 0.0
    moved: int = 0
    c: list = field(default_factory=list)
    q: list = field(default_factory=list)


def mean_of_the_slowest(tasks):
    """Mean of the largest of tasks (steady time, mean of a Gamma law on top, its scale).

    Pairs of normal laws one after the other (Clark 1961); then what the skewness of the Gamma laws
    adds (Cornish and Fisher 1960), for the task that is the largest, on average.
    """
    normal = NormalDist()
    laws = [(steady + more, more * scale, scale) for steady, more, scale in tasks]
    mean, variance, _ = winner = laws[0]
    for law in laws[1:]:
        a = (variance + law[1]) ** 0.5
        if law[0] - mean > 4 * a:
            mean, variance, _ = winner = law
        elif mean - law[0] < 4 * a:
            x = (mean - law[0]) / a
            p, d = normal.cdf(x), normal.pdf(x)
            first = mean * p + law[0] * (1 - p) + a * d
            second = (mean**2 + variance) * p + (law[0] ** 2 + law[1]) * (1 - p)
            second += (mean + law[0]) * a * d
            mean, variance = first, max(second - first**2, 0)
            winner = [p * one + (1 - p) * other for one, other in zip(winner, law, strict=True)]
    if winner[1] > 0:
        sd, theta = winner[1] ** 0.5, winner[2]
        z, v = (mean - winner[0]) / sd, variance / winner[1]
        z2, z3 = z**2 + v, z**3 + 3 * z * v
        mean += theta / 3 * (z2 - 1) + theta**2 / (36 * sd) * (z3 - 7 * z)
    one_by_one = max(task[0] for task in tasks) + sum(task[1] for task in tasks)
    return max(min(mean, one_by_one), max(law[0] for law in laws))


class Fluid:
    """A cluster in the fluid model, under a balancer named in the specification."""

    def __init__(self, cluster, trace, balancer, *, sweeps=2000, tolerance=1e-12):
        self.kinds, self.cluster = list(cluster.nodes), cluster
        self.balancer, self.sweeps, self.tolerance = balancer, sweeps, tolerance
        count = len(self.kinds)
        self.jobs = [
            Job(
                i,
                float(trace.arrivals[i]),
                [(int(trace.homes[i]) + u) % count for u in range(int(trace.tasks[i]))],
                float(trace.demands[i]),
                float(trace.memory[i]),
                1000 * float(trace.io_rates[i]),
                float(trace.requests[i]),
                float(trace.initial[i]),
                float(trace.writes[i]),
                float(trace.reaccess[i]),
                1000 * float(trace.fault_rates[i]),
            )
            for i in range(trace.jobs)
        ]
        self.here, self.waiting, self.now = [], [], 0.0
        self.moves = []  # (job, from, to, cost)

    # Loads.
    def at(self, n):
        return [(job, u) for job in self.here for u, node in enumerate(job.nodes) if node == n]

    def tasks(self, n):
        return len(self.at(n))

    def memory(self, n):
        return sum(job.memory for job, _ in self.at(n))

    def io(self, n):
        lack = self.lack(self.memory(n), n)
        return sum(job.rate + lack * job.faults for job, _ in self.at(n))

    def lack(self, load, n):
        return max(load - self.kinds[n].memory, 0.0) / load if load else 0.0

    def disk(self, job, n, load):
        kind = self.kinds[n]
        access = kind.access / 1000 + job.request / kind.disk_rate
        return job.rate * access + job.faults * self.lack(load, n) * kind.fault / 1000

    def scale(self, job, n, load):
        """Of the Gamma law of a task's disk time, for each CPU-second, where nobody shares."""
        kind, disk = self.kinds[n], self.disk(job, n, load)
        if disk == 0:
            return 0.0
        access, fault = kind.access / 1000 + job.request / kind.disk_rate, kind.fault / 1000
        squares = job.rate * access**2 + job.faults * self.lack(load, n) * fault**2
        between = min(self.cluster.barrier / 1000, job.cpu)
        return self.cluster.access_dispersion * squares / disk / between

    def mean_cpu(self, n):
        return sum(job.c[u] for job, u in self.at(n))

    def mean_disk(self, n):
        return sum(job.q[u] for job, u in self.at(n))

    def settle(self):
        """Find the paces: sweep over all running jobs until no share of time moves."""
        running = [job for job in self.here if job.thaw <= self.now]
        for job in self.here:
            if job not in running:
                job.c, job.q, job.pace = [0.0] * len(job.nodes), [0.0] * len(job.nodes), 0.0
        members = {n: self.at(n) for n in {n for job in running for n in job.nodes}}
        loads = {n: self.memory(n) for n in members}
        for _ in range(self.sweeps):
            change = 0.0
            for job in running:
                times, laws = [], []
                for u, n in enumerate(job.nodes):
                    others_c = sum(j.c[v] for j, v in members[n]) - job.c[u]
                    others_q = sum(j.q[v] for j, v in members[n]) - job.q[u]
                    r_c = (1 + others_c) / self.kinds[n].speed
                    r_d = self.disk(job, n, loads[n]) * (1 + others_q)
                    times.append((r_c, r_d))
                    laws.append((r_c, r_d, self.scale(job, n, loads[n]) * (1 + others_q)))
                slow = mean_of_the_slowest(laws)
                if len(job.nodes) > 1:
                    slow += self.cluster.barrier_cost / self.cluster.barrier
                job.pace = 1 / slow
                for u, (r_c, r_d) in enumerate(times):
                    change = max(change, abs(r_c / slow - job.c[u]), abs(r_d / slow - job.q[u]))
                    job.c[u], job.q[u] = r_c / slow, r_d / slow
            if change < self.tolerance:
                return
        raise AssertionError("the fluid state did not settle")

    # Costs.
    def per_mb(self, i, k):
        a, b = self.kinds[i], self.kinds[k]

        def disk(kind):
            return (kind.access / 1000 + MONITORED / kind.disk_rate) / MONITORED

        return 1 / min(a.link, b.link) + disk(a) + disk(b)

    def remote(self, job, i, k):
        return self.cluster.remote_cost + job.initial * self.per_mb(i, k)

    def preempt(self, job, i, k):
        age = job.cpu - job.left
        written = age * job.rate * job.writes * job.request / (job.reaccess + 1)
        link = min(self.kinds[i].link, self.kinds[k].link)
        return self.cluster.preemption_cost + job.memory / link + (job.initial + written) * self.per_mb(i, k)

    # Balancers.
    def stretch(self, job, n):
        """For a task that would come to a node."""
        disk = self.disk(job, n, self.memory(n) + job.memory)
        return (1 + self.mean_cpu(n)) / self.kinds[n].speed + disk * (1 + self.mean_disk(n))

    def rule(self, job):
        name, count = self.balancer, len(self.kinds)
        if name.startswith("IOCM") and any(self.io(n) > 50.0 for n in job.defaults):
            return "io"
        if name in ("IOCM-RE", "IOCM-PM", "memory") and any(
            self.memory(n) + job.memory > self.kinds[n].memory for n in job.defaults
        ):
            return "memory"
        if name in ("NLB", "BS"):
            return None
        mean = sum(self.tasks(n) for n in range(count)) / count
        if any(self.tasks(n) >= 4 and self.tasks(n) > mean for n in job.defaults):
            return "cpu"
        return None

    def key(self, rule, n):
        return {
            "io": lambda: (self.io(n), self.memory(n)),
            "memory": lambda: (self.memory(n),),
            "cpu": lambda: (self.tasks(n),),
        }[rule]()

    def worth(self, rule, job, i, k):
        if rule == "cpu" and not self.balancer.startswith("IOCM"):
            gain = (1 + self.tasks(i)) / self.kinds[i].speed
            gain -= (1 + self.tasks(k)) / self.kinds[k].speed
        else:
            gain = self.stretch(job, i) - self.stretch(job, k)
        return job.cpu * gain > self.remote(job, i, k)

    def choose(self, job):
        rule = self.rule(job)
        if rule is None:
            return list(job.defaults), 0.0
        order = sorted(range(len(self.kinds)), key=lambda n: (*self.key(rule, n), n))
        least = order[: len(job.defaults)]
        unused = [n for n in least if n not in job.defaults]
        nodes, delay = list(job.defaults), 0.0
        others = [u for u, n in enumerate(job.defaults) if n not in least]
        others.sort(key=lambda u: self.key(rule, job.defaults[u]), reverse=True)
        for u in others:
            home = job.defaults[u]
            for k in unused:
                if self.key(rule, k) < self.key(rule, home) and self.worth(rule, job, home, k):
                    nodes[u] = k
                    delay = max(delay, self.remote(job, home, k))
                    unused.remove(k)
                    break
        return nodes, delay

    def relieve(self, job):
        count = len(self.kinds)
        for home in job.defaults:
            for _ in range(4):
                mean = sum(self.io(n) for n in range(count)) / count
                if self.io(home) > 50.0 and self.io(home) > mean:
                    rule = "io"
                elif self.memory(home) > self.kinds[home].memory:
                    rule = "memory"
                else:
                    break
                k = min(range(count), key=lambda n: (*self.key(rule, n), n))
                if k == home or not self.move_one(home, k):
                    break

    def move_one(self, home, k):
        best, most = None, 0.0
        for job, u in self.at(home):
            if job.thaw > self.now or job.cool > self.now or k in job.nodes:
                continue
            disk = self.disk(job, home, self.memory(home))
            stay = (1 + self.mean_cpu(home) - job.c[u]) / self.kinds[home].speed
            stay += disk * (1 + self.mean_disk(home) - job.q[u])
            cost = self.preempt(job, home, k)
            gain = job.left * (stay - self.stretch(job, k)) - cost
            if gain > most:
                best, most, price = (job, u), gain, cost
        if best is None:
            return False
        job, u = best
        job.nodes[u] = k
        job.thaw, job.cool, job.moved = self.now + price, self.now + 2 * price, job.moved + 1
        self.moves.append((job.number, home, k, price))
        self.settle()
        return True

    # Events.
    def start(self, job, nodes, delay):
        job.nodes, job.left, job.thaw = nodes, job.cpu, self.now + delay
        job.c, job.q = [0.0] * len(nodes), [0.0] * len(nodes)
        self.here.append(job)
        self.settle()

    def start_waiting(self):
        while self.waiting:
            free = [n for n in range(len(self.kinds)) if not self.at(n)]
            if len(free) < len(self.waiting[0].defaults):
                return
            job = self.waiting.pop(0)
            self.start(job, free[: len(job.defaults)], 0.0)

    def run(self):
        """Finish times of all jobs."""
        coming = list(self.jobs)
        while coming or self.here:
            ends = [(self.now + j.left / j.pace, 0, j) for j in self.here if j.thaw <= self.now]
            ends += [(j.thaw, 0, j) for j in self.here if j.thaw > self.now]
            if coming:
                ends.append((coming[0].arrival, 1, coming[0]))
            then, kind, who = min(ends, key=lambda event: event[:2])
            for job in self.here:
                if job.thaw <= self.now:
                    job.left = max(job.left - job.pace * (then - self.now), 0.0)
                else:
                    job.frozen += then - self.now
            thawing = kind == 0 and who.thaw > self.now
            self.now = then
            if kind == 1:
                coming.pop(0)
                if self.balancer == "BS":
                    self.waiting.append(who)
                    self.start_waiting()
                else:
                    self.start(who, *self.choose(who))
                    if self.balancer == "IOCM-PM":
                        self.relieve(who)
            elif thawing:
                self.settle()
            else:
                self.here.remove(who)
                who.finish = then
                self.settle()
                if self.balancer == "BS":
                    self.start_waiting()
        return [job.finish for job in self.jobs]


def by_requests(cluster, trace, rng, *, discipline="ps", service="exponential", burst="exponential"):
    """Finish times where every disk access is an event: no balancing, no page faults.

    A task computes between accesses at a CPU that all tasks of its node share; an access waits in
    turn ("fcfs") or is served beside the others ("ps"); it takes an "exponential" or a "fixed"
    time, or that of the "disk": a fixed one and a transfer of a Gamma law of shape 2. A parallel
    job's tasks meet after every `barrier` of computation and go on `barrier_cost` after the last
    has come.
    """
    count = len(cluster.nodes)
    step = cluster.barrier / 1000
    cpu = [{} for _ in range(count)]  # task: CPU-seconds to the next thing that happens
    disk = [{} for _ in range(count)]  # task: seconds of service left, in order of coming
    resting = []  # (when, job) after barriers
    jobs, finish, coming = {}, [0.0] * trace.jobs, list(range(trace.jobs))
    now = 0.0

    def burst_of(job):
        rate = 1000 * float(trace.io_rates[job])
        if rate == 0.0:
            return float("inf")
        return rng.exponential(1 / rate) if burst == "exponential" else 1 / rate

    def service_of(job, node):
        kind = cluster.nodes[node]
        transfer = float(trace.requests[job]) / kind.disk_rate
        if service == "disk":
            return kind.access / 1000 + rng.gamma(2.0, transfer / 2.0)
        mean = kind.access / 1000 + transfer
        return rng.exponential(mean) if service == "exponential" else mean

    def compute(job, u):
        """Put a task on its CPU until its next access, barrier or end."""
        t = jobs[job][u]
        cpu[t["node"]][job, u] = min(t["burst"], t["step"], t["left"])

    while coming or jobs:
        then = trace.arrivals[coming[0]] if coming else float("inf")
        what = ("come", None, None)
        for n in range(count):
            if cpu[n]:
                who = min(cpu[n], key=cpu[n].get)
                at = now + cpu[n][who] * len(cpu[n]) / cluster.nodes[n].speed
                if at < then:
                    then, what = at, ("cpu", n, who)
            if disk[n]:
                if discipline == "ps":
                    who = min(disk[n], key=disk[n].get)
                    at = now + disk[n][who] * len(disk[n])
                else:
                    who = next(iter(disk[n]))
                    at = now + disk[n][who]
                if at < then:
                    then, what = at, ("disk", n, who)
        for at, job in resting:
            if at < then:
                then, what = at, ("on", None, job)
        for n in range(count):
            for who in cpu[n]:
                done = (then - now) * cluster.nodes[n].speed / len(cpu[n])
                cpu[n][who] -= done
                t = jobs[who[0]][who[1]]
                t["burst"] -= done
                t["step"] -= done
                t["left"] -= done
            if disk[n]:
                served = disk[n] if discipline == "ps" else [next(iter(disk[n]))]
                for who in served:
                    disk[n][who] -= (then - now) / (len(disk[n]) if discipline == "ps" else 1)
        now = then
        kind, n, who = what
        if kind == "come":
            job = coming.pop(0)
            many = int(trace.tasks[job])
            jobs[job] = [
                {
                    "node": (int(trace.homes[job]) + u) % count,
                    "burst": burst_of(job),
                    "step": step if many > 1 else float("inf"),
                    "left": float(trace.demands[job]),
                }
                for u in range(many)
            ]
            for u in range(many):
                compute(job, u)
        elif kind == "disk":
            del disk[n][who]
            compute(*who)
        elif kind == "on":
            resting = [(at, job) for at, job in resting if job != who]
            for u in range(len(jobs[who])):
                compute(who, u)
        else:
            del cpu[n][who]
            job, u = who
            t = jobs[job][u]
            least = min(t["burst"], t["step"], t["left"])
            if t["left"] <= ROUNDING:  # at a barrier that is the end, too, whichever came first
                t["node"] = None
                if all(task["node"] is None for task in jobs[job]):
                    finish[job] = now
                    del jobs[job]
            elif t["step"] == least:
                t["step"] = None  # waits at the barrier
                if all(task["step"] is None or task["node"] is None for task in jobs[job]):
                    for task in jobs[job]:
                        task["step"] = step
                    resting.append((now + cluster.barrier_cost / 1000, job))
            else:
                t["burst"] = burst_of(job)
                disk[n][job, u] = service_of(job, n)
    return finish
