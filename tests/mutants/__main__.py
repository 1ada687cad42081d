"""Change the core in one place at a time and see whether a test notices: ``make mutants``.

The changes are made by cosmic-ray. A sample of them is drawn with a seed; each is tried in a copy
of the repository, with the tests that run its line, the quickest first, up to the first that fails.
Those lines are known from one run of the whole suite with coverage contexts, kept in ``.mutants``
until it is removed or ``--map`` is given. What each mutant met is kept in ``docs/record/mutants.jsonl``
(of another seed in a file of its own) and holds as long as its file is what it was: what was stopped, or was
asked for a few with ``--most``, goes on where it ended.

A mutant is drawn in two steps: a place in the code (an operator, a number, a decorator ...), each
as likely, then one of the changes there. Bitwise operators are not put in the place of arithmetic
ones, since a float refuses them and every test would notice. Annotations are left out (nothing
evaluates them), as are compiled kernels, and the drawing of figures (looked at, not computed with).
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutants"
SEED = 20261121
CORE = (
    "qmodels/markov",
    "qmodels/networks",
    "qmodels/policies",
    "qmodels/programs",
    "validation/sharing",
    "validation/machine",
    "validation/allocation",
    "validation/analysis",
)
#: Outcomes of a mutant that a test noticed.
NOTICED = ("killed", "endless")
BITWISE = ("BitAnd", "BitOr", "BitXor", "LShift", "RShift")
#: Tests that look at classes and modules without running a line of them.
INSPECTING = ("tests/test_records.py", "tests/test_house.py")
#: Seconds of tests tried first; what survives them meets the rest of its tests as well.
FIRST = 30.0
#: A run longer than this many times its tests' usual time, and a minute, is an endless loop.
SLOWER = 8.0


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: the occurrence-th place that an operator of cosmic-ray finds in a file."""

    file: str
    line: int
    column: int
    operator: str
    occurrence: int

    @property
    def place(self) -> tuple[str, int, int, str]:
        """Where it is, and what kind of thing is changed."""
        kind = self.operator.removeprefix("core/").split("_")[0]
        return self.file, self.line, self.column, kind


def record_of(seed: int, quick: bool) -> Path:
    """Where it is kept what mutants met, of whoever ran them: a file for each seed and suite."""
    other = f"-{seed}" * (seed != SEED) + "-quick" * quick
    return ROOT / "docs" / "record" / f"mutants{other}.jsonl"


def sources() -> list[Path]:
    """Files of the core, without compiled kernels and drawings."""
    files = (file for part in CORE for file in sorted((ROOT / part).rglob("*.py")))
    kernels_apart = [file for file in files if "_kernels" not in file.parent.name + file.name]
    return [file for file in kernels_apart if file.stem != "plotting"]


