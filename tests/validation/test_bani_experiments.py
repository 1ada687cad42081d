"""The experiments of Bani-Mohammad and others: set-up, counted operations, verdicts."""

import itertools

import numpy as np
import pytest

from tests.outcomes import Outcomes, one_in_the_gate
from validation.allocation import STRATEGIES, Request
from validation.analysis.estimates import Estimate
from validation.analysis.seeding import stream
from validation.jobs import JobStream
from validation.machine import QUANTITIES, Machine, StrategyComparison, play
from validation.machine.runs import MachineRun
from validation.mesh import Mesh, Occupancy
from validation.papers import RunOptions
from validation.papers.bani_mohammad import EXPERIMENTS, campaign, messages
from validation.papers.bani_mohammad.campaign import KEPT, Campaign, run_one
from validation.papers.bani_mohammad.claims import published, tally
from validation.papers.bani_mohammad.counted import counted, operations_per_job
from validation.papers.bani_mohammad.fig5 import same_work
from validation.papers.bani_mohammad.setup import (
    JOBS,
    LOADS,
    PRECISION,
    Cell,
    machine,
    streams,
)
from validation.papers.bani_mohammad.setup import (
    STRATEGIES as COMPARED,
)
from validation.papers.bani_mohammad.table1 import power
from validation.papers.base import VERDICTS, within

QUICK = RunOptions(seed=1, quick=True)
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


# The set-up: B-1, B-10 to B-13


def test_the_machine_and_the_jobs_are_those_of_the_paper():
    made = machine(Cell("TBL", "SSD", 0.025))
    assert made.mesh.sides == (8, 8, 8)
    assert not made.mesh.torus
    assert (made.network, made.discipline.name) == ("none", "SSD")
    assert made.discipline.key.__qualname__.startswith("ShortestDemand")
    assert list(made.discipline.passers(None, [], None)) == []  # the head blocks the others
    assert (JOBS, PRECISION, COMPARED) == (1000, 0.05, ("TBL", "TFF", "BL", "FF"))
    assert {0.025, 0.075, 0.105} <= set(LOADS)
    drawn = streams(Cell("FF", "FCFS", 0.025)).draw(rng=stream(0, "x"))
    assert drawn.jobs == 1000
    sides = np.array(drawn.shapes)
    assert (sides.min(), sides.max()) == (1, 8)
    assert np.diff(drawn.arrivals).mean() == pytest.approx(40.0, rel=4 / np.sqrt(999))


def test_cells_that_differ_in_strategy_and_load_have_the_same_boxes():
    one = streams(Cell("TBL", "FCFS", 0.025)).draw(rng=stream(0, "x"))
    other = streams(Cell("FF", "SSD", 0.105)).draw(rng=stream(0, "x"))
    light = streams(Cell("FF", "SSD", 0.105, demand="exponential")).draw(rng=stream(0, "x"))
    assert one.shapes == other.shapes == light.shapes
    assert np.array_equal(one.demands, other.demands)
    assert one.arrivals * 0.025 == pytest.approx(other.arrivals * 0.105)


def test_larger_cubes_are_offered_the_same_work():
    def work(load, side):
        return load * ((side + 1) / 2) ** 3 / side**3

    for side in (8, 10, 12):
        assert work(same_work(0.025, side), side) == pytest.approx(work(0.025, 8), rel=1e-12)


# Counted operations


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMPARED)
def test_counted_searches_give_the_same_boxes(name, rng):
    for torus in (False, True) if name.endswith("BL") else (False,):
        held, jobs = Occupancy(Mesh.of_sides((6, 5, 4), torus=torus)), []
        for job in range(300):
            while jobs and rng.random() < 0.5:
                held.release(jobs.pop(int(rng.integers(len(jobs)))))
            request = Request.of_shape(*rng.integers(1, (4, 4, 3)).tolist())
            nodes, same = (s.choose(held, request) for s in (STRATEGIES[name](), counted(name)))
            assert (nodes is None) == (same is None)
            if nodes is not None:
                assert nodes.tolist() == same.tolist()
                held.occupy(job, nodes)
                jobs.append(job)


def test_a_scan_looks_at_nodes_until_one_is_busy():
    held, scan = Occupancy(Mesh.of_sides((4, 1, 1))), counted("FF")
    held.occupy("first", [1])
    assert scan.choose(held, Request.of_shape(2, 1, 1)).tolist() == [2, 3]
    # At 0: nodes 0 and 1; at 1: node 1; at 2: nodes 2 and 3.
    assert scan.counter.of(held).tolist() == [1, 5, 0, 0]
    assert scan.choose(held, Request.of_shape(4, 1, 1)) is None  # more than is free: no search
    assert scan.counter.of(held)[0] == 1


