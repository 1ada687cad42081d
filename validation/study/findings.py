"""The main findings of a study, as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from qmodels.commands.durations import in_words
from qmodels.policies import AbstractPolicy
from qmodels.policies.base import running_jobs
from qmodels.policies.choice.ranking import BEST, TIE, RankedPolicy
from qmodels.policies.choice.recommendation import Recommendation
from validation.study.run import Study
from validation.trial.agreement import DECISIVE_PRECISION

#: Fraction of a policy's capacity above which its time is no headline: there one per cent more
#: load adds a fifth or more to it, and no load is known to one per cent.
HEADLINE: float = 0.95
#: Ties that are named in a sentence.
_MOST_TIES = 2
#: A centre this busy is what limits a policy.
_BUSY = 0.85


def findings(study: Study, *, bare: bool = False) -> list[str]:
    """Sentences: the fastest policies, the highest loads, how far to trust both.

    The fastest policies are those of `qmodels.policies.recommend` at a light, a medium and the
    heaviest load and at the log's own; where others may be as good within the error of the models
    no policy is called fastest. What a policy's label means is said where it first occurs, and of
    a trial all; `bare` leaves both to the page that the sentences stand on.
    """
    words = Glossary(study, bare=bare)
    tried = [
        f"How far to trust it on a mesh: {trial.in_short() if bare else trial.trust()}"
        for trial in study.trials
    ]
    sentences = [*_fastest_policies(study, words), _highest_loads(study, words)]
    if study.checks or not tried:
        sentences.append(_trust(study, words))
    return [*sentences, *tried]


class Glossary:
    """Labels of policies, each with what it says the first time it is named, or bare."""

    def __init__(self, study: Study, *, bare: bool = False) -> None:
        self.meanings = meanings(study)
        self._bare = bare
        self._named: set[str] = set()

    def __call__(self, label: str) -> str:
        """The label, with its meaning in brackets the first time."""
        if self._bare or label in self._named:
            return label
        self._named.add(label)
        return f"{label} ({self.meanings[label]})"


def meanings(study: Study) -> dict[str, str]:
    """What the labels of all policies of a study say, in words."""
    policies = [*study.scenario.policies, *(trial.policy for trial in study.trials)]
    plan = study.scenario.validation
    if plan is not None:
        policies += plan.policies
    return {policy.label: policy.in_words(study.scenario.system) for policy in policies}


def headline_policies(study: Study, most: int = 6) -> list[str]:
    """Labels of the policies that the findings name: the fastest, who ties, who carries most."""
    spoken = [each.rows for each, _ in _spoken_of(study)[0]]
    fastest = [rows[0].label for rows in spoken]
    tied = [next((row.label for row in rows if row.status == TIE), "") for rows in spoken]
    carrying = [label for label, _ in _best_of_each_kind(study)]
    return [label for label in dict.fromkeys([*fastest, *tied, *carrying]) if label][:most]


def near_saturation(row: RankedPolicy, rate: float) -> str:
    """What is said of a time close to the policy's capacity; "" elsewhere."""
    fraction = rate / row.capacity
    return f"at {fraction:.1%} of what it can carry" if fraction > HEADLINE else ""


def _fastest_policies(study: Study, words: Glossary) -> Iterator[str]:
    spoken, left = _spoken_of(study)
    for found, name in spoken:
        yield _fastest(found, name, words)
    if left:
        said = ", ".join(_load(study, load) for load in left)
        heaviest = left[max(left)]
        best = heaviest.rows[0]
        near = near_saturation(best, heaviest.arrival_rate)
        where = near or f"at {heaviest.arrival_rate / best.capacity:.1%} of what it can carry"
        why = (
            "a small error of the load changes the time much there"
            if near
            else "what it can carry is itself in doubt, so that no error of its time can be stated"
        )
        error = " (no error can be stated)" if near and best.error == inf else ""
        yield (
            f"No policy is recommended at load {said}: {words(best.label)} has the least predicted "
            f"mean response time at load {heaviest.load:.3g}, {in_words(best.value)}{error}, but "
            f"is there {where}, and {why}."
        )


def _spoken_of(
    study: Study,
) -> tuple[list[tuple[Recommendation, str]], dict[float, Recommendation]]:
    """All policies at the loads that are spoken of, with their names, and where none is best."""
    found = {load: study.recommendation(load) for load in study.loads}
    left = {load: each for load, each in found.items() if _too_near(each)}
    names = _headlines(study, [load for load in found if load not in left])
    return [(found[load], name) for load, name in sorted(names.items())], left


