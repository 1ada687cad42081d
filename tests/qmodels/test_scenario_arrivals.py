"""Arrivals of a scenario: independent, given as a process, or as dependent as the log's."""

import numpy as np
import pytest

from phasefit import MAP, PhaseType
from qmodels.errors import ScenarioError
from qmodels.io import load_scenario, write_swf
from qmodels.policies import Workload, predict

TIDES = MAP.modulated([[0.0, 0.02], [0.02, 0.0]], rates=[1.8, 0.2])
BASE = """
[machine]
processors = 8
disks = 4
[[program]]
name = "alpha"
io = { total = 2.0 }
cpu = { total = 30.0 }
[[policy]]
kind = "SP"
processor_partitions = [2]
disk_partitions = [2]
[study]
loads = [0.2]
"""


@pytest.fixture
def write(tmp_path):
    """A scenario with a log whose jobs come in tides, and what is added to it."""
    n = 20_000
    rng = np.random.default_rng(2)
    jobs = {
        "submit": np.cumsum(60.0 * TIDES.rvs(n, rng)).round(),
        "run": rng.exponential(100.0, n).round() + 1,
        "processors": np.full(n, 2),
        "status": np.ones(n, int),
    }
    write_swf(tmp_path / "jobs.swf", jobs)

    def write(added, log=True):
        path = tmp_path / "scenario.toml"
        table = '[log]\npath = "jobs.swf"\n' if log else ""
        path.write_text(BASE + table + added, encoding="utf-8")
        return path

    return write


def test_the_default_is_a_law_of_independent_times(write):
    plan = load_scenario(write(""))
    assert isinstance(plan.arrivals, PhaseType)
    assert not plan.dependent
    assert load_scenario(write('[arrivals]\ndependence = "none"\n')).arrivals.scv == (plan.arrivals.scv)


@pytest.mark.thorough
@pytest.mark.parametrize("dependence", ["auto", "days", "sessions", "dispersion"])
def test_a_description_is_asked_for_by_its_name(write, dependence):
    plan = load_scenario(write(f'[arrivals]\ndependence = "{dependence}"\n'))
    assert not plan.dependent
    said = predict(plan.policies[0], plan.system, plan.workload, load=0.4).description
    assert ("held-out halves" in said) == (dependence == "auto")
    assert {"days": "days of it", "sessions": "sessions of", "dispersion": "sizes, gaps as"}.get(
        dependence, ""
    ) in said
    with pytest.raises(ScenarioError, match="there is no \\[log\\]"):
        load_scenario(write('[arrivals]\ndependence = "days"\n', log=False))


@pytest.mark.thorough
@pytest.mark.parametrize("dependence", ["counts", "work"])
def test_a_process_is_fitted_to_the_log(write, dependence):
    plan = load_scenario(write(f'[arrivals]\ndependence = "{dependence}"\n'))
    assert plan.dependent
    assert "MAP" in plan.arrivals_from
    assert plan.arrivals.mean == pytest.approx(plan.log.with_work.interarrivals.mean())
    # sizes of this log know nothing of the arrivals: both ways see its tides
    assert plan.arrivals.dispersion(np.inf) > 10.0
    policy = plan.policies[0]
    dependent = predict(policy, plan.system, plan.workload, load=0.4)
    renewal = load_scenario(write('[arrivals]\ndependence = "none"\n'))
    alone = predict(policy, renewal.system, renewal.workload, load=0.4)
    # the process that the log was drawn from, known here
    true = predict(policy, plan.system, Workload(plan.program, plan.demand, TIDES, mix=plan.mix), load=0.4)
    assert dependent.mean_wait == pytest.approx(true.mean_wait, rel=0.2)
    assert alone.mean_wait < 0.6 * true.mean_wait


def test_a_process_may_be_given(write):
    text = "[arrivals]\nD0 = [[-2.0, 0.1], [0.1, -0.3]]\nD1 = [[1.9, 0.0], [0.0, 0.2]]\n"
    plan = load_scenario(write(text, log=False))
    assert plan.arrivals == MAP([[-2.0, 0.1], [0.1, -0.3]], [[1.9, 0.0], [0.0, 0.2]])
    assert plan.workload.arrivals.rate == pytest.approx(1.0)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("added", "log", "key", "words"),
    [
        ('[arrivals]\ndependence = "counts"\n', False, "arrivals.dependence", "no [log]"),
        ('[arrivals]\nscv = 2.0\ndependence = "work"\n', True, "arrivals.dependence", "scv says"),
        ('[arrivals]\ndependence = "map"\n', True, "arrivals.dependence", "'counts'"),
        ("[arrivals]\nD0 = [[-1.0]]\n", False, "arrivals", "give both"),
        ("[arrivals]\nD0 = [[-1.0]]\nD1 = [[2.0]]\n", False, "arrivals", "must sum to 0"),
    ],
)
def test_what_does_not_go_together_is_refused_by_its_key(write, added, log, key, words):
    with pytest.raises(ScenarioError) as fault:
        load_scenario(write(added, log))
    assert key in str(fault.value)
    assert words in str(fault.value)
