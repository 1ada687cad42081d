"""A predicted queue written for other tools: read back and solved again, by us and by them."""

import importlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from statistics import NormalDist
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.sparse import issparse

from phasefit import PhaseType
from qmodels import (
    DynamicPartitioning,
    ModelError,
    Phase,
    Program,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    predict,
)
from qmodels.exports import FORMS, export_prediction
from qmodels.exports.chains import CUT_OFF
from qmodels.markov import QBD, solve_qbd
from tests.command import called
from tests.qmodels.test_histories import busy_weeks, workload_of

MACHINE = System(16, 16)
WORK = Workload(Program([Phase(io=16.0, cpu=1024.0)]), arrivals=PhaseType.erlang(phases=2, mean=1.0))
VARIABLE = Workload(
    Program([Phase(io=256.0, cpu=1024.0)]),
    demand=PhaseType.hyperexponential(weights=[0.8, 0.2], means=[0.5, 3.0]),
)
CASES = {
    "SP(1,1)": predict(SpaceSharing(1, 1), MACHINE, WORK, load=0.5),
    "SP(4,4)": predict(SpaceSharing(4, 4), MACHINE, WORK, load=0.4),
    "SP(4,2)": predict(SpaceSharing(4, 2), MACHINE, VARIABLE, load=0.6),
    "DP(2)": predict(DynamicPartitioning(2), MACHINE, VARIABLE, load=0.5),
    "TS(2,2;M=2)": predict(TimeSharing(2, 2, multiprogramming=2), MACHINE, VARIABLE, load=0.5),
}
ALIKE = ("SP(1,1)", "SP(4,4)")


@pytest.mark.thorough
def test_the_answer_beside_a_queue_is_that_of_the_queue_where_jobs_are_drawn_from_a_log():
    prediction = predict("SP(1,1)", MACHINE, workload_of(busy_weeks(1)), load=0.4)
    given = json.loads(export_prediction(prediction, "json"))["answer"]
    assert prediction.mean_jobs > 2.0 * given["mean_jobs"]
    assert given["mean_jobs"] == pytest.approx(prediction.solved.chain.mean_level(), rel=1e-12)
    assert given["mean_response"] == pytest.approx(given["mean_jobs"] / prediction.arrival_rate, rel=1e-12)
    assert f"mean jobs {given['mean_jobs']:.10g}" in export_prediction(prediction, "prism")
    assert "exact for the fitted laws, of independent jobs" in export_prediction(prediction, "jmt")


@pytest.mark.parametrize("name", CASES)
def test_the_chain_in_json_has_the_answer_beside_it(name):
    prediction = CASES[name]
    given = json.loads(export_prediction(prediction, "json"))
    sizes = [*given["phases"], given["phases"][-1]]
    blocks = {
        "up": [dense(triples, sizes[k], sizes[k + 1]) for k, triples in enumerate(given["up"])],
        "local": [dense(triples, sizes[k], sizes[k]) for k, triples in enumerate(given["local"])],
        "down": [dense(triples, sizes[k + 1], sizes[k]) for k, triples in enumerate(given["down"])],
    }
    again = solve_qbd(QBD(**blocks))
    assert again.mean_level() == pytest.approx(prediction.mean_jobs, rel=1e-12)
    assert given["answer"]["mean_response"] == prediction.mean_response
    assert (given["schema"], given["version"]) == ("qmodels.queue", 1)
    law = PhaseType.from_json(json.dumps(given["arrivals"]))
    assert 1 / law.mean == pytest.approx(prediction.arrival_rate, rel=1e-15)


@pytest.mark.thorough
def test_a_chain_of_sparse_blocks_is_written_rate_by_rate():
    laws = {"demand": PhaseType.erlang(phases=4, mean=1.0), "arrivals": WORK.arrivals}
    prediction = predict(SpaceSharing(8, 8), MACHINE, Workload(WORK.program, **laws), load=0.4)
    chain = prediction.solved.queue.chain()
    given = json.loads(export_prediction(prediction, "json"))
    assert given["phases"][-1] == 330
    for name in ("up", "local", "down"):
        last = getattr(chain, name)[-1]
        assert issparse(last)
        assert (dense(given[name][-1], 330, 330) == last.toarray()).all()
    assert export_prediction(prediction, "prism").count("-> ") >= 330


def dense(triples, rows, columns):
    made = np.zeros((rows, columns))
    for i, j, rate in triples:
        made[i, j] = rate
    return made


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", CASES)
def test_a_prism_chain_is_solved_to_the_same_mean(name):
    text = export_prediction(CASES[name], "prism")
    states, rates = explored(text)
    assert cut_off_mean(states, rates) == pytest.approx(CASES[name].mean_jobs, rel=1e-9, abs=1e4 * CUT_OFF)


