from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.io import RunTable
from qmodels.programs import Burst, Phase, Program, WorkingSet, WorkloadMix, fit_runs
from qmodels.programs.profiles import profile, reference_mix
from validation.synthetic import PARTITIONS, synthetic_runs

SOLVER = Program([Phase(Burst(8.0, law="d"), Burst(64.0, sequential=2.0))], name="solver")


def test_by_default_the_partitions_are_those_of_the_paragon(rng):
    """1 to 64, powers of two, processors by disks."""
    frame = synthetic_runs(SOLVER, rng=rng).frame
    assert PARTITIONS == (1, 2, 4, 8, 16, 32, 64)
    assert set(zip(frame["p"], frame["d"], strict=True)) == {(p, d) for p in PARTITIONS for d in PARTITIONS}


@pytest.mark.thorough
def test_without_noise_the_runs_are_the_times_of_the_model(rng):
    runs = synthetic_runs(profile("QCRD-2"), noise=0.0, rng=rng)
    assert isinstance(runs, RunTable)
    program = profile("QCRD-2")
    phase = program.phases[0]
    for row in runs.frame.itertuples():
        expected = float(phase.burst(row.kind).mean_time(row.p, row.d))
        assert row.seconds == pytest.approx(expected, rel=1e-13)
    assert len(runs.frame) == 49 * 12 * 2


def test_every_program_of_a_mixture_is_measured(rng):
    runs = synthetic_runs(reference_mix(), [(1, 1), (16, 1), (64, 16)], rng=rng)
    assert runs.programs == tuple(program.name for program in reference_mix().programs)


@pytest.mark.thorough
def test_noise_has_the_mean_and_the_spread_that_it_says(rng):
    """Factors of mean one and coefficient of variation .3; four standard errors."""
    program = Program([Phase(0.0, Burst(5.0, law="1"))])
    frame = synthetic_runs(program, [(1, 1), (2, 1), (4, 1)], repeats=20_000, noise=0.3, rng=rng).frame
    factors = frame["seconds"].to_numpy() / 5.0
    assert abs(factors.mean() - 1.0) < 4 * 0.3 / math.sqrt(factors.size)
    logs = np.log(factors)
    spread = math.sqrt(math.log1p(0.09))
    assert abs(logs.std(ddof=1) - spread) < 4 * spread / math.sqrt(2 * factors.size)


def test_what_is_random_in_the_program_is_drawn_for_each_run(rng):
    program = Program([Phase(0.0, Burst(stats.uniform(1.0, 2.0), law="1"))])
    seconds = synthetic_runs(program, [(1, 1), (2, 1), (4, 1)], repeats=5, noise=0.0, rng=rng).frame[
        "seconds"
    ]
    assert seconds.nunique() == 15
    assert 1.0 <= seconds.min() <= seconds.max() <= 3.0


def test_a_burst_without_time_is_not_timed(rng):
    runs = synthetic_runs(Program([Phase(0.0, 5.0)]), rng=rng)
    assert set(runs.frame["kind"]) == {"cpu"}


@pytest.mark.thorough
def test_a_fit_of_the_runs_finds_the_program_again(rng):
    program = Program([WorkingSet(2, [Phase(Burst(32.0, law="min(d, p/4)"), Burst(96.0, 6.0))])], "x")
    fitted = fit_runs(synthetic_runs(program, noise=0.0, rng=rng))["x"].program
    for p, d in [(1, 1), (3, 2), (128, 16), (500, 100)]:
        expected = float(program.mean_time(p, d))
        assert float(fitted.mean_time(p, d)) == pytest.approx(expected, rel=1e-6)


def test_a_seed_repeats_its_runs():
    frames = [synthetic_runs(SOLVER, repeats=2, rng=np.random.default_rng(seed)).frame for seed in (3, 3, 4)]
    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"program": None},
        {"program": Phase(1.0, 1.0)},
        {"repeats": 0},
        {"repeats": 1.5},
        {"repeats": True},
        {"repeats": None},
        {"noise": -0.1},
        {"noise": math.nan},
        {"noise": 11.0},
        {"noise": None},
        {"noise": "1"},
        {"rng": None},
        {"rng": 3},
        {"allotments": []},
        {"allotments": [(1, 1), (1, 1), (2, 1), (4, 1)]},
        {"allotments": [(1,), (2, 1), (4, 1)]},
        {"allotments": [(0, 1), (2, 1), (4, 1)]},
        {"allotments": [(1.5, 1), (2, 1), (4, 1)]},
        {"allotments": "abc"},
        {"allotments": 3},
        {"allotments": [None, (1, 1)]},
        {"allotments": ["12", (1, 1)]},
        {"allotments": [(10**12, 1), (2, 1), (4, 1)]},
        {"program": WorkloadMix([SOLVER, SOLVER])},
        {"program": Program([Phase(0.0, [0.0, 1.0])]), "repeats": 50},
    ],
)
def test_nonsense_is_refused(wrong, rng):
    with pytest.raises(ModelError):
        synthetic_runs(**{"program": SOLVER, "rng": rng} | wrong)


def test_more_timings_than_a_table_should_hold_are_refused(rng):
    with pytest.raises(MemoryBudgetError, match="measure fewer"):
        synthetic_runs(SOLVER, repeats=100_000, rng=rng)
