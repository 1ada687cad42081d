"""What a mean response would become of other jobs, bursts, processors and disks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phasefit import PhaseType, match_moments
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import InfeasibleMomentsError, ModelError, UnstableError
from qmodels.markov import QBD, solve_qbd
from qmodels.markov.level_slopes import level_slopes
from qmodels.policies.models.base import MODELS, BuiltModel, SolvedQueue
from qmodels.policies.models.build import built_model, solved_queue
from qmodels.policies.models.described import described_times
from qmodels.policies.models.policy_queue import PolicyQueue
from qmodels.policies.system import Workload
from qmodels.programs.longer_bursts import LongerBurst, longer_bursts
from qmodels.words import in_words

if TYPE_CHECKING:
    import pandas as pd

#: Part of a parameter by which it is moved to see how the rates change: what the square of the
#: step leaves out is then as little as what rounding adds. Of models that search for their rates
#: the end of the search would show, so the step is longer.
STEP, COARSE = 2e-7, 1e-4
#: The same of an scv, to both sides; upward only where the law has other phases on one of them.
_OF_SCV: Final = 2e-6
#: Part of the mean response that rounding may be.
_ROUNDING: Final = 1e-11
#: Part of a parameter whose effect is said.
SAID: Final = 0.1
#: Of which jobs the changes are, where the prediction draws its jobs from a log.
_INDEPENDENT: Final = (
    "these changes are of independent jobs with the gaps and sizes of the log, mean response {}; "
    "drawn as the prediction draws them they may be another"
)
#: Different bursts up to which each has a slope of its own.
MOST_BURSTS: Final = 8


@dataclass(frozen=True)
class Sensitivity(Record):
    """What one change does to the mean response, all else as it is."""

    parameter: str  #: such as "arrival rate", "disks" or "phase 1: I/O"
    value: float  #: of the parameter today
    unit: str  #: of it; "" for a plain number
    #: seconds of mean response per unit of the parameter; None of what comes in whole numbers, and
    #: where it is not known
    slope: float | None
    change: str  #: the change whose effect is given, such as "one more disk"
    #: seconds that the mean response becomes longer; None if there is no answer, see `note`
    effect: float | None
    note: str = ""  #: why something is not known

    @property
    def sentence(self) -> str:
        """The change and its effect, such as "one more disk: -8 s"."""
        if self.effect is None:
            return f"{self.change}: {self.note}"
        if self.effect == 0.0:
            return f"{self.change}: no change"
        return f"{self.change}: {'-' if self.effect < 0.0 else '+'}{in_words(abs(self.effect))}"


@dataclass(frozen=True, eq=False)
class Sensitivities(Result):
    """What each change does to the mean response of a policy."""

    drawing = Drawing("change", "effect", labels=("", "change of the mean response [s]"))

    policy: str  #: label
    mean_response: float  #: seconds, today
    rows: tuple[Sensitivity, ...]  #: a change each
    method: str  #: that of the prediction
    seconds: float  #: time the computation took
    #: of which jobs, where it is not those of the prediction; "" where it is
    note: str = ""

    def of(self, parameter: str) -> Sensitivity:
        """Return the row of a parameter by its name, such as "disks"; ModelError for another."""
        for row in self.rows:
            if row.parameter == parameter:
                return row
        raise ModelError(
            f"parameter must be one of {', '.join(row.parameter for row in self.rows)}; got {parameter!r:.60}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each change."""
        return data_frame([row.record() for row in self.rows])

    def table(self) -> str:
        """Return the changes and their effects, one to a line, and of which jobs they are."""
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The changes and their effects, and of which jobs they are where that must be said."""
        return [*(row.sentence for row in self.rows), *([self.note] if self.note else [])]


def sensitivities_of(solved: SolvedQueue) -> Sensitivities:
    """Return what changes of the jobs and of the machine do to a predicted mean response.

    Parameters
    ----------
    solved : SolvedQueue
        Such as ``predict(...).solved``, by any model.

    Returns
    -------
    Sensitivities
        Of the arrival rate, one more processor, one more disk, each burst and the scv of demand
        (or of bursts), a row each.

    Notes
    -----
    The mean is differentiated through its chain, see `qmodels.markov.level_slopes`: one more
    solution serves all slopes, and each takes only the rates next to today's, whose slopes are
    quotients of differences to 1e-7. Models that search for their rates at each arrival rate hold
    to about three digits. The slope of the longest burst follows from the others and from that in
    the arrival rate, since the unit of time is free. One more processor or disk, and a tenth more
    jobs, are solved as they are; a tenth of a burst or an scv is said to first order.

    An scv is moved with the mean kept, along the laws of two moments (`phasefit.match_moments`);
    at one, upward. Of another law it does not say how the law would change, and there is no slope.

    References
    ----------
    .. [1] Cao and Chen 1997.

    Examples
    --------
    >>> from qmodels import Phase, Program, System, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> answer = predict("SP(1,1)", System(16, 16), work, load=0.5).sensitivities
    >>> print(answer.table())
    10 % more jobs: +15.2 s
    one more processor: -14.7 s
    one more disk: -243 ms
    phase 1: I/O 10 % longer: +413 ms
    phase 1: computation 10 % longer: +26.4 s
    scv of demand 10 % higher: +3.35 s
    """
    started = time.perf_counter()
    near = _Neighbours(solved)
    rows = tuple(near.rows())
    drawn = described_times(solved)
    note = "" if drawn is None else _INDEPENDENT.format(in_words(near.mean))
    return Sensitivities(
        solved.policy.label, near.mean, rows, solved.method, time.perf_counter() - started, note
    )


class _Neighbours:
    """Predictions next to one, by the same model at the same arrival rate."""

    def __init__(self, solved: SolvedQueue) -> None:
        self.solved, self.rate = solved, solved.queue.arrival_rate
        self.mean = float(solved.chain.mean_level()) / self.rate
        kind = type(self.solved.built.model)
        known = MODELS.get(self.solved.built.name) is kind
        self.model = self.solved.built.name if known else f"{kind.__module__}:{kind.__qualname__}"
        self.here = self.solved.queue.chain()
        self.slopes = level_slopes(self.here, self.solved.chain)
        self.step = STEP if self.solved.built.at_rate is None else COARSE

    def rows(self) -> Iterator[Sensitivity]:
        """Yield a row for each change."""
        yield self.jobs()
        yield self.one_more("processors")
        yield self.one_more("disks")
        yield from self.bursts()
        yield from self.variability()

    def seen(self, effect: float) -> float:
        """Return an effect, or zero for one that is rounding."""
        return effect if abs(effect) > _ROUNDING * self.mean else 0.0

    def built(self, workload: Workload) -> BuiltModel:
        """Build the same model of another workload."""
        return built_model(self.solved.policy, self.solved.system, workload, self.model)

    def chain(self, built: BuiltModel, rate: float) -> QBD:
        """Return the chain of a queue at an arrival rate, arrivals otherwise as they are.

        Those that are described by how busy a machine is keep what is said of them today.
        """
        return PolicyQueue(self.solved.queue.arrivals.scale(self.rate / rate), built.running_at(rate)).chain()

    def elasticity(self, workload_at: Callable[[float], Workload]) -> float:
        """Return the slope of the mean response in a factor at one, seconds."""
        return self.slopes.along(self.here, self.moved(workload_at, self.step)) / (self.step * self.rate)

    def moved(self, workload_at: Callable[[float], Workload], by: float) -> QBD:
        """Return the chain with a factor moved away from one."""
        return self.chain(self.built(workload_at(1.0 + by)), self.rate)

    @cached_property
    def of_rate(self) -> float:
        """Slope of the mean response in the arrival rate, seconds per job per second."""
        chain = self.chain(self.solved.built, self.rate * (1.0 + self.step))
        return (self.slopes.along(self.here, chain) / (self.step * self.rate) - self.mean) / self.rate

    def jobs(self) -> Sensitivity:
        """Return what more jobs do."""
        effect, note = None, ""
        more = self.rate * (1.0 + SAID)
        try:
            effect = self._mean(self.solved.built, self.solved.workload, more) - self.mean
        except UnstableError as error:
            note = f"more than {self.solved.policy.label} can carry, {error.capacity:.4g} jobs/s"
        return Sensitivity("arrival rate", self.rate, "jobs/s", self.of_rate, "10 % more jobs", effect, note)

    def _mean(self, built: BuiltModel, workload: Workload, rate: float) -> float:
        solved = solved_queue(built, self.solved.policy, self.solved.system, workload, rate)
        return float(solved.chain.mean_level()) / rate

    def one_more(self, what: str) -> Sensitivity:
        """Return what one more processor or disk does."""
        solved, count = self.solved, getattr(self.solved.system, what)
        effect, note = None, ""
        try:
            system = replace(solved.system, **{what: count + 1})
            built = built_model(solved.policy, system, solved.workload, self.model)
            more = solved_queue(built, solved.policy, system, solved.workload, self.rate)
            effect = self.seen(float(more.chain.mean_level()) / self.rate - self.mean)
        except (ModelError, UnstableError) as error:
            note = str(error)
        change = f"one more {what.removesuffix('s')}"
        return Sensitivity(what, float(count), "", None, change, effect, note)

    def bursts(self) -> Iterator[Sensitivity]:
        """Yield what longer bursts do, each of the programs, or all of a kind where these are many."""
        bursts = list(longer_bursts(self.solved.workload.program, MOST_BURSTS))
        longest = max(range(len(bursts)), key=lambda place: bursts[place].seconds)
        known = {place: self.of_burst(burst) for place, burst in enumerate(bursts) if place != longest}
        if self.solved.policy.arrangement(self.solved.system).overheads or None in (
            each[0] for each in known.values()
        ):
            known[longest] = self.of_burst(bursts[longest])
        else:
            # Twice as long bursts at half the rate double every time: the unit of time is free.
            every = self.mean + self.rate * self.of_rate
            known[longest] = every - sum(slope or 0.0 for slope, _ in known.values()), ""
        for place, burst in enumerate(bursts):
            (slope, note), change = known[place], f"{burst.name} 10 % longer"
            if slope is None:
                yield Sensitivity(burst.name, burst.seconds, "s", None, change, None, note)
            else:
                yield Sensitivity(burst.name, burst.seconds, "s", slope / burst.seconds, change, SAID * slope)

    def of_burst(self, burst: LongerBurst) -> tuple[float | None, str]:
        """Return seconds of mean response per part by which a burst is longer, or why it is not known."""

        def workload_at(factor: float) -> Workload:
            return _changed(self.solved.workload, program=burst.program(factor))

        try:
            return self.elasticity(workload_at), ""
        except ModelError as error:  # a model that simplifies otherwise next to here
            return None, str(error)

    def variability(self) -> Iterator[Sensitivity]:
        """Yield what more variable demands or bursts do."""
        workload = self.solved.workload
        names = ("io_bursts", "cpu_bursts") if workload.has_bursts else ("demand",)
        said = {"io_bursts": "I/O bursts", "cpu_bursts": "computation bursts", "demand": "demand"}
        for name in names:
            law = getattr(workload, name)
            head = f"scv of {said[name]}", law.scv, ""
            change = f"scv of {said[name]} 10 % higher"
            try:
                slope = self._scv_slope(name, law)
            except ModelError as error:
                yield Sensitivity(*head, None, change, None, str(error))
                continue
            yield Sensitivity(*head, slope, change, self.seen(SAID * slope * law.scv))

    def _scv_slope(self, name: str, law: PhaseType) -> float:
        """Return seconds of mean response per unit of the scv of a law, upward where it is one."""
        if not _of_two_moments(law):
            raise _OtherLaw("not known: the law is not one of two moments, which its scv would change")
        scv = law.scv

        def workload_at(factor: float) -> Workload:
            return _changed(self.solved.workload, **{name: match_moments(1.0, 1.0 + factor * scv)})

        orders = {getattr(workload_at(1.0 + by), name).order for by in (-_OF_SCV, _OF_SCV)}
        if orders == {law.order} and self.step == COARSE:
            return self.elasticity(workload_at) / scv
        if orders == {law.order}:
            # Rates of laws of two moments bend more than the mean does: from both sides.
            less, more = (self.moved(workload_at, by) for by in (-_OF_SCV, _OF_SCV))
            return self.slopes.along(less, more) / (2.0 * _OF_SCV * scv * self.rate)
        # Both above: a model may simplify today's law otherwise, and the mean jumps between them.
        low, high = (solve_qbd(self.moved(workload_at, by)).mean_level() for by in (_OF_SCV, 2.0 * _OF_SCV))
        return float(high - low) / (self.rate * _OF_SCV * scv)


class _OtherLaw(ModelError):
    """A law whose scv alone says too little."""


def _changed(workload: Workload, **changes: Any) -> Workload:
    """Return the workload with some fields changed; one with laws of bursts takes no demand."""
    kept = {each.name: getattr(workload, each.name) for each in fields(workload)}
    if workload.has_bursts:
        del kept["demand"]
    return Workload(**(kept | changes))


def _of_two_moments(law: PhaseType) -> bool:
    """Whether a law of mean one is what its scv makes it."""
    try:
        same = match_moments(1.0, 1.0 + law.scv)
    except InfeasibleMomentsError:
        return False
    return (
        same.order == law.order
        and np.allclose(same.alpha, law.alpha, rtol=1e-9)
        and np.allclose(same.T, law.T, rtol=1e-9)
    )
