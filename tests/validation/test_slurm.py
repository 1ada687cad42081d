"""A real Slurm as the referee: what is computed around it, and with --full the lab itself."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import astuple, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from qmodels import DynamicPartitioning, SpaceSharing, System, TimeSharing
from qmodels.errors import ModelError
from qmodels.exports.slurm import as_slurm
from qmodels.io import read_jobs
from tests.campaigns.record import FOLDER
from tests.campaigns.slurm import BEGIN, END, PAGE, page_table
from tests.command import called
from tests.figure_checks import problems
from validation.papers.slurm import outcome_of
from validation.rigid import NodeGroup, RigidJobs, RigidMachine, Weights, simulate_rigid
from validation.slurm import campaign, keeper, prediction, worker
from validation.slurm import lab as slurm_lab
from validation.slurm.lab import Lab, missing
from validation.slurm.prediction import log_of
from validation.slurm.replay import Latencies, replay, responses
from validation.slurm.rows import Measurement, Row, dead_times, measure
from validation.slurm.scheduler import simulate_slurm
from validation.slurm.service import Service, Shared
from validation.slurm.submission import LabJob, LabRun, run_jobs

EXAMPLE = Path(__file__).parents[2] / "docs/examples/measured-runs.toml"
needs_slurm = pytest.mark.skipif(bool(missing()), reason=missing())


def test_space_sharing_gives_each_job_its_own_nodes_and_time_sharing_lets_several_take_turns():
    space, time = (
        as_slurm(policy, System(16, 4))
        for policy in (SpaceSharing(4, 4), TimeSharing(4, 4, multiprogramming=3))
    )
    assert "MinNodes=4 MaxNodes=4 OverSubscribe=EXCLUSIVE" in space.lines[-1]
    assert "PreemptMode=GANG" in time.lines
    assert "OverSubscribe=FORCE:3" in time.lines[-1]
    assert any("not overlapped" in each for each in time.differences)


def test_a_policy_that_slurm_cannot_run_has_no_lines_but_a_reason():
    told = as_slurm(DynamicPartitioning(1), System(16, 4))
    assert told.lines == ()
    assert "does not divide them anew" in str(told)


def test_partitions_of_unequal_sizes_leave_nodes_idle_and_say_so():
    told = as_slurm(SpaceSharing(3, 1), System(16, 4))
    assert "MinNodes=5 MaxNodes=5" in told.lines[-1]
    assert any("1 of 16 nodes stay idle" in each for each in told.differences)
    assert "in place of ALL" not in str(told)


def test_nodes_on_which_more_jobs_would_run_than_the_policy_lets_are_not_all_named():
    for policy, machine in (
        (SpaceSharing(8, 1), System(12, 4)),
        (SpaceSharing(2, 1, sizes=(4, 4)), System(16, 4)),
    ):
        assert "Name 8 nodes in place of ALL" in str(as_slurm(policy, machine))
    assert "up to 24 jobs would run at once, not 16" in str(as_slurm(TimeSharing(8, 1), System(12, 4)))
    assert "GrpJobs=2 " in str(as_slurm(TimeSharing(2, 1, 2, "min"), System(16, 4)))


@pytest.mark.thorough
def test_the_command_prints_the_lines_below_its_advice():
    done = called("recommend", EXAMPLE, "--listed", "--load", "0.3", "--as", "slurm")
    assert done.returncode == 0
    assert "# DP(1): no Slurm runs it" in done.stdout
    assert "PartitionName=sp Nodes=ALL Default=YES MinNodes=64 MaxNodes=64" in done.stdout


def test_a_row_draws_the_same_jobs_again_with_the_load_and_the_variance_that_it_names():
    row = Row("SP(4,1)", 0.7, 3.0, 2.0, jobs=40_000)
    jobs = row.drawn_jobs()
    sizes = np.array([job.size for job in jobs])
    error = sizes.std() / sizes.size**0.5
    assert sizes.mean() == pytest.approx(3.0, abs=4 * error)
    assert jobs[-1].arrival / len(jobs) == pytest.approx(3.0 / (0.7 * 4), rel=4 / len(jobs) ** 0.5)
    assert row.drawn_jobs()[:5] == jobs[:5]


def test_the_time_between_an_end_and_the_next_start_is_found_of_jobs_that_all_wait():
    """Two at once, each followed by the next after a tenth of a second."""
    ends = np.array([1.0, 1.5, 2.2, 2.9, 3.4, 4.1])
    starts = np.concatenate([[0.0, 0.0], ends[:-2] + 0.1])
    runs = [LabRun(0.0, begin, end) for begin, end in zip(starts, ends, strict=True)]
    assert dead_times(runs, 2) == pytest.approx([0.1, 0.1])


def made(row, jobs, starts, latencies=(0.0, 0.0)):
    """Return a row in which jobs begin when they should and end when their bursts do."""
    runs = [
        LabRun(job.arrival, start, start + job.size, tuple(seconds for _, seconds in job.phases))
        for job, start in zip(jobs, starts, strict=True)
    ]
    return Measurement(row, jobs, runs, [latencies[0]], [latencies[1]])


def test_a_replay_adds_what_the_lab_measured_and_nothing_else():
    """Two partitions, three jobs: the third follows the second after a dead time of .2 s."""
    jobs = [LabJob(t, (("c", s),)) for t, s in ((0.0, 5.0), (1.0, 2.0), (2.0, 1.0))]
    row = made(Row("SP(2,1)", 0.5, 2.0), jobs, [0.1, 1.1, 3.3], (0.1, 0.2))
    assert replay(row) == pytest.approx([5.1, 2.1, 2.3])
    assert responses(row) == pytest.approx([5.1, 2.1, 2.3])
    assert replay(row, Latencies()) == pytest.approx([5.0, 2.0, 2.0])


def test_jobs_queue_at_a_disk_that_they_share():
    jobs = [LabJob(0.0, (("c", 1.0), ("d", 2.0))), LabJob(0.5, (("c", 1.0), ("d", 2.0)))]
    row = made(Row("SP(2,1)", 0.5, 3.0, disks=1), jobs, [0.0, 0.5])
    assert replay(row) == pytest.approx([3.0, 4.5])


def test_backfilling_plans_all_that_wait_where_easy_plans_the_first_alone():
    """The fourth job leaves the second its nodes, but not the third: EASY lets it pass, Slurm does not."""
    submit, need = np.arange(4.0), np.array([2, 3, 4, 1])
    run, limits = np.array([10.0, 10.0, 10.0, 50.0]), np.array([10.0, 10.0, 10.0, 100.0])
    easy = simulate_rigid(RigidJobs(submit, need, run, limit=limits), 4, "EASY").start
    slurm = simulate_slurm(submit, need, run, limits, 4, tick=1.0) - run
    assert easy.tolist() == [0.0, 10.0, 53.0, 3.0]
    assert slurm.tolist() == [0.0, 10.0, 20.0, 30.0]


def test_a_new_job_passes_those_of_its_own_class_but_none_above_it():
    widths, run = [3, 2, 1, 1], [10.0, 5.0, 1.0, 1.0]
    alike = simulate_slurm([0, 1, 2, 3], widths, run, run, 4, urgent=[False] * 4) - run
    assert alike.tolist() == [0.0, 10.0, 2.0, 3.0]
    behind = simulate_slurm([0, 1, 2, 3], widths, run, run, 4, urgent=[False, True, False, True]) - run
    assert behind.tolist() == [0.0, 10.0, 10.0, 3.0]


def test_the_log_of_a_row_leaves_out_what_the_lab_measured_before_it():
    head = "JobID|JobName|Submit|Start|End|State|AllocCPUS|NNodes|ElapsedRaw"
    day = "2026-01-01T00:00:"
    lines = [
        f"{k}|job|{day}{k:02}|{day}{k:02}|{day}{k + k % 2:02}|COMPLETED|2|2|{k % 2}" for k in range(1, 6)
    ]
    text = "\n".join([head, *lines])
    row = Measurement(Row("SP(2,1)", 0.5, 1.0), [LabJob(0.0, ())] * 2, [], [], [], sacct=text)
    assert log_of(row).jobs["job"].tolist() == [4, 5]
    assert log_of(row).runtimes.tolist() == [0.0, 1.0]


def test_the_public_log_of_a_real_slurm_is_replayed_by_nodes_and_weights(shared_data):
    """Ten nodes of 12 cores: order and what nodes have carry the answer, cores alone do not."""
    path = shared_data / "slurm" / "micro-cluster-500-jobs.sacct"
    log = read_jobs(path, unit="cores").jobs
    table = pd.read_csv(path, sep="|", dtype=str, keep_default_na=False).set_index("JobID")
    rows = table.loc[log["job"].astype(str)]
    run = np.maximum(log["run"].to_numpy(), 1.0)
    nodes, need = rows.NNodes.to_numpy(int), log["size"].to_numpy(int)
    large = (rows.ReqMem == "500000Mn").to_numpy()
    jobs = RigidJobs(
        log["submit"].to_numpy(),
        need,
        run,
        limit=log["requested_time"].to_numpy(),
        user=log["user"].to_numpy(int) - 1,
        nodes=nodes,
        memory=np.where(large, 500_000, 2_800 * (need // nodes)),
        gpus=rows.ReqGRES.str.extract(r"(\d)$", expand=False).fillna("0").to_numpy(int),
    )
    machine = RigidMachine([NodeGroup(8, 12, 48_000), NodeGroup(1, 12, 48_000, 2), NodeGroup(1, 12, 512_000)])
    weights = Weights(
        size=200_000, age=50_000, fair_share=50_000, age_limit=18_000.0, half_life=14_400.0, dampening=5.0
    )
    by_cores = RigidJobs(jobs.submit, jobs.need, jobs.run, limit=jobs.limit)
    assert log["wait"].mean() == pytest.approx(12_301.354)
    assert simulate_rigid(by_cores, 120, "EASY").mean_wait == pytest.approx(3_095.8, abs=0.1)
    assert simulate_rigid(jobs, machine, "EASY", weights=weights).mean_wait == pytest.approx(7_811.0, abs=0.1)


def test_the_page_shows_the_rows_on_record():
    table = pd.read_csv(FOLDER / "slurm.csv")
    assert f"{BEGIN}\n{page_table(table)}\n{END}" in PAGE.read_text(encoding="utf-8")


def test_jobs_of_a_lab_are_served_by_its_disk_in_turn_and_their_clients_are_counted(tmp_path):
    """The client stands for salloc: it runs what a job runs as soon as it is submitted."""
    client = tmp_path / "client"
    client.write_text('#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\n"$@"\n')
    client.chmod(0o700)
    lab = SimpleNamespace(place=tmp_path, first_words=[client], environment=None, client_seconds=0.0)
    jobs = [
        LabJob(0.0, (("c", 0.01), ("d", 0.03)), nodes=1, limit=1, qos="urgent"),
        LabJob(0.0, (("d", 0.02),)),
    ]
    first, second = run_jobs(lab, jobs, disks=1)
    assert lab.client_seconds > 0.0
    assert len(first.bursts) == 2
    assert len(second.bursts) == 1
    assert all(found >= asked for found, asked in zip(first.bursts, (0.01, 0.03), strict=True))
    served = [(run.end - run.bursts[-1], run.end) for run in (first, second)]
    assert max(begin for begin, _ in served) >= min(end for _, end in served) - 0.005  # one after the other
    client.write_text(f"{client.read_text()}echo cancelled >&2\nexit 1\n")
    with pytest.raises(ModelError, match="a client of Slurm failed: cancelled"):
        run_jobs(lab, jobs[1:], disks=1)


def test_jobs_that_slurm_stops_share_a_processor_with_those_that_run():
    """Of 2 and 3 seconds: after 2 together the second is stopped for 1, in which the first ends."""
    now = [0.0]

    async def played():
        shared = Shared(clock=lambda: now[0])
        served = [asyncio.create_task(shared.serve(seconds, key)) for key, seconds in enumerate((2.0, 3.0))]
        await asyncio.sleep(0)
        now[0] = 2.0
        shared.pause(1)
        assert shared.left == {0: 1.0, 1: 2.0}
        now[0] = 3.0
        shared.resume(1)
        assert await served[0] == 2.0
        assert shared.left == {1: 2.0}
        now[0] = 6.0
        shared.resume(1)
        assert await served[1] == 4.0  # a second late

    asyncio.run(played())


def test_a_job_that_slurm_stops_as_it_begins_computes_when_it_goes_on(tmp_path):
    """What its program would say is said for it, the first two words at once."""
    with Service(tmp_path / "jobs", [(("c", 0.05),)]) as service:
        assert service.batch_command(0)[-2:] == [str(tmp_path / "jobs" / "0"), "0"]
        (tmp_path / "jobs" / "told").write_text("begin 0 n0\nstop 0 n0\n")
        time.sleep(0.02)
        (tmp_path / "jobs" / "told").write_text("go 0 n0\n")
        end = time.monotonic() + 30.0
        while 0 not in service.ends and time.monotonic() < end:
            time.sleep(0.01)
    ((off, on),) = service.stops[0]
    assert service.begins[0] <= off < on
    assert service.bursts[0][0] >= 0.05
    assert service.ends[0] >= on + 0.05 - 0.005


def test_the_program_of_a_job_says_that_it_begins_is_stopped_and_goes_on(tmp_path, monkeypatch):
    told, own = tmp_path / "told", tmp_path / "own"

    def said(word):
        told.write_text(f"{told.read_text()}{word}\n")

    own.write_text("served\n")
    monkeypatch.setattr(sys, "argv", ["worker", str(told), str(own), "7"])
    monkeypatch.setenv("SLURMD_NODENAME", "n3")
    monkeypatch.setattr(os, "kill", lambda process, number: said(number.name))
    before = signal.getsignal(signal.SIGTSTP)
    try:
        worker.main()
        signal.getsignal(signal.SIGTSTP)(signal.SIGTSTP, None)
    finally:
        signal.signal(signal.SIGTSTP, before)
    assert told.read_text().splitlines() == ["begin 7 n3", "stop 7 n3", "SIGSTOP", "go 7 n3"]


def test_rows_that_were_measured_are_read_and_not_measured_again(tmp_path, monkeypatch):
    rows = [Row("SP(2,1)", 0.5, 2.0, seed=seed) for seed in (1, 2)]
    asked = []

    def measured(row):
        asked.append(row.seed)
        return made(row, [LabJob(0.0, (("c", 1.0),), nodes=2)], [0.5])

    monkeypatch.setattr(campaign, "measure", measured)
    found = campaign.measure_all(tmp_path / "rows", rows)
    assert found == [measured(row) for row in rows]
    asked.clear()
    assert campaign.measure_all(tmp_path / "rows", rows) == found
    assert asked == []


def as_measured(row, latencies=(0.0, 0.0)):
    """Return a row whose jobs ran as our simulators say, with the log that Slurm would have written."""
    jobs = row.drawn_jobs()
    known = made(row, jobs, [job.arrival for job in jobs], latencies)
    starts = [job.arrival + found - job.size for job, found in zip(jobs, replay(known), strict=True)]
    known = made(row, jobs, starts, latencies)
    lines = ["JobID|JobName|Submit|Start|End|State|AllocCPUS|NNodes|ElapsedRaw|Timelimit"]
    for number, (job, run) in enumerate(zip(jobs, known.runs, strict=True), 1):
        stamps = [np.datetime64("2026-01-01") + np.timedelta64(round(at), "s") for at in astuple(run)[:3]]
        width = max(job.nodes, 1)
        elapsed = round(run.end) - round(run.begin)
        told = (number, "job", *stamps, "COMPLETED", width, width, elapsed, f"00:0{job.limit}:00")
        lines.append("|".join(map(str, told)))
    return replace(known, sacct="\n".join(lines))


@pytest.mark.thorough
def test_rows_that_ran_as_our_simulators_say_are_found_to_agree_with_them(monkeypatch):
    """Latencies that the lab added are taken off; those rows are longer than without them."""
    monkeypatch.setattr(prediction, "HISTORIES", 3)
    policies = ("SP(4,1)", "TS(8,1;M=2)", "FCFS", "backfill", "FCFS with priorities")
    rows = [Row(policy, 0.5, 20.0, jobs=30) for policy in policies]
    found = outcome_of([as_measured(row, (0.5, 0.25)) for row in rows])
    table = found.table.set_index("policy")
    assert table.measured.to_numpy() == pytest.approx(table.replayed.to_numpy(), rel=1e-9)
    assert (table.measured > table.replayed_bare + 0.4).all()
    assert np.isfinite(table.replayed_easy).to_numpy().nonzero()[0].tolist() == [policies.index("backfill")]
    assert [each.claim for each in found.findings] == ["SL-1", "SL-2", "SL-3", "SL-4"]
    assert found.findings[0].detail == "0.0% in the median, 0.0% in nine of ten of 5 rows, 0.0% at worst"
    assert problems(found.figure()) == []


def programs(folder, **texts):
    """A folder of programs of these texts."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name.replace("_", "-")).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name.replace("_", "-")).chmod(0o700)
    return str(folder)


