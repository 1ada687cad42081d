from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.networks import (
    CustomerClass,
    JobClass,
    MultiClassNetwork,
    QueueingNetwork,
    Station,
    _normaliser,
    flow_equivalent_station,
)
from qmodels.networks.product_form import machine_repair
from qmodels.networks.station_network import _SERIES
from qmodels.queues import Queue
from tests.campaigns.station_networks import chain_error, random_network, small_networks

GATE, FULL = 12, 1000


@pytest.mark.thorough
def test_the_chain_of_all_states_agrees(request, rng):
    """Every kind of station, closed, open and mixed, with many servers and speeds that rise and fall."""
    count = FULL if request.config.getoption("--full") else GATE
    assert max(chain_error(*case) for case in small_networks(rng, count)) < 1e-10


def test_mean_value_analysis_and_convolution_agree_at_thousands_of_customers():
    network = QueueingNetwork(
        [Station("cpu"), Station("disk"), Station("net", "delay")],
        [CustomerClass({"cpu": 0.4, "disk": 0.5, "net": 3.0}, population=10_000, think=2000.0)],
    )
    first, second = network.solve("mva"), network.solve("convolution")
    assert second.throughput == pytest.approx(first.throughput, rel=1e-11)
    assert second.queues == pytest.approx(first.queues, rel=1e-9)
    assert second.queues.sum() + first.throughput @ [2000.0] == pytest.approx(10_000, rel=1e-10)


@pytest.mark.parametrize("servers", [1, 2])
def test_many_classes_of_one_customer_each_are_too_many_populations_to_visit(servers):
    """2^30 of them, though no class has more than one."""
    classes = [CustomerClass({"cpu": 1.0}, population=1)] * 30
    network = QueueingNetwork([Station("cpu", servers=servers)], classes)
    assert network.solve().method == "approximate (linearizer)"


@pytest.mark.parametrize(
    ("stations", "near"),
    [
        ([Station("one"), Station("few", servers=2)], 0.15),
        ([Station("many", servers=60), Station("more", servers=40)], 0.01),
        ([*(Station(f"disk {n}") for n in range(20)), Station("many", servers=50)], 0.01),
        ([Station("one"), Station("rising", speeds=[1.0, 1.5, 3.0])], 0.1),
        ([Station("one"), Station("rising on", speeds=np.linspace(1.0, 2.0, 300).tolist())], 0.01),
        ([Station("one"), Station("falling", speeds=[1.0, 2.0, 1.5])], 0.35),
    ],
)
def test_the_seconds_of_a_convolution_are_those_of_its_passes_over_all_populations(stations, near):
    """Counted in a run: as many for each head and queue, as few for queues of one server."""
    service = {station.name: 1.0 + n for n, station in enumerate(stations)}
    network = QueueingNetwork(stations, [CustomerClass(service, population=90, think=1.0)])
    with mock.patch.object(_normaliser, "weighted_shift", wraps=_normaliser.weighted_shift) as passes:
        network.solve("convolution")
    steps = network._exact_seconds("convolution") / (_SERIES * 91 * 2)
    assert steps == pytest.approx(passes.call_count, rel=near)


def test_customers_at_a_station_that_gets_slower_are_refused_before_minutes_of_computing():
    """Its series has as many terms as there are customers, whatever the speeds that are given."""
    classes = [CustomerClass({"cpu": 1.0, "disk": 2.0}, population=400, think=5.0)] * 2
    speeds = [1.0, 2.0, 1.5]
    network = QueueingNetwork([Station("cpu"), Station("disk", speeds=speeds)], classes)
    with pytest.raises(MemoryBudgetError, match=r"160,801 populations .* would take some 46 s"):
        network.solve()


