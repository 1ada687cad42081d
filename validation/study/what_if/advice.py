"""What follows from a grid, in sentences: who is faster, what ties, what the money buys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from qmodels.policies.choice.objectives import Quantity
from qmodels.policies.choice.ranking import TIE, RankedPolicy, overlap
from qmodels.policies.choice.recommendation import within_what
from qmodels.policies.methods import NOT_STATED
from qmodels.words import first_names, in_words, label_width, plural
from validation.study.what_if.axes import Axis
from validation.study.what_if.cells import Cell

FASTER, SLOWER, TIED, OPEN = "faster", "slower", "a tie within the errors", "undecided"
_MOST_ROWS: Final = 40
_MOST_NAMES: Final = 3


class Answers(Protocol):
    """What is said here is said of these: a `WhatIf`."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What is varied besides load and policy."""

    @property
    def loads(self) -> tuple[float, ...]:
        """Of today's machine."""

    @property
    def prices(self) -> Mapping[str, float]:
        """Of one unit, by name of the axis."""

    @property
    def objective(self) -> Quantity:
        """What is to be small."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every machine at every load."""

    @property
    def today(self) -> dict[str, Any]:
        """The scenario's own value of each axis that has one."""

    def cell(self, load: float, **setting: Any) -> Cell:
        """The cell of a load and of values by name of the axis."""


@dataclass(frozen=True)
class Step:
    """The best that so much money buys."""

    money: float
    cell: Cell
    verdict: str  #: beside the step before: "faster" or "a tie within the errors"


def verdict(new: RankedPolicy, old: RankedPolicy) -> str:
    """Whether one predicted answer is sooner than another, by the errors stated for both."""
    if not (new.error < float("inf") and old.error < float("inf")):
        return OPEN
    low, high = sorted((new, old), key=lambda row: row.value)
    if overlap(high, low):
        return TIED
    return FASTER if new is low else SLOWER


def spending(found: Answers, load: float) -> tuple[Step, ...]:
    """The least response that so much money buys, step by step, beginning with today's machine.

    A machine that costs more and is not predicted to be sooner is no step. Other things than
    those that have prices are as today.
    """
    steps: list[Step] = []
    cells = [c for c in _priced(found, load) if c.best is not None and (c.money or 0.0) >= 0.0]
    for cell in sorted(cells, key=lambda c: (c.money or 0.0, c.best.value if c.best else 0.0)):
        best = cell.best
        assert best is not None
        before = steps[-1].cell.best if steps else None
        if before is None:
            steps.append(Step(cell.money or 0.0, cell, ""))
        elif best.value < before.value:
            steps.append(Step(cell.money or 0.0, cell, verdict(best, before)))
    return tuple(steps)


def advice(found: Answers) -> list[str]:
    """Sentences: today's machine, what each change alone does, and what to buy."""
    lines: list[str] = []
    for load in found.loads:
        now = _at(found, load, {})
        lines.append(f"At load {load:.3g} {_of_today(found, now)}")
        changes = [f"At load {load:.3g}, {text}" for text in _alone(found, load, now)]
        lines += changes
        if len(found.prices) > 1:
            lines += [f"At load {load:.3g}, {text}" for text in _which(found, load, now)]
    return lines


def _at(found: Answers, load: float, setting: dict[str, Any]) -> Cell:
    """A cell, with the first value of an axis that has none of today."""
    whole = {axis.name: axis.values[axis.today or 0] for axis in found.axes} | setting
    return found.cell(load, **whole)


def _priced(found: Answers, load: float) -> Iterator[Cell]:
    """Cells at a load that differ from today's only in what has a price."""
    for cell in found.cells:
        others = {k: v for k, v in cell.machine.setting.items() if k not in found.prices}
        if cell.load == load and all(found.today.get(k, v) == v for k, v in others.items()):
            yield cell


def _of_today(found: Answers, now: Cell) -> str:
    where = ", ".join(_amount(name, value) for name, value in now.machine.setting.items())
    machine = "today's machine" if len(found.today) == len(found.axes) else "the first machine"
    machine += f" ({where})" if where else ""
    best = now.best
    if best is None:
        return f"{machine} has no answer: {now.why_none}."
    return f"{machine} answers soonest under {best.label}: {_shown(found, best)}{_ties(now)}."


def _alone(found: Answers, load: float, now: Cell) -> Iterator[str]:
    """What each change of one thing does, all others as today."""
    for axis in found.axes:
        for place, value in enumerate(axis.values):
            if place == (axis.today or 0):
                continue
            cell = _at(found, load, {axis.name: value})
            was = axis.values[axis.today or 0]
            head = f"{axis.name} {_plain(was)} -> {_plain(value)}"
            if cell.money is not None and axis.name in found.prices:
                head += f" (money {cell.money:+,.6g})"
            if cell.best is None:
                yield f"{head}: no answer, {cell.why_none}."
            elif now.best is None:
                yield f"{head}: {_shown(found, cell.best)} under {cell.best.label}."
            else:
                how = verdict(cell.best, now.best)
                yield (
                    f"{head}: {_size(found, now.best, now.best)} -> "
                    f"{_shown(found, cell.best, now.best)} under {cell.best.label}, {how}"
                    f"{_ties(cell)}."
                )


