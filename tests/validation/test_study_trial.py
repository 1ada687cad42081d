"""The trial inside a study: `[machine] mesh` and a strategy, and what the report says of them."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from qmodels.errors import ScenarioError
from qmodels.io import load_scenario
from qmodels.io.scenario import make_scenario
from qmodels.words import in_words
from validation.study.checks import Check
from validation.study.findings import findings
from validation.study.report import _beside_the_table, write_report
from validation.study.run import run_study
from validation.study.trial import check_trial, study_trial
from validation.sweeps.plain import from_text, to_text
from validation.trial.agreement import crossvalidate
from validation.trial.bursts import alone
from validation.trial.chain import SIMULATED, STEPS

TEXT = """
title = "Sixteen nodes"
[machine]
processors = 16
disks = 4
min_processors = 4
mesh = [4, 4]
strategy = "MC"
[demand]
scv = 1.0
[[program]]
name = "one"
repeat = 3
io = { total = 4.0 }
cpu = { total = 32.0 }
[[policy]]
kind = "SP"
processor_partitions = [2, 4]
disk_partitions = 1
[[policy]]
kind = "DP"
disk_partitions = 1
[[policy]]
kind = "TS"
processor_partitions = 2
disk_partitions = 1
[study]
loads = [0.2]
[trial]
policies = ["SP(4,1)"]
capacity_fraction = 0.5
replications = 4
jobs = 12
packets = 1
"""


@pytest.fixture
def written(tmp_path):
    def write(text=TEXT):
        path = tmp_path / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("mesh") / "scenario.toml"
    path.write_text(TEXT, encoding="utf-8")
    return run_study(load_scenario(path))


@pytest.mark.thorough
def test_the_report_holds_predicted_corrected_simulated_and_every_stage(study, tmp_path):
    page = write_report(study, tmp_path, command="x").read_text()
    [trial] = study.trials
    for stage in ("M0", "M1", "M2", "M3", "S1", "S2", "S3", "S4", "X"):
        assert f'<th scope="row">{stage}</th>' in page
    assert "The prediction on a mesh" in page
    assert (tmp_path / "trial.png").exists()
    table = trial.to_frame().set_index("stage")
    assert table.loc["S4", "mean_response_s"] == pytest.approx(trial.simulated.mean)
    assert table.loc["X", "mean_response_s"] == pytest.approx(trial.corrected, rel=1e-9)
    assert (tmp_path / "trial.csv").read_text().count("\n") == len(table) + 1


@pytest.mark.thorough
def test_seconds_of_the_mesh_are_those_of_the_programs(study):
    """A job alone on fast links keeps the disks busy for as long as its program says."""
    [trial] = study.trials
    cell = trial.task.cell
    shape = cell.shape
    on_disks = shape.phases * shape.io_flits * cell.disk_pace / 4 * trial.cycle
    assert on_disks == pytest.approx(4.0 / 4)  # 4 disk-seconds on four disks
    computing = shape.phases * shape.cpu_cycles / 4 * trial.cycle
    assert computing == pytest.approx(32.0 / 4)  # 32 processor-seconds on a quarter of 16
    assert alone(cell, 4, "infinite").job(3) * trial.cycle == pytest.approx(9.0, rel=0.15)


@pytest.mark.thorough
def test_the_paragraph_says_how_far_to_trust_it_and_what_more_would_cost(study):
    [trial] = study.trials
    said = trial.trust()
    assert findings(study)[-1].endswith(said)
    for words in ("SP(4,1)", "50% of the capacity", "twice as sure", "of a processor", "± "):
        assert words in said
    half, mean = trial.simulated.half_width, trial.simulated.mean
    both = float(np.hypot(half, trial.corrected_half_width))
    if both <= 0.1 * mean:
        assert ("agree within" in said) == (abs(trial.corrected - mean) <= both)


def test_a_step_has_one_percentage_in_the_figure_the_paragraph_and_the_table(study):
    """2.4 % of the time on the mesh is 2.5 % of the time without it: one of them is said."""
    [trial] = study.trials
    axes = trial.found.chain.plot(seconds=trial.cycle)
    chain, whole = trial.found.chain, trial.found.chain.simulated["S4"].mean
    drawn = dict(zip(list(SIMULATED)[1:], [each.get_text() for each in axes.texts], strict=True))
    assert drawn == {name: f"{step.mean / whole:+.1%}" for name, step in chain.steps.items()}
    name = max(chain.steps, key=lambda each: abs(chain.steps[each].mean))
    assert f"{STEPS[name]} ({drawn[name]} of the time on the mesh" in trial.trust()
    against = {stage: gap for stage, _, _, _, gap in trial.rows}
    before = list(SIMULATED)[list(SIMULATED).index("S4") - 1]
    assert float(against[before][:-1]) == pytest.approx(-float(drawn["S4"][:-1]), abs=1e-9)


def test_the_prediction_is_told_with_and_without_calibration_and_why_another_table_differs(study):
    [trial] = study.trials
    said = trial.trust()
    simulated = in_words(trial.simulated.mean)
    after, before = (in_words(x, like=trial.simulated.mean) for x in (trial.corrected, trial.own))
    assert f"simulated {simulated} ± " in said
    assert f"predicted {after} (" in said
    assert ") after calibration by a loss run on that mesh (known to " in said
    assert f", {before} (" in said
    assert findings(study, bare=True)[-1].startswith(f"How far to trust it on a mesh: {said[:60]}")
    # a check at the same share of another capacity has another time, and the report says why
    at = trial.task.fraction * study.capacities["SP(4,1)"]
    agreement = crossvalidate(
        "SP(4,1)", study.scenario.system, study.workload, arrival_rate=at, replications=2, jobs=50
    )
    check = Check(trial.policy, at / study.capacities["SP(4,1)"], agreement, None)
    [why] = _beside_the_table(replace(study, checks=(check,)))
    there = agreement.prediction
    assert f"for SP(4,1) at 50%, {in_words(there.mean_response)}: " in why
    assert f"load {there.load:.3g}, " in why
    assert f"load {trial.arrival_rate / study.bound:.3g}, " in why
    assert _beside_the_table(study) == []  # nothing was simulated there


@pytest.mark.thorough
def test_what_the_mesh_answered_can_be_kept_by_a_study_that_is_broken_off(study):
    [trial] = study.trials
    again = from_text(to_text(trial.found))
    assert replace(trial, found=again).trust() == trial.trust()
    assert replace(trial, found=again).to_frame().equals(trial.to_frame())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("corrected", "width", "words"),
    [
        (1.0, 0.02, "agree within both"),
        (1.5, 0.02, "differ by more"),
        (1.0, float("inf"), "nothing is confirmed"),
        (1.0, 0.5, "nothing is confirmed"),
    ],
)
def test_what_is_not_known_well_enough_is_not_called_agreement(study, corrected, width, words):
    """Outside the model: speeds that do not even say whether there is a steady state."""
    [trial] = study.trials
    whole = trial.found.chain.simulated["S4"]
    sure = {**trial.found.chain.simulated, "S4": replace(whole, half_width=0.01 * whole.mean)}
    found = replace(
        trial.found,
        corrected=corrected * whole.mean,
        corrected_half_width=width * whole.mean,
        chain=replace(trial.found.chain, simulated=sure),
    )
    assert words in replace(trial, found=found).trust()


@pytest.mark.thorough
def test_dynamic_partitioning_and_time_sharing_are_tried_too(written):
    text = TEXT.replace('["SP(4,1)"]', '["DP(1)", "TS(2,1;M=2)"]').replace("jobs = 12", "jobs = 10")
    dynamic, sharing = study_trial(load_scenario(written(text)))
    for trial in (dynamic, sharing):
        assert 0.0 < trial.corrected < 3.0 * trial.simulated.mean
        assert len(trial.rows) == len(trial.to_frame()) + 1


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ("[4, 4]", "[4, 5]", "machine.mesh", "20 nodes"),
        ("[4, 4]", "[4, 4, 1]", "machine.mesh", "at most 2"),
        ('strategy = "MC"', "", "machine.mesh", "which nodes"),
        ("mesh = [4, 4]", "", "machine.strategy", "no mesh"),
        ('mesh = [4, 4]\nstrategy = "MC"', "", "trial", "no mesh"),
        ('"SP(4,1)"', '"SP(8,1)"', "trial.policies[0]", "no policy"),
        ("replications = 4", "replications = 3", "trial.replications", "4"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_its_key(written, old, new, key, said):
    with pytest.raises(ScenarioError, match=said) as caught:
        load_scenario(written(TEXT.replace(old, new)))
    assert key in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"MC"', '"no such"', "machine.strategy"),
        ("disks = 4", "disks = 6", "machine.mesh"),
        ("total = 4.0", "total = 0.0", "trial.policies[0]"),
    ],
)
def test_what_the_mesh_cannot_play_is_refused_before_any_work(written, old, new, key):
    plan = load_scenario(written(TEXT.replace(old, new)))
    with pytest.raises(ScenarioError) as caught:
        check_trial(plan)
    assert key in str(caught.value)


def test_a_machine_whose_size_is_varied_has_no_mesh_of_its_own(written):
    tables = tomllib.loads(TEXT)
    tables["machine"] |= {"processors": 8, "min_processors": 2}
    assert make_scenario(written(), tables, only_fitting=True).trial is None
    with pytest.raises(ScenarioError, match="16 nodes"):
        make_scenario(written(), tables)
