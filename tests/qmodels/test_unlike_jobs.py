"""Models of unlike jobs and partitions: mixes, very variable demands, turns, unequal sizes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from phasefit import MAP, PhaseType, match_moments
from qmodels.errors import ModelError
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models.bursts_in_service import drawn, served
from qmodels.policies.models.sized_jobs import sized_classes, stages_of
from qmodels.programs import Burst, Geometric, Phase, Program, WorkingSet, WorkloadMix
from tests.campaigns.record import FOLDER
from tests.campaigns.unlike_points import named_points, unlike_point

ONE = PhaseType.exponential(mean=1.0)


def fixed(io, cpu, bursts):
    phase = Phase(io=Burst(io / bursts, law="1"), cpu=Burst(cpu / bursts, law="1"))
    return Program([phase], phase_count=Geometric(float(bursts)))


def test_a_job_that_is_alone_on_the_machine_takes_turns_with_nobody():
    given = SpaceSharing(1, 1), System(4, 2), Workload(fixed(4.0, 12.0, 4), demand=match_moments(1.0, 2.5))
    by_class, whole = (predict(*given, load=0.1, model=name) for name in ("burst-classes", "speed-scaled"))
    assert whole.method == "exact"
    assert by_class.mean_response == pytest.approx(whole.mean_response, rel=1e-9)


def test_alike_bursts_are_in_service_by_their_number():
    found = served((2, 3), (1.0, 1.0), (0.7, 0.7), True)
    for counts, probability in found.given.items():
        assert probability == pytest.approx(np.array(counts) / sum(counts), rel=1e-12)
    assert found.always[1] == pytest.approx(1.5 * found.always[0], rel=1e-12)


def test_classes_that_are_drawn_are_in_service_by_their_work():
    """Whoever is next, as much of each kind of work is done as comes."""
    found = served((3,), (1.0, 20.0), (2.0,), False, (0.9, 0.1))
    assert found.always[1] / found.always[0] == pytest.approx(20.0 * 0.1 / 0.9, rel=1e-9)


def test_jobs_drawn_from_others_are_hypergeometric():
    found = drawn(np.array([[3, 2]]), np.array([[1, 0], [0, 1], [1, 1], [0, 3]]))
    assert found[0] == pytest.approx([0.6, 0.4, 0.6, 0.0], rel=1e-12)


@pytest.mark.parametrize("scv", [0.4, 1.0, 8.0, 60.0])
@pytest.mark.parametrize("bursts", [1, 6])
def test_classes_of_one_size_each_keep_the_moments_of_the_demand(scv, bursts):
    work = Workload.from_scv(fixed(1.0, 3.0, bursts), demand_scv=scv)
    classes = sized_classes(work, 1.0, 1.0)
    if classes is None:
        assert scv < 0.5  # too regular for so few bursts
        return
    law = stages_of(classes, work, 1.0, 1.0).stages.law()
    assert law.mean == pytest.approx(4.0, rel=1e-9)
    assert law.moment(2) / law.mean**2 == pytest.approx(1.0 + scv, rel=0.11 if scv <= 1.0 else 1e-9)


@pytest.mark.parametrize("bursts", [1, 4, 400])
def test_classes_in_turns_come_to_have_the_moments_of_a_burst(bursts):
    work = Workload.from_scv(fixed(2.0, 2.0, bursts), demand_scv=20.0)
    found = sized_classes(work, 1.0, 1.0, turns=2)
    of_a_burst = 2.0 * sum(x.weight * x.size**2 for x in found)  # which is exponential
    of_jobs = 2.0 * sum(x.weight * x.size**2 for x in sized_classes(work, 1.0, 1.0))
    of_both = (1 - 1 / 3) / bursts  # a third of what the stay would be in turns alone is turns here
    assert of_a_burst == pytest.approx(of_jobs**of_both * 21.0 ** (1 - of_both), rel=1e-9)
    assert of_jobs > 21.0


@pytest.mark.parametrize(("jobs", "io", "simulated"), [(3, 0.5, 12.71), (6, 0.3, 10.74)])
def test_large_jobs_of_one_burst_are_as_long_as_simulated(jobs, io, simulated):
    """Simulated to 1.5 % (60 runs of 200,000 jobs); moments of whole jobs were 17 and 8 % too long."""
    work = Workload(fixed(io, 1.0, 1), demand=match_moments(1.0, 30.0))
    found = predict(TimeSharing(1, 1, jobs), System(1, 1), work, arrival_rate=0.4)
    assert found.model == "partition-classes"
    assert found.mean_response == pytest.approx(simulated, rel=0.05)


def test_programs_that_are_alike_are_one_program():
    mix = WorkloadMix([fixed(1.0, 2.0, 4), fixed(3.0, 6.0, 4)], weights=[0.7, 0.3])
    given = SpaceSharing(4, 1), System(4, 1), Workload(mix)
    found, one = (
        predict(*given, arrival_rate=0.5, model=model).mean_response
        for model in ("job-classes", "speed-scaled")
    )
    assert found == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("policy", [SpaceSharing(3, 1), DynamicPartitioning(1)])
def test_a_mix_of_unlike_programs_is_near_the_exact_chain(policy):
    mix = WorkloadMix([fixed(1.0, 20.0, 12), fixed(4.0, 0.5, 12)], weights=[0.2, 0.8])
    machine = System(3, 1)
    exact = Workload(mix, io_bursts=ONE, cpu_bursts=ONE)
    rate = 0.2
    found = predict(policy, machine, Workload(mix), arrival_rate=rate)
    assert found.model == "job-classes"
    expected = predict(policy, machine, exact, arrival_rate=rate, model="exact").mean_response
    assert found.mean_response == pytest.approx(expected, rel=0.02)
    blind = predict(policy, machine, Workload(mix), arrival_rate=rate, model="speed-scaled")
    assert abs(blind.mean_response / expected - 1.0) > 0.1


@pytest.mark.parametrize("scv", [4.0, 20.0])
def test_turns_of_variable_bursts_are_near_the_exact_chain(scv):
    program = fixed(1.0, 1.5, 3)
    laws = {"io_bursts": ONE, "cpu_bursts": match_moments(1.0, 1.0 + scv)}
    given = TimeSharing(1, 1, 3), System(2, 1), Workload(program, **laws)
    found = predict(*given, arrival_rate=0.3, model="burst-classes")
    expected = predict(*given, arrival_rate=0.3)
    assert expected.model == "exact"
    assert found.capacity == pytest.approx(expected.capacity, rel=1e-3)
    assert found.mean_response == pytest.approx(expected.mean_response, rel=0.02)


def test_places_of_one_size_are_no_places():
    work = Workload.from_scv(Program([Phase(io=1.0, cpu=6.0)]), demand_scv=3.0)
    equal = SpaceSharing(3, 1), System(6, 2), work
    found, one = (
        predict(*equal, load=0.4, model=model).mean_response for model in ("places", "speed-scaled")
    )
    assert found == pytest.approx(one, rel=1e-9)


def test_places_have_percentiles_where_sizes_are_nearly_equal():
    work = Workload.from_scv(Program([Phase(io=4.0, cpu=16.0)]), demand_scv=3.0)
    found = predict(SpaceSharing(3, 2), System(10, 3), work, load=0.4)
    assert found.model == "places"
    one = predict(SpaceSharing(3, 2), System(10, 3), work, load=0.4, model="crowded-speeds")
    assert found.response.mean == pytest.approx(found.mean_response, rel=1e-9)
    assert found.percentile(0.95) / one.percentile(0.95) == pytest.approx(
        found.mean_response / one.mean_response, rel=0.03
    )


def test_places_with_disks_of_their_own_are_exact():
    work = Workload.from_scv(Program([Phase(io=1.0, cpu=6.0)]), demand_scv=3.0)
    given = SpaceSharing(2, 2, sizes=(5, 1)), System(6, 2), work
    found, one = (predict(*given, load=0.4, model=model) for model in ("places", "speed-scaled"))
    assert found.method == one.method == "exact"
    assert found.mean_response == pytest.approx(one.mean_response, rel=1e-9)


def test_places_on_disks_of_unlike_numbers_are_as_fast_as_those_let_them():
    """Two jobs on disks of their own, two for the one and one for the other."""
    work = Workload(Program([Phase(io=6.0, cpu=4.0)]))
    machine, policy = System(4, 3), SpaceSharing(2, 2)
    ours = [float(work.program.mean_time(2, d)) for d in (2, 1)]
    assert capacity(policy, machine, work, model="places") == pytest.approx(sum(1.0 / t for t in ours), 1e-9)
    alone = predict(policy, machine, work, arrival_rate=1e-6, model="places")
    assert alone.mean_response == pytest.approx(ours[0], rel=1e-5)
    busy = 1e-6 * float(work.program.mean_io(2, 2)) * 2 / 3
    assert alone.disk_utilisation == pytest.approx(busy, rel=1e-5)


def test_what_a_burst_gains_from_processors_is_told_from_what_a_job_gains():
    """Under dynamic partitioning, of exponential bursts, beside the exact chain of them."""
    phase = Phase(io=Burst(2.0, law="1"), cpu=Burst(9.0, law="p"))
    program, machine = Program([phase], phase_count=Geometric(8.0)), System(3, 1)
    bursts = Workload(program, io_bursts=ONE, cpu_bursts=ONE)
    expected = predict(DynamicPartitioning(1), machine, bursts, load=0.6, model="exact").mean_response
    found = predict(DynamicPartitioning(1), machine, Workload(program), load=0.6)
    assert found.model == "sized-bursts"
    assert found.mean_response == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("model", ["burst-classes", "job-classes", "sized-bursts"])
def test_a_model_says_what_it_cannot_follow(model):
    policy = TimeSharing(4, 1) if model == "burst-classes" else SpaceSharing(64, 1)  # too many, too regular
    work = Workload.from_scv(fixed(1.0, 3.0, 2), demand_scv=0.1)
    with pytest.raises(ModelError, match="simulate"):
        predict(policy, System(64, 1), work, load=0.3, model=model)


def test_stages_of_arrivals_count_among_the_states_that_are_followed():
    """Of ten jobs in four stages there are 286 ways to run, beside arrivals in two phases twice as many."""
    mix = WorkloadMix([fixed(1.0, 20.0, 12), fixed(4.0, 0.5, 12)], weights=[0.2, 0.8])
    given = SpaceSharing(10, 1), System(10, 1)
    work = Workload(mix, demand=match_moments(1.0, 3.0))
    assert capacity(*given, work, model="job-classes") > 0.0
    tides = MAP.modulated([[0.0, 0.1], [0.1, 0.0]], rates=[1.8, 0.2])
    with pytest.raises(ModelError, match="counts few jobs of few classes"):
        capacity(*given, replace(work, arrivals=tides), model="job-classes")


@pytest.mark.parametrize(("number", "model"), [(18, "partition-classes"), (26, "partition-classes")])
def test_jobs_of_hardly_any_io_take_turns_in_rounds(number, model):
    """All that are there have a burst in each round, so that who came first leaves first."""
    kind = {18: "TS mix", 26: "TS demand"}[number]
    rows = pd.read_csv(FOLDER / "unlike-simulated.csv", dtype={"name": str})
    known = rows[(rows.kind == kind) & (rows.name == str(number))].iloc[0]
    point = unlike_point(kind, number)
    found = predict(point.policy, point.system, point.workload, arrival_rate=known.rate)
    assert found.model == model
    assert found.mean_response == pytest.approx(known.mean_simulated, rel=0.06)


@pytest.mark.thorough
def test_jobs_with_hardly_any_io_are_nearly_as_those_without():
    def mean(io, count=None):
        program = Program([WorkingSet(8, [Phase(io=io, cpu=1.0)])], phase_count=count)
        work = Workload(program, match_moments(1.0, 5.0))
        return predict(TimeSharing(1, 1, 3), System(1, 1), work, arrival_rate=0.08).mean_response

    assert mean(1e-4) == pytest.approx(mean(0.0), rel=0.06)
    # of a geometric number of bursts those done say nothing of those to come
    assert mean(1e-4, Geometric(8.0)) == pytest.approx(mean(0.0, Geometric(8.0)), rel=0.01)
    assert mean(0.0, Geometric(8.0)) != pytest.approx(mean(0.0), rel=0.05)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", list(named_points()))
def test_named_systems_are_within_a_tenth_of_their_simulation(name):
    rows = pd.read_csv(FOLDER / "unlike-simulated.csv", dtype={"name": str}).set_index("name")
    point, known = named_points()[name], rows.loc[name]
    found = predict(point.policy, point.system, point.workload, arrival_rate=known.rate)
    assert found.mean_response == pytest.approx(known.mean_simulated, rel=0.1)
