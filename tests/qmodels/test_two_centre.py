import json
import tracemalloc
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.networks import ClosedNetwork, disk_group_throughput, machine_repair, occupancy
from qmodels.networks.centres import TwoCentres
from tests.data import KEPT
from tests.naive import closed_network as naive

ONE = PhaseType.exponential(mean=1.0)
E2, E3 = PhaseType.erlang(phases=2, mean=1.0), PhaseType.erlang(phases=3, mean=2.0)
COX = PhaseType.coxian(rates=[4.0, 0.5], continue_probabilities=[0.375])
LOOP = PhaseType([0.3, 0.7], [[-3.0, 1.0], [2.0, -7.0]])


def h2(mean, scv):
    return match_moments(mean, mean * mean * (1.0 + scv))


#: Pairs of computation with mean 2 and disk with mean 1.
PAIRS = {
    "exp/exp": (ONE.scale(2.0), ONE),
    "H2/E2": (h2(2.0, 4.0), E2),
    "E3/H2": (E3, h2(1.0, 9.0)),
    "Cox/loop": (COX.scale(2.0 / COX.mean), LOOP.scale(1.0 / LOOP.mean)),
}
CASES = [
    (discipline, servers)
    for discipline in ("ps", "fcfs", "siro", "lcfs-pr")
    for servers in ((1, 2, 3) if discipline != "lcfs-pr" else (1,))
]


def reference_cases(cases):
    listed = json.loads((cases / "reference" / "closed_two_centre.json").read_text())
    assert len(listed) == (14 if cases == KEPT else 48)
    for case in listed:
        given, expected = case["input"], case["output"]
        think, service = (PhaseType(given[k]["alpha"], given[k]["T"]) for k in ("think", "service"))
        network = ClosedNetwork(given["Y"], delay=think, disk=service, discipline=given["sched"].lower())
        yield case["id"], network, expected


def check_against_reference(solution, expected, case):
    assert solution.throughput == pytest.approx(expected["X"], rel=1e-9), case
    assert solution.mean_at_disk == pytest.approx(expected["Nq"], rel=1e-9), case
    assert solution.mean_at_delay == pytest.approx(expected["Nd"], rel=1e-9), case
    assert solution.mean_sojourn == pytest.approx(expected["Rq"], rel=1e-9), case
    assert solution.utilisation == pytest.approx(expected["U"], rel=1e-9), case
    assert solution.disk_pmf == pytest.approx(np.array(expected["pk"]), rel=1e-9, abs=1e-16), case


@pytest.mark.thorough
def test_the_reference_cases_come_out_to_1e_9(cases):
    for case, network, expected in reference_cases(cases):
        check_against_reference(network.solve(), expected, case)


@pytest.mark.thorough
def test_the_reference_cases_come_out_of_the_chain_as_well(cases):
    for case, network, expected in reference_cases(cases):
        assert network.states == expected["states"], case
        solution = network.solve("chain")
        assert solution.states == expected["states"], case
        check_against_reference(solution, expected, case)


@pytest.mark.parametrize(
    ("jobs", "at_delay", "at_disk", "throughput", "sojourn"),
    [
        (1, 0.66666667, 0.33333333, 0.33333333, 1.0),
        (2, 1.2, 0.8, 0.6, 1.33333333),
        (4, 1.80952381, 2.19047619, 0.90476190, 2.42105263),
        (8, 1.99828105, 6.00171895, 0.99914052, 6.00688172),
    ],
)
@pytest.mark.parametrize("laws", PAIRS)
def test_r33_the_printed_averages_come_out_for_every_pair_of_laws_under_sharing(
    laws, jobs, at_delay, at_disk, throughput, sojourn
):
    for method in ("product-form", "chain"):
        found = ClosedNetwork(jobs, *PAIRS[laws]).solve(method)
        assert found.mean_at_delay == pytest.approx(at_delay, abs=5.1e-9)
        assert found.mean_at_disk == pytest.approx(at_disk, abs=5.1e-9)
        assert found.throughput == pytest.approx(throughput, abs=5.1e-9)
        assert found.mean_sojourn == pytest.approx(sojourn, abs=5.1e-9)


