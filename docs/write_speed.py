"""Write docs/reference/speed.md from the benchmarks on record: ``make benchmarks``."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "reference" / "speed.md"
COLUMNS = ("job", "before", "after", "reference", "ratio", "date", "commit", "machine", "load")

HEAD = """\
# Speed

CPU seconds of the jobs that take long, each beside a *reference*: arithmetic of the same kind that
the job cannot do without, or another program at the same job, run in turn with it. Seconds change
with the machine and with what else runs on it (*load* is the mean number of programs that wanted
its processors); the *ratio* of job and reference changes less. *Before* is earlier code, run in
turn with today's when it was last made faster.

`make benchmarks` measures the jobs again, writes this page, and fails where a ratio is more than
20 % above the one on record. `make test` does not measure time.
"""


def page(folder: Path) -> str:
    """The page as text, of all ``benchmarks*.csv`` in a folder of records."""
    parts = [HEAD]
    for file in sorted(folder.glob("benchmarks*.csv")):
        parts += [section(file)]
    return "\n".join(parts)


def section(file: Path) -> str:
    """One record as a table, and what its references are."""
    with open(file, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    about = file.with_suffix(".toml")
    facts = tomllib.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    lines = [f"## {file.stem.removeprefix('benchmarks').strip('-') or 'all'}", ""]
    shown = [name for name in COLUMNS if name not in ("date", "commit", "machine")]
    lines += ["| " + " | ".join(shown) + " |", "|" + " --- |" * len(shown)]
    lines += ["| " + " | ".join(row.get(name) or "-" for name in shown) + " |" for row in rows]
    lines.append("")
    made = dict.fromkeys((row["date"], row["commit"], row["machine"]) for row in rows)
    lines += [f"Measured {date} at commit {commit} on {machine}." for date, commit, machine in made]
    references = facts.get("references", [])
    if references:
        lines += ["", "References:", "", *(f"- {each}" for each in references)]
    if facts.get("remarks"):
        lines += ["", f"{str(facts['remarks'])[:1].upper()}{str(facts['remarks'])[1:]}."]
    lines.append(f"\nThe rows are in `docs/record/{file.name}`.\n")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(FOLDER / "record"), encoding="utf-8")
