"""Wormhole switching flit by flit on wires that carry several lanes, written to be read.

Arbiter for tori in `validation.mesh`: same rules, no shared code. `tests.naive.wormhole` has one
lane to a wire; on such wires both must say the same.

A wire carries one flit a cycle. A lane (virtual channel) of it is one worm's from the grant to its
header until its tail has left the lane's buffer. Where both lanes could move a flit, the one moves
that did not move the last. A node puts its messages on its wire one after the other, each on any
lane that is free, and takes as many messages at a time as its wire has lanes.
"""

from dataclasses import dataclass, field


@dataclass(eq=False)
class Worm:
    number: int
    source: object
    route: list  # of (wire, lane); lane None, of the first and the last wire, means any
    flits: int
    created: int
    lanes: list = field(default_factory=list)  # the lane that it was granted of each wire so far
    crossed: list = field(default_factory=list)  # crossed[i][j]: when flit j crossed wire i
    asked: int | None = None  # when the header asks, or asked, for the wire after these
    follows: bool = False  # right behind another of its source: there it comes after all that ask then
    left: int = 0  # wires whose lane the tail has left
    injected: int | None = None
    delivered: int | None = None


@dataclass(eq=False)
class Wire:
    owners: list  # worm on each lane, or None
    free: list  # from when on each lane may be granted
    used: int = -1  # cycle of the last flit
    last: int = -1  # lane of the last flit
    granted: int = -1  # lane granted last, where any will do
    sender: Worm | None = None  # to whom
    queues: dict = field(default_factory=dict)  # lane asked for, or None: worms
    turns: dict = field(default_factory=dict)  # lane asked for, or None: input that comes first


