"""The model of time sharing: by what the partitions hold and what turns make of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from phasefit.arrays import Array
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.demand import reduced_law
from qmodels.policies.models.lasting_sizes import lasting_in_branches, with_lasting_sizes
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.models.time_sharing_loads import (
    MOST_APART,
    NO_MORE,
    VARIABLE,
    Machine,
    all_alike,
    by_branch,
    speeds_by_branch,
    two_branches,
)
from qmodels.policies.models.turns import MOST_BY_CLASS
from qmodels.programs.model import parts

#: Jobs of a partition that are as good as any number: what it completes is a ninth below all at the most.
_MANY: Final = 8
#: Variability of demands up to which the capacity of turns that were played is nearer than that of
#: exponential bursts, see `played_gain`.
_PLAYED: Final = 12.0


def at_played_capacity(case: Case, running: RunningChain) -> RunningChain:
    """Return the chain with what full partitions complete, where that was played; else as it is.

    Parameters
    ----------
    case : Case
        Whose jobs take turns on one partition.
    running : RunningChain
        Of exponential bursts, which complete up to 6 % less than those that are all of one size.

    Notes
    -----
    For several bursts of one program. Of simulated systems whose demands vary more, more got further off
    than nearer.
    """
    workload = case.workload
    one = len(parts(workload.program)) == 1 and float(workload.program.mean_phases) > 1.0
    if workload.has_bursts or not one or workload.demand.scv > _PLAYED:
        return running
    return running.paced(TimeSharingModel().build(case).capacity / running.capacity, alone=1)


@MODELS.register
class TimeSharingModel(AbstractModel):
    """Long or short where jobs take turns, else in a stage of its demand."""

    name = "time-sharing"
    rank = 30
    takes_speeds = True
    by_demand = True
    placement = "idle-first"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: several jobs on a partition."""
        return case.arrangement.multiprogramming > 1

    def family(self, *, turns: bool) -> str:
        """See `AbstractModel.family`: turns are another matter than sharing."""
        return f"{self.name}, {'turns' if turns else 'shared'}"

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Notes
        -----
        With given speeds the model still says what partitions hold and who of the running jobs gets on
        how fast, at the same share of the capacity; how much all of them do is that of the table, see
        `level_factors`.

        Where jobs take turns and their demand varies more than an exponential one, they are of two
        classes, the branches of a hyperexponential law; else all of k running jobs have one speed.
        """
        demand, reduced = case.demand
        if not reduced:  # a law that was given may be too large as well
            demand, reduced = reduced_law(demand, case.policy, case.system, case.workload)
        arrangement, workload = case.arrangement.at_mean_sizes(), case.workload
        given = case.jobs.throughput if case.given else None
        machine = Machine.of(arrangement, workload, demand.scv)
        said = [*case.approximation, *reduced, *machine.simplifications]
        two = machine.turns and not workload.has_bursts and demand.scv > VARIABLE
        most = arrangement.multiprogramming
        # jobs of a partition told apart
        apart = min(most, MOST_BY_CLASS, MOST_APART // arrangement.processor_partitions)
        if two and apart < most:
            if apart < _MANY or case.given:
                said.append("long and short jobs taken at one speed, for they are too many to be told apart")
                two = False
            else:
                said.append(NO_MORE.format(apart))
                arrangement = arrangement.with_room_for(apart)
                machine = Machine.of(arrangement, workload, demand.scv)
        if two and (demand.order != 2 or demand.jumps.any()):
            demand = two_branches(demand)
            said.append(f"a demand matched by two branches, scv {demand.scv:.3g}")
        lasting = machine.turns and not workload.has_bursts and not case.given
        c, m = arrangement.max_running, demand.order
        check_blocks(
            f"the chain of {case.policy.label}",
            occupancy_counts(c, m).tolist(),
            workload.arrivals,
            case.memory,
            "use a demand law of lower order, or fewer partitions",
        )

        def made(arrival_rate: float | None, speeds: Array | None = given) -> RunningChain:
            step = machine.partitions(arrival_rate)
            if two:
                mixed = speeds_by_branch(demand, step)
                counted = partial(by_branch, machine, demand, mixed, given=speeds)
                return (
                    lasting_in_branches(machine, workload.arrivals, step, counted)
                    if lasting
                    else counted(step)
                )
            if lasting:
                step = with_lasting_sizes(machine, workload.demand, step)
            return all_alike(machine, demand, step, speeds)

        saturated = made(None)
        at_rate: Callable[[float], RunningChain] = made
        if given is not None:
            ours = made(None, None).capacity / saturated.capacity

            def at_rate(rate: float) -> RunningChain:
                return made(rate * ours)

        followed = machine.followed is not None and machine.followed[1] is not None
        return BuiltModel(
            self,
            saturated,
            False,
            saturated.capacity,
            tuple(said),
            at_rate=at_rate,
            arrivals_followed=followed,
            turns=machine.turns and not case.given,
        )
