"""Write claims.md, its findings in full, the counts in the README and campaigns.md anew: `make claims`."""

import sys
from pathlib import Path

from validation.papers.claims_page import IN_FULL, claims_page, in_brief, page_verdicts, with_counts

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))  # the campaigns are a part of the tests


def main() -> None:
    """Make the pages of docs/claims and docs/record."""
    from tests.campaigns.page import campaigns_page

    page, readme = claims_page(DOCS / "claims", DOCS / "record"), DOCS.parent / "README.md"
    for name, told in zip(("claims.md", IN_FULL), in_brief(page), strict=True):
        (DOCS / name).write_text(told, encoding="utf-8")
    text = readme.read_text(encoding="utf-8")
    readme.write_text(with_counts(text, page_verdicts(page)), encoding="utf-8")
    (DOCS / "campaigns.md").write_text(campaigns_page(DOCS / "record"), encoding="utf-8")


if __name__ == "__main__":
    main()