def _headlines(study: Study, fit: list[float]) -> dict[float, str]:
    """The loads that are spoken of, and what each is called."""
    if not fit:
        return {}
    chosen = {fit[0]: "light load"}
    if len(fit) > 1:
        chosen[fit[-1]] = "heavy load"
        middle = min(fit, key=lambda x: abs(x - (fit[0] + fit[-1]) / 2))
        chosen.setdefault(middle, "medium load")
    own = study.log_load
    if own is not None and own in fit:
        chosen[own] = "the log's own load"
    return chosen


def _load(study: Study, load: float) -> str:
    own = " (the log's own)" if load == study.log_load else ""
    return f"{load:.3g}{own}"


def _too_near(found: Recommendation) -> bool:
    best = found.rows[0]
    return best.status != BEST or bool(near_saturation(best, found.arrival_rate))


def _fastest(found: Recommendation, name: str, words: Glossary) -> str:
    best = found.rows[0]
    at = f"At {name} ({found.load:.2g})"
    time = in_words(best.value)
    ties = [row for row in found.rows if row.status == TIE]
    if not ties:
        after = next((row for row in found.rows[1:] if row.value == row.value), None)
        second = (
            "no other policy can carry that load"
            if after is None
            else f"the next, {words(after.label)}, takes {after.value / best.value - 1.0:.0%} more"
        )
        return (
            f"{at} the shortest mean response time is that of {words(best.label)}, {time} "
            f"({_error(best)}); {second}."
        )
    others = [
        f"{words(row.label)}, {in_words(row.value, like=best.value)}" for row in ties[:_MOST_TIES]
    ]
    if len(ties) > _MOST_TIES:
        others.append(f"{len(ties) - _MOST_TIES} more")
    error = max(row.error for row in (best, *ties))
    return (
        f"{at} no single policy can be called fastest: {words(best.label)} has the least "
        f"predicted mean response time, {time}, but within the error of the models (up to "
        f"{error:.0%}) {_joined(others)} may be as good."
    )


def _error(row: RankedPolicy) -> str:
    """The error that is stated for a time."""
    return "exact for this model" if row.method == "exact" else f"± {row.error:.0%}"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{'; '.join(parts[:-1])}; and {parts[-1]}"


def _highest_loads(study: Study, words: Glossary) -> str:
    ranked = _best_of_each_kind(study)
    doubt = {p.label: p.capacity_error(study.workload) for p in study.scenario.policies}
    worst = min(study.capacities, key=study.capacities.__getitem__)
    said = "; ".join(
        f"{words(label)} {load:.2f}{f' (± {doubt[label]:.0%})' if doubt[label] else ''}"
        for label, load in ranked
    )
    return (
        f"Highest load that the best of each kind of policy can carry, predicted: {said}. The "
        f"lowest of all is "
        f"that of {words(worst)}, {study.capacities[worst] / study.bound:.2f}. Load 1 is the "
        f"machine's ceiling: the arrival rate at which all processors, or all disks, would always "
        f"be busy."
    )


def _best_of_each_kind(study: Study) -> list[tuple[str, float]]:
    """The policy of each kind that carries most, and the load that it carries, most first."""
    best_of_kind: dict[str, tuple[str, float]] = {}
    for policy in study.scenario.policies:
        load = study.capacities[policy.label] / study.bound
        if load > best_of_kind.get(policy.name, ("", 0.0))[1]:
            best_of_kind[policy.name] = (policy.label, load)
    return sorted(best_of_kind.values(), key=lambda item: -item[1])


