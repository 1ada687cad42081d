"""Hold formulas of malleable policies against simulation, and Inelastic-First against its reverse.

``python -m tests.campaigns.malleable filling JOURNAL 0 10`` holds ServerFilling to its published figures,
``... exact JOURNAL 0 100`` and ``... order JOURNAL 0 200`` measure, and
without numbers write the record. Every system is drawn from [SEED, part, number]; "order" pairs the two
policies on the same jobs, a third of the systems where the theorem's assumption fails: elastic phases
shorter than inelastic ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import t

from phasefit import match_moments
from tests.campaigns.pieces import COLLECTED, journal_rows, measured_rows
from tests.campaigns.record import write_record
from validation.malleable import random_jobs, simulate_jobs
from validation.malleable.jobs import RIGID, inelastic, power
from validation.malleable.policies.equal_shares import EqualShares, equal_shares_response
from validation.malleable.policies.inelastic_first import (
    ElasticFirst,
    InelasticFirst,
    inelastic_first_response,
)
from validation.malleable.policies.limited_sharing import LimitedSharing, limited_sharing_response
from validation.malleable.policies.server_filling import ServerFilling, ServerFillingSRPT

SEED, REPLICATIONS = 3906, 30
#: Jobs in a replication of each part.
JOBS = {"exact": 500, "order": 60, "filling": 20_000}
#: Mean responses of I. Grosof et al. 2022, one run of 10^6 to 10^7 jobs each, as the specification has them.
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)
PUBLISHED = {
    "ServerFilling": (2.373, 2.987, 3.895, 5.503, 9.898),
    "ServerFilling-SRPT": (2.131, 2.486, 2.874, 3.331, 4.041),
}
EXACT, APPROXIMATE = "exact", "approximate"


def exact_system(number):
    """Return policy, jobs, processors, prediction and how it was found, of a system."""
    rng = np.random.default_rng([SEED, 1, number])
    options = {"replications": REPLICATIONS, "jobs": JOBS["exact"], "seed": SEED, "key": ("exact", number)}
    k, load = int(rng.integers(1, 17)), rng.uniform(0.3, 0.85)
    kind = number % 3
    if kind == 0:
        curve = power(rng.uniform(0.3, 1.0))
        jobs = random_jobs(load * k, [(1.0, [(1.0, 0)])], [curve], **options)
        return EqualShares(), jobs, k, equal_shares_response(load * k, k, curve), EXACT
    if kind == 1:
        share, elastic = rng.uniform(0.2, 0.8), 10.0 ** rng.uniform(-0.5, 0.5)
        rate = load * k / (share + (1.0 - share) * elastic)
        shapes = [(share, [(1.0, 0)]), (1.0 - share, [(elastic, 1)])]
        jobs = random_jobs(rate, shapes, [inelastic, power(1.0)], **options)
        mean = inelastic_first_response(share * rate, (1.0 - share) * rate, k, elastic_work=elastic).mean
        return InelasticFirst(), jobs, k, mean, EXACT
    scv, limit = float(rng.choice([0.4, 1.0, 1.0, 5.0])), int(rng.choice([1, 2, 4, 8]))
    law = match_moments(1.0, 1.0 + scv)
    jobs = random_jobs(load, [(1.0, [(1.0, 0)])], [power(1.0)], demand=law, **options)
    method = EXACT if limit == 1 or scv == 1.0 else APPROXIMATE
    return LimitedSharing(limit), jobs, 1, limited_sharing_response(load, scv, limit), method


def exact(number):
    """Measure the prediction of a system."""
    policy, jobs, k, mean, method = exact_system(number)
    run = simulate_jobs(policy, jobs, k, confidence=0.999).mean_response
    return {
        "number": number,
        "policy": policy.label,
        "processors": k,
        "method": method,
        "predicted": mean,
        "simulated": run.mean,
        "half_width_999": run.half_width,
        "inside": bool(run.contains(mean)),
    }


def exact_facts(rows):
    """Count what was called exact and lay inside, and errors elsewhere."""
    called_exact = [row["inside"] for row in rows if row["method"] == EXACT]
    errors = [abs(row["predicted"] / row["simulated"] - 1.0) for row in rows if row["method"] != EXACT]
    return {
        "called_exact": len(called_exact),
        "inside": sum(called_exact),
        "approximate": len(errors),
        "median_error": float(np.median(errors)) if errors else 0.0,
        "worst_error": max(errors, default=0.0),
    }


def order(number):
    """Compare Inelastic-First with its reverse on a system."""
    rng = np.random.default_rng([SEED, 2, number])
    fails = number % 3 == 2  # elastic phases shorter: the theorem says nothing
    k, load = int(rng.integers(2, 17)), rng.uniform(0.4, 0.9)
    elastic = 10.0 ** (rng.uniform(-1.0, 0.0) if fails else rng.uniform(0.0, 1.0))
    alternate = number % 2 == 1
    pair = [(1.0, 0), (elastic, 1)]
    phases = int(rng.integers(1, 4)) if alternate else 1
    shapes = [(1.0, pair * phases)] if alternate else [(1.0, [pair[0]]), (1.0, [pair[1]])]
    work = phases * (1.0 + elastic) if alternate else 0.5 * (1.0 + elastic)
    jobs = random_jobs(
        load * k / work,
        shapes,
        [inelastic, power(1.0)],
        replications=REPLICATIONS,
        jobs=JOBS["order"],
        seed=SEED,
        key=("order", number),
    )
    first, reverse = (simulate_jobs(each, jobs, k).responses for each in (InelasticFirst(), ElasticFirst()))
    low, high = _interval(np.array(reverse) - np.array(first), np.mean(first))
    verdict = "sooner" if low > 0.0 else "later" if high < 0.0 else "undecided"
    return {
        "number": number,
        "processors": k,
        "load": load,
        "elastic_over_inelastic": elastic,
        "phases": phases if alternate else 0,
        "assumption": not fails,
        "reverse_over_first": float(np.mean(reverse) / np.mean(first)),
        "low": low,
        "high": high,
        "verdict": verdict,
    }


def order_facts(rows):
    """Count the verdicts, where the theorem's assumption holds and where not."""
    facts = {
        f"{verdict}_where_{'assumed' if assumed else 'not'}": sum(
            row["verdict"] == verdict and row["assumption"] == assumed for row in rows
        )
        for verdict in ("sooner", "undecided", "later")
        for assumed in (True, False)
    }
    ratios = [row["reverse_over_first"] for row in rows if row["assumption"]]
    one_pair = [row for row in rows if row["assumption"] and row["phases"] == 1]
    return facts | {
        "largest_gain": max(ratios),
        "median_gain": float(np.median(ratios)),
        "largest_loss_where_not": 1.0 - min(row["reverse_over_first"] for row in rows),
        "one_pair_of_phases_where_assumed": len(one_pair),
        "later_of_one_pair_where_assumed": sum(row["verdict"] == "later" for row in one_pair),
    }


