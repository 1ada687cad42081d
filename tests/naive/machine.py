"""A machine that counts nodes and ticks through time, one unit after the other."""


def starts(arrivals, sizes, demands, nodes, discipline, estimates=None):
    """Start times of jobs with whole times, for strategies that only need enough free nodes.

    In a tick some jobs arrive, then some end; after each, if there were any, some start.
    """
    estimates = demands if estimates is None else estimates
    started = [None] * len(sizes)
    tick = 0
    while any(start is None for start in started):
        over = [j for j, start in enumerate(started) if start is not None]
        ended = [j for j in over if started[j] + demands[j] == tick]
        for happened, last in ((tick in arrivals, tick - 1), (bool(ended), tick)):
            if not happened:
                continue
            running = [
                j for j, start in enumerate(started) if start is not None and start + demands[j] > last
            ]
            waiting = [j for j, at in enumerate(arrivals) if at <= tick and started[j] is None]
            chosen = choose(waiting, running, started, sizes, demands, estimates, nodes, discipline, tick)
            for j in chosen:
                started[j] = tick
        tick += 1
    return started


def choose(waiting, running, started, sizes, demands, estimates, nodes, discipline, tick):
    """Who starts now, given who waits and who runs."""
    orders = {
        "FCFS": lambda j: j,
        "SSD": lambda j: (demands[j], j),
        "smallest-first": lambda j: (sizes[j], j),
        "first-fit": lambda j: j,
        "EASY": lambda j: j,
        "conservative": lambda j: j,
    }
    if discipline not in orders:
        raise KeyError(
            f"no naive discipline is called {discipline!r}: give the order in which it tries jobs "
            f"here, and below what may pass a job that waits"
        )
    order = orders[discipline]
    queue = sorted(waiting, key=order)
    ends = {j: max(started[j] + estimates[j], tick) for j in running}
    free = nodes - sum(sizes[j] for j in running)
    chosen = []

    def start(j):
        nonlocal free
        free -= sizes[j]
        ends[j] = tick + estimates[j]
        chosen.append(j)
        queue.remove(j)

    while queue and sizes[queue[0]] <= free:
        start(queue[0])
    if discipline == "first-fit":
        for j in list(queue):
            if sizes[j] <= free:
                start(j)
    if discipline == "conservative":
        held = {}  # nodes by tick
        for j in [*running, *chosen]:
            for t in range(tick, ends[j]):
                held[t] = held.get(t, 0) + sizes[j]
        for j in list(queue):
            begin = tick
            while any(held.get(t, 0) + sizes[j] > nodes for t in range(begin, begin + estimates[j])):
                begin += 1
            for t in range(begin, begin + estimates[j]):
                held[t] = held.get(t, 0) + sizes[j]
            if begin == tick and sizes[j] <= free:
                start(j)
    while discipline == "EASY" and queue:
        head, held = queue[0], {j: sizes[j] for j in [*running, *chosen]}
        # The first moment at which, by the estimates, the head has room.
        moment = min(
            t for t in set(ends.values()) if nodes - sum(held[j] for j in ends if ends[j] > t) >= sizes[head]
        )
        left = nodes - sum(held[j] for j in ends if ends[j] > moment) - sizes[head]
        passing = [
            j for j in queue[1:] if sizes[j] <= free and (tick + estimates[j] <= moment or sizes[j] <= left)
        ]
        if not passing:
            break
        start(passing[0])
    return chosen
