"""Write claims.md and the counts in the README anew: `make claims`."""

from pathlib import Path

from validation.experiments.claims_page import claims_page, page_verdicts, with_counts


def main() -> None:
    """Make the page of docs/claims and docs/record."""
    docs = Path(__file__).parent
    page, readme = claims_page(docs / "claims", docs / "record"), docs.parent / "README.md"
    (docs / "claims.md").write_text(page, encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_counts(text, page_verdicts(page)), encoding="utf-8")


if __name__ == "__main__":
    main()
