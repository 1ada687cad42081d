"""Write the section of explanation/trial.md that is made from the record anew, and its pictures."""

from pathlib import Path

import pandas as pd

from validation.experiments.trial.campaign import GRIDS
from validation.experiments.trial.page import MARKERS, record_section
from validation.experiments.trial.plotting import error_panels


def main() -> None:
    """Replace what stands between the two markers of the page, and draw each grid on record."""
    docs = Path(__file__).parent
    page = docs / "explanation" / "trial.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not (begin and end):
        raise SystemExit(f"{page}: a marker is missing, {MARKERS[0]} or {MARKERS[1]}")
    made = record_section(docs / "record")
    for grid in GRIDS:
        table = docs / "record" / f"{grid.name}.csv"
        if table.exists():
            figure = error_panels(pd.read_csv(table))
            figure.savefig(docs / "images" / f"{grid.name}.png", dpi=80)
    page.write_text(f"{before}{begin}\n\n{made}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
