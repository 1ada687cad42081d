"""Subcommand `qmodels balance`: balancers of a cluster compared on the same jobs, and checked."""

from __future__ import annotations

from typing import Final

import typer

from qmodels.commands import answers
from validation.commands.comparing import STUDY, Call, add_comparison, by_name, over, split_names
from validation.commands.own_classes import Check, CheckSeconds, answer_check, find_own_modules


def _names() -> str:
    from validation.cluster import BALANCERS

    return f"Some of {', '.join(BALANCERS)}, separated by commas; module:Class names one of your own."


_OPTIONS: Final = {
    "balancers": over("study.balancers", help="Names separated by commas.", read=split_names, names=_names),
    "nodes": over("nodes", int, min=1, help="Nodes, all alike.", read=lambda count: [{"count": count}]),
    "jobs": over("jobs.count", int, min=1, help="Jobs of each replication."),
    "parallel": over("jobs.parallel", float, help="Share of the jobs that are parallel, 0 to 1."),
    "io_rate": over("jobs.io_rate", float, help="Mean disk accesses for each CPU-millisecond."),
    "page_faults": over(
        "jobs.page_faults", float, help="Page faults per million instructions without memory."
    ),
    "disk_load": over(
        "jobs.disk_load", float, help="Load of the disks at one access for each CPU-millisecond."
    ),
    "cpu_load": over("jobs.cpu_load", float, help="Instead: load of the CPUs."),
    **STUDY,
}


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    file = (
        "A scenario (TOML, see docs/reference/cluster-scenario.md) or a job log with columns of I/O "
        "(CSV); without one, jobs are drawn."
    )
    add_comparison(app, "balance", _balance, file, _OPTIONS)


def _balance(
    call: Call,
    check: Check = None,
    check_seconds: CheckSeconds = 120.0,
) -> None:
    """Compare balancers of a cluster on the same jobs: slowdowns, and where the time went.

    With an output folder the same command goes on where it was broken off.

    For example: qmodels balance --balancers IOCM-RE,NLB --nodes 16 --jobs 500
    """
    find_own_modules()
    from validation.cluster import BALANCERS, check_balancer, compare_balancers

    if check is not None:
        answer_check(check_balancer, BALANCERS.find(check), check_seconds, as_json=call.as_json)
        return
    from validation.cluster.report import balance_report
    from validation.cluster.scenario import ClusterFile, plan_of

    plan = call.plan(ClusterFile, plan_of)
    with call.working("validation.cluster.runs") as working:
        found = compare_balancers(
            plan.cluster,
            plan.traces,
            plan.balancers,
            replications=plan.replications,
            seed=plan.seed,
            **working.python,
        )
        report = call.write(balance_report(plan, found))
    answers.remarks(found.warnings)
    record = by_name(found, "slowdown", warnings=lambda run: list(run.warnings))
    call.answer(report, record, table=found.table())
