"""`simulate_rigid`: when each of many rigid jobs starts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import MemoryBudgetError, ModelError
from validation.jobs.disciplines import EASY, AbstractDiscipline, Conservative, Waiting, find_discipline
from validation.rigid import _kernels as kernels
from validation.rigid.model import RigidJobs, RigidMachine, Weights

if TYPE_CHECKING:
    import pandas as pd

_PASSING = {
    "nobody": kernels.IN_ORDER,
    "reserved": kernels.EASY,
    "anybody": kernels.ANY,
    "planned": kernels.PLANNED,
}

#: Numbers that the plan of all that wait may hold: 2 GB.
_MOST_PLANNED = 250_000_000


@dataclass(frozen=True, eq=False)
class RigidRun(Result):
    """Starts of rigid jobs on a machine.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs.
    processors : int
        Of the machine.
    discipline : str
        Who was next.
    start : (n,) ndarray
        Seconds; NaN of a job that never started: it was withdrawn, or what it needs never came.
    """

    drawing = Drawing("submit [s]", "wait [s]")

    jobs: RigidJobs
    processors: int
    discipline: str
    start: Array

    @cached_property
    def wait(self) -> Array:
        """From submission to start (n,), seconds."""
        wait: Array = self.start - self.jobs.submit
        return read_only(wait)

    @property
    def mean_wait(self) -> float:
        """Mean wait of the jobs that started, seconds."""
        return float(np.nanmean(self.wait))

    @property
    def utilisation(self) -> float:
        """Share of the processors held from the first submission to the last end."""
        ran = ~np.isnan(self.start)
        span = float((self.start + self.jobs.run)[ran].max() - self.jobs.submit[0])
        return float((self.jobs.need * self.jobs.run)[ran].sum()) / (self.processors * span)

    def record(self) -> dict[str, Any]:
        """Return the figures of all jobs together."""
        return {
            "discipline": self.discipline,
            "processors": self.processors,
            "jobs": len(self.jobs),
            "never_started": int(np.isnan(self.start).sum()),
            "mean_wait": self.mean_wait,
            "utilisation": self.utilisation,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each job."""
        import pandas as pd

        columns = {"submit [s]": self.jobs.submit, "wait [s]": self.wait, "run [s]": self.jobs.run}
        return pd.DataFrame({**columns, "processors": self.jobs.need, "user": self.jobs.user})


def simulate_rigid(
    jobs: RigidJobs,
    machine: RigidMachine | int,
    discipline: AbstractDiscipline | str = "EASY",
    *,
    cap: int | Mapping[int, int] | None = None,
    weights: Weights | None = None,
) -> RigidRun:
    """Return when each job starts.

    At one time jobs end first, then nodes come and go, then jobs are withdrawn, then jobs arrive;
    then one pass over the queue starts what may start.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs.
    machine : RigidMachine or int
        Its nodes, or a number of processors. On nodes a job gets the first that have room.
    discipline : AbstractDiscipline or str
        Who is next and who may pass: any that goes by a key known on arrival and lets nobody pass
        (FCFS), whoever fits (first-fit), whoever does not delay the first by the limits
        (`validation.jobs.disciplines.EASY`, with its ties and depth), or whoever delays none of
        those before it (`validation.jobs.disciplines.Conservative`).
    cap : int or mapping, optional
        Processors that a user may hold at once; or by user, those not named without a cap. A job
        over the cap is passed over and keeps nobody back; a user who holds nothing may always
        start one.
    weights : Weights, optional
        What orders those that wait anew at every event, within their class of priority; without
        it the discipline does.

    Returns
    -------
    RigidRun
        With the start of every job.

    Raises
    ------
    ModelError
        If a job needs more than the machine has, or the discipline has a rule of its own for who
        may pass.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", *IEEE Trans. Parallel
       Distrib. Syst.* 12 (2001) 529-543.

    Examples
    --------
    The fourth job is the only one that ends, by its limit, when the second can start:

    >>> jobs = RigidJobs([0, 1, 2, 3], [3, 4, 1, 1], [10, 5, 4, 7], limit=[10, 6, 9, 7])
    >>> simulate_rigid(jobs, 4).start
    array([ 0., 10., 15.,  3.])
    """
    if not isinstance(machine, RigidMachine):
        machine = RigidMachine(machine)
    chosen = find_discipline(discipline)
    start = _starts(jobs, machine, chosen, cap=cap, weights=weights)
    return RigidRun(jobs, machine.processors, chosen.name, start)


