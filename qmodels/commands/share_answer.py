"""What `qmodels share` finds: forecasts, what to run next, turns; sentences, JSON and a page of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qmodels.storage import Batches, NextSharedRun, SharedRuns, ShareForecast
from qmodels.storage.come_and_go import ComeAndGo
from qmodels.storage.forecast import PERCENTILES
from qmodels.words import in_words, plural

if TYPE_CHECKING:
    from qmodels.pages.report import Report


@dataclass(frozen=True, eq=False)
class ShareAnswer:
    """Answer of the command."""

    runs: SharedRuns
    forecast: ShareForecast
    target: int  #: programs that are to be done
    turns: tuple[Batches, ...]  #: of them, the shortest first
    next_run: NextSharedRun | None
    steady: tuple[ComeAndGo, ...]

    def record(self) -> dict[str, Any]:
        """Return what JSON has."""
        return self.forecast.record() | {
            "measured_seconds": {n: float(self.runs.total(n).mean()) for n in self.runs.numbers},
            "target": self.target,
            "turns": self.turns,
            "next_run": self.next_run,
            "steady": self.steady,
        }

    def lines(self) -> list[str]:
        """Return the table of the forecast as text: a line for each number of programs."""
        found = self.forecast
        level = f"{100 * found.level:g}% interval"
        head = f"{'programs':>8} {'seconds':>9} {level:>19} {'1 in 10 above':>13}"
        lines = [f"{head} {'slowdown':>8} {'measured':>9}"]
        alone = sum(stage.alone for stage in found.learnt)
        for k, n in enumerate(found.numbers.tolist()):
            measured = self.runs.total(n) if n in self.runs.numbers else ()
            seen = f"{float(sum(measured) / len(measured)):.4g}" if len(measured) else "-"
            between = f"{found.low[k]:.4g} to {found.high[k]:.4g}"
            lines.append(
                f"{n:>8} {found.seconds[k]:>9.4g} {between:>19} "
                f"{found.percentiles[PERCENTILES.index(0.9), k]:>13.4g} "
                f"{found.seconds[k] / alone:>8.2f} {seen:>9}"
            )
        return lines

    def findings(self) -> list[str]:
        """Return what the forecast says, in sentences."""
        found = self.forecast
        k = found.at(self.target)
        who = f"{_programs(self.target)} that start together take" if self.target > 1 else "1 program takes"
        said = [
            f"{who} {in_words(float(found.seconds[k]))} "
            f"({in_words(float(found.low[k]), like=float(found.seconds[k]))} to "
            f"{in_words(float(found.high[k]), like=float(found.seconds[k]))} with {100 * found.level:g}%), "
            f"{float(found.seconds[k]) / _alone(found):.2f} times as long as one alone.",
            self._stages(k),
            self._doubling(),
        ]
        said += [*self._capacity(), *self._turns(), *(_steady_words(one, found.level) for one in self.steady)]
        return [sentence for sentence in said if sentence]

    def _stages(self, k: int) -> str:
        """Say which stage grows most."""
        found = self.forecast
        if len(found.stages) < 2:
            return ""
        grown = [float(found.stage_seconds[j, k]) - stage.alone for j, stage in enumerate(found.learnt)]
        total = sum(max(x, 0.0) for x in grown)
        most = max(range(len(grown)), key=grown.__getitem__)
        if total <= 0.02 * _alone(found):
            return "No stage slows to speak of."
        stage = found.learnt[most]
        return (
            f"{max(grown[most], 0.0) / total:.0%} of what is added is in stage {stage.name}: "
            f"{in_words(stage.alone)} alone, "
            f"{in_words(float(found.stage_seconds[most, k]), like=stage.alone)} then."
        )

    def _doubling(self) -> str:
        """Say at which number of programs the time has doubled."""
        found = self.forecast
        low, high = found.doubles_between
        if math.isinf(found.doubles_at):
            return (
                f"The time does not double with up to 256 programs; it might from {low:.0f} on."
                if (math.isfinite(low))
                else "The time does not double with up to 256 programs."
            )
        upper = f"{high:.0f}" if math.isfinite(high) else "more than 256"
        between = "" if low == high else f" (between {low:.0f} and {upper})"
        return f"The time doubles at {found.doubles_at:.0f} programs{between}."

    def _capacity(self) -> list[str]:
        """Say what the runs do not tell, and which run would."""
        found = self.forecast
        said = []
        if found.known_alone_only:
            said.append(
                "Capacity is not identified by runs alone: the slowdown is a guess from what other storages "
                "do, and its interval is wide."
            )
        if self.next_run is not None and self.next_run.after < 0.9 * self.next_run.before:
            said.append(str(self.next_run))
        return said

    def _turns(self) -> list[str]:
        """Say whether turns of fewer at a time would be done sooner."""
        if not self.turns:
            return []
        best = self.turns[0]
        whole = next(one for one in self.turns if one.at_once == self.target)
        said = []
        left = self.target % best.at_once
        if left:
            said.append(f"{best.at_once} does not divide {self.target}: the last turn has {left}.")
        if best.at_once == self.target or best.gain < 0.005:
            next_best = next((one for one in self.turns if one is not whole), None)
            if next_best is not None:
                said.append(
                    f"Start all {self.target} at once: {next_best.at_once} at a time would take "
                    f"{next_best.seconds / whole.seconds - 1.0:.0%} longer "
                    f"(sooner with {next_best.probability:.0%} probability)."
                )
            return said
        doubt = f" (with {best.probability:.0%} probability sooner)" if best.probability < 0.995 else ""
        finish = "finish" if best.probability >= self.forecast.level else "may finish"
        return [
            f"{best.at_once} at a time {finish} the {self.target} sooner than all at once: "
            f"{best.gain:.0%} less, {in_words(best.seconds)} instead of "
            f"{in_words(whole.seconds, like=best.seconds)}{doubt}.",
            *said,
        ]

    def write(self, folder: Path, command: str) -> Path:
        """Write report.html, its figure and its tables into a folder, and return the page's path."""
        from qmodels.io.outputs import output_folder
        from qmodels.pages.report import PAGE

        with output_folder(folder) as made:
            self._report().write(made, command=command)
        return folder / PAGE

    def _report(self) -> Report:
        """Return the findings with the figure and the tables."""
        from qmodels.pages.report import Grid, Picture, Report, Section
        from qmodels.plotting.sharing import time_against_programs

        found = self.forecast
        first, last = found.numbers[[0, -1]].tolist()
        interval = f"{100 * found.level:g}% interval"
        words = (
            f"Seconds until programs end that start together, for {first} to {last} of them: forecast from "
            f"{found.seconds[0]:.4g} to {found.seconds[-1]:.4g}, with intervals, and the measured runs with "
            f"{', '.join(map(str, self.runs.numbers))}."
        )
        together = Grid(
            "Seconds until programs end that start together",
            range(found.numbers.size),
            {
                "programs": lambda k: f"{found.numbers[k]}",
                "seconds": lambda k: f"{found.seconds[k]:.4g}",
                interval: lambda k: f"{found.low[k]:.4g} to {found.high[k]:.4g}",
                "median run": lambda k: f"{found.percentiles[0, k]:.4g}",
                "one in ten above": lambda k: f"{found.percentiles[1, k]:.4g}",
            }
            | {name: partial(_stage_cell, found, j) for j, name in enumerate(found.stages)},
        )
        in_turns = Grid(
            f"Seconds until {self.target} programs have ended, so many at a time",
            self.turns,
            {
                "at a time": lambda one: f"{one.at_once}",
                "seconds": lambda one: f"{one.seconds:.4g}",
                "saved": lambda one: f"{100 * one.gain:.0f} %",
                "probability that it saves": lambda one: f"{one.probability:.2f}",
            },
            wide=False,
        )
        picture = Picture(
            "share",
            f"Line: forecast, with its {interval} shaded. Crosses: measured runs. Dotted: one program alone.",
            lambda: (time_against_programs(found, self.runs).get_figure(), words),
        )
        turns = [Section("turns", "All at once, or in turns", (in_turns,))] if self.turns else []
        return Report(
            title=f"{_programs(self.target)} that share a storage",
            subtitle=f"Learnt from runs with {', '.join(map(str, found.measured))} of them together",
            findings=self.findings(),
            notes=self.runs.doubts(),
            sections=(Section("together", "Programs that start together", (picture, together)), *turns),
            tables={"forecast.csv": found.to_frame(), "turns.csv": _turns_table(self.turns)},
            provenance="Forecasts are averaged over curves, each by how well it agrees with the runs. "
            "All numbers are in forecast.csv and turns.csv.",
        )


