"""The answer of `qmodels surface` as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.commands.surface_answer import Answer, rivals_frame
from qmodels.commands.surface_search import Wanted
from qmodels.io.subjects import Subject
from qmodels.programs import SpeedupSurface
from qmodels.programs.allotments import PricedAllotment
from qmodels.programs.scaling import Forecast
from qmodels.programs.scaling.forecast import CONTRADICTED
from qmodels.programs.superlinear import superlinear
from qmodels.words import allotment_counted, allotment_in_words, counted, of_base, plural

_MOST_ROWS, _MOST_COLUMNS, _MOST_INTERVALS = 12, 8, 5
_MOST_CANDIDATES, _MOST_MEASURED = 5, 12


def text(found: Answer) -> str:
    """Return what a planner reads: the subject, the table, the best allotment, the next step."""
    blocks = [
        _about(found.subject),
        _forecasts(found.forecast) if found.forecast is not None else _table(found.surface),
        _measured(found.at_measured),
        _rivals(found),
        _superlinear(found),
        "\n".join(_worth(found)),
        "\n".join(_next(found)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _rivals(found: Answer) -> str:
    """Return what simple forms through the runs say beside the forecast."""
    if found.beside is None or found.rivals is None:
        return ""
    frame = rivals_frame(found.beside, found.rivals)
    rows = frame.iloc[_thinned(frame["processors"].to_numpy(float), _MOST_ROWS)]
    names = ("p", "forecast", "from", "to", *found.rivals, "measured")
    widths = [7, 10, 10, 10, *(max(10, len(name) + 2) for name in found.rivals), 10]
    columns = ["processors", "time", "time_low", "time_high", *found.rivals, "measured_time"]
    size = None if found.subject.fit is None else found.subject.fit.size
    runs = "" if size is None else f" of work {size.work:.6g}"
    runs += f" on {counted(found.beside.disks[0], 'disk')}"
    if np.isnan(list(found.rivals.values())).all():
        return f"no simple forms: the runs{runs} are on fewer than two numbers of processors"
    lines = [
        f"seconds by simple forms through the runs{runs}, beside the forecast",
        "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True)),
    ]
    for row in rows[columns].astype(object).where(rows[columns].notna(), None).itertuples(index=False):
        cells = ("-" if value is None else f"{value:.4g}" for value in row)
        lines.append("".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    return "\n".join(lines)


def _superlinear(found: Answer) -> str:
    program, surface = found.subject.program, found.surface
    if program is None or surface is None:
        return ""
    return superlinear(program, surface)


def _about(subject: Subject) -> str:
    lines = [_title(subject)]
    if subject.fit is not None:
        lines += ["", subject.fit.table()]
    if subject.run is not None:
        run = subject.run
        if run.sensitivity is not None and run.bursts is not None:
            lines += ["", run.sensitivity.table(), "", run.bursts.table()]
        lines += ["", run.traced.working_sets.table()]
    return "\n".join(lines)


def _title(subject: Subject) -> str:
    program = subject.program
    if program is None:
        return subject.name
    seconds, io = float(program.mean_time(*subject.base)), float(program.mean_io(*subject.base))
    share = 100 * io / seconds
    phases = f"{program.mean_phases:.6g} {plural('phase', program.mean_phases)}"
    where = allotment_in_words(subject.base)
    return f"{subject.name}: {phases}, {seconds:.6g} s on {where}, {share:.3g} % of it I/O"


def _forecasts(forecast: Forecast) -> str:
    """Return speedups with their intervals, and what the marks beside them say."""
    stands = f"speedup{of_base(forecast.base)} with {100 * forecast.level:g} % intervals"
    rows = _thinned(forecast.processors[:, 0], _MOST_ROWS)
    columns = _thinned(forecast.disks[0], _MOST_INTERVALS)
    lines = [f"{stands}; processors down, disks across"]
    lines.append(" " * 8 + "".join(f"{forecast.disks[0, j]:>23g}" for j in columns))
    hidden = np.ma.getmaskarray(forecast.speedup)
    for i in rows:
        cells = []
        for j in columns:
            middle = "-" if hidden[i, j] else f"{forecast.speedup.data[i, j]:.4g}"
            star = "*" if forecast.mark[i, j] == "extrapolated" else " "
            star = "!" if forecast.contradicts[i, j] else star
            span = f"{forecast.speedup_low[i, j]:.3g}..{forecast.speedup_high[i, j]:.3g}"
            cells.append(f" {f'{middle} ({span}){star}':>22}")
        lines.append(f"{forecast.processors[i, 0]:>8g}" + "".join(cells))
    said = {"extrapolated": "* extrapolated", "not identifiable": "- these runs do not tell"}
    lines += [text for mark, text in said.items() if np.any(forecast.mark[np.ix_(rows, columns)] == mark)]
    if np.any(forecast.contradicts[np.ix_(rows, columns)]):
        lines.append("! the runs contradict the law, see below")
    return "\n".join(lines)


def _measured(found: Forecast | None) -> str:
    """Return what was measured beside what is fitted: all, or where they lie furthest apart."""
    if found is None:
        return ""
    off = found.measured_time.data / found.time.filled(np.nan) - 1.0
    shown = np.arange(off.size)
    title = "measured beside fitted"
    if off.size > _MOST_MEASURED:
        worst = np.argsort(-np.abs(np.log1p(off)), kind="stable")[:_MOST_MEASURED]
        shown = np.sort(worst)
        title += f": the {_MOST_MEASURED} of {off.size} allotments that lie furthest apart"
    head = ("processors", "disks", "measured", "fitted", "off", "speedup", "fitted")
    lines = [title, "".join(f"{word:>11}" for word in head)]
    for i in shown:
        cells = (
            f"{found.processors[i]:g}",
            f"{found.disks[i]:g}",
            f"{found.measured_time.data[i]:.4g} s",
            _value(found.time, i, " s"),
            f"{100 * off[i]:+.1f} %" if np.isfinite(off[i]) else "-",
            _value(found.measured_speedup, i),
            _value(found.speedup, i),
        )
        mark = f" ! {CONTRADICTED}" if found.contradicts[i] else ""
        lines.append("".join(f"{cell:>11}" for cell in cells) + mark)
    return "\n".join(lines)


def _value(values: np.ma.MaskedArray[Any, Any], i: int, unit: str = "") -> str:
    return "-" if np.ma.getmaskarray(values)[i] else f"{values.data[i]:.4g}{unit}"


def _next(found: Answer) -> Iterator[str]:
    if found.at_target is not None:
        yield _sure("on the target, ", found.at_target)
        yield from found.at_target.warnings
        yield ""
    if found.next_run is not None:
        shown = found.next_run.table().splitlines()
        yield from shown[: 2 + _MOST_CANDIDATES]


def _sure(where: str, one: Forecast) -> str:
    """One allotment with its intervals, as in the table above it."""
    hidden = np.ma.getmaskarray(one.time)[0] or np.ma.getmaskarray(one.speedup)[0]
    units = allotment_counted(float(one.processors[0]), float(one.disks[0]))
    middle = (
        "these runs do not tell" if hidden else f"speedup {one.speedup.data[0]:.4g}, {one.time.data[0]:.4g} s"
    )
    return f"{where}{units}: {middle}\n  {_intervals(one)}"


def _intervals(one: Forecast) -> str:
    """The intervals of one allotment, and how far it lies from the runs."""
    outside = one.doublings[0]
    far = f", doublings outside the runs: {outside:.3g}" if outside > 0 else ""
    if not np.ma.getmaskarray(one.measured_time)[0]:
        far = f": {one.measured_time.data[0]:.4g} s"
    if one.contradicts[0]:
        far += f", {CONTRADICTED}"
    return (
        f"{100 * one.level:g} % intervals {one.speedup_low[0]:.4g} to "
        f"{one.speedup_high[0]:.4g}, {one.time_low[0]:.4g} to {one.time_high[0]:.4g} s; "
        f"{one.mark[0]}{far}"
    )


def _table(surface: SpeedupSurface | None) -> str:
    if surface is None:
        return ""
    rows = _thinned(surface.processors, _MOST_ROWS)
    return surface.part(rows, _thinned(surface.disks, _MOST_COLUMNS)).table()


def _thinned(values: Array, most: int) -> NDArray[np.intp]:
    """Choose at most so many, both ends in; the nearest to even steps of their logarithms."""
    wanted = np.geomspace(values[0], values[-1], most)
    return np.unique(np.abs(np.log(values[:, None] / wanted[None, :])).argmin(axis=0))


def _worth(found: Answer) -> Iterator[str]:
    wanted, marginal = found.wanted, found.marginal
    if found.sought is not None:
        yield from _best(found)
    if marginal is not None:
        yield (
            f"on {allotment_counted(marginal.processors, marginal.disks)} the speedup"
            f"{of_base(found.subject.base)} is {marginal.speedup:.4g}; "
            f"one more processor {marginal.by_processor:+.3g}, one more disk {marginal.by_disk:+.3g}"
        )
        if (wanted.processor_price, wanted.disk_price) != (1.0, 1.0):
            yield (
                f"per price: processor {marginal.by_processor_per_price:+.3g}, disk "
                f"{marginal.by_disk_per_price:+.3g}"
            )
    if found.sought is not None and wanted.budget is not None:
        yield ""
        yield "best allotment as the budget grows"
        yield from _turns(found)


def _best(found: Answer) -> Iterator[str]:
    """The best allotment; of runs first that within them, then what would be better beyond."""
    sought, budget = found.sought, found.wanted.budget
    assert sought is not None
    money = "" if budget is None else f" for a budget of {budget:.6g}"
    if found.subject.fit is None:
        assert sought.best is not None
        yield f"best of {_among(found)}{money}:"
        yield f"  {_priced(sought.best)}"
        return
    low, high = (f(found.subject.fit.allotments, axis=0) for f in (np.min, np.max))
    runs = f"{_range(low[0], high[0], 'processor')} and {_range(low[1], high[1], 'disk')}"
    if sought.best is not None:
        yield f"best within the runs, {runs}{money}:"
        yield f"  {_priced(sought.best)}"
        if found.at_best is not None:
            yield f"  {_intervals(found.at_best)}"
    else:
        yield f"no allotment within the runs, {runs}, is to be had{money}"
    if sought.beyond is not None:
        yield f"beyond the runs, if the law holds there, of {_among(found)}{money}:"
        yield f"  {_priced(sought.beyond)}"
        if found.at_beyond is not None:
            yield f"  {_intervals(found.at_beyond)}"


def _priced(one: PricedAllotment) -> str:
    return (
        f"{allotment_counted(one.processors, one.disks)} at a price of {one.price:.6g}: speedup "
        f"{one.speedup:.4g}, {one.mean_time:.4g} s"
    )


def _range(low: float, high: float, noun: str) -> str:
    return counted(low, noun) if low == high else f"{low:g} to {counted(high, noun)}"


def _among(found: Answer) -> str:
    """Say among which allotments the best was sought, and whether those were all."""
    wanted = found.wanted
    given = wanted.only_these_processors, wanted.only_these_disks
    among = {
        (True, True): "those",
        (True, False): f"those processors and up to {counted(wanted.disks[-1], 'disk')}",
        (False, True): f"up to {counted(wanted.processors[-1], 'processor')} and those disks",
        (False, False): f"up to {allotment_counted(*_largest(wanted))}",
    }[given]
    sought = found.sought
    assert sought is not None
    return among if sought.every else f"{sought.tried} allotments tried, not all, of {among}"


def _turns(found: Answer) -> Iterator[str]:
    """Steps of the path, with a different allotment each; a star beyond the runs."""
    assert found.sought is not None
    yield f"{'budget':>10} {'processors':>10} {'disks':>8} {'speedup':>10} {'seconds':>10}"
    path = found.sought.path.steps
    beyond = [False] * len(path) if found.subject.fit is None else found.outside()
    steps = list({(x.processors, x.disks): (x, star) for x, star in zip(path, beyond, strict=True)}.values())
    for k in _thinned(np.array([step.price for step, _ in steps]), _MOST_ROWS):
        step, star = steps[k]
        yield (
            f"{step.price:>10.6g} {step.processors:>10g} {step.disks:>8g} "
            f"{step.speedup:>10.4g} {step.mean_time:>10.4g}{'*' if star else ''}"
        )
    if any(star for _, star in steps):
        yield "* beyond the runs, if the law holds there"


def _largest(wanted: Wanted) -> tuple[float, float]:
    return float(wanted.processors[-1]), float(wanted.disks[-1])
