"""Subcommand `qmodels recommend`, with maps that go on where they were broken off."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from qmodels.io.scenario import Scenario


def register(app: typer.Typer) -> None:
    """Add the subcommand of `qmodels.commands.recommend`, which knows of no journals itself."""
    from qmodels.commands.recommend import register as add

    add(app, map_workers=_remembering, unrunnable=_unrunnable)


def _unrunnable(
    plan: Scenario, arrival_rate: float, label: str, value: float
) -> tuple[list[str], list[dict[str, Any]]]:
    """Sentences and records of policies that a site cannot run, beside the best that it can."""
    from validation.malleable.worth import unrunnable

    found = unrunnable(plan.system, plan.workload, arrival_rate, seed=plan.seed)
    return [each.sentence(label, value) for each in found], [each.to_dict() for each in found]


@contextmanager
def _remembering(output: Path | None, reuse: bool) -> Iterator[Executor | None]:
    """Cells in one thread, as without; with a folder for results they are kept beside it."""
    from validation.commands.kept_work import kept_work

    with kept_work(output, "qmodels.policies.choice.policy_map", workers=1, reuse=reuse) as working:
        yield working.threads
