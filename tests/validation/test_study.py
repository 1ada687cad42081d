import json
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import validation
from phasefit import PhaseType
from qmodels.io import load_scenario
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    TimeSharing,
    predict,
    recommend,
)
from qmodels.policies.base import running_jobs
from qmodels.progress import no_progress
from qmodels.words import in_words
from tests.batch_logs import some_jobs, written
from validation.study.checks import Simulator
from validation.study.demo import make_log
from validation.study.descriptions import assumptions, tail_doubt
from validation.study.findings import findings, limits_of_repartitioning
from validation.study.headlines import headlines
from validation.study.panels import (
    CAPTIONS,
    PREDICTED,
    MadePicture,
    picture,
    pictures,
    study_figures,
    write_figures,
)
from validation.study.plotting import response_panels
from validation.study.run import Point, run_study

DEMO = Path(validation.__file__).parent / "study" / "demo"


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """The demo with fewer policies and loads, its log replayed, and what was handed on before."""
    text = (DEMO / "scenario.toml").read_text(encoding="utf-8")
    text = text.replace('path = "jobs.swf.gz"', f"path = '{DEMO / 'jobs.swf.gz'}'")
    text = text.replace("[1, 2, 4, 8, 16]", "[1, 4]").replace("[1, 4, 16]", "[1, 4]")
    text = text.replace('mesh = [8, 16]\nstrategy = "MC"\n', "")  # see test_study_trial
    text = text[: text.index("[study]")] + (
        "[study]\nloads = [0.1, 0.5]\n[validation]\npolicies = ['SP(4,4)', 'TS(4,4;M=2)']\n"
        "capacity_fractions = [0.4]\nreplications = 4\njobs = 1000\nreplay_log = true\n"
    )
    path = tmp_path_factory.mktemp("study") / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    before = []
    return run_study(load_scenario(path), meanwhile=before.append), before


@pytest.fixture(scope="module")
def study(studied):
    return studied[0]


@pytest.mark.thorough
def test_every_policy_is_predicted_at_every_load_and_near_its_own_end(study):
    assert len(study.points) == 10 * (3 + 4)  # the log's own load is the third
    for point in study.points:
        stable = point.load * study.bound < study.capacities[point.policy.label]
        assert (point.prediction is not None) == stable
    assert study.log_load in study.loads


@pytest.mark.thorough
def test_the_rows_of_the_table_are_what_predict_says(study):
    frame = study.to_frame()
    row = frame[(frame.policy == "SP(4,4)") & (frame.load == 0.5)].iloc[0]
    policy = next(p for p in study.scenario.policies if p.label == "SP(4,4)")
    alone = predict(policy, study.scenario.system, study.workload, load=0.5)
    assert row.mean_response_s == alone.mean_response
    saturated = frame[frame.status == "saturated"]
    assert saturated.mean_response_s.isna().all()


@pytest.mark.thorough
def test_the_table_states_the_error_that_the_recommendation_goes_by(study):
    frame = study.to_frame()
    swept = frame[frame.load.isin(study.loads) & (frame.status == "stable")]
    for load, rows in swept.groupby("load"):
        known = {row.label: row.error for row in study.recommendation(load).rows}
        assert {row.policy: row.stated_error for row in rows.itertuples()} == {
            label: known[label] for label in rows.policy
        }
    assert (frame[frame.method == "exact"].stated_error < 1e-6).all()
    assert (frame[frame.method == "approximate"].stated_error > 1e-3).all()
    assert frame[frame.status == "saturated"].stated_error.isna().all()


def test_a_tail_that_the_law_does_not_follow_is_told_in_a_sentence():
    quantiles = (np.arange(10_000) + 0.5) / 10_000
    law = PhaseType.exponential(mean=1.0)
    assert tail_doubt("work", -7.0 * np.log1p(-quantiles), law) == ""
    even = np.full(10_000, 7.0)  # one in a hundred of the law's is above 7 log(100) = 32.2
    assert "above 7 in the log and above 32.2 by the fitted law" in tail_doubt("work", even, law)
    assert "too long in the model" in tail_doubt("work", even, law)
    heavy = 1.0 / (1.0 - quantiles)
    assert "too short in the model" in tail_doubt("work", heavy, law)
    assert tail_doubt("work", np.array([]), law) == ""


