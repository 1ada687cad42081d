"""Timed runs of one program alone and together on one storage, and what is doubtful about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.words import plural

if TYPE_CHECKING:
    import pandas as pd

#: Columns of a table of shared runs.
COLUMNS: Final = ("programs", "stage", "seconds")
#: A sum of stages may exceed a total by this share, for clocks are not one clock.
_CLOCKS: Final = 0.02
#: Scatters by which a run far off its like counts at most.
_MOST_SCATTERS: Final = 3.0
#: Name of what a total has beyond its stages.
REST: Final = "rest"


@dataclass(frozen=True, eq=False)
class SharedRuns(Result):
    """Seconds of every stage of a program, for each number of programs that ran together.

    Parameters
    ----------
    seconds : mapping of str to mapping of int to array_like
        By stage, then by number of programs: the times of the repeated runs, above zero (a stage may have
        zeros, which are left out of it). Every stage was measured with one program.
    totals : mapping of int to array_like, optional
        Times of whole runs by number of programs. What they have beyond the sum of the stages, where that
        is a twentieth of the run or more, becomes a stage of its own, ``rest``.
    source : str
        Where they come from, for messages.

    Raises
    ------
    ModelError
        If there is no run, a time is negative or not finite, no run of one program, or stages together take
        longer than the whole run.

    Examples
    --------
    >>> runs = SharedRuns({"write": {1: [10.0, 10.2], 4: [12.1, 12.3]}})
    >>> runs.stages, runs.numbers, runs.total(4).tolist()
    (('write',), (1, 4), [12.1, 12.3])
    """

    drawing = Drawing("programs", "seconds", by="stage", log="x")

    seconds: Mapping[str, Mapping[int, Array]]
    totals: Mapping[int, Array] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        by_stage = {
            name: {int(n): _times(name, n, by_number[n]) for n in sorted(by_number)}
            for name, by_number in self.seconds.items()
        }
        if not by_stage:
            raise ModelError("there is no stage in these runs")
        for name, by_number in by_stage.items():
            if 1 not in by_number:
                raise ModelError(
                    f"stage {name!r} was never timed with one program, only with "
                    f"{', '.join(map(str, by_number))}: add runs alone, from which slowdowns count"
                )
        if self.totals is not None:
            totals = {int(n): _times("total", n, self.totals[n]) for n in sorted(self.totals)}
            object.__setattr__(self, "totals", totals)
            rest = _rest(by_stage, totals)
            if rest:
                by_stage[REST] = rest
        never = [name for name, by_number in by_stage.items() if not (by_number[1] > 0.0).any()]
        for name in never:
            del by_stage[name]
        if not by_stage:
            raise ModelError("all times of runs alone are zero")
        object.__setattr__(self, "seconds", by_stage)

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages, in their order."""
        return tuple(self.seconds)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of programs that were timed together, ascending."""
        return tuple(sorted({n for by_number in self.seconds.values() for n in by_number}))

    def total(self, programs: int) -> Array:
        """Return the times of whole runs with so many programs: as measured, or sums of stages.

        Parameters
        ----------
        programs : int
            One of `numbers`.
        """
        if self.totals is not None and programs in self.totals:
            return self.totals[programs]
        parts = [by_number[programs] for by_number in self.seconds.values() if programs in by_number]
        if len(parts) < len(self.seconds):
            return np.zeros(0)
        if len({part.size for part in parts}) == 1:
            return np.asarray(np.sum(parts, axis=0))
        return np.array([sum(float(part.mean()) for part in parts)])

    def only(self, numbers: Iterable[int]) -> SharedRuns:
        """Return the runs of these numbers of programs alone.

        Parameters
        ----------
        numbers : iterable of int
            Those that are kept.
        """
        kept = set(numbers)
        return SharedRuns(
            {s: {n: x for n, x in runs.items() if n in kept} for s, runs in self.seconds.items()},
            None if self.totals is None else {n: x for n, x in self.totals.items() if n in kept},
            self.source,
        )

    def stages_alike(self) -> float:
        """Return how much of what the stages of one run lie off their like is common to them, 0 to 1.

        The mean correlation over pairs of stages of logarithms of repeated runs about their medians; runs
        far off their like count by three scatters. Zero where no two stages were repeated in the same runs.
        """
        off = []
        for n in self.numbers:
            parts = [by_number.get(n, np.zeros(0)) for by_number in self.seconds.values()]
            if len({part.size for part in parts}) == 1 and parts[0].size > 1 and np.min(parts) > 0.0:
                logs = np.log(parts)
                off.append(logs - np.median(logs, axis=1, keepdims=True))
        count = len(self.seconds)
        if count < 2 or not off:
            return 0.0
        every = np.concatenate(off, axis=1)
        scatter = np.maximum(1.4826 * np.median(np.abs(every), axis=1, keepdims=True), 1e-9)
        scaled = np.clip(every / scatter, -_MOST_SCATTERS, _MOST_SCATTERS)
        scaled /= np.maximum(np.sqrt(np.mean(scaled**2, axis=1, keepdims=True)), 1e-9)
        common = (np.mean(scaled.sum(axis=0) ** 2) - count) / (count * (count - 1))
        return float(np.clip(common, 0.0, 1.0))

    def doubts(self) -> list[str]:
        """Return what is doubtful about these runs, a sentence each."""
        said = []
        repeats = {n: min(x[n].size for x in self.seconds.values() if n in x) for n in self.numbers}
        most = max(repeats.values())
        few = [n for n, count in repeats.items() if count < most]
        if few:
            counts = ", ".join(f"{repeats[n]} with {_programs(n)}" for n in few)
            said.append(f"Repeats are missing: {most} runs at most, but {counts}.")
        if most == 1:
            said.append("No run was repeated: how runs scatter is assumed (5 %), not measured.")
        for name, by_number in self.seconds.items():
            absent = [n for n in self.numbers if n not in by_number]
            if absent:
                missing = ", ".join(map(_programs, absent))
                said.append(f"Stage {name} was not timed with {missing}; it is forecast there.")
            said += _slower_alone(name, by_number)
        said += self._sums()
        return said

    def _sums(self) -> list[str]:
        """Say for which numbers of programs stages do not add up to the measured totals."""
        if self.totals is None:
            return []
        off = []
        for n, totals in self.totals.items():
            parts = [x[n] for x in self.seconds.values() if n in x]
            if len(parts) == len(self.seconds):
                ratio = sum(float(np.mean(part)) for part in parts) / float(np.mean(totals))
                if abs(ratio - 1.0) > 2.0 * _CLOCKS:
                    off.append(f"{ratio:.0%} of the total with {_programs(n)}")
        return [f"Stages do not add up: they are {', '.join(off)}."] if off else []

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run and stage: programs, stage, run and seconds."""
        return data_frame(
            {"programs": n, "stage": name, "run": k + 1, "seconds": value}
            for name, by_number in self.seconds.items()
            for n, values in by_number.items()
            for k, value in enumerate(values.tolist())
        )


