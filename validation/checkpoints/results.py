"""What a simulation of checkpoints found, with intervals over independent replications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import share
from phasefit.records import Drawing, Record, Result
from qmodels.checkpoints import Checkpointing, Storage
from qmodels.errors import ModelError
from validation.analysis.estimates import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ClassResult(Record):
    """The jobs of one class; times in seconds."""

    job: Checkpointing
    jobs: int
    goodput: Estimate  #: share of their time that is work kept
    write: Estimate  #: from request to completion of a checkpoint
    stall: Estimate  #: time that a checkpoint keeps a job from working
    writes: int  #: checkpoints completed, all replications
    restores: int
    failures: int
    stalls: Array  #: time still for every checkpoint, as far as kept

    def percentile(self, q: float) -> float:
        """Stall that a share `q` of the checkpoints do not exceed, seconds.

        Raises
        ------
        ModelError
            If `q` is not between 0 and 1, or no checkpoint was completed.
        """
        level = share("q", q, zero=False, one=False)
        if not len(self.stalls):
            raise ModelError("no checkpoint was completed: play longer, or write more seldom")
        return float(np.quantile(self.stalls, level))


@dataclass(frozen=True, eq=False)
class CheckpointSimulation(Result):
    """Jobs at one storage, simulated."""

    drawing = Drawing("class", "goodput", half_width="goodput_half_width")

    storage: Storage
    classes: tuple[ClassResult, ...]
    goodput: Estimate  #: mean over the classes, weighted by their nodes
    utilisation: Estimate  #: used share of the bandwidth
    replications: int
    events: int  #: of all replications
    seconds: float  #: simulated time measured in each
    #: "goodput" and "utilisation" of each replication, to be paired with those of other jobs
    values: Mapping[str, tuple[float, ...]] = field(repr=False)
    method: str = "simulated"

    @property
    def confidence(self) -> float:
        """Coverage of the intervals."""
        return self.goodput.confidence

    @property
    def write(self) -> Estimate:
        """Of the only class."""
        return self._only().write

    @property
    def stall(self) -> Estimate:
        """Of the only class."""
        return self._only().stall

    def percentile(self, q: float) -> float:
        """Stall of the only class that a share `q` of its checkpoints do not exceed, seconds."""
        return self._only().percentile(q)

    def _only(self) -> ClassResult:
        if len(self.classes) > 1:
            raise ModelError("there are several classes: ask one of .classes")
        return self.classes[0]

    def to_frame(self) -> pd.DataFrame:
        """One row for each class."""
        import pandas as pd

        return pd.DataFrame(
            {
                "class": found.job.name or str(i + 1),
                "jobs": found.jobs,
                "mode": found.job.mode,
                "goodput": found.goodput.mean,
                "goodput_half_width": found.goodput.half_width,
                "write": found.write.mean,
                "stall": found.stall.mean,
                "writes": found.writes,
                "failures": found.failures,
            }
            for i, found in enumerate(self.classes)
        )
