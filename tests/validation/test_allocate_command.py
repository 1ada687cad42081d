"""`qmodels allocate`: strategies compared from options, scenario files and logs."""

import csv
import hashlib
import html
import json
import math
import re
import sys

import numpy as np
import pytest

from qmodels.errors import ModelError, ScenarioError, TraceFormatError
from qmodels.io import write_swf
from tests.command import invoked, result_of
from tests.page_checks import problems
from validation.commands.allocate import register
from validation.jobs import LogStreams, PoissonStreams
from validation.machine import MixedTraffic, compare_strategies
from validation.machine.scenario import load_plan
from validation.mesh import Mesh

SMALL = ("--mesh", "8x8", "--jobs", "25", "--replications", "2", "-j", "1")


def command(*arguments):
    return invoked(register, "allocate", *arguments)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder of the test's own; what it imports from there is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def test_the_command_prints_what_compare_strategies_says(folder):
    done = command(
        *SMALL,
        "--strategies",
        "plas,MC",
        "--mean-interarrival",
        "90",
        "--io-share",
        "0.3",
        "--seed",
        "7",
        "--json",
    )
    assert done.exit_code == 0, done.output
    said = result_of(done.stdout)
    from validation.machine import Machine

    machine = Machine(mesh=Mesh(8, 8, io_side="west"), traffic=MixedTraffic(0.3))
    jobs = PoissonStreams(jobs=25, mean_interarrival=90.0, largest=64)
    found = compare_strategies(machine, ["PLAS", "MC"], jobs, replications=2, seed=7)
    assert list(said) == ["PLAS", "MC"]
    for name, run in found.runs.items():
        assert said[name]["service"]["mean"] == run["service"].mean
        assert said[name]["turnaround"]["half_width"] == run["turnaround"].half_width
    gap = found.difference("MC", found.best())
    assert said["MC"]["service_minus_best"]["mean"] == gap.mean
    assert said["MC"]["service_minus_best"]["verdict"] == found.compare("MC", found.best()).verdict


