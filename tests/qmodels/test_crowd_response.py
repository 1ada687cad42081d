import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels import MemoryBudgetError, Phase, Program, System, Workload, predict
from qmodels.policies.models.crowd_response import crowd_response
from qmodels.policies.models.response import percentile_of
from validation import simulate

SHARES = (0.5, 0.95, 0.99)


def workload(io=16.0, cpu=1024.0, **given):
    return Workload(Program([Phase(io=io, cpu=cpu)]), **given)


def response_of_two_servers(fast, slow, rate, t):
    """P(response > t) of an M/M/2 queue whose servers are unlike, the fast one taken first."""
    both, left = fast + slow, fast + slow - rate
    # none, the fast one alone, the slow one alone, both with nobody waiting
    moves = np.array([[0, rate, 0, 0], [fast, 0, 0, rate], [slow, 0, 0, rate], [0, slow, fast, 0]])
    balance = (moves - np.diag(moves.sum(axis=1))).T
    balance[0] = [1, 1, 1, both / left]
    law = np.linalg.solve(balance, [1.0, 0, 0, 0])
    waits = law[3] * both / left

    def after_wait(service):
        return (service * np.exp(-left * t) - left * np.exp(-service * t)) / (service - left)

    at_once = (law[0] + law[2]) * np.exp(-fast * t) + law[1] * np.exp(-slow * t)
    return at_once + waits * (fast * after_wait(fast) + slow * after_wait(slow)) / both


class TestPartitionsOfUnlikeSize:
    @pytest.mark.parametrize("load", [0.1, 0.5, 0.94])
    def test_with_disks_of_their_own_are_servers_of_two_speeds(self, load):
        work, system = workload(), System(16, 6)
        answer = predict("SP(2,2;12+4)", system, work, load=load)
        fast, slow = (1.0 / float(work.program.mean_time(p, 3)) for p in (12, 4))
        times = np.array([1.0, 100.0, 700.0, 3000.0])
        expected = response_of_two_servers(fast, slow, answer.arrival_rate, times)
        assert answer.response.sf(times) == pytest.approx(expected, rel=1e-8)
        assert answer.response.method == "exact"

    @pytest.mark.parametrize("policy", ["SP(3,1;8+4+4)", "SP(4,2;10+2+2+2)", "SP(6,5;11+1+1+1+1+1)"])
    def test_have_the_mean_of_the_queue_where_they_share_disks(self, policy):
        demand = PhaseType.erlang(phases=2, mean=1.0)
        answer = predict(policy, System(16, 5), workload(demand=demand), load=0.7)
        assert answer.response.mean == pytest.approx(answer.mean_response, rel=1e-9)
        assert answer.response.method == "approximate"

    def test_that_are_alike_after_all_give_what_equal_ones_do(self):
        given, equal = (
            [predict(policy, System(16, 4), workload(), load=0.8).percentile(q) for q in SHARES]
            for policy in ("SP(2,2;8+8)", "SP(2,2)")
        )
        assert given == pytest.approx(equal, rel=1e-9)

    @pytest.mark.thorough
    @pytest.mark.parametrize("policy", ["SP(6,1;11+1+1+1+1+1)", "SP(4,2;10+2+2+2)"])
    def test_that_share_disks_have_the_percentiles_of_a_simulation(self, policy):
        given = policy, System(16, 4), workload(io=400.0, cpu=600.0)
        answer = predict(*given, load=0.6)
        played = simulate(*given, load=0.6, jobs=60_000, replications=6, percentiles=SHARES, workers=1)
        for q in SHARES:
            assert answer.percentile(q) == pytest.approx(played.percentile(q).mean, rel=0.1)

    def test_take_a_simpler_demand_where_theirs_has_too_many_stages(self):
        demand = PhaseType.erlang(phases=5, mean=1.0)
        answer = predict(
            "SP(12,1;20+4+4+4+4+4+4+4+4+4+4+4)", System(64, 1), workload(demand=demand), load=0.5
        )
        assert "taken as Erlang of" in answer.reduction

    def test_follow_the_job_itself_by_its_own_demand_then(self):
        demand, light = PhaseType.erlang(phases=8, mean=1.0), 1e-6
        answer = predict(
            "SP(12,12;20+4+4+4+4+4+4+4+4+4+4+4)", System(64, 12), workload(demand=demand), load=light
        )
        alone = float(workload().program.mean_time(20, 1))
        assert answer.percentile(0.95) == pytest.approx(alone * demand.ppf(0.95), rel=1e-4)