@pytest.mark.parametrize(
    ("laws", "jobs", "throughput", "sojourn"),
    [
        ("H2/E2", 2, 0.60793201, 1.28984157),
        ("H2/E2", 4, 0.92029182, 2.34644742),
        ("H2/E2", 8, 0.99972616, 6.00219131),
        ("E3/H2", 2, 0.56619393, 1.53235858),
        ("E3/H2", 4, 0.83859089, 2.76990634),
        ("E3/H2", 8, 0.99085651, 6.07382289),
    ],
)
def test_r34_in_order_of_arrival_the_printed_averages_come_out(laws, jobs, throughput, sojourn):
    for discipline in ("fcfs", "siro"):
        found = ClosedNetwork(jobs, *PAIRS[laws], discipline=discipline).solve()
        assert found.throughput == pytest.approx(throughput, abs=5.1e-9)
        assert found.mean_sojourn == pytest.approx(sojourn, abs=5.1e-9)


@pytest.mark.parametrize(("laws", "sharing", "in_order"), [("H2/E2", 165, 81), ("E3/H2", 495, 285)])
def test_r28_levels_have_as_many_states_as_jobs_can_be_spread_over_stages(laws, sharing, in_order):
    assert ClosedNetwork(8, *PAIRS[laws]).states == sharing
    assert ClosedNetwork(8, *PAIRS[laws], discipline="fcfs").states == in_order
    delay, disk = PAIRS[laws]
    chain = ClosedNetwork(8, delay, disk)._chain()
    for i, size in enumerate(np.diff(chain.base).tolist()):
        disks = comb(i + disk.order - 1, disk.order - 1)
        assert size == disks * comb(8 - i + delay.order - 1, delay.order - 1)


@pytest.mark.parametrize(("discipline", "servers"), CASES)
def test_r28_rates_are_positive_and_change_the_number_at_the_disk_by_one_at_most(discipline, servers):
    chain = ClosedNetwork(5, *PAIRS["Cox/loop"], discipline, servers)._chain()
    entries = chain.rates.tocoo()
    assert entries.data.min() > 0.0
    assert (entries.row != entries.col).all()
    assert np.abs(chain.levels[entries.row] - chain.levels[entries.col]).max() == 1
    assert (np.diff(chain.rates.indices)[np.diff(entries.row) == 0] > 0).all()


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("discipline", "servers"), CASES)
@pytest.mark.parametrize("laws", PAIRS)
def test_the_chain_agrees_with_one_that_tells_all_jobs_apart(laws, discipline, servers):
    delay, disk = PAIRS[laws]
    states, rates = naive.chain([(delay, disk)] * 3, discipline, servers)
    expected = naive.disk_law(states, naive.steady(rates), 3)
    for method in ("auto", "chain"):
        found = ClosedNetwork(3, delay, disk, discipline, servers).solve(method)
        assert found.disk_pmf == pytest.approx(expected, rel=1e-11, abs=0)


def test_r27_where_nothing_is_shared_the_disk_is_as_if_alone():
    for discipline in ("ps", "fcfs", "siro"):
        for servers in (4, 9):
            found = ClosedNetwork(4, *PAIRS["E3/H2"], discipline, servers).solve()
            assert found.method == "exact (product form)"
            assert found.mean_sojourn == pytest.approx(1.0, rel=1e-14)
            assert found.throughput == pytest.approx(4 / 3, rel=1e-14)
            assert found.sojourn.ppf(0.9) == pytest.approx(h2(1.0, 9.0).ppf(0.9), rel=1e-11)


@pytest.mark.parametrize(("discipline", "servers"), CASES)
def test_r32_moments_count_the_jobs(discipline, servers):
    found = ClosedNetwork(6, *PAIRS["H2/E2"], discipline, servers).solve("chain")
    assert found.mean_at_disk + found.mean_at_delay == pytest.approx(6.0, rel=1e-14)
    assert found.disk_moment(1) == pytest.approx(found.mean_at_disk, rel=1e-15)
    assert found.delay_moment(1) == pytest.approx(found.mean_at_delay, rel=1e-15)
    i = np.arange(7)
    for k in (0, 2, 3):
        assert found.disk_moment(k) == pytest.approx(found.disk_pmf @ i**k, rel=1e-14)
        assert found.delay_moment(k) == pytest.approx(found.disk_pmf @ (6 - i) ** k, rel=1e-14)
    # E[(U_P + U_D)^2] = Y^2 ties the second moments to the mixed one
    mixed = found.disk_pmf @ (i * (6 - i))
    assert found.disk_moment(2) + found.delay_moment(2) + 2 * mixed == pytest.approx(36, rel=1e-13)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("discipline", "servers"), CASES)
