"""Rigid jobs on a machine that counts processors, event by event over plain lists."""

import math


def starts(
    submit, need, run, limit, processors, *, discipline="EASY", ties="start", depth=None, priority=None,
    user=None, cap=math.inf,
):  # fmt: skip
    """Start of every job; at one time ends come first, then arrivals, then one pass over the queue."""
    jobs = range(len(submit))
    priority = priority or [0] * len(submit)
    user = user or list(jobs)
    start, queue, running = {}, [], []

    def held(by=None):
        return sum(need[k] for k in running if by is None or user[k] == by)

    def capped(j):
        return held(user[j]) > 0 and held(user[j]) + need[j] > cap

    def begin(j, now):
        start[j] = now
        running.append(j)
        queue.remove(j)

    def room(plan, then, j):
        """Whether at every time of a job's limit it has room beside all that is planned."""
        times = [then, *(s for s, _, _ in plan if then < s < then + limit[j])]
        return all(need[j] + sum(n for s, e, n in plan if s <= t < e) <= processors for t in times)

    while len(start) < len(submit):
        coming = [submit[j] for j in jobs if j not in start and j not in queue]
        now = min(coming + [start[j] + run[j] for j in running])
        running[:] = [j for j in running if start[j] + run[j] > now]
        queue += [j for j in jobs if submit[j] == now]
        queue.sort(key=lambda j: (priority[j], j))
        head = None
        for j in list(queue):
            if not capped(j):
                if need[j] > processors - held():
                    head = j
                    break
                begin(j, now)
        if head is None or discipline == "FCFS":
            continue
        behind = queue[queue.index(head) + 1 :][:depth]
        if discipline == "conservative":
            plan = [(now, start[j] + limit[j], need[j]) for j in running]
            for j in [head, *behind]:
                if capped(j):
                    continue
                then = min(t for t in [now, *(e for _, e, _ in plan)] if room(plan, t, j))
                plan.append((then, then + limit[j], need[j]))
                if then == now:
                    begin(j, now)
            continue
        ends = sorted({start[j] + limit[j] for j in running})
        at_end = {s: processors - sum(need[j] for j in running if start[j] + limit[j] > s) for s in ends}
        shadow = next(s for s in ends if at_end[s] >= need[head])
        extra = at_end[shadow] - need[head]
        for j in behind:
            in_time = now + limit[j] < shadow or (ties == "start" and now + limit[j] == shadow)
            if need[j] <= processors - held() and not capped(j) and (in_time or need[j] <= extra):
                extra -= 0 if in_time else need[j]
                begin(j, now)
    return [start[j] for j in jobs]


def planned_on_nodes(submit, run, limit, nodes, per_node, admitted, have, *, whole=False):
    """Starts where all that wait are planned on named nodes, second by second; times are whole numbers.

    `per_node` and `have` hold a tuple of resources for each job and each node, `admitted` the nodes of a job.
    """
    start, on, now = {}, {}, 0
    while len(start) < len(submit):
        held = {}  # by second, node and resource

        def take(j, begin, places, everything, held=held):
            for t in range(begin, begin + limit[j]):
                for k in places:
                    for r, x in enumerate(per_node[j]):
                        held[t, k, r] = held.get((t, k, r), 0) + (have[k][r] + 1 if everything else x)

        def places(j, begin, held=held):
            """The first nodes that have room throughout."""
            span = range(begin, begin + limit[j])
            good = [
                k
                for k in admitted[j]
                if all(
                    held.get((t, k, r), 0) + x <= have[k][r] for t in span for r, x in enumerate(per_node[j])
                )
            ]
            return good[: nodes[j]] if len(good) >= nodes[j] else None

        for j in start:
            if start[j] + run[j] > now:
                take(j, start[j], on[j], False)
        for j in range(len(submit)):
            if submit[j] <= now and j not in start:
                begin = now
                while places(j, begin) is None:
                    begin += 1
                found = places(j, begin)
                take(j, begin, found, whole and begin > now)
                if begin == now:
                    start[j], on[j] = now, found
        now += 1
    return [start[j] for j in range(len(submit))]
