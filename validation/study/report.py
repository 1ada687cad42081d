"""The report of a study: one self-contained HTML page, a table and the figures."""

from __future__ import annotations

import base64
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qmodels.commands.durations import in_words
from qmodels.io.outputs import output_folder
from qmodels.pages.page import NO_SCRIPTS, page_templates
from qmodels.pages.surface import script_policy, surface_page
from qmodels.policies.choice.recommendation import BEST, TIE
from qmodels.programs.superlinear import superlinear
from validation.study.findings import findings, limits_of_repartitioning, near_saturation
from validation.study.run import Study
from validation.trial.agreement import DECISIVE_PRECISION

FIGURES = {
    "workload": "What the log holds and what was fitted to it",
    "surface": "Speedup over processors and disks",
    "response": "Mean response time against load",
    "agreement": "Predicted against simulated mean response time",
    "trial": "From the model's assumptions to the mesh, step by step on the same jobs",
}

#: Warnings that stand directly under the findings, at most.
_GRAVEST = 2


def write_report(study: Study, folder: Path, *, command: str, interactive: bool = False) -> Path:
    """Write report.html, predictions.csv, trial.csv of a machine with a mesh, and the figures.

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
        for place, trial in enumerate(study.trials, start=1):
            number = "" if len(study.trials) == 1 else f"-{place}"
            table = trial.to_frame()
            table.to_csv(made / f"trial{number}.csv", index=False, float_format="%.10g")
        page = _render(study, figures, made, command, interactive)
        (made / "report.html").write_text(page, encoding="utf-8")
    return folder / "report.html"


def _draw(study: Study, folder: Path) -> list[str]:
    from validation.study import plotting

    drawn = []
    for name in FIGURES:
        figure = getattr(plotting, f"{name}_figure")(study)
        if figure is not None:
            plotting.save_png(figure, folder / f"{name}.png")
            drawn.append(name)
    return drawn


def _render(study: Study, figures: list[str], folder: Path, command: str, interactive: bool) -> str:
    templates = page_templates(Path(__file__).parent / "templates")
    turning = interactive and min(study.surface.speedup.shape) >= 2
    best = _best_by_load(study)
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
        best=best,
        meanings=_meanings(study, best),
        gravest=study.warnings[: min(study.grave, _GRAVEST)],
        limits=limits_of_repartitioning(study),
        superlinear=superlinear(study.scenario.program, study.surface),
        in_words=in_words,
        precision=DECISIVE_PRECISION,
        replayed=any(check.replay for check in study.checks),
        seconds={
            "predict": sum(c.agreement.prediction.seconds for c in study.checks),
            "simulate": sum(c.agreement.simulation.seconds for c in study.checks),
        },
    )


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
    """For each load the three fastest policies, which of them tie, and how many are saturated."""
    rows = []
    for load in study.loads:
        found = study.recommendation(load)
        stable = [row for row in found.rows if row.value == row.value]
        # The best first, which among equals is the simplest; the others by their predicted time.
        first = sorted(stable, key=lambda row: (row.status != BEST, row.value))[:3]
        tied = any(row.status == TIE for row in stable)
        rows.append(
            {
                "load": load,
                "own": load == study.log_load,
                "best": [
                    {
                        "policy": row.label,
                        "time": in_words(row.value, like=first[0].value),
                        "tie": tied and row.status in (BEST, TIE),
                        "near": near_saturation(row, found.arrival_rate),
                    }
                    for row in first
                ],
                "ties": sum(row.status == TIE for row in stable),
                "saturated": len(study.scenario.policies) - len(stable),
            }
        )
    return rows


def _meanings(study: Study, best: list[dict[str, Any]]) -> dict[str, str]:
    """What the labels in the tables of the report say, in words."""
    labels = {each["policy"] for row in best for each in row["best"]}
    policies = {policy.label: policy for policy in study.scenario.policies}
    policies |= {check.policy.label: check.policy for check in study.checks}
    labels |= {check.policy.label for check in study.checks}
    system = study.scenario.system
    return {label: policy.in_words(system) for label, policy in policies.items() if label in labels}


def _versions() -> dict[str, str]:
    names = ("qmodels-hpc", "numpy", "scipy", "numba", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
