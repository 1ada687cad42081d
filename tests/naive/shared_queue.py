"""A queue whose running jobs share their speed by a power of their demand, one event at a time."""

from collections import deque


def shared_responses(speeds, powers, arrival, demand, paces=()):
    """Response times, and (job, begin, end, work) of each job between any two events.

    paces: (time, factor) from when on all speeds are so much faster, in order of time.
    """
    places, jobs = len(speeds), len(arrival)
    ahead, pace = deque(paces), 1.0
    left, waiting, done = {}, deque(), []
    finish, now, come = [None] * jobs, 0.0, 0
    while come < jobs or left:
        rates = {}
        if left:
            k = len(left) - 1
            weights = {job: demand[job] ** powers[k] for job in left}
            whole = pace * speeds[k] / sum(weights.values())
            rates = {job: whole * w for job, w in weights.items()}
        ends = {job: now + left[job] / rates[job] for job in left}
        first = min(ends, key=ends.get, default=None)
        arrives = come < jobs and (first is None or arrival[come] < ends[first])
        then = arrival[come] if arrives else ends[first]
        changes = bool(ahead) and ahead[0][0] < then
        if changes:
            then, pace = max(ahead[0][0], now), ahead.popleft()[1]
        for job in left:
            work = rates[job] * (then - now)
            done.append((job, now, then, work))
            left[job] -= work
        now = then
        if changes:
            continue
        if arrives:
            waiting.append(come)
            come += 1
        else:
            finish[first] = now
            del left[first]
        while waiting and len(left) < places:
            job = waiting.popleft()
            left[job] = demand[job]
    return [end - at for end, at in zip(finish, arrival, strict=True)], done