def _which(found: Answers, load: float, now: Cell) -> Iterator[str]:
    """For rising amounts of money, which one thing to spend all of it on."""
    alone: dict[str, list[Cell]] = {
        name: [
            cell
            for cell in _priced(found, load)
            if (cell.money or 0.0) > 0.0
            and all(cell.machine.setting[k] == found.today[k] for k in found.today if k != name)
        ]
        for name in found.prices
    }
    last = ""
    for money in sorted({cell.money or 0.0 for cells in alone.values() for cell in cells}):
        text = _choice(found, alone, money, now)
        if text and text != last:
            yield f"for up to {money:,.6g}: {text}"
        last = text


def _choice(found: Answers, alone: dict[str, list[Cell]], money: float, now: Cell) -> str:
    """What to spend so much on, where at least two things can be had for it."""
    affordable = {
        name: [cell for cell in cells if (cell.money or 0.0) <= money] for name, cells in alone.items()
    }
    if sum(bool(cells) for cells in affordable.values()) < 2:
        return ""
    best = [
        (name, min(able, key=lambda cell: cell.best.value if cell.best else 0.0))
        for name, cells in affordable.items()
        if (able := [cell for cell in cells if cell.best is not None])
    ]
    if not best:
        return "no answer from any of them."
    best.sort(key=lambda pair: pair[1].best.value if pair[1].best else 0.0)
    name, first = best[0]
    top = first.best
    assert top is not None
    said = f"{_bought(first, name)} gives {_shown(found, top)}"
    against = [
        f"{_bought(cell, other)} {_shown(found, cell.best, top)}: {_beside(cell.best, top)}"
        for other, cell in best[1:]
        if cell.best is not None
    ]
    gone = [f"{n} alone: no answer" for n in affordable if n not in dict(best)]
    how = verdict(top, now.best) if now.best is not None else FASTER
    tail = "" if how == FASTER else f"; beside today's machine {_against_today(how)}"
    return f"{said}; {'; '.join([*against, *gone])}{tail}."


def _beside(other: RankedPolicy, best: RankedPolicy) -> str:
    how = verdict(other, best)
    return "slower" if how == SLOWER else how


def _against_today(how: str) -> str:
    return {SLOWER: "it is slower", TIED: "it is a tie within the errors"}.get(how, how)


def _bought(cell: Cell, name: str) -> str:
    return f"{name} {_plain(cell.machine.setting[name])}"


def _ties(cell: Cell) -> str:
    ties = [row.label for row in cell.rows if row.status == TIE]
    if not ties:
        return ""
    return f"; {within_what(cell.rows)} {first_names(ties, _MOST_NAMES)} may be as good"


def _shown(found: Answers, row: RankedPolicy, like: RankedPolicy | None = None) -> str:
    """A value with its stated error."""
    error = row.error_in_words
    sign = "± " if error[0].isdigit() else "error " if error == NOT_STATED else ""
    return f"{_size(found, row, like or row)} ({sign}{error})"


def _size(found: Answers, row: RankedPolicy, like: RankedPolicy) -> str:
    if found.objective.unit == "s":
        return in_words(row.value, like=like.value)
    return f"{row.value:.4g} {found.objective.unit}".rstrip()


def _amount(name: str, value: Any) -> str:
    if name in ("processors", "disks"):
        return f"{_plain(value)} {plural(name[:-1], value)}"
    return f"{name} {_plain(value)}"


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def text_of(found: Answers) -> str:
    """The best policy of every machine and load, then the money and the sentences."""
    names = [axis.name for axis in found.axes]
    head = "".join(f"{name:>{_wide(name)}}" for name in names) + f"{'load':>7}"
    head += f"{'money':>10}" if found.prices else ""
    unit = f" [{found.objective.unit}]" if found.objective.unit else ""
    shown = found.cells[:_MOST_ROWS]
    label = label_width(cell.best.label for cell in shown if cell.best is not None)
    lines = [f"{head}  {'best policy':<{label}}{found.objective.name + unit:>20} {'error':>7}  as good"]
    lines += [_line(names, cell, label).rstrip() for cell in shown]
    if len(found.cells) > _MOST_ROWS:
        lines.append(f"... and {len(found.cells) - _MOST_ROWS} more; -o FILE.csv has all")
    for load in found.loads if found.prices else ():
        lines += ["", *_curve(found, load)]
    return "\n".join([*lines, "", *(f"- {text}" for text in advice(found))])


def _wide(name: str) -> int:
    return max(12, len(name) + 2)


def _line(names: Sequence[str], cell: Cell, label: int) -> str:
    text = "".join(f"{_plain(cell.machine.setting[name]):>{_wide(name)}}" for name in names)
    text += f"{cell.load:>7.3g}"
    text += f"{cell.money:>+10.6g}" if cell.money is not None else ""
    best = cell.best
    if best is None:
        return f"{text}  - {cell.why_none}"
    ties = [row.label for row in cell.rows if row.status == TIE]
    others = ", ".join(ties[:_MOST_NAMES]) + (f" +{len(ties) - 3}" if len(ties) > 3 else "")
    return f"{text}  {best.label:<{label}}{best.value:>20.6g} {best.error_in_words:>7}  {others}"


def _curve(found: Answers, load: float) -> Iterator[str]:
    yield f"what money buys at load {load:.3g}, beyond today's machine"
    for step in spending(found, load):
        best = step.cell.best
        assert best is not None
        where = ", ".join(_amount(n, step.cell.machine.setting[n]) for n in found.prices)
        how = f": {step.verdict}" + (" than the line before" if step.verdict == FASTER else "")
        yield (
            f"{step.money:>10,.6g}  {where}: {_shown(found, best)} under {best.label}"
            f"{how if step.verdict else ''}"
        )
