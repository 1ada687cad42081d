"""The page of claims, made of what people write and of what is on record.

People write the sentences, in files of ``docs/claims``. A cell that states what a campaign found is
written as ``reading @@ numbers @@ references``: how the claim is read, the numbers that were found
before there was a record, and which findings of which record state them now, each as
``campaign claim: words of its sentence``, with semicolons between them. Once these records exist
the numbers are taken from them, and the verdict is computed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from qmodels.errors import ModelError
from validation.papers.base import Finding, all_hold
from validation.papers.record import Record, read_record

COLUMNS: Final = (
    "id",
    "paper's claim",
    "specification's acceptance",
    "our reading, and what we find",
    "verdict",
    "test or command",
)
AFTERWARDS: Final = "holds under a reading chosen afterwards"
COMPUTED: Final = ("holds", "fails", "undecided")
#: Files that come first and last; those of further papers stand between them.
FIRST, LAST = ("head", "rosti", "mesh"), ("mache-criteria", "speed-scaled", "specification")
NOT_ON_RECORD: Final = "(recorded before; the command gives it again)"
STALE: Final = "(recorded with another version of the code)"
_HEAD: Final = f"| {' | '.join(COLUMNS)} |"
#: Characters that a cell of findings has on the page, about three lines of it; the rest stands beside it.
LIMIT: Final = 240
IN_FULL: Final = "claims-in-full.md"
#: What a page says of all rows, and what the page of the claims says of the rest.
_COUNTS: Final = re.compile(
    r"Of\s\d+\sclaims\schecked,\sthe\spapers'\sand\sthose\sof\sour\sown\sspecification,"
    r"\s\d+\shold\sand\s\d+\sdo\snot"
)
_REST: Final = re.compile(
    r"\d+\sare\sundecided,\s\d+\sare\schoices\sof\sours\sthat\scould\snot\sfail,\sand\s\d+"
    r"\sholds?\sunder\sa\sreading\schosen\safterwards"
)


@dataclass(frozen=True)
class Row:
    """A row of a table of claims, as people have written it."""

    cells: tuple[str, ...]
    where: str  #: file and line

    @property
    def references(self) -> list[tuple[str, str, str]]:
        """Campaign, claim and words of the sentence, of each finding that states the numbers."""
        parts = self.cells[3].split(" @@ ")
        if len(parts) == 1:
            return []
        if len(parts) != 3:
            raise ModelError(f"{self.where}: write reading @@ numbers @@ references")
        found = []
        for text in parts[2].split("; "):
            match = re.fullmatch(r"([\w-]+) ([\w-]+|\*)(?:: (.+))?", text.strip())
            if match is None:
                raise ModelError(f"{self.where}: {text!r:.60} is no reference to a finding")
            found.append((match[1], match[2], match[3] or ""))
        return found


def claims_page(written: Path, record: Path) -> str:
    """The whole page.

    Parameters
    ----------
    written : Path
        Folder of what people write.
    record : Path
        Folder of the records.

    Returns
    -------
    str

    Raises
    ------
    ModelError
        If a row has too few cells, or refers to a finding that its record does not have.
    """
    verdicts: Counter[str] = Counter()
    text = []
    for file in parts(written):
        lines = []
        for line, row in _lines(file.read_text(encoding="utf-8"), file.name):
            if row is not None:
                cells = _filled(row, record)
                verdicts[cells[4]] += 1
                line = f"| {' | '.join(cells)} |"
            lines.append(line)
        text.append("\n".join(lines).strip("\n"))
    return with_counts("\n\n".join(text) + "\n", verdicts)


def in_brief(page: str) -> tuple[str, str]:
    """Return the page of claims with long findings cut short, and a page that tells these in full.

    Parameters
    ----------
    page : str
        What `claims_page` made.

    Returns
    -------
    brief, full : str
        In the first no finding has more than `LIMIT` characters but for its link to the second,
        which has a section for each finding that was cut.
    """
    ids: Counter[str] = Counter()
    brief, sections, part = [], [], ""
    for line, row in _lines(page):
        if line.startswith("## "):
            part = line
        if row is not None and len(row.cells[3]) > LIMIT:
            cells = row.cells
            ids[cells[0]] += 1
            title = cells[0] if ids[cells[0]] == 1 else f"{cells[0]} ({ids[cells[0]]})"
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            if part:
                sections.append(part)
                part = ""
            sections += [
                f"### {title}",
                f"The claim: {cells[1]}. Accepted where: {cells[2]}.",
                f"*{cells[4]}*: {cells[3]}",
            ]
            cells = (*cells[:3], f"{_cut(cells[3])} [In full]({IN_FULL}#{anchor})", *cells[4:])
            line = f"| {' | '.join(cells)} |"
        brief.append(line)
    head = (
        "---\norphan: true\n---\n\n# Findings in full\n\n"
        "What was found of claims whose row in [Claims](claims.md) has its beginning only. "
        "`make claims` writes both."
    )
    return "\n".join(brief) + "\n", "\n\n".join([head, *sections]) + "\n"


def _cut(text: str) -> str:
    """Return the first sentences of a finding, or of its first sentence the first parts."""
    notes = " ".join(note for note in (NOT_ON_RECORD, STALE) if note in text)
    for stop in (". ", "; ", ": ", ", ", " "):
        for end in range(LIMIT - len(stop), LIMIT // 3, -1):
            start = text[:end]
            if (
                text.startswith(stop, end)
                and start.count("`") % 2 == 0
                and start.count("(") == start.count(")")
            ):
                return _joined(start + (". ..." if stop == ". " else " ..."), notes)
    return _joined(text[:LIMIT] + " ...", notes)


def _lines(text: str, name: str = "page") -> Iterator[tuple[str, Row | None]]:
    """Yield every line of a text, with its row where it is one of a table of claims."""
    claims = False
    for number, line in enumerate(text.splitlines(), start=1):
        claims = line.startswith("|") and (claims or line == _HEAD)
        row = claims and line != _HEAD and not line.startswith("|---")
        yield line, _row(line, f"{name}:{number}") if row else None


def parts(written: Path) -> list[Path]:
    """The files of which the page is made, in their order."""
    files = {file.stem: file for file in sorted(written.glob("*.md"))}
    between = [name for name in files if name not in (*FIRST, *LAST)]
    return [files[name] for name in (*FIRST, *between, *LAST) if name in files]


def rows(written: Path) -> Iterator[Row]:
    """Every row of every table of claims, as it was written."""
    for file in parts(written):
        yield from (row for _, row in _lines(file.read_text(encoding="utf-8"), file.name) if row is not None)


def with_counts(text: str, verdicts: Counter[str]) -> str:
    """A page with the counts of the verdicts in place of those that it has."""
    holds, fails, undecided = (verdicts[word] for word in COMPUTED)
    late = verdicts[AFTERWARDS]
    counts = (
        f"Of {verdicts.total()} claims checked, the papers' and those of our own specification, "
        f"{holds} hold and {fails} do not"
    )
    rest = (
        f"{undecided} are undecided, {verdicts['ours']} are choices of ours that could not fail, "
        f"and {late} {'holds' if late == 1 else 'hold'} under a reading chosen afterwards"
    )

    def wrapped(match: re.Match[str], said: str) -> str:
        # the lines stay as long as they were: the text before and after is people's own
        ends = [k for k, char in enumerate(match[0]) if char == "\n"]
        words = said.split(" ")
        for end in ends:
            words[match[0][:end].count(" ")] += "\n" + words.pop(match[0][:end].count(" ") + 1)
        return " ".join(words)

    text = _COUNTS.sub(lambda match: wrapped(match, counts), text)
    return _REST.sub(lambda match: wrapped(match, rest), text)


def page_verdicts(page: str) -> Counter[str]:
    """How often each verdict stands in the tables of a page that was made."""
    return Counter(row.cells[4] for _, row in _lines(page) if row is not None)


def campaigns(row: Row) -> list[str]:
    """Names of the experiments whose command a row names."""
    given = re.findall(r"`qmodels validate ([^`]+)`", row.cells[5])
    return [name for words in given for name in words.split() if not name.startswith("-")]


def _row(line: str, where: str) -> Row:
    cells = tuple(cell.strip() for cell in line.strip("|").split(" | "))
    if len(cells) != len(COLUMNS):
        raise ModelError(f"{where}: {len(cells)} cells, a row has {len(COLUMNS)}: {line:.60}")
    return Row(cells, where)


def _filled(row: Row, folder: Path) -> tuple[str, ...]:
    """The cells of a row with what is on record in them."""
    cells = list(row.cells)
    references = row.references
    reading, numbers = (*cells[3].split(" @@ "), "")[:2]
    names = dict.fromkeys([name for name, _, _ in references] or campaigns(row))
    records = {name: read_record(folder, name) for name in names}
    # where people say themselves what is missing, nothing is added
    note = "" if "not on record" in cells[3] else NOT_ON_RECORD
    if not references:
        if any(record is None for record in records.values()):
            cells[3] = _joined(reading, note)
        return tuple(cells)
    known = [record for record in records.values() if record is not None]
    if len(known) < len(records):
        cells[3] = _joined(reading, numbers, note)
        return tuple(cells)
    by_name = {record.name: record for record in known}
    found = [
        (claim, finding)
        for name, claim, words in references
        for finding in _findings(by_name[name], claim, words, row.where)
    ]
    alone = len([claim for claim, _ in found if claim != "*"]) == 1
    told = dict.fromkeys(
        finding.detail if alone else f"{finding.sentence}: {finding.detail}"
        for claim, finding in found
        if claim != "*"
    )
    stale = "" if all(record.fresh for record in known) else STALE
    numbers = "; ".join(told).replace(" | ", ", ").replace("|", r"\|")  # a bar would end the cell
    cells[3] = _joined(reading, numbers, stale)
    computed = all_hold(finding.verdict for _, finding in found)
    if cells[4] in COMPUTED or (cells[4] == AFTERWARDS and computed != "holds"):
        cells[4] = computed
    cells[5] += ", " + ", ".join(f"`record/{name}.csv`" for name in names)
    return tuple(cells)


def _findings(record: Record, claim: str, words: str, where: str) -> Sequence[Finding]:
    found = [
        finding for finding in record.findings if claim in ("*", finding.claim) and words in finding.sentence
    ]
    if not found:
        raise ModelError(
            f"{where}: the record of {record.name} has no finding {claim} with the words {words!r}"
        )
    return found


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text and text != "-") or "-"
