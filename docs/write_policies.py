"""Write the sections on policies and models of reference/scenario.md anew, after one has changed."""

from pathlib import Path

from qmodels.io.scenario_reference import MARKERS, MODEL_MARKERS, model_section, policy_section


def main() -> None:
    """Replace what stands between the markers of the page."""
    page = Path(__file__).parent / "reference" / "scenario.md"
    text = page.read_text(encoding="utf-8")
    for (begins, ends), section in ((MARKERS, policy_section()), (MODEL_MARKERS, model_section())):
        before, begin, rest = text.partition(begins)
        _, end, after = rest.partition(ends)
        if not (begin and end):
            raise SystemExit(f"{page}: a marker is missing, {begins} or {ends}")
        text = f"{before}{begin}\n\n{section}\n{end}{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
