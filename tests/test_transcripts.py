"""What the pages show of a shell is what it prints; each of the thirteen stories is such a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.transcripts import Session, Step, TranscriptError, differences, read_blocks

ROOT = Path(__file__).resolve().parents[1]
STORIES = ROOT / "docs/stories.md"
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if path.relative_to(ROOT).parts[1:2] not in (("_build",), ("gallery",), ("record",))
    and "```console" in path.read_text(encoding="utf-8")
]


def stories() -> list[Path]:
    """Pages that the table of stories leads to, in its order."""
    rows = re.findall(r"^\| \d+ \|.*", STORIES.read_text(encoding="utf-8"), re.MULTILINE)
    return [(STORIES.parent / re.search(r"\]\(([\w/.-]+\.md)", row)[1]).resolve() for row in rows]


@pytest.mark.thorough(but=["share-a-storage-quick"])
@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick", "full"])
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_shell_prints_what_the_page_shows(page, full, tmp_path):
    blocks = read_blocks(page.read_text(encoding="utf-8"))
    session = Session(tmp_path, ROOT)
    found = differences(blocks, session, full=full)
    for command, seconds in session.seconds.items():
        print(f"{seconds:6.1f} s  {command}")  # seen with -rP
    assert found == [], "\n\n".join(found)


def test_there_are_thirteen_stories():
    assert len(set(stories())) == 13


@pytest.mark.parametrize("page", stories(), ids=lambda path: path.stem)
def test_a_story_begins_with_a_command_and_ends_with_a_decision(page):
    text = page.read_text(encoding="utf-8")
    assert text.index("```console\n$ ") == text.index("```")
    first = next(block for block in read_blocks(text))
    assert not first.reason, "the command that a story begins with is run"
    assert any(step.shown for step in first.steps)
    paragraphs = text.strip().split("\n\n")
    assert paragraphs[-1].startswith("**The decision.** ")
    assert len(paragraphs[-1].split()) >= 20


PAGE = """
<!-- slow -->
```console
$ qmodels --version
qmodels ...
```
<!-- not run: needs a cluster -->
```console
$ srun qmodels
```

```console
$ printf 'a\\n' |
> cat
a
$ false
$ echo $?
1
```
"""


def test_blocks_are_read_with_their_lines_and_marks():
    slow, never, quick = read_blocks(PAGE)
    assert (slow.slow, never.slow, quick.slow) == (True, False, False)
    assert (slow.reason, never.reason, quick.reason) == ("", "needs a cluster", "")
    assert slow.steps == (Step(4, "qmodels --version", "qmodels ...\n"),)
    assert quick.steps[0] == Step(13, "printf 'a\\n' |\ncat", "a\n")


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```console\n$ printf 'a b\\n'\na  b\n```", []),
        ("```console\n$ printf 'a\\nb\\n'\na\nc\n```", ["line 2: $ printf"]),
        ("```console\n$ printf 'a\\n'\na\nb\n```", ["line 2: $ printf"]),
        ("```console\n$ false\n```", ["exit code 1"]),
        ("```console\n$ false\n$ echo $?\n0\n```", ["line 3: $ echo $?"]),
        ("```console\n$ qmodels nothing\n$ echo $?\n2\n```", []),
        ("```console\n$ qmodels nothing\nDone.\n$ echo $?\n2\n```", ["line 2: $ qmodels nothing"]),
        ("```console\n$ qmodels --version > it\n$ cut -c1-8 it\nqmodels\n```", []),
        ("```console\n$ qmodels --version | cut -c1-8\nqmodels\n```", []),
        ("<!-- slow -->\n```console\n$ false\n```", []),
        ("<!-- not run: a reason -->\n```console\n$ false\n```", []),
    ],
)
def test_what_is_not_as_shown_is_told(page, said, tmp_path):
    found = differences(read_blocks(page), Session(tmp_path, ROOT), full=False)
    assert len(found) == len(said)
    assert all(words in told for words, told in zip(said, found, strict=True))


def test_public_data_are_found_by_their_names_or_the_block_is_not_run(tmp_path):
    (tmp_path / "shared/data/swf").mkdir(parents=True)
    (tmp_path / "shared/data/swf/a.swf").write_text("1 2\n")
    for name, said in (("a", ["line 3: $ cat"]), ("b", [])):
        (tmp_path / name).mkdir()
        page = f"<!-- slow: swf/{name}.swf -->\n```console\n$ cat {name}.swf\n1 3\n```"
        session = Session(tmp_path / name, tmp_path / "project")
        found = differences(read_blocks(page), session, full=True)
        assert [told[: len(words)] for told, words in zip(found, said, strict=True)] == said
        assert differences(read_blocks(page), session, full=False) == []


@pytest.mark.parametrize(
    "page",
    [
        "```console\nqmodels\n```",
        "```console\n$ ls\n...\n```",
        "<!-- later -->\n```console\n$ ls\n```",
    ],
)
def test_a_block_that_could_not_fail_is_refused(page):
    with pytest.raises(TranscriptError):
        read_blocks(page)
