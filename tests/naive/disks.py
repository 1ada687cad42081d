"""Messages that wait for a disk behind memory: the flit-level twin, told again and again when.

Arbiter for ``Network(disk="buffer")``. A node's next message is made when the disk has done with
its last. When that is follows from the flit-level simulation, which needs to know when messages are
made: so both are repeated until nothing changes. What happens early does not hang on what happens
late, so every round settles at least one message more.
"""

import math

from tests.naive import wormhole


def play(nodes, io, *, packets, pace, reading, **router):
    """Play a burst to its end; returns when it is over, and when each packet was sent and done.

    nodes: for each rank a function from the number of an I/O node to the route to it (or, reading,
    from it); io: for each rank the I/O nodes in the order of its packets; packets[i] flits.
    """
    ranks, rounds = range(len(nodes)), range(len(packets))
    # In the order of the numbers that settle ties: the first packet of every rank, the second, ...
    order = [(i, rank) for i in rounds for rank in ranks]
    made = {(i, rank): 0 if i == 0 else 1000 * i for i, rank in order}  # later than any
    while True:
        if reading:
            read = _serve(order, made, io, packets, pace)
            sent = {key: read[key] for key in order}
        else:
            sent = made
        listed = [
            (sent[i, rank], ("stream", rank), nodes[rank](io[rank][i]), packets[i]) for i, rank in order
        ]
        worms = wormhole.simulate(listed, **router)
        came = {key: worm.delivered for key, worm in zip(order, worms, strict=True)}
        done = came if reading else _serve(order, came, io, packets, pace)
        again = {(i, rank): 0 if i == 0 else done[i - 1, rank] for i, rank in order}
        if again == made:
            return max(done.values()), made, done
        made = again


def _serve(order, came, io, packets, pace):
    """When each packet leaves its disk, served in order of arrival, of those at once by number."""
    free, done = {}, {}
    for i, rank in sorted(order, key=lambda key: (came[key], order.index(key))):
        disk = io[rank][i]
        done[i, rank] = max(came[i, rank], free.get(disk, 0)) + math.ceil(packets[i] * pace - 1e-9)
        free[disk] = done[i, rank]
    return done