def _interval(differences, mean):
    """Return the ends of the 99 % interval of paired differences, as parts of the mean."""
    half = t.ppf(0.995, differences.size - 1) * differences.std(ddof=1) / np.sqrt(differences.size)
    return float((differences.mean() - half) / mean), float((differences.mean() + half) / mean)


def filling(number):
    """Return ServerFilling's mean response beside the published one, at a load, by arrival or by size."""
    load, kind = LOADS[number % len(LOADS)], (ServerFilling, ServerFillingSRPT)[number // len(LOADS)]
    # 20,000 at .9 as well left an interval of 6 %, which decides nothing
    count = JOBS["filling"] * (4 if load == max(LOADS) else 1)
    jobs = random_jobs(
        load * 2.4,  # a job needs 1 of 8 servers for a second, or one time in three all of them
        [(2.0, [(1.0, RIGID)]), (1.0, [(1.0, RIGID)])],
        [],
        needs=[1.0, 8.0],
        replications=REPLICATIONS,
        jobs=count,
        seed=SEED,
        key=("filling", LOADS.index(load)),
    )
    run = simulate_jobs(kind(), jobs, 8.0)
    published = PUBLISHED[kind.name][LOADS.index(load)]
    return {
        "number": number,
        "policy": kind.name,
        "load": load,
        "jobs": count,
        "published": published,
        "simulated": run.mean_response.mean,
        "half_width": run.mean_response.half_width,
        "error": run.mean_response.mean / published - 1.0,
    }


def filling_facts(rows):
    """Return how far the farthest is off."""
    return {"worst_error": max(abs(float(row["error"])) for row in rows)}


def main(part: str, journal: str, first: str = "", last: str = "") -> None:
    """Measure systems of a part into a journal, or write the record of it."""
    measure, facts_of = {
        "exact": (exact, exact_facts),
        "order": (order, order_facts),
        "filling": (filling, filling_facts),
    }[part]
    if first:
        measured_rows(Path(f"{journal}.{first}"), measure, range(int(first), int(last)))
        return
    rows = journal_rows(Path(journal))
    facts = facts_of(rows)
    write_record(
        f"malleable-{part}",
        rows,
        command=f"python -m tests.campaigns.malleable {part} JOURNAL FIRST LAST, then JOURNAL",
        seed=SEED,
        systems=len(rows),
        replications=REPLICATIONS,
        jobs=JOBS[part],
        note=COLLECTED,
        **facts,
    )
    print(facts)


if __name__ == "__main__":
    main(*sys.argv[1:])
