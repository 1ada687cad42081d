"""Wormhole switching flit by flit and cycle by cycle, written to be read: any size, any speed.

Arbiter for `validation.mesh`: same rules, no shared code, no formula for whole worms.
"""

from dataclasses import dataclass, field


def links(sides, wrap, source, target):
    """Places passed from source to target, dimension by dimension, and the lane of each link."""
    here, path = list(source), []
    for k, side in enumerate(sides):
        start = here[k]
        ahead = (target[k] - start) % side
        up = target[k] > start
        if wrap:
            up = 2 * ahead < side or (2 * ahead == side and start % 2 == 0)
        crosses = wrap and ((target[k] < start) if up else (target[k] > start))
        while here[k] != target[k]:
            begin = tuple(here)
            here[k] = (here[k] + (1 if up else -1)) % side
            path.append((begin, 2 * k + (not up), int(crosses)))
    return path


@dataclass(eq=False)
class Worm:
    number: int
    source: object
    route: list  # hashable channels: injection, links, ejection
    flits: int
    created: int
    crossed: list = field(default_factory=list)  # crossed[i][j]: when flit j crossed channel i
    asked: int | None = None  # when the header asked for the channel it waits for
    injected: int | None = None
    delivered: int | None = None


@dataclass(eq=False)
class Channel:
    owner: Worm | None = None
    free: int = 0
    queue: list = field(default_factory=list)
    turn: int = 0


def simulate(
    messages,
    *,
    hop=1,
    flow=1,
    buffer=1,
    credit=0,
    release=0,
    sink=1,
    resume=0,
    input_speedup=2,
    cut_through=False,
    in_turn=False,
    pace_in=None,
    pace_out=None,
    inputs=None,
):
    """Play messages [(created, source, route, flits)], numbered as listed, to the end.

    Every source sends its own in order. pace_in, pace_out: cycles per flit by source, and by
    ejection channel; inputs(worm, i): number of the input that the worm comes through to
    channel i, and how many inputs there are. Ways into the crossbar (`input_speedup`) are no
    matter where wires have one lane. Returns the worms.
    """
    del input_speedup
    pace_in, pace_out = pace_in or {}, pace_out or {}
    worms = [Worm(k, m[1], m[2], m[3], m[0]) for k, m in enumerate(messages)]
    waiting = {}
    for worm in worms:
        waiting.setdefault(worm.source, []).append(worm)
    channels = {c: Channel() for worm in worms for c in worm.route}
    todo = [(queue.pop(0), True) for queue in waiting.values()]  # heads of the sources' lists
    active, t = [], 0
    while any(worm.delivered is None for worm in worms):
        # Those that ask in this cycle, by number.
        asking = [w for w in active if w.asked == t]
        for worm, _ in list(todo):
            if worm.created <= t:
                asking.append(worm)
        todo = [(w, fresh) for w, fresh in todo if w.created > t]
        for worm in sorted(asking, key=lambda w: w.number):
            if worm not in active:
                active.append(worm)
            worm.asked = t
            channels[worm.route[len(worm.crossed)]].queue.append(worm)
        moved = True
        while moved:
            moved = False
            for worm in list(active):
                at = len(worm.crossed)
                if at < len(worm.route) and worm.asked is not None and worm.asked <= t:
                    channel = channels[worm.route[at]]
                    if channel.owner is None and channel.free <= t:
                        first = channel.queue[0]
                        if in_turn:

                            def wait(w, channel=channel):
                                place, many = inputs(w, len(w.crossed))
                                return (place - channel.turn) % many

                            first = min(channel.queue, key=wait)
                        if first is worm:
                            if in_turn:
                                place, many = inputs(worm, at)
                                channel.turn = (place + 1) % many
                            channel.queue.remove(worm)
                            channel.owner = worm
                            worm.crossed.append([t])
                            worm.asked = t + hop if at + 1 < len(worm.route) else None
                            worm.injected = t if at == 0 else worm.injected
                            moved = True
                for i, times in enumerate(worm.crossed):
                    j = len(times)
                    if j == worm.flits:
                        continue
                    last = i == len(worm.route) - 1
                    gap = 1
                    if i == 0:
                        gap = pace_in.get(worm.source, 1)
                    if last:
                        gap = max(gap if i == 0 else 1, pace_out.get(worm.route[i], 1))
                    if t < times[-1] + gap:
                        continue
                    if i > 0 and (len(worm.crossed[i - 1]) <= j or t < worm.crossed[i - 1][j] + flow):
                        continue
                    if not last and not cut_through and j >= buffer:
                        beyond = worm.crossed[i + 1] if i + 1 < len(worm.crossed) else []
                        if len(beyond) <= j - buffer or t < beyond[j - buffer] + credit:
                            continue
                    times.append(t)
                    moved = True
            for worm in list(active):
                done = [i for i, times in enumerate(worm.crossed) if len(times) == worm.flits]
                for i in done:
                    channel = channels[worm.route[i]]
                    if channel.owner is not worm:
                        continue
                    ejects, slow = i == len(worm.route) - 1, pace_in.get(worm.source, 1)
                    if not (ejects or cut_through or i + 1 in done):
                        continue
                    channel.owner = None
                    moved = True
                    if ejects:
                        pace = pace_out.get(worm.route[i], 1)  # of its disk, for the last flit
                        ready = pace if cut_through else max(flow, pace)
                        channel.free = worm.crossed[i][-1] + ready + release
                        worm.delivered = worm.crossed[i][-1] + sink + pace - 1
                    elif cut_through:
                        takes = slow if i == 0 else 1
                        channel.free = worm.crossed[i][-1] + takes + (resume if i == 0 else release)
                    else:
                        channel.free = worm.crossed[i + 1][-1] + (resume if i == 0 else release)
                        if i == 0 and slow > 1:
                            channel.free = max(channel.free, worm.crossed[0][-1] + slow)
                    if i == 0 and waiting[worm.source]:
                        following = waiting[worm.source].pop(0)
                        if max(following.created, channel.free) <= t:
                            following.asked = t
                            active.append(following)
                            channels[following.route[0]].queue.append(following)
                        else:
                            following.created_at_source = following.created
                            todo.append((following, False))
                            following.created = max(following.created, channel.free)
                if worm.delivered is not None and all(channels[c].owner is not worm for c in worm.route):
                    active.remove(worm)
        t += 1
    return worms