@pytest.mark.parametrize("servers", [1, 3])
def test_a_computation_centre_and_disks_are_the_network_of_two_centres(servers):
    laws = [(2, 1.0, 2.0), (4, 8.0, 1.0)]
    one = PhaseType.exponential(mean=1.0)
    centres = MultiClassNetwork(
        [JobClass(n, one.scale(z), one.scale(s)) for n, z, s in laws], servers=servers
    )
    general = QueueingNetwork(
        [Station("disk", servers=servers)],
        [CustomerClass({"disk": s}, population=n, think=z) for n, z, s in laws],
    )
    old, new = centres.solve(), general.solve("exact")
    assert new.throughput == pytest.approx(old.throughput, rel=1e-12)
    assert new.queues[:, 0] == pytest.approx(old.mean_at_disk, rel=1e-12)
    assert new.residence[:, 0] == pytest.approx(old.mean_sojourn, rel=1e-12)


def test_open_queues_are_those_of_the_textbook():
    lonely = CustomerClass({"a": 1.0}, arrival_rate=1.6)
    two = QueueingNetwork([Station("a", servers=2)], [lonely]).solve()
    assert two.response[0] == pytest.approx(1.0 / (1.0 - 0.64), rel=1e-13)  # M/M/2: S / (1 - rho^2)
    assert two.utilisation[0] == pytest.approx(0.8, rel=1e-14)
    with pytest.raises(UnstableError, match=r"station a: open classes bring 1\.6 s of work a second"):
        QueueingNetwork([Station("a")], [lonely])


def test_a_part_of_a_network_is_a_flow_equivalent_station():
    part = QueueingNetwork(
        [Station("a"), Station("b", servers=2)], [CustomerClass({"a": 0.5, "b": 0.8}, population=1)]
    )
    station, service = flow_equivalent_station(part, "storage", most=6)
    whole = QueueingNetwork(
        [Station("cpu"), *part.stations], [CustomerClass({"cpu": 0.7, "a": 0.5, "b": 0.8}, population=6)]
    ).solve()
    folded = QueueingNetwork(
        [Station("cpu"), station], [CustomerClass({"cpu": 0.7, "storage": service}, population=6)]
    ).solve()
    assert folded.throughput == pytest.approx(whole.throughput, rel=1e-12)


def test_bounds_hold_and_meet_for_balanced_demands(rng):
    for _ in range(50):
        network, _ = random_network(rng)
        if network.rates.any():
            continue
        bounds, exact = network.bounds(), network.solve("exact").throughput
        assert (bounds.lower <= exact * (1 + 1e-12)).all()
        assert (exact <= bounds.upper * (1 + 1e-12)).all()
    # two customers together are each served faster than one alone
    eager = [Station("a", speeds=[0.5, 3.0]), Station("b")]
    network = QueueingNetwork(eager, [CustomerClass({"a": 1.0, "b": 0.01}, population=2)])
    assert network.solve("exact").throughput[0] <= network.bounds().upper[0]
    # a class of nobody who asks for nothing
    nobody = CustomerClass({"b": 0.0}, arrival_rate=0.0)
    found = QueueingNetwork(eager[1:], [CustomerClass({"b": 1.0}, population=2), nobody]).bounds()
    assert found.lower.tolist() == found.upper.tolist() == [1.0, 0.0]
    balanced = QueueingNetwork(
        [Station("a"), Station("b")], [CustomerClass({"a": 0.5, "b": 0.5}, population=7)]
    )
    found = balanced.bounds()
    assert found.lower == pytest.approx(found.upper, rel=1e-12)
    assert found.method == "balanced-job"


def test_approximations_are_near_and_say_so(rng):
    errors = {"linearizer": [], "bard-schweitzer": []}
    for _ in range(40):
        stations = [Station(f"s{i}") for i in range(int(rng.integers(2, 6)))]
        classes = [
            CustomerClass(
                {s.name: float(rng.uniform(0.05, 1)) for s in stations}, population=int(rng.integers(1, 12))
            )
            for _ in range(int(rng.integers(1, 4)))
        ]
        network = QueueingNetwork(stations, classes)
        exact = network.solve("exact").response
        for method, found in errors.items():
            solution = network.solve(method)
            assert solution.error_bound is None
            assert solution.method == f"approximate ({method})"
            assert solution.queues.sum() == pytest.approx(network.populations.sum(), rel=1e-6)
            found.append(float(np.abs(solution.response / exact - 1).max()))
    assert max(errors["linearizer"]) < 0.02
    assert max(errors["linearizer"]) < max(errors["bard-schweitzer"]) < 0.3