@pytest.mark.filterwarnings("ignore:subprocess:ResourceWarning")  # daemons are not waited for
def test_a_keeper_writes_the_configuration_and_starts_one_daemon_after_the_other(tmp_path, monkeypatch):
    """With programs that do nothing but say that they were called."""
    called = tmp_path / "called"
    say = f'echo "${{0##*/}} $*" >>{called}'
    names = ["mariadb_install_db", "mariadbd", "mariadb", "slurmdbd", "sacctmgr", "slurmctld", "slurmd"]
    place = "for word; do case $word in --socket=*) : >${word#--socket=};; esac; done"
    path = programs(
        tmp_path / "bin",
        munged=f"{say}; {place}",
        sinfo="echo n0 idle; echo n1 idle",
        **dict.fromkeys(names, say),
    )
    monkeypatch.setenv("PATH", path, prepend=os.pathsep)
    monkeypatch.setattr(keeper, "_answers", lambda port: True)
    monkeypatch.setattr(keeper, "_runner_is_gone", lambda seconds=0.0: False)
    plan = {
        "nodes": 2,
        "user": "somebody",
        "files": {"slurm.conf": "Port={control_port} Nodes={node_ports} State={folder}/state"},
        "accounts": [["add", "cluster", "lab"]],
    }
    lab = keeper._Lab(tmp_path / "lab", plan, None)
    with lab.block:
        lab.start()
        first = lab.ports[0]
        assert lab.ports == list(range(first, first + 6))
    text = (tmp_path / "lab/slurm.conf").read_text()
    assert text == f"Port={first} Nodes=[{first + 3}-{first + 4}] State={tmp_path}/lab/state"
    assert list(lab.seconds) == ["munged", "mariadbd", "slurmdbd", "slurmctld", "the nodes"]
    lines = called.read_text().splitlines()
    assert lines.index("slurmdbd -D") < lines.index("sacctmgr -i add cluster lab")
    monkeypatch.setattr(keeper, "_PATIENCE", 0.0)
    for name in ("sacctmgr", "sinfo"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho no cluster >&2; exit 1\n")
    with pytest.raises(keeper.LabError, match="sacctmgr failed: no cluster"):
        lab._call("sacctmgr")
    with pytest.raises(keeper.LabError, match="the nodes did not come up in 0 s"):
        lab._wait("the nodes", lab._all_idle)


def test_a_keeper_says_why_there_is_no_lab(tmp_path):
    plan = {"nodes": 40, "nice": 0, "folder": str(tmp_path / "lab")}
    words = [sys.executable, "-I", "-S", keeper.__file__]
    done = subprocess.run(words, input=json.dumps(plan) + "\n", capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == {"error": "a lab has at most 36 nodes"}


def test_processes_of_a_lab_are_known_by_their_configuration(tmp_path):
    environment = {"SLURM_CONF": f"{tmp_path}/slurm.conf"}
    with subprocess.Popen(["/bin/cat"], env=environment, stdin=subprocess.PIPE) as client:
        assert keeper.members(tmp_path, -1) == [client.pid]
        assert keeper.members(tmp_path / "other", -1) == []
        client.stdin.close()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert keeper._answers(port)
    assert not keeper._answers(port)


def test_a_lab_hands_its_plan_to_a_keeper_and_asks_clients_of_its_configuration(tmp_path, monkeypatch):
    """The keeper writes the plan down, says that all is there, and ends with its runner."""
    monkeypatch.setattr(slurm_lab, "missing", lambda: "")
    monkeypatch.setattr(slurm_lab, "__file__", str(tmp_path / "lab.py"))
    (tmp_path / "keeper.py").write_text(
        "import pathlib, sys\n"
        f"pathlib.Path({str(tmp_path / 'plan')!r}).write_text(sys.stdin.readline())\n"
        """print('{"seconds": {"munged": 0.5}, "ports": [12000]}', flush=True)\n"""
        "sys.stdin.read()\n"
    )
    said = 'echo "JobID|End"; echo "1|Unknown"; echo "2|12:00"; echo $SLURM_CONF'
    path = programs(tmp_path / "bin", sacct=said)
    monkeypatch.setattr(slurm_lab, "_PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PATH", path, prepend=os.pathsep)
    folder = tmp_path / "lab"
    with Lab(2, ["PartitionName=all"], {"urgent": 100}, folder) as lab:
        assert (lab.seconds, lab.ports) == ({"munged": 0.5}, [12000])
        assert lab.cpu_seconds() >= 0.0
        assert lab.sacct(2) == f"JobID|End\n1|Unknown\n2|12:00\n{folder}/slurm.conf\n"
        with pytest.raises(ModelError, match=r"sh: no node"):
            lab.call("sh", "-c", "echo no node >&2; exit 1")
    assert lab.keeper is None
    plan = json.loads((tmp_path / "plan").read_text())
    assert plan["files"]["slurm.conf"].endswith("PartitionName=all\n")
    assert "NodeName=n[0-1]" in plan["files"]["slurm.conf"]
    assert plan["accounts"][2] == ["add", "qos", "urgent", "priority=100"]
    (tmp_path / "keeper.py").write_text("""input()\nprint('{"error": "munged failed"}')\n""")
    unusable = Lab(2, [], folder=folder)
    with pytest.raises(ModelError, match="the Slurm lab did not start: munged failed"):
        unusable.__enter__()
    folder.mkdir()
    with pytest.raises(ModelError, match="lab exists; a lab makes its folder and removes it"):
        unusable.__enter__()


@pytest.mark.slow
@needs_slurm
def test_a_lab_runs_jobs_and_leaves_nothing_behind(tmp_path):
    found = measure(
        Row("SP(4,1)", 0.7, 0.5, jobs=12, disks=1, io_share=0.3, bursts=2), folder=tmp_path / "lab"
    )
    assert not (tmp_path / "lab").exists()
    assert all(run.submit < run.begin < run.end for run in found.runs)
    assert found.sacct.count("COMPLETED") == len(found.runs) + len(found.start) + 32
    found.save(tmp_path / "row.json")
    assert Measurement.read(tmp_path / "row.json") == found
