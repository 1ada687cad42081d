"""The page of all campaigns: when each was run, for how long, and on which code.

Made of what lies in ``docs/record``; ``make claims`` writes it beside the page of claims.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qmodels.words import in_words
from tests.campaigns import CAMPAIGNS, EXPECTED, state
from validation.papers.record import read_record

HEAD = """\
# Campaigns on record

What took minutes or hours was run once, and its results lie in `docs/record`: a table
`NAME.csv`, and in `NAME.toml` the commit (of a run on a change that had not landed: the one it
landed with), the command, the date, the seed and the processor time of it. *Of today's code*
says whether the source files that the results hang on are still those that computed them,
comments and figures aside. Where they are not, the command gives results of today's; they need
not differ. The command of a test is to be read behind `python -m pytest --full`. Of what has a
script of its own the source is not followed.

[Claims](claims.md) says what was found. This page is made by `make claims`, of the files
themselves.
"""
NOTHING_LEFT = "Every long campaign of `make record` has its record."
#: Beginnings of the names of campaigns that were run in other words, and what there is of them.
ELSEWHERE = {
    "bani-table1": "another seed, by an earlier command: `record/bani-mohammad-table1.csv`",
    "bani-fig2": "the heavy-tailed side at three of eleven loads: `record/bani-mohammad.csv`",
    "bani-": "three of eleven loads: `record/bani-mohammad.csv`",
}


def campaigns_page(folder: Path) -> str:
    """The whole page.

    Parameters
    ----------
    folder : Path
        Of the records.

    Returns
    -------
    str
    """
    followed, alone = [], []
    for name, told in provenances(folder):
        cells = [f"`record/{name}.csv`", str(told["date"]), in_words(float(told["cpu_seconds"]))]
        command = str(told["command"]).removeprefix("python -m pytest --full ")
        command = command.replace("|", r"\|")
        if "code" in told:
            record = read_record(folder, name)
            fresh = record is not None and record.fresh
            followed.append([*cells, "yes" if fresh else "no", f"`{command}`"])
        else:
            alone.append([*cells, f"`{str(told['commit'])[:12].split(';')[0]}`", f"`{command}`"])
    head = ("table", "date", "processor time")
    return (
        "\n".join(
            [
                HEAD,
                "## Those whose source is followed\n",
                *_table((*head, "of today's code", "command"), followed),
                "\n## Those with a script of their own\n",
                *_table((*head, "commit", "command"), alone),
                "\n## Not run by the command of today\n",
                *_missing(folder),
            ]
        )
        + "\n"
    )


def provenances(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and provenance of every record, by name."""
    for file in sorted(folder.glob("*.toml")):
        yield file.stem, tomllib.loads(file.read_text(encoding="utf-8"))


def missing(folder: Path) -> list[str]:
    """Names of campaigns that no full run is on record of."""
    return [name for name, each in CAMPAIGNS.items() if state(each, folder) == "not run"]


def _missing(folder: Path) -> list[str]:
    names = missing(folder)
    if not names:
        return [NOTHING_LEFT]
    rows = [
        [
            f"`python -m tests.campaigns {name}`",
            in_words(60 * CAMPAIGNS[name].cpu_minutes) if name in EXPECTED else "not known",
            next((told for start, told in ELSEWHERE.items() if name.startswith(start)), "nothing"),
        ]
        for name in names
    ]
    said = "What rows in [claims](claims.md) say of them stands on what there is, or is undecided.\n"
    return [said, *_table(("command", "expected processor time", "what there is"), rows)]


def _table(head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]