def test_a_busy_list_counts_planes_regions_and_rectangles():
    held, lists = Occupancy(Mesh.of_sides((4, 1, 1))), counted("BL")
    held.occupy("first", [0])
    held.occupy("second", [2])
    assert lists.choose(held, 1).tolist() == [1]
    # x = 0: the region of node 0 takes all of it. x = 1: none of the two regions meets it.
    assert lists.counter.of(held).tolist() == [1, 3, 1, 1]


def test_operations_of_a_run_are_those_of_its_own_mesh():
    jobs = JobStream(arrivals=[0.0, 1.0], sizes=[2, 2], demands=[5.0, 5.0], shapes=((2, 1, 1), (2, 1, 1)))
    place = Mesh.of_sides((4, 1, 1))
    scan, lists = counted("FF"), counted("BL")
    for strategy, expected in ((scan, 2 + (2 * 1 + 2) + 8), (lists, None)):
        history = play(Machine(mesh=place, strategy=strategy, network="none"), jobs)
        if expected is not None:
            # Nodes 0, 1; then 0 and 1 busy, 2 and 3 free; each of 4 nodes set and cleared.
            assert operations_per_job(strategy, history) == pytest.approx(expected / 2)
    # First: no region. Second: x = 0 meets the region of the first; right of it, x = 2, does not.
    # Each job is entered; each is the first of the list when it ends.
    pairs, rectangles = 0 + 2, 0 + 1
    assert operations_per_job(lists, history) == pytest.approx((pairs + rectangles + 2 + 2) / 2)


# Verdicts


def test_the_printed_numbers_are_those_of_the_text():
    assert published() == {
        ("2 TBL(FCFS)", ""): 0.49,
        ("3 BL(SSD)", "0.025"): 0.31,
        ("3 BL(SSD)", "0.105"): 0.57,
        ("4 TBL(SSD)", ""): 0.52,
        ("4 BL(SSD)", ""): 0.42,
        ("6 TBL(FCFS)", "0.075"): 0.09,
    }


def test_a_bound_holds_with_the_whole_interval_and_fails_without_any_of_it():
    known = Estimate(0.5, 0.1, 0.95, 9)
    for low, high, verdict in (
        (0.4, 0.6, "holds"),
        (0.39, 0.59, "undecided"),
        (0.61, 0.9, "fails"),
        (0.0, 0.39, "fails"),
        (0.45, 0.55, "undecided"),
    ):
        assert within(known, low, high) == verdict
    assert within(Estimate(0.5, float("inf"), 0.95, 1), 0.0, 1.0) == "undecided"


def campaign_with(**turnarounds):
    """A campaign of two cells with these turnarounds."""
    cells = {
        Cell(name, "SSD", 0.025): {key: np.array(values) for key in KEPT}
        for name, values in turnarounds.items()
    }
    return Campaign.of_values(cells), [*cells]


def test_cells_are_compared_over_the_replications_that_both_have():
    found, (one, other) = campaign_with(TBL=[1.0, 2.0, 3.0], BL=[2.0, 4.0])
    gap = found.compare(other, one, relative=True)
    assert gap.mean == pytest.approx(1.0)
    assert gap.verdict == "worse"
    assert found.ratio(one, other).mean == pytest.approx(0.5)
    assert found.compare(other, one, "utilisation", relative=True).verdict == "better"
    text = tally([("here", found.compare(one, other, relative=True)), ("there", gap)])
    assert text.startswith("1 better, 1 worse; not better: there +100.0")


def test_a_power_is_found_again():
    sizes = [4, 8, 16, 32]
    means = np.array([[scale * size**1.5 for size in sizes] for scale in (1.0, 3.0, 0.2)])
    found = power(sizes, means)
    assert found.mean == pytest.approx(1.5, rel=1e-12)
    assert found.half_width < 1e-9


# Every experiment, quick


@pytest.fixture(scope="module")
def outcomes():
    """Every experiment, quick: cells that they share are run once."""
    return Outcomes(BY_NAME.values(), QUICK)


