"""The series of measured machines: how many there are, and that no pair is in both parts."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.campaigns.measured_series import FOLDER, parts, read_series, tasks

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="measured tables are not here")


@pytest.fixture(scope="module")
def series():
    return read_series()


@pytest.mark.thorough
def test_the_tasks_are_those_of_the_published_split(series):
    found = Counter((task.series.kind, task.share) for task in tasks(series))
    assert found == {("strong", 4): 122, ("strong", 8): 25, ("sia", 4): 140, ("sia", 8): 42}


@pytest.mark.thorough
def test_each_pair_of_program_and_machine_is_in_one_part_and_the_parts_are_alike(series):
    of_pair = parts(series)
    assert {(one.kind, one.program, one.machine) for one in series} == set(of_pair)
    count = Counter(of_pair.values())
    assert abs(count["fitting"] - count["checking"]) <= 2


@pytest.mark.thorough
def test_known_runs_end_at_a_quarter_of_the_target(series):
    for task in tasks(series):
        assert task.series.processors[task.known].max() <= task.target / task.share
        assert task.measured.size >= 1
