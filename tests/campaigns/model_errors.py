"""Errors of two approximations against exact chains, as a record; nothing is simulated.

``python -m tests.campaigns.model_errors`` takes about a minute of CPU. The models are asked for by
name, so that the figures stay theirs whatever "auto" takes. Two families of cases:

- the decomposition under DP(1), one phase, I/O bursts of scv 4 and exponential computation,
  against the exact chain, by the share of I/O, the jobs at once and the load;
- the capacity that time sharing with turns states, against that of the exact chain, by the laws
  of the bursts, the share of I/O and the partitions.
"""

from __future__ import annotations

import itertools
import sys

from phasefit import PhaseType, match_moments
from qmodels import Phase, Program
from qmodels.errors import ModelError
from qmodels.policies import (
    DynamicPartitioning,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models.build import built_model
from tests.campaigns.record import write_record


def of_scv(scv):
    """A law of mean one."""
    if scv < 1.0:
        return PhaseType.erlang(phases=round(1.0 / scv), mean=1.0)
    return match_moments(1.0, 1.0 + scv)


def decomposition_cases():
    """Relative error of the mean response under DP(1), N = 1, I/O of scv 4."""
    for ratio, jobs, share in itertools.product((4.0, 2.0, 1.0, 0.5, 0.25), (2, 3, 4), (0.5, 0.8, 0.9)):
        system = System(processors=4 * jobs, disks=4, min_processors=4)
        program = Program([Phase(io=4.0, cpu=4.0 * jobs * ratio)])
        work = Workload(program, io_bursts=of_scv(4.0), cpu_bursts=of_scv(1.0))
        policy = DynamicPartitioning(1)
        exact = built_model(policy, system, work, "exact").capacity
        rate = share * exact
        means = {
            model: predict(policy, system, work, arrival_rate=rate, model=model).mean_response
            for model in ("decomposition", "exact")
        }
        yield {
            "what": "decomposition, mean response",
            "policy": policy.label,
            "computation_over_io": ratio,
            "jobs_at_once": jobs,
            "io_scv": 4.0,
            "cpu_scv": 1.0,
            "share_of_capacity": share,
            "approximate": means["decomposition"],
            "exact": means["exact"],
            "error": means["decomposition"] / means["exact"] - 1.0,
        }


def capacity_cases():
    """Relative error of the stated capacity of time sharing with turns, N = 1."""
    for ratio, (partitions, level), io, cpu in itertools.product(
        (2.0, 1.0, 0.5), ((1, 2), (2, 2), (1, 3)), (0.25, 1.0, 4.0, 10.0), (0.25, 1.0, 4.0, 10.0)
    ):
        system = System(processors=4 * partitions, disks=4, min_processors=4)
        program = Program([Phase(io=4.0, cpu=4.0 * ratio)])
        work = Workload(program, io_bursts=of_scv(io), cpu_bursts=of_scv(cpu))
        policy = TimeSharing(partitions, 1, level)
        try:
            exact = built_model(policy, system, work, "exact").capacity
        except ModelError as error:
            print(f"{policy.label}, scv {io} and {cpu}: {error}", file=sys.stderr)
            continue
        stated = capacity(policy, system, work)
        yield {
            "what": "time sharing, stated capacity",
            "policy": policy.label,
            "computation_over_io": ratio,
            "jobs_at_once": partitions * level,
            "io_scv": io,
            "cpu_scv": cpu,
            "share_of_capacity": "",
            "approximate": stated,
            "exact": exact,
            "error": stated / exact - 1.0,
        }


def main() -> None:
    """Measure all cases, say how far it has come, write the record."""
    rows = []
    for row in itertools.chain(decomposition_cases(), capacity_cases()):
        rows.append(row)
        if len(rows) % 20 == 0:
            print(f"{len(rows)} cases", file=sys.stderr)
    ranges = {}
    for name, what in (("decomposition", "decomposition, "), ("capacity", "time sharing, ")):
        errors = [row["error"] for row in rows if row["what"].startswith(what)]
        ranges[f"{name}_cases"] = len(errors)
        ranges[f"{name}_least_error"], ranges[f"{name}_largest_error"] = min(errors), max(errors)
    write_record("model-errors", rows, command="python -m tests.campaigns.model_errors", seed=0, **ranges)
    print(ranges)


if __name__ == "__main__":
    main()
