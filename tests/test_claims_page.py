"""docs/claims.md: one verdict for every row, counts that are true, names that exist."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from qmodels.errors import ModelError
from tests.campaigns import CAMPAIGNS
from tests.campaigns.page import NOTHING_LEFT, campaigns_page, missing
from validation.papers import EXPERIMENTS
from validation.papers.base import VERDICTS, Finding
from validation.papers.claims_page import (
    AFTERWARDS,
    COLUMNS,
    IN_FULL,
    LIMIT,
    NOT_ON_RECORD,
    STALE,
    campaigns,
    claims_page,
    in_brief,
    page_verdicts,
    with_counts,
)
from validation.papers.claims_page import rows as claim_rows
from validation.papers.record import KEYS, read_record, write_record

ROOT = Path(__file__).resolve().parents[1]
PAGE, README = ROOT / "docs" / "claims.md", ROOT / "README.md"
#: The words of the code, "ours" for what is our own reading, and one for what was chosen late.
WORDS = (*VERDICTS, "ours", AFTERWARDS)
COUNTS = re.compile(
    r"Of\s(?P<rows>\d+)\sclaims\schecked,\sthe\spapers'\sand\sthose\sof\sour\sown\sspecification,\s"
    r"(?P<holds>\d+)\shold\sand\s(?P<fails>\d+)\sdo\snot(?:;\s(?P<undecided>\d+)\sare\sundecided,"
    r"\s(?P<ours>\d+)\sare\schoices\sof\sours\sthat\scould\snot\sfail,\sand\s(?P<afterwards>\d+)\s"
    r"holds?\sunder\sa\sreading\schosen\safterwards)?"
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
    return {word: int(number) for word, number in match.groupdict().items() if number}


def mistakes(page, readme):
    """What is wrong with the verdicts and counts of the two pages."""
    verdicts = Counter(row["verdict"] for row in rows(page))
    wrong = [f"no verdict of ours: {word!r}" for word in verdicts if word not in WORDS]
    real = {
        "rows": verdicts.total(),
        "holds": verdicts["holds"],
        "fails": verdicts["fails"],
        "undecided": verdicts["undecided"],
        "ours": verdicts["ours"],
        "afterwards": verdicts[AFTERWARDS],
    }
    if counted(page) != real:
        wrong.append(f"claims.md counts {counted(page)}, the rows are {real}")
    first = {word: real[word] for word in ("rows", "holds", "fails")}
    if counted(readme) != first:  # the rest is on the page
        wrong.append(f"README.md counts {counted(readme)}, the rows are {first}")
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
def made():
    """The page as it would be made now, of the parts and the records that are there."""
    return claims_page(WRITTEN, RECORD)


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
    of_l28 = re.compile(r"(\| L-28 \|.*\| undecided) \| `qmodels validate liu-conclusions`[^|]*\|")
    assert of_l28.search(page)
    with pytest.raises(AssertionError, match="L-28"):
        rows(of_l28.sub(r"\1 |", page))


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


@pytest.mark.thorough
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


# --- whose numbers can be looked up -------------------------------------------------------------

#: Names that hold digits and are no results: code, ids of claims and errors, policies, equations.
NO_RESULT = re.compile(r"`[^`]*`|\b[A-Za-z]+-?\d[\w-]*|\b(?:SP|DP|TS|BT|SBT|DBT|X|C|M)\([^)]*\)|\(\d+\)")
SOURCED = ("test or command", "test or source")


def stated(page):
    """Rows of ours that state a number: what they find, and where it is to be looked up."""
    last = ""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            last = ""
        elif not last:
            last = cells[-1] or "-"
        elif last in SOURCED and not line.startswith("|---"):
            found = (
                cells[COLUMNS.index("our reading, and what we find")]
                if len(cells) == 6
                else (" ".join(cells[:-1]))
            )
            if re.search(r"\d", NO_RESULT.sub("", found)):
                yield f"{cells[0]}: {found}", f"{found} {cells[-1]}"


def nowhere(page):
    """Rows that state a number and name no record, no test, and no reason for having neither."""
    for row, where in stated(page):
        records = re.findall(r"record/([\w.-]+\.csv)", where)
        tests = re.findall(r"`(?:tests/\w+/)?test_\w+", where)  # those of speed assert no number
        known = all((RECORD / name).is_file() for name in records) and (records or tests)
        if not known and "not on record" not in where and NOT_ON_RECORD not in where:
            yield row


@pytest.mark.thorough
def test_every_row_that_states_a_number_says_where_it_can_be_looked_up(made):
    assert list(nowhere(made)) == []


@pytest.mark.thorough
def test_the_check_sees_every_row_that_loses_its_record_or_test(made):
    rows_seen = list(stated(made))
    assert len(rows_seen) > 180
    bare = re.sub(r"record/[\w.-]+|test_\w+|not on record", "nothing", made)
    bare = bare.replace(NOT_ON_RECORD, "")
    assert len(list(nowhere(bare))) == len(list(stated(bare))) > 180
    renamed = made.replace("record/coverage.csv", "record/covered.csv")
    [row] = nowhere(renamed)
    assert row.startswith("intervals")


class TestTheListOfCampaigns:
    @pytest.mark.thorough
    def test_is_what_make_claims_makes(self):
        assert (ROOT / "docs" / "campaigns.md").read_text(encoding="utf-8") == campaigns_page(RECORD)

    @pytest.mark.thorough
    def test_names_every_record_and_every_campaign_that_was_not_run(self):
        page, left = campaigns_page(RECORD), missing(RECORD)
        for file in RECORD.glob("*.toml"):
            told = tomllib.loads(file.read_text(encoding="utf-8"))
            [line] = [line for line in page.splitlines() if f"| `record/{file.stem}.csv` |" in line]
            assert str(told["date"]) in line
        for name in CAMPAIGNS:
            assert (f"`python -m tests.campaigns {name}`" in page) == (name in left), name
            assert name in left or f"`record/{name}.csv`" in page, name

    def test_tells_code_of_today_from_other_code_and_what_is_missing(self, tmp_path):
        assert missing(tmp_path) == list(CAMPAIGNS)
        recorded(tmp_path)
        assert "liu-fig3" not in missing(tmp_path)
        assert "| 1 s | yes | `qmodels validate liu-fig3` |" in campaigns_page(tmp_path)
        file = tmp_path / "liu-fig3.toml"
        file.write_text(re.sub(r'code = "\w+"', 'code = "0123456789abcdef"', file.read_text()))
        assert "| 1 s | no | `qmodels validate liu-fig3` |" in campaigns_page(tmp_path)

    def test_says_so_where_all_is_on_record(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tests.campaigns.page.CAMPAIGNS", {})
        assert NOTHING_LEFT in campaigns_page(tmp_path)


# --- made of what people write and of what is on record ---------------------------------------


WRITTEN, RECORD = ROOT / "docs" / "claims", ROOT / "docs" / "record"
COMMAND = "`qmodels validate liu-fig3`"


@pytest.mark.thorough
def test_the_page_and_the_readme_are_what_make_claims_makes(page, readme, made):
    brief, full = in_brief(made)
    assert (page, (ROOT / "docs" / IN_FULL).read_text(encoding="utf-8")) == (brief, full)
    assert with_counts(readme, page_verdicts(made)) == readme


def test_every_reference_names_an_experiment_and_the_row_its_command():
    written = [*claim_rows(WRITTEN)]
    assert sum(bool(row.references) for row in written) >= 44
    for row in written:
        for name, _, _ in row.references:
            assert name in EXPERIMENTS, row.where
            assert name in campaigns(row), row.where


def test_every_row_with_a_command_has_a_record_or_says_that_it_has_none(made):
    for row in rows(made):
        cell = row["test or command"]
        for words in re.findall(r"`qmodels validate ([^`]+)`", cell):
            for name in words.split():
                told = row["our reading, and what we find"]
                assert f"`record/{name}.csv`" in cell or "not on record" in told or (NOT_ON_RECORD in told), (
                    row
                )


def test_every_record_is_what_its_command_gives_by_default():
    """Whether its code is that of today is told on the page, which is compared above."""
    for file in sorted(RECORD.glob("*.toml")):
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        if "code" not in told:  # of a script of its own: it says how it was made, and no more
            assert {"commit", "command", "date", "cpu_seconds"} <= set(told), file.name
            continue
        record = read_record(RECORD, file.stem)
        assert record.provenance["rows"] > 0
        campaign = CAMPAIGNS[record.name]
        if campaign.tests:
            assert record.provenance["command"] == f"python -m pytest --full {campaign.tests}"
        else:
            assert record.provenance["command"] == f"qmodels validate {record.name}"


def finding(claim, verdict, detail, sentence="SBT: the line is flat"):
    return Finding(claim, sentence, verdict, detail)


def recorded(folder, *findings, name="liu-fig3"):
    write_record(
        folder,
        name,
        pd.DataFrame({"x": [0.1, 1 / 3]}),
        command=f"qmodels validate {name}",
        modules=["validation.analysis.seeding"],
        seed=0,
        cpu_seconds=1.0,
        findings=findings,
    )


def written_row(folder, cell, verdict="holds"):
    folder.mkdir(exist_ok=True)
    (folder / "head.md").write_text(
        "**Of 1 claims checked, the papers' and those of our own specification, 1 hold and 0 do "
        "not; 0 are undecided, 0 are choices of ours that could not fail, and 0 hold under a "
        f"reading chosen afterwards.**\n\n| {' | '.join(COLUMNS)} |\n|---|---|---|---|---|---|\n"
        f"| L-22 | flat | below 5 % | {cell} | {verdict} | {COMMAND} |\n"
    )
    return folder


def made_row(tmp_path, cell, verdict="holds"):
    page = claims_page(written_row(tmp_path / "written", cell, verdict), tmp_path / "record")
    [row] = rows(page)
    return row["our reading, and what we find"], row["verdict"], row["test or command"], page


def test_long_findings_are_cut_at_a_sentence_and_told_in_full_elsewhere(made):
    brief, full = in_brief(made)
    for short, whole in zip(rows(brief), rows(made), strict=True):
        told, finding = short.pop(COLUMNS[3]), whole.pop(COLUMNS[3])
        assert short == whole
        if told != finding:
            assert len(finding) > LIMIT >= len(told.split(" ...")[0])
            assert finding.startswith(told.split(" ...")[0])
            assert finding in full


class TestTheMaker:
    CELL = "our lines: @@ 1.5 % @@ liu-fig3 L-22: line is flat"

    def test_without_a_record_says_what_was_recorded_before(self, tmp_path):
        told, verdict, command, _ = made_row(tmp_path, self.CELL, "fails")
        assert told == f"our lines: 1.5 % {NOT_ON_RECORD}"
        assert (verdict, command) == ("fails", COMMAND)

    def test_takes_numbers_and_verdicts_from_the_record_and_counts_them(self, tmp_path):
        recorded(tmp_path / "record", finding("L-22", "fails", "range 7.3 %"))
        told, verdict, command, page = made_row(tmp_path, self.CELL)
        assert told == "our lines: range 7.3 %"
        assert verdict == "fails"
        assert command == f"{COMMAND}, `record/liu-fig3.csv`"
        assert "Of 1 claims checked" in page
        assert "0 hold and 1 do not; 0 are undecided" in page

    def test_a_bar_in_the_numbers_ends_no_cell(self, tmp_path):
        recorded(tmp_path / "record", finding("L-22", "holds", "largest |z| 1.3 | bound 3.3"))
        assert made_row(tmp_path, self.CELL)[0] == r"our lines: largest \|z\| 1.3, bound 3.3"

    def test_says_when_the_code_has_changed_since(self, tmp_path):
        recorded(tmp_path / "record", finding("L-22", "holds", "range 2 %"))
        file = tmp_path / "record" / "liu-fig3.toml"
        text = file.read_text()
        file.write_text(re.sub(r'code = "\w+"', 'code = "0123456789abcdef"', text))
        told, _, _, _ = made_row(tmp_path, self.CELL)
        assert told == f"our lines: range 2 % {STALE}"

    @pytest.mark.parametrize(
        ("found", "written", "made"),
        [
            (("holds", "undecided"), "holds", "undecided"),
            (("holds", "fails"), "holds", "fails"),
            (("holds", "holds"), "undecided", "holds"),
            (("fails", "holds"), "ours", "ours"),
            (("holds", "holds"), AFTERWARDS, AFTERWARDS),
            (("fails", "holds"), AFTERWARDS, "fails"),
        ],
    )
    def test_a_verdict_is_computed_of_all_findings(self, tmp_path, found, written, made):
        recorded(tmp_path / "record", *(finding("L-22", word, word) for word in found))
        assert made_row(tmp_path, self.CELL, written)[1] == made

    @pytest.mark.parametrize("cell", ["a @@ b", "a @@ b @@ c", "a @@ b @@ liu-fig3 L-22: steep"])
    def test_a_reference_that_leads_nowhere_is_an_error_with_its_place(self, tmp_path, cell):
        recorded(tmp_path / "record", finding("L-22", "holds", "x"))
        with pytest.raises(ModelError, match=r"head\.md:5"):
            made_row(tmp_path, cell)

    def test_joins_every_file_of_the_folder(self, tmp_path):
        folder = written_row(tmp_path / "written", "seen")
        more = (folder / "head.md").read_text().split("\n\n", 1)[1]
        for name in ("specification", "qin", "mesh"):
            (folder / f"{name}.md").write_text(f"## {name}\n\n{more}")
        page = claims_page(folder, tmp_path / "record")
        assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == [
            "mesh",
            "qin",
            "specification",
        ]
        assert "Of 4 claims checked" in page
        assert "specification, 4 hold and 0 do not" in page

    def test_a_damaged_record_is_named(self, tmp_path):
        recorded(tmp_path / "record", finding("L-22", "holds", "x"))
        (tmp_path / "record" / "liu-fig3.csv").unlink()
        with pytest.raises(ModelError, match="lacks its table"):
            made_row(tmp_path, self.CELL)

    def test_a_record_keeps_every_digit_and_says_how_it_was_made(self, tmp_path):
        recorded(tmp_path, finding("L-22", "holds", 'a, "b"'))
        assert (tmp_path / "liu-fig3.csv").read_text() == "x\n0.1\n0.3333333333333333\n"
        record = read_record(tmp_path, "liu-fig3")
        assert tuple(record.provenance) == KEYS
        assert (record.fresh, record.findings[0].detail) == (True, 'a, "b"')
        file = tmp_path / "liu-fig3.toml"
        # results of another version of the code are not of this one, whoever wrote them down
        told = file.read_text().replace("validate liu-fig3", "validate liu-fig3 --reuse")
        assert told != file.read_text()
        file.write_text(told)
        assert not read_record(tmp_path, "liu-fig3").fresh
        assert re.fullmatch(r"[0-9a-f]{40}\+?|unknown", record.provenance["commit"])
