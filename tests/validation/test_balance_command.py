"""`qmodels balance`: balancers compared from options, scenario files and logs, and checked."""

import html
import os
import re
import sys

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import ModelError, ScenarioError, TraceFormatError
from tests.command import called, invoked, result_of
from tests.page_checks import problems
from validation.cluster import Cluster, SyntheticTraces, compare_balancers, read_cluster_trace
from validation.cluster.report import findings
from validation.cluster.runs import SameTrace
from validation.cluster.scenario import load_balance
from validation.commands.balance import register

SMALL = ("--nodes", "4", "--jobs", "40", "--replications", "2", "-j", "1")


def command(*arguments):
    return invoked(register, "balance", *arguments)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder of the test's own; what it imports from there is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def test_the_command_prints_what_compare_balancers_says(folder):
    done = command(*SMALL, "--balancers", "iocm-re,NLB", "--seed", "7", "--json")
    assert done.exit_code == 0, done.output
    said = result_of(done.stdout)
    traces = SyntheticTraces(jobs=40, nodes=4)
    found = compare_balancers(Cluster.of(4), traces, ["IOCM-RE", "NLB"], replications=2, seed=7)
    assert list(said) == ["IOCM-RE", "NLB"]
    for name, run in found.runs.items():
        for quantity in run.values:
            assert said[name][quantity]["mean"] == run[quantity].mean
        gap = found.compare(name, found.best())
        assert said[name]["slowdown_minus_best"]["mean"] == gap.mean
        assert said[name]["slowdown_minus_best"]["verdict"] == gap.verdict


@pytest.mark.thorough
def test_the_output_folder_holds_jobs_nodes_and_pictures(folder):
    done = command(*SMALL, "--balancers", "IOCM-PM,NLB", "--disk-load", "2", "-o", "out")
    assert done.exit_code == 0, done.output
    names = {file.name for file in (folder / "out").iterdir()}
    assert names >= {
        "balancers.csv",
        "replications.csv",
        "slowdown.png",
        "tails.png",
        "jobs-1.csv",
        "jobs-2.csv",
        "nodes-1.csv",
        "tasks-1.png",
        "disk-2.png",
        "cpu-1.png",
        "migrations-1.csv",
    }
    assert "migrations-2.csv" not in names  # nobody moves
    assert done.stdout.splitlines()[-1] == "out/report.html"
    check_page(folder / "out")
    jobs = pd.read_csv(folder / "out" / "jobs-1.csv")
    assert len(jobs) == 40
    assert (jobs.slowdown >= 1 - 1e-9).all()
    # What was run can be run again from its table.
    columns = [
        "arrival_s",
        "home",
        "tasks",
        "cpu_s",
        "memory_mb",
        "io_per_cpu_ms",
        "request_mb",
        "initial_mb",
        "write_share",
        "reaccess",
        "faults_per_cpu_ms",
    ]
    jobs[columns].to_csv(folder / "log.csv", index=False)
    again = command("log.csv", "--nodes", "4", "--balancers", "IOCM-PM", "--json", "-j", "1")
    assert again.exit_code == 0, again.output
    slowdown = result_of(again.stdout)["IOCM-PM"]["slowdown"]
    assert slowdown["mean"] == pytest.approx(jobs.slowdown.mean(), rel=1e-9)
    assert slowdown["half_width"] is None


def check_page(out):
    """The report says what the tables hold, and shows it."""
    page = (out / "report.html").read_text(encoding="utf-8")
    assert problems(page) == []
    assert page.count("<img") == 4  # slowdowns, tails, and the tasks under each balancer
    said = html.unescape(page)
    assert "No balancing: every task runs where its job was sent." in said
    table = pd.read_csv(out / "balancers.csv").set_index(["quantity", "balancer"])
    best = table.loc["slowdown"]["mean"].idxmin()
    [(mean, half)] = re.findall(rf"Under {best} a job takes ([\d.]+) ± ([\d.]+) times", said)
    known = table.loc["slowdown", best]
    assert float(mean) == pytest.approx(known["mean"], rel=0.02)
    assert float(half) == pytest.approx(known["half_width"], rel=0.05)


def test_jobs_that_were_run_once_leave_the_order_open():
    traces = SyntheticTraces(jobs=40, nodes=4)
    found = compare_balancers(Cluster.of(4), traces, ["IOCM-RE", "NLB"], replications=1, seed=7)
    said = " ".join(findings(found))
    assert "how sure the order is is not known" in said
    assert "±" not in said
    assert "nan" not in said


