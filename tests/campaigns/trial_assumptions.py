"""Which assumption of the corrected prediction breaks on larger machines, one at a time.

The machine plays jobs, and queues play the very same jobs: with equal shares and with shares by
size at the speeds seen in the machine, with the speed that the machine as a whole had at each time,
and with the service that each job attained in place of its demand. The last is to give the
machine's responses again, whatever they are.

``python -m tests.campaigns.trial_assumptions`` takes some three minutes of CPU.
"""

from __future__ import annotations

import sys

import numpy as np

from tests.campaigns.record import write_record
from tests.naive.shared_queue import shared_responses as one_by_one
from validation.analysis.comparison import relative_differences
from validation.analysis.estimates import estimate
from validation.analysis.seeding import word
from validation.trial import play_cell
from validation.trial.history import Played
from validation.trial.loss_run import credits_of
from validation.trial.replications import draw_jobs
from validation.trial.scenario import Cell
from validation.trial.shared_queue import shared_responses
from validation.trial.size_shares import share_scores, shares_of_scores, work_by_stretch

PLACE = {"cpu_to_io": 2.0}
SP = {"policy": "SP", "policy_options": {"processor_partitions": 4, "disk_partitions": 1}}
DP = {"policy": "DP", "policy_options": {"disk_partitions": 1}, "min_processors": 64}
MIDDLE, LARGE = {"rows": 16, "columns": 16}, {"rows": 16, "columns": 22}
#: Cells, and jobs per cycle: about .6 of what the slower of MC and Random carries.
CELLS = (
    ({**MIDDLE, **SP, **PLACE, "strategy": "MC"}, 1.7556e-06),
    ({**MIDDLE, **SP, **PLACE, "strategy": "Random"}, 1.7556e-06),
    ({**MIDDLE, **DP, **PLACE, "strategy": "MC"}, 1.5e-06),
    ({**MIDDLE, **DP, **PLACE, "strategy": "Random"}, 1.5e-06),
    ({**LARGE, **SP, **PLACE, "strategy": "Random"}, 1.2e-06),
)
REPLICATIONS, JOBS, SEED = 8, 150, 0
#: Work, in mean jobs, over which the variance of the machine's speed is taken.
WINDOW = 2.0
#: The shortest and the longest jobs: such a part of all at either end.
PART = 0.125


class Run:
    """What one replication did in each stretch of time with one set of jobs in the machine."""

    def __init__(self, cell, rate, replication):
        self.arrival, self.demand = draw_jobs(cell, rate, JOBS, SEED, replication)
        played = play_cell(cell, self.arrival, self.demand, seed=word(SEED, "trial", replication))
        self.response, self.start = played.response, played.start
        credits, most = credits_of(cell, played, self.demand), cell.most_running
        self.scores = share_scores(played, credits, self.demand, most)
        # arrivals of jobs that wait begin stretches too, so that a speed belongs to a time
        at = np.unique(np.concatenate([played.changes[:, 0], self.arrival]))
        held = np.searchsorted(played.changes[:, 0], at, side="right") - 1
        changes = np.column_stack([at, played.changes[held, 1]])
        fine = Played(
            played.arrival,
            played.start,
            played.finish,
            played.pieces,
            changes,
            played.end,
            played.disk_busy,
        )
        self.times = np.unique(np.append(at, played.end))
        self.spans = np.diff(self.times)
        last = np.searchsorted(at, self.times[:-1], side="right") - 1
        self.running = changes[last, 1].astype(int)
        self.stretch, self.job, self.work = work_by_stretch(fine, credits)
        self.whole = np.bincount(self.stretch, self.work, self.spans.size)

    def expected(self, speeds):
        """Work of each stretch at given speeds."""
        return np.where(self.running > 0, speeds[self.running - 1] * self.spans, 0.0)


