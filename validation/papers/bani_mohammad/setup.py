"""The machine and the jobs of Bani-Mohammad and others, section 5.

Left open by the paper and chosen here:

- the loads of the figures: 0.005 to 0.105 jobs per unit of time in steps of 0.01, which hold the
  three that the text names;
- the mean of the exponential law: that of the bounded Pareto law, 84.97;
- the shortest service demand first: the head of the queue blocks the others, as it does first come,
  first served, and all 1,000 jobs are run to completion. Of the readings that were tried when the
  requirements were written (B-17, B-18) only this one comes near the printed figures;
- the overhead: operations instead of seconds, see `counted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from validation.allocation import BoxStrategy
from validation.jobs import BoxStreams
from validation.jobs.boxes import DEMANDS
from validation.machine import Machine
from validation.mesh import Mesh, Sides
from validation.papers.bani_mohammad.counted import counted

SOURCE: Final = "Bani-Mohammad, Ould-Khaoua, Ababneh, Mackenzie, LNCS 4742 (2007)"
STRATEGIES: Final = ("TBL", "TFF", "BL", "FF")
DISCIPLINES: Final = ("FCFS", "SSD")
#: Jobs per unit of time.
LOADS: Final = tuple(round(0.005 + 0.01 * k, 3) for k in range(11))
#: Sides of the cubes.
SIDE: Final = 8
LARGER: Final = (8, 10, 12)
JOBS: Final = 1000
#: Relative half-width of the 95 % interval of the mean turnaround that runs are repeated for.
PRECISION: Final = 0.05


@dataclass(frozen=True)
class Cell:
    """One point of a figure."""

    strategy: str
    discipline: str
    load: float
    side: int = SIDE
    demand: str = "pareto"

    @property
    def label(self) -> str:
        """As the paper writes it, such as TBL(SSD)."""
        return f"{self.strategy}({self.discipline})"


def machine(cell: Cell, strategy: BoxStrategy | None = None) -> Machine:
    """The cube under the cell's strategy, by default counted; a job stays for its demand."""
    return Machine(
        mesh=Mesh.of_sides((cell.side,) * 3),
        strategy=counted(cell.strategy) if strategy is None else strategy,
        discipline=cell.discipline,
        network="none",
    )


def streams(cell: Cell, jobs: int = JOBS) -> BoxStreams:
    """Boxes of uniform sides; cells that differ in strategy, discipline and load share the jobs."""
    return BoxStreams(
        mean_interarrival=1.0 / cell.load,
        within=Sides(cell.side, cell.side, cell.side),
        jobs=jobs,
        demand=DEMANDS[cell.demand],
    )
