"""What a study says of arrivals that are not independent, in figures instead of a doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phasefit import MAP, fit_map
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.io.scenario import Scenario
from qmodels.policies import AbstractPolicy, Prediction, predict
from qmodels.words import in_words

#: What the log of a study has to say before processes are fitted to it.
_DOUBT = "interarrival times are not independent"


def dependent_arrivals(scenario: Scenario, found: Sequence[tuple[AbstractPolicy, Prediction]]) -> list[str]:
    """Sentence on the fastest policy under arrivals that depend on each other as the log's do.

    Parameters
    ----------
    scenario : Scenario
        With a log, or nothing is said.
    found : sequence of pairs
        The policies at one load, predicted with the scenario's own arrivals.

    Returns
    -------
    list of str
        Empty where the log's arrivals may be independent or were not taken from it, where the
        scenario has such arrivals already, and where no such prediction can be made.
    """
    log = scenario.log
    if log is None or scenario.dependent or not found:
        return []
    if "moments" not in scenario.arrivals_from or not any(_DOUBT in s for s in log.doubts()):
        return []
    policy, best = min(found, key=lambda pair: pair[1].mean_response)
    busy = log.with_work
    said = []
    for work in (None, busy.work_by_job[1:]):
        try:
            process = fit_map(busy.interarrivals, work=work).process
            again = _predicted(scenario, policy, best.arrival_rate, process)
        except (MemoryBudgetError, ModelError):
            return []  # too few arrivals to learn from, or too large a chain
        said.append(in_words(again, like=best.mean_response))
    taken, these = "this study's law of independent times", "all three"
    if best.drawn_as:
        taken = f"jobs of the log taken for {best.drawn_as.split(' (')[0]}"
        these = "the last two"
    return [
        f"Arrivals are correlated. At load {best.load:.3g} {policy.label} responds in "
        f"{in_words(best.mean_response)} with {taken}; with arrivals "
        f'whose number varies as the log\'s ([arrivals] dependence = "counts") in {said[0]}, with '
        f'such as vary as the work that the log brings ("work") in {said[1]}. Sizes are '
        f"independent of the arrivals in {these}; in the log they need not be, and many jobs "
        f"at once are often small ones."
    ]


def _predicted(scenario: Scenario, policy: AbstractPolicy, rate: float, process: MAP) -> float:
    """Mean response in seconds under other arrivals of the same rate."""
    workload = replace(scenario, arrivals=process).workload
    found = predict(policy, scenario.system, workload, arrival_rate=rate, model=scenario.model)
    return found.mean_response
