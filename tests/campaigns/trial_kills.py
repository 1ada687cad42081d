"""Kill the trial at any moment and start it again: the same table, bit for bit.

``python -m tests.campaigns.trial_kills [KILLS]`` kills a quick run of `qmodels validate trial`,
which has a cell of every kind of policy, with its workers, at times drawn over all of its length.
The grid of a machine goes the same way, in more cells. Twenty kills take some three minutes of CPU.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.campaigns.record import write_record
from validation.sweeps.journal_file import JournalReader
from validation.sweeps.keeping import journal_beside

SEED = 20
#: Runs that are killed; a table that is finished before is begun anew.
KILLS = 20
#: Of the time that an undisturbed run takes, the longest that one lives.
_LONGEST = 0.6


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A quick run of the trial with two workers, in a group of processes of its own."""
    words = [sys.executable, "-m", "qmodels", "validate", "trial", "--quick", "-j", "2"]
    return subprocess.Popen(
        [*words, "--keep-journal", "-o", str(folder)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def main(kills: int) -> None:
    """Kill, go on, and compare with a run that nothing disturbed."""
    rng, rows = random.Random(SEED), []
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        began = time.monotonic()
        started(whole).wait()
        seconds = time.monotonic() - began
        done = 0
        while done < kills:
            broken, before = Path(place) / f"broken{len(rows)}", done
            while not (broken / "trial.csv").exists():
                run = started(broken)
                try:
                    run.wait(rng.uniform(0.1, _LONGEST) * seconds if done < kills else None)
                except subprocess.TimeoutExpired:
                    os.killpg(run.pid, signal.SIGKILL)
                    run.wait()
                    done += 1
                    print(f"{done} of {kills} kills", file=sys.stderr, flush=True)
            same = (whole / "trial.csv").read_bytes() == (broken / "trial.csv").read_bytes()
            with JournalReader(journal_beside(broken)) as reader:
                rows.append(
                    {
                        "kills": done - before,
                        "same_bytes": same,
                        "results": len(reader.results()),
                        "repeated": reader.repeated(),
                        "sessions": len(reader.sessions()),
                    }
                )
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    write_record(
        "trial-kills",
        rows,
        command="python -m tests.campaigns.trial_kills",
        seed=SEED,
        cpu_seconds=round(sum(each.ru_utime + each.ru_stime for each in used), 1),
    )
    print(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else KILLS)
