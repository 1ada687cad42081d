from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import validation
from qmodels.io import load_scenario
from qmodels.policies import predict
from validation.study.demo import make_log
from validation.study.findings import findings
from validation.study.plotting import (
    agreement_figure,
    response_figure,
    surface_figure,
    workload_figure,
)
from validation.study.run import run_study

DEMO = Path(validation.__file__).parent / "study" / "demo"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The demo with fewer policies and loads, its log replayed."""
    text = (DEMO / "scenario.toml").read_text(encoding="utf-8")
    text = text.replace('path = "jobs.swf.gz"', f"path = '{DEMO / 'jobs.swf.gz'}'")
    text = text.replace("[1, 2, 4, 8, 16]", "[1, 4]").replace("[1, 4, 16]", "[1, 4]")
    text = text[: text.index("[study]")] + (
        "[study]\nloads = [0.1, 0.5]\n[validation]\npolicies = ['SP(4,4)', 'TS(4,4;M=2)']\n"
        "capacity_fractions = [0.4]\nreplications = 4\njobs = 1000\nreplay_log = true\n"
    )
    path = tmp_path_factory.mktemp("study") / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return run_study(load_scenario(path))


def test_every_policy_is_predicted_at_every_load_and_near_its_own_end(study):
    assert len(study.points) == 10 * (3 + 4)  # the log's own load is the third
    for point in study.points:
        stable = point.load * study.bound < study.capacities[point.policy.label]
        assert (point.prediction is not None) == stable
    assert study.log_load in study.loads


def test_the_rows_of_the_table_are_what_predict_says(study):
    frame = study.to_frame()
    row = frame[(frame.policy == "SP(4,4)") & (frame.load == 0.5)].iloc[0]
    policy = next(p for p in study.scenario.policies if p.label == "SP(4,4)")
    alone = predict(policy, study.scenario.system, study.workload, load=0.5)
    assert row.mean_response_s == alone.mean_response
    saturated = frame[frame.status == "saturated"]
    assert saturated.mean_response_s.isna().all()


def test_the_ranking_is_by_response_time_among_the_stable(study):
    times = [p.mean_response for p in study.ranking(0.5)]
    assert times == sorted(times)
    assert 0 < len(times) < 10


def test_the_findings_name_the_fastest_the_most_carried_and_the_trust(study):
    fastest, carried, trust = findings(study)
    assert study.ranking(0.1)[0].policy in fastest
    assert max(study.capacities, key=study.capacities.get) in carried
    # the log's work holds the differences between programs that do not scale alike
    assert "all simulated predictions are approximate" in trust
    assert any("mean of the programs" in text for text in study.warnings)
    assert "played back" in trust


def test_the_findings_count_the_exact_predictions_that_simulation_confirms(study):
    check = next(check for check in study.checks if check.agreement.covered)
    exact = replace(check.agreement.prediction, method="exact")
    agreement = replace(check.agreement, prediction=exact)
    found = replace(study, checks=(replace(check, agreement=agreement),))
    assert "1 of 1 predictions lie" in findings(found)[2]


def test_every_check_is_played_back_with_the_log(study):
    for check in study.checks:
        assert check.replay is not None
        assert check.replay.jobs == len(study.scenario.log.with_work.interarrivals)
        assert check.replay.arrival_rate == check.agreement.prediction.arrival_rate


@pytest.mark.parametrize(
    "draw", [surface_figure, response_figure, agreement_figure, workload_figure]
)
def test_every_figure_has_labelled_axes_with_units(study, draw):
    figure = draw(study)
    figure.canvas.draw()
    labels = [ax.get_xlabel() + ax.get_ylabel() for ax in figure.axes]
    assert any(labels)
    if draw is response_figure:
        assert any("[s]" in label for label in labels)


def test_the_shipped_log_is_what_the_generator_writes(tmp_path):
    make_log.main(tmp_path / "jobs.swf.gz")
    written, shipped = (load_log(folder / "jobs.swf.gz") for folder in (tmp_path, DEMO))
    for column in ("submit", "run", "size"):
        assert written.jobs[column].to_numpy() == pytest.approx(shipped.jobs[column].to_numpy())
    assert np.mean(shipped.work) == pytest.approx(640, rel=0.1)


def load_log(path):
    from qmodels.io import read_swf

    return read_swf(path)


def test_the_example_of_measured_runs_finds_the_law_that_made_them():
    """The runs were made with 3 % noise, so the fitted means may be off by a few per cent."""
    plan = load_scenario(Path(__file__).parents[2] / "docs" / "examples" / "measured-runs.toml")
    solver, render = plan.program.programs
    p, d = 16.0, 2.0
    truth = {
        solver: (5 / min(d, p / 4) + 1.5 + 6 / d, 0.4 + 300 / p + 900 / p + 0.02 * 15),
        render: (24 / min(d, p / 2), 2 + 240 / p),
    }
    for program, (io, cpu) in truth.items():
        assert float(program.mean_io(p, d)) == pytest.approx(io, rel=0.05)
        assert float(program.mean_cpu(p, d)) == pytest.approx(cpu, rel=0.05)
