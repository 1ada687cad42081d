import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.networks import ClosedNetwork, JobClass, MultiClassNetwork, multi_class, single_class
from tests.naive import closed_network as naive
from tests.qmodels.test_two_centre import COX, E2, E3, LOOP, ONE, PAIRS, h2

TWO = [
    JobClass(2, h2(1.0, 3.0), E2.scale(2.0), "readers"),
    JobClass(2, E2.scale(8.0), h2(1.0, 4.0)),
]


def enumerated(classes, servers):
    """The product form summed over every vector of numbers at the disk."""
    total, flow, at_disk = 0.0, np.zeros(len(classes)), np.zeros(len(classes))
    for numbers in itertools.product(*(range(c.population + 1) for c in classes)):
        weight, n = 1.0, 0
        for c, at in zip(classes, numbers, strict=True):
            for j in range(1, at + 1):
                n += 1
                weight *= n / min(n, servers) * c.disk.mean / j
            for j in range(1, c.population - at + 1):
                weight *= c.delay.mean / j
        total += weight
        at_disk += weight * np.array(numbers)
        away = [(c.population - at) / c.delay.mean for c, at in zip(classes, numbers, strict=True)]
        flow += weight * np.array(away)
    return flow / total, at_disk / total


@pytest.mark.parametrize("servers", [1, 2, 3])
@pytest.mark.parametrize("discipline", ["ps", "lcfs-pr", "fcfs", "siro"])
def test_r38_the_product_form_agrees_with_the_chain_of_all_classes(discipline, servers):
    if discipline == "lcfs-pr" and servers > 1:
        return
    classes = TWO
    if discipline in ("fcfs", "siro"):  # product form for one exponential disk law
        classes = [JobClass(c.population, c.delay, ONE) for c in TWO]
    network = MultiClassNetwork(classes, discipline, servers)
    formula, chain = network.solve(), network.solve("chain")
    assert formula.method == "exact (product form, convolution)"
    assert chain.method.startswith("exact (chain")
    for name in ("throughput", "mean_at_disk", "mean_sojourn", "disk_pmf"):
        assert getattr(formula, name) == pytest.approx(getattr(chain, name), rel=1e-10)


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.floats(0.01, 100.0), st.floats(0.01, 100.0)),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 5),
)
def test_r38_convolution_and_mean_values_agree_with_summing_over_all_states(given_, servers):
    classes = [JobClass(n, ONE.scale(z), ONE.scale(s)) for n, z, s in given_]
    flow, at_disk = enumerated(classes, servers)
    found = MultiClassNetwork(classes, servers=servers).solve()
    assert found.throughput == pytest.approx(flow, rel=1e-11)
    assert found.mean_at_disk == pytest.approx(at_disk, rel=1e-11)
    assert found.error_bound < 1e-11
    if servers == 1:
        values = MultiClassNetwork(classes).solve("mva")
        assert values.throughput == pytest.approx(flow, rel=1e-11)
        assert values.mean_sojourn == pytest.approx(at_disk / flow, rel=1e-11)


@pytest.mark.parametrize("discipline", ["ps", "fcfs", "siro", "lcfs-pr"])
def test_classes_that_do_not_differ_are_one(discipline):
    delay, disk = PAIRS["E3/H2"]
    split = MultiClassNetwork([JobClass(2, delay, disk), JobClass(1, delay, disk)], discipline)
    whole = ClosedNetwork(3, delay, disk, discipline).solve()
    for method in ("auto", "chain"):
        found = split.solve(method)
        assert found.throughput.sum() == pytest.approx(whole.throughput, rel=1e-11)
        assert found.throughput[0] == pytest.approx(2 * found.throughput[1], rel=1e-11)
        assert found.mean_sojourn == pytest.approx(whole.mean_sojourn, rel=1e-11)
        assert found.disk_pmf == pytest.approx(whole.disk_pmf, rel=1e-10, abs=0)


def test_one_class_is_machine_repair_at_every_size():
    for jobs, servers in ((1, 1), (30, 1), (400, 3)):
        one = MultiClassNetwork([JobClass(jobs, ONE.scale(2.0), ONE)], servers=servers).solve()
        whole = ClosedNetwork(jobs, ONE.scale(2.0), ONE, servers=servers).solve()
        assert one.throughput[0] == pytest.approx(whole.throughput, rel=1e-11)
        assert one.mean_sojourn[0] == pytest.approx(whole.mean_sojourn, rel=1e-11)
        assert one.utilisation == pytest.approx(whole.utilisation, rel=1e-11)


def test_under_sharing_only_the_means_of_the_classes_matter():
    other = [
        JobClass(2, E3.scale(0.5), COX.scale(2.0 / COX.mean)),
        JobClass(2, h2(8.0, 20.0), LOOP.scale(1.0 / LOOP.mean)),
    ]
    a, b = MultiClassNetwork(TWO).solve("chain"), MultiClassNetwork(other).solve("chain")
    assert a.throughput == pytest.approx(b.throughput, rel=1e-9)
    in_order = MultiClassNetwork(TWO, "fcfs").solve()
    assert abs(in_order.throughput[0] / a.throughput[0] - 1) > 0.01


