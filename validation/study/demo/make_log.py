"""Write the demo's job log again: ``python -m validation.study.demo.make_log``."""

from __future__ import annotations

from pathlib import Path

from phasefit import match_moments
from qmodels.io import write_swf
from qmodels.io.scenario import load_programs
from validation.analysis.seeding import stream
from validation.jobs.renewal import RenewalJobs
from validation.synthetic import synthetic_log

HERE = Path(__file__).parent
JOBS, SEED = 5000, 20261121
ARRIVAL_RATE = 0.075  # jobs/s: load 0.3 of the demo's machine


def main(path: Path = HERE / "jobs.swf.gz") -> None:
    """Poisson arrivals, demand of scv 2, on 16 to 128 processors."""
    jobs = RenewalJobs(match_moments(1.0), match_moments(1.0, 3.0))
    columns = synthetic_log(
        jobs,
        load_programs(HERE / "scenario.toml"),
        JOBS,
        arrival_rate=ARRIVAL_RATE,
        sizes=(16, 32, 64, 128),
        disks=32,
        rng=stream(SEED),
    )
    header = {
        "Version": "2.2",
        "Computer": "a synthetic machine of 128 processors and 32 disks",
        "Note": "written by validation.study.demo.make_log; no real machine",
        "MaxJobs": str(JOBS),
        "MaxRecords": str(JOBS),
        "UnixStartTime": "0",
        "TimeZoneString": "UTC",
        "MaxNodes": "128",
        "MaxProcs": "128",
    }
    write_swf(path, columns, header=header)


if __name__ == "__main__":
    main()
