"""Scenario files of every command, hostile or damaged: a plan or a typed error, within a second.

Written down before the reader was tried with them: tables within tables, dotted keys without end,
numbers of 10^5 digits, keys and tables by the ten thousand, lists that multiply, and damaged
copies of sound files.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qmodels.commands import effort, predict, recommend
from qmodels.errors import ModelError, ScenarioError
from qmodels.io import load_scenario
from qmodels.io.settings import parse_settings
from tests.command import invoked
from tests.mutations import mutated, processor_seconds
from validation.checkpoints.scenario import CheckpointFile, checkpoint_plan
from validation.cluster.scenario import load_balance
from validation.commands import study
from validation.machine.scenario import load_plan
from validation.slices.scenario import SliceFile, slice_plan

STUDY = """title = "small"
seed = 3
[machine]
processors = 16
disks = 4
min_processors = 2
[demand]
scv = 2.5
[arrivals]
alpha = [0.5, 0.5]
T = [[-1.0, 0.0], [0.0, -3.0]]
[[program]]
name = "alpha"
weight = 2.0
repeat = 4
io = { total = 8.0, law = "min(d, p/4)" }
cpu = { total = 64.0, sequential = 0.4, slowdown = { up_to_processors = 4, factor = 1.5 } }
[[program]]
name = "beta"
working_sets = [{ repeat = 2, phases = [{ io = { seconds = 1.0 }, cpu = { seconds = 9.0 } }] }]
phase_count = { mean = 5.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 4]
disk_partitions = [1, 4]
[[policy]]
kind = "DP"
disk_partitions = 2
[[policy]]
kind = "TS"
processor_partitions = [2]
disk_partitions = [2]
[surface]
processors = [1, 2, 8]
[study]
loads = [0.5, 0.1]
[validation]
policies = ["SP(4,1)", "DP(2)"]
capacity_fractions = [0.3]
replications = 4
"""
ALLOCATE = """title = "strategies"
seed = 1
mesh = [8, 8]
[machine]
strategies = ["FF", "MBS", "Paging"]
discipline = "EASY"
network = "worm"
hop = 2
[jobs]
source = "poisson"
count = 100
mean_size = 5.0
utilisation = 0.6
[traffic]
kind = "mixed"
flits = 5
[study]
replications = 2
times = [10.0, 20.0]
"""
BALANCE = """title = "balancers"
seed = 2
balancers = ["IOCM-PM", "CPU", "NLB"]
[cluster]
[[nodes]]
count = 4
[[nodes]]
count = 2
[jobs]
source = "synthetic"
count = 50
disk_load = 0.4
[study]
replications = 2
"""
SLICES = """[pod]
blocks = "4x4x4"
wrap = true
[jobs]
mix = "halving"
load = 0.6
count = 400
[study]
strategies = ["any-blocks", "TFF"]
disciplines = ["FCFS"]
replications = 2
seed = 1
"""
CHECKPOINT = """[job]
jobs = 16
model = "llama3-8b"
interval = "1h"
mtbf = "24.7h"
downtime = "10min"
mode = "blocking"
[storage]
bandwidth = "20GB/s"
writers = 2
"""
#: A sound file of each command, and what reads it. `sweep` reads the first two.
FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "study": (STUDY, load_scenario),
    "allocate": (ALLOCATE, load_plan),
    "balance": (BALANCE, load_balance),
    "slices": (SLICES, lambda file: slice_plan(file, SliceFile.read(file))),
    "checkpoint": (CHECKPOINT, lambda file: checkpoint_plan(CheckpointFile.read(file))),
}


def toml(folder: Path, text: str | bytes) -> Path:
    file = folder / "plan.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize("name", FILES)
def test_the_files_that_are_damaged_here_are_sound(tmp_path, name):
    text, read = FILES[name]
    assert read(toml(tmp_path, text)) is not None


HOSTILE = {
    "a header of 3,000 names": ("[" + ".".join("a" * 3000) + "]\nx = 1\n", "nested too deeply"),
    "a key of 100,000 names": (".".join("a" * 100_000) + " = 1\n", "nested too deeply"),
    "a quoted key of 40 names": (".".join(['"a b"'] * 40) + " = 1\n", "nested too deeply"),
    "lists within lists": ("x = " + "[" * 40 + "]" * 40 + "\n", "x.*is nested too deeply"),
    "brackets without end": ("x = " + "[" * 5000, "nested too deeply"),
    "10^5 digits": ("\nx = " + "9" * 100_000 + "\n", "number of thousands of digits in line"),
    "10^5 hexadecimal digits": ("x = 0x" + "f" * 100_000 + "\n", "x: is a whole number of more"),
    "a key of 10^5 letters": ("k" * 100_000 + " = 1\n", r"k{60}\.\.\.: unknown key"),
    "10^5 letters": ("title = [" + repr("t" * 100_000) + "]\n", "valid string|unknown key"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_of_any_command_is_refused_in_a_line(tmp_path, name, what):
    text, read = FILES[name]
    hostile, says = HOSTILE[what]
    text = text.replace('title = "', 'notes = "') if "title" in hostile else text
    # A table goes behind the others, a key before them.
    text = f"{text}\n{hostile}" if hostile.startswith("[") else f"{hostile}\n{text}"
    with processor_seconds(1.0), pytest.raises(ScenarioError, match=says) as caught:
        read(toml(tmp_path, text))
    assert all(len(line) < 400 for line in str(caught.value).splitlines())


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_of_thousands_of_faults_twenty_are_told_and_counted(tmp_path, name):
    text, read = FILES[name]
    keys = "".join(f"unknown{i} = 1\n" for i in range(20_000))
    with processor_seconds(2.0), pytest.raises(ScenarioError) as caught:
        read(toml(tmp_path, f"{keys}{text}"))
    assert (len(caught.value.problems), caught.value.more) == (20, 19_980)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1].endswith("plan.toml: and 19,980 more faults like these")


@pytest.mark.thorough
def test_ten_thousand_bad_programs_are_twenty_lines_and_a_count(tmp_path):
    bad = '[[program]]\nname = ""\nrepeat = 0\nio = { totl = 1 }\n' * 5000
    with pytest.raises(ScenarioError, match=r"and 14,9.. more faults like these") as caught:
        load_scenario(toml(tmp_path, STUDY + bad))
    assert len(str(caught.value).splitlines()) == 21


def test_faults_of_settings_are_counted_too(tmp_path):
    keys = "".join(f"unknown{i} = 1\n" for i in range(100))
    with pytest.raises(ScenarioError, match=r"and 8. more faults like these"):
        load_scenario(toml(tmp_path, keys + STUDY), settings={"machine.disks": 0})


def test_settings_that_are_hostile_are_refused_as_those_of_a_file(tmp_path):
    for word in ("seed=0x" + "f" * 20_000, "seed=" + "9" * 20_000, "machine." + "a." * 99 + "b=1"):
        with processor_seconds(1.0), pytest.raises(ModelError):
            load_scenario(toml(tmp_path, STUDY), settings=parse_settings([word]))


def test_lists_that_multiply_to_millions_are_refused_with_what_would_do(tmp_path):
    many = f"[{', '.join(['1', '2'] * 5000)}]"
    text = STUDY.replace("processor_partitions = [1, 4]", f"processor_partitions = {many}")
    with (
        processor_seconds(1.0),
        pytest.raises(ScenarioError, match=r"policy\[0\]: .* stand for 20,000 policies; .* may have 10,000"),
    ):
        load_scenario(toml(tmp_path, text))
    sides = ", ".join(map(str, range(1, 1501)))
    large = STUDY.replace("processors = 16\ndisks = 4", "processors = 1500\ndisks = 1500")
    large = large.replace("processors = [1, 2, 8]", f"processors = [{sides}]\ndisks = [{sides}]")
    with processor_seconds(1.0), pytest.raises(ScenarioError, match="too many to draw"):
        load_scenario(toml(tmp_path, large))


# --- work that would take long -------------------------------------------------------------------


def many_loads(count: int) -> str:
    loads = ", ".join(f"{(i + 1) / (count + 2):.6f}" for i in range(count))
    return STUDY.replace("loads = [0.5, 0.1]", f"loads = [{loads}]")


@pytest.mark.thorough
def test_thousands_of_loads_are_estimated_before_they_are_begun(tmp_path):
    done = invoked(predict.register, "predict", toml(tmp_path, many_loads(30_000)))
    said = str(done.exception)
    assert "30,000 loads of 6 policies are 180,000 predictions, some " in said
    assert "of computing; name " in said
    assert said.endswith(" loads, or give --long and wait")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("register", "words"),
    [
        (predict.register, ["predict"]),
        (recommend.register, ["recommend", "--listed"]),
        (study.register, ["study", "-o", "out"]),
    ],
)
def test_predictions_that_take_long_are_made_where_they_are_asked_for(tmp_path, monkeypatch, register, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(effort, "MOST_PREDICTIONS", 5)
    monkeypatch.setattr(effort, "MOST_SECONDS", 0.0)
    done = invoked(register, *words, toml(tmp_path, STUDY))
    assert "2 loads of 6 policies are 12 predictions" in str(done.exception)
    assert not (tmp_path / "out").exists()
    if words == ["predict"]:
        assert invoked(register, *words, tmp_path / "plan.toml", "--long").exit_code == 0
        monkeypatch.setattr(effort, "MOST_SECONDS", 60.0)  # some, but soon made
        assert invoked(register, *words, tmp_path / "plan.toml").exit_code == 0


def test_thousands_of_simulated_runs_are_not_begun_unasked(tmp_path):
    fractions = ", ".join(f"{(i + 1) / 2002:.6f}" for i in range(2000))
    text = STUDY.replace("capacity_fractions = [0.3]", f"capacity_fractions = [{fractions}]")
    done = invoked(study.register, "study", toml(tmp_path, text), "-o", tmp_path / "out")
    said = str(done.exception)
    assert "4,000 points with 4 replications are 16,000 simulated runs" in said
    assert "name 625 capacity_fractions" in said


# --- damaged copies ------------------------------------------------------------------------------

#: What takes the place of a value, and lines that are put in.
_VALUES = (
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    '""',
    '"x"',
    "[]",
    "{}",
    "true",
    "9" * 18,
    "9" * 40,
    "1e-300",
    "[[1]]",
    "0x7fffffffffffffff",
    "1979-05-27",
    "[1, 2, 3]",
    '"SP(1,1)"',
    "1e18",
    "1000000",
)
_LINES = ("[a]", "[[a]]", "[machine]", "x = 1", "x = [", "a.b.c.d = 1", '"" = 1', "seed = 1e5", "]")


def damaged(text: bytes, rng: np.random.Generator) -> bytes:
    """A file after accidents to its bytes, or to its lines and values."""
    if rng.random() < 0.2:
        return mutated(text, rng)
    lines = text.decode().split("\n")
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(len(lines)))
        match rng.integers(9):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[rng.integers(len(lines))])
            case 2:
                lines.insert(at, _LINES[rng.integers(len(_LINES))])
            case 3:
                lines[at] *= int(rng.integers(2, 50))
            case _:
                key, equals, _ = lines[at].partition("=")
                if equals:
                    lines[at] = f"{key}= {_VALUES[rng.integers(len(_VALUES))]}"
        lines = lines or ["x"]
    return "\n".join(lines).encode()


def outcomes(folder: Path, name: str, rounds: int, seed: int) -> Counter[str]:
    """Read damaged copies, each within a second of processor time; `seed` makes them again."""
    rng = np.random.default_rng([seed, list(FILES).index(name)])
    text, read = FILES[name]
    seen: Counter[str] = Counter()
    read(toml(folder, text))  # what is loaded and compiled once
    for number in range(rounds):
        file = toml(folder, damaged(text.encode(), rng))
        try:
            with processor_seconds(1.0):
                read(file)
            seen["read"] += 1
        except ModelError as error:
            kind = "refused by its file" if isinstance(error, ScenarioError) else "refused"
            seen[kind] += 1
        except Exception as error:
            error.add_note(f"copy {number} of {name} files of seed {seed}")
            raise
    return seen


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_give_a_plan_or_a_typed_error_within_a_second(tmp_path, name):
    seen = outcomes(tmp_path, name, 60, seed=20261123)
    assert min(seen["read"], 60 - seen["read"]) > 2, seen


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_ten_thousand_damaged_files_give_a_plan_or_a_typed_error(tmp_path, name, record_property):
    """Fresh ones each time; the seed is on record."""
    seed = secrets.randbits(32)
    record_property("seed", seed)
    for what, count in outcomes(tmp_path, name, 10_000, seed).items():
        record_property(what, count)
