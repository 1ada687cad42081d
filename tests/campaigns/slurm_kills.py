"""Kill the runner of a Slurm lab at random moments: ``python -m tests.campaigns.slurm_kills``.

Each of 50 runners is killed (SIGKILL) in the first 25 seconds of its lab: while daemons start, latencies are
measured or jobs run. Writes ``docs/record/slurm-kills.csv``: the moment, how far the lab was, after how long
nothing was left of it, and what was left half a minute later: processes, listening ports, files.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.campaigns.record import write_record
from validation.slurm.keeper import members

KILLS, AT_ONCE, LATEST, PATIENCE = 50, 6, 25.0, 30.0
SEED: Final = 37
_RUN = """
from pathlib import Path
from validation.slurm.rows import Row, measure
measure(Row("SP(4,1)", 0.7, 0.5, jobs=200), folder=Path({folder!r}))
"""


def one_kill(number: int) -> dict[str, Any]:
    """Start a runner, kill it, and return what is left."""
    moment = float(np.random.default_rng([SEED, number]).uniform(0.0, LATEST))
    with tempfile.TemporaryDirectory() as outside:
        lab = Path(outside) / "lab"
        environment = {**os.environ, "TMPDIR": outside}
        command = [sys.executable, "-c", _RUN.format(folder=str(lab))]
        runner = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        while not lab.exists() and runner.poll() is None:
            time.sleep(0.02)
        time.sleep(moment)
        stage = _stage(lab)
        ports = _ports(lab)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and (lab.exists() or members(lab, -1)):
            time.sleep(0.1)
        took = PATIENCE - (end - time.monotonic())
        return {
            "kill": number,
            "moment_s": round(moment, 2),
            "stage": stage,
            "gone_after_s": round(took, 1),
            "processes": len(members(lab, -1)),
            "ports": sum(port in _listening() for port in ports),
            "files": sum(len(files) for _, _, files in os.walk(outside)),
        }


def _stage(lab: Path) -> str:
    if not (lab / "log/slurmctld.log").exists():
        return "starting"
    return "jobs" if list(lab.glob("jobs-*")) else "nodes starting"


def _ports(lab: Path) -> list[int]:
    """Return the ports that a lab's configuration names."""
    path = lab / "slurm.conf"
    words = path.read_text().replace("=", " ").split() if path.exists() else []
    first = [int(words[k + 1]) for k, word in enumerate(words) if word == "SlurmctldPort"]
    return [port + k for port in first for k in range(12)]


def _listening() -> set[int]:
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return {int(row.split()[1].split(":")[1], 16) for row in rows if row.split()[3] == "0A"}


def kills(count: int = KILLS) -> list[dict[str, Any]]:
    """Return a row for each of so many kills."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one_kill, range(count)))


if __name__ == "__main__":
    write_record("slurm-kills", kills(), command="python -m tests.campaigns.slurm_kills", seed=SEED)