@pytest.mark.parametrize("laws", PAIRS)
def test_r33_three_ways_to_the_throughput_agree(laws, discipline, servers):
    network = ClosedNetwork(5, *PAIRS[laws], discipline, servers)
    for method in ("auto", "chain"):
        found = network.solve(method)
        assert found.throughputs.spread < 1e-12
        assert found.error_bound >= found.throughputs.spread


@pytest.mark.parametrize("jobs", [2, 5, 16])
def test_r34_under_sharing_only_the_means_matter(jobs):
    """Checked on the chains: the product form could not tell."""
    laws = [pair for name, pair in PAIRS.items() if jobs < 16 or name == "H2/E2"]
    expected = ClosedNetwork(jobs, *PAIRS["exp/exp"]).solve("chain")
    for pair in laws:
        found = ClosedNetwork(jobs, *pair).solve("chain")
        assert found.disk_pmf == pytest.approx(expected.disk_pmf, rel=1e-9, abs=0)


def test_r34_in_order_of_arrival_the_laws_matter_too():
    rates = {
        name: ClosedNetwork(4, *pair, discipline="fcfs").solve().throughput for name, pair in PAIRS.items()
    }
    assert rates["E3/H2"] < 0.93 * rates["exp/exp"] < rates["exp/exp"] < rates["H2/E2"]


@pytest.mark.parametrize("laws", PAIRS)
@pytest.mark.parametrize("jobs", [1, 3, 6])
def test_r37_preemption_by_the_last_has_the_means_of_sharing(laws, jobs):
    sharing = ClosedNetwork(jobs, *PAIRS[laws]).solve()
    stack = ClosedNetwork(jobs, *PAIRS[laws], discipline="lcfs-pr").solve("chain")
    assert stack.mean_sojourn == pytest.approx(sharing.mean_sojourn, rel=1e-12)
    assert stack.disk_pmf == pytest.approx(sharing.disk_pmf, rel=1e-11, abs=0)


def test_r37_whom_a_free_server_calls_does_not_change_the_numbers():
    for servers in (1, 2):
        in_order, at_random = (
            ClosedNetwork(6, *PAIRS["E3/H2"], discipline, servers).solve() for discipline in ("fcfs", "siro")
        )
        assert at_random.disk_pmf == pytest.approx(in_order.disk_pmf, rel=1e-12, abs=0)


def test_the_product_form_is_taken_where_it_holds_and_said():
    def how(laws, discipline, servers=1):
        return ClosedNetwork(4, *PAIRS[laws], discipline, servers).solve().method

    formula = "exact (product form)"
    assert how("E3/H2", "ps") == how("E3/H2", "ps", 2) == how("E3/H2", "lcfs-pr") == formula
    assert how("exp/exp", "fcfs") == how("exp/exp", "siro", 3) == formula
    assert how("E3/H2", "fcfs", 4) == formula
    assert how("E3/H2", "fcfs").startswith("exact (chain")
    with pytest.raises(ModelError, match="no product form under"):
        ClosedNetwork(4, *PAIRS["E3/H2"], "fcfs").solve("product-form")
    for jobs in (13, 10**12):
        with pytest.raises(MemoryBudgetError, match="product-form"):
            ClosedNetwork(jobs, *PAIRS["E3/H2"], "lcfs-pr").solve("chain")


def test_an_exponential_law_in_disguise_is_seen_through():
    disguise = PhaseType([0.5, 0.5, 0.0], [[-3.0, 2.0, 0.0], [1.0, -2.0, 0.0], [0.0, 0.0, -7.0]])
    assert disguise.scv == pytest.approx(1.0)
    found = ClosedNetwork(5, disguise, disguise, "fcfs")
    assert found.states == 6
    assert found.solve().method == "exact (product form)"


@pytest.mark.parametrize("method", ["gth", "direct", "iterative", "block-tridiagonal"])
def test_every_solver_of_the_chain_gives_the_same(method):
    network = ClosedNetwork(7, *PAIRS["E3/H2"], discipline="fcfs")
    found, expected = network.solve(method), network.solve("gth")
    assert found.disk_pmf == pytest.approx(expected.disk_pmf, rel=1e-11, abs=0)
    assert found.method.startswith("exact (chain")
    assert found.error_bound <= 1e-10


def test_a_chain_too_large_for_elimination_is_right_to_1e_10():
    """8,721 states; the same by a stricter run, and by the law of utilisation."""
    network = ClosedNetwork(16, h2_erlang_of_order_four(), h2(0.1, 9.0), "fcfs")
    assert network.states == 8721
    found, strict = network.solve(), network.solve(tol=1e-15)
    assert found.throughput == pytest.approx(strict.throughput, rel=1e-10)
    assert found.throughputs.spread < 1e-10
    assert abs(found.throughput / strict.throughput - 1) <= found.error_bound + strict.error_bound


