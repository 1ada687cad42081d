"""The page "Held against measured machines" and its picture, made of what lies in ``docs/record``.

``make claims`` writes both, and the caption in the README, beside the page of claims. All numbers are the
record's: who makes the record anew need not touch this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from qmodels.plotting.style import BLUE, GREY, LIGHT_GREY, RED, set_plain_log_ticks

RECORD: Final = "measured-machines"
SIZES: Final = "measured-sizes-summary"
PICTURE: Final = "images/measured.png"
MARKERS: Final = ("<!-- measured machines: made by make claims -->", "<!-- end of measured machines -->")
#: Columns of the summary that are no rival's error.
_OWN: Final = frozenset(
    (
        *("part", "kind", "share", "nodes", "series", "tables", "machines", "score", "normal_form_of"),
        *("error", "error_by_table", "error_by_machine", "less_than_a_b_p", "half_width"),
        *("covered", "covered_by_table", "covered_by_machine"),
    )
)
_TASKS: Final = {
    ("strong", 4): "a program on more processors, known to 1/4 of the target",
    ("strong", 8): "a program on more processors, known to 1/8",
    ("sia", 4): "training of a network on more GPUs, known to 1/4",
    ("sia", 8): "training of a network on more GPUs, known to 1/8",
}
_FLAT: Final = -0.45  #: slope of the last step, above which a warning is given
_HALF: Final = 0.5
_SPREAD: Final = 2.0  #: factor within which a forecast counts as near

HEAD: Final = """\
# Held against measured machines

How good is a forecast where nobody chose the law? Others have measured real programs on real machines and
published their tables. Each series that is long enough is cut: what is known are its runs on up to a quarter
(or an eighth) of the largest allotment, and asked is the time on the largest. Errors are those of the
logarithm: 0.2 is a fifth too long or too short, 0.7 a factor of two. Intervals are meant to hold nine of ten.