@pytest.mark.parametrize("method", ["linearizer", "bard-schweitzer"])
def test_approximations_of_hundreds_of_customers_are_near_the_exact_answer(method):
    classes = [
        CustomerClass({"cpu": 1.0, "disk": 2.0}, population=300, think=100.0),
        CustomerClass({"cpu": 2.0, "disk": 0.5}, population=200, think=50.0),
    ]
    network = QueueingNetwork([Station("cpu"), Station("disk")], classes)
    assert network.solve(method).throughput == pytest.approx(network.solve("mva").throughput, rel=1e-2)


def test_unlike_services_in_order_of_arrival_are_said_to_break_the_product_form():
    network = QueueingNetwork(
        [Station("cpu"), Station("disk", "fcfs")],
        [
            CustomerClass({"cpu": 1.0, "disk": 0.1}, population=3, name="small"),
            CustomerClass({"cpu": 1.0, "disk": 2.0}, population=2, name="large"),
        ],
    )
    assert network.unlike_at == ("disk",)
    with pytest.raises(ModelError, match="no product form: disk serves in order of arrival"):
        network.solve("exact")
    solution = network.solve()
    assert solution.caveats == ("disk: unlike services in order of arrival have no product form",)
    assert "unlike services" in solution.table()
    # small ones wait for large ones: far longer than under processor sharing
    assert solution.residence[0, 1] > 1.0


def test_what_is_wrong_is_named():
    a = Station("a")
    cases = [
        (lambda: Station("a", servers=0), "servers"),
        (lambda: Station("a", "lifo"), "discipline"),
        (lambda: Station("a", speeds=[1.0, 0.0]), "speeds"),
        (lambda: Station("a", "delay", servers=2), "a delay has a server for each customer"),
        (lambda: CustomerClass({"a": 1.0}), "give population .* or arrival_rate"),
        (lambda: CustomerClass({"a": -1.0}, population=1), "service at a must be >= 0"),
        (lambda: CustomerClass({"a": 0.0}, population=1), "must think, or ask some station"),
        (lambda: CustomerClass({"a": 1.0}, population=1, routing={"a": {"a": 0.5}}), "must add up to one"),
        (lambda: CustomerClass({"a": 1.0}, arrival_rate=1.0, routing={"a": {"a": 1.0}}), "do not leave"),
        (lambda: CustomerClass({"a": 1.0}, arrival_rate=1.0, think=2.0), "do not think"),
        (lambda: QueueingNetwork([a, a], [CustomerClass({"a": 1.0}, population=1)]), "two stations"),
        (lambda: QueueingNetwork([a], [CustomerClass({"disc": 1.0}, population=1)]), "disc"),
        (lambda: QueueingNetwork([], []), "stations must be a list"),
    ]
    for build, words in cases:
        with pytest.raises(ModelError, match=words):
            build()
    with pytest.raises(MemoryBudgetError, match="63,001,502,001 populations of 4 closed classes"):
        QueueingNetwork([a], [CustomerClass({"a": 1.0}, population=500)] * 4).solve("exact")


def test_visits_and_routing_exclude_each_other_and_either_does():
    visits, routing = {"cpu": 1.0, "disk": 1.0}, {"cpu": {"disk": 1.0}, "disk": {"cpu": 1.0}}
    asked = {"cpu": 0.1, "disk": 0.2}
    assert CustomerClass(asked, population=2, visits=visits).demands() == pytest.approx(asked)
    assert CustomerClass(asked, population=2, routing=routing).demands() == pytest.approx(asked)
    with pytest.raises(ModelError, match="not both"):
        CustomerClass(asked, population=2, visits=visits, routing=routing)


