from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs import Burst, Phase, Program, WorkloadMix, speedup_surface
from qmodels.programs.allotments import (
    AllotmentPath,
    allotment_path,
    best_allotment,
    marginal_value,
)
from tests.examples import examples

FED = Program([Phase(Burst(120.0, law="min(d, p/4)"), Burst(700.0, per_processor=0.24))])

prices = st.floats(0.1, 20.0)


@st.composite
def programs(draw):
    io, cpu = draw(st.floats(0.0, 100.0)), draw(st.floats(0.1, 100.0))
    return Program(
        [
            Phase(
                Burst(io, sequential=0.1 * io, law=draw(st.sampled_from(["d", "min(d, p/4)", "1"]))),
                Burst(cpu, sequential=0.01 * cpu, per_processor=draw(st.floats(0.0, 1.0))),
            )
        ]
    )


def by_hand(program, budget, processor_price, disk_price):
    """Try every allotment; price and processors break ties."""
    best = None
    reference = float(program.mean_time(1, 1))
    for p in range(1, int(budget / processor_price) + 2):
        for d in range(1, int(budget / disk_price) + 2):
            price = processor_price * p + disk_price * d
            if price > budget * (1 + 1e-12):
                continue
            speedup = reference / float(program.mean_time(p, d))
            key = (round(speedup, 9), -price, -p)
            if best is None or key > best[0]:
                best = (key, p, d, price)
    return best