def _programs(number: int) -> str:
    return f"{number} {plural('program', number)}"


def _times(name: str, number: object, values: object) -> Array:
    """Times of a stage as an array, checked."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise ModelError(f"the number of programs must be a whole number of at least 1, got {number!r:.40}")
    times = np.array(values, dtype=float, ndmin=1)
    if times.ndim != 1 or not times.size or not np.isfinite(times).all() or (times < 0.0).any():
        raise ModelError(
            f"times of {name!r:.60} with {_programs(int(number))} must be seconds of at least zero, "
            f"finite, one or more"
        )
    return times


def _rest(by_stage: Mapping[str, Mapping[int, Array]], totals: Mapping[int, Array]) -> dict[int, Array]:
    """Times that whole runs have beyond their stages, by number of programs; empty where that is little."""
    rest = {}
    for n, total in totals.items():
        parts = [x[n] for x in by_stage.values() if n in x]
        if len(parts) < len(by_stage):
            continue
        together = sum(float(np.median(part)) for part in parts)
        whole = float(np.median(total))
        if together > (1.0 + 5.0 * _CLOCKS) * whole:
            raise ModelError(
                f"stages do not add up: with {_programs(n)} they take {together:.4g} s together, the whole "
                f"run {whole:.4g} s; name stages that follow each other"
            )
        alike = {part.size for part in parts} == {total.size}
        beyond = total - np.sum(parts, axis=0) if alike else np.array([whole - together])
        rest[n] = np.maximum(beyond, 0.0)
    if 1 not in rest or float(np.median(rest[1])) < 0.05 * float(np.median(totals[1])):
        return {}
    return rest


def _slower_alone(name: str, by_number: Mapping[int, Array]) -> list[str]:
    """Say so where a stage took longer alone than shared, beyond what its runs scatter."""
    alone = by_number[1]
    said = []
    for n, times in by_number.items():
        if n == 1 or min(alone.size, times.size) < 3:
            slower = n > 1 and float(np.median(times)) < 0.9 * float(np.median(alone))
        else:
            scatter = np.hypot(*(x.std(ddof=1) / np.sqrt(x.size) for x in (alone, times)))
            gap = float(np.median(alone) - np.median(times))
            slower = gap > max(4.0 * float(scatter), 0.05 * float(np.median(alone)))
        if slower:
            said.append(
                f"Stage {name} took {float(np.median(alone)):.4g} s alone and "
                f"{float(np.median(times)):.4g} s with {_programs(n)}: no sharing makes it faster, so "
                f"something else differs between these runs (caches, another day); none is learnt from them."
            )
    return said
