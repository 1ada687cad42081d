"""Which tests a mutant meets."""

import json

import pytest

from tests.mutants.__main__ import ROOT, SEED, Mutant, record_of
from tests.mutants.__main__ import Tests as OfALine

coverage = pytest.importorskip("coverage")
FILE = "qmodels/policies/system.py"


@pytest.mark.parametrize(
    ("begins", "looked_at"),
    [("@dataclass", True), ("    @property", True), ("class ", True), ("        return ", False)],
)
def test_a_fault_outside_of_function_bodies_meets_the_tests_that_look_at_classes(begins, looked_at, tmp_path):
    """Even where coverage saw the line in one test alone, the first to import the module."""
    lines = (ROOT / FILE).read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, start=1) if line.startswith(begins))
    data = coverage.CoverageData(str(tmp_path / "coverage"))
    for name, seen in (("tests/test_a.py::test_it", number), ("tests/test_b.py::test_it", number + 1)):
        data.set_context(f"{name}|run")
        data.add_lines({str(ROOT / FILE): [seen]})
    data.write()
    of_records = "tests/test_records.py::test_there_are_records_to_look_at"
    seconds = {"tests/test_a.py::test_it": 1.0, "tests/test_b.py::test_it": 2.0, of_records: 3.0}
    (tmp_path / "durations.json").write_text(json.dumps(seconds), encoding="utf-8")
    found = OfALine(tmp_path).of(Mutant(FILE, number, 0, "core/RemoveDecorator", 0))
    every = [of_records, "tests/test_a.py::test_it", "tests/test_b.py::test_it"]
    assert found == (every if looked_at else every[1:2])


def test_another_seed_or_suite_has_a_record_of_its_own():
    asked = [(SEED, False), (SEED, True), (7, False), (7, True)]
    names = ["mutants.jsonl", "mutants-quick.jsonl", "mutants-7.jsonl", "mutants-7-quick.jsonl"]
    assert [record_of(*each).name for each in asked] == names