def test_stages_of_very_different_length_stay_within_the_error_told():
    """Means over three decades: the iteration against the elimination that keeps every digit."""
    delay = PhaseType.hyperexponential(weights=[0.7, 0.2, 0.09, 0.01], means=[0.1, 1.0, 10.0, 100.0])
    network = ClosedNetwork(11, delay, h2(0.1, 9.0), "fcfs")
    iterated, exact = network.solve("iterative"), network.solve("direct")
    assert iterated.disk_pmf == pytest.approx(
        exact.disk_pmf, rel=iterated.error_bound + exact.error_bound, abs=0
    )
    assert iterated.throughput == pytest.approx(exact.throughput, rel=1e-10)


@pytest.mark.parametrize("coupling", [1e-6, 1e-10, 1e-13])
def test_a_solver_that_cannot_tell_rare_stages_does_not_call_itself_exact(coupling):
    """A disk that breaks down hardly ever, and then for as long as it had worked."""
    jumps = np.array([[0.0, coupling], [coupling, 0.0]])
    disk = PhaseType.from_rates([1.0, 0.0], jumps, [4.0, coupling])
    network = ClosedNetwork(9, E3, disk, "fcfs")
    exact = network.solve("direct")
    for method in ("chain", "iterative"):
        found = network.solve(method)
        error = np.abs(found.disk_pmf / exact.disk_pmf - 1.0).max()
        assert error <= max(found.error_bound, 1e-10)
        assert found.method.startswith("exact" if found.error_bound <= 1e-6 else "approximate")


def h2_erlang_of_order_four():
    """Two Erlang laws of two phases each, one rare and long."""
    jumps = np.zeros((4, 4))
    jumps[0, 1], jumps[2, 3] = 4.0, 0.5
    return PhaseType.from_rates([0.8, 0, 0.2, 0], jumps, [0, 4.0, 0, 0.5])


@pytest.mark.thorough
@given(
    st.integers(1, 12),
    st.sampled_from(sorted(PAIRS)),
    st.sampled_from(["ps", "fcfs"]),
    st.floats(0.05, 20.0),
)
def test_more_jobs_never_slow_the_network_nor_speed_up_a_job(jobs, laws, discipline, ratio):
    delay, disk = PAIRS[laws]
    before, after = (ClosedNetwork(n, delay.scale(ratio), disk, discipline).solve() for n in (jobs, jobs + 1))
    assert before.throughput <= after.throughput * (1 + 1e-12)
    assert before.mean_sojourn <= after.mean_sojourn * (1 + 1e-12)
    assert after.throughput <= min((jobs + 1) / (2 * ratio + 1), 1.0) * (1 + 1e-12)


@pytest.mark.parametrize("discipline", ["ps", "fcfs"])
def test_more_disks_are_never_slower(discipline):
    rates = [
        ClosedNetwork(6, *PAIRS["E3/H2"], discipline, servers).solve().throughput for servers in range(1, 7)
    ]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(2.0, rel=1e-14)


@pytest.mark.parametrize("unit", [1e-9, 3600.0, 2.0**40])
def test_the_unit_of_time_does_not_matter(unit):
    for discipline in ("ps", "fcfs"):
        network = ClosedNetwork(5, *PAIRS["E3/H2"], discipline)
        scaled = ClosedNetwork(5, E3.scale(unit), h2(1.0, 9.0).scale(unit), discipline)
        a, b = network.solve(), scaled.solve()
        assert b.throughput * unit == pytest.approx(a.throughput, rel=1e-12)
        assert b.sojourn.moment(2) / unit**2 == pytest.approx(a.sojourn.moment(2), rel=1e-11)
        assert b.sojourn.ppf(0.9) / unit == pytest.approx(a.sojourn.ppf(0.9), rel=1e-10)


def test_more_disks_than_jobs_are_as_good_as_one_for_each():
    for discipline in ("ps", "fcfs", "siro"):
        many = ClosedNetwork(3, *PAIRS["H2/E2"], discipline, 10**12)
        for method in ("auto", "chain"):
            found = many.solve(method)
            assert found.throughput == pytest.approx(1.0, rel=1e-12)
            assert found.sojourn.mean == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    "bad", [(0.0, 1.0, 2), (1.0, -1.0, 2), (np.nan, 1.0, 2), (1.0, 1.0, -1), (1.0, 1.0, 2, 0)]
)
def test_machine_repair_refuses_what_makes_no_sense(bad):
    with pytest.raises(ModelError):
        machine_repair(*bad)


