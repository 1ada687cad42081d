"""Subcommand `qmodels slices`: what contiguity costs a pod, and what overtaking gives."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import typer

from validation.commands.comparing import STUDY, Call, add_comparison, over, split_names

_OPTIONS: Final = {
    "pod": over("pod.blocks", help="Blocks of the pod, by default 4x4x4."),
    "block": over("pod.block", help="Chips of a block, such as 4x4x4; slices are then given in chips."),
    "wrap": over("pod.wrap", bool, "--wrap/--no-wrap", help="Whether sides close to rings."),
    "turning": over("pod.turning", bool, "--turning/--no-turning", help="Whether slices may be turned."),
    "mix": over("jobs.mix", help="halving, or slices and weights: 1x1x1:3,2x2x2:1."),
    "load": over("jobs.load", float, help="Share of all chips asked for; 0.5, or that of the log."),
    "hold": over("jobs.hold", help="Mean time that a job holds its slice, such as 6h; by default the unit."),
    "log": over(
        "jobs.log",
        Path,
        help="Take the jobs of a log (SWF) instead of a mix.",
        read=lambda path: str(path.resolve()),
    ),
    "processors": over(
        "jobs.processors",
        int,
        min=1,
        help="Of a log, those that count as one chip; by default the largest job fits.",
    ),
    "strategies": over(
        "study.strategies",
        help="any-blocks, FF, TFF, BF, TBF, aligned, MFP, 3d-torus, block; with commas.",
        read=split_names,
    ),
    "disciplines": over(
        "study.disciplines", help="FCFS, first-fit, EASY-places; with commas.", read=split_names
    ),
    "jobs": over("jobs.count", int, help="Jobs of each replication; 4000, or the log's."),
    **STUDY,
}


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    file = "TOML file with [pod], [jobs], [study], under the options."
    add_comparison(app, "slices", _slices, file, _OPTIONS)


def _slices(call: Call) -> None:
    """Simulate jobs that ask a pod for slices, as boxes or any blocks, in order or overtaking.

    With an output folder the same command goes on where it was broken off.

    For example: qmodels slices --pod 4x4x4 --mix halving --load 0.5 -o slices
    """
    from validation.slices.report import slice_report
    from validation.slices.scenario import SliceFile, slice_plan
    from validation.slices.study import compare_slices

    plan = call.plan(SliceFile, slice_plan)
    with call.working("validation.slices.simulator") as working:
        study = compare_slices(**vars(plan), **working.compiled)
        report = call.write(slice_report(study))
    call.answer(report, study.record())
