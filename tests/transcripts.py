"""Shell sessions of the pages: ``console`` blocks are run, and what they show is compared.

A block is a session as a reader sees it: lines that begin with ``$`` are given to a shell, lines
that begin with ``>`` go on with the command before them, and what follows is what it prints. All
blocks of a page are run one after the other in one folder, in which ``docs`` is that of the
project, as in a fresh clone. ``...`` stands for anything, and it does not matter where lines are
broken, as in doctests. A command under which nothing is shown has to end well, whatever it prints.

Commands have to end with exit code 0, unless ``$ echo $?`` after them shows another. A line of its
own right before a block says where it is not to be run by every test::

    <!-- slow -->                    only by the long campaigns, with --full
    <!-- slow: swf/site.swf.gz -->   with --full, where these public data lie in ../shared/data; the
                                     session finds them under their own names
    <!-- not run: needs a cluster -->   never, and why
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from tests.command import called

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NOT_RUN = "not run: "
_NEEDS = "slow: "


class TranscriptError(ValueError):
    """A page says something about its blocks that cannot be understood."""


@dataclass(frozen=True)
class Step:
    """A command, the line of the page on which it stands, and what it prints there."""

    line: int
    command: str
    shown: str


@dataclass(frozen=True)
class Block:
    """Steps of one block; `reason` says why they are not run, where they are not."""

    steps: tuple[Step, ...]
    slow: bool = False
    reason: str = ""
    data: tuple[str, ...] = ()


def read_blocks(text: str) -> list[Block]:
    """Take the ``console`` blocks out of the text of a page.

    Raises
    ------
    TranscriptError
        If a block does not begin with a command, is marked by other words than those above, or
        shows nothing but an ellipsis, which would hold for any output.
    """
    blocks = []
    for found in _BLOCK.finditer(text):
        mark = found["mark"] or ""
        if mark not in ("", "slow") and not mark.startswith((_NOT_RUN, _NEEDS)):
            raise TranscriptError(f"<!-- {mark} --> says nothing of the block after it")
        first = text.count("\n", 0, found.start("text")) + 1
        steps = _read_steps(found["text"].splitlines(), first)
        reason = mark.removeprefix(_NOT_RUN) if mark.startswith(_NOT_RUN) else ""
        data = tuple(mark.removeprefix(_NEEDS).split()) if mark.startswith(_NEEDS) else ()
        blocks.append(Block(steps, mark == "slow" or bool(data), reason, data))
    return blocks


def _read_steps(lines: list[str], first: int) -> tuple[Step, ...]:
    commands: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            commands.append((number, [line[2:]], []))
        elif not commands:
            raise TranscriptError(f"line {number}: a block begins with a command, after '$ '")
        elif line.startswith("> ") and not commands[-1][2]:
            commands[-1][1].append(line[2:])
        else:
            commands[-1][2].append(line + "\n")
    steps = tuple(Step(at, "\n".join(said), "".join(shown)) for at, said, shown in commands)
    for step in steps:
        if step.shown and not step.shown.replace("...", "").strip():
            raise TranscriptError(f"line {step.line}: '...' alone holds for any output")
    return steps


@dataclass
class Session:
    """A shell in a folder, in which ``qmodels`` runs without starting another Python."""

    folder: Path
    project: Path
    code: int = 0
    #: Seconds of processor time, of this process and its children, for each command.
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "docs").symlink_to(self.project / "docs", target_is_directory=True)

    def has(self, data: tuple[str, ...]) -> bool:
        """Whether public data lie beside the project; if so they are put into the folder."""
        found = [self.project.parent / "shared" / "data" / path for path in data]
        if not all(path.exists() for path in found):
            return False
        for path in found:
            link = self.folder / path.name
            if not link.is_symlink():
                link.symlink_to(path)
        return True

    def run(self, command: str) -> str:
        """Give a line to the shell and return all that it prints."""
        if command.strip() == "echo $?":
            return f"{self.code}\n"
        before = _processor_time()
        words = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=">|;&")
        words.whitespace_split, words.commenters = True, "#"
        said = list(words)
        printed = self._qmodels(said[1:]) if said[0] == "qmodels" else self._shell(command)
        self.seconds[command] = _processor_time() - before
        return printed

    def _qmodels(self, said: list[str]) -> str:
        end = next((at for at, word in enumerate(said) if word in (">", "|")), len(said))
        # A bar on a terminal, which goes away, is lines where there is none: not shown on a page.
        with (
            chdir(self.folder),
            mock.patch("qmodels.commands.progress.print", create=True),
            mock.patch.dict(os.environ, _environment()),
        ):
            done = called(*said[:end], together=end == len(said))
        self.code = done.returncode
        if end == len(said):
            return done.stdout
        if said[end] == ">":
            (self.folder / said[end + 1]).write_text(done.stdout, encoding="utf-8")
            return done.stderr
        return done.stderr + self._shell(shlex.join(said[end + 1 :]), done.stdout)

    def _shell(self, command: str, given: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=_environment(),
            input=given,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.code = done.returncode
        return done.stdout


def _environment() -> dict[str, str]:
    """Today's, in which ``python`` is this one and sorting is that of C."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(paths), "LC_ALL": "C"}


def _processor_time() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def differences(blocks: list[Block], session: Session, *, full: bool) -> list[str]:
    """Run blocks in a session and return, in words, what is not as the page shows it.

    Parameters
    ----------
    blocks : list of Block
        Of one page.
    session : Session
        Where they are run, and where the time that they took is kept.
    full : bool
        Run the slow blocks, too.
    """
    checker, found = doctest.OutputChecker(), []
    for block in blocks:
        if block.reason or (block.slow and not full) or not session.has(block.data):
            continue
        for step, after in zip(block.steps, [*block.steps[1:], None], strict=True):
            got = session.run(step.command)
            if step.shown and not checker.check_output(step.shown, got, FLAGS):
                example = doctest.Example(step.command, step.shown)
                told = checker.output_difference(example, got, FLAGS)
                found.append(f"line {step.line}: $ {step.command}\n{told}")
            asked = after is not None and after.command.strip() == "echo $?"
            if session.code and not asked and step.command.strip() != "echo $?":
                found.append(f"line {step.line}: $ {step.command}\nexit code {session.code}\n{got}")
    return found


def main(pages: list[str]) -> None:
    """Print what the commands of pages print today, and the processor time that each takes."""
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(Path(folder), Path(__file__).resolve().parents[1])
            for block in read_blocks(Path(page).read_text(encoding="utf-8")):
                for step in () if block.reason or not session.has(block.data) else block.steps:
                    print(f"$ {step.command}", flush=True)
                    print(session.run(step.command), end="")
            for command, seconds in session.seconds.items():
                print(f"{seconds:7.1f} s  {command}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
