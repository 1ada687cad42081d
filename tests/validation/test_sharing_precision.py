"""How well the simulator's intervals hold: coverage, stopping, percentiles, common numbers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, expon

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.policies import SpaceSharing, System, TimeSharing, Workload
from qmodels.programs import Phase, Program, WorkingSet
from validation import Estimate, RenewalJobs, simulate
from validation.analysis.estimates import estimate, until_precise
from validation.analysis.seeding import stream
from validation.jobs.bounded_pareto import BoundedPareto
from validation.sharing.draws import draw, job_source
from validation.sharing.layout import layout
from validation.sharing.simulator import FLOOR, relaxation_jobs

SP, TS = SpaceSharing, TimeSharing
MACHINE = System(processors=1, disks=1)
COMPUTING = Program([Phase(io=0.0, cpu=1.0)])


def one_server(scv, rho, **options):
    work = Workload.from_scv(COMPUTING, demand_scv=scv)
    return simulate(SP(1, 1), MACHINE, work, arrival_rate=rho, **options)


def pollaczek_khinchine(scv, rho):
    return 1.0 + rho * (1 + scv) / (2 * (1 - rho))


def covered(scv, rho, seeds, *, precision):
    runs = (one_server(scv, rho, precision=precision, seed=seed) for seed in range(seeds))
    return sum(run.mean_response.contains(pollaczek_khinchine(scv, rho)) for run in runs)


def test_the_relaxation_time_is_that_of_heavy_traffic_and_of_one_service_of_every_server():
    assert relaxation_jobs(0.5, 1, 1.0, 1.0) == 4 * 0.5 / 0.5**2 + 2
    assert relaxation_jobs(0.75, 3, 0.5, 2.0) == 2 * 0.75 * 2.5 / 0.25**2 + 3 * 3
    assert relaxation_jobs(0.5, 1, 0.0, np.inf) == 2 * 0.5 * 1000 / 0.5**2 + 1001


@pytest.mark.thorough
def test_intervals_of_runs_that_stop_by_precision_cover_as_often_as_they_say():
    """Fewer hits would come once in a thousand times."""
    assert covered(1.0, 0.8, 150, precision=0.1) >= binom.ppf(0.001, 150, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("scv", [0.25, 1.0, 10.0])
def test_coverage_is_93_to_97_percent_in_a_thousand_runs(scv, rho, record_property):
    hits = covered(scv, rho, 1000, precision=0.1)
    record_property("covered_of_1000", hits)
    assert 930 <= hits <= 970


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_a_run_stops_at_its_precision_and_not_before_its_floor(rho):
    run = one_server(1.0, rho, precision=0.05, seed=1)
    assert run.precise
    assert run.mean_response.half_width <= 0.05 * run.mean_response.mean
    relaxation = relaxation_jobs(rho, 1, 1.0, 1.0)
    assert run.replications * run.jobs >= FLOOR * relaxation
    assert run.relaxations == pytest.approx(run.replications * run.jobs / relaxation)


def test_a_precision_out_of_reach_is_given_up_and_said_so():
    run = one_server(1.0, 0.5, precision=1e-6, at_most=20)
    assert run.precise is False
    assert run.replications == 20


def test_a_run_of_fixed_length_says_nothing_of_precision():
    assert one_server(1.0, 0.3).precise is None


def test_the_target_must_be_met_at_two_looks_in_a_row():
    """Ten equal values meet any target; the two that come with the second look spoil it."""
    looks = []
    values = [1.0] * 10 + [5.0, 9.0] + [1.0] * 5000

    def observe(n):
        looks.append(n)
        return values[:n]

    assert until_precise(observe, precision=0.05, at_most=5000)
    assert looks[:2] == [10, 12]
    assert estimate(values[: looks[-2]]).half_width <= 0.05 * np.mean(values[: looks[-2]])
    assert estimate(values[: looks[-1]]).half_width <= 0.05 * np.mean(values[: looks[-1]])
    assert all(b <= max(2 * a, a + 2) for a, b in pairwise(looks))


@pytest.mark.thorough
def test_z_scores_of_small_samples_are_standard_normal():
    scores = np.sort(
        [estimate(stream(seed).normal(5.0, size=4).tolist()).z_score(5.0) for seed in range(4000)]
    )
    from scipy.stats import kstest

    assert kstest(scores, "norm").pvalue > 0.001
    assert estimate([1.0, 2.0, 3.0]).z_score(2.0) == 0.0
    assert estimate([1.0, 2.0, 3.0]).z_score(9.0) > 0 > estimate([1.0, 2.0, 3.0]).z_score(-9.0)
    assert Estimate(1.0, 0.0, 0.95, 5).z_score(2.0) == np.inf


@pytest.mark.thorough
def test_percentiles_of_one_exponential_server_are_covered():
    """The response time of M/M/1 is exponential; 40 runs of four percentiles."""
    rho, hits = 0.7, 0
    for seed in range(40):
        run = one_server(1.0, rho, seed=seed)
        for q, found in run.percentiles.items():
            hits += found.contains(expon.ppf(q, scale=1 / (1 - rho)))
            assert run.percentile(q) is found
    # Percentiles of one run depend on each other: at worst 40 independent ones.
    assert hits >= 4 * binom.ppf(0.001, 40, 0.95)


def test_a_percentile_that_was_not_measured_is_refused_with_those_that_were():
    run = one_server(1.0, 0.3, percentiles=(0.25, 0.75))
    assert list(run.percentiles) == [0.25, 0.75]
    for q in (0.95, 75, np.nan, None, "x"):
        with pytest.raises(ModelError, match=r"measured: 0\.25, 0\.75"):
            run.percentile(q)
    assert "p75_response" in run.table()
    assert {"p25_response", "p25_response_low", "p25_response_high"} <= set(run.to_frame())
    assert one_server(1.0, 0.3, percentiles=()).percentiles == {}


def drawn(policy, work, count, point=0, **options):
    source = job_source(work, options.get("jobs"), options.get("bursts"), None)
    plan = layout(policy, MACHINE, source.times)
    return draw(source, plan, count, seed=3, key=(point, 1))


def test_policies_and_lengths_share_their_jobs_burst_by_burst():
    work = Workload(COMPUTING, io_bursts=PhaseType.exponential(mean=1.0))
    few, many = drawn(SP(1, 1), work, 500), drawn(TS(1, 1, 3), work, 9000)
    for name in ("gaps", "demand", "io_factor", "cpu_factor"):
        short, long = getattr(few, name), getattr(many, name)
        assert np.array_equal(short, long[: short.size])
    assert not np.array_equal(few.gaps, drawn(SP(1, 1), work, 500, point=1).gaps)


def test_another_law_of_demand_leaves_the_arrivals_as_they_were():
    one = PhaseType.exponential(mean=1.0)
    first = drawn(SP(1, 1), Workload(COMPUTING, one), 700)
    second = drawn(SP(1, 1), Workload.from_scv(COMPUTING, demand_scv=9.0), 700)
    assert np.array_equal(first.gaps, second.gaps)
    assert not np.array_equal(first.demand, second.demand)


def test_what_a_job_brings_does_not_depend_on_when_it_comes():
    """All that is random has its own stream: no two of them are alike or correlated."""
    from qmodels.programs import Geometric

    work = Workload(
        Program([Phase(io=1.0, cpu=1.0)], phase_count=Geometric(mean=5.0)),
        cpu_bursts=PhaseType.exponential(mean=1.0),
    )
    source = job_source(work, RenewalJobs(*[PhaseType.exponential(mean=1.0)] * 2), None, None)
    found = draw(source, layout(SP(1, 1), MACHINE, source.times), 4000, seed=1, key=(0, 0))
    counts = np.diff(found.first_phase)
    columns = [found.gaps, found.demand, counts, found.io_factor[:4000], found.cpu_factor[:4000]]
    correlation = np.corrcoef(columns) - np.eye(5)
    assert np.abs(correlation).max() < 4.5 / 4000**0.5


@pytest.mark.parametrize(("low", "high", "shape"), [(15.0, 4241.0, 1.0), (1.0, 100.0, 2.0), (2, 3, 0.5)])
def test_bounded_pareto_draws_have_its_moments(low, high, shape, rng):
    from scipy.integrate import quad

    law = BoundedPareto(low=low, high=high, shape=shape)
    weight = quad(lambda x: x ** (-shape - 1), low, high)[0]
    for k in (1, 2):
        exact = quad(lambda x, k=k: x ** (k - shape - 1), low, high)[0] / weight
        assert law.moment(k) == pytest.approx(exact, rel=1e-7)
    values = law.rvs(40_000, rng)
    assert low <= values.min() <= values.max() <= high
    assert values.mean() == pytest.approx(law.mean, abs=4 * values.std() / 200)
    assert law.scv == pytest.approx(law.moment(2) / law.mean**2 - 1)


@pytest.mark.parametrize(
    "bad", [(0, 1, 1), (2, 1, 1), (1, 2, 0), (1, np.inf, 1), (np.nan, 2, 1), (1, 2, "x")]
)
def test_a_bounded_pareto_law_out_of_range_is_refused(bad):
    with pytest.raises(ModelError):
        BoundedPareto(*bad)


@pytest.mark.thorough
def test_general_laws_obey_pollaczek_khinchine():
    """Lognormal, bounded Pareto and a sample as demand: only the variance enters."""
    from scipy.stats import lognorm

    work = Workload(COMPUTING)
    for law in (lognorm(s=1.0), BoundedPareto(1.0, 50.0, 1.5), [1.0, 1.0, 4.0]):
        jobs = RenewalJobs(work.arrivals, law)
        run = simulate(SP(1, 1), MACHINE, work, arrival_rate=0.6, stream_of_jobs=jobs, precision=0.05, seed=4)
        # three runs: 99.9 % intervals
        exact = pollaczek_khinchine(jobs.scvs[1], 0.6)
        assert abs(run.mean_response.z_score(exact)) < 3.3


def test_bursts_of_two_laws_go_to_transfers_and_to_computation():
    """One phase on one partition: E[T] of M/G/1 with the sum of both bursts."""
    work = Workload(Program([Phase(io=1.0, cpu=1.0)]))
    jobs = RenewalJobs(work.arrivals, [1.0])
    bursts = (PhaseType.erlang(phases=4, mean=1.0), [0.5, 1.5])
    run = simulate(
        SP(1, 1),
        MACHINE,
        work,
        arrival_rate=0.3,
        stream_of_jobs=jobs,
        bursts=bursts,
        replications=20,
        jobs=20_000,
        seed=2,
    )
    variance = 0.25 + 0.25
    exact = 2.0 + 0.3 * (variance + 4.0) / (2 * (1 - 0.6))
    assert abs(run.mean_response.z_score(exact)) < 3.3
    assert run.mean_response.half_width < 0.015 * exact


def test_a_load_whose_runs_would_not_fit_is_refused_before_anything_is_drawn():
    with pytest.raises(MemoryBudgetError, match="give jobs and warm_up"):
        one_server(1.0, 1 - 1e-7)


@pytest.mark.thorough
def test_jobs_of_a_million_bursts_are_refused_unless_their_number_is_given(monkeypatch):
    """The length of a run is ours by default, so that what it costs is ours to foresee."""
    long = Workload(Program([WorkingSet(1_000_000, [Phase(io=1e-6, cpu=1e-6)])]))
    with pytest.raises(MemoryBudgetError, match=r"give jobs \([\d,]+ take 20 minutes\)"):
        simulate(SP(1, 1), MACHINE, long, load=0.3)
    monkeypatch.setattr("validation.sharing.simulator.MOST_SECONDS", 0.0)
    short = Workload(Program([Phase(io=1.0, cpu=1.0)]))
    assert simulate(SP(1, 1), MACHINE, short, load=0.3, jobs=50).jobs == 50
    with pytest.raises(MemoryBudgetError):
        simulate(SP(1, 1), MACHINE, short, load=0.3)


def test_every_burst_of_every_job_has_a_length_of_its_own():
    law = PhaseType.exponential(mean=1.0)
    source = job_source(Workload(COMPUTING, io_bursts=law, cpu_bursts=law), None, None, None)
    drawn = draw(source, layout(SP(1, 1), MACHINE, source.times), 50, seed=1, key=(0, 0))
    assert np.unique(drawn.io_factor).size == np.unique(drawn.cpu_factor).size == drawn.first_phase[-1] == 50
