"""Plain queues, priorities and queues over time: closed forms, dense chains, and what is refused."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from phasefit import MAP, MarkedMAP, PhaseType, interrupted
from qmodels.errors import ModelError, UnstableError
from qmodels.networks import ManyServerQueue
from qmodels.queues import (
    BreakdownQueue,
    CyclicQueue,
    PriorityClass,
    PriorityQueue,
    Queue,
    drain_time,
    queue_at,
)
from tests.naive.priority_chain import mean_jobs

ONE = PhaseType.exponential(mean=1.0)
ERLANG = PhaseType.erlang(phases=3, mean=0.8)
GIANTS = PhaseType.hyperexponential(weights=[0.95, 0.05], means=[0.5, 8.0])


class TestTextbook:
    @pytest.mark.parametrize(
        ("queue", "wait"),
        [
            (Queue("M/M/1", 0.8, 1.0), 4.0),
            (Queue("M/D/1", 0.8, 1.0), 2.0),
            (Queue("M/G/1", 0.5, 1.0, service_scv=3.0), 2.0),
            (Queue("M/M/3", 2.0, 1.0), 4.0 / 9.0),
            (Queue("M/M/inf", 7.0, 1.0), 0.0),
            (Queue("G/D/inf", 7.0, 1.0, arrival_scv=3.0), 0.0),
        ],
        ids=lambda each: getattr(each, "kind", None),
    )
    def test_exact_waits_are_those_of_the_books(self, queue, wait):
        assert queue.method.startswith("exact")
        assert queue.mean_wait == pytest.approx(wait, rel=1e-13)
        assert queue.mean_jobs == pytest.approx(queue.arrival_rate * queue.mean_response, rel=1e-13)

    def test_lost_calls_follow_erlangs_recursion(self):
        blocked = 1.0
        for servers in range(1, 40):
            blocked = 30.0 * blocked / (servers + 30.0 * blocked)
            found = Queue(f"M/G/{servers}/{servers}", 15.0, 2.0, service_scv=7.0)
            assert found.blocking == pytest.approx(blocked, rel=1e-12)
            assert found.mean_wait == 0.0

    def test_limited_places_are_a_chain_of_births_and_deaths(self):
        queue = Queue("M/M/2/5", 3.0, 0.5)
        weights = np.cumprod([1.0] + [3.0 / (2.0 * min(n, 2)) for n in range(1, 6)])
        chances = weights / weights.sum()
        assert queue.pmf(np.arange(7)) == pytest.approx([*chances, 0.0], rel=1e-13)
        assert queue.throughput == pytest.approx(3.0 * (1.0 - chances[5]))
        assert queue.mean_jobs == pytest.approx(chances @ np.arange(6))
        assert queue.wait_probability == pytest.approx(chances[2:5].sum() / chances[:5].sum())

    def test_many_servers_are_those_of_the_chain(self):
        queue = Queue("M/M/12", 10.0, 1.0)
        solved = ManyServerQueue(ONE.scale(0.1), ONE, servers=12).solve()
        assert queue.mean_wait == pytest.approx(solved.mean_wait, rel=1e-10)
        assert queue.pmf(np.arange(40)) == pytest.approx(solved.pmf(np.arange(40)), rel=1e-10)

    def test_jobs_that_never_wait_are_as_many_as_poissons_law_says(self):
        queue = Queue("M/G/inf", 3.0, 0.5, service_scv=4.0)
        chances = np.exp(-1.5) * np.array([1.0, 1.5, 1.5**2 / 2.0])
        assert queue.pmf(np.arange(3)) == pytest.approx(chances, rel=1e-13)
        assert (queue.wait_probability, queue.mean_waiting) == (0.0, 0.0)
        with pytest.raises(ModelError, match="jobs must be whole numbers, at least 0"):
            queue.pmf([-1])

    def test_regular_arrivals_wait_as_kraemer_and_langenbach_belz_have_it(self):
        """For D/M/1 at load .5 the exact wait is s / (1 - s) with s = exp(-2 (1 - s)), .2550."""
        queue = Queue("D/M/1", 0.5, 1.0, approximation="qna")
        assert queue.mean_wait == pytest.approx(0.5 * np.exp(-2.0 / 3.0), rel=1e-13)
        assert queue.mean_wait == pytest.approx(0.2550, rel=0.01)

    @pytest.mark.parametrize("rule", ["allen-cunneen", "qna", "sakasegawa"])
    def test_approximations_are_exact_for_one_poisson_server(self, rule):
        given = {"arrival_scv": 1.0, "service_scv": 2.5, "approximation": rule}
        assert Queue("G/G/1", 0.7, 1.0, **given).mean_wait == pytest.approx(
            Queue("M/G/1", 0.7, 1.0, service_scv=2.5).mean_wait, rel=1e-12
        )

    def test_approximations_are_near_a_chain_that_they_do_not_know(self):
        arrivals, service = PhaseType.erlang(phases=2, mean=0.3), GIANTS.scale(1.0 / GIANTS.mean)
        truth = ManyServerQueue(arrivals, service, servers=4).solve().mean_wait
        given = {"arrival_scv": arrivals.scv, "service_scv": service.scv}
        for rule in ("allen-cunneen", "qna", "sakasegawa"):
            queue = Queue("GI/G/4", 1.0 / 0.3, 1.0, approximation=rule, **given)
            assert queue.mean_wait == pytest.approx(truth, rel=0.35)
            assert queue.method.startswith("approximation: ")

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (("M/M", 1.0, 1.0), "kind must be like"),
            (("X/M/1", 1.0, 1.0), "kind must be like"),
            (("M/M/0", 1.0, 1.0), "one server"),
            (("M/M/3/2", 1.0, 1.0), "a place for each"),
            (("G/M/1", 0.5, 1.0), "needs arrival_scv"),
            (("M/M/1", 0.5, 1.0, None, 2.0), "write G"),
            (("G/G/1/4", 0.5, 1.0, 1.0, 1.0), "limited places"),
            (("M/M/1", float("nan"), 1.0), "arrival_rate"),
            (("M/M/99999999", 0.5, 1.0), "more than"),
        ],
    )
    def test_what_is_no_queue_is_refused(self, words, why):
        with pytest.raises(ModelError, match=why):
            Queue(*words)

    def test_too_many_jobs_have_no_steady_state(self):
        with pytest.raises(UnstableError):
            Queue("M/G/2", 2.0, 1.0, service_scv=0.5)
        assert Queue("M/M/2/9", 20.0, 1.0).utilisation < 1.0

    def test_two_moments_do_not_tell_a_law(self):
        with pytest.raises(ModelError, match="give laws"):
            Queue("M/G/1", 0.5, 1.0, service_scv=2.0).pmf(1)


def cobham(classes, preemptive):
    """Means of responses, written out class by class."""
    found, before = [], 0.0
    residual = sum(c.arrival_rate * c.service.moment(2) / 2.0 for c in classes)
    for k, each in enumerate(classes):
        upto = before + each.load
        if preemptive:
            own = sum(c.arrival_rate * c.service.moment(2) / 2.0 for c in classes[: k + 1])
            found.append(each.service.mean / (1.0 - before) + own / ((1.0 - before) * (1.0 - upto)))
        else:
            found.append(each.service.mean + residual / ((1.0 - before) * (1.0 - upto)))
        before = upto
    return found


def two_classes(rates, speeds, servers, preemptive, most=60):
    """Mean numbers of two exponential classes, by a dense chain of (urgent, other, urgent in service)."""
    states, at = [], {}
    for n in range(most + 1):
        for m in range(most + 1 - n):
            busy = min(servers, n + m)
            least, greatest = max(0, busy - m), min(busy, n)
            for u in [greatest] if preemptive else range(least, greatest + 1):
                at[n, m, u] = len(states)
                states.append((n, m, u))
    size = len(states)
    rows = np.zeros((size, size))

    for (n, m, u), i in at.items():
        v = min(servers, n + m) - u
        moves = []
        if n + m < most:
            free = n + m < servers
            moves.append((rates[0], (n + 1, m, min(n + 1, servers) if preemptive else u + free)))
            moves.append((rates[1], (n, m + 1, u)))
        if u:
            left = u - 1
            moves.append((u * speeds[0], (n - 1, m, left + (n - 1 > left and n + m > servers))))
        if v:
            moves.append((v * speeds[1], (n, m - 1, u + (n > u and n + m > servers))))
        for rate, (a, b, c) in moves:
            rows[i, at[a, b, min(a, servers) if preemptive else c]] += rate
    generator = rows - np.diag(rows.sum(axis=1))
    system = np.vstack([generator.T[:-1], np.ones(size)])
    chances = np.linalg.solve(system, np.append(np.zeros(size - 1), 1.0))
    return np.array([[n, m] for n, m, _ in states]).T @ chances


class TestPriorities:
    CLASSES = (PriorityClass(0.3, ERLANG), PriorityClass(0.2, GIANTS), PriorityClass(0.3, ONE))

    @pytest.mark.thorough
    @pytest.mark.parametrize("preemptive", [False, True])
    def test_means_are_cobhams_and_those_of_the_laws(self, preemptive):
        queue = PriorityQueue(self.CLASSES, preemptive)
        assert queue.mean_response == pytest.approx(cobham(self.CLASSES, preemptive), rel=1e-12)
        for k in range(3):
            mean, _ = quad(lambda t, k=k: queue.response_sf(k, t), 0.0, 3000.0, limit=300, epsabs=1e-4)
            assert mean == pytest.approx(queue.mean_response[k], rel=1e-4)

    def test_one_class_is_a_plain_queue_with_its_law(self):
        queue = PriorityQueue([PriorityClass(0.6, GIANTS)])
        solved = ManyServerQueue(PhaseType.exponential(mean=1.0 / 0.6), GIANTS, servers=1).solve()
        times = np.array([0.0, 0.01, 1.0, 10.0, 100.0])
        assert queue.wait_sf(0, times) == pytest.approx(solved.wait.sf(times), abs=1e-9)
        assert queue.response_sf(0, times) == pytest.approx(solved.response.sf(times), abs=1e-9)
        assert queue.response_ppf(0, 0.99) == pytest.approx(solved.response.ppf(0.99), rel=1e-6)

    def test_the_first_of_a_preemptive_queue_sees_nobody_else(self):
        queue = PriorityQueue([PriorityClass(0.4, ONE), PriorityClass(0.3, GIANTS)], preemptive=True)
        times = np.array([0.5, 2.0, 9.0])
        assert queue.response_sf(0, times) == pytest.approx(np.exp(-0.6 * times), abs=1e-9)

    def test_work_is_conserved_whoever_goes_first(self):
        first, second = self.CLASSES[:2]
        found = [
            sum(c.load * w for c, w in zip(queue.classes, queue.mean_wait, strict=True))
            for queue in (PriorityQueue([first, second]), PriorityQueue([second, first]))
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-12)

    @pytest.mark.parametrize("preemptive", [False, True])
    def test_two_exponential_classes_are_those_of_a_dense_chain(self, preemptive):
        classes = [PriorityClass(0.2, ONE.scale(0.8)), PriorityClass(0.25, ONE)]
        jobs = two_classes((0.2, 0.25), (1.25, 1.0), 1, preemptive, most=40)
        found = PriorityQueue(classes, preemptive)
        assert found.mean_response * [0.2, 0.25] == pytest.approx(jobs, rel=1e-9)

    @pytest.mark.thorough
    def test_several_servers_are_exact_for_one_exponential_mean_and_near_else(self):
        rates = (0.6, 0.5)
        classes = [PriorityClass(rate, ONE) for rate in rates]
        exact = two_classes(rates, (1.0, 1.0), 2, False, most=50)
        assert PriorityQueue(classes, servers=2).mean_response * rates == pytest.approx(exact, rel=1e-6)
        near = two_classes((0.6, 0.3), (1.0, 0.5), 2, True, most=50)
        classes = [PriorityClass(0.6, ONE), PriorityClass(0.3, ONE.scale(2.0))]
        found = PriorityQueue(classes, preemptive=True, servers=2)
        assert found.mean_response * (0.6, 0.3) == pytest.approx(near, rel=0.1)
        assert found.method == "approximation: Bondi and Buzen"

    def test_the_atom_at_zero_is_no_wait(self):
        queue = PriorityQueue([PriorityClass(0.2, ONE), PriorityClass(0.3, ONE)])
        assert queue.wait_sf(0, 0.0) == 0.5
        assert queue.wait_ppf(1, 0.5) == 0.0
        assert queue.wait_ppf(1, 0.51) > 0.0

    @pytest.mark.parametrize(
        ("action", "why"),
        [
            (lambda: PriorityQueue([]), "one or more"),
            (lambda: PriorityQueue([ONE]), "one or more"),
            (lambda: PriorityClass(0.0, ONE), "arrivals"),
            (lambda: PriorityClass(1.0, 2.0), "PhaseType"),
            (lambda: PriorityQueue([PriorityClass(0.5, ONE)]).wait_sf(1, 1.0), "there are 1 classes"),
            (lambda: PriorityQueue([PriorityClass(0.5, ONE)]).wait_sf(0, -1.0), "t must be"),
            (lambda: PriorityQueue([PriorityClass(0.5, ONE)], servers=2).wait_ppf(0, 0.9), "one server"),
        ],
    )
    def test_what_is_refused(self, action, why):
        with pytest.raises(ModelError, match=why):
            action()

    def test_more_work_than_servers_has_no_steady_state(self):
        with pytest.raises(UnstableError):
            PriorityQueue([PriorityClass(0.5, ONE), PriorityClass(0.5, ONE)])


class TestPrioritiesOfDependentArrivals:
    TURNS = MarkedMAP([[-1.1, 0.1], [0.3, -1.0]], [[[0.5, 0.2], [0.0, 0.1]], [[0.1, 0.2], [0.3, 0.3]]])
    LAWS = (
        PhaseType.hyperexponential(weights=[0.8, 0.2], means=[0.2, 0.5]),
        PhaseType.erlang(phases=2, mean=0.4),
    )

    @pytest.mark.thorough
    @pytest.mark.parametrize("preemptive", [False, True])
    def test_two_classes_are_those_of_a_chain(self, preemptive):
        laws = [(law.alpha, law.T, law.exit) for law in self.LAWS]
        jobs = mean_jobs(self.TURNS.D0, self.TURNS.marks, laws, preemptive, most=32)
        queue = PriorityQueue.of_marked(self.TURNS, self.LAWS, preemptive)
        assert queue.mean_response * self.TURNS.rates == pytest.approx(jobs, rel=1e-9)
        assert queue.method == "exact"
        for k in range(2):
            mean, _ = quad(lambda t, k=k: queue.response_sf(k, t), 0.0, 60.0, limit=200, epsabs=1e-7)
            assert mean == pytest.approx(queue.mean_response[k], rel=1e-6)

    @pytest.mark.thorough
    @pytest.mark.parametrize("preemptive", [False, True])
    def test_poisson_arrivals_in_three_phases_are_cobhams(self, preemptive):
        classes = TestPriorities.CLASSES
        asked = [  # in phases of their own, of which nine are enough for all
            PriorityClass(
                MAP.modulated(np.full((3, 3), 0.1) - 0.3 * np.eye(3), rates=[c.arrival_rate] * 3), c.service
            )
            for c in classes[:2]
        ]
        found = PriorityQueue([*asked, classes[2]], preemptive)
        assert found.mean_response == pytest.approx(cobham(classes, preemptive), rel=1e-11)
        known = PriorityQueue(classes, preemptive)
        assert found.response_ppf(1, 0.95) == pytest.approx(known.response_ppf(1, 0.95), rel=1e-7)

    def test_one_class_is_a_plain_queue_with_its_law(self):
        tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[1.0, 0.2])
        queue, solved = (
            PriorityQueue([PriorityClass(tides, GIANTS)]),
            ManyServerQueue(tides, GIANTS, servers=1).solve(),
        )
        assert queue.mean_response[0] == pytest.approx(solved.mean_response, rel=1e-10)
        times = np.array([0.0, 1.0, 10.0, 100.0])
        assert queue.wait_sf(0, times) == pytest.approx(solved.wait.sf(times), abs=1e-8)
        assert queue.response_sf(0, times) == pytest.approx(solved.response.sf(times), abs=1e-8)

    def test_renewal_arrivals_are_taken_by_their_law(self):
        gaps = PhaseType.erlang(phases=4, mean=2.0)
        queue = PriorityQueue([PriorityClass(gaps, ERLANG), PriorityClass(gaps, ONE)], preemptive=True)
        alone = ManyServerQueue(gaps, ERLANG, servers=1).solve()
        assert queue.mean_response[0] == pytest.approx(alone.mean_response, rel=1e-10)
        orders = [PriorityQueue(queue.classes), PriorityQueue(queue.classes[::-1])]
        work = [sum(c.load * w for c, w in zip(q.classes, q.mean_wait, strict=True)) for q in orders]
        assert work[0] == pytest.approx(work[1], rel=1e-11)  # of one server that ends what it began

    @pytest.mark.parametrize(
        ("action", "why"),
        [
            (lambda own: PriorityQueue.of_marked(own.TURNS, own.LAWS[:1]), "one service for each"),
            (lambda own: PriorityQueue.of_marked(MAP.poisson(rate=1.0), own.LAWS), "MarkedMAP"),
            (lambda own: PriorityQueue([PriorityClass(ONE.scale(2.0), ONE)], servers=2), "must be Poisson"),
        ],
    )
    def test_what_is_refused(self, action, why):
        with pytest.raises(ModelError, match=why):
            action(self)


class TestBreakdowns:
    REPAIR = PhaseType.hyperexponential(weights=[0.7, 0.3], means=[1.0, 6.0])

    def test_interrupted_work_has_gavers_transform(self):
        found = interrupted(ERLANG, 0.2, self.REPAIR)
        for s in (0.1, 1.0, 7.0):
            inner = 0.2 * (1.0 - self.REPAIR.laplace(s))
            assert found.laplace(s) == pytest.approx(ERLANG.laplace(s + inner), rel=1e-12)
        assert interrupted(ERLANG, 0.0, self.REPAIR) is ERLANG

    @pytest.mark.parametrize("work", [ONE.scale(0.7), ERLANG, GIANTS.scale(0.4)])
    def test_poisson_arrivals_have_a_closed_form(self, work):
        """Pollaczek and Khinchine's for interrupted work, and what gathers while an idle server is down."""
        rate, failures = 0.45, 0.08
        queue = BreakdownQueue(PhaseType.exponential(mean=1.0 / rate), work, failures, self.REPAIR)
        whole = interrupted(work, failures, self.REPAIR)
        jobs = rate * whole.mean + rate**2 * whole.moment(2) / (2.0 * (1.0 - rate * whole.mean))
        down = failures * self.REPAIR.mean / (1.0 + failures * self.REPAIR.mean)
        jobs += rate * down * self.REPAIR.moment(2) / (2.0 * self.REPAIR.mean)
        assert queue.mean_jobs == pytest.approx(jobs, rel=1e-10)
        assert queue.mean_wait == pytest.approx(jobs / rate - work.mean, rel=1e-10)
        assert np.sum(queue.pmf(np.arange(2000))) == pytest.approx(1.0, abs=1e-9)

    def test_a_server_that_does_not_fail_is_a_plain_one(self):
        tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[1.0, 0.2])
        plain = ManyServerQueue(tides, ERLANG, servers=1).solve()
        assert BreakdownQueue(tides, ERLANG, 0.0, ONE).mean_response == pytest.approx(
            plain.mean_response, rel=1e-10
        )

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            ((1.0, ONE, 0.1, ONE), "arrivals must be"),
            ((ONE.scale(3.0), 1.0, 0.1, ONE), "service must be"),
            ((ONE.scale(3.0), ONE, -0.1, ONE), "failure_rate"),
            ((ONE.scale(3.0), ONE, 0.1, 2.0), "repair must be"),
        ],
    )
    def test_what_is_refused(self, words, why):
        with pytest.raises(ModelError, match=why):
            BreakdownQueue(*words)

    def test_a_server_that_is_down_too_often_has_no_steady_state(self):
        with pytest.raises(UnstableError):
            BreakdownQueue(ONE.scale(1.5), ONE, 0.5, ONE)


