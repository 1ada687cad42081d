"""Experiments of Qin et al.: every figure runs, and its claims are decided as they say."""

import numpy as np
import pytest

from tests.outcomes import Outcomes
from validation.analysis.estimates import Estimate
from validation.papers import EXPERIMENTS, RunOptions
from validation.papers.base import within
from validation.papers.qin import claims, setup
from validation.papers.qin.campaign import Sweep

NAMES = [name for name in EXPERIMENTS if name.startswith("qin-")]


@pytest.fixture(scope="module")
def outcomes():
    return Outcomes((EXPERIMENTS[name] for name in NAMES), RunOptions(seed=1, quick=True))


def test_there_is_an_experiment_for_every_figure():
    assert [f"qin-fig{k}" for k in range(1, 10)] == NAMES


def test_every_claim_on_the_figures_is_looked_at(outcomes):
    decided = {finding.claim for name in NAMES for finding in outcomes[name].findings}
    assert decided == {f"Q-{k}" for k in range(9, 18)}


@pytest.mark.thorough(but=["qin-fig2", "qin-fig9"])
@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_drawn_from_a_table_of_all_its_cells(outcomes, name):
    table = outcomes[name].table
    assert not table.duplicated([table.columns[0], "balancer"]).any()
    assert (table.slowdown >= 1.0).all()
    assert outcomes[name].figure().axes


@pytest.mark.thorough
def test_figures_that_show_the_same_runs_share_them():
    options = RunOptions(seed=1, quick=True)
    first = EXPERIMENTS["qin-fig3"].run(options).table.set_index(["I/O rate", "balancer"])
    done = []
    again = RunOptions(seed=1, quick=True, shared=options.shared, progress=lambda what, k, n: done.append(n))
    other = EXPERIMENTS["qin-fig7"].run(again).table.set_index(["I/O rate", "balancer"])
    assert set(done) == {4}  # two replications at two rates, of IOCM-PM alone
    for cell in first.index.intersection(other.index):
        assert first.loc[cell, "slowdown"] == other.loc[cell, "slowdown"]


def made(values, axis="I/O rate"):
    """A sweep of made-up slowdowns: by balancer, rows of points with their replications."""
    xs = tuple(float(k + 1) for k in range(len(next(iter(values.values())))))
    cells = {
        (x, name): {"slowdown": np.array(row, dtype=float)}
        for name, rows in values.items()
        for x, row in zip(xs, rows, strict=True)
    }
    return Sweep.of_values(cells, axis=axis)


def test_slopes_and_gaps_decide():
    found = made({"IOCM-RE": [[2, 2.1], [3, 3.1]], "CPU": [[3, 3.2], [6, 6.3]]})
    assert [f.verdict for f in claims.rise(found, "Q-10", ("IOCM-RE", "CPU"))] == ["holds"] * 2
    assert {f.verdict for f in claims.lowest(found, "Q-10", "IOCM-RE", ("CPU",))} == {"holds"}
    assert {f.verdict for f in claims.lowest(found, "Q-10", "CPU", ("IOCM-RE",))} == {"fails"}
    noisy = made({"IOCM-RE": [[2, 9], [9, 2]], "CPU": [[9, 2], [2, 9]]})
    assert {f.verdict for f in claims.lowest(noisy, "Q-10", "CPU", ("IOCM-RE",))} == {"undecided"}


def test_the_bands_of_preemption_are_those_of_the_specification():
    found = made(
        {
            name: [[s, 1.01 * s]]
            for name, s in (("IOCM-PM", 1.0), ("IOCM-RE", 1.25), ("memory", 1.25), ("CPU", 2.461))
        }
    )
    verdicts = {f.sentence: f.verdict for f in claims.preemption_pays(found)}
    held = [s for s, v in verdicts.items() if v == "holds"]
    assert [s.split()[4] for s in held if "between" in s] == ["IOCM-RE", "CPU"]
    assert any("up to 146.1 %" in s for s in held)
    assert verdicts["IOCM-PM improves on IOCM-RE by up to 112.8 %, as printed"] == "fails"


def test_what_too_few_runs_show_of_bands_and_of_lu_is_undecided():
    noisy = made({name: [[s, 1.5 * s]] for name, s in (("IOCM-PM", 1.0), ("memory", 1.6), ("CPU", 1.6))})
    noisy.runs[1.0, "IOCM-RE"] = made({"IOCM-RE": [[1.1, 2.6]]}).runs[1.0, "IOCM-RE"]
    verdicts = {f.sentence: f.verdict for f in claims.preemption_pays(noisy)}
    assert (
        verdicts["the largest slowdown of IOCM-RE over that of IOCM-PM is between 1.2 and 4"] == "undecided"
    )
    ways = ("IOCM-RE", "IOCM-PM", "memory", "CPU")
    for spread, verdict in ((0.01, "holds"), (0.3, "undecided")):
        gains = {"LU": (0.1, 0.1 - spread), "Titan": (0.5, 0.5 + spread), "Pgrep": (0.6, 0.6)}
        cells = {
            (app, way): {"slowdown": np.array([2.0, 2.0]) * (1.0 - np.array(gain) * way.startswith("IOCM"))}
            for app, gain in gains.items()
            for way in ways
        }
        found = [
            f
            for f in claims.applications(Sweep.of_values(cells, axis="application"))
            if "least" in f.sentence
        ]
        assert [f.verdict for f in found] == [verdict] * 2


def test_an_interval_decides_what_lies_within():
    def judged(mean, half):
        return within(Estimate(mean, half, 0.95, 10), -0.1, 0.1)

    assert (judged(0.02, 0.05), judged(0.2, 0.05), judged(0.1, 0.05)) == ("holds", "fails", "undecided")
    assert judged(-0.2, 0.05) == "fails"


def test_the_traces_of_the_figures_are_those_of_the_specification():
    io = setup.io_traces(1.25, 0.3, quick=False)
    assert (io.jobs, io.offered_disk, io.page_faults, io.nodes) == (1500, 0.75, 0.5, 32)
    memory = setup.memory_traces(10.0, 0.6, quick=False)
    assert (memory.jobs, memory.offered_cpu, memory.memory_factor, memory.io_rate) == (800, 0.20, 3.0, 0.01)
    assert setup.RATES[0] == 0.8
    assert setup.RATES[-1] == 1.25
    assert len(setup.RATES) == 10
    assert setup.BATCH_RATES == (1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0)
    assert len(setup.cluster().nodes) == 32
    assert setup.RUNS >= 10
