"""Subcommand `qmodels checkpoint`: what jobs that write to one storage keep of their time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from qmodels.commands import answers
from qmodels.commands.choices import WRITE_MODES, choice
from qmodels.commands.trace_options import Events, Module, event_choices
from qmodels.errors import ModelError
from validation.commands.comparing import STUDY, Call, add_comparison, over

_OPTIONS: Final = {
    "jobs": over("job.jobs", int, min=1, help="Jobs that share the storage."),
    "size": over("job.size", help="Of a checkpoint, such as 5.29TB."),
    "model": over("job.model", help="Take the size of a known model, such as llama3-405b."),
    "bandwidth": over("storage.bandwidth", help="Of the storage in all, such as 20GB/s."),
    "per_job": over("storage.per_job", help="The most that one job can use, such as 5GB/s."),
    "system": over("storage.system", help="Take bandwidth and failures of a known system: llama3."),
    "writers": over("storage.writers", int, min=1, help="Transfers at once; the others wait."),
    "interval": over("job.interval", help="Work between two checkpoints, such as 2h; by default Daly's."),
    "mtbf": over("job.mtbf", help="Mean time between failures of one job, such as 24.7h."),
    "downtime": over("job.downtime", help="From a failure to the restore, such as 10min."),
    "mode": over(
        "job.mode",
        Annotated[str | None, choice(WRITE_MODES, "--mode", help="Whether the job works while it writes.")],
    ),
    "snapshot": over("job.snapshot", help="Time to copy the state aside, for writing behind the work; 5s."),
    **STUDY,
}


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    file = "TOML file with [job], [storage], [study], instead of or under the options."
    add_comparison(app, "checkpoint", _checkpoint, file, _OPTIONS)


def _checkpoint(
    call: Call,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Take size, interval and rate of the checkpoints found in a trace (Darshan, "
            "DFTracer, CSV), but for what is given."
        ),
    ] = None,
    module: Module = None,
    event: Events = None,
) -> None:
    """Predict and simulate jobs that write checkpoints to one storage, in all the ways they could.

    With an output folder the same command goes on where it was broken off.

    For example: qmodels checkpoint --jobs 8 --model llama3-405b --system llama3
    """
    from validation.checkpoints.report import checkpoint_report
    from validation.checkpoints.scenario import CheckpointFile, checkpoint_plan
    from validation.checkpoints.ways import compare_ways

    found = _traced(trace, module, event)
    if found and "storage.system" in call.options:
        found["storage.bandwidth"] = None  # whoever names a system wants its bandwidth
    plan = call.plan(CheckpointFile, lambda _, spec: checkpoint_plan(spec), found)
    with call.working("validation.checkpoints.simulator") as working:
        study = compare_ways(**vars(plan), **working.compiled)
        report = call.write(checkpoint_report(study))
    call.answer(report, study.record())


def _traced(file: Path | None, module: str | None, event: list[str] | None) -> dict[str, Any]:
    """Values of the checkpoints of a trace, by key; what there is to say of them is said."""
    if file is None:
        if module is not None or event:
            raise ModelError("--module and --event go with --trace only")
        return {}
    from qmodels.io.darshan import POSIX
    from qmodels.io.traces import read_trace
    from qmodels.programs.bursts import find_checkpoints
    from qmodels.words import in_words

    trace = read_trace(file, module=module or POSIX, events=dict(event_choices(event)))
    found = find_checkpoints(trace)
    answers.remark(
        f"{file} has {len(found)} checkpoints of {found.size / 1e9:.4g} GB, each after "
        f"{in_words(found.interval)} of work and written in {in_words(found.duration)}, at "
        f"{found.rate / 1e9:.3g} GB/s: the storage's bandwidth unless --bandwidth says another."
    )
    answers.remarks([*found.remarks, *trace.warnings])
    return {
        "job.size": f"{found.size:.0f}B",
        "job.interval": f"{found.interval:.6f}s",
        "storage.bandwidth": f"{found.rate:.0f}B/s",
    }