def test_open_classes_in_order_of_arrival_wait_as_pollaczek_and_khinchine_say():
    """Exponential services of two means at one server: each waits sum of rate * mean^2 / (1 - load)."""
    rates, means = np.array([0.5, 0.2]), np.array([0.4, 2.0])
    network = QueueingNetwork(
        [Station("disk", "fcfs")],
        [CustomerClass({"disk": s}, arrival_rate=r) for r, s in zip(rates, means, strict=True)],
    )
    wait = (rates * means**2).sum() / (1.0 - rates @ means)
    assert network.solve().response == pytest.approx(means + wait, rel=1e-12)


@pytest.mark.parametrize("nobody", [{"population": 0}, {"arrival_rate": 0.0}])
def test_a_class_of_nobody_changes_nothing_and_has_no_response(nobody):
    """Nor does what it would ask of a station in order of arrival break the product form."""
    users = CustomerClass({"disk": 1.0}, population=3, think=2.0)
    alone = QueueingNetwork([Station("disk", "fcfs")], [users]).solve()
    beside = QueueingNetwork([Station("disk", "fcfs")], [users, CustomerClass({"disk": 5.0}, **nobody)])
    found = beside.solve()
    assert (found.method, found.caveats) == (alone.method, ())
    assert (found.throughput[0], found.response[0]) == (alone.throughput[0], alone.response[0])
    assert np.isnan(found.response[1])


def test_thousands_of_servers_of_open_classes_alone_take_no_longer_than_one():
    """It was the square of their number: half a minute of 16,000."""
    jobs = CustomerClass({"a": 1.0}, arrival_rate=15_840.0)
    solution = QueueingNetwork([Station("a", servers=16_000)], [jobs]).solve()
    assert solution.seconds < 5.0
    assert solution.response[0] == pytest.approx(Queue("M/M/16000", 15_840.0, 1.0).mean_response, rel=1e-10)


@pytest.mark.thorough
def test_the_error_of_thousands_of_customers_is_within_its_bound():
    """Logarithms of the normaliser are in the tens of thousands, and have so many digits less."""
    users, servers, think, mean = 3000, 1000, 0.0542430630679159, 0.7804905216025694
    law = machine_repair(think, mean, users, servers)
    there = law @ np.arange(users + 1)
    solution = QueueingNetwork(
        [Station("a", servers=servers)], [CustomerClass({"a": mean}, population=users, think=think)]
    ).solve("convolution")
    assert solution.queues[0, 0] == pytest.approx(there, rel=solution.error_bound)
    assert solution.error_bound < 1e-9


def test_the_error_next_to_saturation_is_within_its_bound():
    rates, means = [0.3, 0.1], [1.7, (1.0 - 1e-10 - 0.3 * 1.7) / 0.1]
    left = 1 - sum(Fraction(rate) * Fraction(mean) for rate, mean in zip(rates, means, strict=True))
    network = QueueingNetwork(
        [Station("a")], [CustomerClass({"a": s}, arrival_rate=r) for r, s in zip(rates, means, strict=True)]
    )
    solution = network.solve()
    assert solution.response == pytest.approx([float(m / left) for m in means], rel=solution.error_bound)
    assert solution.error_bound < 1e-2


@pytest.mark.parametrize("power", [-200, 200])
def test_digits_do_not_hang_on_the_unit_of_time(power):
    def response(unit):
        asked = {"a": 0.3 * unit, "b": 0.5 * unit}
        return (
            QueueingNetwork(
                [Station("a", servers=2), Station("b")], [CustomerClass(asked, population=5, think=unit)]
            )
            .solve()
            .response[0]
        )

    assert response(2.0**power) == response(1.0) * 2.0**power
