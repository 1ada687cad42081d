"""Logs replayed against predictions with renewal and with dependent arrivals, as a record.

``python -m tests.campaigns.map_arrivals`` plays every log in its own order on machines whose
models are exact but for what jobs come, and then with one dependence broken after the other: the
arrivals in random order, the work in random order, both. It needs the logs of the shared data, in
the folder named by QMODELS_DATA, and takes half a minute.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from phasefit import MAP, fit_map, match_moments
from qmodels.io import read_swf
from qmodels.policies import SpaceSharing, System, Workload, capacity, predict
from qmodels.programs import Phase, Program
from tests.campaigns.record import write_record
from tests.conftest import SHARED
from validation import simulate
from validation.jobs.renewal import AbstractJobs, drawn_jobs

SEED = 20261122
FILES = (
    ("Paragon 1996", "SDSC-Par-1996-3.1-cln", None),
    ("Paragon 1996, first half", "SDSC-Par-1996-3.1-cln", 0),
    ("Paragon 1996, second half", "SDSC-Par-1996-3.1-cln", 1),
    ("Paragon Q4 batch", "derived_SDSC-Par-1996Q4-batch-completed", None),
    ("KTH SP2", "KTH-SP2-1996-2.1-cln", None),
    ("KTH SP2, first half", "KTH-SP2-1996-2.1-cln", 0),
    ("KTH SP2, second half", "KTH-SP2-1996-2.1-cln", 1),
    ("Lublin model", "lublin_256", None),
)
POLICIES = (SpaceSharing(1, 1), SpaceSharing(4, 4), SpaceSharing(16, 16))
FRACTIONS = (0.5, 0.7, 0.85)
MACHINE = System(processors=16, disks=16)
PROGRAM = Program([Phase(io=1.0, cpu=63.0)])


@dataclass(frozen=True, eq=False)
class OrderedJobs(AbstractJobs):
    """A log in its own order from a random job on, or with one or both columns in random order."""

    gaps: np.ndarray
    work: np.ndarray
    shuffle_gaps: bool = False
    shuffle_work: bool = False

    @property
    def scvs(self):
        """See `AbstractJobs.scvs`."""
        return tuple(float(x.var() / x.mean() ** 2) for x in (self.gaps, self.work))

    def draw(self, count, *, rng):
        """See `AbstractJobs.draw`; every time round the log a new order."""
        rounds = -(-count // self.gaps.size) + 1
        begin = int(rng.integers(self.gaps.size))
        found = []
        for column, mixed in ((self.gaps, self.shuffle_gaps), (self.work, self.shuffle_work)):
            each = [rng.permutation(column) if mixed else column for _ in range(rounds)]
            found.append(np.concatenate(each)[begin : begin + count] / column.mean())
        return tuple(found)


def logs():
    """Name, gaps and work of each log or half of one."""
    for name, file, half in FILES:
        log = read_swf(SHARED / "swf" / f"{file}.swf.gz").with_work
        gaps, work = np.array(log.interarrivals), np.array(log.work_by_job[1:])
        if half is not None:
            part = slice(half * gaps.size // 2, (half + 1) * gaps.size // 2)
            gaps, work = gaps[part], work[part]
        yield name, gaps, work


def point(name, gaps, work, policy, fraction, processes, demand):
    """One log on one machine at one load: predictions beside what was played."""
    basis = Workload(PROGRAM, demand)
    rate = fraction * capacity(policy, MACHINE, basis)
    row = {
        "log": name,
        "policy": policy.label,
        "fraction": fraction,
        "jobs": gaps.size,
        "scv_gaps": float(gaps.var() / gaps.mean() ** 2),
        "scv_work": demand.scv,
    }
    for kind, arrivals in processes.items():
        found = predict(policy, MACHINE, Workload(PROGRAM, demand, arrivals), arrival_rate=rate)
        row[f"{kind}"] = found.mean_response
    for kind, stream, runs in (
        ("replayed", OrderedJobs(gaps, work), 4),
        ("arrivals_shuffled", OrderedJobs(gaps, work, shuffle_gaps=True), 8),
        ("work_shuffled", OrderedJobs(gaps, work, shuffle_work=True), 8),
        ("both_shuffled", OrderedJobs(gaps, work, True, True), 8),
        ("map_drawn_work_shuffled", MixedJobs(processes["map"], work), 8),
    ):
        run = simulate(
            policy,
            MACHINE,
            basis,
            arrival_rate=rate,
            stream_of_jobs=stream,
            replications=runs,
            jobs=gaps.size,
            warm_up=gaps.size // 10,
            seed=SEED,
            workers=1,
        )
        row[kind] = run.mean_response.mean
        row[f"{kind}_half_width"] = run.mean_response.half_width
    return row


@dataclass(frozen=True, eq=False)
class MixedJobs(AbstractJobs):
    """Arrivals drawn from a process, work from the log with replacement."""

    arrivals: MAP
    work: np.ndarray

    @property
    def scvs(self):
        """See `AbstractJobs.scvs`."""
        return drawn_jobs(self.arrivals, self.work).scvs

    def draw(self, count, *, rng):
        """See `AbstractJobs.draw`."""
        return drawn_jobs(self.arrivals, self.work).draw(count, rng=rng)


def gap(row, prediction, played):
    """Relative difference of a prediction from what was played."""
    return abs(row[prediction] / row[played] - 1.0)


def main() -> None:
    """Play all points, write the record, say what carries the gap."""
    rows = []
    for name, gaps, work in logs():
        began = time.process_time()
        scv = float(gaps.var() / gaps.mean() ** 2)
        found = fit_map(gaps)
        processes = {
            "renewal": match_moments(1.0, 1.0 + scv),
            "two_phases": fit_map(gaps, scales=0).process.at_rate(1.0),
            "map": found.process.at_rate(1.0),
            "map_by_work": fit_map(gaps, work=work).process.at_rate(1.0),
        }
        demand = match_moments(1.0, 1.0 + float(work.var() / work.mean() ** 2))
        for policy in POLICIES:
            for fraction in FRACTIONS:
                rows.append(point(name, gaps, work, policy, fraction, processes, demand))
        spent = time.process_time() - began
        print(f"{name}: {found.process}, {spent:.0f} s", file=sys.stderr)
    names = ("renewal", "two_phases", "map", "map_by_work")
    medians = {
        f"median_gap_{kind}": float(np.median([gap(row, kind, "replayed") for row in rows])) for kind in names
    }
    for played in ("work_shuffled", "both_shuffled"):
        for kind in names:
            medians[f"median_gap_{kind}_{played}"] = float(
                np.median([gap(row, kind, played) for row in rows])
            )
    for breaks in ("arrivals_shuffled", "work_shuffled", "both_shuffled"):
        medians[f"median_share_left_{breaks}"] = float(
            np.median([row[breaks] / row["replayed"] for row in rows])
        )
    write_record(
        "map-arrivals",
        rows,
        command="python -m tests.campaigns.map_arrivals",
        seed=SEED,
        points=len(rows),
        **medians,
    )
    print(medians)


if __name__ == "__main__":
    main()