@pytest.mark.parametrize(
    ("discipline", "servers"),
    [("ps", 1), ("ps", 2), ("fcfs", 1), ("fcfs", 2), ("siro", 1), ("siro", 2), ("lcfs-pr", 1)],
)
def test_r38_the_chain_agrees_with_one_that_tells_all_jobs_apart(discipline, servers):
    classes = [JobClass(2, h2(1.0, 3.0), E2), JobClass(1, E2.scale(3.0), LOOP)]
    laws = [(c.delay, c.disk) for c in classes for _ in range(c.population)]
    states, rates = naive.chain(laws, discipline, servers)
    pi = naive.steady(rates)
    found = MultiClassNetwork(classes, discipline, servers).solve("chain")
    for k, job in ((0, 0), (1, 2)):
        flow, share = naive.averages(states, rates, pi, job)
        jobs = classes[k].population
        assert found.throughput[k] == pytest.approx(jobs * flow, rel=1e-11)
        assert found.mean_at_disk[k] == pytest.approx(jobs * share, rel=1e-11)


def test_r38_the_mixture_for_one_class_has_its_means():
    merged = single_class(TWO, discipline="fcfs")
    assert merged.population == 4
    assert merged.delay.mean == pytest.approx(4.5, rel=1e-12)
    assert merged.disk.mean == pytest.approx(1.5, rel=1e-12)
    assert merged.disk.moment(2) == pytest.approx(
        0.5 * E2.scale(2.0).moment(2) + 0.5 * h2(1.0, 4.0).moment(2), rel=1e-12
    )
    assert merged.discipline == "fcfs"
    same = single_class([JobClass(2, E3, E2), JobClass(3, E3, E2)]).solve()
    assert same.throughput == pytest.approx(ClosedNetwork(5, E3, E2).solve().throughput, rel=1e-12)


def test_classes_of_unlike_disk_times_have_no_product_form_whichever_is_first():
    fast, slow = (JobClass(2, delay=ONE, disk=PhaseType.exponential(mean=mean)) for mean in (0.5, 2.0))
    for classes in ([fast, slow], [slow, fast]):
        assert not MultiClassNetwork(classes, discipline="fcfs").has_product_form
    assert MultiClassNetwork([fast, fast], discipline="fcfs").has_product_form


def test_large_populations_are_solved_without_overflow():
    classes = [JobClass(50, ONE.scale(k + 1.0), ONE.scale(0.1 * (k + 1))) for k in range(10)]
    found = MultiClassNetwork(classes).solve()
    work = found.throughput @ [c.disk.mean for c in classes]
    assert work == pytest.approx(found.utilisation, rel=1e-10)
    assert found.error_bound < 1e-10
    assert found.mean_at_disk.sum() == pytest.approx(found.disk_pmf @ np.arange(501), rel=1e-10)


def test_what_does_not_fit_is_refused():
    with pytest.raises(MemoryBudgetError, match="more than 50 states"):
        MultiClassNetwork(TWO, "fcfs").solve(max_states=50)
    many = [JobClass(10, ONE, ONE) for _ in range(12)]
    with pytest.raises(MemoryBudgetError, match="vectors of populations"):
        MultiClassNetwork(many).solve("mva")
    with pytest.raises(MemoryBudgetError):
        MultiClassNetwork([JobClass(10**12, ONE, ONE)]).solve()


@pytest.mark.parametrize(
    "network",
    [
        lambda: MultiClassNetwork([]),
        lambda: MultiClassNetwork(None),
        lambda: MultiClassNetwork([ONE]),
        lambda: MultiClassNetwork(TWO, "mva"),
        lambda: MultiClassNetwork(TWO, servers=0),
        lambda: MultiClassNetwork(TWO, "lcfs-pr", 2),
        lambda: MultiClassNetwork(TWO, "fcfs").solve("mva"),
        lambda: MultiClassNetwork(TWO, servers=2).solve("mva"),
        lambda: MultiClassNetwork(TWO).solve("gth"),
        lambda: MultiClassNetwork(TWO, "fcfs").solve(max_states=0),
        lambda: MultiClassNetwork(TWO).solve(memory=np.nan),
        lambda: JobClass(0, ONE, ONE),
        lambda: JobClass(1, ONE, None),
        lambda: JobClass(1, PhaseType([0.5], [[-1.0]]), ONE),
        lambda: JobClass(1, ONE, ONE, name=7),
        lambda: single_class([]),
    ],
)
def test_what_is_no_network_of_classes_is_refused(network):
    with pytest.raises(ModelError):
        network()


def test_classes_are_named_in_the_table_and_in_the_frame():
    found = MultiClassNetwork(TWO).solve()
    assert "readers" in found.table()
    assert found.to_frame()["class"].tolist() == ["readers", "1"]
    assert found.to_frame()["population"].tolist() == [2, 2]


def test_a_convolution_that_forgets_the_order_at_the_disk_is_caught(monkeypatch):
    """Without n! the classes would not disturb each other as they do."""
    classes = [JobClass(2, ONE, ONE), JobClass(1, ONE.scale(3.0), ONE.scale(2.0))]
    right = multi_class.log_factorials
    expected, _ = enumerated(classes, 1)
    assert MultiClassNetwork(classes).solve().throughput == pytest.approx(expected, rel=1e-11)
    monkeypatch.setattr(multi_class, "log_factorials", lambda n: 0.999 * right(n))
    assert MultiClassNetwork(classes).solve().throughput != pytest.approx(expected, rel=1e-11)
