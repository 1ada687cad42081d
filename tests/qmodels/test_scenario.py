import gzip
import random
from pathlib import Path

import numpy as np
import pytest

import validation
from qmodels.errors import ModelError, ScenarioError, TraceFormatError
from qmodels.io import load_scenario
from qmodels.policies import (
    POLICIES,
    DynamicPartitioning,
    SpaceSharing,
    TimeSharing,
    capacity,
    work_bound,
)

KINDS = f"{', '.join(map(repr, list(POLICIES)[:-1]))} or {list(POLICIES)[-1]!r}"
DEMO = Path(validation.__file__).parent / "study" / "demo"

SMALL = """
title = "small"
[machine]
processors = 16
disks = 4
min_processors = 2
[[program]]
name = "alpha"
repeat = 4
io = { total = 8.0, law = "min(d, p/4)" }
cpu = { total = 64.0, sequential = 0.4 }
[[policy]]
kind = "SP"
processor_partitions = [1, 4]
disk_partitions = [1, 4]
[[policy]]
kind = "DP"
disk_partitions = [2]
[[policy]]
kind = "TS"
processor_partitions = [2]
disk_partitions = [2]
[study]
loads = [0.5, 0.1]
[validation]
policies = ["SP(4,1)"]
"""


@pytest.fixture
def write(tmp_path):
    def write(text=SMALL, name="scenario.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_scenario_becomes_the_objects_it_speaks_of(write):
    plan = load_scenario(write())
    assert plan.policies == (
        SpaceSharing(1, 1),
        SpaceSharing(4, 1),
        SpaceSharing(1, 4),
        SpaceSharing(4, 4),
        DynamicPartitioning(2),
        TimeSharing(2, 2, 2),
    )
    assert plan.loads == (0.1, 0.5)
    assert plan.program.mean_phases == 4
    assert float(plan.program.mean_cpu(4, 1)) == pytest.approx(0.4 + 63.6 / 4)
    assert float(plan.program.mean_io(8, 4)) == pytest.approx(2.0 / 2)
    assert (plan.demand.mean, plan.demand.scv) == pytest.approx((1.0, 1.0))
    assert plan.validation is not None
    assert plan.validation.policies == (SpaceSharing(4, 1),)
    assert plan.surface_processors == (1, 2, 4, 8, 16)


def test_the_demo_is_the_reference_workload():
    plan = load_scenario(DEMO / "scenario.toml")
    p = np.array([9.0, 16.0, 32.0, 64.0, 128.0])[:, None]
    d = np.array([1.0, 2.0, 8.0, 32.0])[None, :]
    assert plan.program.mean_cpu(p, d) == pytest.approx(0.1 + 512 / p + 0 * d, rel=1e-12)
    assert plan.program.mean_io(p, d) == pytest.approx(32 / np.minimum(d, p / 4), rel=1e-12)
    few = np.array([1.0, 4.0, 8.0])
    assert plan.program.mean_cpu(few, 1) == pytest.approx(2.2 * (0.1 + 512 / few), rel=3e-4)
    assert plan.program.mean_phases == pytest.approx(59 / 7)
    assert work_bound(plan.system, plan.program) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ("processors = 16", "", "machine.processors", "missing"),
        ("processors = 16", "procesors = 16", "machine.procesors", "did you mean processors"),
        ("disks = 4", "disks = 0", "machine.disks", "greater than or equal to 1"),
        ("disks = 4", "disks = nan", "machine.disks", "nan"),
        ("disks = 4", 'disks = "4"', "machine.disks", "integer"),
        ("disks = 4", "disks = true", "machine.disks", "integer"),
        ("total = 64.0", "total = nan", "program[0].cpu.total", "nan"),
        ("total = 64.0", "total = inf", "program[0].cpu.total", "inf"),
        ("total = 64.0", "total = -1.0", "program[0].cpu.total", "greater than or equal to 0"),
        ("total = 64.0", "second = 1.0", "program[0].cpu.second", "did you mean seconds"),
        ("total = 64.0, sequential = 0.4", "total = 1.0, sequential = 4.0", "program[0].cpu", "more than"),
        ('"min(d, p/4)"', '"min(p, d)"', "program[0].io", "min(d, p/R)"),
        ("loads = [0.5, 0.1]", "loads = [0.5, 1.5]", "study.loads[1]", "less than 1"),
        ("loads = [0.5, 0.1]", "loads = []", "study.loads", "at least 1"),
        (
            "processor_partitions = [1, 4]",
            "processor_partitions = [1, 16]",
            "policy[0]",
            "fewer than the least allotment of 2; use 1 to 8",
        ),
        ("disk_partitions = [2]", "disk_partitions = [8]", "policy[1]", "use 1 to 4"),
        ('kind = "DP"', 'kind = "XP"', "policy[1].kind", KINDS),
        ('kind = "DP"', 'kind = "DP"\nmultiprogramming = 2', "policy[1].multiprogramming", "only TS"),
        ('["SP(4,1)"]', '["SP(4,2)"]', "validation.policies[0]", "did you mean"),
        ('["SP(4,1)"]', '["SP(4,1)"]\nreplay_log = true', "validation.replay_log", "no [log]"),
        ("[study]", "[demand]\nscale_to_log = true\n[study]", "demand.scale_to_log", "no [log]"),
        ("[study]", "[demand]\nscv = 0.001\n[study]", "demand.scv", "equal to 0.01"),
        (
            "[[program]]",
            '[[program]]\nname = "alpha"\nio = {total = 1.0}\ncpu = {total = 1.0}\n[[program]]',
            "program[1].name",
            "is called alpha too",
        ),
        ("[study]", "[arrivals]\nalpha = [1.0]\n[study]", "arrivals", "alpha and T"),
        ("[study]", "[arrivals]\nalpha = [1.0]\nT = [[1.0]]\n[study]", "arrivals", "T"),
        ("[study]", "[arrivals]\nalpha = [0.8]\nT = [[-1.0]]\n[study]", "arrivals.alpha", "sums to 0.8"),
        ("repeat = 4", "repeat = 10000000", "program[0]", "from 1 to 1000000"),
        ("[[policy]]", "[runs]\npath = 'x.csv'\n[[policy]]", "program", "either"),
    ],
)
def test_a_fault_is_named_with_its_key_and_what_would_do(write, old, new, key, said):
    assert old in SMALL
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(SMALL.replace(old, new, 1)))
    problems = dict(caught.value.problems)
    assert key in problems
    assert said in problems[key]
    assert "\n" not in problems[key]


