"""The machine and the traffic of Mache, Lo and Garg, and our choices where the paper is silent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from qmodels.errors import ModelError
from validation.jobs import PoissonStreams
from validation.machine import AbstractJobTraffic, Machine
from validation.mesh import Mesh, Router, Traffic, TrafficPhase
from validation.papers.base import published_table

if TYPE_CHECKING:
    import pandas as pd

ROWS, COLUMNS = 16, 22
#: In the order of the paper's table 2.
STRATEGIES: Final = ("MC-Elongated", "PLAS", "MC", "Random", "MBS", "Paging")
JOBS, MEAN_SIZE = 1000, 16.0
#: Middle of the 60 to 70 % that the caption of table 2 gives for every column.
TARGET: Final = 0.65
IDEAL: Final = Router()


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open, each with what we take.

    Calibrated on the paper: `flits`, so that at its interarrival time of 500 for I/O alone the
    utilisation comes closest to `TARGET` (.32, .82, .95 with 4, 5, 6; four seeds). The
    interarrival time of each column follows from `target`, the middle of the caption's range, by
    the same rule for all (`campaign`); it is no fit to the columns' times or ranks.

    Argued: of `quota`, "job" lets every job send as many messages, on average one full cycle of
    16 for each of 16 nodes, shared by its nodes; "node" has every node send one full cycle. With
    services of 12096 and 9939 (Paging and MBS) every 500, jobs of mean size 16 would hold 1.10
    and .90 of the machine by Little's law if size and service were uncorrelated, and more if
    larger jobs stayed longer, as they do when each node sends as much; the caption says .60 to
    .70. We thought of this only after runs with "node" had come out further from the paper, and
    it does not settle the matter: without I/O, Random's 738.9 every 20 needs more than the whole
    machine under either quota, and the 36 printed times are met best by "node" at packet level.
    So both are run (`readings`, docs/claims.md); the experiments on the load keep "job".

    Of `router`, the ideal one: a link is busy for as many cycles as a message has flits. With a
    header's delay of 4 cycles a hop and one flit of buffer, as the authors' simulator is recalled
    to have, messages of one flit reach `TARGET` at an interarrival time of 404 instead of 500, and
    the orders are as far from the paper's (tau .33, .87, .47 at 100, 40 and 0 % I/O, three
    replications), so this choice decides no claim.
    """

    flits: int = 5
    cycle: int = 16  #: messages of a node of a job of mean size
    quota: str = "job"
    lockstep: bool = False
    router: Router = IDEAL
    network: str = "worm"
    target: float = TARGET


@dataclass(frozen=True)
class Shared(AbstractJobTraffic):
    """I/O and communication of a job, mixed message by message.

    Every message is I/O with probability `io_share`. I/O goes from each node to all I/O nodes in
    turn, the rest to the job's other nodes in turn. A job of one node has nobody to communicate
    with and leaves those messages out.
    """

    io_share: float
    choices: Choices

    name = "shared"

    def of(self, mesh: Mesh, size: int, demand: float) -> Traffic:
        """See `AbstractJobTraffic.of`."""
        choices = self.choices
        slots = choices.cycle
        if choices.quota == "job":
            slots = max(1, round(choices.cycle * MEAN_SIZE / size))
        return _mixed(self.io_share, slots, choices.flits, choices.lockstep, size == 1)


@lru_cache(maxsize=4096)
def _mixed(share: float, slots: int, flits: int, lockstep: bool, single: bool) -> Traffic:
    if single:
        slots = round(slots * share)
        if slots == 0:
            return Traffic.of(TrafficPhase(pattern="all-to-all", flits=flits))
        share = 1.0
    return Traffic.of(
        TrafficPhase(pattern="mixed", flits=flits, rounds=slots, io_share=share, lockstep=lockstep)
    )


def machine(io_share: float, choices: Choices) -> Machine:
    """16 x 22 nodes with 16 I/O nodes in the west; the strategy is put in later."""
    return Machine(
        mesh=Mesh(ROWS, COLUMNS, io_side="west"),
        strategy=STRATEGIES[0],
        discipline="FCFS",
        network=choices.network,
        traffic=Shared(io_share, choices),
        router=choices.router if choices.network == "worm" else None,
    )


def synthetic(interarrival: float, jobs: int = JOBS) -> PoissonStreams:
    """Row I of the paper's table 1."""
    return PoissonStreams(
        mean_interarrival=interarrival, jobs=jobs, mean_size=MEAN_SIZE, largest=ROWS * COLUMNS
    )


def published() -> pd.DataFrame:
    """Table 2 of the paper: io_percent, interarrival, strategy, service, rank."""
    table = published_table("mache_table2.csv")
    if set(table.strategy) != set(STRATEGIES):
        raise ModelError(f"published table 2 names other strategies: {sorted(set(table.strategy))}")
    return table
