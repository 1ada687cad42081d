"""The machine at work: jobs, a queue, a strategy and a network."""

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid

from qmodels.errors import ModelError
from validation import STRATEGIES
from validation.allocation import AbstractStrategy, Paging, Random
from validation.jobs import AbstractStreams, JobStream
from validation.jobs.disciplines import disciplines_by_number
from validation.machine import (
    NETWORKS,
    QUANTITIES,
    Alternating,
    History,
    Machine,
    MachineRun,
    MixedTraffic,
    StrategyComparison,
    compare_machines,
    compare_strategies,
    play,
    simulate_machine,
)
from validation.mesh import Mesh, Network, Router


class Poisson(AbstractStreams):
    """Exponential gaps, sizes and demands, kept apart from the library's streams on purpose."""

    name = "test"

    def __init__(self, jobs, gap, size, demand=None):
        self.of = jobs, gap, size, demand

    def draw(self, *, rng):
        jobs, gap, size, demand = self.of
        gaps, sizes, demands = rng.spawn(3)
        return JobStream(
            arrivals=np.cumsum(gaps.exponential(gap, jobs)),
            sizes=np.minimum(np.ceil(sizes.exponential(size, jobs)), 64) if size else [1] * jobs,
            demands=None if demand is None else demands.exponential(demand, jobs),
        )


def west(rows=8, columns=8):
    return Mesh(rows, columns, io_side="west")


def one(network="worm", **kwargs):
    return Machine(mesh=west(), network=network, **kwargs)


@pytest.fixture(scope="module")
def history():
    jobs = Poisson(150, 60.0, 9.0).draw(rng=np.random.default_rng(5))
    return play(one(strategy="MC", traffic=MixedTraffic(0.4)), jobs, seed=3)