def explored(text):
    """States and rates of a module of ours, read as the language says, from the initial state."""
    top, phases = (int(n) for n in re.findall(r"\[0\.\.(\d+)\]", text))
    commands = re.findall(r"\[\] (.*) & phase=(\d+) -> (.*);", text)
    by_phase = {}
    for guard, phase, ways in commands:
        by_phase.setdefault(int(phase), []).append((guard, ways.split(" + ")))
    states, edges, todo = {(0, 0): 0}, [], [(0, 0)]
    while todo:
        jobs, phase = todo.pop()
        for guard, ways in by_phase.get(phase, ()):
            if not all(holds(part, jobs) for part in guard.split(" & ")):
                continue
            for way in ways:
                rate, _, changes = way.partition(" : ")
                target = [jobs, phase]
                for change in re.findall(r"\((.*?)\)", changes):
                    name, _, value = change.partition("'=")
                    if name == "jobs":
                        target[0] = jobs + int(value.removeprefix("jobs"))
                    else:
                        target[1] = int(value)
                assert 0 <= target[0] <= top
                assert 0 <= target[1] <= phases
                to = tuple(target)
                if to not in states:
                    states[to] = len(states)
                    todo.append(to)
                edges.append((states[jobs, phase], states[to], float(rate)))
    return states, edges


def holds(part, jobs):
    sign, number = re.fullmatch(r"jobs(>=|=|<)(\d+)", part).groups()
    return {">=": jobs >= int(number), "=": jobs == int(number), "<": jobs < int(number)}[sign]