def attained(run, speeds):
    """What each job would have done at equal shares of given speeds while it ran, (jobs,)."""
    each = run.expected(speeds) / np.maximum(run.running, 1)
    passed = np.concatenate([[0.0], np.cumsum(each)])
    begin, end = (np.searchsorted(run.times, at) for at in (run.start, run.arrival + run.response))
    return passed[end] - passed[begin]


def paces(run, speeds):
    """How much faster than such a machine this one was as a whole, from each time on."""
    expected = run.expected(speeds)
    factor = np.divide(run.whole, expected, out=np.ones_like(expected), where=expected > 0.0)
    return list(zip(run.times[:-1].tolist(), factor.tolist(), strict=True))


def unsteadiness(runs, speeds):
    """Variance of work done, less that of its speeds, for each mean job of work."""
    off = []
    for run in runs:
        done = np.concatenate([[0.0], np.cumsum(run.whole)])
        more = np.concatenate([[0.0], np.cumsum(run.whole - run.expected(speeds))])
        off.append(np.diff(np.interp(np.arange(0.0, done[-1], WINDOW), done, more)))
    return float((np.concatenate(off) ** 2).mean()) / WINDOW


def luck(runs, speeds, powers):
    """Standard deviation of log(attained / demand) beyond what shares by size make of it.

    For the shortest and the longest eighth of the jobs. A speed of a job's own that lasts as long
    as the job would be in both.
    """
    ratio, demand = [], []
    for run in runs:
        weight = run.demand[run.job] ** powers[run.running[run.stretch] - 1]
        share = weight / np.bincount(run.stretch, weight, run.spans.size)[run.stretch]
        by_size = np.bincount(run.job, run.whole[run.stretch] * share, run.demand.size)
        done = np.bincount(run.job, run.work, run.demand.size)
        ratio.append(np.log(done / by_size))
        demand.append(run.demand)
    ratio, demand = np.concatenate(ratio), np.concatenate(demand)
    low, high = np.quantile(demand, [PART, 1.0 - PART])
    return float(ratio[demand <= low].std()), float(ratio[demand >= high].std())


def main() -> None:
    """Play the machine, and on its jobs one queue after the other."""
    rows = []
    for given, rate in CELLS:
        cell = Cell.of(**given)
        runs = [Run(cell, rate, replication) for replication in range(REPLICATIONS)]
        most = cell.most_running
        work, spans = (
            sum(np.bincount(run.running, what(run), minlength=most + 1) for run in runs)[1:]
            for what in (lambda run: run.whole, lambda run: run.spans)
        )
        speeds = work / spans
        powers = shares_of_scores([run.scores for run in runs]).powers
        arrival, demand = (np.array([getattr(run, name) for run in runs]) for name in ("arrival", "demand"))
        seen = np.array([run.response.mean() for run in runs])
        row = {"cell": cell.label, "arrival_rate": rate, "jobs": REPLICATIONS * JOBS}
        own = np.array(
            [
                one_by_one(speeds, powers, run.arrival.tolist(), run.demand.tolist(), paces(run, speeds))[0]
                for run in runs
            ]
        )
        served = np.array([attained(run, speeds) for run in runs])
        for name, found in (
            ("equal", shared_responses(speeds, 0.0, arrival, demand)),
            ("by_size", shared_responses(speeds, powers, arrival, demand)),
            ("own_pace", own),
            ("attained", shared_responses(speeds, 0.0, arrival, served)),
        ):
            off = estimate(relative_differences(found.mean(axis=1), seen).tolist())
            row[f"error_{name}"] = off.mean
            row[f"half_width_{name}"] = off.half_width
        row["unsteadiness"] = unsteadiness(runs, speeds)
        row["luck_short"], row["luck_long"] = luck(runs, speeds, powers)
        row |= {f"power{k}": float(p) for k, p in enumerate(powers, start=1)}
        rows.append(row)
        print(row, file=sys.stderr)
    write_record("trial-assumptions", rows, command="python -m tests.campaigns.trial_assumptions", seed=SEED)


if __name__ == "__main__":
    main()
