"""Each job of a mix is one of its programs, in every model and in the simulator."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

import validation
from phasefit import PhaseType, match_moments
from qmodels.errors import ModelError
from qmodels.io import load_scenario
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
    recommend,
    work_bound,
)
from qmodels.programs import Burst, Geometric, Phase, Program, WorkingSet, WorkloadMix
from tests.command import called
from validation import crossvalidate, simulate

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
ALONE = System(processors=1, disks=1)


def program(cpu, io=0.0, phases=1, law="1"):
    return Program([WorkingSet(phases, [Phase(io=Burst(io, law=law), cpu=Burst(cpu, law=law))])])


#: Programs of 1 s and 9 s of computation, 1 s of I/O each: E[S] = 6 s.
NINE = WorkloadMix([program(1.0, 1.0), program(9.0, 1.0)])


def pollaczek_khinchine(rate, mean, second):
    return mean + rate * second / (2.0 * (1.0 - rate * mean))


def fixed(rate, replications, jobs, seed=1):
    return {
        "arrival_rate": rate,
        "replications": replications,
        "jobs": jobs,
        "warm_up": jobs // 5,
        "seed": seed,
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("work", "exact"),
    [
        (Workload(NINE, io_bursts=ONE), 17.75),  # E[S^2] = (4 + 2 + 100 + 82) / 2
        (Workload(NINE), 19.0),  # E[S^2] = 2 (4 + 100) / 2
        (Workload(NINE, mix="mean"), 15.0),  # E[S^2] = 2 * 36: the mean program
    ],
    ids=["bursts", "demand", "mean"],
)
def test_a_mix_obeys_pollaczek_khinchine_in_every_model_and_in_the_simulator(work, exact):
    models = ["speed-scaled", "exact", *(["decomposition"] if work.has_bursts else [])]
    for model in models:
        found = predict(SP(1, 1), ALONE, work, arrival_rate=0.1, model=model)
        assert found.mean_response == pytest.approx(exact, rel=1e-10)
        assert (found.method, found.reduction) == ("exact", "")
    run = simulate(SP(1, 1), ALONE, work, **fixed(0.1, 20, 20_000))
    assert abs(run.mean_response.z_score(exact)) < 4.0
    assert run.mean_response.half_width < 0.03 * exact


def random_mix(number):
    """A random mix on one processor and one disk, an arrival rate and E[S], E[S^2] by hand."""
    rng = np.random.default_rng([14, 1, number])
    count, with_bursts = int(rng.integers(2, 5)), bool(rng.random() < 0.5)
    weights = rng.dirichlet(np.ones(count))
    scv = float(rng.choice([0.5, 1.0, 2.0, 4.0]))
    cpu_scv = float(rng.choice([0.5, 1.0, 3.0]))
    programs, mean, second = [], 0.0, 0.0
    for weight in weights.tolist():
        phases = int(rng.integers(1, 6))
        io = rng.gamma(1.0, 1.0, phases) * (rng.random(phases) < 0.8)
        cpu = rng.gamma(1.0, rng.choice([0.3, 1.0, 6.0]), phases) + 0.05
        random_count = with_bursts and rng.random() < 0.3
        if random_count:  # one phase, gone through a geometric number of times
            io, cpu, turns = io[:1], cpu[:1], float(rng.uniform(1.0, 5.0))
        listed = [
            Phase(io=Burst(i, law="1"), cpu=Burst(c, law="1"))
            for i, c in zip(io.tolist(), cpu.tolist(), strict=True)
        ]
        programs.append(Program(listed, phase_count=Geometric(turns) if random_count else None))
        time = float(io.sum() + cpu.sum())
        if not with_bursts:
            mean, second = mean + weight * time, second + weight * (1.0 + scv) * time**2
            continue
        variance = float(scv * (io**2).sum() + cpu_scv * (cpu**2).sum())
        if random_count:  # Wald, and his second identity
            variance = turns * variance + turns * (turns - 1.0) * time**2
            time *= turns
        mean, second = mean + weight * time, second + weight * (variance + time**2)
    if with_bursts:
        laws = {
            "io_bursts": match_moments(1.0, 1.0 + scv),
            "cpu_bursts": match_moments(1.0, 1.0 + cpu_scv),
        }
    else:
        laws = {"demand": match_moments(1.0, 1.0 + scv)}
    rate = float(rng.uniform(0.1, 0.85)) / mean
    return Workload(WorkloadMix(programs, weights), **laws), rate, mean, second


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_random_mixes_are_predicted_by_pollaczek_khinchine(count):
    for number in range(count):
        work, rate, mean, second = random_mix(number)
        found = predict(SP(1, 1), ALONE, work, arrival_rate=rate)
        exact = pollaczek_khinchine(rate, mean, second)
        assert found.mean_response == pytest.approx(exact, rel=1e-9), number
        assert (found.method, found.reduction) == ("exact", ""), number


def simulated_scores(numbers):
    scores = []
    for number in numbers:
        work, rate, mean, second = random_mix(number)
        run = simulate(SP(1, 1), ALONE, work, **fixed(rate, 20, 4000, seed=number))
        scores.append(run.mean_response.z_score(pollaczek_khinchine(rate, mean, second)))
    return np.array(scores)


@pytest.mark.thorough
def test_some_random_mixes_are_simulated_as_pollaczek_khinchine_says():
    assert np.abs(simulated_scores(range(20))).max() < -ndtri(0.01 / 20 / 2)


@pytest.mark.slow
def test_five_hundred_random_mixes_are_simulated_as_pollaczek_khinchine_says():
    """Their mean is some .1, not 0: see `tests.campaigns.mixes` and docs/record/mixes.toml.

    The runs are skewed to the right and each is divided by its own error; divided by the error of
    other runs, and over the exact mean, there is no bias to be seen.
    """
    scores = simulated_scores(range(500))
    assert np.abs(scores).max() < -ndtri(0.01 / 500 / 2)
    assert abs(scores.mean()) < 4 / np.sqrt(500)
    assert abs(scores.std() - 1.0) < 4 / np.sqrt(1000)


def test_a_mix_of_one_program_is_that_program_bit_by_bit():
    one = Program([Phase(io=1.0, cpu=4.0), Phase(io=2.0, cpu=1.0)])
    machine = System(processors=4, disks=2)
    for law in ({"demand": match_moments(1.0, 3.0)}, {"io_bursts": ONE}):
        runs = [
            simulate(SP(2, 1), machine, Workload(given, **law), **fixed(0.1, 2, 500))
            for given in (one, WorkloadMix([one]), WorkloadMix([one, NINE.programs[1]], [1, 0]))
        ]
        assert runs[0].responses == runs[1].responses == runs[2].responses


#: Of two programs, one gains from processors and the other does not.
UNLIKE = WorkloadMix([program(8.0, 0.0, law="p"), program(2.0, 0.0)])
#: Two programs of one shape.
ALIKE = WorkloadMix([program(2.0, 0.0, law="p"), program(18.0, 0.0, law="p")], [3, 1])


def test_where_programs_do_not_scale_alike_a_changing_share_is_called_approximate():
    machine = System(processors=4, disks=4)
    same = predict(DP(4), machine, Workload(ALIKE), load=0.5)
    assert (same.method, same.reduction) == ("exact", "")
    other = predict(DP(4), machine, Workload(UNLIKE), load=0.3)
    assert other.method == "approximate"
    assert "do not scale alike" in other.reduction
    sizes = SP(2, 2, sizes=(3, 1))
    assert predict(sizes, machine, Workload(ALIKE), load=0.3).method == "exact"
    assert "do not scale alike" in predict(sizes, machine, Workload(UNLIKE), load=0.3).reduction


def test_a_mean_program_is_called_approximate_unless_all_programs_scale_alike():
    machine = System(processors=4, disks=4)
    same = predict(SP(4, 4), machine, Workload(ALIKE, mix="mean"), load=0.5)
    assert (same.method, same.reduction) == ("exact", "")
    other = predict(SP(4, 4), machine, Workload(UNLIKE, mix="mean"), load=0.5)
    assert other.method == "approximate"
    assert "mean of the programs" in other.reduction
    assert predict(SP(4, 4), machine, Workload(UNLIKE), load=0.5).method == "exact"
    with pytest.raises(ModelError, match="bursts"):
        Workload(ALIKE, io_bursts=ONE, mix="mean")
    with pytest.raises(ModelError, match="mix"):
        Workload(ALIKE, mix="all")


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("policy", "work"),
    [
        (SP(4, 4), Workload(UNLIKE)),
        (DP(4), Workload(ALIKE)),
        (SP(2, 2, sizes=(3, 1)), Workload(ALIKE)),
        (SP(2, 2), Workload(UNLIKE, io_bursts=ONE)),
        (SP(2, 1), Workload(NINE, io_bursts=ONE)),
        (TS(1, 1, 2, cpu_discipline="ps"), Workload(NINE, io_bursts=ONE)),
    ],
    ids=lambda given: given.label if hasattr(given, "label") else "",
)
def test_exact_answers_about_mixes_agree_with_the_simulator(policy, work):
    machine = System(processors=4, disks=4)
    rate = 0.6 * capacity(policy, machine, work)
    options = fixed(rate, 20, 10_000, seed=3) | {"model": "exact" if work.has_bursts else "auto"}
    found = crossvalidate(policy, machine, work, **options)
    assert found.prediction.method == "exact"
    assert abs(found.z_score) < -ndtri(0.01 / 6 / 2)


def test_capacity_and_the_unit_of_load_are_those_of_the_mean_job():
    machine = System(processors=4, disks=4)
    for policy in (SP(4, 4), SP(4, 1), DP(2), SP(2, 2, sizes=(3, 1))):
        rates = [
            capacity(policy, machine, work)
            for work in (Workload(NINE), Workload(NINE, mix="mean"), Workload(NINE, io_bursts=ONE))
        ]
        assert rates == pytest.approx([rates[0]] * 3, rel=1e-14)
    alone = capacity(SP(1, 1), ALONE, Workload(NINE))
    assert alone == pytest.approx(1 / 6, rel=1e-12)
    assert work_bound(ALONE, NINE) == pytest.approx(1 / 5, rel=1e-12)


def test_a_mixture_too_large_for_the_chain_is_simplified_and_said():
    many = WorkloadMix([program(2.0**n) for n in range(6)])
    machine = System(processors=16, disks=16)
    found = predict(SP(16, 16), machine, Workload(many), load=0.5)
    assert found.method == "approximate"
    assert "demand of order 6 matched in" in found.reduction
    full = predict(SP(1, 1), machine, Workload(many), load=0.05)
    assert (full.method, full.reduction) == ("exact", "")


def test_the_disk_of_a_long_mix_is_simplified_by_the_variability_of_single_programs():
    """Decomposition of a job of too many stages: its scv is that of the mix, not of a sum."""
    from qmodels.policies.models.decomposition import JobShape, scv_of_shape
    from qmodels.policies.models.job_stages import routes

    mix = WorkloadMix([program(1.0, 1.0, phases=200), program(9.0, 1.0, phases=200)])
    again = Program([Phase(io=Burst(1.0, law="1"), cpu=2.0)] * 150, phase_count=Geometric(100.0))
    two = PhaseType.erlang(phases=2, mean=1.0)
    means = np.array([400.0, 2000.0])
    variances = 200 * np.array([1 + 0.5, 1 + 0.5 * 81])
    expected = (0.5 * (variances + means**2).sum()) / 1200.0**2 - 1.0
    shape = JobShape(lambda p, d: routes(mix, p, d), ONE, two)
    assert scv_of_shape(shape, (1.0, 1.0)) == pytest.approx(expected, rel=1e-12)
    shape = JobShape(lambda p, d: routes(again, p, d), ONE, two)
    geometric = (100.0 * (1 + 0.5 * 4) + 100.0 * 99.0 * 9.0) / 300.0**2
    assert scv_of_shape(shape, (1.0, 1.0)) == pytest.approx(geometric, rel=1e-10)


def test_programs_are_drawn_from_a_stream_of_their_own():
    """Adding a program leaves arrivals and factors of demand alone."""
    from validation.sharing.draws import draw, job_source
    from validation.sharing.layout import layout

    drawn = []
    for mix in (NINE, WorkloadMix([*NINE.programs, program(3.0)])):
        source = job_source(Workload(mix), None, None, None)
        plan = layout(SP(1, 1), ALONE, source.times)
        drawn.append(draw(source, plan, 300, seed=2, key=(0, 0)))
    assert np.array_equal(drawn[0].gaps, drawn[1].gaps)
    assert np.array_equal(drawn[0].demand, drawn[1].demand)
    assert set(drawn[0].program_of.tolist()) == {0, 1}
    assert set(drawn[1].program_of.tolist()) == {0, 1, 2}


def test_a_recommendation_sees_how_much_the_jobs_of_a_mix_vary():
    """Whole machine for each job is best for like jobs; not if one in a hundred is enormous."""
    machine = System(processors=16, disks=16)
    skewed = WorkloadMix([program(1.0, 0.1, law="p"), program(1000.0, 0.1, law="p")], [99, 1])
    found = [
        recommend(machine, Workload(skewed, mix=mix), load=0.5, candidates=[SP(1, 1), SP(4, 4)])
        for mix in ("mean", "each")
    ]
    assert [each.best.label for each in found] == ["SP(1,1)", "SP(4,4)"]


@pytest.mark.parametrize(
    ("demand", "mix"),
    [
        ("", "mean"),
        ("[demand]\nscv = 2.0\n", "each"),
        ('[demand]\nmix = "each"\n', "each"),
        ('[demand]\nscv = 2.0\nmix = "mean"\n', "mean"),
        ("[demand]\nscale_to_log = true\n", "mean"),
    ],
)
def test_a_scenario_takes_the_mean_program_where_its_law_of_work_is_the_logs(tmp_path, demand, mix):
    folder = Path(validation.__file__).parent / "study" / "demo"
    text = (folder / "scenario.toml").read_text(encoding="utf-8")
    text = text.replace('path = "jobs.swf.gz"', f"path = '{folder / 'jobs.swf.gz'}'")
    file = tmp_path / "scenario.toml"
    file.write_text(text.replace("[[program]]", f"{demand}\n[[program]]", 1), encoding="utf-8")
    found = load_scenario(file)
    assert found.workload.mix == mix
    assert ("average program" in found.mix_note) == (mix == "mean")


@pytest.mark.thorough
def test_the_commands_say_what_a_job_of_several_programs_is(tmp_path):
    folder = Path(validation.__file__).parent / "study" / "demo"
    done = called("predict", folder / "scenario.toml", "--load", "0.1")
    assert "average program" in done.stderr
    assert "average program" not in done.stdout
    assert " exact" not in done.stdout
