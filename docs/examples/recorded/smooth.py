"""A small parallel program to record: it smooths a field and writes it down, twice.

    python smooth.py PROCESSES PASSES

Each process has its part of the rows. Twice, it smooths them PASSES times and then writes the field
and three fields made of it to a file of its own, 656 MB in all. Needs Python 3.11 and numpy.

`smooth.p2d1.r1.csv` beside it is a recording of ``smooth.py 2 16``.
"""

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS, COLUMNS, ROUNDS = 3200, 3200, 2


def work(rank: int, processes: int, passes: int, folder: Path) -> None:
    """Smooth and write one's part of the rows."""
    field = np.random.default_rng(rank).random((ROWS // processes, COLUMNS))
    for turn in range(ROUNDS):
        for _ in range(passes):
            field[:, 1:-1] = 0.25 * (field[:, :-2] + 2.0 * field[:, 1:-1] + field[:, 2:])
        with open(folder / f"{turn}-{rank}", "wb") as stream:
            for power in (1, 2, 3, 4):
                stream.write(field**power)
            stream.flush()
            os.fsync(stream.fileno())


def main(processes: int, passes: int) -> None:
    """Run so many processes and wait for them."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        ranks = [
            multiprocessing.Process(target=work, args=(rank, processes, passes, Path(folder)))
            for rank in range(processes)
        ]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
