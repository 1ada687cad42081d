"""The report of a study: one self-contained HTML page, a table and the figures."""

from __future__ import annotations

import base64
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from qmodels.io.outputs import output_folder
from qmodels.pages.surface import script_policy, surface_page
from validation.study.findings import findings
from validation.study.run import Study

FIGURES = {
    "workload": "What the log holds and what was fitted to it",
    "surface": "Speedup over processors and disks",
    "response": "Mean response time against load",
    "agreement": "Predicted against simulated mean response time",
}

#: Content security policy of a page without scripts.
NO_SCRIPTS = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_report(study: Study, folder: Path, *, command: str, interactive: bool = False) -> Path:
    """Write report.html, predictions.csv and the figures.

    Parameters
    ----------
    study : Study
        From `run_study`.
    folder : Path
        Created if need be; files of the same names are replaced, others are left alone.
    command : str
        What to type to get this report again.
    interactive : bool
        Whether the page also holds the speedup surface to turn and to read off, where it has
        an area. That needs plotly and makes it 5 MB larger.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    ModelError
        If `folder` cannot be written to, or plotly is wanted and not installed.

    Notes
    -----
    Everything is made in a folder of its own beside the target and moved when it is complete,
    so an interrupted run leaves an earlier report as it was.

    The page itself has no script. The surface to turn is a document of its own within it, in a
    sandbox that cannot reach the page, and only its two scripts are admitted, by their hashes.
    """
    with output_folder(folder) as made:
        figures = _draw(study, made)
        study.to_frame().to_csv(made / "predictions.csv", index=False, float_format="%.10g")
        page = _render(study, figures, made, command, interactive)
        (made / "report.html").write_text(page, encoding="utf-8")
    return folder / "report.html"


def _draw(study: Study, folder: Path) -> list[str]:
    from validation.study import plotting

    drawn = []
    for name in FIGURES:
        figure = getattr(plotting, f"{name}_figure")(study)
        if figure is not None:
            figure.savefig(folder / f"{name}.png", dpi=150)
            drawn.append(name)
    return drawn


def _render(study: Study, figures: list[str], folder: Path, command: str, interactive: bool) -> str:
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    turning = interactive and min(study.surface.speedup.shape) >= 2
    images = {
        name: base64.b64encode((folder / f"{name}.png").read_bytes()).decode("ascii")
        for name in figures
    }
    return templates.get_template("report.html.j2").render(
        study=study,
        scenario=study.scenario,
        findings=findings(study),
        images=images,
        captions=FIGURES,
        command=command,
        turning=_turning(study) if turning else None,
        policy=script_policy() if turning else NO_SCRIPTS,
        versions=_versions(),
        summary=_summary(study),
        best=_best_by_load(study),
        replayed=any(check.replay for check in study.checks),
        seconds={
            "predict": sum(c.agreement.prediction.seconds for c in study.checks),
            "simulate": sum(c.agreement.simulation.seconds for c in study.checks),
        },
    )


def _printable(value: Any) -> Any:
    """Text without control characters and lone surrogates: they have no place on a page."""
    if not isinstance(value, str) or value.isprintable():
        return value
    kept = (c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in value)
    return type(value)("".join(kept))  # markup stays markup


def _turning(study: Study) -> str:
    from validation.study.plotting import measured_allotments

    return surface_page(study.surface, points=measured_allotments(study))


def _summary(study: Study) -> dict[str, Any] | None:
    """The log's statistics as header and rows of text."""
    log = study.scenario.log
    if log is None:
        return None
    table = log.summary()
    rows = [
        [
            str(name),
            *(
                f"{value:,.4g}" if column != "n" else f"{value:,.0f}"
                for column, value in row.items()
            ),
        ]
        for name, row in table.iterrows()
    ]
    return {"header": ["", *table.columns], "rows": rows}


def _best_by_load(study: Study) -> list[dict[str, Any]]:
    """For each load the three fastest policies, and how many are saturated."""
    rows = []
    for load in study.loads:
        ranking = study.ranking(load)
        rows.append(
            {
                "load": load,
                "own": load == study.log_load,
                "best": ranking[:3],
                "saturated": len(study.scenario.policies) - len(ranking),
            }
        )
    return rows


def _versions() -> dict[str, str]:
    names = ("qmodels-hpc", "numpy", "scipy", "numba", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
