"""What a simulation of slices found, with intervals over independent replications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Ints
from phasefit.records import Drawing, Record, Result
from validation.analysis.estimates import Estimate
from validation.slices.pod import Pod, Shape, in_text

if TYPE_CHECKING:
    import pandas as pd

    from validation.mesh import Occupancy

#: Share of the jobs that come which must start for a queue not to count as growing.
_KEEPS_UP = 0.99


@dataclass(frozen=True)
class ShapeResult(Record):
    """The jobs of one shape; times in seconds, None where nothing was seen."""

    shape: Shape
    jobs: int  #: measured, all replications
    refused: Estimate | None  #: share of them; None with a full queue
    wait: Estimate | None  #: from arrival to start
    wait_p95: Estimate | None
    wait_p99: Estimate | None


@dataclass(frozen=True, eq=False)
class SliceSimulation(Result):
    """Jobs on a pod, simulated; times in seconds, None where nothing was seen."""

    drawing = Drawing("slice", "wait", half_width="wait_half_width", labels=("slice", "mean wait [s]"))

    pod: Pod
    strategy: str
    discipline: str
    load: float | None  #: share of all chips asked for; None with a full queue
    utilisation: Estimate  #: mean share of the chips that are held
    wait: Estimate | None  #: of all jobs, from arrival to start; None with a full queue
    wait_p95: Estimate | None
    wait_p99: Estimate | None
    waiting: Estimate  #: mean number of jobs that wait
    refused: Estimate | None  #: share of the jobs; None with a full queue
    #: Share of the time in which who has waited longest finds enough blocks free, and no place.
    fits_by_count: Estimate
    scatter: Estimate | None  #: mean of 1 - largest free box / free blocks, while any is free
    carried: Estimate | None  #: jobs that start over jobs that come
    shapes: tuple[ShapeResult, ...]
    replications: int
    events: int  #: of all replications
    picture: Ints  #: (blocks,) jobs at the end of the first window, -1 free, -2 shared
    #: Replications of "utilisation" and "wait", for `validation.compare` with another strategy.
    runs: Mapping[str, tuple[float, ...]]
    method: str = "simulated"

    @property
    def values(self) -> Mapping[str, tuple[float, ...]]:
        """`runs`, by the name that `Alternatives` asks for."""
        return self.runs

    @property
    def confidence(self) -> float:
        """Coverage of the intervals."""
        return self.utilisation.confidence

    @property
    def growing(self) -> bool:
        """Whether the queue clearly grows: fewer jobs start than come, so waits mean nothing."""
        return self.carried is not None and self.carried.high < _KEEPS_UP

    def occupancy(self) -> Occupancy:
        """The pod at the end of the first window, block by block; see `job_stack`."""
        from validation.mesh import Occupancy

        held = Occupancy(self.pod.mesh)
        for number, job in enumerate(np.unique(self.picture[self.picture >= 0]).tolist()):
            held.occupy(number, np.flatnonzero(self.picture == job))
        for block in np.flatnonzero(self.picture == -2).tolist():
            held.occupy(f"shared {block}", [block])
        return held

    def to_frame(self) -> pd.DataFrame:
        """One row for all jobs and one for each shape."""
        import pandas as pd

        rows = [("all", sum(own.jobs for own in self.shapes), self)]
        rows += [(in_text(own.shape), own.jobs, own) for own in self.shapes]  # type: ignore[misc]
        return pd.DataFrame(
            {
                "strategy": self.strategy,
                "discipline": self.discipline,
                "load": self.load,
                "slice": name,
                "jobs": jobs,
                "utilisation": self.utilisation.mean if own is self else None,
                **{
                    f"{key}{suffix}": None if value is None else getattr(value, part)
                    for key in ("refused", "wait", "wait_p95", "wait_p99")
                    for value in [getattr(own, key)]
                    for suffix, part in (("", "mean"), ("_half_width", "half_width"))
                },
                **{
                    key: None if own is not self or value is None else value.mean
                    for key in ("fits_by_count", "scatter")
                    for value in [getattr(self, key)]
                },
            }
            for name, jobs, own in rows
        )
