"""Malleable policies: goldens of their formulas, what they hand out, and simulation beside both."""

import numpy as np
import pytest

from qmodels import Burst, Phase, Program, System, Workload
from qmodels.errors import ModelError
from qmodels.io.scenario import load_scenario
from tests.command import called, result_of
from tests.objects import SCENARIO
from validation.malleable import MALLEABLE, InSystem, Jobs, simulate_jobs
from validation.malleable.jobs import inelastic, power
from validation.malleable.policies.equal_shares import EqualShares
from validation.malleable.worth import named_policy, unrunnable
from validation.study.findings import findings
from validation.study.run import run_study


def at_once(*sizes, exponent=0.5):
    """Jobs that are all there at time zero, on a speed curve x^p for any x."""
    work = np.array(sizes, dtype=float)[None, :, None]
    none = np.zeros(work.shape[:2])
    return Jobs(none, work, np.zeros(work.shape, int), (power(exponent, below_one=True),), none + 1.0)


@pytest.mark.thorough
def test_what_would_it_buy_is_said_with_its_needs(tmp_path):
    site = tmp_path / "site.toml"
    site.write_text(SCENARIO)
    words = ("recommend", site, "--listed", "--load", "0.3", "--also-unrunnable")
    said = called(*words).stdout
    assert "not to be had today, simulated:" in said
    assert "needs preemption and known sizes" in said
    rows = result_of(called(*words, "--json").stdout)["unrunnable"]
    assert [row["policy"].partition("(")[0] for row in rows] == ["EQUI", "heSRPT"]
    assert called(*words, "--objective", "p95").returncode == 3


@pytest.mark.thorough
def test_they_stand_beside_the_policies_of_a_file(tmp_path):
    site = tmp_path / "site.toml"
    site.write_text(SCENARIO + '\n[validation]\npolicies = ["SP(1,1)"]\nbeside = ["EQUI", "LPS(2)"]\n')
    brief = ("--load", "0.4", "--replications", "4", "--jobs", "60", "--json")
    rows = result_of(called("simulate", site, *brief).stdout)
    beside = [row for row in rows if "needs" in row]
    assert [row["policy"] for row in beside] == ["EQUI", "LPS(2)"]
    assert beside[0]["needs"] == "preemption; no sizes"
    assert beside[0]["replications"] == 4
    [only] = result_of(called("simulate", site, "--policy", "heSRPT(.5)", *brief).stdout)
    assert only["policy"] == "heSRPT(0.5)"
    assert "takes such" in called("simulate", site, "--policy", "IF", *brief).stderr
    said = called("study", site, "--set", 'validation.beside=["hesrtp"]', "-o", tmp_path / "out").stderr
    assert "did you mean 'heSRPT'?" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_the_report_says_it_in_one_sentence(tmp_path):
    site = tmp_path / "site.toml"
    site.write_text(SCENARIO + '\n[validation]\npolicies = ["SP(1,1)"]\nbeside = ["heSRPT"]\n')
    study = run_study(load_scenario(site, settings={"validation.jobs": 50, "validation.replications": 2}))
    [said] = [sentence for sentence in findings(study) if sentence.startswith("Not to be had today")]
    assert "heSRPT(" in said
    assert "needs preemption and known sizes" in said


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("LPS", "write EQUI"),
        ("EQUI(2)", "write EQUI"),
        ("heSRPT(x)", "write EQUI"),
        ("ServerFilling", "rigid"),
    ],
)
def test_labels_that_mean_nothing_here_are_refused(label, why):
    with pytest.raises(ModelError, match=why):
        named_policy(label, 0.5)


def test_equal_shares_that_carry_no_such_load_are_not_simulated():
    program = Program([Phase(io=0.0, cpu=Burst(64.0, law="p", slowdown=(2, 3.0)))])
    equal, by_size = unrunnable(
        System(16, 1, min_processors=2), Workload(program), 0.3, replications=3, jobs=30
    )
    assert equal.mean_response is None
    assert "carries no such load" in equal.sentence("SP(1,1)", 9.0)
    assert by_size.mean_response is not None


class TestEveryPolicy:
    def test_hands_out_no_more_than_there_is_and_leaves_nothing_idle(self, rng):
        here = rng.random((50, 6)) < 0.7
        jobs = InSystem(
            8.0,
            here,
            rng.permuted(np.tile(np.arange(6), (50, 1)), axis=1),
            np.where(here, rng.exponential(size=here.shape), 0.0),
            rng.integers(0, 2, here.shape),
            2.0 ** rng.integers(0, 4, here.shape),
            (inelastic, power(0.5)),
        )
        for kind in MALLEABLE.values():
            shares = kind().shares(jobs)
            assert (shares[~here] == 0.0).all(), kind.name
            assert (shares >= 0.0).all(), kind.name
            given = shares.sum(axis=1)
            assert (given <= 8.0 * (1 + 1e-12)).all(), kind.name
            assert (given[here.any(axis=1)] > 0.0).all(), kind.name

    def test_one_that_hands_out_too_much_or_nothing_is_told_so(self):
        class Double(EqualShares):
            def shares(self, jobs):
                return 2.0 * super().shares(jobs)

        class Nothing(EqualShares):
            def shares(self, jobs):
                return 0.0 * super().shares(jobs)

        with pytest.raises(ModelError, match="more than the 4 processors"):
            simulate_jobs(Double(), at_once(1.0, 2.0), 4.0)
        with pytest.raises(ModelError, match="serves nobody"):
            simulate_jobs(Nothing(), at_once(1.0, 2.0), 4.0)
