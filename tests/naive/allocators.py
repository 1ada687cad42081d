"""Routers with separable allocators, cycle by cycle, as flit-level simulators have them.

Another router than that of `tests.naive.lanes` and of `validation.mesh`, written for what the two
differ by; it shares no code with either but the routes. Each input has a buffer for each lane. In
every cycle the headers at the front of a buffer ask for a lane of their output, and all flits at
the front, and headers at once with that, ask for the way through the crossbar. Both are given away
by iSLIP in one iteration (N. McKeown, *IEEE/ACM Trans. Networking* 7, 1999): every output grants
one of those who ask, in turn; every input accepts one of the grants, in turn; an output whose grant
is not accepted stays idle for that cycle. With `speedup` 1 the lanes of an input have one way into
the crossbar together, with 2 one each.

Two cycles to the first router, three for each, one more for each flit; a place in a buffer may be
filled again two cycles after a flit has left it, and a lane be given to another message when the
place of the tail has come back.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tests.naive.wormhole import links

#: Cycles from the node to its router, from a router's crossbar to the next buffer, and from a
#: flit's leaving a buffer to the router, or node, before that may fill its place.
TO_ROUTER, TO_NEXT, BACK = 2, 3, 2


@dataclass(eq=False)
class Message:
    """A message, the links of its route, and when it came and went."""

    created: int
    source: object
    target: object
    route: list  # of (place, port, lane): out of which port of which router, onto which lane
    flits: int
    injected: int | None = None
    delivered: int | None = None


@dataclass(eq=False)
class Buffer:
    """One lane of an input: flits with the cycle in which they come to the front, at the least."""

    flits: deque = field(default_factory=deque)  # (from, message, how many hops it has made, last)
    output: tuple | None = None  # port and lane that its message has been given


@dataclass(eq=False)
class Lane:
    """One lane of an output, or of the way from a node to its router."""

    places: int
    owner: Message | None = None
    tail_gone: bool = False


class Slip:
    """iSLIP, one iteration: grants and acceptances in turn."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs
        self.grant, self.accept = [0] * outputs, [0] * inputs

    def match(self, wanted):
        """{input: output} for requests {(input, output)}."""
        granted = {}
        for output in {o for _, o in wanted}:
            asking = [i for i, o in wanted if o == output]
            turn = self.grant[output]
            first = min(asking, key=lambda i, turn=turn: (i - turn) % self.inputs)
            granted.setdefault(first, []).append(output)
        found = {}
        for each, outputs in granted.items():
            turn = self.accept[each]
            output = min(outputs, key=lambda o, turn=turn: (o - turn) % self.outputs)
            found[each] = output
            self.grant[output] = (each + 1) % self.inputs
            self.accept[each] = (output + 1) % self.outputs
        return found


class Router:
    """One router: buffers at its inputs, lanes at its outputs, two allocators."""

    def __init__(self, ports, lanes, depth, speedup):
        self.ports, self.lanes, self.depth, self.speedup = ports, lanes, depth, speedup
        self.inputs = [[Buffer() for _ in range(lanes)] for _ in range(ports)]
        self.outputs = [[Lane(depth) for _ in range(lanes)] for _ in range(ports)]
        self.for_lanes = Slip(ports * lanes, ports * lanes)
        self.for_ways = Slip(ports * speedup, ports)
        self.turn = [way % speedup for way in range(ports * speedup)]
        self.busy = 0  # flits in its buffers

    def step(self, t):
        """Flits that cross the crossbar in this cycle: (input, lane, output, its lane, flit)."""
        waiting, wanted, ways = [], set(), {}
        for p in range(self.ports):
            for v, buffer in enumerate(self.inputs[p]):
                if buffer.flits and buffer.flits[0][0] <= t:
                    waiting.append((p, v, buffer))
        for p, v, buffer in waiting:
            if buffer.output is None:
                _, message, hops, _ = buffer.flits[0]
                port, only = self.ports - 1, range(self.lanes)
                if hops < len(message.route):
                    _, port, lane = message.route[hops]
                    only = [lane]
                free = [k for k in only if self.outputs[port][k].owner is None]
                for k in free:
                    wanted.add((p * self.lanes + v, port * self.lanes + k))
                ready = any(self.outputs[port][k].places for k in free)
            else:
                port, lane = buffer.output
                ready = self.outputs[port][lane].places > 0
            if ready:
                way = p * self.speedup + v % self.speedup
                # Who holds a lane comes before a header that does not yet, then who is in turn.
                rank = (buffer.output is None, (v - self.turn[way]) % self.lanes)
                if (way, port) not in ways or rank < ways[way, port][0]:
                    ways[way, port] = rank, p, v
        lanes = self.for_lanes.match(wanted)
        crossing = self.for_ways.match(set(ways))
        for p, v, buffer in waiting:
            given = lanes.get(p * self.lanes + v)
            if buffer.output is None and given is not None:
                buffer.output = divmod(given, self.lanes)
                taken = self.outputs[buffer.output[0]][buffer.output[1]]
                taken.owner, taken.tail_gone = buffer.flits[0][1], False
        moved = []
        for way, port in crossing.items():
            _, p, v = ways[way, port]
            buffer = self.inputs[p][v]
            self.turn[way] = (v + self.speedup) % self.lanes
            if buffer.output is None:
                continue  # it asked for the crossbar before it had a lane, and got none
            there, lane = buffer.output
            if self.outputs[there][lane].places == 0:
                continue
            moved.append((p, v, there, lane, buffer.flits.popleft()))
            self.outputs[there][lane].places -= 1
            self.busy -= 1
            if moved[-1][4][3]:
                self.outputs[there][lane].tail_gone = True
                buffer.output = None
        return moved


