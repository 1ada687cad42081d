"""The trial as an experiment: what its findings say, and that it goes on where it ended."""

from concurrent.futures import Future

import numpy as np
import pandas as pd
import pytest

from qmodels.policies import SpeedTable
from validation.allocation.base import find_strategy
from validation.jobs.renewal import ReplayedJobs
from validation.mesh import Mesh
from validation.papers import EXPERIMENTS
from validation.papers.base import RunOptions
from validation.papers.trial.campaign import (
    bounded,
    campaign_parts,
    findings,
    grid_parts,
    not_run,
    quick_parts,
    run_trial,
)
from validation.papers.trial.comparison import (
    NOISE,
    SHARES,
    SPEEDS,
    cause_of,
    compare_predictions,
    observed_speeds,
)
from validation.papers.trial.grid import PLACES, cells
from validation.papers.trial.replay import replay_on_mesh
from validation.sweeps.keeping import keepers
from validation.trial.replications import Replication, TrialPoint

SMALL = quick_parts()[0]
GRID_NAMES = ("trial-grid-8x8", "trial-grid-16x16", "trial-grid-16x22")


class Stopped(Exception):
    pass


def compared(executor=None):
    return compare_predictions(
        SMALL.cell,
        ("MC",),
        (0.6,),
        replications=4,
        jobs=8,
        warm_up=2,
        starts=2,
        loss_jobs=40,
        seed=2,
        executor=executor,
    )


def broken_off(journal, calls):
    """A comparison whose executor fails after so many calls."""
    with keepers(journal, "validation.papers.trial.comparison", workers=1) as kept:
        submit, left = kept.processes.submit, iter(range(calls))

        def some(*args, **options):
            if next(left, None) is not None:
                return submit(*args, **options)
            failed: Future = Future()
            failed.set_exception(Stopped())
            return failed

        kept.processes.submit = some
        compared(kept.processes)


@pytest.mark.thorough
def test_a_comparison_that_was_broken_off_gives_the_same_table_bit_for_bit(tmp_path):
    whole, journal = compared(), tmp_path / "j"
    with pytest.raises(Stopped):
        broken_off(journal, 3)
    with keepers(journal, "validation.papers.trial.comparison", workers=1) as kept:
        again = compared(kept.processes)
        assert kept.processes.new_seconds < kept.processes.cpu_seconds  # some was remembered
    seconds = [name for name in whole if name.startswith("seconds")]
    pd.testing.assert_frame_equal(whole.drop(columns=seconds), again.drop(columns=seconds), check_exact=True)


@pytest.mark.thorough
def test_a_quick_run_has_every_policy_and_judges_what_the_specification_asks():
    found = run_trial(RunOptions(seed=1, quick=True))
    assert set(found.table.policy.str.slice(0, 2)) == {"SP", "DP", "TS"}
    claims = {finding.claim for finding in found.findings}
    assert claims >= {"T-4", "T-5", "T-6", "T-7", "T-8", "T-9", "T-10"}
    assert len(found.figure().axes) == 3
    assert not [name for name in found.table if "seconds" in name]
    # The corrected interval under TS is no longer empty, as when given speeds were not used.
    assert (found.table.corrected_half_width > 0.0).all()


def test_the_campaign_and_what_it_leaves_out_are_the_grid():
    parts = campaign_parts()
    names = [part.cell.name for part in parts]
    assert len(set(names)) == len(names)
    assert sum(name.startswith("8x8") for name in names) == 25
    assert not set(names) & set(not_run())
    assert len(not_run()) + len(set(names)) == 75
    for part in parts:
        for strategy in part.strategies:
            assert part.cell.with_options(strategy=find_strategy(strategy)).most_running >= 2


def test_the_whole_grid_is_every_cell_by_every_strategy_at_every_load():
    parts = [part for place in PLACES for part in grid_parts(place)]
    assert [part.cell for part in parts] == cells()
    assert len(parts) == 75
    for part in parts:  # a tree of halves needs powers of two
        assert len(part.strategies) == (7 if part.cell.mesh.columns == 22 else 8)
    assert {part.loads for part in parts} == {(0.3, 0.6, 0.8)}
    part = parts[0]  # four jobs run at most
    point = TrialPoint(cell=part.cell, arrival_rate=1e-6, jobs=part.effort.jobs, warm_up=part.effort.warm_up)
    assert part.effort.replications * point.jobs_of(0)[0].size == 600
    assert len(set(GRID_NAMES) & set(EXPERIMENTS)) == len(PLACES)
    assert {EXPERIMENTS[name].module for name in GRID_NAMES} == {EXPERIMENTS["trial"].module}