def test_all_faults_come_at_once(write):
    text = SMALL.replace("disks = 4", "disks = 0").replace("loads = [0.5, 0.1]", "load = [0.5]")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(text))
    assert {key for key, _ in caught.value.problems} == {
        "machine.disks",
        "study.loads",
        "study.load",
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "missing"),
        (b"\xff\xfe", "UTF-8"),
        (b"a = [1,", "not valid TOML"),
        (b"a = " + b"[" * 5000, "nested"),
        (b"x" * 2_000_000, "bytes"),
        (b"[machine]\nprocessors=1\nprocessors=2", "TOML"),
    ],
)
def test_what_is_no_scenario_is_refused(tmp_path, content, said):
    path = tmp_path / "s.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=said):
        load_scenario(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"nowhere.toml.*cannot be read"):
        load_scenario(tmp_path / "nowhere.toml")


@pytest.mark.thorough
def test_mutated_scenarios_give_a_scenario_or_a_typed_error(tmp_path):
    source = (DEMO / "scenario.toml").read_text(encoding="utf-8")
    (tmp_path / "jobs.swf.gz").write_bytes((DEMO / "jobs.swf.gz").read_bytes())
    path = tmp_path / "scenario.toml"
    draw = random.Random(5)
    refused = 0
    for _ in range(150):
        text = list(source)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(text))
            text[at] = draw.choice(["", "0", "-", "nan", '"', "[", "\n", "é", "9" * 30, "\x00"])
        path.write_text("".join(text), encoding="utf-8")
        try:
            load_scenario(path)
        except ModelError:
            refused += 1
    assert 50 < refused < 150


def test_a_damaged_log_is_named_with_its_file(write, tmp_path):
    (tmp_path / "jobs.swf.gz").write_bytes(gzip.compress(b"1 2 3\n"))
    with pytest.raises(TraceFormatError, match=r"jobs\.swf\.gz:1"):
        load_scenario(write(SMALL.replace("[study]", '[log]\npath = "jobs.swf.gz"\n[study]')))


def test_programs_may_come_from_measured_runs(write, tmp_path):
    rows = ["program,phase,kind,p,d,seconds"]
    rows += [
        f"alpha,1,{kind},{p},{d},{(40 / p + 1) if kind == 'cpu' else 6 / min(d, p / 2)}"
        for p in (1, 2, 4, 8)
        for d in (1, 2, 4)
        for kind in ("io", "cpu")
    ]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    head, _, rest = SMALL.partition("[[program]]")
    tail = rest[rest.index("[[policy]]") :]
    plan = load_scenario(write(head + '[runs]\npath = "runs.csv"\n' + tail))
    assert float(plan.program.mean_cpu(16, 1)) == pytest.approx(40 / 16 + 1, rel=1e-6)
    assert float(plan.program.mean_io(16, 4)) == pytest.approx(6 / 4, rel=1e-6)
    (tmp_path / "own.csv").write_text("\n".join(["program,phase,kind,cores,d,t", *rows[1:]]))
    named = '[runs]\npath = "own.csv"\n[runs.columns]\np = "cores"\nseconds = "t"\nd = "d"\n'
    own = load_scenario(write(head + named + 'program = "program"\nphase = "phase"\nkind = "kind"\n' + tail))
    assert float(own.program.mean_cpu(16, 1)) == float(plan.program.mean_cpu(16, 1))