class TestOneRun:
    def test_two_jobs_that_do_not_fit_together_run_one_after_the_other(self):
        jobs = JobStream(arrivals=[0, 1], sizes=[40, 30], demands=[10, 5])
        run = play(one("none"), jobs)
        assert run.start.tolist() == [0, 10]
        assert run.finish.tolist() == [10, 15]
        assert run.summary["wait"] == 4.5
        assert run.summary["makespan"] == 15
        assert run.summary["queue"] == pytest.approx(9 / 15, rel=1e-14)
        assert run.summary["utilisation"] == pytest.approx((400 + 150) / (15 * 64), rel=1e-14)

    def test_a_job_alone_takes_what_its_messages_take_on_the_network(self):
        traffic = Alternating(communications=2, flits=7, io_flits=9)
        jobs = JobStream(arrivals=[100], sizes=[12])
        run = play(one(strategy="PLAS", traffic=traffic, disk_pace=2.5), jobs)
        network = Network(west(), disk_pace=2.5, seed=77)
        network.start("x", run.nodes[0], traffic.of(west(), 12, 1.0))
        # Writes start at a random I/O node: only their number is the same.
        [alone] = network.advance()
        assert run.messages[0] == alone.messages == 2 * 12 * 11 + 12 * 8
        assert run.service[0] == pytest.approx(alone.response, rel=0.2)

    def test_its_repr_is_one_line_without_the_numbers_of_its_jobs(self, history):
        text = repr(history)
        assert text.startswith("History(label=")
        assert "\n" not in text
        assert "array(" not in text
        assert len(text) < 300

    def test_no_node_serves_two_jobs_and_every_job_gets_what_it_asked_for(self, history):
        assert [nodes.size for nodes in history.nodes] == history.size.tolist()
        times = np.unique(np.concatenate([history.start, history.finish]))
        for mesh, time in zip(history.mesh_at(times), times, strict=True):
            held = (history.start <= time) & (history.finish > time)
            assert mesh.nodes - mesh.free == history.size[held].sum()

    def test_a_job_holds_its_nodes_from_its_start_until_its_end(self):
        """The first job ends at 10, when the second, which did not fit beside it, begins."""
        jobs = JobStream(arrivals=[0, 1], sizes=[40, 30], demands=[10, 5])
        run = play(one("none"), jobs)
        held = [
            {job: sorted(nodes.tolist()) for job, nodes in mesh.jobs.items()}
            for mesh in run.mesh_at([0.0, 9.999, 10.0, 14.999, 15.0])
        ]
        first, second = ({k: sorted(run.nodes[k].tolist())} for k in (0, 1))
        assert held == [first, first, second, second, {}]

    def test_first_come_first_served_starts_in_order(self, history):
        assert (np.diff(history.start) >= 0).all()
        assert (history.start >= history.arrival).all()

    def test_time_averages_agree_with_sums_over_jobs(self, history):
        span = history.end - history.arrival[0]
        held = (history.size * history.service).sum()
        assert history.summary["utilisation"] * span * 64 == pytest.approx(held, rel=1e-12)
        waited = (history.start - history.arrival).sum()
        assert history.summary["queue"] * span == pytest.approx(waited, rel=1e-12)
        assert history.summary["throughput"] * span == pytest.approx(150, rel=1e-12)

    def test_everything_sent_is_delivered(self, history):
        assert history.messages.tolist() == (history.size * 8).tolist()

    def test_system_balance_is_that_of_the_busy_nodes_over_time(self, history):
        times = np.unique(np.concatenate([history.start, history.finish]))
        total = 0.0
        for mesh, span in zip(history.mesh_at(times), np.append(np.diff(times), 0), strict=True):
            upper = int(mesh.busy[:4].sum())
            total += span * abs(2 * upper - int(mesh.busy.sum()))
        span = history.end - history.arrival[0]
        assert history.summary["system_balance"] == pytest.approx(total / span, rel=1e-12)

    @pytest.mark.thorough
    def test_same_seed_same_bits_and_another_seed_other_messages(self, history):
        jobs = Poisson(150, 60.0, 9.0).draw(rng=np.random.default_rng(5))
        machine = one(strategy="MC", traffic=MixedTraffic(0.4))
        assert play(machine, jobs, seed=3).finish.tolist() == history.finish.tolist()
        assert play(machine, jobs, seed=4).finish.tolist() != history.finish.tolist()
        unasked = play(machine, jobs).finish.tolist()
        assert unasked == play(machine, jobs, seed=0).finish.tolist()

    def test_a_run_stops_after_so_many_completions(self, history):
        jobs = Poisson(150, 60.0, 9.0).draw(rng=np.random.default_rng(5))
        run = play(one(strategy="MC", traffic=MixedTraffic(0.4)), jobs, seed=3, completions=50)
        assert 50 <= run.completed.sum() <= 52
        assert run.end == run.finish[run.completed].max()
        done = run.completed
        assert run.finish[done].tolist() == history.finish[done].tolist()

    @pytest.mark.parametrize("network", NETWORKS)
    def test_what_an_empty_machine_cannot_give_is_rejected_on_arrival(self, network):
        jobs = JobStream(arrivals=[0, 1, 2], sizes=[3, 65, 4], demands=[5.0, 5.0, 5.0])
        run = play(one(network), jobs)
        assert run.rejected.tolist() == [False, True, False]
        assert run.completed.tolist() == [True, False, True]
        assert run.summary["rejected"] == 1

    def test_pages_hold_more_than_they_send_from(self):
        jobs = JobStream(arrivals=[0], sizes=[5])
        run = play(one(strategy=Paging(s=1), traffic=MixedTraffic(1.0)), jobs)
        assert run.nodes[0].size == 8
        assert run.messages[0] == 5 * 8

    def test_arrivals_between_cycles_are_rounded_up(self):
        run = play(one(), JobStream(arrivals=[0.2, 7.5], sizes=[2, 2]))
        assert run.start.tolist() == [1, 8]

    @pytest.mark.thorough(first=1, but=["none-conservative"])
    @pytest.mark.parametrize("discipline", disciplines_by_number())
    @pytest.mark.parametrize("network", NETWORKS)
    def test_every_discipline_finishes_every_job(self, discipline, network):
        jobs = Poisson(60, 40.0, 14.0, 30.0).draw(rng=np.random.default_rng(8))
        run = play(one(network, discipline=discipline), jobs)
        assert run.completed.all()
        assert run.start[0] >= run.arrival[0]

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("strategy", sorted(STRATEGIES))
    def test_every_strategy_runs_a_machine(self, strategy):
        jobs = Poisson(40, 60.0, 7.0).draw(rng=np.random.default_rng(2))
        run = play(one(strategy=strategy), jobs)
        assert (run.completed | run.rejected).all()

    def test_shortest_demand_without_demands_goes_by_what_jobs_will_send(self):
        jobs = JobStream(arrivals=[0, 1, 1], sizes=[64, 40, 30])
        talk = Alternating(communications=3, pattern="all-to-all")
        run = play(one(discipline="SSD", traffic=talk), jobs)
        # All-to-all takes a node as long as there are others.
        assert run.start[2] < run.start[1]

    @pytest.mark.parametrize(("estimates", "overtakes"), [([100, 1, 1], True), ([1, 1, 100], False)])
    def test_a_user_who_expects_a_hundred_times_the_demand_expects_as_much_of_what_is_sent(
        self, estimates, overtakes
    ):
        """A small job overtakes a large one where it is expected to end before that could begin."""
        jobs = JobStream(arrivals=[0, 1, 2], sizes=[48, 64, 16], demands=[1, 1, 1], estimates=estimates)
        run = play(one(discipline="EASY", traffic=Alternating(communications=3, pattern="all-to-all")), jobs)
        assert (run.start[2] < run.start[1]) == overtakes

    def test_demands_scale_what_jobs_send(self):
        jobs = JobStream(arrivals=[0, 0], sizes=[4, 4], demands=[10.0, 30.0])
        run = play(one(traffic=MixedTraffic(0.5, slots=20, by_demand=True)), jobs)
        assert run.messages.tolist() == [4 * 10, 4 * 30]

    def test_a_job_without_messages_ends_when_it_starts(self):
        talk = MixedTraffic(0.0)
        machine = Machine(mesh=Mesh(4, 4), traffic=talk)
        run = play(machine, JobStream(arrivals=[5], sizes=[1]))
        assert run.start[0] == run.finish[0] == 5
        assert run.summary["slowdown"] == 1.0

    def test_on_three_dimensions_balance_is_left_out(self):
        class Scan(AbstractStrategy):
            name = "scan"

            def choose(self, mesh, request):
                free = np.flatnonzero(~mesh.busy.ravel())
                return free[: request.size] if free.size >= request.size else None

        machine = Machine(mesh=Mesh(4, 4, 4), strategy=Scan(), traffic=MixedTraffic(0.0))
        jobs = Poisson(30, 20.0, 5.0).draw(rng=np.random.default_rng(1))
        run = play(machine, jobs)
        assert run.completed.all()
        assert run.summary["system_balance"] == 0.0

    def test_a_strategy_that_forgets_a_job_is_named(self):
        class Moody(AbstractStrategy):
            name = "moody"
            asked = 0

            def choose(self, mesh, request):
                Moody.asked += 1
                return np.arange(request.size) if Moody.asked == 1 else None

        jobs = JobStream(arrivals=[0, 1], sizes=[2, 2], demands=[1.0, 1.0])
        with pytest.raises(ModelError, match="moody leaves 1 jobs waiting"):
            play(Machine(mesh=Mesh(4, 4), strategy=Moody(), network="none"), jobs)


