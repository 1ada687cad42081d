"""What the points were like on which the models' errors were recorded: beyond them none is stated.

The table of ranges is made by `tests.campaigns.policy_errors.write_domain` from a recorded
campaign, out of the same `traits` that a prediction is held against.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from math import inf
from typing import TYPE_CHECKING, Final

from phasefit import MAP
from qmodels.programs.model import AbstractProgram, Program, parts

if TYPE_CHECKING:
    from qmodels.policies.base import AbstractPolicy
    from qmodels.policies.system import Arrangement, System, Workload

#: Traits of a point that are numbers, and how a value is said.
TRAITS: Final = {
    "load": "{:.0%} of the capacity",
    "arrival_scv": "arrivals of scv {:.3g}",
    "demand_scv": "a demand of scv {:.3g}",
    "demand_third": "a demand whose third moment is {:.3g} times an exponential's of that scv",
    "io_burst_scv": "bursts of I/O of scv {:.3g}",
    "cpu_burst_scv": "bursts of computation of scv {:.3g}",
    "io_share": "jobs that transfer for {:.2g} of their time alone",
    "bursts": "jobs of {:.3g} bursts of I/O",
    "jobs_on_a_partition": "{:.0f} jobs on a partition of processors",
    "jobs_at_once": "{:.0f} jobs at once",
}
#: Traits of which only large values are new: jobs that are few, or hardly transfer, hardly meet at
#: the disks. Those that take turns at processors are another matter.
_UNBOUNDED_BELOW: Final = ("load", "jobs_at_once")
_UNBOUNDED_BELOW_APART: Final = (*_UNBOUNDED_BELOW, "io_share")


#: Scv of a job's computation bursts up to which turns are off by no more than is recorded. Beyond,
#: a tenth of 30 recorded systems were off by 18 to 30 %; it was set when they had been seen. Of its phases,
#: I/O and computation together: beyond it there are three other systems on record; a capacity was 12 % off.
_UNLIKE: Final = 0.5
_ROUNDED: Final = 1e-5  # digits of the table


def traits(policy: AbstractPolicy, system: System, workload: Workload, load: float) -> dict[str, float]:
    """Return the numbers by which a prediction is held against the recorded points.

    Parameters
    ----------
    policy, system, workload
        As for `qmodels.predict`.
    load : float
        Arrival rate over the policy's capacity.
    """
    arrangement, program = policy.arrangement(system), workload.program
    p, d = policy.allotment(system)
    io, cpu = float(program.mean_io(p, d)), float(program.mean_cpu(p, d))
    known = {
        "load": load,
        "arrival_scv": workload.arrivals.scv,
        "io_share": io / (io + cpu),
        "bursts": program.mean_phases,
        "jobs_on_a_partition": arrangement.multiprogramming,
        "jobs_at_once": arrangement.max_running,
    }
    if workload.io_bursts is not None and workload.cpu_bursts is not None:
        known["io_burst_scv"] = workload.io_bursts.scv
        known["cpu_burst_scv"] = workload.cpu_bursts.scv
    else:
        law = workload.demand
        known["demand_scv"] = law.scv
        known["demand_third"] = law.moment(3) / (1.5 * law.moment(2) ** 2) if law.scv > 1.0 else 1.0
    return {name: float(value) for name, value in known.items()}


def of_another_kind(arrangement: Arrangement, workload: Workload) -> tuple[str, ...]:
    """Say what about a point no recorded point had, whatever its numbers; () for nothing."""
    said = []
    if isinstance(workload.arrivals, MAP):
        said.append("arrivals that depend on those before")
    if workload.mix == "each" and len(parts(workload.program)) > 1:
        said.append("a mix of programs")
    sizes = () if arrangement.repartitioned else arrangement.partition_sizes
    if len(set(sizes)) > 1:
        said.append("partitions of unequal sizes")
    elif not arrangement.whole_disks:
        said.append("disks that do not divide among their partitions")
    if arrangement.disks_in_turn:
        said.append("disks that serve their jobs in turn")
    if arrangement.overheads:
        said.append("time that dividing the processors takes")
    if workload.has_bursts and arrangement.multiprogramming > 1:
        said.append("laws of bursts on partitions of several jobs")
    if arrangement.multiprogramming > 1 and arrangement.cpu_discipline == "fcfs":
        p = arrangement.system.processors / arrangement.processor_partitions
        cpu, both = _scvs_within(workload.program, p, arrangement.disks)
        if max(cpu, both) > _UNLIKE:
            what = "computation bursts" if cpu > _UNLIKE else "phases"
            said.append(f"{what} of a job that are long and short by turns")
    return tuple(said)


def _scvs_within(program: AbstractProgram, p: float, d: float) -> tuple[float, float]:
    """Return the scv of the mean computation bursts of a job and of its phases, those of a mix together."""
    phases: list[tuple[float, float, float]] = []
    for share, each in parts(program):
        assert isinstance(each, Program)
        for phase, visits in each.visits:
            cpu = float(phase.burst("cpu").mean_time(p, d))
            phases.append((share * visits, cpu, cpu + float(phase.burst("io").mean_time(p, d))))
    return _scv([(n, cpu) for n, cpu, _ in phases]), _scv([(n, both) for n, _, both in phases])


def _scv(times: list[tuple[float, float]]) -> float:
    """Return the scv of times that come so often each, those of zero left out."""
    many, total, squares = (sum(n * c**k for n, c in times if c > 0.0) for k in range(3))
    return many * squares / total**2 - 1.0 if total > 0.0 else 0.0


def outside(name: str, values: dict[str, float]) -> tuple[str, ...]:
    """Say which numbers of a point lie outside of the recorded ones; () for none.

    Parameters
    ----------
    name : str
        A family of a model, see `AbstractModel.family`.
    values : dict
        See `traits`.

    Examples
    --------
    >>> outside("speed-scaled", {"demand_scv": 100.0})
    ('a demand of scv 100 (recorded: 0.1 to 79.2)',)
    """
    ranges = _table().get(name)
    if ranges is None:
        return (f'the model "{name}", of which no points were recorded',)
    said = []
    for trait, value in values.items():
        low, high = ranges.get(trait, (inf, -inf))
        if low * (1.0 - _ROUNDED) <= value <= high * (1.0 + _ROUNDED):
            continue
        recorded = f"up to {high:.3g}" if low == -inf else f"{low:.3g} to {high:.3g}"
        recorded = recorded if trait in ranges else "none"
        said.append(f"{TRAITS[trait].format(value)} (recorded: {recorded})")
    return tuple(said)


def unbounded_below(name: str) -> tuple[str, ...]:
    """Return the traits of a family of which small values are nothing new."""
    return _UNBOUNDED_BELOW if name == "time-sharing, turns" else _UNBOUNDED_BELOW_APART


@lru_cache(maxsize=1)  # some forty ranges
def _table() -> dict[str, dict[str, tuple[float, float]]]:
    text = files("qmodels.policies.models").joinpath("recorded_domain.csv").read_text("utf-8")
    lines = [line.split(";") for line in text.splitlines() if line and not line.startswith("#")]
    table: dict[str, dict[str, tuple[float, float]]] = {}
    for name, trait, low, high in lines[1:]:
        table.setdefault(name, {})[trait] = (float(low) if low else -inf, float(high))
    return table
