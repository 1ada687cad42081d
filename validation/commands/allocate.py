"""Subcommand `qmodels allocate`: strategies compared on the same jobs, and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from qmodels.commands import answers
from qmodels.commands.choices import NETWORKS, SIDES, choice
from qmodels.commands.log_options import LogColumns, LogFormat, LogUnit, LogZone, columns_given
from qmodels.commands.options import MaxBytes
from validation.commands.comparing import STUDY, Call, Working, add_comparison, by_name, over, split_names
from validation.commands.own_classes import Check, CheckSeconds, answer_check, find_own_modules

if TYPE_CHECKING:
    from validation.machine.scenario import AllocationPlan


def _sides(mesh: str) -> dict[str, Any]:
    from validation.commands.mesh import parsed_sides
    from validation.machine.scenario import sides_table

    return sides_table(parsed_sides(mesh))


def _disciplines() -> str:
    from validation.jobs.disciplines import disciplines_by_number

    return f"{', '.join(disciplines_by_number())}; module:Class names one of your own."


_OPTIONS: Final = {
    "strategies": over(
        "study.strategies",
        help="Names separated by commas; module:Class names one of your own.",
        read=split_names,
    ),
    "mesh": over(
        "mesh.", help="Rows x columns, by default 16x22, or x by y by z, such as 8x8x8.", read=_sides
    ),
    "torus": over("mesh.torus", bool, "--torus", help="Close every side to a ring; then without I/O nodes."),
    "io": over(
        "mesh.io_side",
        Annotated[str | None, choice(SIDES, "--io", help="Side with I/O nodes, by default west.")],
    ),
    "io_share": over("traffic.io_share", float, help="Share of I/O among the messages, 0 to 1."),
    "flits": over("traffic.flits", int, min=1, help="Length of a message."),
    "slots": over("traffic.slots", int, min=1, help="Messages of each node."),
    "discipline": over(
        "machine.discipline", help="In which order waiting jobs are tried.", names=_disciplines
    ),
    "network": over(
        "machine.network",
        Annotated[
            str | None, choice(NETWORKS, "--network", help="What ends a job; with none its own demand.")
        ],
    ),
    "jobs": over("jobs.count", int, min=1, help="Jobs of each replication."),
    "mean_interarrival": over(
        "jobs.mean_interarrival", float, help="Mean time between arrivals [cycles; s with none]."
    ),
    "utilisation": over(
        "jobs.utilisation",
        float,
        help="Choose the arrival rate so that the first strategy keeps this share of the processors "
        "busy, 0 to 1.",
    ),
    "log_format": over("jobs.format", LogFormat),
    "unit": over("jobs.unit", LogUnit),
    "log_columns": over("jobs.columns", LogColumns, read=columns_given),
    "timezone": over("jobs.timezone", LogZone),
    **STUDY,
}


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    file = (
        "A scenario (TOML, see docs/reference/allocation-scenario.md) or a job log; without one, jobs "
        "come as a Poisson process."
    )
    add_comparison(app, "allocate", _allocate, file, _OPTIONS)


def _allocate(
    call: Call,
    check: Check = None,
    check_seconds: CheckSeconds = 120.0,
    max_bytes: MaxBytes = None,
) -> None:
    """Compare processor-allocation strategies on the same jobs, with paired differences.

    With an output folder the same command goes on where it was broken off.

    For example: qmodels allocate --strategies MC,PLAS,MBS --jobs 500 --utilisation 0.6
    """
    find_own_modules()
    if check is not None:
        from validation.allocation import check_strategy, load_strategy

        answer_check(check_strategy, load_strategy(check), check_seconds, as_json=call.as_json)
        return
    from validation.machine import compare_strategies
    from validation.machine.report import allocation_report
    from validation.machine.scenario import AllocationFile, make_plan

    plan = call.plan(AllocationFile, lambda name, spec: make_plan(name, spec, max_bytes=max_bytes))
    answers.remarks(plan.warnings)
    with call.working("validation.machine.runs", "validation.machine.loads") as working:
        plan = _timed(plan, working)
        found = compare_strategies(
            plan.machine,
            plan.strategies,
            plan.streams,
            replications=plan.replications,
            seed=plan.seed,
            completions=plan.completions,
            **working.python,
        )
        report = call.write(allocation_report(plan, found))
    # Without a network the service is the job's own demand, whatever the strategy.
    shown = "turnaround" if plan.machine.network == "none" else "service"
    record = by_name(found, "service", unit=lambda run: run.unit)
    call.answer(report, record, table=found.table(shown))


def _timed(plan: AllocationPlan, working: Working) -> AllocationPlan:
    """The plan with jobs that come as fast as is wanted."""
    if plan.utilisation is None:
        return plan
    from dataclasses import replace

    from validation.machine.loads import interarrival_for

    mean = interarrival_for(
        plan.machine,
        plan.streams,
        plan.utilisation,
        seed=plan.seed,
        **working.python,
    )
    unit = "s" if plan.machine.network == "none" else "cycles"
    answers.remark(
        f"Jobs arrive every {mean:g} {unit} on average, so that {plan.strategies[0].name} keeps "
        f"{plan.utilisation:.0%} of the processors busy."
    )
    return replace(plan, streams=plan.streams.spaced(mean))