def annotations(tree: ast.AST) -> Iterator[ast.expr]:
    """Type annotations, which no run evaluates."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            given = getattr(node, name, None)
            if isinstance(given, ast.expr):
                yield given


def mutants() -> list[Mutant]:
    """Every change that cosmic-ray knows for the core."""
    import cosmic_ray.plugins as plugins
    from cosmic_ray.ast import ast_nodes, get_ast_from_path

    operators = {}
    for name in sorted(plugins.operator_names()):
        made = plugins.get_operator(name)
        if not made.arguments() and not name.endswith(BITWISE) and name != "core/NoOp":
            operators[name] = made()
    found = []
    for file in sources():
        spans = [
            ((a.lineno, a.col_offset), (a.end_lineno, a.end_col_offset))
            for a in annotations(ast.parse(file.read_text(encoding="utf-8")))
        ]
        nodes = list(ast_nodes(get_ast_from_path(file)))
        for name, operator in operators.items():
            positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
            for occurrence, (line, column) in enumerate(positions):
                if not any(begin <= (line, column) < end for begin, end in spans):
                    relative = file.relative_to(ROOT).as_posix()
                    found.append(Mutant(relative, line, column, name, occurrence))
    return sorted(found)


def sample(every: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """Draw places, then a change at each."""
    places = defaultdict(list)
    for mutant in every:
        places[mutant.place].append(mutant)
    chance = random.Random(seed)
    return [chance.choice(places[p]) for p in chance.sample(sorted(places), min(size, len(places)))]


def surroundings(folder: Path) -> dict[str, str]:
    """Environment of a run in a copy: its own packages, and the shared data where they are."""
    beside = ROOT.parent / "shared" / "data"
    return os.environ | {
        "PYTHONPATH": str(folder),
        "QMODELS_DATA": os.environ.get("QMODELS_DATA", str(beside)),
    }


def suite_mapped(kept: Path, again: bool, tests: list[str], workers: int) -> None:
    """Run the suite, or some tests, to know which run which lines and how long they take.

    In a copy, as the mutants are: what is not green there would kill every one of them.
    """
    if not again and (kept / "coverage").exists():
        return
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as top:
        folder = copied(Path(top) / "map")
        environment = surroundings(folder) | {
            "COVERAGE_FILE": str(kept / "coverage"),
            "MUTANTS_DURATIONS": str(kept / "durations.json"),
        }
        # With the few random examples of the gate, which run the same lines.
        words = f"-q -n {workers} --dist loadfile -p tests.mutants.durations "
        words += "--cov --cov-context=test --cov-report= --cov-fail-under=0"
        command = [sys.executable, "-m", "pytest", *words.split(), *tests]
        if subprocess.run(command, cwd=folder, env=environment).returncode:
            (kept / "coverage").unlink(missing_ok=True)
            raise SystemExit("the suite is not green; mutants would tell nothing")


def in_function(file: Path, line: int) -> bool:
    """Whether a line belongs to the body of a function; all others are run when a file is imported.

    Coverage alone does not tell: what a test is the first to import it counts among the lines of that test.
    """
    functions = (
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(node.body[0].lineno <= line <= (node.end_lineno or 0) for node in functions)


class Tests:
    """Which tests run a line, the quickest first."""

    def __init__(self, kept: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(kept / "coverage"))
        self._data.read()
        self._files = {}
        for file in self._data.measured_files():
            for part in ("phasefit", "qmodels", "validation"):
                at = file.find(f"/{part}/")
                if at >= 0:
                    self._files[file[at + 1 :]] = file
        text = (kept / "durations.json").read_text(encoding="utf-8")
        self.seconds: dict[str, float] = json.loads(text)

    def of(self, mutant: Mutant) -> list[str]:
        """Tests that run the line; all that run the file if it is run when that is imported."""
        if mutant.file not in self._files:
            return []
        by_line = self._data.contexts_by_lineno(self._files[mutant.file])
        # A statement is measured at its first line.
        near = [line for line in by_line if line <= mutant.line]
        found = set(by_line[max(near)]) if near else {""}
        at_import = "" in found or not in_function(ROOT / mutant.file, mutant.line)
        if at_import:
            found = set().union(*by_line.values())
        names = {context.rpartition("|")[0] for context in found} - {""}
        if at_import:
            names |= {name for name in self.seconds if name.startswith(INSPECTING)}
        return sorted(
            names & set(self.seconds),
            key=lambda name: (not name.startswith(INSPECTING), self.seconds[name], name),
        )

    def within(self, names: list[str], seconds: float) -> list[str]:
        """Return the first of them, so many that they fill the seconds."""
        spent, count = 0.0, 0
        while count < len(names) and spent < seconds:
            spent += self.seconds[names[count]]
            count += 1
        return names[:count]

    def usual(self, names: list[str]) -> float:
        """Return the seconds that they take."""
        return sum(self.seconds[name] for name in names)


def pytest_run(folder: Path, tests: list[str], usual: float) -> str:
    """Outcome in a copy: "killed", "survived" or "endless"."""
    chosen = folder / "chosen-tests.txt"
    chosen.write_text("\n".join(tests) + "\n", encoding="utf-8")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--hypothesis-profile=full",
            f"@{chosen}",
        ],
        cwd=folder,
        env=surroundings(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(timeout=60.0 + SLOWER * usual)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "endless"
    # 0: all passed; 5: no test was there. All else is a failure, or a file that cannot be imported.
    return "survived" if code in (0, 5) else "killed"


def tried(mutant: Mutant, tests: Tests, folder: Path, longest: float) -> dict[str, object]:
    """Make the change in a copy, run its tests, take the change back.

    No more than the `longest` seconds of its tests: who outlives them is a survivor, rightly or not.
    """
    import cosmic_ray.plugins as plugins
    from cosmic_ray.mutating import mutate_code

    file = folder / mutant.file
    before = file.read_text(encoding="utf-8")
    after = mutate_code(before, plugins.get_operator(mutant.operator)(), mutant.occurrence)
    assert after is not None
    covering = tests.of(mutant)
    asked = tests.within(covering, max(FIRST, longest))
    quick = len(tests.within(covering, FIRST))
    began = time.monotonic()
    outcome, run = "not run by any test", 0
    stamp = file.stat()
    try:
        file.write_text(after, encoding="utf-8")
        for part in (asked[:quick], asked[quick:]):
            if part and outcome not in NOTICED:
                outcome = pytest_run(folder, part, tests.usual(part))
                run += len(part)
    finally:
        file.write_text(before, encoding="utf-8")
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()
    difference = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    changed = [line for line in difference if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return asdict(mutant) | {
        "outcome": outcome,
        "tests": len(covering),
        "run": run,
        "change": changed,
        "seconds": round(time.monotonic() - began, 1),
    }


class Journal:
    """What mutants met, a line of JSON for each, with the file that was changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, str, int], dict[str, object]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                self._known[one["of"], one["operator"], one["occurrence"]] = one

    @staticmethod
    def _key(mutant: Mutant) -> tuple[str, str, int]:
        text = mutant.file.encode() + (ROOT / mutant.file).read_bytes()
        return hashlib.sha256(text).hexdigest()[:16], mutant.operator, mutant.occurrence

    def get(self, mutant: Mutant) -> dict[str, object] | None:
        """What a mutant met, if its file is as it was then; a survivor may meet new tests."""
        return self._known.get(self._key(mutant))

    def add(self, mutant: Mutant, met: dict[str, object]) -> None:
        """Write down what a mutant met."""
        line = json.dumps({"of": self._key(mutant)[0], **met})
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def wilson(killed: int, tried: int) -> tuple[float, float]:
    """95 % interval of a share."""
    z, part = 1.959964, killed / tried
    middle = (part + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z / (1 + z * z / tried) * math.sqrt(part * (1 - part) / tried + z * z / (4 * tried * tried))
    return middle - half, middle + half


def checked(tests: Tests, drawn: list[Mutant], folder: Path) -> None:
    """Stop unless a copy without any change is let live by the tests of the mutants."""
    names = sorted({name for mutant in drawn for name in tests.of(mutant)}, key=tests.seconds.get)
    listed = folder / "chosen-tests.txt"
    listed.write_text("\n".join(names) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", f"@{listed}"]
    found = subprocess.run(
        command, cwd=folder, env=surroundings(folder), stdout=subprocess.DEVNULL
    ).returncode
    quick = tests.within(names, 2 * FIRST)
    if found or pytest_run(folder, quick, tests.usual(quick)) != "survived":
        raise SystemExit("the tests fail in a copy without any change; use --map")
    print(f"a copy without a change passes {len(quick)} of {len(names)} tests", flush=True)


def copied(folder: Path) -> Path:
    """Copy what the tests need; times are kept, so that compiled kernels stay valid."""
    leave = shutil.ignore_patterns(".git", ".venv", ".mutants", "*-venv", "_build", "dist")
    shutil.copytree(ROOT, folder, ignore=leave, symlinks=True)
    return folder


def survivors_table(results: list[dict[str, object]]) -> str:
    """Markdown: a row for each survivor, its reason to be filled in by a reader."""
    lines = ["| place | change | tests | reason |", "|---|---|---|---|"]
    for one in results:
        if one["outcome"] not in NOTICED:
            old, new = (
                " ".join(line[1:].strip() for line in one["change"] if line[0] == sign)  # type: ignore[attr-defined]
                for sign in "-+"
            )
            shown = f"`{old}` -> `{new}`".replace("|", "\\|")
            lines.append(f"| `{one['file']}:{one['line']}` | {shown} | {one['tests']} | |")
    return "\n".join(lines)


def main() -> int:
    """Draw, try, tell; 1 if fewer are killed than asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--size", type=int, default=400)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("-j", "--workers", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.92, help="share that must be killed")
    parser.add_argument("--most", type=int, default=10**9, help="of those that are not yet in the journal")
    parser.add_argument("--longest", type=float, default=math.inf, help="seconds of tests for each")
    parser.add_argument("--again", action="store_true", help="try survivors of the journal once more")
    parser.add_argument("--map", action="store_true", help="run the suite again for its lines")
    parser.add_argument("--only", default="", help="a part of the core, as qmodels/markov/qbd")
    parser.add_argument("--tests", nargs="*", default=[], help="map with these; implies --map")
    parser.add_argument("--quick", action="store_true", help="no more than what `make test` runs")
    given = parser.parse_args()
    kept, record = KEPT, record_of(given.seed, given.quick)
    if given.quick:
        kept = KEPT / "quick"
    if given.tests:
        # Of a few tests nothing is told on record, where a survivor is one of the suite.
        kept = KEPT / "few"
        record = kept / "met.jsonl"
    asked = ["--quick"] * given.quick + given.tests
    suite_mapped(kept, given.map or bool(given.tests), asked, given.workers)
    tests = Tests(kept)
    every = [mutant for mutant in mutants() if mutant.file.startswith(given.only)]
    drawn = sample(every, given.size, given.seed)
    print(f"{len(drawn)} of {len(every)} mutants, seed {given.seed}", flush=True)
    journal = Journal(record)
    met = {mutant: journal.get(mutant) for mutant in drawn}
    if given.again:
        met = {m: one if one and one["outcome"] in NOTICED else None for m, one in met.items()}
    to_try = [mutant for mutant in drawn if met[mutant] is None][: given.most]
    print(f"{len(drawn) - sum(one is None for one in met.values())} in the journal", flush=True)
    with tempfile.TemporaryDirectory() as top, ThreadPoolExecutor(given.workers) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.workers):
            free.put(copied(Path(top) / str(number)))
        if to_try:
            checked(tests, to_try, Path(top) / "0")

        def one(mutant: Mutant) -> dict[str, object]:
            folder = free.get()
            try:
                return tried(mutant, tests, folder, given.longest)
            finally:
                free.put(folder)

        for number, (mutant, found) in enumerate(zip(to_try, pool.map(one, to_try), strict=True), start=1):
            met[mutant] = found
            journal.add(mutant, found)
            place = f"{found['file']}:{found['line']} {found['operator']}"
            said = f"{found['outcome']}, {found['run']} of {found['tests']} tests"
            print(f"{number} {place}: {said}, {found['seconds']} s", flush=True)
    results = [found for found in met.values() if found is not None]
    if not results:
        return 0
    (kept / "survivors.md").write_text(survivors_table(results) + "\n", encoding="utf-8")
    killed = sum(one["outcome"] in NOTICED for one in results)
    low, high = wilson(killed, len(results))
    print(
        f"killed {killed} of {len(results)}, {killed / len(results):.1%} (95 % interval {low:.1%} to "
        f"{high:.1%}); "
        f"{len(drawn) - len(results)} of the {len(drawn)} not tried; see {kept}/survivors.md"
    )
    return int(killed < given.least * len(results))


if __name__ == "__main__":
    sys.exit(main())