What forecasts learnt across tables (odds of terms, weights, the growth of doubt) was learnt from the half
called *fitting*; the half called *checking* says how good that is. The halves part by program and machine and
were drawn before the first fit. This page is made by `make claims`, of `record/measured-machines.csv`, where
every series stands, failures too.
"""


def measured_page(folder: Path) -> str:
    """Return the page.

    Parameters
    ----------
    folder : Path
        Of the records.
    """
    rows, summary = _rows(folder), pd.read_csv(folder / f"{RECORD}-summary.csv")
    rivals = rivals_of(summary)
    parts = [
        HEAD,
        f"![{alt_text(rows)}]({PICTURE})\n",
        f"*{caption(rows)}*\n",
        "## How good, and beside what\n",
        *_by_task(summary, rivals),
        "\n## By program\n",
        *_by_code(rows, rivals),
        "\n## Where it fails, and why\n",
        *_by_cause(rows),
        "",
        *_misses(rows),
    ]
    if (folder / f"{SIZES}.csv").exists():
        parts += ["\n## Another size of the problem\n", *_by_size(pd.read_csv(folder / f"{SIZES}.csv"))]
    return "\n".join(parts) + "\n"


def _rows(folder: Path) -> pd.DataFrame:
    """Return the forecasts that knew of nodes."""
    every = pd.read_csv(folder / f"{RECORD}.csv")
    return every[every["nodes"].astype(bool)].reset_index(drop=True)


def rivals_of(summary: pd.DataFrame) -> list[str]:
    """Return the rivals that a summary has an error of.

    Parameters
    ----------
    summary : DataFrame
        Of the record.
    """
    return [name for name in summary.columns if name not in _OWN]


def alt_text(rows: pd.DataFrame) -> str:
    """Return what the picture shows, for whoever does not see it.

    Parameters
    ----------
    rows : DataFrame
        Forecasts.
    """
    near = float(np.mean(rows["error"] <= np.log(_SPREAD)))
    held = float(rows["covered"].mean())
    return (
        f"Forecast over measured time of {len(rows)} forecasts of {rows['table'].nunique()} published tables "
        f"with 90 % intervals, by program: {_per_cent(near)} within a factor of two, {_per_cent(held)} of "
        f"the runs in their intervals"
    )


def caption(rows: pd.DataFrame) -> str:
    """Return the sentences below the picture.

    Parameters
    ----------
    rows : DataFrame
        Forecasts.
    """
    quarter, eighth = (rows[rows["share"] == share] for share in (4, 8))
    slower = rows[rows["slower_than_known"].astype(bool)]
    told = "; ".join(
        f"known to {share} of the target {_per_cent(group['covered'].mean())} of the runs lie in their "
        f"intervals and the median error is {group['error'].median():.2f}"
        for group, share in ((quarter, "a quarter"), (eighth, "an eighth"))
        if len(group)
    )
    return (
        f"Forecasts of {rows['table'].nunique()} published tables of {rows['program'].nunique()} programs "
        f"over what was measured; bars are 90 % intervals, red where they miss. {told[:1].upper()}{told[1:]}"
        f". {len(slower)} of {len(rows)} were slower on the target than on the largest known one; of "
        f"these the median error is {slower['error'].median():.2f}."
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _table(head: Sequence[str], lines: Iterator[Sequence[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *lines]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in cells]


def _number(value: Any) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def _by_task(summary: pd.DataFrame, rivals: list[str]) -> list[str]:
    summary = summary[summary["nodes"].astype(bool)]

    def lines() -> Iterator[list[str]]:
        for (kind, share), said in _TASKS.items():
            for part in ("all", "checking"):
                at = (
                    (summary["kind"] == kind) & (summary["share"] == f"1/{share}") & (summary["part"] == part)
                )
                for _, row in summary[at].iterrows():
                    yield [
                        said if part == "all" else "its checking half",
                        f"{row['series']} ({row['tables']})",
                        _number(row["error"]),
                        f"{_per_cent(row['covered'])} ({_per_cent(row['covered_by_table'])})",
                        _number(row["score"]),
                        *(_number(row[name]) for name in rivals),
                    ]

    head = ["task", "series (tables)", "median error", "covered (by table)", "interval score"]
    said = (
        "\nRivals are fitted to the same runs: simple forms with coefficients of at least zero, and a "
        "straight line in logarithms, a p^b. They have no intervals, and which of them is good one knows "
        "afterwards. The median errors of tables less those of a + b/p: "
    )
    ahead = ", ".join(
        f"{row['kind']} {row['share']} {row['less_than_a_b_p']:+.2f} ± {row['half_width']:.2f}"
        for _, row in summary[summary["part"] == "all"].iterrows()
    )
    return [*_table([*head, *rivals], lines()), f"{said}{ahead} (mean of paired differences, 95 %)."]


def _by_code(rows: pd.DataFrame, rivals: list[str]) -> list[str]:
    def lines() -> Iterator[list[str]]:
        for program, group in sorted(rows.groupby("program"), key=lambda each: each[1]["error"].median()):
            yield [
                str(program),
                f"{len(group)} ({group['table'].nunique()})",
                _number(group["error"].median()),
                f"{_per_cent(group['covered'].mean())}",
                *(_number(group[name].median()) for name in rivals if name in group),
            ]

    head = ["program", "forecasts (tables)", "median error", "covered", *(x for x in rivals if x in rows)]
    return _table(head, lines())


def _by_cause(rows: pd.DataFrame) -> list[str]:
    slower, flat = rows["slower_than_known"].astype(bool), rows["last_slope"] > _FLAT
    groups = {
        "the target was slower than the largest known run": slower,
        "the last known step gained little (a warning says so)": flat,
        "of these, the target was slower": flat & slower,
        "the last known step gained more, and the target was slower (no warning)": ~flat & slower,
        "neither": ~flat & ~slower,
    }

    def lines() -> Iterator[list[str]]:
        for said, chosen in groups.items():
            group = rows[chosen]
            covered = "–" if group.empty else f"{_per_cent(group['covered'].mean())}"
            yield [said, str(len(group)), _number(group["error"].median()), covered]

    return _table(["forecasts of which", "number", "median error", "covered"], lines())


def reason(row: Any) -> str:
    """Return why an interval missed, as far as the runs show it.

    Parameters
    ----------
    row : Series
        A forecast.
    """
    if row["forecast"] > row["measured"]:
        return "gained more than the known runs show"
    if row["slower_than_known"]:
        flat = row["last_slope"] > _FLAT
        return (
            f"collapses beyond its known runs, {'after a flat last step' if flat else 'with no sign before'}"
        )
    return "gains less than its known runs show"


def _misses(rows: pd.DataFrame) -> list[str]:
    missed = rows[rows["covered"] < _HALF].sort_values("error", ascending=False)
    if missed.empty:
        return ["Every interval held."]

    def lines() -> Iterator[list[str]]:
        for _, row in missed.iterrows():
            yield [
                f"{row['table']}: {row['series']}",
                f"1/{row['share']}",
                f"{row['target']:g}",
                f"{row['measured']:.3g}",
                f"{row['forecast']:.3g} ({row['low']:.3g} to {row['high']:.3g})",
                reason(row),
            ]

    causes = missed.apply(reason, axis=1).value_counts()
    listed = "; ".join(f"{cause}: {count}" for cause, count in causes.items())
    told = f"The {len(missed)} of {len(rows)} forecasts whose interval missed, the worst first. {listed}.\n"
    head = ["table and series", "known", "target", "measured, s", "forecast, s (90 %)", "why"]
    return [told, *_table(head, lines())]


def _by_size(summary: pd.DataFrame) -> list[str]:
    said = {
        "weak": "weak scaling known to 1/4 of the processors",
        "trained": "training, all batches on 1/4 of the GPUs",
        "size": "problems up to 1/4 of the largest, for the largest",
        "size and processors": "the same, on 1/4 of its processors",
    }

    def lines() -> Iterator[list[str]]:
        for _, row in summary.iterrows():
            yield [
                said.get(row["kind"], row["kind"]),
                row["code"],
                f"{row['forecasts']} ({row['tables']})",
                _number(row["error"]),
                f"{_per_cent(row['covered'])} ({_per_cent(row['covered_by_table'])})",
                _number(row["score"]),
                _number(row["a p^b w^c"]),
            ]

    told = (
        "Tables with a size of the problem (column `work`), `record/measured-sizes.csv`. Nothing was learnt "
        "of them. The rival is a line in the logarithms of processors and work.\n"
    )
    head = [
        "task",
        "program",
        "forecasts (tables)",
        "median error",
        "covered (by table)",
        "score",
        "a p^b w^c",
    ]
    return [told, *_table(head, lines())]


def measured_picture(rows: pd.DataFrame) -> Figure:
    """Draw forecast over measured with its interval for every series, by program.

    Parameters
    ----------
    rows : DataFrame
        Forecasts that knew of nodes.
    """
    figure = Figure(figsize=(11.0, 9.0), layout="constrained")
    sizes = {task: int(((rows["kind"] == task[0]) & (rows["share"] == task[1])).sum()) for task in _TASKS}
    lowest = figure.add_gridspec(3, 1)
    last = lowest[2].subgridspec(1, 2, width_ratios=[max(1, sizes["strong", 8]), max(1, sizes["sia", 8])])
    places = {("strong", 4): lowest[0], ("sia", 4): lowest[1], ("strong", 8): last[0], ("sia", 8): last[1]}
    for (kind, share), place in places.items():
        chosen = rows[(rows["kind"] == kind) & (rows["share"] == share)]
        ax = figure.add_subplot(place)
        what = "strong scaling" if kind == "strong" else "training on GPUs"
        ax.set_title(f"{what}, known to 1/{share} of the target", loc="left", fontsize=10)
        if len(chosen):
            _draw_forecasts(chosen, ax)
        if place is not last[1]:
            ax.set_ylabel("forecast / measured")
    return figure


def _draw_forecasts(rows: pd.DataFrame, ax: Any) -> None:
    """Draw a bar for each forecast, programs side by side."""
    ordered = rows.assign(ratio=rows["forecast"] / rows["measured"]).sort_values(["program", "ratio"])
    x = np.arange(len(ordered))
    missed = ordered["covered"].to_numpy() < _HALF
    for here, colour in ((~missed, BLUE), (missed, RED)):
        chosen = ordered[here]
        low, high = (chosen[name] / chosen["measured"] for name in ("low", "high"))
        ax.vlines(x[here], low, high, color=colour, lw=1.2, alpha=0.55)
        ax.plot(x[here], chosen["ratio"], ".", color=colour, ms=4)
    ax.axhline(1.0, color=GREY, lw=0.8)
    ticks, names = [], []
    for number, (program, places) in enumerate(ordered.assign(x=x).groupby("program", sort=False)["x"]):
        first, final = places.min() - 0.5, places.max() + 0.5
        if number % 2:
            ax.axvspan(first, final, color=LIGHT_GREY, alpha=0.15, lw=0)
        ticks.append((first + final) / 2)
        names.append(str(program))
    ax.set_xlim(-0.5, len(ordered) - 0.5)
    ax.set_yscale("log")
    ax.set_xticks(ticks, names, rotation=90, fontsize=8)
    set_plain_log_ticks(ax)


def with_measured(readme: str, folder: Path) -> str:
    """Return the README with the picture's words as the record has them.

    Parameters
    ----------
    readme : str
        Its text.
    folder : Path
        Of the records.
    """
    rows = _rows(folder)
    said = "\n".join(wrap(f"*{caption(rows)}*", 116))
    made = f"{MARKERS[0]}\n![{alt_text(rows)}](docs/{PICTURE})\n\n{said}\n{MARKERS[1]}"
    between = re.compile(f"{re.escape(MARKERS[0])}.*?{re.escape(MARKERS[1])}", re.DOTALL)
    return between.sub(lambda _: made, readme)


def write_measured(docs: Path) -> None:
    """Write the page, its picture and the words in the README.

    Parameters
    ----------
    docs : Path
        The folder of the documentation.
    """
    folder, readme = docs / "record", docs.parent / "README.md"
    (docs / "measured.md").write_text(measured_page(folder), encoding="utf-8")
    measured_picture(_rows(folder)).savefig(docs / PICTURE, dpi=90)
    readme.write_text(with_measured(readme.read_text(encoding="utf-8"), folder), encoding="utf-8")
