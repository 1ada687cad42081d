"""Outcomes of experiments run quickly: of a paper whose runs are long one in the gate, else all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from validation.papers import Experiment, RunOptions
    from validation.papers.base import Outcome


class Outcomes(dict[str, "Outcome"]):
    """Outcomes by the name of the experiment, each run when it is first asked for.

    The cells that experiments share are run once, as they have the same options.
    """

    def __init__(self, experiments: Iterable[Experiment], options: RunOptions) -> None:
        super().__init__()
        self.experiments = {experiment.name: experiment for experiment in experiments}
        self.options = options

    def __missing__(self, name: str) -> Outcome:
        """Run the experiment."""
        self[name] = self.experiments[name].run(self.options)
        return self[name]


def one_in_the_gate(names: Iterable[str], gate: Collection[str]) -> list[object]:
    """Return the names as parameters of a test, those that are not of the gate as slow ones."""
    return [name if name in gate else pytest.param(name, marks=pytest.mark.slow) for name in names]
