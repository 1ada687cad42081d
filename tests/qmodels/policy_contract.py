"""What every registered policy must keep, as functions that tests of any policy can call."""

from dataclasses import fields
from itertools import islice, product

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.io.policy_tables import keys, required
from qmodels.io.scenario_reference import policy_section
from qmodels.policies import POLICIES, System, Workload, capacity, find_policy, predict
from qmodels.policies.base import running_jobs
from qmodels.policies.models.base import followers
from qmodels.programs import Burst, Phase, Program

MACHINE = System(processors=8, disks=4)
PROGRAM = Program([Phase(io=Burst(4.0, law="min(d, p/2)"), cpu=24.0)])
WORK = Workload(PROGRAM)
BURSTS = Workload(PROGRAM, io_bursts=PhaseType.exponential(mean=1.0))


def some(kind):
    """A few policies of a kind, made from the fields that have no default."""
    names = [field.name for field in keys(kind) if required(field)]
    made = list(kind.from_table({name: [1, 2, 4] for name in names}))
    assert len(made) == 3 ** len(names)
    return made


def it_is_found_by_its_name(kind):
    assert POLICIES[kind.name] is kind
    assert find_policy(kind.name) is kind
    assert find_policy(f"{kind.__module__}:{kind.__qualname__}") is kind


def it_is_on_the_reference_page(kind):
    section = policy_section()
    assert f'`kind = "{kind.name}"`: ' in section
    for field in keys(kind):
        row = next(x for x in section.splitlines() if x.startswith(f"| `[[policy]] {field.name}`"))
        assert row.count("|") == 5
        assert row.split("|")[4].strip(), f"the docstring does not say what {field.name} is"


def labels_tell_policies_apart(kind):
    made = some(kind)
    assert len({policy.label for policy in made}) == len(made)
    assert len(set(made)) == len(made)
    assert {policy.simplicity[0] for policy in made} == {kind.rank}


def what_does_not_fit_is_refused(kind):
    names = [field.name for field in keys(kind) if required(field)]
    for policy in kind.from_table(dict.fromkeys(names, 9)):
        with pytest.raises(ModelError, match="partitions"):
            policy.check(MACHINE)


def the_arrangement_is_that_of_the_running_jobs(kind):
    for policy in some(kind):
        arrangement = policy.arrangement(MACHINE)
        running = running_jobs(policy, MACHINE, WORK)
        assert running.throughput.size == arrangement.max_running
        assert np.all(running.throughput > 0.0)
        assert np.all(running.processors_busy <= MACHINE.processors * (1 + 1e-12))
        assert np.all(running.disks_busy <= MACHINE.disks * (1 + 1e-12))
        assert sum(arrangement.disk_sizes) <= MACHINE.disks
        if not arrangement.repartitioned:
            assert sum(arrangement.partition_sizes) <= MACHINE.processors
        # the capacity is what the jobs do with all partitions taken
        most = capacity(policy, MACHINE, WORK, model="speed-scaled")
        assert most == running.throughput[-1]


def every_model_that_follows_it_can_be_built_and_no_other(kind):
    policy = some(kind)[0]
    rate = 0.5 * capacity(policy, MACHINE, WORK)
    for model in ("speed-scaled", "decomposition", "exact"):
        if model not in followers(policy, MACHINE, WORK):
            with pytest.raises(ModelError, match="no chain of this kind"):
                predict(policy, MACHINE, BURSTS, arrival_rate=rate, model=model)
            continue
        found = predict(policy, MACHINE, BURSTS, arrival_rate=rate, model=model)
        assert found.model == model
        # no job is faster than alone on the whole machine, and some have to wait
        assert found.mean_jobs > rate * float(PROGRAM.mean_time(8.0, 4.0))


def its_candidates_fit_the_machine(kind):
    proposed = list(islice(kind.candidates(MACHINE, multiprogramming=(2, 3)), 200))
    assert len(set(proposed)) == len(proposed)
    for policy in proposed:
        assert isinstance(policy, kind)
        policy.check(MACHINE)


def its_errors_are_shares(kind):
    for policy, scv in product(some(kind), (0.5, 2.0, 10.0)):
        error = policy.capacity_error(Workload.from_scv(PROGRAM, demand_scv=scv))
        assert 0.0 <= error < 1.0


def a_table_gives_back_every_field(kind):
    for policy in some(kind):
        table = {f.name: getattr(policy, f.name) for f in fields(policy)}
        assert list(kind.from_table(table)) == [policy]


CONTRACT = [
    it_is_found_by_its_name,
    it_is_on_the_reference_page,
    labels_tell_policies_apart,
    what_does_not_fit_is_refused,
    the_arrangement_is_that_of_the_running_jobs,
    every_model_that_follows_it_can_be_built_and_no_other,
    its_candidates_fit_the_machine,
    its_errors_are_shares,
    a_table_gives_back_every_field,
]
