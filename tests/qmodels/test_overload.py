"""Jobs that no policy can carry: what limits, what would do, and a ranking at what is possible.

Cases written down before the first run: one resource too few, both, one disk, a program without
I/O, policies that are the limit where the machine is not, a rate that is met by a hair, and numbers
that would do in vain because the program's I/O does not grow with the disks.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from qmodels import Burst, Phase, Program, SpaceSharing, System, Workload, WorkloadMix, capacity
from qmodels.commands import predict as predict_command
from qmodels.commands import recommend as recommend_command
from qmodels.errors import ModelError, UnstableError
from qmodels.policies.base import work_bound, work_bounds
from qmodels.policies.choice.candidates import default_candidates
from qmodels.policies.choice.overload import RESERVE, overload
from qmodels.policies.choice.recommendation import recommend
from tests.batch_logs import some_jobs, written
from tests.command import invoked, result_of

#: Of 3 processor-seconds and 1 disk-second: 4 disks feed 12 processors.
JOBS = Workload(Program([Phase(io=Burst(1.0, law="d"), cpu=Burst(3.0, law="p"))]))
FEW_DISKS = System(processors=64, disks=4, min_processors=4)
FEW_PROCESSORS = System(processors=8, disks=16, min_processors=2)


def candidates(system):
    """The default ones but those that take turns, which take longer to put together."""
    return [each for each in default_candidates(system) if each.name != "TS"]


def found(system, load, workload=JOBS):
    rate = load * work_bound(system, workload.program)
    return overload(system, workload, arrival_rate=rate, policies=candidates(system))


def test_the_bounds_of_processors_and_disks_are_those_of_each_alone():
    bounds = work_bounds(FEW_DISKS, JOBS.program)
    assert bounds == {"processors": pytest.approx(64 / 3), "disks": 4.0}
    assert work_bound(FEW_DISKS, JOBS.program) == 4.0
    alone = Program([Phase(io=0.0, cpu=3.0)])
    assert list(work_bounds(FEW_DISKS, alone)) == ["processors"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("system", "load", "limits"),
    [
        (FEW_DISKS, 1.55, ("disks",)),
        (FEW_PROCESSORS, 1.55, ("processors",)),
        (FEW_DISKS, 8.0, ("disks", "processors")),
        (System(64, 1, min_processors=16), 1.2, ("disks",)),
    ],
)
def test_the_resource_that_limits_is_named_with_a_number_that_would_do(system, load, limits):
    said = found(system, load)
    assert said.limits == limits
    rate = load * work_bound(system, JOBS.program)
    most = max(capacity(each, system, JOBS) for each in candidates(system))
    assert said.capacity == most
    assert min(said.carried.values()) == pytest.approx(most / rate)
    # What would do does, with a tenth to spare; a tenth fewer of what was added do not.
    larger = replace(system, **said.enough)
    assert max(capacity(p, larger, JOBS) for p in candidates(larger)) >= rate / RESERVE
    assert {name for name in said.enough if said.enough[name] > said.machine[name]} == set(limits)
    for name in limits:
        fewer = replace(larger, **{name: int(0.8 * said.enough[name])})
        assert work_bounds(fewer, JOBS.program)[name] < rate / RESERVE


def test_the_sentence_says_who_carries_what_and_what_would_do():
    said = found(FEW_DISKS, 1.55)
    best = said.policy.label
    carried = 100 * said.largest_load / 1.55
    assert said.sentence == (
        f"No policy can carry these jobs: the best of {said.policies}, {best}, manages load "
        f"{said.largest_load:.4g}, they need 1.55; the disks limit. 4 disks carry {carried:.3g} % "
        f"of the jobs. {said.enough['disks']} disks would do."
    )
    assert said.table() == said.sentence
    assert json.loads(json.dumps(said.record(), allow_nan=False))["limits"] == ["disks"]
    one = found(System(64, 1, min_processors=16), 1.2)
    assert " 1 disk carries " in one.sentence


def test_the_numbers_that_would_do_keep_programs_and_processors_as_they_are():
    said = found(FEW_DISKS, 1.55)
    assert said.enough["processors"] == 64
    assert 7 <= said.enough["disks"] <= 9  # 4 times 1.55, over the share of a policy and .9


def test_policies_that_are_the_limit_are_said_to_be():
    half = SpaceSharing(1, 4)
    slow = Workload(Program([Phase(io=Burst(1.0, law="d"), cpu=Burst(8.0, sequential=6.0))]))
    rate = 1.05 * capacity(half, FEW_DISKS, slow)
    assert rate < 0.9 * work_bound(FEW_DISKS, slow.program)
    said = overload(FEW_DISKS, slow, arrival_rate=rate, policies=[half])
    assert said.limits == ()
    assert "the policies limit. Neither processors nor disks would be too few" in said.sentence


def test_what_more_disks_cannot_help_has_no_number_that_would_do():
    stuck = Workload(Program([Phase(io=Burst(1.0, law="min(d, p/64)"), cpu=1.0)]))
    system = System(64, 4, min_processors=64)
    said = found(system, 3.0, stuck)
    assert said.enough is None
    assert "At least " in said.sentence


def test_a_rate_that_is_carried_is_no_overload():
    with pytest.raises(ModelError, match="carries these jobs: there is no overload"):
        found(FEW_DISKS, 0.5)
    with pytest.raises(ModelError, match="there are no policies"):
        overload(FEW_DISKS, JOBS, arrival_rate=9.0, policies=[])


def test_a_recommendation_that_fails_says_the_same():
    with pytest.raises(UnstableError, match="the disks limit") as caught:
        recommend(FEW_DISKS, JOBS, load=1.55, candidates=candidates(FEW_DISKS))
    assert str(caught.value) == found(FEW_DISKS, 1.55).sentence.partition(". 4")[0]
    assert caught.value.load == pytest.approx(1.55)


# --- the command ---------------------------------------------------------------------------------

#: A program that mostly transfers, so that disks limit.
PROGRAM = """
[machine]
processors = 64
disks = 8
[[program]]
name = "writer"
io = { total = 60.0, law = "d" }
cpu = { total = 40.0, law = "p" }
[[policy]]
kind = "DP"
disk_partitions = [1]
[study]
loads = [0.5]
"""


@pytest.fixture
def site(tmp_path):
    """A log whose jobs ask more of a disk than it can do."""
    jobs = some_jobs(200, np.random.default_rng(3))
    written(tmp_path, "sacct", jobs)
    (tmp_path / "writer.toml").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def asked(site, machine, *more):
    return invoked(
        recommend_command.register,
        "recommend",
        site / "sacct.log",
        "--unit",
        "cores",
        "--machine",
        machine,
        "--min-processors",
        "8",
        "--program",
        site / "writer.toml",
        *more,
    )


@pytest.mark.thorough
def test_a_site_whose_disks_are_too_few_is_told_how_many_would_do(site):
    done = asked(site, "32,1")
    assert done.exit_code == 1, done.output
    first, *rest = done.stdout.splitlines()
    assert first.startswith("No policy can carry these jobs: the best of ")
    assert "; the disks limit. 1 disk carries " in first
    assert first.endswith(" disks would do.")
    assert rest[0].startswith("The machine that wrote the log did carry them")
    assert rest[2].startswith("Ranked at load ")
    assert rest[2].endswith(" instead, three quarters of what the best can carry:")
    load = rest[2].split()[3]
    assert f" the least mean response at load {load}, " in done.stdout
    assert "policy" in done.stdout
    # The command that is named carries them.
    words = rest[1].rstrip(".").split("give ")[1].split()
    more = asked(site, words[1], *words[2:])
    assert more.exit_code == 0, more.output
    assert " the least mean response at load 0." in more.stdout


@pytest.mark.thorough
def test_json_holds_what_limits_and_the_ranking_at_what_is_possible(site):
    told = result_of(asked(site, "32,1", "--json").stdout)
    assert told["overload"]["limits"] == ["disks"]
    (ranking,) = told["recommendations"]
    assert ranking["load"] == pytest.approx(told["overload"]["possible_load"])
    assert ranking["best"]
    assert ranking["load"] < told["overload"]["largest_load"] < 1.000001
    assert told["overload"]["load"] > 1
    assert result_of(asked(site, "32,1", "--load", "0.2", "--json").stdout)["overload"] is None


def test_the_table_of_an_overload_is_that_of_the_possible_load(site):
    done = asked(site, "32,1", "-o", site / "out")
    load = float(done.stdout.splitlines()[3].split()[3])
    rows = (site / "out" / "candidates.csv").read_text().splitlines()
    assert all(float(row.rpartition(",")[2]) == pytest.approx(load) for row in rows[1:])


def test_a_scenario_that_asks_too_much_is_answered_too(tmp_path):
    text = PROGRAM.replace("disks = 8", "disks = 64").replace("[0.5]", "[0.999, 0.9999]")
    (tmp_path / "s.toml").write_text(text.replace("= [1]", "= [64]"), encoding="utf-8")
    done = invoked(recommend_command.register, "recommend", tmp_path / "s.toml", "--listed")
    assert done.exit_code == 1
    assert "DP(64) manages load 0." in done.stdout
    assert "they need 0.999; " in done.stdout
    assert "at load 0.9999" in done.stderr
    assert "log-machine" not in done.stdout
    done = invoked(predict_command.register, "predict", tmp_path / "s.toml")
    assert "DP(64): no steady state at load 0.999" in str(done.exception)


@pytest.mark.thorough
def test_several_programs_may_overload_a_machine():
    mix = WorkloadMix([JOBS.program, Program([Phase(io=2.0, cpu=1.0)])])
    said = found(FEW_DISKS, 2.0, Workload(mix, mix="each"))
    assert said.limits == ("disks",)
    assert said.enough["disks"] > 4
