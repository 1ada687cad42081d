"""Write the section of explanation/trial.md that is made from the record anew, and its pictures."""

from pathlib import Path

from validation.papers.trial.page import MARKERS, grids_on_record, record_section
from validation.papers.trial.plotting import error_panels


def main() -> None:
    """Replace what stands between the two markers of the page, and draw each grid on record."""
    docs = Path(__file__).parent
    page = docs / "explanation" / "trial.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not (begin and end):
        raise SystemExit(f"{page}: a marker is missing, {MARKERS[0]} or {MARKERS[1]}")
    made = record_section(docs / "record")
    for name, _, table in grids_on_record(docs / "record"):
        error_panels(table).savefig(docs / "images" / f"{name}.png", dpi=80)
    page.write_text(f"{before}{begin}\n\n{made}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
