"""Files of `qmodels surface`: figures, the table and the page to turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qmodels.commands.surface_answer import Answer
from qmodels.programs import Program
from qmodels.programs.superlinear import superlinear

_DPI = 150


def write_files(found: Answer, folder: Path) -> tuple[list[str], list[str]]:
    """Write all that can be drawn of an answer; return the files, and what was left out and why."""
    names: list[str] = []
    left_out: list[str] = []
    for name, ax in _figures(found):
        ax.figure.savefig(folder / f"{name}.png", dpi=_DPI)
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
    if found.path is not None:
        found.path.to_frame().to_csv(folder / "path.csv", index=False, float_format="%.10g")
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
        pairs = None if points is None else points[:, :2]
        yield "surface", plotting.surface_heatmap(surface, points=pairs)
        yield "surface3d", plotting.surface_3d(surface, points=_measured_speedups(found))
        yield "efficiency", plotting.efficiency_contours(surface)
        if found.path is not None and len(found.path.steps) > 1:
            yield "path", plotting.allotment_path(found.path, surface=surface)
    if subject.fit is not None:
        yield (
            "times",
            plotting.fitted_times(
                subject.fit, measured=points, most=float(found.wanted.processors[-1]),
                level=found.wanted.level,
            ),
        )  # fmt: skip
    if isinstance(subject.program, Program):
        yield "signature", plotting.signature(subject.program)
    bursts = None if subject.run is None else subject.run.bursts
    if subject.run is not None and bursts is not None:
        if len(bursts):
            yield "execution", plotting.execution_diagram(bursts)
        yield "gaps", plotting.gap_sensitivity(subject.run.sensitivity, chosen=bursts.gap)
    elif isinstance(subject.program, Program):
        at = found.best
        p, d = (1.0, 1.0) if at is None else (at.processors, at.disks)
        yield "execution", plotting.execution_diagram(subject.program, p=p, d=d)


def _measured_speedups(found: Answer) -> Any:
    """Measured allotments with the speedup that their time is over the surface's T_11."""
    points, surface = found.subject.measured, found.surface
    if points is None or surface is None:
        return None
    return np.column_stack([points[:, :2], surface.reference / points[:, 2]])


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
    )
    (folder / "surface.html").write_text(page, encoding="utf-8")
