"""Campaigns in pieces: a line for each measured case in a journal, from which a record is made at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

#: Said in records of campaigns that were measured in pieces.
COLLECTED: Final = "measured in pieces side by side; cpu_seconds is of collecting them alone"


def measured_rows(journal: Path, measure: Callable[[int], dict[str, object]], numbers: Iterable[int]) -> None:
    """Measure the cases of these numbers that the journal has not, a line as soon as each is known."""
    known = {row["number"] for row in journal_rows(journal)}
    for number in numbers:
        if number not in known:
            with journal.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(measure(number)) + "\n")


def journal_rows(journal: Path) -> list[dict[str, object]]:
    """Return the rows of all journals of a name: of pieces made side by side, in order of number."""
    rows = {}
    for file in journal.parent.glob(journal.name + "*"):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows[row["number"]] = row
    return [rows[number] for number in sorted(rows)]
