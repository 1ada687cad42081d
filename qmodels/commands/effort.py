"""What a file asks for, estimated before it is begun: what takes minutes wants to be asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from qmodels.errors import ModelError

if TYPE_CHECKING:
    from qmodels.io.scenario import Scenario
    from qmodels.policies import AbstractPolicy

#: Predictions, and simulated runs, that are begun unasked whatever they take.
MOST_PREDICTIONS: Final = 5_000
MOST_RUNS: Final = 5_000
#: Seconds of computing for which more predictions than these are begun unasked.
MOST_SECONDS: Final = 60.0
_TRIED = 20  # predictions that are timed

Long = Annotated[
    bool,
    typer.Option("--long", help="Let it run however long it takes; else hours are not begun."),
]


def check_predictions(
    plan: Scenario, policies: Sequence[AbstractPolicy], loads: Sequence[float], *, long: bool
) -> None:
    """Refuse thousands of predictions that would take more than a minute.

    Parameters
    ----------
    plan : Scenario
        With the machine and the jobs.
    policies, loads : sequence
        Every policy is to be predicted at every load.
    long : bool
        Whether that was asked for however long it takes.

    Raises
    ------
    ModelError
        If there are more than 5,000 of them, and 20 that were tried say that all take more than a
        minute of computing; it names how many loads would not.
    """
    count = len(policies) * len(loads)
    if long or count <= MOST_PREDICTIONS:
        return
    seconds = count * _seconds_each(plan, policies, loads)
    if seconds <= MOST_SECONDS:
        return
    from qmodels.words import in_words

    fit = max(int(len(loads) * MOST_SECONDS / seconds), MOST_PREDICTIONS // len(policies), 1)
    raise ModelError(
        f"{len(loads):,} loads of {len(policies):,} policies are {count:,} predictions, some "
        f"{in_words(seconds)} of computing; name {fit:,} loads, or give --long and wait"
    )


def check_runs(plan: Scenario, *, long: bool) -> None:
    """ModelError where [validation] of a scenario asks for more than 5,000 simulated runs."""
    wanted = plan.validation
    if long or wanted is None:
        return
    points = len(wanted.policies) * len(wanted.capacity_fractions)
    if points * wanted.replications > MOST_RUNS:
        fit = max(MOST_RUNS // (len(wanted.policies) * wanted.replications), 1)
        runs = points * wanted.replications
        raise ModelError(
            f"{plan.path}: validation: {points:,} points with {wanted.replications:,} replications "
            f"are {runs:,} simulated runs, more than the {MOST_RUNS:,} that are begun unasked; "
            f"name {fit:,} capacity_fractions or take fewer replications, or give --long and wait"
        )


def _seconds_each(plan: Scenario, policies: Sequence[AbstractPolicy], loads: Sequence[float]) -> float:
    """Seconds of computing that a prediction takes, by some of them."""
    from qmodels.errors import UnstableError
    from qmodels.policies import predict

    tried = [
        (policies[i % len(policies)], loads[i * len(loads) // _TRIED])
        for i in (0, *range(_TRIED))  # the first fills caches
    ]
    began = 0.0
    for i, (policy, load) in enumerate(tried):
        if i == 1:
            began = time.process_time()
        with suppress(UnstableError):
            predict(policy, plan.system, plan.workload, load=load, model=plan.model)
    return (time.process_time() - began) / _TRIED
