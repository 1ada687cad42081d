"""Predictions of a study beside simulations: those asked for, and those that are named fastest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose

from phasefit.records import Record
from qmodels.io.scenario import Scenario
from qmodels.policies import AbstractPolicy
from qmodels.progress import Progress
from validation.jobs.renewal import ReplayedJobs
from validation.sharing import Simulation, simulate
from validation.study.headlines import Headline
from validation.trial.agreement import Agreement, crossvalidate

#: Two arrival rates this near, relatively, are one.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Check(Record):
    """One prediction beside the simulation, and beside the log played back where there is one."""

    policy: AbstractPolicy
    fraction: float  #: arrival rate as a fraction of the policy's capacity
    agreement: Agreement[Simulation]
    replay: Simulation | None

    def is_of(self, policy: AbstractPolicy, arrival_rate: float) -> bool:
        """Whether it is of a policy at an arrival rate, jobs per second."""
        own = self.agreement.prediction.arrival_rate
        return self.policy == policy and isclose(own, arrival_rate, rel_tol=_ROUNDING)


@dataclass(frozen=True, eq=False)
class Simulator:
    """What plays the checks of a study as its [validation] table asks for."""

    scenario: Scenario
    capacities: Mapping[str, float]  #: of each policy of the study by its label, jobs per second
    workers: int | None
    executor: Executor | None
    report: Progress

    def asked_for(self) -> Iterator[Check]:
        """Every policy of the table at every fraction of its capacity.

        Policies meet the same jobs at the same fraction: common random numbers.
        """
        plan = self.scenario.validation
        if plan is None:
            return
        total, done = len(plan.policies) * len(plan.capacity_fractions), 0
        for policy in plan.policies:
            for place, fraction in enumerate(plan.capacity_fractions):
                yield self._check(policy, fraction * self.capacities[policy.label], place)
                done += 1
                self.report("simulating", done, total)

    def named(self, headlines: Sequence[Headline]) -> Iterator[Check]:
        """The policies that the findings name, at the loads where they do, unless asked for."""
        plan = self.scenario.validation
        if plan is None or not plan.fastest:
            return
        missing = [
            (place, each)
            for place, each in enumerate(headlines, start=len(plan.capacity_fractions))
            if not self._asked_for(each)
        ]
        for done, (place, each) in enumerate(missing, start=1):
            yield self._check(each.named, each.found.arrival_rate, place)
            self.report("simulating the fastest", done, len(missing))

    def _asked_for(self, each: Headline) -> bool:
        plan = self.scenario.validation
        assert plan is not None
        most, rate = self.capacities[each.named.label], each.found.arrival_rate
        return each.named in plan.policies and any(
            isclose(fraction * most, rate, rel_tol=_ROUNDING) for fraction in plan.capacity_fractions
        )

    def _check(self, policy: AbstractPolicy, rate: float, point: int) -> Check:
        scenario, plan = self.scenario, self.scenario.validation
        assert plan is not None
        agreement = crossvalidate(
            policy,
            scenario.system,
            scenario.workload,
            arrival_rate=rate,
            model=scenario.model,
            replications=plan.replications,
            jobs=plan.jobs,
            seed=scenario.seed,
            point=point,
            workers=self.workers,
            executor=self.executor,
        )
        replay = None
        if scenario.log and self._replayed:
            replay = simulate(
                policy,
                scenario.system,
                # the log's work holds the programs' differences
                replace(scenario.workload, mix="mean"),
                arrival_rate=rate,
                stream_of_jobs=self._replayed,
                replications=plan.replications,
                jobs=len(scenario.log.with_work.interarrivals),
                seed=scenario.seed,
                point=point,
                workers=self.workers,
                executor=self.executor,
            )
        return Check(policy, rate / self.capacities[policy.label], agreement, replay)

    @cached_property
    def _replayed(self) -> ReplayedJobs | None:
        """Gaps and work of the same jobs of the log, those with work."""
        plan, log = self.scenario.validation, self.scenario.log
        if plan is None or log is None or not plan.replay_log:
            return None
        return ReplayedJobs(log.with_work.interarrivals, log.with_work.work_by_job[1:])