def test_programs_scaled_to_the_log_have_the_logs_mean_work(write):
    text = (DEMO / "scenario.toml").read_text(encoding="utf-8")
    text = text.replace('path = "jobs.swf.gz"', f"path = '{DEMO / 'jobs.swf.gz'}'")
    text = text.replace("[[program]]", "[demand]\nscale_to_log = true\n[[program]]", 1)
    plan = load_scenario(write(text))
    log = plan.log
    assert log is not None
    on_time = log.sizes * (plan.program.mean_io(log.sizes, 32) + plan.program.mean_cpu(log.sizes, 32))
    assert np.mean(on_time) == pytest.approx(log.work.mean(), rel=1e-9)


def test_a_log_that_is_not_there_is_named_by_its_key_and_where_it_can_be_had(write, tmp_path):
    example = Path(__file__).parents[2] / "docs" / "examples" / "paragon.toml"
    path = write(example.read_text(encoding="utf-8"))
    with pytest.raises(ScenarioError) as told:
        load_scenario(path)
    assert told.value.key == "log.path"
    assert "Parallel Workloads Archive" in str(told.value)
    (path.parent / "SDSC-Par-1996-3.1-cln.swf.gz").mkdir()
    with pytest.raises(ScenarioError, match=r"log\.path: .* is a folder"):
        load_scenario(path)


@pytest.mark.thorough
def test_the_example_of_the_paragon_reads_the_jobs_of_its_study(write, shared_data):
    example = Path(__file__).parents[2] / "docs" / "examples" / "paragon.toml"
    log = shared_data / "swf" / "SDSC-Par-1996-3.1-cln.swf.gz"
    text = example.read_text(encoding="utf-8")
    shipped = 'path = "SDSC-Par-1996-3.1-cln.swf.gz"'
    assert shipped in text
    plan = load_scenario(write(text.replace(shipped, f"path = '{log}'")))
    assert plan.log is not None
    assert len(plan.log.jobs) == 4787
    assert f"{plan.arrivals.mean:.0f}" == "1657"
    assert f"{plan.arrivals.scv**0.5:.2f}" == "3.54"
    assert f"{plan.log.sizes.mean():.1f}" == "18.2"
    assert f"{plan.log.sizes.std() / plan.log.sizes.mean():.2f}" == "1.26"
    assert any("interarrival" in sentence for sentence in plan.log.doubts())
    # The study refuses a load that no policy carries, and the models' capacities may change.
    rate = max(plan.loads) * work_bound(plan.system, plan.program)
    assert any(capacity(each, plan.system, plan.workload) > rate for each in plan.policies[::-1])


def test_the_grid_of_the_surface_may_be_left_out_in_part_but_not_be_empty(write):
    whole = load_scenario(write(SMALL))
    part = load_scenario(write(SMALL + "[surface]\nprocessors = [3]\n"))
    assert list(part.surface_processors) == [3]
    assert list(part.surface_disks) == list(whole.surface_disks)
    part = load_scenario(write(SMALL + "[surface]\ndisks = [2]\n"))
    assert list(part.surface_disks) == [2]
    assert list(part.surface_processors) == list(whole.surface_processors)
    for key in ("processors", "disks"):
        with pytest.raises(ScenarioError, match=f"surface.{key}"):
            load_scenario(write(SMALL + f"[surface]\n{key} = []\n"))


LOGGED = SMALL.replace("[study]", '[log]\npath = "jobs.csv"\nunit = "cores"\n[study]')


@pytest.mark.parametrize(
    ("jobs", "table", "said"),
    [
        (
            [(0, 60), (10, 70), (20, 80)],
            "",
            "arrivals: the scv of the times between arrivals in jobs.csv is 0",
        ),
        ([(0, 60), (11, 60), (20, 60)], "", "demand: the scv of the work of the jobs in jobs.csv is 0,"),
        ([(0, 60), (0, 70), (0, 80)], "", "log: all jobs that are selected arrive at one time"),
        ([(0, 60)], "", "too few jobs are selected to fit arrivals: 0"),
        (
            [(0, 60)],
            '[arrivals]\ndependence = "counts"\n',
            "too few jobs are selected to fit arrivals: 0",
        ),
    ],
    ids=["regular", "alike", "at once", "one", "one, counted"],
)
def test_a_log_that_no_law_can_be_fitted_to_is_said_with_what_to_write_instead(
    write, tmp_path, jobs, table, said
):
    lines = [f"{at},{at},{at + run},1" for at, run in jobs]
    (tmp_path / "jobs.csv").write_text("\n".join(["submit,start,end,cores", *lines, ""]))
    text = LOGGED.replace("[study]", f"{table}[study]")
    with pytest.raises(ScenarioError) as told:
        load_scenario(write(text))
    assert said in str(told.value)
    if "scv" in said:
        table, key = str(told.value).rpartition("such as ")[2].split(" ", 1)
        assert load_scenario(write(text.replace("[study]", f"{table}\n{key}\n[study]"))).log is not None
