"""Bursts of I/O found by walking along the segments, one by one."""

from itertools import pairwise


def bursts(segments, gap):
    """Lists of (start, end, rank) that belong together, for one program or one rank."""
    found, latest = [], None
    for segment in sorted(segments):
        if latest is None or segment[0] - latest > gap:
            found.append([])
            latest = segment[1]
        found[-1].append(segment)
        latest = max(latest, segment[1])
    return found


def covered(intervals):
    """Length of the union: every elementary stretch is asked for by itself."""
    points = sorted({t for interval in intervals for t in interval[:2]})
    return sum(b - a for a, b in pairwise(points) if any(x[0] <= a and b <= x[1] for x in intervals))


def overlap(computing, operations):
    """Seconds of one process: computation of each rank while any operation goes on."""
    total = 0.0
    for rank in {segment[2] for segment in computing}:
        mine = [segment for segment in computing if segment[2] == rank]
        points = sorted({t for x in [*mine, *operations] for t in x[:2]})
        for a, b in pairwise(points):
            inside = [any(x[0] <= a and b <= x[1] for x in group) for group in (mine, operations)]
            total += (b - a) * all(inside)
    return total
