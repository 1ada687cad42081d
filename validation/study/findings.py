"""The main findings of a study, as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from qmodels.policies import AbstractPolicy
from qmodels.policies.base import running_jobs
from qmodels.policies.choice.ranking import TIE, RankedPolicy
from qmodels.policies.choice.recommendation import within_what
from qmodels.policies.methods import EXACT, exact_for_its_laws
from qmodels.words import counted, in_words, plural
from validation.study.headlines import Headline, headlines, near_saturation
from validation.study.run import Study
from validation.trial.agreement import DECISIVE_PRECISION

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
    sentences = [*_fastest_policies(study, words), *_of_the_log(study), _highest_loads(study, words)]
    if study.checks or not tried:
        sentences.append(_trust(study, words))
    return [*sentences, *tried, *_beyond(study)]


def _beyond(study: Study) -> list[str]:
    """What policies would give that no site runs today, beside the fastest that it can."""
    if not study.beyond:
        return []
    fastest = study.recommendation(study.beside_load).rows[0]
    told = [each.sentence(fastest.label, fastest.value) for each in study.beyond]
    return [f"Not to be had today, simulated at load {_load(study, study.beside_load)}: {_joined(told)}."]


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
    policies += [check.policy for check in study.checks]
    plan = study.scenario.validation
    if plan is not None:
        policies += plan.policies
    return {policy.label: policy.in_words(study.scenario.system) for policy in policies}


def headline_policies(study: Study, most: int = 6) -> list[str]:
    """Labels of the policies that the findings name: the fastest, who ties, who carries most."""
    spoken = [each.found.rows for each in headlines(study)[0]]
    fastest = [rows[0].label for rows in spoken]
    tied = [next((row.label for row in rows if row.status == TIE), "") for rows in spoken]
    carrying = [label for label, _ in _best_of_each_kind(study)]
    return [label for label in dict.fromkeys([*fastest, *tied, *carrying]) if label][:most]


def _fastest_policies(study: Study, words: Glossary) -> Iterator[str]:
    spoken, left = headlines(study)
    for each in spoken:
        yield _fastest(study, each, words)
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


def _load(study: Study, load: float) -> str:
    own = " (the log's own)" if load == study.log_load else ""
    return f"{load:.3g}{own}"


def _fastest(study: Study, each: Headline, words: Glossary) -> str:
    found = each.found
    best = found.rows[0]
    at = f"At {each.name} ({found.load:.2g})"
    time, simulated = in_words(best.value), _simulated(study, each)
    beside, played = (f"; {simulated}", f" ({simulated})") if simulated else ("", "")
    ties = [row for row in found.rows if row.status == TIE]
    if not ties:
        after = next((row for row in found.rows[1:] if row.value == row.value), None)
        if len(found.rows) == 1:
            second = "no other policy was looked at"
        elif after is None:
            second = "no other policy can carry that load"
        else:
            second = f"the next, {words(after.label)}, takes {after.value / best.value - 1.0:.0%} more"
        return (
            f"{at} {words(best.label)} has the shortest mean response time, {time} "
            f"({_error(best)}{beside}); {second}."
        )
    others = [f"{words(row.label)}, {in_words(row.value, like=best.value)}" for row in ties[:_MOST_TIES]]
    if len(ties) > _MOST_TIES:
        others.append(f"{len(ties) - _MOST_TIES} more")
    error = max((row.error for row in (best, *ties) if row.error < inf), default=0.0)
    doubt = within_what(found.rows, f" (up to {error:.0%})")
    return (
        f"{at} no single policy can be called fastest: {words(best.label)} has the least "
        f"predicted mean response time, {time}{played}, but {doubt} {_joined(others)} may be as "
        f"good."
    )


def _simulated(study: Study, each: Headline) -> str:
    """What the simulation says of the policy that is named at a load; "" where there is none."""
    check = study.check(each.named, each.found.arrival_rate)
    if check is None:
        return ""
    found = check.agreement.simulation.mean_response
    unit = each.found.rows[0].value
    return f"simulated {in_words(found.mean, like=unit)} ± {found.half_width / found.mean:.1%}"


def _error(row: RankedPolicy) -> str:
    """The error that is stated for a time."""
    if not exact_for_its_laws(row.method):
        return "how far it may be off is not known here" if row.error == inf else f"± {row.error:.0%}"
    return "exact for this model" if row.method == EXACT else "exact for the laws fitted to the log"


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
    least = f"The lowest of all is that of {words(worst)}, {study.capacities[worst] / study.bound:.2f}. "
    return (
        f"Highest load that the best of each kind of policy can carry, predicted: {said}. "
        f"{least if len(study.capacities) > 1 else ''}Load 1 is the "
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
    exact = [c for c in study.checks if exact_for_its_laws(c.agreement.prediction.method)]
    rest = [c for c in study.checks if not exact_for_its_laws(c.agreement.prediction.method)]
    parts = []
    if exact:
        agreed, off, open_ = (
            sum(c.agreement.verdict == verdict for c in exact)
            for verdict in ("agrees", "differs", "undecided")
        )
        said = f"where the model is exact, the simulation agrees with {agreed} of "
        said += counted(len(exact), "prediction")
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
        half = f"half of these are within {np.median(gaps):.1%} of the simulated time, and the worst"
        allowed = ", if not by chance in the simulation" if worst.agreement.verdict == "agrees" else ""
        parts.append(
            f"{where} approximate, and {len(decided)} of {len(rest)} could be judged: "
            f"{half if len(decided) > 1 else 'it'} is {abs(worst.agreement.gap):.1%} too "
            f"{_off(worst.agreement.gap)}{allowed} ({words(worst.policy.label)}, at "
            f"{worst.fraction:.0%} of its capacity)"
        )
        if unjudged := [abs(c.agreement.gap) for c in rest if c not in decided]:
            parts.append(
                f"{len(unjudged)} {'was' if len(unjudged) == 1 else 'were'} simulated too "
                f"imprecisely to judge, with gaps of up to {max(unjudged):.1%}"
            )
    elif rest:
        parts.append(
            f"{where} approximate, and the simulation is too imprecise to judge any of "
            f"{counted(len(rest), 'prediction')}"
        )
    replays = [c for c in study.checks if c.replay]
    if replays:
        ratios = [
            c.replay.mean_response.mean / c.agreement.prediction.mean_response for c in replays if c.replay
        ]
        ends = " to ".join(dict.fromkeys(f"{ratio:.2g}" for ratio in (min(ratios), max(ratios))))
        parts.append(
            f"the log itself, played back in its own order, answers in {ends} times the predicted "
            f"time, which is what the fitted laws leave out"
        )
    unplayed = _never_simulated(study)
    if unplayed:
        parts.append(
            f"{' and '.join(map(words, unplayed))}, named above, "
            f"{'was' if len(unplayed) == 1 else 'were'} not simulated at these loads"
        )
    return "How far to trust it: " + "; ".join(parts) + "."


def _off(gap: float) -> str:
    """Which way a prediction misses: a job is predicted to be sooner done, or later."""
    return "fast" if gap < 0.0 else "slow"


def _of_the_log(study: Study) -> list[str]:
    """How far fitted laws are from the log, by the fastest policy at its load or a middle one.

    Empty where all laws were given.
    """
    spoken = [each.found for each in headlines(study)[0]]
    if not spoken:
        return []
    own = [found for found in spoken if found.load == study.log_load]
    found = own[0] if own else spoken[len(spoken) // 2]
    if found.fit is None:
        return []
    where = f"{found.rows[0].label} at load {found.load:.3g}"
    return [f"How far to trust the laws: {found.fit.sentence(where)}"]


def _never_simulated(study: Study) -> list[str]:
    """Labels of policies named at a load that is spoken of, and not simulated at that load."""
    missing = [
        each.named.label
        for each in headlines(study)[0]
        if study.check(each.named, each.found.arrival_rate) is None
    ]
    return list(dict.fromkeys(missing))


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
        f"{p:.3g} processors and a group of {d:.3g} {plural('disk', d)}"
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
            f". Too many jobs are admitted at once: a limit of {most + 1} "
            f"job{'s' if most else ''} would carry load {peak:.2f}"
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
