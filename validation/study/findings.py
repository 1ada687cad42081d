"""The main findings of a study, as sentences."""

from __future__ import annotations

import numpy as np

from validation.study.run import Study


def findings(study: Study) -> list[str]:
    """Three sentences: the fastest policies, the highest loads, how far to trust both."""
    return [_fastest_policies(study), _highest_loads(study), _trust(study)]


def _fastest_policies(study: Study) -> str:
    loads = study.loads
    own = study.log_load
    chosen = {loads[0]: "light", loads[-1]: "the heaviest"}
    middle = min(loads, key=lambda x: abs(x - (loads[0] + loads[-1]) / 2))
    chosen.setdefault(middle, "medium")
    if own in loads:
        chosen[own] = "the log's own"
    parts = []
    for load in sorted(chosen):
        best = study.ranking(load)[0]
        parts.append(
            f"at {chosen[load]} load ({load:.2g}) {best.policy}, {_seconds(best.mean_response)}"
        )
    return "Shortest mean response time: " + "; ".join(parts) + "."


def _highest_loads(study: Study) -> str:
    best_of_kind: dict[str, tuple[str, float]] = {}
    for policy in study.scenario.policies:
        load = study.capacities[policy.label] / study.bound
        if load > best_of_kind.get(policy.name, ("", 0.0))[1]:
            best_of_kind[policy.name] = (policy.label, load)
    ranked = sorted(best_of_kind.values(), key=lambda item: -item[1])
    worst = min(study.capacities, key=study.capacities.__getitem__)
    said = ", ".join(f"{label} {load:.2f}" for label, load in ranked)
    return (
        f"Highest load that each kind of policy can carry: {said}; the lowest of all is that of "
        f"{worst}, {study.capacities[worst] / study.bound:.2f} (load 1 is the machine's ceiling: "
        f"the arrival rate at which all processors, or all disks, would always be busy)."
    )


def _trust(study: Study) -> str:
    if not study.checks:
        return "Nothing was simulated in this study, so nothing is known of how far to trust it."
    exact = [c for c in study.checks if c.agreement.prediction.method == "exact"]
    shared = [c for c in study.checks if c.agreement.prediction.method != "exact"]
    parts = []
    if exact:
        hits = sum(c.agreement.covered for c in exact)
        parts.append(
            f"where the model is exact, {hits} of {len(exact)} predictions lie in the simulator's "
            f"95 % interval"
        )
    if shared:
        gaps = sorted(abs(c.agreement.gap) for c in shared)
        worst = max(shared, key=lambda c: abs(c.agreement.gap))
        where = "elsewhere it is" if exact else "all simulated predictions are"
        parts.append(
            f"{where} approximate: off by {np.median(gaps):.1%} in the "
            f"median and {worst.agreement.gap:+.1%} at worst ({worst.policy.label} at "
            f"{worst.fraction:.0%} of its capacity)"
        )
    replays = [c for c in study.checks if c.replay]
    if replays:
        ratios = [
            c.replay.mean_response.mean / c.agreement.prediction.mean_response
            for c in replays
            if c.replay
        ]
        parts.append(
            f"the log itself, played back in its own order, answers in {min(ratios):.2g} to "
            f"{max(ratios):.2g} times the predicted time, which is what the fitted laws leave out"
        )
    return "How far to trust it: " + "; ".join(parts) + "."


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 1000 else f"{value:.3g} s"