def give_back(lane, depth):
    """A place has come back; with the last one, after the tail, the lane itself."""
    lane.places += 1
    if lane.tail_gone and lane.places == depth:
        lane.owner, lane.tail_gone = None, False


def simulate(messages, neighbour, *, ports, lanes=2, depth=8, speedup=1, until=float("inf")):
    """Play messages to the end or `until`.

    Parameters
    ----------
    messages : list of Message
        Each source sends its own in their order; every place that is named is a router.
    neighbour : function
        Of a place and a port: the place and the port at the other end.
    ports : int
        Of each router without that of its node, which comes last.
    """
    places = {m.source for m in messages} | {m.target for m in messages}
    places |= {place for m in messages for place, _, _ in m.route}
    places |= {neighbour(p, k)[0] for p in places for k in range(ports)}
    routers = {place: Router(ports + 1, lanes, depth, speedup) for place in places}
    ways_in = {place: [Lane(depth) for _ in range(lanes)] for place in places}
    waiting = {place: deque() for place in places}
    for message in messages:
        waiting[message.source].append(message)
    sending, last = {}, dict.fromkeys(places, -1)  # (message, lane, flits sent), lane used last
    credits = {}  # cycle: lanes to which a place comes back
    left, t = len(messages), 0
    while left and t < until:
        for lane in credits.pop(t, ()):
            give_back(lane, depth)
        for place in places:
            _inject(t, place, routers[place], waiting[place], sending, ways_in[place], last)
        arriving = []
        for place, router in routers.items():
            if not router.busy:
                continue
            for p, v, port, lane, (_, message, hops, tail) in router.step(t):
                before = ways_in[place][v]
                if p < ports:
                    there, back = neighbour(place, p)
                    before = routers[there].outputs[back][v]
                credits.setdefault(t + BACK, []).append(before)
                if port == ports:  # the node takes it, and gives the place back at once
                    credits.setdefault(t + TO_NEXT + BACK, []).append(router.outputs[port][lane])
                    if tail:
                        message.delivered = t + TO_NEXT
                        left -= 1
                else:
                    there, entry = neighbour(place, port)
                    arriving.append((there, entry, lane, (t + TO_NEXT, message, hops + 1, tail)))
        for there, entry, lane, flit in arriving:
            routers[there].inputs[entry][lane].flits.append(flit)
            routers[there].busy += 1
        t += 1


def _inject(t, place, router, waiting, sending, lanes, last):
    """Let a node send a flit to its router, if it has one and there is room."""
    if place not in sending and waiting and waiting[0].created <= t:
        turn = [(last[place] + 1 + k) % len(lanes) for k in range(len(lanes))]
        free = [k for k in turn if lanes[k].owner is None and lanes[k].places]
        if free:
            message = waiting.popleft()
            lanes[free[0]].owner, last[place] = message, free[0]
            message.injected = t
            sending[place] = [message, free[0], 0]
    if place not in sending:
        return
    message, lane, sent = sending[place]
    if not lanes[lane].places:
        return
    lanes[lane].places -= 1
    tail = sent + 1 == message.flits
    router.inputs[-1][lane].flits.append((t + TO_ROUTER, message, 0, tail))
    router.busy += 1
    sending[place][2] = sent + 1
    if tail:
        lanes[lane].tail_gone = True
        del sending[place]


def delivery_times(mesh, messages, speedup, until=None):
    """When each of the messages of a torus or mesh is delivered, -1 where later than `until`."""
    sides = (mesh.columns, mesh.rows, mesh.depth)

    def place(node):
        return tuple(int(v) for v in mesh.router_coordinates[mesh.routers_of[node]])

    def neighbour(place, port):
        """At the edge of a mesh, itself: no route leads there."""
        k, down = divmod(port, 2)
        there = list(place)
        there[k] += -1 if down else 1
        if mesh.torus:
            there[k] %= sides[k]
        return (tuple(there), port ^ 1) if 0 <= there[k] < sides[k] else (place, port)

    listed = []
    for created, source, target, flits in zip(
        messages.created.tolist(),
        messages.source.tolist(),
        messages.destination.tolist(),
        messages.flits.tolist(),
        strict=True,
    ):
        route = links(sides, mesh.torus, place(source), place(target))
        listed.append(Message(created, place(source), place(target), route, flits))
    simulate(
        listed,
        neighbour,
        ports=2 * mesh.dimensions,
        lanes=mesh.virtual_channels,
        speedup=speedup,
        until=float("inf") if until is None else until,
    )
    return np.array([-1 if m.delivered is None else m.delivered for m in listed])