def simulate(
    messages,
    *,
    lanes,
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
    inputs=None,
    until=float("inf"),
):
    """Play messages [(created, source, route, flits)], numbered as listed, to the end or `until`.

    inputs(worm, i): number of the input that the worm comes through to its i-th wire, and how many
    inputs there are. With input_speedup 1 the lanes of an input have one way into the crossbar: of
    two flits that wires have picked the one moves whose lane did not move last, and the wire of the
    other stays idle (needs credits that take time). Returns the worms.
    """
    assert not cut_through
    assert credit or input_speedup == 2
    worms = [Worm(k, m[1], m[2], m[3], m[0]) for k, m in enumerate(messages)]
    names = {name for worm in worms for name, _ in worm.route}
    wires = {name: Wire([None] * lanes, [0] * lanes) for name in names}
    waiting = {}
    for worm in worms:
        waiting.setdefault(worm.source, []).append(worm)
    active = [queue.pop(0) for queue in waiting.values()]
    for worm in active:
        worm.asked = worm.created
    t, left_at, went_last, idle_at = 0, {}, {}, {}

    def may_cross(worm, i):
        """Whether the next flit of a worm could cross its i-th wire now, were that idle."""
        j = len(worm.crossed[i])
        if j == worm.flits:
            return False
        if i > 0 and j > 0:
            before = worm.crossed[i - 1]
            if len(before) <= j or t < before[j] + flow:
                return False
        if i + 1 < len(worm.route) and j >= buffer:
            beyond = worm.crossed[i + 1] if i + 1 < len(worm.crossed) else []
            if len(beyond) <= j - buffer or t < beyond[j - buffer] + credit:
                return False
        return True

    def movable(in_turn_only):
        """Worms, and which of their wires, whose next flit could cross an idle wire now."""
        found = []
        for worm in active:
            for i in range(worm.left, len(worm.crossed)):
                wire = wires[worm.route[i][0]]
                turn = (wire.last + 1) % lanes
                idle = input_speedup == 1 and idle_at.get(worm.route[i][0]) == t
                able = wire.used < t and may_cross(worm, i) and not idle
                if able and (worm.lanes[i] == turn or not in_turn_only):
                    found.append((worm, i))
        return found

    def picked():
        """What wires pick, in turn where they can, but of each input one flit in a cycle."""
        first = movable(True)
        taken = {worm.route[i][0] for worm, i in first}
        wires_pick = first + [(w, i) for w, i in movable(False) if w.route[i][0] not in taken]
        of_input = {}
        for worm, i in wires_pick:
            of_input.setdefault(worm.route[i - 1][0] if i else (None, worm), []).append((worm, i))
        found = []
        for entry, those in of_input.items():
            those.sort(key=lambda one, at=entry: one[0].lanes[one[1] - 1] == went_last.get(at, 1))
            if left_at.get(entry) != t:
                found.append(those.pop(0))
            for worm, i in those:
                idle_at[worm.route[i][0]] = t
        return found

    def cross(worm, i):
        wire = wires[worm.route[i][0]]
        if i:
            entry = worm.route[i - 1][0]
            left_at[entry], went_last[entry] = t, worm.lanes[i - 1]
        wire.used, wire.last = t, worm.lanes[i]
        worm.crossed[i].append(t)
        if len(worm.crossed[i]) == 1:
            worm.injected = t if i == 0 else worm.injected
            worm.asked = t + hop if i + 1 < len(worm.route) else None
        if len(worm.crossed[i]) == worm.flits and i == 0 and waiting[worm.source]:
            following = waiting[worm.source].pop(0)
            following.asked = max(following.created, t + 1)
            following.follows = following.created <= t + 1
            active.append(following)

    def grant(wire):
        """Give lanes of one wire to headers that ask for them. Returns whether any was given."""
        given = False
        for asked, queue in wire.queues.items():
            if not queue:
                continue
            choice = [asked]
            if asked is None:
                choice = [(wire.granted + 1 + k) % lanes for k in range(lanes)]
            for lane in choice:
                if not queue or wire.owners[lane] is not None or wire.free[lane] > t:
                    continue
                if not queue[0].lanes:  # into the network, where one worm follows the other
                    ahead = wire.sender
                    if ahead and (len(ahead.crossed[0]) < ahead.flits or wire.used == t):
                        continue
                first = queue[0]
                if in_turn:
                    turn = wire.turns.get(asked, 0)

                    def wait(w, turn=turn):
                        place, many = inputs(w, len(w.lanes))
                        return (place - turn) % many

                    first = min(queue, key=wait)
                    place, many = inputs(first, len(first.lanes))
                    wire.turns[asked] = (place + 1) % many
                queue.remove(first)
                wire.sender = first
                wire.owners[lane], wire.granted = first, lane
                first.lanes.append(lane)
                first.crossed.append([])
                first.asked = None
                given = True
        return given

    def leave(worm):
        """Free the lanes that the tail has left. Returns whether there were any."""
        before = worm.left
        for i in range(worm.left, len(worm.crossed)):
            ejects = i == len(worm.route) - 1
            beyond = i if ejects else i + 1
            if beyond >= len(worm.crossed) or len(worm.crossed[beyond]) < worm.flits:
                break
            gone = worm.crossed[beyond][-1]
            delay = flow + release if ejects else resume if i == 0 else release
            wire = wires[worm.route[i][0]]
            wire.owners[worm.lanes[i]], wire.free[worm.lanes[i]] = None, gone + delay
            worm.left += 1
            if ejects:
                worm.delivered = gone + sink
        return worm.left > before

    while active and t < until:
        # Those that ask in this cycle join their queues by number, before any of them is served.
        for worm in sorted(
            (w for w in active if w.asked == t), key=lambda w: (w.follows and not w.lanes, w.number)
        ):
            name, lane = worm.route[len(worm.lanes)]
            wires[name].queues.setdefault(lane, []).append(worm)
        again = True
        while again:
            served = [grant(wire) for wire in wires.values() if any(wire.queues.values())]
            again = any(served)
            while True:
                # Whoever is in turn, and whom that lets move in turn; then, on wires where the lane
                # in turn has nothing to move, the other.
                moves = movable(True) or movable(False)
                if input_speedup == 1:
                    moves = picked()
                if not moves:
                    break
                for worm, i in moves:
                    cross(worm, i)
                again = True
            left = [leave(worm) for worm in active]
            again |= any(left)
            active = [worm for worm in active if worm.delivered is None]
        t += 1
    return worms
