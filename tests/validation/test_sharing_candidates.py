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
def contest():
    return simulate_candidates(SOME, MACHINE, WORK, load=0.5, jobs=1500, replications=12, seed=2)


def test_the_ranking_is_by_simulated_mean_response(contest):
    means = [run.mean_response.mean for run in contest.simulations]
    assert means == sorted(means)
    assert [run.policy for run in contest.simulations] == [p.label for p in contest.policies]
    assert set(contest.saturated) == {SP(16, 1), DP(4)}
    assert set(contest.policies) | set(contest.saturated) == set(SOME)


def test_the_policy_with_the_least_predicted_response_wins_or_ties(contest):
    """On W* at load .5, by brute force over all candidates that can carry it."""
    predicted = min(contest.policies, key=lambda p: predict(p, MACHINE, WORK, load=0.5).mean_response)
    assert predicted in contest.ties


def test_differences_are_paired_by_common_random_numbers(contest):
    first, second = contest.simulations[0], contest.simulations[-1]
    gap = contest.behind[-1]
    assert gap.mean == pytest.approx(second.mean_response.mean - first.mean_response.mean)
    assert np.isclose(gap.mean, np.mean(np.subtract(second.responses, first.responses)))
    assert contest.behind[0].mean == contest.behind[0].half_width == 0.0
    # SP(2,4) and SP(4,4) meet the same long jobs: their difference is known better than either.
    runs = {run.policy: run for run in contest.simulations}
    a, b = (np.array(runs[label].responses) for label in ("SP(1,1)", "SP(2,4)"))
    assert (a - b).std() < 0.8 * np.hypot(a.std(), b.std())


def test_two_policies_that_are_the_same_machine_tie():
    same = simulate_candidates(
        [SP(2, 2), TS(2, 2, 1), SP(1, 1)], MACHINE, WORK, load=0.05, jobs=500, replications=5
    )
    assert {SP(2, 2), TS(2, 2, 1)} <= set(same.policies)
    alone = {run.policy: run.mean_response.mean for run in same.simulations}
    assert alone["SP(2,2)"] == alone[TS(2, 2, 1).label]
    assert same.best == SP(1, 1)
    assert same.ties == (SP(1, 1),)
    frame = same.to_frame()
    assert frame.tie.tolist() == [True, False, False]
    assert {"policy", "mean_response", "behind_s", "behind_half_width_s"} <= set(frame)
    assert frame.verdict.tolist() == ["best", "worse", "worse"]
    twins = simulate_candidates([SP(2, 2), TS(2, 2, 1)], MACHINE, WORK, load=0.05, jobs=500, replications=5)
    assert twins.ties == twins.policies
    assert twins.to_frame().verdict.tolist() == ["undecided", "undecided"]


def test_any_two_of_a_contest_may_be_compared(contest):
    first, last = contest.policies[0], contest.policies[-1]
    gap = contest.compare(first, last)
    assert gap.verdict == "better"
    assert gap.mean == -contest.behind[-1].mean
    assert contest.compare(last, first) == contest.comparisons[-1]
    with pytest.raises(ModelError, match="was not simulated"):
        contest.compare(first, DP(4))


def test_a_contest_agrees_with_simulations_one_by_one():
    options = {"load": 0.1, "jobs": 400, "warm_up": 100, "replications": 4, "seed": 9}
    both = simulate_candidates([SP(4, 4), DP(4)], MACHINE, WORK, **options)
    for policy, run in zip(both.policies, both.simulations, strict=True):
        assert run.mean_response == simulate(policy, MACHINE, WORK, **options).mean_response


def test_candidates_that_make_no_contest_are_refused():
    with pytest.raises(ModelError, match="at least one"):
        simulate_candidates([], MACHINE, WORK, load=0.1)
    with pytest.raises(UnstableError):
        simulate_candidates([SP(16, 1), DP(1)], MACHINE, WORK, load=0.6)
    for bad in (None, "SP(1,1)", 5, [None]):
        with pytest.raises(ModelError):
            simulate_candidates(bad, MACHINE, WORK, load=0.1)
    with pytest.raises(ModelError, match="replications"):
        simulate_candidates([SP(1, 1)], MACHINE, WORK, load=0.1, replications=1)