def test_machine_repair_keeps_its_digits_in_both_tails_and_at_every_size():
    law = machine_repair(1.0, 1e-3, jobs=40)
    weights = [1.0]
    for i in range(40):
        weights.append(weights[-1] * (40 - i) * 1e-3)
    assert law == pytest.approx(np.array(weights) / sum(weights), rel=1e-13, abs=0)
    huge = ClosedNetwork(10**6, ONE, ONE.scale(1e-3)).solve()
    assert huge.throughput == pytest.approx(1e3, rel=1e-12)
    for cpu, io in ((1e-250, 1e250), (1e250, 1e-250)):
        extreme = ClosedNetwork(3, ONE.scale(cpu), ONE.scale(io)).solve()
        assert extreme.throughput == pytest.approx(min(3 / cpu, 1 / io), rel=1e-12)
        assert extreme.mean_sojourn == pytest.approx(3 * io if io > cpu else io, rel=1e-12)
        assert extreme.error_bound < 1e-11


@pytest.mark.parametrize("jobs", [1, 7, 64])
def test_the_throughput_is_that_of_the_shared_disk_of_the_policies(jobs):
    ours = ClosedNetwork(jobs, *PAIRS["E3/H2"]).solve().throughput
    assert ours == pytest.approx(disk_group_throughput(2.0, 1.0, [1] * jobs), rel=1e-13)


def test_a_chain_that_would_not_fit_is_refused_before_anything_is_allocated():
    network = ClosedNetwork(2000, E3, h2(1.0, 9.0), discipline="fcfs")
    tracemalloc.start()
    with pytest.raises(MemoryBudgetError, match="GB allowed"):
        network.solve()
    with pytest.raises(MemoryBudgetError):
        ClosedNetwork(300, *PAIRS["H2/E2"], discipline="fcfs").solve(memory=1e5)
    with pytest.raises(MemoryBudgetError):
        ClosedNetwork(10**12, ONE, ONE).solve()
    with pytest.raises(MemoryBudgetError):
        ClosedNetwork(10**12, E3, h2(1.0, 9.0), "fcfs").solve()
    with pytest.raises(MemoryBudgetError):
        _ = ClosedNetwork(400, E3, h2(1.0, 9.0)).solve().sojourn
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("jobs", "laws", "discipline"),
    [(20, (h2_erlang_of_order_four(), h2(1.0, 9.0)), "fcfs"), (24, PAIRS["E3/H2"], "ps")],
)
def test_the_memory_is_known_beforehand_within_a_tenth(jobs, laws, discipline):
    network = ClosedNetwork(jobs, *laws, discipline=discipline)
    network.solve("chain")  # compiles
    tracemalloc.start()
    network.solve("chain")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert network._size()[1] == pytest.approx(peak, rel=0.1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"population": 0}, "population must be >= 1"),
        ({"population": 2.0}, "whole number"),
        ({"population": True}, "whole number"),
        ({"population": None}, "whole number"),
        ({"population": np.nan}, "whole number"),
        ({"population": 10**400}, "population must be <= 1e"),
        ({"servers": 10**400}, "servers must be <= 1e"),
        ({"delay": 2.0}, "delay must be a PhaseType"),
        ({"disk": None}, "disk must be a PhaseType"),
        ({"delay": PhaseType([0.5], [[-1.0]])}, "0.5 of the law lies at zero"),
        ({"disk": PhaseType([0.9], [[-1.0]])}, "random_sum"),
        ({"discipline": "FCFS"}, "did you mean 'fcfs'"),
        ({"discipline": None}, "discipline must be one of"),
        ({"discipline": ["ps"]}, "discipline must be one of"),
        ({"servers": 0}, "servers must be >= 1"),
        ({"servers": -1}, "servers must be >= 1"),
        ({"discipline": "lcfs-pr", "servers": 2}, "servers must be 1"),
    ],
)
def test_what_is_no_network_is_refused_and_the_reason_given(change, said):
    arguments = {"population": 3, "delay": ONE, "disk": ONE} | change
    with pytest.raises(ModelError, match=said):
        ClosedNetwork(**arguments)