def dense(rate, speed, servers, most):
    """Generator of M/M/c with a highest number of jobs."""
    rows = np.zeros((most + 1, most + 1))
    for n in range(most + 1):
        if n < most:
            rows[n, n + 1] = rate
        if n:
            rows[n, n - 1] = min(n, servers) * speed
    return rows - np.diag(rows.sum(axis=1))


class TestOverTime:
    def test_numbers_are_those_of_a_dense_exponential(self):
        queue = ManyServerQueue(ONE.scale(0.5), ONE, servers=3)
        found = queue_at(queue, [0.0, 0.3, 2.0, 200.0], jobs=9)
        generator = dense(2.0, 1.0, 3, found.probabilities.shape[1] - 1)
        for time, chances in zip(found.times, found.probabilities, strict=True):
            assert chances == pytest.approx(expm(generator * time)[9], abs=1e-10)
        assert found.error_bound < 1e-10
        assert found.mean_waiting[0] == 6.0
        assert found.mean_jobs[-1] == pytest.approx(queue.solve().mean_jobs, rel=1e-6)

    def test_a_backlog_goes_down_one_busy_period_after_the_other(self):
        queue = ManyServerQueue(ONE.scale(1.0 / 0.6), ERLANG, servers=1)
        left = drain_time(queue, 8)
        load = 0.6 * ERLANG.mean
        busy = ERLANG.moment(2) / (1.0 - load) ** 3 - (ERLANG.mean / (1.0 - load)) ** 2
        assert left.mean == pytest.approx(7.0 * ERLANG.mean / (1.0 - load), rel=1e-10)
        assert left.std == pytest.approx(math.sqrt(7.0 * busy), rel=1e-6)
        assert left.cdf(left.percentile(0.9)) == pytest.approx(0.9, abs=1e-7)

    def test_dependent_arrivals_are_followed(self):
        tides = MAP.modulated([[0.0, 0.1], [0.1, 0.0]], rates=[0.9, 0.1])
        queue = ManyServerQueue(tides, ONE, servers=1)
        assert drain_time(queue, 20).mean == pytest.approx(19.0 / (1.0 - 0.5), rel=0.05)

    def test_what_is_no_backlog_is_refused(self):
        with pytest.raises(ModelError, match="none waits"):
            drain_time(ManyServerQueue(ONE.scale(0.5), ONE, servers=3), 3)
        with pytest.raises(ModelError, match="times must be"):
            queue_at(ManyServerQueue(ONE.scale(2.0), ONE, servers=1), [-1.0])


