"""A small sweep in a process of its own, to be killed: ``python -m tests.sweep_child ...``."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

from qmodels.errors import ModelError
from qmodels.process import collect_seldom
from validation.sweeps.engines import engine
from validation.sweeps.journal import Journal
from validation.sweeps.points import Effort, Kind, Point, PointTable
from validation.sweeps.results import to_csv, to_frame
from validation.sweeps.run import run_tasks

KIND = Kind("numbers", "tests.sweep_child:run_one", "value", 2)


def run_one(point, replication):
    """A number that hangs on the point only, after so many milliseconds that cost the machine nothing."""
    value = np.random.default_rng([point["n"], replication]).normal(1.0)
    time.sleep(point["ms"] / 1e3)
    if point["fatal"] and point["n"] == point["fatal"]:
        os._exit(9)  # as the killer of the system does when memory is short
    if point["odd"] and point["n"] % point["odd"] == 0:
        raise ValueError(f"{point['n']} is odd")
    return {"value": float(value), "tiny": -0.0 if replication else 5e-324}


def table(count, ms, replications=2, version="1", precision=None, **more):
    """The points of the sweep."""
    points = [
        Point(
            kind=KIND.name,
            tables="{}",
            seed=0,
            version=version,
            settings=(("n", n), ("ms", ms), *more.items()),
        )
        for n in range(1, count + 1)
    ]
    return PointTable(KIND, points, Effort(replications, precision=precision, at_most=400))


def main():
    collect_seldom()  # as every command does
    parser = argparse.ArgumentParser()
    parser.add_argument("journal", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--ms", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cluster")
    parser.add_argument("--most-bytes", type=int)
    given = parser.parse_args()
    if given.most_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (given.most_bytes, given.most_bytes))
    points = table(given.count, given.ms)

    def say(what, done, total):
        print(done, file=sys.stderr, flush=True)

    try:
        with (
            Journal(given.journal, version="1") as journal,
            engine(workers=given.workers, cluster=given.cluster) as chosen,
        ):
            run_tasks(points, journal, executor=chosen.executor, workers=chosen.workers, progress=say)
    except ModelError as error:
        print(error)
        sys.exit(3)
    print(to_csv(to_frame(points.rows())), end="")


if __name__ == "__main__":
    main()
