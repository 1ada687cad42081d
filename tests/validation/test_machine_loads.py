"""Time between arrivals for a wanted utilisation, and work spread over processes."""

import math
import operator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from validation.analysis.seeding import stream, word
from validation.jobs import BatchStreams, JobStream, PoissonStreams
from validation.machine import Machine, MixedTraffic, play
from validation.machine.loads import interarrival_for
from validation.mesh import Mesh
from validation.sweeps import pools
from validation.sweeps.executors import parallel_map

MACHINE = Machine(mesh=Mesh(8, 8, io_side="west"), strategy="PLAS", traffic=MixedTraffic(0.5))
JOBS = PoissonStreams(jobs=150, mean_interarrival=1.0, mean_size=6.0, largest=64)


@pytest.mark.thorough
@pytest.mark.parametrize("wanted", [0.2, 0.6, 0.85])
def test_the_pilot_runs_are_as_busy_as_wanted(wanted):
    mean = interarrival_for(MACHINE, JOBS, wanted, seed=3, replications=1, tolerance=0.02)
    jobs = PoissonStreams(jobs=150, mean_interarrival=mean, mean_size=6.0, largest=64)
    messages = word(3, "messages of a pilot run", 0)
    run = play(MACHINE, jobs.draw(rng=stream(3, 2, 0)), seed=messages)
    assert run.summary["utilisation"] == pytest.approx(wanted, abs=0.02)


@pytest.mark.thorough
def test_pilot_runs_of_one_seed_are_not_those_of_the_next(monkeypatch):
    """Not seed + run, with which run 1 of seed 0 sent the messages of run 0 of seed 1."""
    from validation.machine import loads

    seeds = []

    def noted(machine, jobs, *, seed):
        seeds.append(seed)
        return play(machine, jobs, seed=seed)

    monkeypatch.setattr(loads, "play", noted)
    for seed in (0, 1, 2):
        for run in range(3):
            loads._pilot((MACHINE, JOBS, 90.0, seed, run))
    assert len(set(seeds)) == 9


@pytest.mark.thorough
def test_progress_of_the_search_is_reported_trial_by_trial():
    seen = []
    interarrival_for(MACHINE, JOBS, 0.5, replications=2, tolerance=0.02, progress=lambda *to: seen.append(to))
    stages = list(dict.fromkeys(what for what, _, _ in seen))
    assert stages[:2] == ["a first guess", "pilot runs"]
    assert all(stage.startswith("pilot runs at ") for stage in stages[2:])
    assert [to for to in seen if to[0] == "pilot runs"] == [("pilot runs", k, 12) for k in range(1, 13)]


@pytest.mark.thorough
def test_workers_begin_once_for_the_whole_search(monkeypatch):
    """Every trial had begun workers of its own: most of the time of a short search."""
    begun = []

    class Threads(ThreadPoolExecutor):
        def __init__(self, workers):
            begun.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(pools, "LeashedPool", Threads)
    search = partial(interarrival_for, MACHINE, JOBS, 0.5, replications=2, tolerance=0.02)
    assert search(workers=2) == search(workers=1)
    assert begun == [2]


def test_an_executor_that_is_handed_in_makes_every_run_of_the_search():
    """The first guess as well, of one run: a cluster may have been asked because a run takes hours."""
    handed, told = [], []

    class Handed(ThreadPoolExecutor):
        def submit(self, function, /, *arguments):
            handed.append(arguments)
            return super().submit(function, *arguments)

    jobs = PoissonStreams(
        jobs=30,
        mean_interarrival=1.0,
        mean_size=6.0,
        largest=64,
        demand=PhaseType.exponential(mean=30.0),
    )
    with Handed(1) as executor:
        interarrival_for(
            Machine(mesh=Mesh(8, 8), strategy="MBS", network="none"),
            jobs,
            0.3,
            replications=2,
            tolerance=0.3,
            executor=executor,
            progress=lambda what, done, runs: told.append(what),
        )
    assert "a first guess" in told
    assert len(handed) == len(told)


@pytest.mark.thorough
def test_without_a_network_it_is_work_over_nodes():
    # M/G/infinity-like at light load: utilisation = mean size x mean demand / (nodes x gap).
    jobs = PoissonStreams(
        jobs=1500,
        mean_interarrival=1.0,
        mean_size=4.0,
        largest=64,
        demand=PhaseType.exponential(mean=30.0),
    )
    machine = Machine(mesh=Mesh(8, 8), strategy="MBS", network="none")
    mean = interarrival_for(machine, jobs, 0.2, seed=1, replications=2)
    expected = 30.0 / (1 - math.exp(-1 / 4)) / (64 * 0.2)
    # Sizes are geometric (scv .78), demands exponential: 4 standard errors of 3,000 products.
    error = math.sqrt(1.78 * 2 - 1) / math.sqrt(3000)
    assert mean == pytest.approx(expected, rel=4 * error + 0.01 / 0.2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((MACHINE, JOBS, 1.0), "65 % is 0.65"),
        ((MACHINE, JOBS, 0.0), "utilisation"),
        ((MACHINE, JOBS, math.nan), "utilisation"),
        ((MACHINE, BatchStreams(), 0.5), "no mean_interarrival"),
    ],
)
def test_bad_arguments(arguments, says):
    with pytest.raises(ModelError, match=says):
        interarrival_for(*arguments)


def test_a_machine_that_one_job_after_the_other_leaves_half_empty_is_never_full():
    big = JobStream(arrivals=[0.0, 1.0], sizes=[33, 33])

    class Big(PoissonStreams):
        def draw(self, *, rng):
            return JobStream(arrivals=[0.0, self.mean_interarrival], sizes=big.sizes)

    with pytest.raises(ModelError, match=r"utilisation 0\.9 is not reached.* use more jobs"):
        interarrival_for(MACHINE, Big(mean_interarrival=1.0), 0.9)


class TestParallelMap:
    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("workers", [1, 2, None])
    def test_results_come_in_the_order_of_the_tasks(self, workers):
        seen = []
        results = parallel_map(abs, [-3, 2, -1], workers=workers, progress=lambda *done: seen.append(done))
        assert results == [3, 2, 1]
        assert seen == [("tasks", 1, 3), ("tasks", 2, 3), ("tasks", 3, 3)]

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("workers", [1, 2])
    def test_an_error_of_a_task_is_passed_on(self, workers):
        with pytest.raises(TypeError):
            parallel_map(abs, [1, "a", 2, 3], workers=workers)

    @pytest.mark.thorough
    def test_errors_of_ours_keep_their_type_over_processes(self):
        with pytest.raises(ModelError, match="size"):
            parallel_map(_refused, [0, 0], workers=2)

    @pytest.mark.thorough
    def test_an_error_that_cannot_travel_arrives_as_one_of_ours(self):
        with pytest.raises(ModelError, match="Stubborn: 1 of 2"):
            parallel_map(_stubborn, [0, 0], workers=2)

    def test_nothing_to_do(self):
        assert parallel_map(operator.neg, []) == []

    def test_no_number_of_processes(self):
        with pytest.raises(ModelError, match="workers"):
            parallel_map(abs, [1], workers=0)


class Stubborn(Exception):
    def __init__(self, part, whole):
        super().__init__(f"{part} of {whole}")


def _stubborn(task):
    raise Stubborn(1, 2)


def _refused(size):
    from validation.allocation import Request

    return Request(size)


def test_numbers_of_pilot_runs_do_not_touch_those_of_the_study():
    assert not np.array_equal(stream(0, 2, 0).random(4), stream(0, 0, 0).random(4))
