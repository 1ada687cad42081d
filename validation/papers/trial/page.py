"""The part of the page on the trial that is made from its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from validation.papers.base import Finding
from validation.papers.record import Record, read_record
from validation.papers.trial.campaign import GRIDS, grid_names
from validation.papers.trial.grid import LOADS
from validation.papers.trial.orders import mean_tau

if TYPE_CHECKING:
    import pandas as pd

#: Lines of the page between which it stands.
MARKERS: Final = ("<!-- record: made by docs/write_trial.py -->", "<!-- end of record -->")
#: Rows of the table of the worst.
WORST_ROWS: Final = 10


def record_section(record: Path) -> str:
    """What the record of the trial says: errors by policy, ranks both ways, the worst rows.

    Parameters
    ----------
    record : Path
        Folder of the records.

    Returns
    -------
    str
        Markdown; one sentence where there is no record.
    """
    import pandas as pd

    found = read_record(record, "trial")
    if found is None:
        return "There is no record of the campaign `qmodels validate trial`.\n"
    table, grids = pd.read_csv(record / "trial.csv"), list(grids_on_record(record))
    return (
        "\n".join(
            [
                *_errors(table),
                "",
                *_ranks(table),
                "",
                *_order(found.findings),
                "",
                *_worst(table),
                "",
                *_left([table, *(each for _, _, each in grids)]),
                *_grids(grids),
            ]
        )
        + "\n"
    )


def grids_on_record(record: Path) -> Iterator[tuple[str, Record, pd.DataFrame]]:
    """Name, record and table of each machine whose whole grid was run."""
    import pandas as pd

    for grid in GRIDS:
        found = read_record(record, grid.name)
        if found is not None:
            yield grid.name, found, pd.read_csv(record / f"{grid.name}.csv")


def _grids(grids: Sequence[tuple[str, Record, pd.DataFrame]]) -> Iterator[str]:
    """The whole grid of each machine that has a record of it."""
    for name, found, table in grids:
        cells, strategies = table["cell"].nunique(), table["strategy"].nunique()
        yield from ("", f"### The whole grid of {name.removeprefix('trial-grid-')}", "")
        yield (
            f"`qmodels validate {name}`: {cells} cells by {strategies} strategies at three loads, "
            f"all on the same jobs, so that rows of a cell share most of the noise of their "
            f"simulation."
        )
        yield ""
        yield (
            f"![Errors of every row, a line of the picture for each cell, light loads above heavy "
            f"ones](../images/{name}.png)"
        )
        yield ""
        yield from _table(_by_load(table))
        yield ""
        yield from _order(found.findings)
        yield ""
        yield from _worst(table)


def _by_load(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    kind = table["policy"].str.slice(0, 2)
    # loads are shares of a capacity, which differs by the strategy: in their order
    loads = table.groupby(["cell", "strategy"])["load"].rank().astype(int) - 1
    for name in ("SP", "DP", "TS"):
        for place, load in enumerate(LOADS):
            yield f"{name}, load {load:g}", table[(kind == name) & (loads == place)]
    yield "kept out of all tuning", table[table["kept_out"]]
    yield "all", table


def _groups(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    kind, place = table["policy"].str.slice(0, 2), table["cell"].str.split().str[0]
    for name in ("SP", "DP", "TS"):
        for where in dict.fromkeys(place):
            some = table[(kind == name) & (place == where)]
            if len(some):
                yield f"{name}, {where}", some
    yield "kept out of all tuning", table[table["kept_out"]]
    larger = table[~place.isin(["8x8"])]
    if len(larger):
        yield "all machines larger than 8x8", larger
    yield "all", table


def _errors(table: pd.DataFrame) -> Iterator[str]:
    return _table(_groups(table))


def _table(groups: Iterator[tuple[str, pd.DataFrame]]) -> Iterator[str]:
    yield (
        "| rows | number | corrected: median | nine tenths | worst | covered | "
        "by equal shares: median | uncorrected |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, some in groups:
        if not len(some):
            continue
        size = some["error"].abs()
        yield (
            f"| {name} | {len(some)} | {size.median():.1%} | {size.quantile(0.9):.1%} | "
            f"{size.max():.1%} | {int(some['covers'].sum())} | "
            f"{some['error_equal_shares'].abs().median():.1%} | "
            f"{some['error_uncorrected'].abs().median():.1%} |"
        )


def _ranks(table: pd.DataFrame) -> Iterator[str]:
    yield (
        "Strategies in order of mean response, fastest first, as simulated and as predicted with "
        f"the correction; the mean tau of all cells is {mean_tau(table):.2f}:"
    )
    yield ""
    yield "| cell | load | simulated | predicted |"
    yield "|---|---|---|---|"
    for (cell, load), some in table.groupby(["cell", "load"], sort=False):
        found, said = (" < ".join(some.sort_values(by)["strategy"]) for by in ("simulated", "corrected"))
        yield f"| {cell} | {load:g} | {found} | {'the same' if said == found else said} |"


def _order(findings: Sequence[Finding]) -> Iterator[str]:
    """What the findings say of the order of strategies."""
    for each in findings:
        if each.claim in ("T-6", "T-7"):
            yield f"- {each.sentence}: {each.verdict}, {each.detail}."


def _worst(table: pd.DataFrame) -> Iterator[str]:
    yield (
        "The rows that are furthest off, with what the runs themselves say of the cause: the "
        "prediction is made again at the speeds that were seen in the queue."
    )
    yield ""
    yield "| cell | strategy | load | corrected | simulated to | at speeds seen | cause |"
    yield "|---|---|---|---|---|---|---|"
    order = table["error"].abs().sort_values(ascending=False, kind="stable").index[:WORST_ROWS]
    for row in table.loc[order].to_dict("records"):
        yield (
            f"| {row['cell']} | {row['strategy']} | {row['load']:g} | {row['error']:+.1%} | "
            f"± {row['half_width']:.1%} | {row['error_seen_speeds']:+.1%} | {row['cause']} |"
        )


def _left(tables: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Cells of the grid that none of some tables has."""
    done = set().union(*(table["cell"] for table in tables))
    names = [each for each in grid_names() if each not in done]
    if not names:
        yield "Of the grid every cell was run."
        return
    yield f"Of the grid {len(names)} cells were not run (5 phases, scv 1 and writes unless said):"
    yield ""
    for place in dict.fromkeys(name.split()[0] for name in names):
        some = [name for name in names if name.startswith(place)]
        short = [
            " ".join(word for word in name.split()[1:] if word not in ("N=5", "scv=1", "write"))
            for name in some
        ]
        yield f"- {place}: {', '.join(short)}"
