"""Write the section on policies of reference/scenario.md anew, after a policy has changed."""

from pathlib import Path

from qmodels.io.scenario_reference import MARKERS, policy_section


def main() -> None:
    """Replace what stands between the two markers of the page."""
    page = Path(__file__).parent / "reference" / "scenario.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not (begin and end):
        raise SystemExit(f"{page}: a marker is missing, {MARKERS[0]} or {MARKERS[1]}")
    page.write_text(f"{before}{begin}\n\n{policy_section()}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
