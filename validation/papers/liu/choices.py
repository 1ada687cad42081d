"""What depends on the choices that the paper leaves open: every claim under each of them."""

from __future__ import annotations

from itertools import islice

from validation.mesh import Router
from validation.papers.base import FAILS, HOLDS, UNDECIDED, Experiment, Finding, Outcome, RunOptions, Verdict
from validation.papers.liu import plotting
from validation.papers.liu.campaign import Campaign, campaign
from validation.papers.liu.claims import dominated, falls, flat, leads, rises, robust, suited, tolerant
from validation.papers.liu.rivals import ALL
from validation.papers.liu.setup import Choices, variants

#: Runs of each of 87 cells under each choice.
RUNS = 60
COMMUNICATIONS = (0, 4, 16)
AS_CHOSEN = "as chosen"
#: One thing changed at a time.
OTHERS = {
    AS_CHOSEN: Choices(),
    "nearest neighbours": Choices(pattern="nearest-neighbour"),
    "messages of 5 flits": Choices(flits=5),
    "messages of 256 flits": Choices(flits=256),
    "routers of 3 cycles": Choices(router=Router(hop=4)),
    "pipelined routers": Choices(router=Router.pipelined()),
    "disks with 10 ms a message": Choices(disk_delay=10.0),
    "reads": Choices(io="read"),
    "links shared as by fluids": Choices(network="fluid"),
    "pieces near the last": Choices(anchor="last"),
}


def run(options: RunOptions) -> Outcome:
    """Judge every claim under every choice, and say where two contradict each other."""
    import pandas as pd

    judged = {
        name: _judge(
            campaign(
                variants(*ALL),
                options,
                what=name,
                runs=RUNS,
                communications=COMMUNICATIONS,
                choices=choices,
            )
        )
        for name, choices in islice(OTHERS.items(), 2 if options.quick else None)
    }
    table = pd.DataFrame(
        {
            "choice": name,
            "claim": finding.claim,
            "sentence": finding.sentence,
            "verdict": finding.verdict,
            "detail": finding.detail,
        }
        for name, findings in judged.items()
        for finding in findings
    )
    findings = []
    for k, ours in enumerate(judged[AS_CHOSEN]):
        verdicts = {name: judged[name][k].verdict for name in judged}
        by_verdict = {
            verdict: [name for name, other in verdicts.items() if other == verdict]
            for verdict in dict.fromkeys(verdicts.values())
        }
        findings.append(
            Finding(
                ours.claim,
                f"no other choice reverses the verdict: {ours.sentence}",
                _reversal(ours.verdict, set(verdicts.values())),
                "; ".join(f"{word}: {', '.join(names)}" for word, names in by_verdict.items()),
            )
        )
    return Outcome(table, tuple(findings), lambda: plotting.verdict_grid(table))


def _reversal(ours: Verdict, every: set[Verdict]) -> Verdict:
    """Whether a verdict stands: it fails where two choices contradict each other.

    A sentence that is undecided under our own choice has no verdict that could be reversed.
    """
    if {HOLDS, FAILS} <= every:
        return FAILS
    return UNDECIDED if ours == UNDECIDED else HOLDS


def _judge(found: Campaign) -> list[Finding]:
    return [
        flat(found, "SBT"),
        flat(found, "DBT"),
        falls(found, "SBT", "L-23"),
        falls(found, "DBT", "L-24"),
        *rises(found),
        *leads(found),
        robust(found),
        *tolerant(found),
        *suited(found),
        dominated(found),
    ]


EXPERIMENT = Experiment(
    name="liu-choices",
    source="Liu, Hsu, Wu, ICPADS 2005, figures 3 to 6 and section 6",
    claim="which of the claims hang on what the paper does not say",
    run=run,
)