@pytest.mark.thorough(but=["bani-fig4", "bani-table1", "bani-fig3"])
@pytest.mark.parametrize("name", one_in_the_gate(BY_NAME, {"bani-table1", "bani-fig3", "bani-fig4"}))
def test_an_experiment_runs_decides_and_draws(outcomes, name):
    outcome = outcomes[name]
    assert len(outcome.table) > 4
    assert {finding.verdict for finding in outcome.findings} <= set(VERDICTS)
    assert all(finding.claim.startswith("B-") and finding.detail for finding in outcome.findings)
    assert any(ax.lines or ax.containers for ax in outcome.figure().axes)


def test_figures_of_the_same_curves_share_their_runs(outcomes):
    three, four = outcomes["bani-fig3"].table, outcomes["bani-fig4"].table
    assert three.equals(four)
    row = three[(three.label == "TBL(SSD)") & (three.load == 0.025)].iloc[0]
    again = [run_one(Cell("TBL", "SSD", 0.025), 1, r, 120)["turnaround"] for r in range(3)]
    assert row.turnaround == pytest.approx(np.mean(again), rel=1e-12)


@pytest.mark.thorough
def test_turning_and_the_shortest_demand_first_never_lose_a_job(outcomes):
    table = outcomes["bani-fig3"].table
    for load, demand in itertools.product(set(table.load), ("pareto",)):
        rows = table[(table.load == load) & (table.demand == demand)]
        # The same jobs: what is done takes the same node-time, so utilisation x makespan agrees.
        work = rows.utilisation * rows.makespan
        assert np.ptp(work) < 0.05 * work.mean()


def as_printed(task):
    """Three runs of a cell in a world where every sentence of the paper holds; all cells scatter alike."""
    cell = task[0]
    busy, turns = cell.strategy.endswith("BL"), cell.strategy.startswith("T")
    ssd = cell.discipline == "SSD"
    turnaround = 100.0 * (1.0 if busy else 1.01) * (1.0 if ssd else 3.0)
    if not turns:  # what BL(SSD) takes longer than TBL(SSD)
        turnaround *= 1.57 if cell.load > 0.1 else 1.31
    if cell.demand == "exponential":
        turnaround *= 0.492 if cell.load > 0.05 else 0.4
    values = {
        "turnaround": turnaround,
        "utilisation": (0.5 if turns else 0.4) + 0.015 * ssd,
        "running": 3.0 + ssd,
        "operations": (40.0 if busy else 500.0) * (1.0 + turns * (1.0 + cell.load)),
        "makespan": 1e4,
    }
    return {name: value * np.array([1.0, 1.001, 1.002]) for name, value in values.items()}


@pytest.mark.parametrize("number", ["2", "3", "4", "5", "6-7"])
def test_every_sentence_holds_of_runs_as_the_paper_has_them(number, monkeypatch):
    monkeypatch.setattr(campaign, "_replicated", as_printed)
    outcome = BY_NAME[f"bani-fig{number}"].run(RunOptions(quick=True))
    assert [str(finding) for finding in outcome.findings if not finding.holds] == []
    assert any(ax.lines or ax.containers for ax in outcome.figure().axes)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [0, 1])
def test_boxes_that_wait_longer_and_are_served_sooner_bear_out_what_is_said_of_messages(number, monkeypatch):
    """On a mesh and on a torus, by made-up runs."""
    history = play(Machine(mesh=Mesh(2, 2)), JobStream(arrivals=[0.0], sizes=[1]))

    def compared(machine, strategies, streams, **options):
        assert streams.mean_interarrival == 50.0
        runs = {}
        for name in strategies:
            box = name in messages.BOXES
            means = dict.fromkeys(QUANTITIES, 1.0) | {"service": 2.0 - box, "wait": 3.0 + box}
            means["turnaround"] = 4.0 if name == "TFF" else 5.0
            values = {quantity: (mean * 0.999, mean * 1.001) for quantity, mean in means.items()}
            runs[name] = MachineRun(
                label=name, unit="cycles", values=values, confidence=0.95, seed=0, first=history
            )
        return StrategyComparison(runs)

    monkeypatch.setattr(messages, "interarrival_for", lambda *arguments, **options: 50.0)
    monkeypatch.setattr(messages, "compare_strategies", compared)
    outcome = messages.EXPERIMENTS[number].run(RunOptions(quick=True))
    assert outcome.table.pattern.unique().tolist() == ["all-to-all", "halo", "write"][: 3 - number]
    assert [str(finding) for finding in outcome.findings if not finding.holds] == []
    assert {each.detail.rpartition("shortest: ")[2] for each in outcome.findings[2::3]} == {"TFF"}
    assert any(ax.lines or ax.containers for ax in outcome.figure().axes)