@pytest.mark.parametrize(
    "bad",
    [
        {"method": "mva"},
        {"method": None},
        {"memory": -1.0},
        {"memory": np.nan},
        {"memory": "2 GB"},
        {"tol": np.nan},
        {"tol": 0.0},
        {"tol": None},
    ],
)
def test_a_solver_that_does_not_exist_is_refused(bad):
    with pytest.raises(ModelError):
        ClosedNetwork(3, E3, E2, "fcfs").solve(**bad)


@pytest.mark.parametrize("k", [-1, 1.5, None, 101, True])
def test_a_moment_that_does_not_exist_is_refused(k):
    with pytest.raises(ModelError):
        ClosedNetwork(3, ONE, ONE).solve().disk_moment(k)


def test_zero_bursts_merged_as_the_error_says_leave_the_network_as_it_was():
    """A disk visited with chance 0.6 only: compute on, by a random sum."""
    from phasefit import random_sum

    with pytest.raises(ModelError, match=r"stop=0\.6"):
        ClosedNetwork(3, E3, PhaseType([0.6], [[-1.0]]))
    merged = ClosedNetwork(3, random_sum(E3, stop=0.6), ONE).solve()
    tiny = PhaseType.from_rates([0.6, 0.4], np.zeros((2, 2)), [1.0, 1e9])
    almost = ClosedNetwork(3, E3, tiny).solve()
    assert merged.throughput == pytest.approx(0.6 * almost.throughput, rel=1e-8)


def test_a_solution_tells_what_it_is():
    found = ClosedNetwork(4, *PAIRS["H2/E2"], discipline="fcfs").solve()
    text, frame = found.table(), found.to_frame()
    assert "throughput     0.920291818 jobs/s" in text
    assert frame.loc[0, "mean_sojourn"] == found.mean_sojourn
    assert found.states == 25
    assert found.seconds > 0.0
    assert 0.0 <= found.residual < 1e-12
    with pytest.raises(ValueError, match="read-only"):
        found.disk_pmf[0] = 1.0


# Bugs put in on purpose: each check above must see them.


def check_the_twin(discipline):
    delay, disk = PAIRS["Cox/loop"]
    states, rates = naive.chain([(delay, disk)] * 3, discipline)
    expected = naive.disk_law(states, naive.steady(rates), 3)
    found = ClosedNetwork(3, delay, disk, discipline).solve("chain").disk_pmf
    assert found == pytest.approx(expected, rel=1e-11, abs=0)


def test_a_next_service_that_starts_in_the_wrong_stage_is_caught(monkeypatch):
    right = occupancy.sharing_centre

    def wrong(law, jobs, speeds):
        flipped = PhaseType.from_rates(law.alpha[::-1], law.jumps, law.exit)
        centre, other = right(law, jobs, speeds), right(flipped, jobs, speeds)
        return occupancy.Centre(centre.starts, centre.local, centre.leave, other.enter)

    check_the_twin("fcfs")
    monkeypatch.setattr(occupancy, "sharing_centre", wrong)
    with pytest.raises(AssertionError):
        check_the_twin("fcfs")


def test_a_disk_that_serves_all_at_full_speed_is_caught(monkeypatch):
    check_the_twin("ps")
    monkeypatch.setattr(TwoCentres, "speeds", lambda self: np.ones(self.population + 1))
    with pytest.raises(AssertionError):
        check_the_twin("ps")


@pytest.mark.parametrize("method", ["chain", "direct", "auto"])
@pytest.mark.parametrize("discipline", ["fcfs", "siro"])
def test_times_too_far_apart_for_a_float_are_refused_by_their_unit(discipline, method):
    network = ClosedNetwork(
        2, PhaseType.exponential(mean=1e-150), PhaseType.erlang(phases=2, mean=1e150), discipline
    )
    with pytest.raises(ModelError, match=r"1e-150 s and .* 1e\+150 s are too far.*unit of time"):
        network.solve(method)


def test_times_too_far_apart_have_the_product_form_where_it_holds():
    network = ClosedNetwork(2, PhaseType.exponential(mean=1e-150), PhaseType.erlang(phases=2, mean=1e150))
    assert network.solve().throughput == pytest.approx(1e-150, rel=1e-14)
    with pytest.raises(ModelError, match=r'unit of time, or take method="product-form"'):
        network.solve("chain")


def test_too_many_jobs_for_the_product_form_are_not_advised_to_take_other_laws():
    network = ClosedNetwork(10**9, PhaseType.exponential(mean=1.0), PhaseType.exponential(mean=1.0))
    with pytest.raises(MemoryBudgetError, match=r"allowed; take a smaller population, or raise"):
        network.solve(memory=1e9)
