"""Table B3 of the specification on slices, played for longer, as a record.

``python -m tests.campaigns.slices [SHARE]`` takes three minutes of CPU; SHARE shortens all runs. A
row agrees where the whole 95 % interval lies within the tolerance stated, misses where none of it
does, and is undecided otherwise.
"""

from __future__ import annotations

import sys

from tests.campaigns.record import write_record
from validation import Pod, simulate_slices

SEED = 21
#: Strategy, whether sides wrap, and the utilisation with a full queue in order of arrival.
FULL = (
    ("any-blocks", True, 0.910),
    ("TFF", True, 0.674),
    ("TBF", True, 0.684),
    ("TFF", False, 0.650),
    ("aligned", True, 0.667),
    ("MFP", True, 0.666),
)
#: The same where whatever fits may start; the specification does not say how many wait.
PASSING = (("any-blocks", 0.948), ("TFF", 0.814), ("TBF", 0.815), ("aligned", 0.812))
BACKLOGS = (4, 6, 10, 50, 200)
#: Mean wait at load .5, in order of arrival.
WAITS = (("any-blocks", True, 0.085), ("TFF", True, 0.394), ("TBF", True, 0.311), ("TFF", False, 0.504))
#: Refusals of the smallest and the largest slice at load .7.
LOSSES = (("any-blocks", 0.0113, 0.597), ("TFF", 0.0003, 0.90), ("TBF", 0.001, 0.87))


def row(case, strategy, wrap, said, found, tolerance):
    """One number of the table beside ours."""
    inside = abs(found.mean - said) + found.half_width <= tolerance
    outside = abs(found.mean - said) - found.half_width > tolerance
    verdict = "agrees" if inside else "misses" if outside else "undecided"
    return {
        "case": case,
        "strategy": strategy,
        "wrap": wrap,
        "specification": said,
        "ours": found.mean,
        "half_width": found.half_width,
        "tolerance": tolerance,
        "verdict": verdict,
    }


def rows(share):
    """All rows, as they are found."""

    def played(strategy, wrap, load, jobs, **options):
        count = max(400, int(share * jobs))
        pod = Pod((4, 4, 4), wrap=wrap)
        return simulate_slices(pod, "halving", load, strategy=strategy, count=count, seed=SEED, **options)

    for strategy, wrap, said in FULL:
        jobs = 20_000 if strategy == "MFP" else 80_000
        found = played(strategy, wrap, None, jobs).utilisation
        yield row("FCFS, full queue", strategy, wrap, said, found, 0.01)
    for backlog in BACKLOGS:
        for strategy, said in PASSING:
            found = played(strategy, True, None, 20_000, discipline="first-fit", backlog=backlog)
            case = f"first-fit, {backlog} wait"
            yield row(case, strategy, True, said, found.utilisation, 0.01)
    for strategy, wrap, said in WAITS:
        found = played(strategy, wrap, 0.5, 200_000).wait
        yield row("FCFS, wait at .5", strategy, wrap, said, found, 0.05)
    for strategy, smallest, largest in LOSSES:
        found = played(strategy, True, 0.7, 80_000, discipline="loss").shapes
        for own, said in ((found[0], smallest), (found[-1], largest)):
            case = f"refused at .7, {'x'.join(map(str, own.shape))}"
            yield row(case, strategy, True, said, own.refused, 0.01)


def main(share: float) -> None:
    """Play all of it, say how far it has come, write the record."""
    found = []
    for one in rows(share):
        found.append(one)
        print(*one.values(), file=sys.stderr, flush=True)
    counts = {
        verdict: sum(one["verdict"] == verdict for one in found)
        for verdict in ("agrees", "undecided", "misses")
    }
    command = f"python -m tests.campaigns.slices {share:g}"
    write_record("slices", found, command=command, seed=SEED, **counts)
    print(counts)


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 1.0)