@pytest.mark.thorough
def test_the_output_folder_holds_tables_layouts_and_gantt_charts(folder):
    done = command(*SMALL, "--strategies", "PLAS,Random", "--mean-interarrival", 90, "-o", "out/deep")
    assert done.exit_code == 0, done.output
    files = {file.name for file in (folder / "out/deep").iterdir()}
    assert files == {
        "report.html",
        "report.json",
        "strategies.csv",
        "replications.csv",
        "service.png",
        "turnaround.png",
        "layouts.png",
        "gantt-1.png",
        "gantt-2.png",
        "jobs-1.csv",
        "jobs-2.csv",
    }
    with open(folder / "out/deep/strategies.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["strategy"] for row in rows] == ["PLAS", "Random"]
    assert min(float(row["difference"]) for row in rows) == 0.0
    with open(folder / "out/deep/replications.csv") as stream:
        assert len(list(csv.DictReader(stream))) == 4
    page = (folder / "out/deep/report.html").read_text(encoding="utf-8")
    assert problems(page) == []
    assert page.count("<img") == 2 + 2 + 2  # both times, and of each strategy where and when
    best = min(rows, key=lambda row: float(row["service"]))
    told = json.loads((folder / "out/deep/report.json").read_text())
    assert told["findings"][0].startswith(
        f"Under {best['strategy']} a job takes {estimated_as(best)} cycles from its start to its end"
    )
    assert html.escape(told["findings"][0]) in page
    assert [row["strategy"] for row in told["tables"]["strategies"]] == ["PLAS", "Random"]
    for row in rows:
        assert f">{100 * float(row['utilisation']):.1f} %<" in page
    assert done.stdout.splitlines()[-1] == "out/deep/report.html"


def estimated_as(row):
    """A row's service time and its interval, as a report gives them."""
    half = float(row["service_half_width"])
    after = max(0, 1 - math.floor(math.log10(half)))
    return f"{float(row['service']):,.{after}f} ± {half:,.{after}f}"


@pytest.mark.thorough
def test_a_wanted_utilisation_is_reached(folder):
    done = command(
        "--mesh",
        "4x4",
        "--jobs",
        100,
        "--replications",
        3,
        "-j",
        1,
        "--strategies",
        "PLAS",
        "--utilisation",
        0.5,
        "--json",
    )
    assert done.exit_code == 0, done.output
    said = result_of(done.stdout)
    stages = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert stages[:2] == ["a first guess", "pilot runs"]
    assert "runs" in stages
    # Other jobs than those of the pilot runs: 300 of them spread the utilisation by some 10 %.
    assert said["PLAS"]["utilisation"]["mean"] == pytest.approx(0.5, abs=0.1)


def test_a_log_is_played_with_its_own_times_where_run_times_count(folder):
    rng = np.random.default_rng(4)
    jobs = {
        "submit": np.cumsum(rng.integers(1, 50, 40)),
        "run": rng.integers(5, 200, 40),
        "processors": rng.integers(1, 30, 40),
    }
    write_swf(folder / "log.swf", jobs)
    done = command(
        "log.swf",
        "--mesh",
        "8x8",
        "--network",
        "none",
        "--strategies",
        "MBS",
        "--json",
        "--replications",
        1,
        "-j",
        1,
        "--discipline",
        "EASY",
    )
    assert done.exit_code == 0, done.output
    said = result_of(done.stdout)["MBS"]
    assert said["service"] == {"mean": pytest.approx(jobs["run"].mean()), "half_width": None}
    assert said["completed"]["mean"] == 40
    assert said["unit"] == "s"


@pytest.mark.thorough
def test_a_log_and_a_network_come_as_fast_as_keeps_the_machine_busy(folder):
    rng = np.random.default_rng(4)
    write_swf(
        folder / "log.swf",
        {
            "submit": np.cumsum(rng.integers(1, 50, 60)),
            "run": [9.0] * 60,
            "processors": rng.integers(1, 30, 60),
        },
    )
    done = command("log.swf", *SMALL[:2], *SMALL[4:], "--strategies", "PLAS")
    assert done.exit_code == 0, done.output
    assert "so that PLAS keeps 65% of the processors busy" in done.stderr


SCENARIO = """
title = "Columns against blocks"
seed = 3
[mesh]
rows = 8
columns = 8
[machine]
strategies = ["PLAS", "MBS"]
network = "fluid"
[jobs]
count = 30
mean_interarrival = 80
[traffic]
kind = "alternating"
communications = 2
flits = 4
[study]
replications = 2
times = [300, 900]
"""


def test_a_scenario_says_it_all_and_options_win(folder):
    (folder / "plan.toml").write_text(SCENARIO)
    plan = load_plan(folder / "plan.toml")
    assert [s.name for s in plan.strategies] == ["PLAS", "MBS"]
    assert plan.machine.network == "fluid"
    assert plan.machine.traffic.communications == 2
    assert plan.machine.traffic.io_flits == 4
    assert plan.streams.mean_interarrival == 80
    assert (plan.seed, plan.replications, plan.times) == (3, 2, (300.0, 900.0))
    done = command("plan.toml", "--strategies", "SCBT", "--network", "worm", "--json", "-j", 1)
    assert done.exit_code == 0, done.output
    assert list(result_of(done.stdout)) == ["SCBT"]


@pytest.mark.parametrize(
    ("line", "instead", "key", "says"),
    [
        ('network = "fluid"', 'network = "worms"', "machine.network", "none"),
        ('network = "fluid"', "net = 1", "machine.net", "unknown key"),
        ('network = "fluid"', 'network = "none"', "traffic", "drop this table"),
        ('"PLAS", "MBS"', '"PLAS", "PLSA"', r"study.strategies\[1\]", "did you mean 'PLAS'"),
        ('"PLAS", "MBS"', '"PLAS", "plas"', r"study.strategies\[1\]", "there twice"),
        ("rows = 8", "rows = 0", "mesh.rows", "greater than or equal to 1"),
        ("rows = 8", "rows = 8.5", "mesh.rows", "valid integer"),
        ("rows = 8", 'rows = 8\nio_side = "left"', "mesh", "io_side must be"),
        ("count = 30", "count = -3", "jobs.count", "greater than"),
        ("count = 30", "count = 30\nutilisation = 0.5", "jobs.utilisation", "either this or"),
        ("count = 30", 'count = 30\npath = "x.swf"', "jobs.path", "not for source"),
        ("count = 30", 'count = 30\nsource = "batch"', "jobs.mean_interarrival", "at once"),
        ("count = 30", 'count = 30\nsource = "log"', "jobs.path", "missing"),
        ("communications = 2", "slots = 2", "traffic.slots", "not for kind"),
        ("communications = 2", 'pattern = "ringing"', "traffic", "pattern must be"),
        ("times = [300, 900]", "times = [-1]", r"study.times\[0\]", "greater than 0"),
        ("seed = 3", "seed = nan", "seed", "valid integer"),
    ],
)
def test_a_fault_in_a_scenario_is_named_with_its_key(folder, line, instead, key, says):
    text = SCENARIO.replace(line, instead)
    assert text != SCENARIO
    (folder / "plan.toml").write_text(text)
    with pytest.raises(ScenarioError, match=rf"{key}.*{says}"):
        load_plan(folder / "plan.toml")


@pytest.mark.parametrize("network", ["none", "worm"])
@pytest.mark.parametrize("source", ["poisson", "batch", "surrogate", "lublin"])
def test_every_source_of_jobs_makes_a_plan(folder, source, network):
    (folder / "plan.toml").write_text(
        f'[jobs]\nsource = "{source}"\ncount = 50\n[machine]\nnetwork = "{network}"\n'
    )
    plan = load_plan(folder / "plan.toml")
    timed = source == "batch" or (source == "lublin" and network == "none")
    assert (plan.utilisation is None) == timed
    stream = plan.streams.draw(rng=np.random.default_rng(1))
    assert stream.jobs == 50
    assert network == "worm" or stream.demands is not None


def test_replications_of_a_log_begin_at_other_jobs_and_one_is_the_log_itself(folder):
    write_swf(
        folder / "log.swf",
        {"submit": [0, 5, 9], "run": [1.0, 2.0, 3.0], "processors": [1, 2, 3]},
    )
    for replications, start in ((1, "first"), (5, "random")):
        (folder / "plan.toml").write_text(
            f'[jobs]\nsource = "log"\npath = "log.swf"\n[study]\nreplications = {replications}\n'
        )
        streams = load_plan(folder / "plan.toml").streams
        assert isinstance(streams, LogStreams)
        assert streams.start == start


class TestOwnStrategies:
    GOOD = (
        "import numpy as np\n"
        "from validation.allocation import PlaneStrategy\n"
        "class Last(PlaneStrategy):\n"
        "    name = 'last'\n"
        "    def places(self, free, request):\n"
        "        return np.flatnonzero(free)[-request.size:]\n"
    )

    def test_one_in_the_current_folder_competes(self, folder):
        (folder / "own_last.py").write_text(self.GOOD)
        done = command(*SMALL, "--strategies", "own_last:Last,PLAS", "--mean-interarrival", 90, "--json")
        assert done.exit_code == 0, done.output
        assert list(result_of(done.stdout)) == ["last", "PLAS"]

    @pytest.mark.thorough
    def test_one_runs_in_processes_of_their_own(self, folder):
        (folder / "own_far.py").write_text(self.GOOD)
        one, two = (
            command(
                *SMALL[:-1],
                workers,
                "--strategies",
                "own_far:Last",
                "--mean-interarrival",
                90,
                "--json",
            )
            for workers in (1, 2)
        )
        assert two.exit_code == 0, two.output
        assert one.stdout.splitlines()[-1] == two.stdout.splitlines()[-1]

    @pytest.mark.thorough
    def test_a_check_passes_and_fails_by_its_exit_code(self, folder):
        (folder / "own_good.py").write_text(self.GOOD)
        (folder / "own_bad.py").write_text(self.GOOD.replace("-request.size:", ": request.size - 1"))
        good, bad = command("--check", "own_good:Last"), command("--check", "own_bad:Last")
        assert (good.exit_code, bad.exit_code) == (0, 1)
        assert "BROKEN" not in good.output
        assert "BROKEN  never gives a part" in bad.output

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (("-request.size:", ": request.size - 1"), "it gave {n} nodes"),
            (("-request.size:", "-request.size - 1 :"), "it gave {n} nodes"),
            (("return np", "return (1 / 0) * np"), "ZeroDivisionError"),
            (("return np.flatnonzero(free)[-request.size:]", "return 'ab' * 40"), "Error"),
        ],
    )
    def test_one_that_answers_wrongly_is_named_with_the_job_and_its_request(self, folder, change, says):
        name = "own_" + hashlib.sha256(change[1].encode()).hexdigest()[:8]
        assert change[0] in self.GOOD
        (folder / f"{name}.py").write_text(self.GOOD.replace(*change))
        done = command(*SMALL, "--strategies", f"{name}:Last,PLAS", "--mean-interarrival", 90)
        assert isinstance(done.exception, ModelError)
        said = str(done.exception)
        assert "\n" not in said
        assert re.search(r"strategy last, asked for \d+ node", said)
        assert says.partition("{n}")[0] in said

    def test_one_that_never_answers_is_stopped_with_its_line(self, folder):
        (folder / "own_endless.py").write_text(
            self.GOOD.replace("return np", "while True:\n            pass\n        return np")
        )
        done = command("--check", "own_endless:Last", "--check-seconds", "0.5")
        assert isinstance(done.exception, ModelError)
        assert "strategy last was not done after 0.5 s" in str(done.exception)
        assert "own_endless.py, line" in str(done.exception)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--strategies", "MCE"), ScenarioError),
        (("--strategies", ","), ScenarioError),
        (("--mesh", "16"), ModelError),
        (("--mesh", "0x4"), ScenarioError),
        (("--io-share", "nan"), ScenarioError),
        (("--io-share", "1.5"), ScenarioError),
        (("--utilisation", "1.5"), ScenarioError),
        (("--mean-interarrival", "-1"), ScenarioError),
        (("--mean-interarrival", "1e400"), ScenarioError),
        (("--discipline", "<b>"), ScenarioError),
        (("--network", "flit"), ScenarioError),
        (("--mesh", "6x6", "--strategies", "SCBT"), ScenarioError),
        (("--network", "none", "--flits", "3"), ScenarioError),
        (("missing.toml",), ScenarioError),
        (("missing.swf",), TraceFormatError),
        (("--check", "nowhere:Class"), ModelError),
        (("--utilisation", "0.5", "--mean-interarrival", "5"), ScenarioError),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(folder, options, error):
    done = command(*options, "-o", "out")
    assert isinstance(done.exception, error), done.output
    assert not (folder / "out").exists()