@pytest.mark.parametrize("place", PLACES)
def test_every_strategy_of_the_grid_places_jobs_of_every_size_that_a_cell_asks_for(place):
    for part in grid_parts(place):
        cells_of_it = [part.cell.with_options(strategy=find_strategy(s)) for s in part.strategies]
        for cell in cells_of_it:
            for running in range(1, cell.partitions + 1):
                chosen = cell.strategy.choose(Mesh(*place), cell.nodes_of(running))
                assert len(set(chosen)) == cell.nodes_of(running)


def rows(**changes):
    base = {
        "cell": "a",
        "load": 0.5,
        "policy": "SP(2,1)",
        "strategy": ["x", "y"],
        "simulated": [100.0, 110.0],
        "corrected": [101.0, 111.0],
        "half_width": 0.01,
        "corrected_half_width": 0.02,
        "error": [0.01, 0.009],
        "error_uncorrected": [0.3, np.inf],
        "covers": True,
        "kept_out": False,
        "values": [list(np.linspace(99, 101, 9)), list(np.linspace(109, 111, 9))],
    }
    return pd.DataFrame(base | changes)


def test_findings_hold_fail_or_are_undecided_for_the_right_reason():
    good = {f.sentence: f.verdict for f in findings(rows())}
    assert set(good.values()) == {"holds"}
    off = findings(rows(error=[0.2, 0.2], covers=False))
    assert [f.verdict for f in off if f.claim == "T-4"] == ["fails"] * 3
    assert [f.verdict for f in off if f.claim == "T-5"] == ["fails"]
    noisy = findings(rows(error=[0.2, 0.2], half_width=0.3))
    assert [f.verdict for f in noisy if f.claim == "T-4"] == ["undecided"] * 3
    missed = findings(rows(error=[0.2, 0.2], half_width=0.3, covers=False))
    assert [f.verdict for f in missed if f.claim == "T-5"] == ["undecided"]
    apart = findings(rows(values=[[100.0, 300.0], [100.0, 300.0]], simulated=100.0))
    assert [f.verdict for f in apart if f.claim == "T-6"] == ["undecided"]
    assert bounded(0.02, 0.0, 0.02) == "holds"


def test_the_cause_of_an_error_is_read_off_the_runs():
    assert cause_of(0.3, 0.3, within=True) == NOISE
    assert cause_of(-0.3, 0.1, within=False) == SPEEDS
    assert cause_of(-0.3, -0.2, within=False) == SHARES
    assert cause_of(0.1, float("inf"), within=False) == SHARES
    runs = [
        Replication(1.0, 1, 0.0, done=np.array(done), cycles=np.array(cycles))
        for done, cycles in (([2.0, 0.0], [10.0, 0.001]), ([4.0, 0.0], [10.0, 0.0]))
    ]
    assert observed_speeds(runs, np.array([9.0, 0.5])).tolist() == [0.3, 0.5]


@pytest.mark.thorough
@pytest.mark.parametrize("together", [True, False])
def test_a_log_whose_jobs_come_in_swarms_is_slower_than_its_shuffle(together):
    """Thirty jobs close together and then thirty far apart, or the same in a random order."""
    cell = SMALL.cell
    gaps = np.repeat([0.2, 1.8], 30)
    if not together:
        gaps = np.random.default_rng(1).permutation(gaps)
    log = ReplayedJobs(gaps, np.tile([0.5, 1.5], 30))
    table = SpeedTable([1e-5, 1.8e-5, 2.4e-5, 3e-5])
    held = replay_on_mesh(cell, log, 1.2e-5, table, shuffles=4, seed=1)
    [cause] = held.causes
    assert cause.name == "dependence of arrivals and demands"
    assert held.verdict == "undecided"  # one history has no interval
    mean = held.simulation.mean_response.mean
    gap = mean - held.prediction.mean_response
    assert held.unexplained + cause.effect.mean == pytest.approx(gap)
    if together:
        assert cause.verdict == "slower"
    else:
        assert abs(cause.effect.mean) <= 3 * cause.effect.half_width