def _stage_cell(forecast: ShareForecast, stage: int, number: int) -> str:
    """Return the seconds of a stage at one of the numbers of programs, as text."""
    return f"{forecast.stage_seconds[stage, number]:.4g}"


def _turns_table(turns: tuple[Batches, ...]) -> Any:
    """Turns as a table."""
    import pandas as pd

    return pd.DataFrame([one.record() for one in turns])


def _steady_words(one: ComeAndGo, level: float) -> str:
    """Say what programs take that come and go."""
    if one.programs is None:
        who = f"At {one.rate:.4g} programs/s that begin at random, one takes"
    else:
        verbs = "comes and goes takes" if one.programs == 1 else "come and go take"
        who = f"{_programs(one.programs)} that {verbs}"
    p90 = one.percentiles[PERCENTILES.index(0.9)]
    unit = "programs" if one.programs is not None else "programs/s"
    doubles = "" if math.isinf(one.doubles_at) else f" The mean doubles at {one.doubles_at:.4g} {unit}."
    doubt = (
        f" In {one.overloads:.0%} of what is likely the storage cannot carry that." if one.overloads else ""
    )
    return (
        f"{who} {in_words(one.response)} in the mean ({in_words(one.low, like=one.response)} to "
        f"{in_words(one.high, like=one.response)} with {100 * level:g}%), "
        f"one in ten more than {in_words(p90)}; {3600 * one.throughput:.4g} an hour.{doubles}{doubt}"
    )


def _alone(forecast: ShareForecast) -> float:
    """Seconds of one program."""
    return sum(stage.alone for stage in forecast.learnt)


def _programs(number: int) -> str:
    return f"{number} {plural('program', number)}"