def test_pictures_show_who_held_which_nodes():
    from matplotlib.colors import to_rgb

    from validation.jobs import JobStream
    from validation.machine import Machine, play
    from validation.machine.plotting import gantt, mesh_strip

    jobs = JobStream(arrivals=[0, 0, 1], sizes=[6, 4, 9], demands=[10.0, 4.0, 5.0])
    run = play(Machine(mesh=Mesh(4, 4), strategy="PLAS", network="none"), jobs)
    figure = mesh_strip(run, [2.0, 5.0])
    first, second = (np.asarray(ax.get_images()[0].get_array()) for ax in figure.axes[:2])
    assert (first.reshape(16, 3)[run.nodes[0]] == first.reshape(16, 3)[run.nodes[0][0]]).all()
    assert (first != 1.0).any(axis=2).sum() == 10
    assert (second != 1.0).any(axis=2).sum() == 6 + 9
    assert figure.axes[0].get_title() == "2 s: 2 jobs"
    ax = gantt(run)
    [bars] = ax.collections[:1]
    # Columns are whole under PLAS: fewer pieces than by rows, and every node-second is drawn.
    assert ax.get_ylabel() == "node, column by column"
    areas = sum(np.ptp(p.vertices[:, 0]) * np.ptp(p.vertices[:, 1]) for p in bars.get_paths())
    assert areas == pytest.approx(6 * 10 + 4 * 4 + 9 * 5)
    assert len({to_rgb(c) for c in bars.get_facecolors()}) == 3
    assert "at most 1" in ax.texts[0].get_text()
    found = compare_strategies(Machine(mesh=Mesh(4, 4, io_side="west")), ["PLAS", "MC"], jobs, replications=2)
    drawn = found.plot(quantity="turnaround")
    assert [t.get_text() for t in drawn.get_yticklabels()][-1] == found.best("turnaround")
    assert found.plot(quantity="service").get_xlabel() == "service [cycles]"
    with pytest.raises(ModelError, match="at most 12 times"):
        mesh_strip(run, np.arange(13.0))


@pytest.mark.thorough
def test_one_run_has_no_interval_and_says_so(folder):
    done = command(
        "--mesh",
        "8x8",
        "--jobs",
        "25",
        "--replications",
        "1",
        "-j",
        "1",
        "--strategies",
        "PLAS,Paging,Random",
        "--mean-interarrival",
        "90",
        "-o",
        "out",
    )
    assert done.exit_code == 0, done.output
    assert "inf" not in done.output
    assert done.output.count("(one run, no interval) undecided") == 2
    assert "one run of the same jobs, so no intervals" in done.output
    from validation.machine import Machine, simulate_machine

    jobs = PoissonStreams(jobs=25, mean_interarrival=90.0, largest=64)
    table = simulate_machine(Machine(mesh=Mesh(8, 8, io_side="west")), jobs, replications=1).table()
    assert "inf" not in table
    assert "±" not in table
    assert "one run, no intervals" in table
