import numpy as np
import pytest

from qmodels.errors import ModelError, UnstableError
from qmodels.policies import DynamicPartitioning, SpaceSharing, TimeSharing, predict
from validation import simulate
from validation.papers.rosti.load_sweep import reference_machine, reference_workload
from validation.sharing import simulate_candidates

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
MACHINE, WORK = reference_machine(), reference_workload()
SOME = [SP(1, 1), SP(2, 4), SP(4, 4), SP(8, 8), SP(16, 1), DP(4), TS(4, 4)]


@pytest.fixture(scope="module")
def found():
    return simulate_candidates(SOME, MACHINE, WORK, load=0.5, jobs=1500, replications=12, seed=2)


@pytest.mark.thorough
def test_the_ranking_is_by_simulated_mean_response(found):
    means = [run.mean_response.mean for run in found.runs.values()]
    assert means == sorted(means)
    assert [found.mean_of(policy) for policy in found.ranked()] == means
    assert [run.policy for run in found.runs.values()] == [p.label for p in found.runs]
    assert set(found.saturated) == {SP(16, 1), DP(4)}
    assert set(found.runs) | set(found.saturated) == set(SOME)


@pytest.mark.thorough
def test_the_policy_with_the_least_predicted_response_wins_or_ties(found):
    """On W* at load .5, by brute force over all candidates that can carry it."""
    predicted = min(found.runs, key=lambda p: predict(p, MACHINE, WORK, load=0.5).mean_response)
    assert predicted in found.leaders()


def test_differences_are_paired_by_common_random_numbers(found):
    best, *_, last = found.runs
    first, second = found.runs[best], found.runs[last]
    gap = found.difference(last, best)
    assert gap.mean == pytest.approx(second.mean_response.mean - first.mean_response.mean)
    assert np.isclose(gap.mean, np.mean(np.subtract(second.responses, first.responses)))
    assert found.difference(best, best).mean == found.difference(best, best).half_width == 0.0
    # SP(2,4) and SP(4,4) meet the same long jobs: their difference is known better than either.
    runs = {run.policy: run for run in found.runs.values()}
    a, b = (np.array(runs[label].responses) for label in ("SP(1,1)", "SP(2,4)"))
    assert (a - b).std() < 0.8 * np.hypot(a.std(), b.std())


def test_two_policies_that_are_the_same_machine_tie():
    same = simulate_candidates(
        [SP(2, 2), TS(2, 2, 1), SP(1, 1)], MACHINE, WORK, load=0.05, jobs=500, replications=5
    )
    assert {SP(2, 2), TS(2, 2, 1)} <= set(same.runs)
    alone = {run.policy: run.mean_response.mean for run in same.runs.values()}
    assert alone["SP(2,2)"] == alone[TS(2, 2, 1).label]
    assert same.best() == SP(1, 1)
    assert same.leaders() == (SP(1, 1),)
    frame = same.to_frame()
    assert frame.tie.tolist() == [True, False, False]
    assert {"policy", "mean_response", "behind_s", "behind_half_width_s"} <= set(frame)
    assert frame.verdict.tolist() == ["best", "worse", "worse"]
    twins = simulate_candidates([SP(2, 2), TS(2, 2, 1)], MACHINE, WORK, load=0.05, jobs=500, replications=5)
    assert twins.leaders() == tuple(twins.runs)
    assert twins.to_frame().verdict.tolist() == ["undecided", "undecided"]


def test_any_two_of_them_may_be_compared(found):
    first, *_, last = found.runs
    gap = found.compare(first, last)
    assert gap.verdict == "better"
    assert found.compare(last, first).mean == -gap.mean
    assert first.label in found.table().splitlines()[1]
    with pytest.raises(ModelError, match=r"no policy here is called 'DP\(4\)'; there are "):
        found.compare(first, DP(4))


def test_a_comparison_agrees_with_simulations_one_by_one():
    options = {"load": 0.1, "jobs": 400, "warm_up": 100, "replications": 4, "seed": 9}
    both = simulate_candidates([SP(4, 4), DP(4)], MACHINE, WORK, **options)
    for policy, run in both.runs.items():
        assert run.mean_response == simulate(policy, MACHINE, WORK, **options).mean_response


def test_candidates_that_cannot_be_compared_are_refused():
    with pytest.raises(ModelError, match="at least one"):
        simulate_candidates([], MACHINE, WORK, load=0.1)
    with pytest.raises(UnstableError):
        simulate_candidates([SP(16, 1), DP(1)], MACHINE, WORK, load=0.6)
    for bad in (None, "SP(1,1)", 5, [None]):
        with pytest.raises(ModelError):
            simulate_candidates(bad, MACHINE, WORK, load=0.1)
    with pytest.raises(ModelError, match="replications"):
        simulate_candidates([SP(1, 1)], MACHINE, WORK, load=0.1, replications=1)
