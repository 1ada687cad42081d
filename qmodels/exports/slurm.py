"""A policy as lines of slurm.conf, and what of it Slurm cannot do, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from phasefit.checks import one_of, whole_number
from phasefit.records import Record
from qmodels.policies import AbstractPolicy, System
from qmodels.policies.choice.ranking import BEST, SLOWER, TIE

if TYPE_CHECKING:
    from qmodels.policies.choice.recommendation import Recommendation

#: So that the scheduler looks at the queue whenever something has changed, in the order of arrival.
FIRST_COME: Final = (
    "SchedulerType=sched/builtin",
    "SchedulerParameters=sched_interval=1,sched_min_interval=0,default_queue_depth=1000",
)
#: The least that Slurm takes, and what a user has where nothing is said.
LEAST_SLICE, USUAL_SLICE = 5, 30


@dataclass(frozen=True)
class SlurmPolicy(Record):
    """Lines that make a Slurm run a policy, and where it is another one nevertheless.

    Examples
    --------
    >>> from qmodels import SpaceSharing
    >>> print(as_slurm(SpaceSharing(4, 4), System(processors=16, disks=4)).lines[-1])
    PartitionName=sp Nodes=ALL Default=YES MinNodes=4 MaxNodes=4 OverSubscribe=EXCLUSIVE State=UP
    """

    policy: str  #: label
    lines: tuple[str, ...]  #: of slurm.conf; none where Slurm cannot run the policy
    differences: tuple[str, ...]  #: sentences on what Slurm does otherwise

    def __str__(self) -> str:
        """Lines with what is to be known of them as comments."""
        remarks = [f"# {each}" for each in self.differences]
        head = (
            f"# {self.policy} as lines of slurm.conf" if self.lines else f"# {self.policy}: no Slurm runs it"
        )
        return "\n".join([head, *remarks, *self.lines])


def as_slurm(policy: AbstractPolicy, system: System, *, slice_seconds: int = USUAL_SLICE) -> SlurmPolicy:
    """Return the lines of slurm.conf that run a policy, and what Slurm cannot do of it.

    Parameters
    ----------
    policy : AbstractPolicy
        As models know it.
    system : System
        Its processors stand for Slurm's nodes.
    slice_seconds : int
        How long a job runs under time sharing until the next one's turn, at least 5 seconds.

    Returns
    -------
    SlurmPolicy
        Without lines under a policy that divides the processors anew.

    Raises
    ------
    ModelError
        If the policy does not fit the machine, or the slice is shorter than Slurm's least.

    Notes
    -----
    Space sharing is one Slurm partition whose jobs all get the same number of nodes, to
    themselves; time sharing is Slurm's gang scheduling, ``OverSubscribe=FORCE:M`` [1]_.

    References
    ----------
    .. [1] Slurm documentation, "Gang Scheduling", slurm.schedmd.com/gang_scheduling.html.

    Examples
    --------
    >>> from qmodels import DynamicPartitioning, TimeSharing
    >>> as_slurm(TimeSharing(4, 1, multiprogramming=3), System(16, 4)).lines[-1]
    'PartitionName=ts Nodes=ALL Default=YES MinNodes=4 MaxNodes=4 OverSubscribe=FORCE:3 State=UP'
    >>> as_slurm(DynamicPartitioning(1), System(16, 4)).lines
    ()
    """
    whole_number("slice_seconds", slice_seconds, least=LEAST_SLICE)
    arrangement = policy.arrangement(system)
    if arrangement.repartitioned:
        return SlurmPolicy(
            policy.label,
            (),
            (
                "A running job keeps the nodes that it began with: Slurm does not divide them anew when "
                "a job comes or goes. Of the policies that it can run take the best of SP and TS.",
            ),
        )
    width = int(min(arrangement.partition_sizes))
    differences = [
        "A node of Slurm stands for a processor of the model. Where a node has c of them, divide MinNodes "
        "and MaxNodes by c."
    ]
    partitions, level = arrangement.processor_partitions, arrangement.multiprogramming
    left = system.processors - width * partitions
    if left:
        differences.append(
            f"All jobs of a Slurm partition get the same number of nodes, here {width}, the smallest of the "
            f"policy's partitions: {left} of {system.processors} nodes stay idle."
        )
    if left >= width:
        differences.append(
            f"Name {width * partitions} nodes in place of ALL: on all of them up to "
            f"{level * (system.processors // width)} jobs would run at once, not {level * partitions}."
        )
    if arrangement.max_running < level * partitions:
        differences.append(
            f"Slurm has no cap of {arrangement.max_running} jobs for all partitions together but "
            f"GrpJobs={arrangement.max_running} of a QOS, which needs slurmdbd."
        )
    if arrangement.disk_partitions > 1:
        differences.append(
            f"Slurm knows nothing of disks. For {arrangement.disk_partitions} disk partitions let each job "
            f"write to the one of them that the fewest running jobs use, such as by a directory that its "
            f"prolog chooses."
        )
    if level > 1:
        differences += [
            f"Gang scheduling stops a whole job while another has its turn of {slice_seconds} s, so that the "
            f"I/O of one is not overlapped with the computing of another: what TS gains by overlap is lost, "
            f"and what remains is sharing in turns.",
            f"A node needs memory for {level} jobs at once.",
        ]
    name = "ts" if level > 1 else "sp"
    shared = f"FORCE:{level}" if level > 1 else "EXCLUSIVE"
    gang = ("PreemptMode=GANG", f"SchedulerTimeSlice={slice_seconds}") if level > 1 else ()
    lines = (
        *FIRST_COME,
        "SelectType=select/linear",
        "PriorityType=priority/basic",
        *gang,
        "# Without an epilog a node that is free again is seen at the next whole second only.",
        "Epilog=/bin/true",
        f"PartitionName={name} Nodes=ALL Default=YES MinNodes={width} MaxNodes={width} "
        f"OverSubscribe={shared} State=UP",
    )
    return SlurmPolicy(policy.label, lines, tuple(differences))


def configured(recommended: Recommendation, system: System) -> list[SlurmPolicy]:
    """Return the best policy for Slurm, and behind one that it cannot run the next best that it can.

    Parameters
    ----------
    recommended : Recommendation
        As `qmodels.recommend` returns it.
    system : System
        The machine.

    Returns
    -------
    list of SlurmPolicy
        Empty where nothing is recommended.

    Examples
    --------
    >>> from qmodels import Phase, Program, Workload, recommend
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> machine = System(16, 16)
    >>> advice = recommend(machine, work, load=0.3, candidates=["DP(16)", "SP(4,4)"])
    >>> [each.policy for each in configured(advice, machine)]
    ['DP(16)', 'SP(4,4)']
    """
    found = []
    for row in recommended.rows:
        if row.status in (BEST, TIE, SLOWER):
            found.append(as_slurm(row.policy, system))
            if found[-1].lines:
                break
    return [*found[:1], *found[-1:]] if len(found) > 1 else found


def rigid_lines(
    order: Literal["fcfs", "backfill"], *, priorities: bool = False, tick: int = USUAL_SLICE
) -> tuple[str, ...]:
    """Return the lines of slurm.conf under which jobs keep the width that they ask for.

    Parameters
    ----------
    order : {"fcfs", "backfill"}
        In order of arrival, or letting jobs pass that delay none before them by their limits.
    priorities : bool
        Whether the quality of service of a job decides before its arrival.
    tick : int
        Seconds between two looks for jobs that may pass; 30 are usual.

    Returns
    -------
    tuple of str
        In the order in which they are to stand.

    Raises
    ------
    ModelError
        If the order is another one.

    Examples
    --------
    >>> rigid_lines("fcfs")[0], rigid_lines("backfill", tick=1)[0]
    ('SchedulerType=sched/builtin', 'SchedulerType=sched/backfill')
    """
    one_of("order", order, ("fcfs", "backfill"))
    if order == "fcfs":
        first = FIRST_COME
    else:
        whole_number("tick", tick, least=1)
        first = (
            "SchedulerType=sched/backfill",
            f"{FIRST_COME[1]},bf_interval={tick},bf_resolution={tick},bf_continue,bf_max_job_test=1000",
        )
    by_qos = ("PriorityType=priority/multifactor", "PriorityWeightQOS=1000000", "PriorityCalcPeriod=1")
    return (
        *first,
        "SelectType=select/linear",
        *(by_qos if priorities else ("PriorityType=priority/basic",)),
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE State=UP",
    )
