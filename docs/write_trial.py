"""Write the section of explanation/trial.md that is made from the record anew."""

from pathlib import Path

from validation.experiments.trial.page import MARKERS, record_section


def main() -> None:
    """Replace what stands between the two markers of the page."""
    docs = Path(__file__).parent
    page = docs / "explanation" / "trial.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not (begin and end):
        raise SystemExit(f"{page}: a marker is missing, {MARKERS[0]} or {MARKERS[1]}")
    made = record_section(docs / "record")
    page.write_text(f"{before}{begin}\n\n{made}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
