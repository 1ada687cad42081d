"""docs/claims.md: one verdict for every row, counts that are true, names that exist."""

import re
from collections import Counter
from pathlib import Path

import pytest

from validation.experiments import EXPERIMENTS
from validation.experiments.base import VERDICTS

ROOT = Path(__file__).resolve().parents[1]
PAGE, README = ROOT / "docs" / "claims.md", ROOT / "README.md"
COLUMNS = (
    "id", "paper's claim", "specification's acceptance", "our reading, and what we find",
    "verdict", "test or command",
)  # fmt: skip
AFTERWARDS = "holds under a reading chosen afterwards"
#: The words of the code, "ours" for what is our own reading, and one for what was chosen late.
WORDS = (*VERDICTS, "ours", AFTERWARDS)
COUNTS = re.compile(
    r"(?P<rows>\d+) rows: (?P<holds>\d+) hold, (?P<fails>\d+) fail,\s(?P<undecided>\d+) are\s"
    r"undecided, (?P<ours>\d+) are\sours,\sand\s(?P<afterwards>\d+) holds?\sunder\sa\sreading\s"
    r"chosen\safterwards"
)


def rows(text):
    """The rows of all tables of claims, each a dictionary from a column to its cell."""
    found = []
    claims = False
    for line in text.splitlines():
        if not line.startswith("|"):
            claims = False
            continue
        cells = tuple(cell.strip() for cell in line.strip("|").split(" | "))
        if cells == COLUMNS:
            claims = True
        elif claims and not line.startswith("|---"):
            assert len(cells) == len(COLUMNS), line
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def counted(text):
    """What a page says of the counts."""
    [match] = COUNTS.finditer(text)
    return {word: int(number) for word, number in match.groupdict().items()}


def mistakes(page, readme):
    """What is wrong with the verdicts and counts of the two pages."""
    verdicts = Counter(row["verdict"] for row in rows(page))
    wrong = [f"no verdict of ours: {word!r}" for word in verdicts if word not in WORDS]
    real = {
        "rows": verdicts.total(), "holds": verdicts["holds"], "fails": verdicts["fails"],
        "undecided": verdicts["undecided"], "ours": verdicts["ours"],
        "afterwards": verdicts[AFTERWARDS],
    }  # fmt: skip
    for name, text in (("claims.md", page), ("README.md", readme)):
        if counted(text) != real:
            wrong.append(f"{name} counts {counted(text)}, the rows are {real}")
    return wrong


def named(ids):
    """Numbers of claims that a cell of ids speaks of: "L-4..L-8, L-13" are six."""
    for part in ids.split(","):
        ends = re.findall(r"([RLM])-(\d+)", part)
        if ends:
            (letter, low), (_, high) = ends[0], ends[-1]
            yield from (f"{letter}-{k}" for k in range(int(low), int(high) + 1))


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def readme():
    return README.read_text(encoding="utf-8")


def test_every_row_has_one_verdict_and_the_counts_are_those_of_the_rows(page, readme):
    assert len(rows(page)) > 100
    assert mistakes(page, readme) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| holds |", "| **fails**, reversed |"),
        ("| holds |", "| agrees |"),
        ("| holds |", "| fails |"),
        ("| undecided |", "| holds |"),
    ],
)
def test_a_verdict_in_other_words_or_not_counted_is_found_out(page, readme, old, new):
    assert mistakes(page.replace(old, new, 1), readme)


def test_a_stale_count_and_a_row_with_a_cell_too_few_are_found_out(page, readme):
    stale = COUNTS.sub(lambda match: match[0].replace(match["rows"], "7", 1), readme)
    assert mistakes(page, stale)
    with pytest.raises(AssertionError, match="L-28"):
        rows(page.replace("| undecided | `qmodels validate liu-conclusions` |", "| undecided |"))


def test_every_claim_of_the_three_papers_has_a_row(page):
    have = {claim for row in rows(page) for claim in named(row["id"])}
    want = {f"R-{k}" for k in range(1, 60)} | {f"L-{k}" for k in range(1, 33)}
    assert want | {f"M-{k}" for k in range(1, 30)} <= have


def test_every_experiment_is_named_and_every_command_that_is_named_exists(page):
    given = re.findall(r"`qmodels validate ([^`]+)`", page)
    names = [name for words in given for name in words.split() if not name.startswith("-")]
    assert set(names) == set(EXPERIMENTS)


def told(code):
    """A file of tests as plain words: `TestARatioOfMeans` is "test a ratio of means"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])", " ", code)
    return plain(apart)


def plain(words):
    """Words in small letters, without what stands between them."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", words.lower().replace("i/o", "io")).split())


def test_every_test_that_is_named_exists(page):
    files = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
    missing = []
    for row in rows(page):
        test, words = "", ""
        for part in re.split(r";|, (?=`)", row["test or command"]):
            test = re.findall(r"`(?:benchmarks/)?(test_\w+)`", part)[:1] or test
            words = part.partition(": ")[2] if "`" in part else part
            for name in test:
                if name not in files:
                    missing.append(name)
                elif plain(words) not in told(files[name].read_text(encoding="utf-8")):
                    missing.append(f"{name}: {words}")
    assert missing == []