class TestCycles:
    @pytest.mark.thorough
    def test_a_cycle_of_one_rate_is_a_plain_queue(self):
        day = CyclicQueue([1.5, 1.5, 1.5], [3.0, 4.0, 1.0], ERLANG.scale(1.0), servers=2)
        solved = ManyServerQueue(ONE.scale(1.0 / 1.5), ERLANG, servers=2).solve()
        assert day.mean_jobs == pytest.approx(solved.mean_jobs, rel=1e-9)
        assert day.mean_wait == pytest.approx(solved.mean_wait, rel=1e-9)
        assert day.pointwise_jobs == pytest.approx(solved.mean_jobs, rel=1e-12)

    def test_a_day_returns_to_itself_and_is_that_of_a_dense_chain(self):
        day = CyclicQueue([1.4, 0.2, 0.0], [2.0, 3.0, 1.0], ONE, servers=1)
        most = 80
        steps = [expm(dense(rate, 1.0, 1, most) * s) for rate, s in ((1.4, 2.0), (0.2, 3.0), (0.0, 1.0))]
        state = np.eye(most + 1)[0]
        for _ in range(200):
            state = state @ steps[0] @ steps[1] @ steps[2]
        for time, truth in ((0.0, state), (2.0, state @ steps[0]), (5.0, state @ steps[0] @ steps[1])):
            found = day.at([time, time + day.cycle]).probabilities
            n = min(found.shape[1], most + 1)
            assert found[0][:n] == pytest.approx(truth[:n], abs=1e-10)
            assert found[1] == pytest.approx(found[0], abs=1e-10)

    @pytest.mark.thorough
    def test_what_is_served_is_what_comes(self):
        day = CyclicQueue([1.2, 0.1], [5.0, 5.0], GIANTS.scale(0.5 / GIANTS.mean), servers=2)
        busy = day.mean_jobs - day.mean_wait * day.mean_rate
        assert busy == pytest.approx(0.65 * 0.5, rel=1e-9)

    @pytest.mark.thorough
    def test_slow_cycles_are_pointwise_stationary_and_an_overload_is_not(self):
        slow = CyclicQueue([0.7, 0.1], [4000.0, 4000.0], ONE)
        assert slow.mean_jobs == pytest.approx(slow.pointwise_jobs, rel=0.01)
        assert CyclicQueue([1.2, 0.1], [10.0, 10.0], ONE).pointwise_jobs == math.inf

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (([0.5], [1.0, 2.0], ONE), "one for each"),
            (([-0.5, 1.0], [1.0, 2.0], ONE), "one for each"),
            (([0.0, 0.0], [1.0, 2.0], ONE), "not all zero"),
            (([0.5], [0.0], ONE), "seconds"),
        ],
    )
    def test_what_is_no_cycle_is_refused(self, words, why):
        with pytest.raises(ModelError, match=why):
            CyclicQueue(*words)

    def test_more_work_than_a_cycle_holds_is_unstable(self):
        with pytest.raises(UnstableError):
            CyclicQueue([2.0, 0.5], [1.0, 1.0], ONE)