def saturated_starts(
    jobs: RigidJobs, machine: RigidMachine, discipline: AbstractDiscipline | str, *, backlog: int
) -> Array:
    """Return when each job starts if jobs come, in their order, whenever fewer than so many wait.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs; their times of submission are not used.
    machine : RigidMachine
        Its nodes.
    discipline : AbstractDiscipline or str
        As for `simulate_rigid`.
    backlog : int
        Jobs that always wait, at least one.

    Returns
    -------
    (n,) ndarray
        Seconds; NaN of those that still waited when there were no more to come.
    """
    return _starts(jobs, machine, find_discipline(discipline), backlog=backlog)


def _starts(
    jobs: RigidJobs,
    machine: RigidMachine,
    discipline: AbstractDiscipline,
    *,
    cap: int | Mapping[int, int] | None = None,
    weights: Weights | None = None,
    backlog: int = 0,
) -> Array:
    """Return the start of each job by the compiled loop."""
    layout = _Layout.of(jobs, machine)
    start = np.empty(len(jobs))
    rules, sizes = layout.rules(discipline, capped=cap is not None, backlog=backlog)
    users = np.unique(jobs.user)
    held_by = _caps(users, cap)
    kernels.simulate(
        *columns(jobs, discipline, layout),
        np.empty(0, np.int64) if jobs.leave is None else np.argsort(jobs.leave, kind="stable"),
        *layout.steps,
        held_by,
        rules,
        np.empty(0) if weights is None else weights.numbers(machine, users.size),
        start,
        kernels.tables(len(jobs), held_by.size, layout.free, dynamic=weights is not None, **sizes),
    )
    return read_only(start)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Jobs and machine as the compiled loop takes them."""

    nodes: Ints
    per_node: Ints
    admitted: NDArray[np.bool_]
    free: Ints
    steps: tuple[Array, Ints]

    @classmethod
    def of(cls, jobs: RigidJobs, machine: RigidMachine) -> _Layout:
        """Return the tables of a machine; where it counts processors, it is one node."""
        if isinstance(machine.groups, int):
            free = np.array([[machine.groups]], np.int64)
            if (jobs.need > machine.groups).any():
                at = int(np.argmax(jobs.need > machine.groups))
                raise ModelError(
                    f"job {at} needs {jobs.need[at]} of {machine.groups} processors; leave it out"
                )
            single = np.ones(len(jobs), np.int64)
            everywhere = np.ones((len(jobs), 1), bool)
            return cls(single, jobs.need.reshape(-1, 1).copy(), everywhere, free, _steps(machine, [0], free))
        groups = machine.groups
        group_of = [k for k, group in enumerate(groups) for _ in range(group.count)]
        free = np.array([[groups[k].cores, groups[k].memory, groups[k].gpus] for k in group_of], np.int64)
        none = np.zeros(len(jobs), np.int64)
        cores = -(-jobs.need // jobs.nodes)
        wanted = [
            cores,
            none if jobs.memory is None else jobs.memory,
            none if jobs.gpus is None else jobs.gpus,
        ]
        per_node = np.stack(wanted, axis=1)
        admitted: NDArray[np.bool_] = np.all(per_node[:, None, :] <= free[None, :, :], axis=2)
        if jobs.place is not None:
            for word in sorted(set(jobs.place) - {""}):
                has = np.array([word in groups[k].features for k in group_of])
                admitted[np.array(jobs.place) == word] &= has
        if (admitted.sum(axis=1) < jobs.nodes).any():
            at = int(np.argmax(admitted.sum(axis=1) < jobs.nodes))
            raise ModelError(
                f"job {at} asks for {jobs.nodes[at]} nodes with {cores[at]} cores each, and "
                f"{int(admitted[at].sum())} nodes have what it asks for; leave it out"
            )
        return cls(jobs.nodes.copy(), per_node, admitted, free, _steps(machine, group_of, free))

    def rules(
        self, discipline: AbstractDiscipline, *, capped: bool = False, backlog: int = 0
    ) -> tuple[tuple[np.int64, ...], dict[str, int]]:
        """Return who may pass, whether strictly in time, depth and backlog, and what tables are to hold."""
        kind = type(discipline)
        if kind.passers is not AbstractDiscipline.passers and kind.passes == "nobody":
            raise ModelError(
                f"the discipline {discipline.name} has a rule of its own for who may pass; rigid jobs "
                f"have those of FCFS, EASY, conservative and first-fit, in any order known on arrival"
            )
        strict, depth = False, -1
        if isinstance(discipline, EASY | Conservative):
            strict = (
                discipline.whole_nodes if isinstance(discipline, Conservative) else discipline.ties == "wait"
            )
            depth = -1 if discipline.depth is None else discipline.depth
        gained = int(np.maximum(self.steps[1][:, 1], 0).sum())
        slots = min(self.nodes.size, int(self.free[:, 0].sum()) + gained) + 1
        rows = 0
        if kind.passes == "planned":
            planned = self.nodes.size if depth < 0 else min(depth + 1, self.nodes.size)
            rows = slots + planned + 2
            if rows * self.free.size > _MOST_PLANNED:
                raise MemoryBudgetError(
                    f"to plan {planned:,} jobs on {len(self.free):,} nodes takes "
                    f"{rows * self.free.size * 8e-9:.0f} GB; plan fewer: Conservative(depth=1000)"
                )
        rules = tuple(map(np.int64, (_PASSING[kind.passes], strict, depth, backlog, capped)))
        return rules, {"slots": slots, "most": int(self.nodes.max()), "rows": rows}


def _steps(machine: RigidMachine, group_of: list[int], free: Ints) -> tuple[Array, Ints]:
    """Return times, and nodes with the changes of what comes and goes, in order of time."""
    changes: list[tuple[float, int, Ints]] = []
    for drain in machine.drains:
        if isinstance(machine.groups, int):
            lost = [(0, np.array([drain.count], np.int64))]
        else:
            last = [node for node, group in enumerate(group_of) if group == drain.group][-drain.count :]
            lost = [(node, free[node].copy()) for node in last]
        for node, what in lost:
            changes.append((drain.begin, node, -what))
            if drain.end < math.inf:
                changes.append((drain.end, node, what))
    changes.sort(key=lambda change: change[0])
    rows = [[node, *what] for _, node, what in changes]
    times = np.array([time for time, _, _ in changes])
    return times, np.array(rows, np.int64).reshape(len(rows), 1 + free.shape[1])


def columns(jobs: RigidJobs, discipline: AbstractDiscipline, layout: _Layout) -> tuple[Any, ...]:
    """Return the columns of the jobs in the order in which the compiled loop takes them.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs.
    discipline : AbstractDiscipline
        Gives the order of the queue.
    layout : _Layout
        The machine.
    """
    order = np.empty(len(jobs), np.int64)
    if type(discipline).key is EASY.key:
        keys: Array = np.zeros(len(jobs))
    else:
        rows = zip(
            jobs.submit.tolist(), jobs.need.tolist(), jobs.run.tolist(), jobs.limit.tolist(), strict=True
        )
        keys = np.array([discipline.key(Waiting(j, *row)) for j, row in enumerate(rows)])
    order[np.lexsort((keys, jobs.priority))] = np.arange(len(jobs))
    need = -(-jobs.need // layout.nodes) * layout.nodes
    user = np.unique(jobs.user, return_inverse=True)[1]  # numbers of a log may be large
    times = [jobs.submit, jobs.run, jobs.limit, *([] if jobs.leave is None else [jobs.leave])]
    return (
        np.stack([need, order, user, layout.nodes, jobs.priority], axis=1),
        np.stack(times, axis=1),
        layout.per_node,
        layout.admitted,
        layout.free,
    )


def _caps(users: Ints, cap: int | Mapping[int, int] | None) -> Array:
    """Return the processors that each user may hold."""
    caps = np.full(users.size, kernels.NOBODY)
    if isinstance(cap, Mapping):
        for user, processors in cap.items():
            if not 0 <= user <= users[-1]:
                raise ModelError(f"cap names user {user}, users are 0 to {users[-1]}")
            caps[users == user] = whole_number("cap", processors, least=0)
    elif cap is not None:
        caps[:] = whole_number("cap", cap, least=0)
    return caps
