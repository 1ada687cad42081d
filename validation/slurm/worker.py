"""A job of a lab that Slurm may stop: it computes for so many seconds in which it is not stopped.

Run as a program with nothing but the standard library. Computing is waiting on the clock, so that
many virtual nodes share few real processors.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

#: When the job was stopped and when it went on, seconds of the clock.
stops: list[tuple[float, float]] = []


def _stopped(number: int, frame: object) -> None:
    """Stop as Slurm asks, which an orphaned process would not do by itself."""
    began = time.time()
    os.kill(os.getpid(), signal.SIGSTOP)
    stops.append((began, time.time()))


def compute(seconds: float) -> None:
    """Wait for so many seconds in which the job is not stopped."""
    end, counted = time.time() + seconds, len(stops)
    while (left := end - time.time()) > 0.0 or counted < len(stops):
        if counted < len(stops):
            end += stops[counted][1] - stops[counted][0]
            counted += 1
        else:
            time.sleep(left)


def main() -> None:
    """Compute, then append one line of JSON to the file of stamps."""
    begin = time.time()
    signal.signal(signal.SIGTSTP, _stopped)
    stamps, job, seconds = sys.argv[1:]
    compute(float(seconds))
    line = {"job": int(job), "begin": begin, "end": time.time(), "stops": stops}
    with open(stamps, "ab", 0) as out:
        out.write(json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    main()