def test_differences_within_their_interval_are_none():
    traces = SyntheticTraces(jobs=60, nodes=4)
    found = compare_balancers(Cluster.of(4), traces, ["CPU", "NLB", "BS"], replications=4, seed=7)
    first, *_ = findings(found)
    level = [name for name in found.leaders() if name != found.best()]
    assert ("cannot be told from it" in first) == bool(level)
    assert all(name in first for name in level)


def test_too_much_work_is_said_beside_the_answer(folder):
    done = command(*SMALL, "--balancers", "NLB", "--disk-load", "5")
    assert done.exit_code == 0
    assert "no steady state" in done.stderr


def scenario(folder, text):
    file = folder / "cluster.toml"
    file.write_text(text)
    return file


def test_a_scenario_may_have_nodes_that_differ(folder):
    plan = load_balance(
        scenario(
            folder,
            """
            seed = 3
            balancers = ["IOCM-RE", "NLB"]
            [cluster]
            broadcast = 1.0
            remaining_known = false
            [[nodes]]
            count = 3
            [[nodes]]
            count = 1
            speed = 4.0
            memory = 2048.0
            [jobs]
            count = 50
            parallel = 0.5
            io_rate = 0.5
            cpu_load = 0.6
            shortest = 1.0
            [rules]
            crowded = 6
            [study]
            replications = 4
            """,
        )
    )
    assert [node.speed for node in plan.cluster.nodes] == [1.0, 1.0, 1.0, 4.0]
    assert plan.cluster.broadcast == 1.0
    assert not plan.cluster.remaining_known
    assert plan.balancers[0].crowded == 6.0
    assert plan.traces.offered_cpu == 0.6
    assert plan.traces.cpu.low == 1.0
    assert (plan.replications, plan.seed) == (4, 3)
    done = command(str(folder / "cluster.toml"), "--replications", "2", "-j", "1")
    assert done.exit_code == 0, done.output
    assert "IOCM-RE" in done.stdout


@pytest.mark.parametrize(
    ("text", "key", "fix"),
    [
        ("[cluster]\nremote_costs = 1", "cluster.remote_costs", "did you mean remote_cost"),
        ("[[nodes]]\nspeed = 0", "nodes[0].speed", "greater than 0"),
        ("[[nodes]]\ncount = 30000", "nodes", "may have 20,000 nodes"),
        ("[[nodes]]\nmemory = '640 MB'", "nodes[0].memory", "number"),
        ("balancers = ['IOCM-RR']", "study.balancers[0]", "did you mean 'IOCM-RE'"),
        ("balancers = ['NLB', 'nlb']", "study.balancers[1]", "twice; drop one"),
        ("balancers = []", "study.balancers", "at least 1"),
        ("[jobs]\nsource = 'swf'", "jobs.source", "must be one of synthetic, application, log"),
        ("[jobs]\nsource = 'log'", "jobs.path", "missing; name the job log"),
        ("[jobs]\nsource = 'application'", "jobs.application", "missing; name one"),
        ("[jobs]\nsource = 'application'\napplication = 'Word'", "jobs", "Dmine"),
        ("[jobs]\napplication = 'LU'", "jobs.application", "not for source 'synthetic'; drop it"),
        ("[jobs]\ndisk_load = 0.5\ncpu_load = 0.5", "jobs", "not both"),
        ("[jobs]\nparallel = 1.5", "jobs.parallel", "less than or equal to 1"),
        ("[jobs]\nshortest = 200.0", "jobs", "high must be > 200"),
        ("[rules]\nrounds = -1", "rules.rounds", "greater than or equal to 0"),
        ("[study]\nreplications = 0", "study.replications", "greater than or equal to 1"),
        ("title = ", "file", "not valid TOML"),
    ],
)
def test_a_damaged_scenario_names_the_key_and_the_fix(folder, text, key, fix):
    with pytest.raises(ScenarioError) as error:
        load_balance(scenario(folder, text))
    assert error.value.key == key
    assert fix in str(error.value)


def test_one_node_has_no_parallel_jobs_by_itself(folder):
    assert load_balance(scenario(folder, "[[nodes]]\ncount = 1")).traces.parallel == 0.0
    with pytest.raises(ScenarioError, match="parallel jobs need two nodes"):
        load_balance(scenario(folder, "[[nodes]]\ncount = 1\n[jobs]\nparallel = 0.5"))


GOOD = "arrival_s,home,tasks,cpu_s,memory_mb,io_per_cpu_ms\n5,1,1,2.0,64,0.5\n1,0,2,1.5,32,0\n"