@pytest.mark.thorough
class TestKnownAnswers:
    """Machines of one-node jobs are queues with formulas; 4 standard errors, fixed seeds."""

    def waits(self, servers, gap, demand, discipline="FCFS", replications=20, jobs=1000):
        machine = Machine(mesh=Mesh(1, servers), strategy="Paging", discipline=discipline, network="none")
        streams = Poisson(jobs, gap, None, demand)
        means = []
        for replication in range(replications):
            drawn = streams.draw(rng=np.random.default_rng([servers, replication]))
            run = play(machine, drawn)
            means.append((run.start - run.arrival)[jobs // 4 :].mean())
        return np.mean(means), np.std(means, ddof=1) / math.sqrt(replications)

    def test_one_node_waits_as_m_m_1(self):
        mean, error = self.waits(1, 2.0, 1.0)
        assert abs(mean - 0.5 / (1 - 0.5)) < 4 * error

    def test_four_nodes_wait_as_erlang_c_says(self):
        mean, error = self.waits(4, 1.0, 3.0)
        load = 3.0
        terms = [load**k / math.factorial(k) for k in range(4)]
        queued = load**4 / math.factorial(4) / (1 - load / 4)
        erlang = queued / (sum(terms) + queued)
        assert abs(mean - erlang * 3.0 / (4 - load)) < 4 * error

    def test_shortest_demand_on_one_node_waits_as_conway_maxwell_and_miller_say(self):
        # W = int lambda E[S^2]/2 / (1 - rho(x))^2 dF(x), rho(x) the load of demands below x.
        load = 0.7
        x = np.linspace(0, 40, 400_001)
        below = load * (1 - np.exp(-x) * (1 + x))
        exact = trapezoid(load / (1 - below) ** 2 * np.exp(-x), x)
        mean, error = self.waits(1, 1 / load, 1.0, "SSD")
        assert abs(mean - exact) < 4 * error


class TestReplications:
    jobs = Poisson(40, 60.0, 9.0)

    @pytest.fixture
    def made_up(self):
        """A comparison whose every quantity has the values given for each run."""
        first = play(one(), JobStream(arrivals=[0.0], sizes=[1]))

        def make(**values):
            return StrategyComparison(
                {
                    name: MachineRun(
                        label=name,
                        unit="cycles",
                        values=dict.fromkeys(QUANTITIES, given),
                        confidence=0.95,
                        seed=0,
                        first=first,
                    )
                    for name, given in values.items()
                }
            )

        return make

    def test_intervals_and_values_by_name(self):
        run = simulate_machine(one(), self.jobs, replications=4, seed=1)
        assert run.replications == 4
        for name in QUANTITIES:
            assert run[name].mean == pytest.approx(np.mean(run.values[name]), rel=1e-12)
        assert run["service"].half_width > 0
        assert isinstance(run.first, History)
        assert len(run.to_frame()) == 4
        assert "turnaround" in run.table()
        with pytest.raises(ModelError, match="quantity must be one of service"):
            run["speed"]

    def test_strategies_see_the_same_jobs_and_the_same_messages(self):
        found = compare_strategies(one(), ["PLAS", "Paging", "Random"], self.jobs, replications=2)
        first = {name: run.first for name, run in found.runs.items()}
        for name in ("Paging", "Random"):
            assert first[name].arrival.tolist() == first["PLAS"].arrival.tolist()
            assert first[name].size.tolist() == first["PLAS"].size.tolist()
            assert first[name].messages.tolist() == first["PLAS"].messages.tolist()

    def test_a_job_sends_the_same_under_a_discipline_that_starts_it_earlier(self):
        # All nodes alike for both, so that only the draws could differ.
        jobs = JobStream(arrivals=[0, 1, 2], sizes=[64, 64, 64], demands=[1.0, 3.0, 2.0])
        traffic = MixedTraffic(0.5, slots=30)
        runs = [play(one(discipline=d, traffic=traffic), jobs) for d in ("FCFS", "SSD")]
        assert runs[0].start[1] < runs[0].start[2]
        assert runs[1].start[2] < runs[1].start[1]
        stays = [(run.finish - run.start).tolist() for run in runs]
        assert stays[0] == stays[1]

    def test_paired_differences_are_differences_of_replications(self):
        found = compare_strategies(one(), ["PLAS", "Paging"], self.jobs, replications=3)
        gap = found.difference("Paging", "PLAS", "turnaround")
        here, there = (found.runs[n].values["turnaround"] for n in ("Paging", "PLAS"))
        assert gap.mean == pytest.approx(np.mean(np.subtract(here, there)), rel=1e-12)
        frame = found.to_frame("turnaround").set_index("strategy")
        assert frame.difference.min() == 0.0
        assert found.best("turnaround") in found.table("turnaround").splitlines()[1]
        with pytest.raises(ModelError, match="no strategy here is called 'MC'"):
            found.difference("MC", "PLAS")

    def test_a_tie_is_no_winner(self, made_up):
        """Where the best cannot be told from the next, table, frame and `leaders` say so."""
        tied = made_up(a=(10.0, 12.0, 11.0), b=(10.5, 11.0, 12.0), c=(20.0, 22.0, 21.0))
        assert tied.best() == "a"
        assert tied.leaders() == ("a", "b")
        verdicts = dict(zip(*tied.to_frame()[["strategy", "verdict"]].to_numpy().T, strict=True))
        assert verdicts == {"a": "undecided", "b": "undecided", "c": "worse"}
        text = tied.table()
        assert text.splitlines()[-1] == "undecided: a cannot be told from b"
        assert text.splitlines()[3].endswith(" worse")
        clear = made_up(a=(10.0, 12.0, 11.0), c=(20.0, 22.0, 21.0))
        assert clear.leaders() == ("a",)
        assert clear.to_frame().verdict.tolist() == ["best", "worse"]
        assert "undecided" not in clear.table()

    def test_one_replication_crowns_nobody(self, made_up):
        single = made_up(a=(10.0,), b=(99.0,))
        assert single.leaders() == ("a", "b")
        assert set(single.to_frame().verdict) == {"undecided"}

    def test_more_throughput_is_better(self, made_up):
        found = made_up(a=(10.0, 12.0, 11.0), c=(20.0, 22.0, 21.0))
        assert found.compare("a", "c", "service").verdict == "better"
        assert found.compare("a", "c", "throughput").verdict == "worse"
        relative = found.compare("c", "a", "service", relative=True)
        assert relative.mean == pytest.approx(21 / 11 - 1)
        assert found.difference("c", "a").mean == 10.0

    def test_random_allocation_differs_between_replications_and_not_between_calls(self):
        jobs = JobStream(arrivals=[0], sizes=[10])
        found = [simulate_machine(one(strategy="Random"), jobs, replications=3) for _ in range(2)]
        assert found[0].values == found[1].values
        assert len(set(found[0].values["nodes_affected"])) > 1

    @pytest.mark.thorough
    def test_the_number_of_processes_changes_nothing(self):
        from validation.jobs import PoissonStreams

        jobs = PoissonStreams(jobs=20, mean_interarrival=80.0, mean_size=6.0, largest=64)
        seen = []
        runs = [
            compare_strategies(
                one(),
                ["PLAS", Random()],
                jobs,
                replications=2,
                workers=workers,
                progress=lambda *report: seen.append(report),
            )
            for workers in (1, 2)
        ]
        assert [r.values for r in runs[0].runs.values()] == [r.values for r in runs[1].runs.values()]
        assert seen == [("runs", k, 4) for k in (1, 2, 3, 4)] * 2

    def test_machines_may_differ_in_anything(self):
        machines = {d: one(discipline=d, strategy="MBS") for d in ("FCFS", "smallest-first")}
        found = compare_machines(machines, self.jobs, replications=2)
        assert list(found.runs) == ["FCFS", "smallest-first"]

    def test_one_replication_has_no_interval(self):
        assert math.isinf(simulate_machine(one(), self.jobs, replications=1)["service"].half_width)


class TestBadArguments:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ({"mesh": 3}, "mesh must be"),
            ({"strategy": "MCE"}, "no strategy is called"),
            ({"strategy": None}, "named by text"),
            ({"discipline": "fifo"}, "no discipline is called 'fifo'; did you mean 'FCFS'"),
            ({"network": "wormhole"}, "network must be"),
            ({"network": None}, "network must be"),
            ({"router": 3}, "router must be"),
            ({"disk_pace": 0.5}, "disk_pace"),
            ({"disk_pace": math.nan}, "disk_pace"),
            ({"traffic": 1.0}, "traffic must say"),
            ({"network": "none", "traffic": MixedTraffic(0.5)}, "leave out traffic"),
            ({"mesh": Mesh(4, 4), "traffic": MixedTraffic(0.5)}, "needs I/O nodes"),
            ({"mesh": Mesh(4, 4), "traffic": Alternating()}, "needs I/O nodes"),
        ],
    )
    def test_of_a_machine(self, arguments, says):
        with pytest.raises(ModelError, match=says):
            Machine(**({"mesh": west()} | arguments))

    @pytest.mark.parametrize(
        ("make", "says"),
        [
            (lambda: MixedTraffic(1.5), "io_share"),
            (lambda: MixedTraffic(math.nan), "io_share"),
            (lambda: MixedTraffic(0.5, slots=0), "slots"),
            (lambda: MixedTraffic(0.5, flits=0), "flits"),
            (lambda: MixedTraffic(0.5, by_demand=1), "by_demand"),
            (lambda: Alternating(communications=-1), "communications"),
            (lambda: Alternating(pattern="write"), "see io"),
            (lambda: Alternating(pattern="all"), "pattern must be one of"),
            (lambda: Alternating(io="append"), "io must be"),
            (lambda: Alternating(flits=1 << 30), "flits"),
            (lambda: Alternating(repeat=None), "repeat"),
        ],
    )
    def test_of_traffic(self, make, says):
        with pytest.raises(ModelError, match=says):
            make()

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ({"replications": 0}, "replications"),
            ({"replications": 2.5}, "replications"),
            ({"seed": -1}, "seed"),
            ({"completions": 0}, "completions"),
            ({"confidence": 1.0}, "confidence"),
            ({"workers": 0}, "workers"),
        ],
    )
    def test_of_replications(self, arguments, says):
        with pytest.raises(ModelError, match=says):
            simulate_machine(one(), Poisson(5, 60.0, 4.0), **arguments)

    def test_of_comparisons(self):
        jobs = Poisson(5, 60.0, 4.0)
        for strategies, says in (
            ([], "at least one"),
            ("MC", "in a list"),
            (["MC", "mc"], "there twice"),
        ):
            with pytest.raises(ModelError, match=says):
                compare_strategies(one(), strategies, jobs)
        with pytest.raises(ModelError, match="must be a Machine"):
            compare_machines({"a": west()}, jobs)
        with pytest.raises(ModelError, match="streams must be"):
            simulate_machine(one(), [1, 2])

    def test_without_a_network_demands_are_needed(self):
        with pytest.raises(ModelError, match="the stream has none"):
            play(one("none"), JobStream(arrivals=[0], sizes=[1]))

    def test_a_strategy_not_defined_on_the_mesh_says_so(self):
        machine = Machine(mesh=Mesh(6, 6, io_side="west"), strategy="SCBT")
        with pytest.raises(ModelError, match="power"):
            play(machine, JobStream(arrivals=[0], sizes=[1]))


def test_routers_and_slow_disks_make_jobs_stay_longer():
    jobs = Poisson(40, 100.0, 9.0).draw(rng=np.random.default_rng(3))
    plain = play(one(), jobs).summary["service"]
    assert play(one(router=Router(hop=4)), jobs).summary["service"] > plain
    assert play(one(disk_pace=3.0), jobs).summary["service"] > plain


def test_contention_is_the_share_of_time_that_headers_wait():
    jobs = Poisson(40, 100.0, 9.0).draw(rng=np.random.default_rng(3))
    run = play(one(), jobs)
    waited = (run.blocking * run.messages).sum() / (run.network_latency * run.messages).sum()
    assert run.summary["contention"] == pytest.approx(waited, rel=1e-12)
    assert 0 < waited < 1
