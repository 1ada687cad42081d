"""A process that computes and uses the disk by turns, as long as it is told to.

Run as a program with nothing but the standard library: what it takes to start is not measured, and
little memory is shared with others. Direct I/O passes by the page cache, so that each block is the disk's.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import sys
import time

#: Bytes of a request.
BLOCK = 1 << 18


def main() -> None:
    """Run turns from a given moment on; print when they ended, and the processor time."""
    path, seed, computing, blocks, start, end = sys.argv[1], *map(float, sys.argv[2:])
    rng, buffer = random.Random(int(seed)), mmap.mmap(-1, BLOCK)
    buffer.write(rng.randbytes(BLOCK))
    disk = os.open(path, os.O_RDWR | os.O_DIRECT)
    places = os.fstat(disk).st_size // BLOCK
    ends: list[float] = []
    owed = 0.0
    time.sleep(max(0.0, start - time.monotonic()))
    before = time.process_time()
    while time.monotonic() < end:
        if computing:
            until = time.process_time() + rng.expovariate(1.0 / computing)
            while time.process_time() < until:
                sum(range(100))
        # Whole requests: what is left of a burst is owed to the next, so that their mean is as asked.
        owed += rng.expovariate(1.0 / blocks) if blocks else 0.0
        operation = os.pwritev if rng.random() < 0.5 else os.preadv
        for _ in range(int(owed)):
            operation(disk, [buffer], rng.randrange(places) * BLOCK)
        owed -= int(owed)
        ends.append(time.monotonic())
    print(json.dumps({"ends": ends, "cpu": time.process_time() - before}))


if __name__ == "__main__":
    main()
