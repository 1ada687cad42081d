"""`--set` in the commands that simulate, and in those whose options lie over a file as well."""

from __future__ import annotations

import pytest

from qmodels.commands.set_option import over_file
from qmodels.errors import ModelError, ScenarioError
from qmodels.io.scenario import load_scenario
from qmodels.policies import predict
from tests.command import invoked, result_of
from tests.validation.test_what_if import SMALL
from validation.checkpoints.scenario import CheckpointFile, checkpoint_plan
from validation.cluster.scenario import ClusterFile, plan_of
from validation.commands import simulate
from validation.machine.scenario import AllocationFile, make_plan
from validation.sharing.points import predict_one
from validation.slices.scenario import SliceFile
from validation.study import run_study
from validation.study.sweep import plan_sweep


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def test_a_sweep_has_it_at_all_points_and_in_their_keys(small):
    plain = plan_sweep(small, {"machine.processors": [16, 32]})
    given = plan_sweep(small, {"machine.processors": [16, 32]}, settings={"machine.disks": 8})
    assert {p.key(0) for p in plain.points}.isdisjoint(p.key(0) for p in given.points)
    laid = load_scenario(small, settings={"machine.disks": 8, "machine.processors": 32})
    (point,) = [
        p for p in given.points if (p["machine.processors"], p["policy"], p["load"]) == (32, "SP(2,1)", 0.4)
    ]
    answer = predict(laid.policies[1], laid.system, laid.workload, load=0.4)
    assert predict_one(point, 0)["mean_response"] == answer.mean_response


@pytest.mark.thorough
def test_a_study_warns_of_it_first(small):
    study = run_study(load_scenario(small, settings={"machine.disks": 8, "machine.processors": 8}))
    assert study.warnings[:3] == (
        "Not as in the scenario's file: machine.disks = 8 (4 in the file).",
        "Not as in the scenario's file: machine.processors = 8 (16 in the file).",
        "Not as in the scenario's file: SP(8,1) left out: too many partitions for this machine.",
    )
    assert study.grave >= 3
    assert run_study(load_scenario(small)).warnings == ()


def test_a_simulation_says_it(small):
    done = invoked(
        simulate.register,
        "simulate",
        small,
        "--set",
        "machine.disks=8",
        "--policy",
        "DP(1)",
        "--load",
        0.2,
        "--jobs",
        50,
        "--replications",
        2,
        "-j",
        1,
        "--json",
    )
    assert result_of(done.stdout)[0]["set"] == ["machine.disks = 8 (4 in the file)"]


class TestOptionsOverAFile:
    def test_replace_each_other_whoever_gives_them(self, tmp_path):
        file = tmp_path / "mesh.toml"
        file.write_text("[jobs]\nmean_interarrival = 5.0\ncount = 9\n")
        name, spec, changes = over_file(
            AllocationFile, file, {"jobs.count": 3}, ["jobs.utilisation=0.5", "mesh.rows=4"]
        )
        assert name == file
        assert (spec.jobs.count, spec.jobs.mean_interarrival, spec.mesh.rows) == (3, None, 4)
        assert changes == (
            "jobs.utilisation = 0.5 (nothing in the file)",
            "mesh.rows = 4 (nothing in the file)",
        )

    def test_that_are_given_together_are_refused_as_in_a_file(self, tmp_path):
        given = {"jobs.mean_interarrival": 5.0, "jobs.utilisation": 0.5}
        name, spec, _ = over_file(AllocationFile, None, given, None)
        with pytest.raises(ScenarioError, match=r"jobs\.utilisation: give either"):
            make_plan(name, spec)

    def test_may_not_be_set_as_well(self):
        with pytest.raises(ModelError, match=r"jobs\.count is given by an option and by --set"):
            over_file(AllocationFile, None, {"jobs.count": 3}, ["jobs.count=4"])

    def test_of_a_cluster_follow_the_same_rule(self, tmp_path):
        file = tmp_path / "cluster.toml"
        file.write_text("[jobs]\ndisk_load = 0.5\n")
        name, spec, _ = over_file(ClusterFile, file, {"jobs.cpu_load": 0.3}, ["nodes=[{}]"])
        assert (spec.jobs.disk_load, spec.jobs.cpu_load) == (None, 0.3)
        assert plan_of(name, spec).cluster.nodes[0].speed == 1.0

    def test_of_checkpoints_too(self, tmp_path):
        file = tmp_path / "pool.toml"
        file.write_text('[job]\nmodel = "llama3-405b"\n[storage]\nsystem = "llama3"\n')
        known = planned(file)
        plan = planned(file, {"job.size": "1TB", "storage.bandwidth": "20GB/s"}, settings=["job.jitter=0.1"])
        assert (plan.job.size, plan.storage.bandwidth, plan.job.jitter) == (1e12, 2e10, 0.1)
        # A bandwidth of one's own does not take the known system's failures away.
        assert plan.job.mtbf == known.job.mtbf < float("inf")
        with pytest.raises(ScenarioError, match=r"job\.jiter: unknown key; did you mean jitter"):
            planned(file, settings=["job.jiter=0.1"])

    def test_reach_a_key_that_the_file_has_in_a_short_form(self, tmp_path):
        file = tmp_path / "cluster.toml"
        file.write_text('seed = 5\nbalancers = ["NLB"]\n')
        _, spec, changes = over_file(ClusterFile, file, {"study.balancers": ["CPU"]}, ["seed=7"])
        assert (spec.study.seed, spec.study.balancers) == (7, ["CPU"])
        assert changes == ("study.seed = 7 (5 in the file)",)
        with pytest.raises(ModelError, match=r"study\.seed is given by an option and by --set"):
            over_file(ClusterFile, file, {"study.seed": 1}, ["seed=7"])

    @pytest.mark.parametrize("file", [AllocationFile, ClusterFile, SliceFile, CheckpointFile])
    def test_a_seed_may_stand_before_the_tables_but_not_twice(self, tmp_path, file):
        scenario = tmp_path / "study.toml"
        scenario.write_text("seed = 5\n[study]\nreplications = 3\n")
        assert file.read(scenario).study.model_dump(include={"seed", "replications"}) == {
            "seed": 5,
            "replications": 3,
        }
        scenario.write_text("seed = 5\n[study]\nseed = 6\n")
        with pytest.raises(ScenarioError, match=r"seed and study\.seed say the same; drop one"):
            file.read(scenario)


def planned(file, options=(), *, settings=None):
    """The plan of a file of checkpoints with options over it."""
    return checkpoint_plan(over_file(CheckpointFile, file, dict(options), settings)[1])
