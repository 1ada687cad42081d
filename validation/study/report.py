"""The report of a study: one self-contained HTML page, a table and the figures."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from qmodels.io.outputs import output_folder
from qmodels.pages.page import NO_SCRIPTS
from qmodels.pages.report import PAGE, Report
from qmodels.pages.surface import FRAME_POLICY, measured_rows, surface_page
from qmodels.policies.choice.ranking import BEST, TIE
from qmodels.programs.superlinear import superlinear
from qmodels.words import counted, in_words, plain_number
from validation.study.descriptions import assumptions, tail_doubt
from validation.study.findings import findings, limits_of_repartitioning, meanings
from validation.study.headlines import near_saturation
from validation.study.run import Study
from validation.trial.agreement import DECISIVE_PRECISION

if TYPE_CHECKING:
    from qmodels.programs.scaling import FittedProgram, Forecast
    from validation.study.panels import MadePicture

#: Warnings that stand directly under the findings, at most.
_GRAVEST = 2
_PAGE: Final = Path(__file__).parent / "templates" / "report.html.j2"


def write_report(
    study: Study,
    folder: Path,
    *,
    command: str,
    interactive: bool = False,
    made_before: Mapping[str, MadePicture] | None = None,
) -> Path:
    """Write the report of a study into a folder; see `study_report` and `Report.write`.

    Parameters
    ----------
    study, interactive, made_before
        As for `study_report`.
    folder : Path
        Created if need be; files of the same names are replaced, others are left alone.
    command : str
        What to type to get this report again.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    ModelError
        If `folder` cannot be written to.
    """
    with output_folder(folder) as made:
        study_report(study, interactive=interactive, made_before=made_before).write(made, command=command)
    return folder / PAGE


def study_report(
    study: Study, *, interactive: bool = False, made_before: Mapping[str, MadePicture] | None = None
) -> Report:
    """Return the report of a study.

    Parameters
    ----------
    study : Study
        From `run_study`.
    interactive : bool
        Whether the page also holds the speedup surface to turn and to read off, where it has
        an area.
    made_before : mapping of str to MadePicture, optional
        Figures of this study that are made already, by `validation.study.panels.pictures`; by
        default all are made when the report is written.

    Returns
    -------
    Report
        Its files are predictions.csv, trial.csv of a machine with a mesh, and the figures.

    Notes
    -----
    The page itself has no script. The surface to turn is a document of its own within it, in a
    sandbox that cannot reach the page, and only its own scripts are admitted, by their hashes.
    """
    figures = dict(made_before or {})

    def write_pictures(folder: Path) -> None:
        from validation.study.panels import CAPTIONS, pictures, write_figures

        figures.update(pictures(study, [name for name in CAPTIONS if name not in figures]))
        write_figures(figures, folder)

    tables = {"predictions.csv": study.to_frame()}
    for place, trial in enumerate(study.trials, start=1):
        tables[f"trial{'' if len(study.trials) == 1 else f'-{place}'}.csv"] = trial.to_frame()
    warnings = study.warnings[: min(study.grave, _GRAVEST)]
    return Report(
        title=study.scenario.title,
        subtitle=_subtitle(study),
        findings=findings(study, bare=True),
        notes=warnings,
        notes_title="What may change these answers most"
        + (" (all warnings stand at the end)" if len(study.warnings) > len(warnings) else ""),
        tables=tables,
        float_format="%.10g",
        more=write_pictures,
        meanings=meanings(study),
        page=(_PAGE, lambda: _values(study, figures, interactive)),
    )


def _values(study: Study, figures: Mapping[str, MadePicture], interactive: bool) -> dict[str, Any]:
    """What the page wants besides the report."""
    from validation.study.panels import CAPTIONS
    from validation.study.plotting import log_and_laws

    labels, said = meanings(study), findings(study, bare=True)
    turning = interactive and min(study.surface.speedup.shape) >= 2
    return {
        "study": study,
        "scenario": study.scenario,
        "named": {label: labels[label] for label in labels if any(label in text for text in said)},
        "figures": {name: figure.panels for name, figure in figures.items()},
        "captions": CAPTIONS,
        "tails": [doubt for each in log_and_laws(study) if (doubt := tail_doubt(*each))],
        "turning": _turning(study) if turning else None,
        "policy": FRAME_POLICY if turning else NO_SCRIPTS,
        "versions": _versions(),
        "summary": _summary(study),
        "best": _best_by_load(study),
        "legend": _legend(study),
        "meanings": labels,
        "limits": limits_of_repartitioning(study),
        "other_loads": _beside_the_table(study),
        "beside": _beside(study),
        "assumptions": assumptions(study),
        "superlinear": superlinear(study.scenario.program, study.surface),
        "in_words": in_words,
        "plain_number": plain_number,
        "precision": DECISIVE_PRECISION,
        "replayed": any(check.replay for check in study.checks),
        "seconds": {
            "predict": sum(c.agreement.prediction.seconds for c in study.checks),
            "simulate": sum(c.agreement.simulation.seconds for c in study.checks),
        },
    }


def _subtitle(study: Study) -> str:
    system = study.scenario.system
    return (
        f"{counted(system.processors, 'processor')}, {counted(system.disks, 'disk')}, "
        f"{len(study.scenario.policies)} {'policy' if len(study.scenario.policies) == 1 else 'policies'} at "
        f"{counted(len(study.loads), 'load')}, {len(study.checks)} of the predictions simulated"
    )


def _legend(study: Study) -> list[str]:
    """What the labels of each kind of policy in the study say, a sentence each."""
    policies = [*study.scenario.policies, *(check.policy for check in study.checks)]
    return [legend for legend in dict.fromkeys(policy.legend for policy in policies) if legend]


def _beside_the_table(study: Study) -> list[str]:
    """Why the table of checks has other times than a trial of the same policy, a sentence each."""
    said = []
    for trial in study.trials:
        own = trial.arrival_rate / study.bound
        for check in study.checks:
            same = isclose(check.fraction, trial.task.fraction, rel_tol=1e-9)
            if not same or check.policy.label != trial.policy.label:
                continue
            there = check.agreement.prediction
            said.append(
                f"The table of simulations has another prediction for {trial.policy.label} at "
                f"{check.fraction:.0%}, {in_words(there.mean_response)}: there it is a share of "
                f"what the model says that the policy carries, load {there.load:.3g}, and jobs "
                f"come as the study has them; here it is a share of what the mesh was measured to "
                f"carry, load {own:.3g}, and jobs come as a Poisson stream."
            )
    return said


def _turning(study: Study) -> str:
    from validation.study.plotting import measured_allotments

    surface, fits = study.surface, list(study.scenario.fits.values())
    more: dict[str, Any] = {}
    if len(fits) == 1:
        sure = fits[0].surface_interval(surface.processors, surface.disks)
        more = {"interval": (sure.speedup_low, sure.speedup_high), "warnings": fits[0].warnings}
        if not study.scenario.scaled_to_log:
            more["runs"] = _at_measured(fits[0])
    return surface_page(surface, points=measured_allotments(study), **more)


def _at_measured(fit: FittedProgram) -> Forecast:
    return fit.predict(fit.measured.processors, fit.measured.disks)


def _beside(study: Study) -> list[tuple[str, list[str], bool]]:
    """What was measured of each program beside what was fitted, and where they contradict."""
    return [
        (name, cells, contradicts)
        for name, fit in study.scenario.fits.items()
        if fit.measured.processors.size
        for cells, contradicts in measured_rows(_at_measured(fit))
    ]


def _summary(study: Study) -> dict[str, Any] | None:
    """The log's statistics as header and rows of text."""
    log = study.scenario.log
    if log is None:
        return None
    table = log.summary()
    rows = [
        [
            str(name),
            *(plain_number(value) if column != "n" else f"{value:,.0f}" for column, value in row.items()),
        ]
        for name, row in table.iterrows()
    ]
    return {"header": ["quantity", *table.columns], "rows": rows}


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
                "decided": bool(stable) and first[0].status == BEST,
                "saturated": len(study.scenario.policies) - len(stable),
            }
        )
    return rows


def _versions() -> dict[str, str]:
    names = ("qmodels-hpc", "numpy", "scipy", "numba", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