def test_a_log_begins_at_zero_and_fills_in_what_is_usual(folder):
    (folder / "log.csv").write_text(GOOD)
    trace = read_cluster_trace(folder / "log.csv")
    assert trace.arrivals.tolist() == [0.0, 4.0]  # a log may count from 1970
    assert trace.tasks.tolist() == [2, 1]
    assert trace.requests.tolist() == [0.256, 0.256]
    assert not trace.writes.any()
    plan = load_balance(scenario(folder, "[jobs]\nsource = 'log'\npath = 'log.csv'\n[[nodes]]\ncount = 2"))
    assert isinstance(plan.traces, SameTrace)
    assert plan.replications == 1


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", ":", "cannot be read as CSV"),
        (GOOD.replace("home", "house"), ":1:", "lacks the column home"),
        (GOOD.replace("io_per_cpu_ms", "io"), ":1:", "unknown column 'io'"),
        (GOOD.replace("2.0", "two"), ":2:cpu_s:", "'two' is no number"),
        (GOOD.replace("1.5", "-1.5"), ":3:cpu_s:", "must be > 0, got -1.5"),
        (GOOD.replace("0,2,", "0,2.5,"), ":3:tasks:", "whole number >= 1"),
        (GOOD.replace("64", "inf"), ":2:memory_mb:", "'inf' is no number"),
        (GOOD.splitlines()[0] + "\n", ":1:", "has no job"),
    ],
)
def test_a_damaged_log_names_file_line_and_column(folder, text, where, what):
    file = folder / "log.csv"
    file.write_text(text)
    with pytest.raises(TraceFormatError) as error:
        read_cluster_trace(file)
    assert f"log.csv{where}" in str(error.value)
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("option", "most"),
    [("--nodes", "may have 20,000 nodes"), ("--jobs", "less than or equal to 2000000")],
)
def test_more_than_memory_holds_is_refused_with_what_would_do(option, most):
    done = called("balance", option, 10**18)
    assert done.returncode == 3
    assert most in done.stderr


def test_a_log_that_is_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder / "pipe")
    with pytest.raises(TraceFormatError, match="is not a file but a pipe"):
        read_cluster_trace(folder / "pipe")


def test_a_log_that_does_not_fit_the_nodes_names_the_key(folder):
    (folder / "log.csv").write_text(GOOD)
    with pytest.raises(ScenarioError, match=r"jobs.path: homes\[1\] is 1"):
        load_balance(scenario(folder, "[jobs]\nsource = 'log'\npath = 'log.csv'\n[[nodes]]\ncount = 1"))


OWN = '''
import numpy as np
from validation.cluster import AbstractBalancer


class Spread(AbstractBalancer):
    """The nodes with the fewest tasks."""

    name = "spread"

    def place(self, view, job):
        return np.argsort(view.tasks, kind="stable")[: job.tasks]


class Endless(Spread):
    def place(self, view, job):
        while True:
            pass
'''


@pytest.mark.thorough
def test_one_s_own_balancer_is_checked_and_competes(folder):
    (folder / "own_balancer.py").write_text(OWN)
    done = command("--check", "own_balancer:Spread")
    assert done.exit_code == 0, done.output
    assert "BROKEN" not in done.stdout
    done = command(*SMALL, "--balancers", "own_balancer:Spread,NLB")
    assert done.exit_code == 0, done.output
    assert "spread" in done.stdout
    slow = command("--check", "own_balancer:Endless", "--check-seconds", "0.3")
    assert isinstance(slow.exception, ModelError)
    assert "not done after 0.3 s" in str(slow.exception)
    assert "own_balancer.py" in str(slow.exception)


def test_the_help_lists_the_balancers():
    assert "IOCM-PM" in command("--help").output


def test_the_tails_fall_and_the_parts_make_the_slowdown():
    traces = SyntheticTraces(jobs=80, nodes=4)
    found = compare_balancers(Cluster.of(4), traces, ["IOCM-PM"], replications=2, seed=1)
    run = found.runs["IOCM-PM"]
    for tail in run.tails.values():
        assert (np.diff(tail) <= 0).all()
        assert tail[-1] == 0.0
    parts = ("queueing", "paging", "barrier", "migration", "slower_nodes")
    assert 1 + sum(run[p].mean for p in parts) == pytest.approx(run["slowdown"].mean, rel=1e-6)
    for ax in (found.plot(), found.plot_tails("parallel")):
        assert ax.get_xlabel()
