"""What a simulation of a policy found out."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from validation.analysis.estimates import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Simulation(Result):
    """What was measured over independent replications, each quantity with its interval.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload
    >>> from validation import simulate
    >>> work = Workload(Program([Phase(io=4.0, cpu=12.0)]))
    >>> found = simulate(SpaceSharing(1, 1), System(4, 2), work, load=0.3, replications=4, jobs=400)
    >>> found.policy, found.replications, found.mean_response.half_width > 0.0
    ('SP(1,1)', 4, True)
    """

    drawing = Drawing(
        "",
        ("mean_response", "mean_response_low", "mean_response_high", "mean_wait"),
        labels=("", "seconds"),
    )

    policy: str  #: such as SP(4,16)
    arrival_rate: float  #: jobs per second
    load: float  #: arrival rate over `qmodels.policies.work_bound`
    mean_response: Estimate  #: seconds from arrival to departure
    mean_wait: Estimate  #: seconds from arrival to the start
    mean_jobs: Estimate  #: jobs in the system
    mean_running: Estimate  #: jobs running
    processor_utilisation: Estimate  #: fraction of the processors in a computation burst
    disk_utilisation: Estimate  #: fraction of the disks transferring
    percentiles: dict[float, Estimate]  #: response time in seconds by its probability
    replications: int
    jobs: int  #: jobs measured in each replication, after the warm-up
    warm_up: int  #: jobs left out at the start of each replication
    relaxations: float  #: measured time of all replications, in relaxation times of the queue
    precise: bool | None  #: whether the precision asked for was reached; None if none was
    events: int  #: events of all replications
    seconds: float  #: time the simulation took
    seed: int
    responses: tuple[float, ...] = field(repr=False)  #: mean response of each replication, seconds
    method: str = "simulated"
    warnings: tuple[str, ...] = ()  #: what to know before using the numbers
    saturated: bool = False  #: whether response times grew over the measured jobs

    @property
    def values(self) -> dict[str, tuple[float, ...]]:
        """Mean response of each replication, by its name."""
        return {"mean_response": self.responses}

    @property
    def confidence(self) -> float:
        """Coverage of the intervals."""
        return self.mean_response.confidence

    def percentile(self, q: float) -> Estimate:
        """Response time that a fraction `q` of the jobs does not exceed, in seconds.

        Raises
        ------
        ModelError
            If that percentile was not asked for when simulating.
        """
        for known, found in self.percentiles.items():
            if isinstance(q, float) and abs(q - known) < 1e-12:
                return found
        measured = ", ".join(f"{p:g}" for p in self.percentiles) or "none"
        raise ModelError(
            f"percentile {q!r:.40} was not measured (measured: {measured}); "
            f"simulate with percentiles=({q!r:.40},)"
        )

    def table(self) -> str:
        """Name and value, one to a line."""
        lines = [f"{name:<22} {value}" for name, value in self._named() if name != "warnings"]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def to_frame(self) -> pd.DataFrame:
        """One row; an estimate becomes three columns, the mean and _low and _high."""
        import pandas as pd

        row: dict[str, Any] = {}
        for name, value in self._named():
            if isinstance(value, Estimate):
                row |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
            else:
                row[name] = "; ".join(value) if name == "warnings" else value
        return pd.DataFrame([row])

    def record(self) -> dict[str, Any]:
        """Every quantity by its name; the mean of each replication is in `responses`."""
        return dict(self._named())

    def _named(self) -> list[tuple[str, Any]]:
        """Quantities by name, each percentile under its own, such as p95_response."""
        named: list[tuple[str, Any]] = []
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "percentiles":
                named += [(f"p{100 * q:g}_response", found) for q, found in value.items()]
            elif f.name != "responses":
                named.append((f.name, value))
        return named
