from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmodels.errors import ModelError, ScenarioError
from qmodels.io import load_scenario
from qmodels.programs import Burst, Phase, Program, mean_of_ratios
from qmodels.programs.growth import GROWTHS, NamedGrowth, parse_growth

BY_HAND = {
    "p-1": lambda p, d: p - 1,
    "log2(p)": lambda p, d: math.log2(p),
    "sqrt(p)-1": lambda p, d: math.sqrt(p) - 1,
    "d-1": lambda p, d: d - 1,
}

units = st.floats(1.0, 4096.0)


@given(st.sampled_from(GROWTHS), units, units)
def test_the_sequential_part_grows_as_its_text_says(text, p, d):
    """o_pd = sequential + per_processor g(p, d)."""
    burst = Burst(100.0, sequential=3.0, per_processor=0.25, growth=text)
    assert str(burst.growth) == text
    expected = 3.0 + 0.25 * BY_HAND[text](p, d)
    assert float(burst.sequential_time(p, d)) == pytest.approx(expected, rel=1e-14)


def test_every_text_is_tried_here():
    assert set(GROWTHS) == set(BY_HAND)


def test_without_a_word_the_overhead_grows_with_each_further_processor():
    assert str(Burst(1.0).growth) == "p-1"


@pytest.mark.parametrize("text", GROWTHS)
def test_nothing_has_grown_on_one_processor_and_one_disk_or_on_less(text):
    burst = Burst(100.0, sequential=3.0, per_processor=0.25, growth=text)
    for p, d in ((1.0, 1.0), (0.4, 0.4), (1.0, 0.1), (0.1, 1.0)):
        assert float(burst.sequential_time(p, d)) == 3.0


def test_a_growth_may_be_any_function_of_processors_and_disks():
    burst = Burst(10.0, per_processor=2.0, growth=lambda p, d: np.sqrt(p * d) - 1.0, law="1")
    assert float(burst.mean_time(4, 9)) == pytest.approx(10.0 + 2.0 * 5.0, rel=1e-14)


@pytest.mark.parametrize("growth", ["log2(p)", "d-1", lambda p, d: (p - 1) * 0.1])
def test_a_growth_broadcasts_processors_against_disks(growth):
    burst = Burst(10.0, per_processor=2.0, growth=growth)
    p, d = np.array([1.0, 2.0, 8.0]), np.array([1.0, 4.0])
    together = burst.sequential_time(p[:, None], d[None, :])
    assert together.shape == (3, 2)
    one_by_one = [[float(burst.sequential_time(x, y)) for y in d] for x in p]
    assert together.tolist() == one_by_one


@pytest.mark.parametrize("text", GROWTHS)
def test_drawn_jobs_carry_the_same_overhead(text, rng):
    burst = Burst(10.0, sequential=1.0, per_processor=0.5, growth=text)
    drawn = burst.draw(np.array([1.0, 9.0]), np.array([1.0, 4.0]), rng=rng, size=3)
    assert drawn[0] == pytest.approx([10.0] * 3)
    assert drawn[1] == pytest.approx([float(burst.mean_time(9, 4))] * 3, rel=1e-14)
    estimate = mean_of_ratios(Program([Phase(0.0, burst)]), 9, 4, rng=rng, size=3)
    assert estimate.mean == pytest.approx(10.0 / float(burst.mean_time(9, 4)), rel=1e-14)


def test_the_growth_survives_a_change_of_the_unit_of_time():
    burst = Burst(10.0, per_processor=0.5, growth="log2(p)").scaled(60.0)
    assert float(burst.sequential_time(16, 1)) == pytest.approx(60.0 * 0.5 * 4)


def test_a_slowdown_left_behind_relieves_the_overhead_too():
    burst = Burst(10.0, per_processor=0.5, growth="log2(p)", slowdown=(8, 2.0))
    assert float(burst.sequential_time(16, 1)) == pytest.approx(0.5 * 4 / 2.0)
    assert float(burst.sequential_time(8, 1)) == pytest.approx(0.5 * 3)


def test_a_slowdown_relieves_drawn_jobs_as_it_does_the_mean(rng):
    burst = Burst(10.0, sequential=2.0, per_processor=0.5, slowdown=(8, 2.0))
    p, d = np.array([1.0, 8.0, 16.0]), np.ones(3)
    drawn = burst.draw(p, d, rng=rng, size=2)
    assert drawn.mean(axis=1) == pytest.approx(burst.mean_time(p, d), rel=1e-14)


@pytest.mark.parametrize("text", [" p - 1 ", "log2( p )", "sqrt(p) - 1", " d-1"])
def test_blanks_do_not_matter(text):
    assert parse_growth(text) == NamedGrowth(text.replace(" ", ""))


@pytest.mark.parametrize(
    "growth",
    [
        "",
        "p",
        "P-1",
        "log(p)",
        "p-1\n",
        "p" * 10**6,
        "__import__('os')",
        None,
        3,
        1.5,
        float,
        lambda p: p - 1,
        lambda p, d: p,
        lambda p, d: 1 - p * d,
        lambda p, d: np.nan * p,
        lambda p, d: None,
        lambda p, d: np.ones(3),
        lambda p, d: int("x"),
        lambda p, d: 1 // 0,
    ],
)
def test_nonsense_is_refused_as_a_growth(growth):
    with pytest.raises(ModelError, match="growth") as caught:
        Burst(5.0, per_processor=1.0, growth=growth).mean_time(4, 4)
    assert len(str(caught.value)) < 300


def test_a_growth_that_is_not_zero_at_one_says_what_it_is_there():
    with pytest.raises(ModelError, match=r"g\(1, 1\) = 2; subtract it"):
        Burst(5.0, per_processor=1.0, growth=lambda p, d: p + d)


SCENARIO = """
[machine]
processors = 16
disks = 4

[[program]]
name = "solver"
repeat = 2
io.total = 4.0
cpu = {{ total = 100.0, per_processor = 0.5, growth = {growth} }}

[[policy]]
kind = "DP"
disk_partitions = [1]

[study]
loads = [0.5]
"""


def test_a_scenario_names_the_growth_beside_the_overhead(tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.format(growth='"log2(p)"'))
    program = load_scenario(file).program
    assert float(program.sequential_cpu(16, 1)) == pytest.approx(0.5 * 4)


@pytest.mark.parametrize("growth", ['"p"', "3", '""', "[]"])
def test_a_scenario_with_an_unknown_growth_is_refused_by_its_key(growth, tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.format(growth=growth))
    with pytest.raises(ScenarioError, match="growth"):
        load_scenario(file)
