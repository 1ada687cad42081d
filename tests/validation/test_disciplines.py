"""Queue disciplines: which job is next, and who may pass."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.naive.machine import starts
from validation.jobs import JobStream
from validation.jobs.disciplines import (
    EASY,
    FCFS,
    AbstractDiscipline,
    Situation,
    Waiting,
    disciplines_by_number,
    find_discipline,
    register,
)
from validation.machine import Machine, play
from validation.mesh import Mesh


def waiting(number, size, estimate=1.0, demand=1.0):
    return Waiting(number, 0.0, size, demand, estimate)


def run(discipline, arrivals, sizes, demands, nodes=(4, 4), estimates=None):
    jobs = JobStream(arrivals=arrivals, sizes=sizes, demands=demands, estimates=estimates)
    machine = Machine(mesh=Mesh(*nodes), strategy="hilbert", discipline=discipline, network="none")
    return play(machine, jobs)


@pytest.mark.parametrize(
    ("discipline", "expected"),
    [
        ("FCFS", [0, 10, 30, 30, 30]),
        ("first-fit", [0, 19, 2, 10, 10]),  # the third passes, and the second waits for it
        ("EASY", [0, 10, 30, 30, 4]),  # the third would end at 11, the fifth ends at 10
    ],
)
def test_who_may_pass_a_job_that_needs_all_nodes(discipline, expected):
    # 16 nodes; the first job leaves 4 of them free until 10.
    done = run(discipline, [0, 1, 2, 3, 4], [12, 16, 3, 6, 4], [10, 20, 9, 9, 6])
    assert done.start.tolist() == expected


@pytest.mark.parametrize(
    ("discipline", "expected"),
    [
        ("FCFS", [0, 10, 17, 17]),
        ("SSD", [0, 15, 10, 15]),
        ("smallest-first", [0, 10, 17, 10]),
        ("first-fit", [0, 10, 17, 10]),
        ("EASY", [0, 10, 17, 10]),
    ],
)
def test_which_of_three_comes_first(discipline, expected):
    # All 16 nodes are busy until 10.
    done = run(discipline, [0, 1, 2, 3], [16, 8, 10, 6], [10, 7, 5, 9])
    assert done.start.tolist() == expected


@pytest.mark.thorough
@pytest.mark.parametrize("discipline", disciplines_by_number())
def test_random_queues_start_as_in_the_machine_that_ticks(discipline):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 25))
        arrivals = np.sort(rng.integers(0, 40, n)).tolist()
        sizes = rng.integers(1, 17, n).tolist()
        demands = rng.integers(1, 15, n).tolist()
        estimates = (np.array(demands) * rng.integers(1, 4, n)).tolist()
        if seed % 3 == 0:
            estimates = np.maximum(np.array(demands) // 2, 1).tolist()
        done = run(discipline, arrivals, sizes, demands, estimates=estimates)
        expected = starts(arrivals, sizes, demands, 16, discipline, estimates)
        assert done.start.tolist() == expected, seed


def test_backfilling_with_true_estimates_never_delays_the_head():
    # Against the same queue without the jobs that passed it.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        arrivals = np.sort(rng.integers(0, 30, 12))
        sizes, demands = rng.integers(1, 17, 12), rng.integers(1, 15, 12)
        easy = run("EASY", arrivals, sizes, demands).start
        first = next((j for j in range(12) if easy[j] > arrivals[j]), None)
        if first is None:
            continue
        before = slice(0, first + 1)  # who came earlier, and the first that had to wait
        alone = run("FCFS", arrivals[before], sizes[before], demands[before]).start
        assert easy[first] == alone[first]


def test_a_job_that_outlived_its_estimate_reserves_nothing_later():
    head, small = waiting(1, 8), waiting(2, 2, estimate=50.0)
    # Expected to have ended at 10: the head's reservation is now, so only spare nodes may pass.
    late = Situation(now=20.0, free=4, running=[(10.0, 4), (90.0, 8)])
    assert list(EASY().passers(head, [small], late)) == []
    spare = Situation(now=20.0, free=4, running=[(10.0, 6), (90.0, 6)])
    assert list(EASY().passers(head, [small], spare)) == [small]


def test_a_head_refused_for_its_shape_waits_for_the_next_end():
    head, short, long = waiting(1, 4), waiting(2, 9, estimate=5.0), waiting(3, 9, estimate=50.0)
    refused = Situation(now=0.0, free=10, running=[(30.0, 1), (60.0, 5)])
    assert list(EASY().passers(head, [short, long], refused)) == [short]


@pytest.mark.parametrize("name", ["easy", "EASY", "Easy"])
def test_names_are_found_in_any_case(name):
    assert isinstance(find_discipline(name), EASY)


@pytest.mark.parametrize("wrong", ["FCSF", "", None, 3, FCFS, "\x1b[31m"])
def test_a_wrong_name_is_an_error_that_lists_the_right_ones(wrong):
    with pytest.raises(ModelError, match="FCFS, SSD"):
        find_discipline(wrong)


@pytest.mark.parametrize("name", ["loss", "EASY-places"])
def test_a_discipline_of_places_is_none_of_a_machine_that_counts_nodes(name):
    with pytest.raises(
        ModelError, match=r"one of slices.*FCFS, SSD, smallest-first, first-fit, EASY, conservative$"
    ):
        Machine(mesh=Mesh(4, 4), discipline=name)


def test_two_disciplines_of_one_name_are_refused():
    class Mine(AbstractDiscipline):
        name = "FCFS"

        def key(self, job):
            return 0.0

    with pytest.raises(ModelError, match="choose another name"):
        register(Mine)