def _trust(study: Study, words: Glossary) -> str:
    if not study.checks:
        return "Nothing was simulated in this study, so nothing is known of how far to trust it."
    exact = [c for c in study.checks if c.agreement.prediction.method == "exact"]
    rest = [c for c in study.checks if c.agreement.prediction.method != "exact"]
    parts = []
    if exact:
        agreed, off, open_ = (
            sum(c.agreement.verdict == verdict for c in exact)
            for verdict in ("agrees", "differs", "undecided")
        )
        said = f"where the model is exact, the simulation agrees with {agreed} of {len(exact)} "
        said += "predictions"
        if off:
            said += f", differs from {off} (one in twenty would by chance)"
        if open_:
            said += f", is too imprecise to decide {open_} (worse than {DECISIVE_PRECISION:.0%})"
        parts.append(said)
    where = "elsewhere it is" if exact else "all simulated predictions are"
    decided = [c for c in rest if c.agreement.verdict != "undecided"]
    if decided:
        gaps = sorted(abs(c.agreement.gap) for c in decided)
        worst = max(decided, key=lambda c: abs(c.agreement.gap))
        parts.append(
            f"{where} approximate: of {len(rest)} predictions {len(decided)} could be "
            f"judged, off by {np.median(gaps):.1%} in the median and {worst.agreement.gap:+.1%} at "
            f"worst ({words(worst.policy.label)}, at {worst.fraction:.0%} of its capacity)"
        )
        if unjudged := [abs(c.agreement.gap) for c in rest if c not in decided]:
            parts.append(
                f"{len(unjudged)} {'was' if len(unjudged) == 1 else 'were'} simulated too "
                f"imprecisely to judge, with gaps of up to {max(unjudged):.1%}"
            )
    elif rest:
        parts.append(
            f"{where} approximate, and the simulation is too imprecise to judge any of "
            f"{len(rest)} predictions"
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
    unplayed = _never_simulated(study)
    if unplayed:
        parts.append(
            f"{' and '.join(map(words, unplayed))}, named fastest above, "
            f"{'was' if len(unplayed) == 1 else 'were'} not among those simulated"
        )
    return "How far to trust it: " + "; ".join(parts) + "."


def _never_simulated(study: Study) -> list[str]:
    """Labels of policies with the least predicted time at a load spoken of, never simulated."""
    fastest = [found.rows[0].label for found, _ in _spoken_of(study)[0]]
    played = {check.policy.label for check in study.checks}
    return [label for label in dict.fromkeys(fastest) if label not in played]


def limits_of_repartitioning(study: Study) -> list[str]:
    """What limits each policy under dynamic partitioning, from the model at its capacity.

    Its curve shows the time that jobs take when they are few; where it ends is decided by the
    time they take when the machine is divided into as many parts as there can be.
    """
    return [
        _limit(study, policy)
        for policy in study.scenario.policies
        if policy.arrangement(study.scenario.system).repartitioned
    ]


def _limit(study: Study, policy: AbstractPolicy) -> str:
    """Why a policy carries no more: which centre is busy with all jobs running, and with what."""
    system = study.scenario.system
    full = running_jobs(policy, system, study.workload)
    p, d = policy.allotment(system)
    processors = float(full.processors_busy[-1]) / system.processors
    disks = float(full.disks_busy[-1]) / system.disks
    jobs = full.throughput.size
    load = study.capacities[policy.label] / study.bound
    said = (
        f"{policy.label} carries at most load {load:.2f}: at its limit {jobs} jobs run, each on "
        f"{p:.3g} processors and a group of {d:.3g} disk{'' if d == 1 else 's'}"
    )
    name, busy = max(("processors", processors), ("disks", disks), key=lambda item: item[1])
    if busy >= _BUSY:
        said += f", and the {name} are the bottleneck, {busy:.0%} busy"
    else:
        said += (
            f", and the {name} are the busiest, but only {busy:.0%} busy: a job leaves them idle "
            f"while it {'transfers' if name == 'processors' else 'computes'}"
        )
    more = _dearer(study, name, p, d)
    if more > 1.05:
        unit = "processor" if name == "processors" else "disk"
        said += (
            f"; on that allotment a job takes {more:.2g} times the {unit}-seconds that it takes "
            f"on its best one"
        )
    most = int(np.argmax(full.throughput))
    if full.throughput[most] > 1.05 * full.throughput[-1]:
        peak = float(full.throughput[most]) / study.bound
        said += (
            f". With {most + 1} job{'s' if most else ''} at a time it would get through load "
            f"{peak:.2f}: it is the jobs that are let in beyond those that slow it down, so its "
            f"curve ends early"
        )
    return said + "."


def _dearer(study: Study, centre: str, p: float, d: float) -> float:
    """Work of a job at a centre on p processors and d disks over its least on any allotment."""
    system, program = study.scenario.system, study.scenario.program
    units = np.arange(system.min_processors, system.processors + 1, dtype=float)[:, None]
    disks = np.arange(system.min_disks, system.disks + 1, dtype=float)[None, :]
    if centre == "processors":
        least = float(np.min(units * program.mean_cpu(units, disks)))
        return p * float(program.mean_cpu(p, d)) / least
    least = float(np.min(disks * program.mean_io(units, disks)))
    return d * float(program.mean_io(p, d)) / least