def cut_off_mean(states, edges):
    generator = np.zeros((len(states), len(states)))
    for i, j, rate in edges:
        generator[i, j] += rate
    generator -= np.diag(generator.sum(axis=1))
    generator /= np.abs(generator).max()  # rows of about one, as that of the sum of the chances
    system = np.vstack([generator.T, np.ones(len(states))])
    chances = np.linalg.lstsq(system, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    return sum(chances[index] * jobs for (jobs, _), index in states.items())


@pytest.mark.parametrize("name", ALIKE)
def test_a_jmt_model_is_the_queue(name):
    prediction = CASES[name]
    archive = ElementTree.fromstring(export_prediction(prediction, "jmt").encode())
    nodes = {node.get("name"): node for node in archive.iter("node")}
    assert [link.attrib for link in archive.iter("connection")] == [
        {"source": "arrivals", "target": "servers"},
        {"source": "servers", "target": "departures"},
    ]
    running = archive.find(".//parameter[@name='maxJobs']/value")
    assert int(running.text) == {"SP(1,1)": 1, "SP(4,4)": 4}[name]
    assert nodes["arrivals"].find(".//subParameter[@name='Erlang']") is not None
    rate = float(nodes["servers"].find(".//subParameter[@name='lambda']/value").text)
    queue = prediction.solved.queue
    assert rate * int(running.text) == pytest.approx(queue.running.capacity, rel=1e-12)


def test_a_jmt_model_names_its_schemas_where_jmt_takes_them_off():
    """JMT's command removes the attribute from `sim`, which is an error where there is none."""
    text = export_prediction(CASES["SP(1,1)"], "jmt")
    sim = re.search(r"<sim [^>]*>", text).group()
    assert 'xsi:noNamespaceSchemaLocation="SIMmodeldefinition.xsd"' in sim
    assert "xmlns" not in sim  # it would stay behind
    assert 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"' in text[: text.index(sim)]


@pytest.mark.parametrize("name", sorted(set(CASES) - set(ALIKE)))
def test_servers_that_slow_each_other_need_a_form_that_holds_them(name):
    for form in ("line", "jmt"):
        with pytest.raises(ModelError, match="export json or prism"):
            export_prediction(CASES[name], form)
    assert set(FORMS) == {"json", "prism", "line", "jmt"}


def test_a_chain_too_large_to_be_read_is_refused(monkeypatch):
    monkeypatch.setattr("qmodels.exports.chains.MOST_RATES", 5)
    with pytest.raises(ModelError, match="more than the 5 that are written"):
        export_prediction(CASES["SP(1,1)"], "prism")


SCENARIO = """
[machine]
processors = 16
disks = 16
[[program]]
name = "p"
repeat = 1
io = { total = 16.0 }
cpu = { total = 1024.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 4]
disk_partitions = [1, 4]
[study]
loads = [0.5]
"""


def installed(name):
    """A tool that is not one of ours, where it happens to be installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("name", ALIKE)
def test_line_solves_the_queue_to_the_same_mean(name, monkeypatch):
    line = installed("line_solver")
    scope = {"__name__": "model"}
    exec(export_prediction(CASES[name], "line"), scope)
    # LINE counts every state of every job, so the queue is cut off where few jobs ever are.
    cut_off = {"SP(1,1)": 40, "SP(4,4)": 16}[name]
    table = line.SolverCTMC(scope["model"], cutoff=cut_off).avg_table()
    assert float(table["QLen"].to_numpy()[-1]) == pytest.approx(CASES[name].mean_jobs, rel=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_storm_solves_the_chain_to_the_same_mean(name, tmp_path):
    storm = installed("stormpy")
    (tmp_path / "queue.prism").write_text(export_prediction(CASES[name], "prism"))
    program = storm.parse_prism_program(str(tmp_path / "queue.prism"), prism_compatibility=True)
    wanted = storm.parse_properties('R{"jobs"}=? [LRA]', program)
    model = storm.build_model(program, wanted)
    found = storm.model_checking(model, wanted[0]).get_value(next(iter(model.initial_states)))
    assert found == pytest.approx(CASES[name].mean_jobs, rel=2e-6)


@pytest.mark.parametrize("name", ALIKE)
def test_jmt_simulates_the_queue_to_the_same_mean(name, tmp_path):
    """Within four standard errors of its 99 % intervals, at most 3 % of the mean to each side."""
    java, jar = shutil.which("java"), os.environ.get("JMT_JAR", "")
    if not java or not Path(jar).is_file():
        pytest.skip("needs Java, and JMT_JAR naming the file JMT.jar of the Java Modelling Tools")
    model = tmp_path / "queue.jsimg"
    model.write_text(export_prediction(CASES[name], "jmt"), encoding="utf-8")
    words = [java, "-Djava.awt.headless=true", "-cp", jar, "jmt.commandline.Jmt", "sim"]
    options = ["-seed", "1", "-maxtime", "300"]
    done = subprocess.run([*words, model, *options], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    results = ElementTree.parse(f"{model}-result.jsim").getroot().iter("measure")
    found = {result.get("measureType"): result.attrib for result in results}
    known = {"Number of Customers": "mean_jobs", "Response Time": "mean_response"}
    assert set(found) == set(known), done.stdout + done.stderr
    for measure, attribute in known.items():
        told = found[measure]
        assert told["successful"] == "true", told
        mean, low, high = (float(told[key]) for key in ("meanValue", "lowerLimit", "upperLimit"))
        assert high - low <= 0.07 * mean
        error = (high - low) / 2 / NormalDist().inv_cdf(0.995)
        assert abs(mean - getattr(CASES[name], attribute)) <= 4 * error, told


def test_the_command_prints_queues_and_laws(tmp_path):
    (tmp_path / "site.toml").write_text(SCENARIO)
    done = called("export", tmp_path / "site.toml", "--policy", "SP(4,4)", "--form", "prism")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("// SP(4,4) at load 0.5: mean jobs 2.218702056")
    (tmp_path / "law.json").write_text(PhaseType.erlang(phases=2, mean=4.0).to("json"))
    done = called("export", tmp_path / "law.json", "--form", "matlab")
    assert "[-0.5, 0.5; 0.0, -0.5]" in done.stdout
    (tmp_path / "samples.txt").write_text("\n".join(str(1.0 + k % 7) for k in range(200)))
    done = called("export", tmp_path / "samples.txt", "--order", "1")
    assert PhaseType.from_json(done.stdout).mean == pytest.approx(3.97, rel=1e-6)
    assert "200 values" in done.stderr


@pytest.mark.thorough
def test_the_unit_of_a_log_may_be_said():
    """A node of this site has 4 cores, of which each job has all of its nodes'."""
    log = Path(__file__).parents[2] / "docs" / "examples" / "site-log" / "sacct.txt"
    means = {}
    for unit in ("cores", "nodes"):
        done = called("export", log, "--column", "size", "--order", "1", "--unit", unit)
        assert done.returncode == 0, done.stderr
        means[unit] = PhaseType.from_json(done.stdout).mean
    assert means["cores"] == pytest.approx(4.0 * means["nodes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["site.toml"], "give --policy, one of SP(1,1), SP(4,1), SP(1,4), SP(4,4)"),
        (["site.toml", "--policy", "SP(4,4)", "--form", "matlab"], "form must be one of"),
        (["site.toml", "--column", "work"], "--column cannot apply"),
        (["law.json", "--load", "0.5"], "--load cannot apply"),
        (["absent.json"], "cannot be read"),
        (["site.toml", "--policy", "SP(1,1)", "--load", "3"], "--load must be in (0, 1)"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(words, message, tmp_path):
    (tmp_path / "site.toml").write_text(SCENARIO)
    (tmp_path / "law.json").write_text(PhaseType.exponential(mean=1.0).to("json"))
    done = called("export", tmp_path / words[0], *words[1:])
    assert done.returncode == 3
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout
