"""A job of a lab that Slurm may stop and continue; what it does meanwhile is `service`'s to time.

Run as a program with nothing but the standard library, on the node that Slurm chose.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Tell that the job begins, and when it is stopped and goes on; end when it is told to."""
    told, own, number = sys.argv[1:]

    def tell(word: str) -> None:
        with open(told, "ab", 0) as out:
            out.write(f"{word} {number} {os.environ.get('SLURMD_NODENAME', '-')}\n".encode())

    def stopped(signal_number: int, frame: object) -> None:
        # Stops as Slurm asks, which an orphaned process would not do by itself.
        tell("stop")
        os.kill(os.getpid(), signal.SIGSTOP)
        tell("go")

    signal.signal(signal.SIGTSTP, stopped)
    tell("begin")
    with open(own, "rb", 0) as pipe:
        pipe.readline()


if __name__ == "__main__":
    main()