class TestTheBestAllotment:
    @pytest.mark.thorough
    @settings(max_examples=examples(30))
    @given(programs(), st.floats(1.0, 6.0), st.floats(1.0, 6.0), st.floats(12.0, 40.0))
    def test_is_what_trying_every_allotment_finds(self, program, per_p, per_d, budget):
        found = best_allotment(program, budget=budget, processor_price=per_p, disk_price=per_d)
        _, p, d, price = by_hand(program, budget, per_p, per_d)
        assert (found.processors, found.disks) == (p, d)
        assert found.price == pytest.approx(price, rel=1e-12)
        expected = float(program.mean_time(1, 1) / program.mean_time(p, d))
        assert found.speedup == found.value == pytest.approx(expected, rel=1e-12)
        assert found.mean_time == pytest.approx(float(program.mean_time(p, d)), rel=1e-12)

    def test_of_amdahl_with_disks_splits_the_money_as_the_roots_of_the_work(self):
        """Least a/p + b/d with p + c d = B: p/d = sqrt(a c / b); Lagrange."""
        program = Program([Phase(Burst(100.0, law="d"), Burst(1600.0))])
        best = best_allotment(program, budget=600, disk_price=4)
        assert best.processors / best.disks == pytest.approx(math.sqrt(1600 * 4 / 100), rel=0.02)
        assert best.price == 600

    def test_leaves_money_where_more_would_not_help(self):
        """A plateau: only the sequential computation is left, whatever is bought."""
        program = Program([Phase(0.0, Burst(10.0, law="1"))])
        best = best_allotment(program, budget=50)
        assert (best.processors, best.disks, best.price, best.speedup) == (1.0, 1.0, 2.0, 1.0)

    @pytest.mark.thorough
    def test_stops_where_communication_eats_the_gain(self):
        best = best_allotment(FED, budget=1000)
        assert best.processors == round(math.sqrt(820 / 0.24))
        assert best.disks == math.ceil(best.processors / 4)
        assert best.price < 80

    def test_among_equals_is_the_cheapest(self):
        """Speedup min(p, 4 d, 8) in effect: eight processors and two disks, no more."""
        program = Program([Phase(Burst(8.0, law=lambda p, d: np.minimum(np.minimum(p, 4 * d), 8)), 0.0)])
        for disk_price in (0.5, 1.0, 9.0):
            best = best_allotment(program, budget=100, disk_price=disk_price)
            assert (best.processors, best.disks) == (8.0, 2.0)

    def test_is_not_misled_by_rounding_on_a_plateau(self):
        """Beyond eight processors nothing is gained but the last digit."""
        program = Program([Phase(0.0, Burst(8.0, law=lambda p, d: np.minimum(p, 8) * (1 + 1e-15 * (p + d))))])
        best = best_allotment(program, budget=60)
        assert (best.processors, best.disks) == (8.0, 1.0)

    @pytest.mark.thorough
    def test_by_efficacy_weighs_speedup_against_money(self):
        """S^2 over price."""
        best = best_allotment(FED, budget=60, disk_price=4, by="efficacy")
        values = {
            (p, d): (float(FED.mean_time(1, 1) / FED.mean_time(p, d))) ** 2 / (p + 4 * d)
            for p in range(1, 57)
            for d in range(1, 15)
            if p + 4 * d <= 60
        }
        assert (best.processors, best.disks) == max(values, key=values.get)
        assert best.value == pytest.approx(max(values.values()), rel=1e-12)
        assert best.by == "efficacy"

    @pytest.mark.thorough
    def test_by_efficiency_uses_the_weighting_that_it_is_given(self):
        best = best_allotment(FED, budget=60, by="efficiency", g="p")
        assert best.value == pytest.approx(
            max(
                float(FED.mean_time(1, 1) / FED.mean_time(p, d)) / p
                for p in range(1, 60)
                for d in range(1, 61 - p)
            ),
            rel=1e-12,
        )

    def test_of_a_surface_is_a_point_of_its_grid(self):
        surface = speedup_surface(FED, [1, 4, 16, 64], [1, 2, 4, 8])
        best = best_allotment(surface, budget=22)
        assert (best.processors, best.disks, best.price) == (16.0, 4.0, 20.0)

    def test_buys_what_costs_just_the_budget(self):
        """Ten times a tenth is a little more than one."""
        program = Program([Phase(0.0, 10.0)])
        best = best_allotment(program, budget=0.3, processor_price=0.1, disk_price=0.1)
        assert (best.processors, best.disks) == (2.0, 1.0)

    @pytest.mark.thorough
    def test_of_a_mixture_is_that_of_its_means(self):
        mix = WorkloadMix([FED, Program([Phase(0.0, Burst(90.0, law="1"))])])
        assert best_allotment(mix, budget=1000).processors == best_allotment(FED, budget=1000).processors

    def test_becomes_a_table_and_a_frame(self):
        best = best_allotment(FED, budget=20)
        assert best.table().splitlines()[0].split() == ["budget", "20"]
        frame = best.to_frame()
        assert frame["processors"].tolist() == [best.processors]
        assert frame["by"].tolist() == ["speedup"]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"program": None},
            {"program": 3},
            {"budget": 1.9},
            {"budget": 0},
            {"budget": -1},
            {"budget": math.nan},
            {"budget": math.inf},
            {"budget": None},
            {"budget": "9"},
            {"budget": True},
            {"budget": [9.0]},
            {"budget": 10**400},
            {"processor_price": 0.0},
            {"processor_price": math.nan},
            {"disk_price": -1.0},
            {"disk_price": None},
            {"by": "cost"},
            {"by": None},
            {"g": "d", "by": "efficacy"},
            {"g": 3, "by": "efficacy"},
        ],
    )
    def test_refuses_nonsense(self, wrong):
        good = {"program": FED, "budget": 9.0}
        with pytest.raises(ModelError):
            best_allotment(**good | wrong)

    def test_says_what_the_least_allotment_costs(self):
        with pytest.raises(ModelError, match=r"costs 5 \(1 processors and 1 disks\)"):
            best_allotment(FED, budget=3.0, disk_price=4.0)

    def test_refuses_to_try_more_allotments_than_it_could(self):
        with pytest.raises(MemoryBudgetError, match="coarser grid"):
            best_allotment(FED, budget=1e9)


