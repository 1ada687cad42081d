"""A program with one of its bursts, or all of a kind, longer or shorter than it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from qmodels.programs.model import AbstractProgram, Program, WorkloadMix
from qmodels.programs.phases import Component, Phase, WorkingSet

_KINDS: Final[dict[Component, str]] = {"io": "I/O", "cpu": "computation"}


@dataclass(frozen=True)
class LongerBurst:
    """A burst of a program that can be made longer, all else as it is."""

    name: str  #: such as "phase 1: I/O", "program b, phase 2: computation" or "all I/O"
    seconds: float  #: its mean on one processor and one disk
    whole: AbstractProgram  #: the program
    kind: Component  #: "io" or "cpu"
    place: int | None = None  #: number of the program in a mix; None for all
    phase: Phase | None = None  #: that the burst is of; None for all

    def program(self, factor: float) -> AbstractProgram:
        """Return the program with the burst so many times as long.

        Parameters
        ----------
        factor : float
            Above zero.
        """
        if not isinstance(self.whole, WorkloadMix):
            assert isinstance(self.whole, Program)
            return self._changed(self.whole, factor)
        programs = [
            self._changed(each, factor) if self.place in (None, at) else each
            for at, each in enumerate(self.whole.programs)
        ]
        return replace(self.whole, programs=programs)

    def _changed(self, program: Program, factor: float) -> Program:
        sets = []
        for each in program.working_sets:
            assert isinstance(each, WorkingSet)
            sets.append(WorkingSet(each.repeat, [self._longer(phase, factor) for phase in each.phases]))
        return replace(program, working_sets=sets)

    def _longer(self, phase: Phase, factor: float) -> Phase:
        if self.phase not in (None, phase):
            return phase
        return replace(phase, **{self.kind: phase.burst(self.kind).scaled(factor)})


def longer_bursts(program: AbstractProgram, most: int) -> Iterator[LongerBurst]:
    """Yield every different burst of a program that takes time.

    Parameters
    ----------
    program : Program or WorkloadMix
        The program; alike phases are one.
    most : int
        Bursts up to which each stands for itself; of more all I/O is one, and all computation.

    Examples
    --------
    >>> program = Program([Phase(io=1.0, cpu=9.0), Phase(io=0.0, cpu=5.0)])
    >>> [(burst.name, burst.seconds) for burst in longer_bursts(program, 8)]
    [('phase 1: I/O', 1.0), ('phase 1: computation', 9.0), ('phase 2: computation', 5.0)]
    """
    programs = list(program.programs) if isinstance(program, WorkloadMix) else [program]
    names = [each.name for each in programs]
    bursts = []
    for place, each in enumerate(programs):
        assert isinstance(each, Program)
        own = each.name if names.count(each.name) == 1 else ""
        of_mix = f"program {own or place + 1}, " if len(programs) > 1 else ""
        for number, (phase, _) in enumerate(each.visits, 1):
            for kind, word in _KINDS.items():
                seconds = sum(phase.burst(kind).mean_parts[:2])
                if seconds > 0.0:
                    name = f"{of_mix}phase {number}: {word}"
                    bursts.append(LongerBurst(name, seconds, program, kind, place, phase))
    if len(bursts) <= most:
        yield from bursts
        return
    totals = {"io": float(program.mean_io(1, 1)), "cpu": float(program.mean_cpu(1, 1))}
    for kind, word in _KINDS.items():
        if totals[kind] > 0.0:
            yield LongerBurst(f"all {word}", totals[kind], program, kind)
