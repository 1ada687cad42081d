"""Descriptions of public logs held against the logs in their own order, as a record.

``python -m tests.campaigns.log_descriptions`` predicts machines whose models are exact but for what jobs
come, with the description that is taken by default and with independent jobs, beside each log in its own
order by a recursion that shares no code with the package. `other` is what the other half, or the next
quarter, of the same log gives at the same load, which the intervals `low` to `high` are of. Descriptions
and intervals were tuned on one half of the logs, see `tests.campaigns.log_halves`. It needs the logs of
the shared data, and takes half a minute of a processor.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from phasefit import match_moments
from qmodels.policies import SpaceSharing, System, Workload, capacity, predict
from qmodels.programs import Phase, Program
from tests.campaigns.fit_errors import waits_in_order
from tests.campaigns.log_halves import JUDGED_ON, TUNED_ON, histories
from tests.campaigns.record import write_record

POLICIES = (SpaceSharing(1, 1), SpaceSharing(4, 4), SpaceSharing(16, 16))
FRACTIONS = (0.5, 0.7, 0.85)
MACHINE = System(processors=16, disks=16)
PROGRAM = Program([Phase(io=1.0, cpu=63.0)])
#: Jobs of the end that are played before a log, so that it does not begin empty.
BEFORE = 100_000


def workload_of(name, log):
    """Laws with the two moments of a log's jobs, marked as fitted to them."""
    laws = []
    for values in (log.interarrivals, log.work_by_job[1:]):
        mean = float(values.mean())
        law = match_moments(mean, float((values**2).mean()))
        users = log.jobs["user"].to_numpy(np.int64)[1:]
        laws.append(law.with_data(values, how="first two moments", source=name, labels=users))
    return Workload(PROGRAM, demand=laws[1], arrivals=laws[0])


def in_order(gaps, work, servers):
    """Mean and 95th percentile of the response of jobs in their own order, round and round."""
    before = min(gaps.size, BEFORE)
    came, brought = (np.concatenate([x[-before:], x]) for x in (gaps, work))
    stays = (waits_in_order(came, brought, servers) + brought)[before:]
    return float(stays.mean()), float(np.quantile(stays, 0.95))


def rows_of(of):
    """All rows of a log of one side, and processor seconds of them."""
    side, logs = of
    began = time.process_time()
    return list(_rows_of(side, logs)), time.process_time() - began


def _rows_of(side, logs):
    for name, log in histories(logs):
        work, rows = workload_of(name, log), []
        gaps, sizes = work.arrivals.fitted_to.times, work.demand.fitted_to.times
        gaps, sizes = gaps / gaps.mean(), sizes / sizes.mean()
        independent = Workload(PROGRAM, work.demand, work.arrivals, description="independent")
        for policy in POLICIES:
            servers = policy.processor_partitions
            most = capacity(policy, MACHINE, work)
            for fraction in FRACTIONS:
                rate = fraction * most
                found = predict(policy, MACHINE, work, arrival_rate=rate)
                by_laws = predict(policy, MACHINE, independent, arrival_rate=rate)
                true, true95 = in_order(gaps / rate, sizes * servers / most, servers)
                error, error95 = found.fit_error(), found.fit_error(q=0.95)
                rows.append(
                    {
                        "side": side,
                        "log": name,
                        "policy": policy.label,
                        "fraction": fraction,
                        "jobs": gaps.size,
                        "description": found.description.split(" (")[0],
                        "in_order": true,
                        "in_order_p95": true95,
                        "predicted": found.mean_response,
                        "predicted_p95": float(found.percentile(0.95)),
                        "independent": by_laws.mean_response,
                        "low": error.low,
                        "high": error.high,
                        "low_p95": error95.low,
                        "high_p95": error95.high,
                    }
                )
        print(f"{name}: {found.description}", file=sys.stderr, flush=True)
        yield from rows


def with_others(rows):
    """The same rows with what the neighbouring part of the same log gives; nan for whole logs."""
    known = {
        (row["log"], row["policy"], row["fraction"]): (row["in_order"], row["in_order_p95"]) for row in rows
    }
    for row in rows:
        name, _, part = row["log"].partition(", part ")
        other = float("nan"), float("nan")
        if part:
            k, parts = (int(text) for text in part.split(" of "))
            neighbour = f"{name}, part {k + 1 if k % 2 else k - 1} of {parts}"
            other = known.get((neighbour, row["policy"], row["fraction"]), other)
        yield row | {"other": other[0], "other_p95": other[1]}


def interval_score(low, high, value):
    """Width of a 90 % interval of the logarithm, and twenty times the distance of what it misses."""
    low, high, value = np.log([low, high, value])
    return high - low + 20.0 * max(low - value, value - high, 0.0)


def summary(rows):
    """Errors by side, and how many intervals hold what they are held against."""
    found = {}
    for side in ("tuned", "judged"):
        some = [row for row in rows if row["side"] == side]
        for name, of in (
            ("mean", ("predicted", "in_order")),
            ("p95", ("predicted_p95", "in_order_p95")),
            ("independent", ("independent", "in_order")),
        ):
            off = np.array([abs(row[of[0]] / row[of[1]] - 1.0) for row in some])
            found[f"{side}_median_{name}"] = round(float(np.median(off)), 3)
            found[f"{side}_nine_tenths_{name}"] = round(float(np.quantile(off, 0.9)), 3)
        parts = [row for row in some if np.isfinite(row["other"])]
        for name in ("predicted", "independent"):
            off = [abs(np.log(row[name] / row["other"])) for row in parts]
            found[f"{side}_median_log_off_other_{name}"] = round(float(np.median(off)), 3)
        for against, chosen in (("in_order", some), ("other", parts)):
            held = [row["low"] <= row[against] <= row["high"] for row in chosen]
            found[f"{side}_interval_holds_{against}"] = round(float(np.mean(held)), 3)
        held = [row["low_p95"] <= row["other_p95"] <= row["high_p95"] for row in parts]
        found[f"{side}_interval_holds_other_p95"] = round(float(np.mean(held)), 3)
        ends = [(row["low"], row["high"]) for row in parts]
        found[f"{side}_interval_endless"] = round(float(np.mean([high == np.inf for _, high in ends])), 3)
        found[f"{side}_median_log_width"] = round(float(np.median([np.log(b / a) for a, b in ends])), 3)
        scores = [interval_score(*x, row["other"]) for x, row in zip(ends, parts, strict=True)]
        found[f"{side}_interval_score"] = round(float(np.mean(scores)), 3)
        found[f"{side}_rows"] = len(some)
    return found


def main() -> None:
    """Go through the logs of both sides, write the record."""
    sides = (("tuned", TUNED_ON), ("judged", JUDGED_ON))
    each = [(side, {name: file}) for side, logs in sides for name, file in logs.items()]
    with ProcessPoolExecutor(4) as pool:
        parts = list(pool.map(rows_of, each))
    rows = list(with_others([row for found, _ in parts for row in found]))
    facts = {"cpu_seconds": round(sum(seconds for _, seconds in parts), 1)} | summary(rows)
    rows = [{name: f"{x:.5g}" if isinstance(x, float) else x for name, x in row.items()} for row in rows]
    write_record("log-descriptions", rows, command="python -m tests.campaigns.log_descriptions", **facts)
    print(facts)


if __name__ == "__main__":
    main()