class TestThePathOfAllotments:
    BUDGETS = np.arange(5.0, 120.0, 2.5)

    @settings(max_examples=examples(20))
    @given(programs(), prices, prices, st.sampled_from(["speedup", "efficacy", "efficiency"]))
    def test_never_falls_in_value_nor_exceeds_its_budget(self, program, per_p, per_d, by):
        budgets = (per_p + per_d) * np.linspace(1.0, 12.0, 7)
        path = allotment_path(program, budgets, processor_price=per_p, disk_price=per_d, by=by).steps
        values = np.array([step.value for step in path])
        assert np.all(np.diff(values) >= -1e-12 * values[1:])
        for step, budget in zip(path, budgets, strict=True):
            assert step.price <= budget * (1 + 1e-11)
            assert step.budget == budget

    @pytest.mark.parametrize("by", ["speedup", "efficacy"])
    def test_is_the_best_allotment_at_every_budget(self, by):
        path = allotment_path(FED, self.BUDGETS, disk_price=4, by=by)
        for step in path.steps[::7]:
            assert step == best_allotment(FED, budget=step.budget, disk_price=4, by=by)

    def test_ends_where_more_money_buys_nothing(self):
        path = allotment_path(FED, [60.0, 80.0, 100.0, 200.0, 400.0])
        assert path.steps[-1].price == path.steps[-2].price == path.steps[-3].price

    def test_of_a_surface_keeps_to_its_grid(self):
        surface = speedup_surface(FED, [1, 4, 16, 64], [1, 2, 4, 8])
        path = allotment_path(surface, [2.0, 6.0, 20.0, 100.0])
        assert [(s.processors, s.disks) for s in path.steps] == [(1, 1), (4, 1), (16, 4), (64, 8)]

    def test_becomes_a_table_and_a_frame_with_a_row_per_budget(self):
        path = allotment_path(FED, [5.0, 20.0, 80.0], disk_price=4)
        assert len(path.table().splitlines()) == 4
        frame = path.to_frame()
        assert frame["budget"].tolist() == [5.0, 20.0, 80.0]
        assert frame["speedup"].tolist() == [step.speedup for step in path.steps]
        assert isinstance(path, AllotmentPath)

    @pytest.mark.parametrize(
        "budgets",
        [
            [],
            None,
            "12",
            [5.0, 5.0],
            [9.0, 5.0],
            [math.nan],
            [0.0, 5.0],
            [1e13],
            [[5.0]],
            np.arange(5.0, 1e5),
            {},
        ],
    )
    def test_refuses_budgets_that_do_not_increase(self, budgets):
        with pytest.raises(ModelError, match="budget"):
            allotment_path(FED, budgets)


class TestTheMarginalValue:
    @pytest.mark.thorough
    @given(programs(), st.integers(1, 64), st.integers(1, 64), prices, prices)
    def test_is_the_speedup_of_the_neighbours(self, program, p, d, per_p, per_d):
        found = marginal_value(program, p, d, processor_price=per_p, disk_price=per_d)
        surface = speedup_surface(program, [p, p + 1], [d, d + 1]).speedup
        assert found.speedup == pytest.approx(surface[0, 0], rel=1e-13)
        scale = 1e-12 * surface.max()
        assert found.by_processor == pytest.approx(surface[1, 0] - surface[0, 0], abs=scale)
        assert found.by_disk == pytest.approx(surface[0, 1] - surface[0, 0], abs=scale)
        assert found.by_processor_per_price == found.by_processor / per_p
        assert found.by_disk_per_price == found.by_disk / per_d

    def test_turns_negative_where_communication_eats_the_gain(self):
        best = best_allotment(FED, budget=1000)
        assert marginal_value(FED, best.processors - 1, best.disks).by_processor > 0
        assert marginal_value(FED, best.processors, best.disks).by_processor < 0

    def test_becomes_a_table_and_a_frame(self):
        found = marginal_value(FED, 16, 4)
        assert found.table().splitlines()[0].split() == ["processors", "16"]
        assert found.to_frame()["by_disk"].tolist() == [found.by_disk]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"program": None},
            {"p": 0.5},
            {"p": math.nan},
            {"p": None},
            {"d": 0},
            {"d": [1, 2]},
            {"p": 1e12},
            {"processor_price": 0},
            {"disk_price": math.inf},
            {"disk_price": "1"},
        ],
    )
    def test_refuses_nonsense(self, wrong):
        with pytest.raises(ModelError):
            marginal_value(**{"program": FED, "p": 4, "d": 2} | wrong)