class TestAJobThatMeetsAsManyAsThereAre:
    @pytest.mark.parametrize(
        ("policy", "scv", "load"),
        [
            ("SP(4,1)", 1.0, 0.7),
            ("SP(4,1)", 4.0, 0.5),
            ("DP(2)", 0.5, 0.6),
            ("DP(2)", 1.0, 0.9),
            ("TS(2,1;M=3;cpu=ps)", 2.0, 0.5),
        ],
    )
    def test_is_near_one_that_is_followed_among_them(self, policy, scv, load):
        work = workload(io=300.0, cpu=600.0, demand=match_moments(1.0, 1.0 + scv))
        answer = predict(policy, System(16, 4), work, load=load)
        law, whole = crowd_response(answer.solved.queue, answer.solved.chain)
        assert whole
        assert law.mean == pytest.approx(answer.mean_response, rel=1e-9)
        for q in SHARES:
            assert law.ppf(q) == pytest.approx(answer.percentile(q), rel=0.04)

    @pytest.mark.parametrize("load", [0.3, 0.9])
    def test_waits_as_the_others_and_runs_by_a_demand_of_its_own(self, load):
        """Where nothing is shared the time is the wait, then the demand."""
        answer = predict("SP(2,2)", System(2, 2), workload(io=0.0, cpu=1.0), load=load)
        queue, chain = answer.solved.queue, answer.solved.chain
        law, _ = crowd_response(queue, chain)
        regular, _ = crowd_response(queue, chain, PhaseType.erlang(phases=4, mean=1.0))
        assert law.mean == pytest.approx(regular.mean, rel=1e-9)
        assert law.std**2 - regular.std**2 == pytest.approx(1.0 - 0.25, rel=1e-9)

    @pytest.mark.thorough
    def test_stands_for_one_whose_chain_would_be_too_large(self):
        demand = PhaseType([0.3, 0.3, 0.3, 0.1], np.diag([-4.0, -2.0, -0.9, -0.2]))
        work = workload(io=300.0, cpu=600.0, demand=demand.scale(1.0 / demand.mean))
        answer = predict("DP(2)", System(12, 4), work, load=0.8)
        law, _ = crowd_response(answer.solved.queue, answer.solved.chain)
        assert answer.percentile(0.99) == pytest.approx(law.ppf(0.99), rel=1e-12)
        with pytest.raises(MemoryBudgetError):
            percentile_of(answer.solved, 0.99, memory=1e6)


class TestTurnsOfBurstsWithLaws:
    WORK = Workload(
        Program([Phase(io=3.0, cpu=4.0)] * 2),
        io_bursts=match_moments(1.0, 6.0),
        cpu_bursts=match_moments(1.0, 4.0),
    )

    def test_are_followed_exactly_where_the_chain_is_small(self):
        answer = predict("TS(1,1;M=2)", System(4, 2), self.WORK, load=0.5)
        assert (answer.model, answer.method) == ("exact", "exact")
        assert answer.mean_response == pytest.approx(
            predict("TS(1,1;M=2)", System(4, 2), self.WORK, load=0.5, model="exact").mean_response, rel=1e-12
        )

    def test_have_percentiles_that_are_not_called_exact(self):
        answer = predict("TS(1,1;M=2)", System(4, 2), self.WORK, load=0.5)
        assert answer.recorded_error() == 0.0
        assert answer.recorded_error(0.95) is None
        assert "another way" in answer.outside_record(0.95)[0]
        assert answer.percentile(0.5) < answer.mean_response < answer.percentile(0.95)

    def test_are_not_where_it_is_large(self):
        answer = predict("TS(4,1;M=4)", System(8, 2), self.WORK, load=0.5)
        assert answer.method == "approximate"

    def test_have_a_law_of_the_response_as_well(self):
        answer = predict("TS(1,1;M=2)", System(4, 2), self.WORK, load=0.5)
        assert answer.response.method == "approximate"
        assert answer.response.mean == pytest.approx(answer.mean_response, rel=1e-9)
        assert answer.response.percentile(0.95) == pytest.approx(answer.percentile(0.95), rel=1e-6)


def test_jobs_behind_a_long_transfer_have_a_law_of_the_response():
    work = Workload.from_scv(Program([Phase(io=1.0, cpu=3.0)]), demand_scv=30.0)
    answer = predict("SP(4,2)", System(8, 2, disk_discipline="fcfs"), work, load=0.3)
    assert answer.model == "disk-classes"
    assert answer.response.percentile(0.99) == pytest.approx(answer.percentile(0.99), rel=1e-6)