def test_the_reference_lists_the_columns_of_the_table(study):
    page = Path(__file__).parents[2] / "docs" / "reference" / "results.md"
    section = page.read_text(encoding="utf-8").partition("`predictions.csv`")[2]
    listed = [
        name
        for line in section.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    columns = [*study.to_frame()]
    assert listed[: len(columns)] == columns


def test_the_ranking_is_by_response_time_among_the_stable(study):
    times = [p.mean_response for p in study.ranking(0.5)]
    assert times == sorted(times)
    assert 0 < len(times) < 10


def test_the_findings_name_the_fastest_the_most_carried_and_the_trust(study):
    fastest, *_, carried, trust = findings(study)
    assert study.ranking(0.1)[0].policy in fastest
    assert max(study.capacities, key=study.capacities.get) in carried
    # the log's work holds the differences between programs that do not scale alike
    assert "all simulated predictions are approximate" in trust
    assert any("average program" in text for text in study.warnings)
    assert "played back" in trust


def test_one_log_that_is_played_back_has_one_ratio(study):
    check = next(check for check in study.checks if check.replay)
    *_, trust = findings(replace(study, checks=(check,)))
    assert re.search(r"answers in [\d.e+]+ times the predicted time", trust)


def test_a_gap_that_the_interval_holds_is_said_to_be_maybe_chance(study):
    check = next(check for check in study.checks if check.agreement.covered)
    mean = check.agreement.simulation.mean_response
    for width, by_chance in ((0.01, True), (0.001, False)):
        simulation = replace(
            check.agreement.simulation, mean_response=replace(mean, half_width=width * mean.mean)
        )
        prediction = replace(check.agreement.prediction, mean_response=1.005 * mean.mean)
        agreement = replace(check.agreement, simulation=simulation, prediction=prediction)
        trust = findings(replace(study, checks=(replace(check, agreement=agreement),)))[-1]
        assert "it is 0.5% too slow" in trust
        assert ("if not by chance" in trust) == by_chance


def test_the_findings_count_the_exact_predictions_that_simulation_confirms(study):
    check = next(check for check in study.checks if check.agreement.covered)
    exact = replace(check.agreement.prediction, method="exact")
    agreement = replace(check.agreement, prediction=exact)
    found = replace(study, checks=(replace(check, agreement=agreement),))
    agreed = agreement.verdict == "agrees"
    trust = findings(found)[-1]
    assert f"agrees with {int(agreed)} of 1 prediction" in trust
    assert ("too imprecise to decide 1" in trust) == (agreement.verdict == "undecided")


def test_the_findings_say_how_far_the_fitted_laws_are_from_the_log(study):
    said = [text for text in findings(study) if text.startswith("How far to trust the laws: ")]
    assert len(said) == 1
    best = study.recommendation(study.log_load).rows[0].label
    assert "Laws were fitted to jobs.swf.gz. Its own 4,999 jobs" in said[0]
    assert f"{best} at load {study.log_load:.3g}" in said[0]
    frame = study.to_frame()
    stable = frame[frame.status == "stable"]
    assert (stable.mean_response_low_s < stable.mean_response_of_data_s).all()
    assert frame[frame.status == "saturated"].mean_response_of_data_s.isna().all()


@pytest.mark.thorough
def test_the_fastest_of_a_finding_is_what_recommend_says_with_its_ties(study):
    system, policies = study.scenario.system, study.scenario.policies
    for load in study.loads:
        alone = recommend(system, study.workload, load=load, candidates=policies)
        here = study.recommendation(load)
        assert [(r.label, r.status) for r in here.rows] == [(r.label, r.status) for r in alone.rows]
        assert [r.value for r in here.rows if r.value == r.value] == pytest.approx(
            [r.value for r in alone.rows if r.value == r.value], rel=1e-12
        )
    tied = study.recommendation(0.1)
    assert tied.ties
    (said,) = (f for f in findings(study) if "load (0.1)" in f)
    assert "no single policy can be called fastest" in said
    assert "has the shortest mean response time" not in said


def test_a_clear_winner_is_named_with_its_lead(study):
    """Exact models have no error, so they tie only if equal."""
    alone = [
        replace(p, prediction=replace(p.prediction, method="exact"))
        for p in study.points
        if p.policy.label in ("SP(1,1)", "SP(4,4)") and p.prediction
    ]
    scenario = replace(study.scenario, policies=tuple({p.policy: 0 for p in alone}))
    capacities = {p.label: study.capacities[p.label] for p in scenario.policies}
    few = replace(study, scenario=scenario, points=tuple(alone), capacities=capacities)
    said = findings(few)[0]
    best, after = few.recommendation(0.1).rows[:2]
    assert f"At light load (0.1) {best.label} (space sharing: one job at a time" in said
    assert ") has the shortest mean response time, " in said
    assert f"the next, {after.label} (" in said
    assert f"takes {after.value / best.value - 1:.0%} more" in said


def test_a_policy_that_is_alone_has_none_beside_it_that_could_carry_less(study):
    (policy,) = [p for p in study.scenario.policies if p.label == "SP(1,1)"]
    points = tuple(
        replace(p, prediction=p.prediction and replace(p.prediction, method="exact"))
        for p in study.points
        if p.policy == policy
    )
    alone = replace(
        study,
        scenario=replace(study.scenario, policies=(policy,)),
        points=points,
        capacities={policy.label: study.capacities[policy.label]},
    )
    said = " ".join(findings(alone))
    assert "no other policy was looked at" in said
    assert "no other policy can carry" not in said
    assert "lowest of all" not in said


def test_the_assumptions_are_those_of_the_scenario_and_of_the_models_that_predicted(study):
    scenario = study.scenario
    said = " ".join(assumptions(study))
    assert "by processor sharing" in said
    assert "weighted mean" in said  # the demand is the log's
    assert {p.prediction.model for p in study.points if p.prediction} == set(
        re.findall(r"\((\S+)\)[;.]", next(each for each in assumptions(study) if "models that" in each))
    )
    assert "Under time sharing the computation bursts" in said
    assert "Dividing the processors anew takes no time" in said
    space = tuple(p for p in scenario.policies if p.name == "SP")
    system = replace(scenario.system, disk_discipline="fcfs")
    other = replace(scenario, system=system, policies=space, mix="each")
    points = tuple(p for p in study.points if p.policy in space)
    said = " ".join(assumptions(replace(study, scenario=other, points=points, checks=())))
    assert "in order of arrival." in said
    assert "A job is one of the programs, drawn by their weights." in said
    for absent in ("processor sharing", "weighted mean", "time sharing", "anew", "95 %"):
        assert absent not in said.replace("shared by processor sharing, job by job", "")


def test_a_label_is_explained_once_at_its_first_use(study):
    said = " ".join(findings(study))
    for label in ("TS(1,1;M=2)", "SP(4,4)"):
        if label in said:
            first = said.index(label) + len(label)
            assert said[first : first + 2] == " ("
            assert said.count(f"{label} (") == 1


def test_a_load_next_to_saturation_is_no_headline(study):
    """Only policies that the heaviest load brings to 95 % and more of what they can carry."""
    heavy = max(study.capacities.values()) / study.bound * 0.99
    points = [
        Point(p, heavy, predict(p, study.scenario.system, study.workload, load=heavy))
        if study.capacities[p.label] > heavy * study.bound
        else Point(p, heavy, None)
        for p in study.scenario.policies
    ]
    more = replace(study, loads=(*study.loads, heavy), points=(*study.points, *points))
    said = findings(more)
    (about,) = (f for f in said if f"load {heavy:.3g}" in f)
    assert about.startswith("No policy is recommended at load")
    assert "at 99.0% of what it can carry" in about
    assert not any(f.startswith("At ") and f"({heavy:.2g})" in f for f in said)


def test_what_limits_dynamic_partitioning_is_read_off_the_model(study):
    (first, second) = limits_of_repartitioning(study)
    assert first.startswith("DP(1) carries at most load")
    assert second.startswith("DP(4) carries at most load")
    assert "the disks are the bottleneck" in first  # 16 jobs share one group of disks
    assert "takes 16 times the disk-seconds" in first
    # ESCAT-2 is slowed on the 8 processors that each of 16 jobs has
    assert "takes 2.2 times the processor-seconds" in second
    full = running_jobs(study.scenario.policies[-1], study.scenario.system, study.workload)
    most = full.throughput.max() / study.bound
    limit = 1 + int(full.throughput.argmax())
    assert f"Too many jobs are admitted at once: a limit of {limit} job" in second
    assert f" would carry load {most:.2f}" in second


def test_the_worst_warnings_come_first(study):
    from validation.study.run import _warnings

    class Log:
        warnings = ("a remark on the file",)

        def doubts(self):
            return ["arrivals correlated"]

    class Scenario:
        log, time_scale, fits, mix_note = Log(), 263.8, {}, "every job is the mean program"
        changes = ()

    grave, light = _warnings(Scenario, 0.3)
    assert grave[0].startswith("The programs' times were multiplied by 263.8")
    assert grave[1:] == ["arrivals correlated", "every job is the mean program"]
    assert light == ["a remark on the file"]
    assert "beyond what any policy can carry" in _warnings(Scenario, 1.2)[0][0]


def test_a_log_that_asks_too_much_is_told_what_limits_and_what_would_do(tmp_path):
    jobs = some_jobs(200, np.random.default_rng(3))
    written(tmp_path, "sacct", jobs)
    source = tmp_path / "site.toml"
    source.write_text(
        """
        machine = { processors = 32, disks = 1, min_processors = 8 }
        log = { path = "sacct.log", unit = "cores" }
        demand = { scale_to_log = true }
        program = [{ name = "writer", io = { total = 60.0, law = "d" }, cpu = { total = 40.0 } }]
        policy = [{ kind = "DP", disk_partitions = 1 }]
        study = { loads = [0.3] }
        """,
        encoding="utf-8",
    )
    study = run_study(load_scenario(source), workers=1)
    first = study.warnings[0]
    assert study.log_load > 1
    assert first.startswith(f"The log's own load of {study.log_load:.3g} is beyond what any policy")
    assert "; the disks limit. 1 disk carries " in first
    assert first.endswith(" disks would do.")
    assert sum("beyond what any policy" in sentence for sentence in study.warnings) == 1


def test_every_check_is_played_back_with_the_log(study):
    for check in study.checks:
        assert check.replay is not None
        assert check.replay.jobs == len(study.scenario.log.with_work.interarrivals)
        assert check.replay.arrival_rate == check.agreement.prediction.arrival_rate


def test_the_policy_that_is_named_at_a_load_is_simulated_at_that_load(study):
    spoken, _ = headlines(study)
    assert [each.name for each in spoken] == ["light load", "the log's own load", "heavy load"]
    assert {each.named.label for each in spoken} == {"TS(1,1;M=2)"}  # which nobody asked for
    asked = [(p.label, 0.4) for p in study.scenario.validation.policies]
    assert [(c.policy.label, c.fraction) for c in study.checks[: len(asked)]] == asked
    assert len(study.checks) == len(asked) + len(spoken)
    said = findings(study)
    for each, check, text in zip(spoken, study.checks[len(asked) :], said, strict=False):
        assert check.policy == each.named
        assert check.agreement.prediction.load == pytest.approx(each.load, rel=1e-12)
        assert study.check(each.named, each.found.arrival_rate) is check
        found = check.agreement.simulation.mean_response
        assert f"simulated {in_words(found.mean, like=each.found.rows[0].value)} ± " in text
    assert not any("not simulated" in text for text in said)


def test_what_is_asked_for_is_not_simulated_twice_and_whoever_wants_no_more_gets_no_more(study):
    (best,) = [each for each in headlines(study)[0] if each.name == "heavy load"]
    plan = study.scenario.validation
    rate = best.found.arrival_rate / study.capacities[best.named.label]
    played = []

    def checks(**options):
        """Policies and rates that would be simulated, without doing so."""
        scenario = replace(study.scenario, validation=replace(plan, **options))

        class Noted(Simulator):
            def _check(self, policy, rate, point):
                played.append((policy.label, rate))

        played.clear()
        list(Noted(scenario, study.capacities, 1, None, no_progress).named([best]))
        return list(played)

    assert checks() == [("TS(1,1;M=2)", best.found.arrival_rate)]
    assert checks(policies=(best.named,), capacity_fractions=(0.1, rate)) == []
    assert checks(policies=(best.named,), capacity_fractions=(0.1, 0.99 * rate)) == checks()
    assert checks(fastest=False) == []
    without = replace(study, checks=study.checks[:2])
    assert "TS(1,1;M=2), named above, was not simulated at these loads" in findings(without)[-1]


def test_a_study_without_a_validation_table_simulates_nothing(study):
    scenario = replace(study.scenario, validation=None)
    simulator = Simulator(scenario, study.capacities, 1, None, no_progress)
    assert [*simulator.asked_for(), *simulator.named(headlines(study)[0])] == []


def test_what_runs_beside_the_predictions_ends_when_they_fail():
    from validation.study.run import _beside

    seen, ended = [], threading.Event()

    def steps():
        try:
            while True:
                seen.append(threading.current_thread())
                yield len(seen)
        finally:
            ended.set()

    def failing():
        with _beside(2) as begin:
            begin(steps())
            while not seen:
                time.sleep(0.001)
            raise KeyError("predictions")

    with pytest.raises(KeyError, match="predictions"):
        failing()
    assert ended.wait(10.0)
    assert threading.current_thread() not in seen
    with _beside(2) as begin:
        assert begin(iter("ab"))() == ("a", "b")
    with _beside(1) as begin:  # one after the other, in this thread, when it is asked for
        here = begin(threading.current_thread() for _ in range(1))
        assert here() == (threading.current_thread(),)


def test_what_is_predicted_is_handed_on_once_before_the_simulations_are_there(studied):
    study, (before,) = studied
    assert (before.checks, before.trials) == ((), ())
    assert study.checks
    assert before.seconds <= study.seconds
    assert (before.points, before.warnings, before.grave) == (
        study.points,
        study.warnings,
        study.grave,
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_what_is_done_meanwhile_ends_the_study(study, workers):
    def refuse(predicted):
        raise OSError("no room to draw")

    plan = replace(study.scenario.validation, jobs=100, replications=2)
    small = replace(study.scenario, loads=(0.1,), policies=plan.policies[:1], validation=plan)
    with pytest.raises(OSError, match="no room to draw"):
        run_study(small, workers=workers, meanwhile=refuse)


@pytest.mark.thorough
def test_figures_made_before_the_simulations_are_those_of_the_whole_study(studied, figures):
    study, (before,) = studied
    assert list(CAPTIONS)[: len(PREDICTED)] == list(PREDICTED)
    assert pictures(before, ["answer"]) == pictures(study, ["answer"])
    for name, rows in study_figures(before).items():
        said = [panel and panel[1] for row in rows for panel in row]
        assert said == [panel and panel[1] for row in figures[name] for panel in row] * (name in PREDICTED)
    assert picture(study_figures(before)["agreement"][:0]) == MadePicture(b"", [])


@pytest.fixture(scope="module")
def figures(study):
    return study_figures(study)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["answer", "surface", "response", "agreement", "workload"])
def test_every_figure_has_labelled_axes_with_units(figures, name):
    for figure, words in (panel for row in figures[name] for panel in row):
        figure.canvas.draw()
        labels = [ax.get_xlabel() + ax.get_ylabel() for ax in figure.axes]
        assert any(labels)
        assert any(char.isdigit() for char in words)
        if name in ("answer", "response"):
            assert any("[s]" in label for label in labels)


@pytest.mark.thorough
def test_the_file_of_a_figure_is_its_panels_side_by_side(figures, tmp_path):
    from matplotlib.image import imread

    write_figures({name: picture(rows) for name, rows in figures.items()}, tmp_path)
    shown = imread(tmp_path / "response.png")
    [first, second], [third, fourth] = figures["response"]
    one = [imread(_alone(panel, tmp_path)) for panel in (first, second, third, fourth)]
    assert np.array_equal(shown, np.vstack([np.hstack(one[:2]), np.hstack(one[2:])]))
    write_figures({"gap": picture([[first, None], [None, fourth]])}, tmp_path)
    gap = imread(tmp_path / "gap.png")
    height, width = one[0].shape[:2]
    assert gap.shape == shown.shape
    assert (gap[:height, width:] == 1.0).all()
    assert np.array_equal(gap[height:, width:], one[3])


def _alone(panel, folder):
    write_figures({"alone": picture([[panel]])}, folder)
    return folder / "alone.png"


def test_every_curve_has_a_panel_and_no_panel_is_empty():
    from types import SimpleNamespace

    def panels(*policies):
        study = SimpleNamespace(points=[SimpleNamespace(policy=policy) for policy in policies])
        return response_panels(study)

    ts, dp = TimeSharing(2, 1), DynamicPartitioning(2)
    assert panels(SpaceSharing(1, 1), SpaceSharing(1, 4), ts) == [("SP", 1), ("SP", 4), ("TS", 1)]
    assert panels(SpaceSharing(1, 1), ts, dp) == [("SP", 1), ("TS", 1), ("DP", 2)]
    assert panels(dp, DynamicPartitioning(1)) == [("DP", 1), ("DP", 2)]


def test_the_shipped_log_is_what_the_generator_writes(tmp_path):
    make_log.main(tmp_path / "jobs.swf.gz")
    written, shipped = (load_log(folder / "jobs.swf.gz") for folder in (tmp_path, DEMO))
    for column in ("submit", "run", "size"):
        assert written.jobs[column].to_numpy() == pytest.approx(shipped.jobs[column].to_numpy())
    assert np.mean(shipped.work) == pytest.approx(640, rel=0.1)


def load_log(path):
    from qmodels.io import read_swf

    return read_swf(path)


@pytest.mark.thorough
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


def test_a_study_shows_itself_as_other_results_do(study):
    read = json.loads(study.to_json())
    assert (read["schema"], read["version"]) == ("validation.study", 1)
    assert read == study.to_dict()
    assert len(read["points"]) == len(study.to_frame())
    assert len(repr(study)) <= 200
    assert "<script" not in study._repr_html_()
    assert study.plot().get_xlabel() == "load"
    for part in (study.points[0], study.checks[0], study.checks[0].agreement):
        assert json.loads(part.to_json()) == part.to_dict()
        assert len(repr(part)) <= 200
