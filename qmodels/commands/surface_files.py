"""Files of `qmodels surface`: figures, the table and the page to turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qmodels.commands.surface_answer import Answer
from qmodels.programs import Program
from qmodels.programs.superlinear import superlinear


def write_files(found: Answer, folder: Path) -> tuple[list[str], list[str]]:
    """Write all that can be drawn of an answer; return the files, and what was left out and why."""
    from qmodels.plotting.fonts import save

    names: list[str] = []
    left_out: list[str] = []
    for name, ax in _figures(found):
        save(ax.figure, folder / f"{name}.png")
        names.append(f"{name}.png")
    if found.subject.table is not None:
        found.subject.table.frame.to_csv(folder / "runs.csv", index=False, float_format="%.10g")
        names.append("runs.csv")
    if found.surface is not None:
        found.surface.to_frame().to_csv(folder / "surface.csv", index=False, float_format="%.10g")
        names.append("surface.csv")
    if found.forecast is not None:
        found.forecast.to_frame().to_csv(folder / "forecast.csv", index=False, float_format="%.10g")
        names.append("forecast.csv")
    if found.at_measured is not None:
        beside = found.at_measured.to_frame()
        beside.to_csv(folder / "measured.csv", index=False, float_format="%.10g")
        names.append("measured.csv")
    if found.sought is not None:
        steps = found.sought.path.to_frame()
        if found.subject.fit is not None:
            steps["extrapolated"] = found.outside()
        steps.to_csv(folder / "path.csv", index=False, float_format="%.10g")
        names.append("path.csv")
    if found.surface is None:
        left_out.append("There is no surface to draw: the runs do not tell how the program scales.")
    elif min(found.surface.speedup.shape) < 2:
        left_out.append("A surface of one row has no area to draw; give more processors or disks.")
    else:
        _write_page(found, folder)
        names.append("surface.html")
    return names, left_out


def _figures(found: Answer) -> Iterator[tuple[str, Any]]:
    from qmodels import plotting

    subject, surface = found.subject, found.surface
    points = subject.measured
    if surface is not None and min(surface.speedup.shape) >= 2:
        pairs, odd = (None, None) if points is None else (points[:, :2], _contradicted(found))
        yield "surface", plotting.surface_heatmap(surface, points=pairs, contradicted=odd)
        yield "surface3d", plotting.surface_3d(surface, points=_measured_speedups(found))
        yield "efficiency", plotting.efficiency_contours(surface, points=pairs)
        if found.sought is not None and len(found.sought.path.steps) > 1:
            path = found.sought.path
            yield "path", plotting.allotment_path(path, surface=surface, points=pairs)
    if subject.fit is not None:
        yield (
            "times",
            plotting.fitted_times(
                subject.fit,
                measured=points,
                most=float(found.wanted.processors[-1]),
                level=found.wanted.level,
            ),
        )
    if isinstance(subject.program, Program):
        yield "signature", plotting.signature(subject.program)
    bursts = None if subject.run is None else subject.run.bursts
    if subject.run is not None and bursts is not None:
        if len(bursts):
            yield "execution", plotting.execution_diagram(bursts)
        yield "gaps", plotting.gap_sensitivity(subject.run.sensitivity, chosen=bursts.gap)
    elif isinstance(subject.program, Program):
        at = None if found.sought is None else found.sought.best or found.sought.beyond
        p, d = (1.0, 1.0) if at is None else (at.processors, at.disks)
        yield "execution", plotting.execution_diagram(subject.program, p=p, d=d)


def _measured_speedups(found: Answer) -> Any:
    """Measured allotments with their speedup: over the measured time on the base, or else the surface's."""
    points, surface = found.subject.measured, found.surface
    if points is None or surface is None:
        return None
    on_base = points[np.all(points[:, :2] == surface.base, axis=1), 2]
    reference = float(on_base[0]) if on_base.size else surface.reference
    return np.column_stack([points[:, :2], reference / points[:, 2]])


def _contradicted(found: Answer) -> Any:
    """Whether the time on each measured allotment contradicts the law."""
    return None if found.at_measured is None else found.at_measured.contradicts


def _write_page(found: Answer, folder: Path) -> None:
    from qmodels.pages.surface import surface_page

    assert found.surface is not None
    program = found.subject.program
    more = "" if program is None else superlinear(program, found.surface)
    said = " ".join([*found.subject.remarks, *([more] if more else [])])
    sure = found.forecast
    page = surface_page(
        found.surface,
        points=_measured_speedups(found),
        interval=None if sure is None else (sure.speedup_low, sure.speedup_high),
        caption=said,
        runs=found.at_measured,
        warnings=() if found.subject.fit is None else found.subject.fit.warnings,
    )
    (folder / "surface.html").write_text(page, encoding="utf-8")
